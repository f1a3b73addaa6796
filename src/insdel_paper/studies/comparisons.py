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


@record(
    "bangalore_variation", "Table 1 on other splits and trainings", ("areas", "runs", "pairs"),
    **HOUSES, splits=variation.SPLITS, trainings=variation.TRAININGS,
)  # fmt: skip
def vary(context: RunContext, *, pairs: int | None, splits: int, trainings: int, **size: Any) -> Recording:
    """Compare the methods again, on other splits and trainings."""
    return _repeat(context, variation.runs(splits, trainings), outcome.SAMPLES, n_pairs=pairs, **size)


@record(
    "cern_variation", "Tables 2 to 4 with networks trained from other seeds on genuine events",
    ("areas", "runs", "pairs"), source="real", **{**EVENTS, "pairs": 200}, samples=512,
    trainings=variation.EVENT_TRAININGS,
)  # fmt: skip
def vary_events(context: RunContext, *, pairs: int | None, samples: int, trainings: int, **size: Any) -> Recording:
    """Compare the methods with networks trained from other seeds."""
    return _repeat(context, variation.event_runs(trainings=trainings), samples, n_pairs=pairs, **size)


def _repeat(context: RunContext, planned: list[variation.Run], samples: int, **size: Any) -> Recording:
    """Carry out the planned runs one after the other."""
    tables, ends, facts = [], [], []
    about: dict[str, Any] = {}
    for run in planned:
        experiment = run.prepare(**size)
        about = about or experiment.facts
        tables.append(run.table(experiment, context.folder / run.label, context.scheduler, samples))
        ends.append(run.ends(experiment))
        facts.append(run.facts(experiment, samples))
        context.log(f"{run.label}: R² {experiment.r2:.3f}, {len(facts)} of {len(planned)} runs")
    runs = pd.DataFrame(facts)
    areas = single_precision(pd.concat(tables, ignore_index=True)).drop(columns=["auc", "abc"])
    about |= {"parameters": {"methods": variation.METHODS}, "runs": len(runs)}
    result = {"areas": areas, "runs": runs, "pairs": pd.concat(ends, ignore_index=True)}
    return Recording(result, {**about, "evaluations": int(runs["evaluations"].sum())})


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
