"""The runs behind Tables 1 to 4: methods compared on houses and events, and how much that owes to one split.

areas    the table of `compare`, one row per pair, method and mode
pairs    which rows, how many features differ, f(x), f(x′)
curves   of the few pairs that the chapters draw
charges  (events) what every feature, and the place of the charges in the order, contributes
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import skew as skewness

from insdel.comparison import PAPER_METHODS
from insdel.evaluate import predict
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies import data_facts, outcome, variation
from insdel_paper.studies.experiments import EVENTS, HOUSES, POLICIES, prepare

METHODS = (*PAPER_METHODS, "best", "expected")
PARTS = ("areas", "pairs", "curves")


def compare_methods(
    name: str, policy: str, context: RunContext, *, pairs: int | None, charged: int | None = None, **size: Any
) -> Recording:
    """Compare the methods on the pairs of one experiment and policy; charged : pairs whose charges are looked at."""
    experiment = prepare(name, policy=policy, n_pairs=pairs, **size)
    result = outcome.live(
        experiment, METHODS, charged=charged, checkpoint=context.folder / "chunks", scheduler=context.scheduler
    )
    tables = {"areas": single_precision(result.table), "pairs": result.pairs, "curves": result.curves}
    if result.charges is not None:
        tables["charges"] = result.charges
    facts = {
        **experiment.facts,
        "parameters": {"name": name, "policy": policy, "methods": METHODS},
        "evaluations": int((2.0**experiment.pairs.differing).sum()),
        "evaluations_are": "hybrids in the lattices; gradients and LIME's samples come on top",
    }
    return Recording(tables, facts, experiment.model)


record("bangalore", "Table 1: methods on pairs of houses", PARTS, **HOUSES)(
    partial(compare_methods, "bangalore", "counterfactual")
)
for _kind, _which, _source in (("", "simulated", "simulated"), ("_genuine", "genuine", "real")):
    for _policy in POLICIES:
        record(
            f"cern{_kind}_{_policy}", f"Tables 2 to 4: methods on {_which} events, policy {_policy}",
            (*PARTS, "charges"), source=_source, **EVENTS, charged=200,
        )(partial(compare_methods, "cern", _policy))  # fmt: skip


def single_precision(table: pd.DataFrame) -> pd.DataFrame:
    """The same table of `compare` in half the space."""
    return table.astype({**dict.fromkeys(("auc", "abc", "abc_per_feature"), np.float32), "pair": np.int32})


def vary(
    context: RunContext,
    *,
    pairs: int | None,
    trainings: int,
    splits: int = 0,
    samples: int = outcome.SAMPLES,
    **size: Any,
) -> Recording:
    """Compare the methods again: houses on other splits and trainings, events with other trainings alone."""
    planned = variation.runs(splits, trainings) if splits else variation.event_runs(trainings=trainings)
    parts: dict[str, list[pd.DataFrame]] = {"areas": [], "runs": [], "pairs": []}
    about: dict[str, Any] = {}
    for number, run in enumerate(planned, 1):
        name = "{}_split{}_training{}".format(*run.values())
        storage = {"checkpoint": context.folder / name, "scheduler": context.scheduler}
        experiment, areas, ends = variation.repeat(run, samples=samples, n_pairs=pairs, **storage, **size)
        about, differing = about or experiment.facts, experiment.pairs.differing
        spent = {"differing": float(differing.mean()), "evaluations": int(np.minimum(2.0**differing, samples).sum())}
        parts["areas"].append(single_precision(areas).drop(columns=["auc", "abc"]))
        parts["runs"].append(pd.DataFrame([{**run, "r2": experiment.r2, **spent}]))
        parts["pairs"].append(ends)
        context.log(f"{name}: R² {experiment.r2:.3f}, {number} of {len(planned)} runs")
    tables = {name: pd.concat(part, ignore_index=True) for name, part in parts.items()}
    about |= {"parameters": {"methods": variation.METHODS}, "runs": len(planned)}
    return Recording(tables, {**about, "evaluations": int(tables["runs"]["evaluations"].sum())})


record(
    "bangalore_variation", "Table 1 on other splits and trainings", ("areas", "runs", "pairs"),
    **HOUSES, splits=variation.SPLITS, trainings=variation.TRAININGS,
)(vary)  # fmt: skip
record(
    "cern_variation", "Tables 2 to 4 with networks trained from other seeds on genuine events",
    ("areas", "runs", "pairs"), source="real", **{**EVENTS, "pairs": 200}, samples=512,
    trainings=variation.EVENT_TRAININGS,
)(vary)  # fmt: skip


@record(
    "cern_accuracy", "how far off the network is, by true mass (appendix A.4)", ("bands",),
    source="real", rows=EVENTS["rows"], epochs=None,
)  # fmt: skip
def measure_accuracy(context: RunContext, **size: Any) -> Recording:
    """How far the network of the events is off, on all its held-out ones."""
    experiment = prepare("cern", n_pairs=1, **size)
    split = experiment.split
    predicted = np.asarray(predict(experiment.model, split.x_test))
    facts = {
        **experiment.facts,
        "r2": float(1 - ((predicted - split.y_test) ** 2).mean() / split.y_test.var()),
        "least_prediction": float(predicted.min()),
        "skewness_of_predictions": float(skewness(predicted)),
    }
    return Recording({"bands": data_facts.accuracy(split.y_test, predicted)}, facts)
