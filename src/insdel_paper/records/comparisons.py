"""The runs behind Tables 1 to 4: methods compared on houses and events, and how much that owes to one split.

areas    the table of `compare`, one row per pair, method and mode
pairs    which rows, how many features differ, f(x), f(x′)
curves   of the few pairs that the chapters draw
charges  (events) what every feature, and the place of the charges in the order, contributes
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import skew as skewness

from insdel.comparison import PAPER_METHODS
from insdel.evaluate import predict
from insdel_paper.records.run import Desk, Recording, Run, experiment_facts, training
from insdel_paper.studies import data_facts, outcome, variation
from insdel_paper.studies.experiments import POLICIES, prepare

METHODS = (*PAPER_METHODS, "best", "expected")
CERN_ROWS = 100_000
HOUSES: dict[str, Any] = {"source": "real", "pairs": None, "epochs": None}
EVENTS: dict[str, Any] = {"pairs": None, "rows": CERN_ROWS, "epochs": None}
CHARGED = {"charged": 200}  # pairs for which the part of the charges is measured


def setting(name: str, parameters: Mapping[str, Any], policy: str = "counterfactual") -> dict[str, Any]:
    """What `experiments.prepare` gets: all that decides data, network and pairs."""
    given = {"rows": parameters["rows"]} if "rows" in parameters else {}
    pairs = {"n_pairs": parameters["pairs"], "policy": policy}
    return {"name": name, "source": parameters["source"], **pairs, **given, **training(parameters)}


def _compare(name: str, policy: str, parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """Compare the methods on the pairs of one experiment and policy."""
    experiment = prepare(**setting(name, parameters, policy))
    checkpoint = {"checkpoint": desk.folder / "chunks", "scheduler": desk.scheduler}
    result = outcome.live(experiment, METHODS, charged=parameters.get("charged"), **checkpoint)
    tables = {"areas": slim(result.table), "pairs": result.pairs, "curves": result.curves}
    if result.charges is not None:
        tables["charges"] = result.charges
    facts = {
        **experiment_facts(experiment),
        "parameters": {"name": name, "policy": policy, "methods": METHODS},
        "evaluations": int((2.0**experiment.pairs.differing).sum()),
        "evaluations_are": "hybrids in the lattices; gradients and LIME's samples come on top",
    }
    return Recording(tables, facts, experiment.model)


def slim(table: pd.DataFrame) -> pd.DataFrame:
    """The same table in half the space: areas in single precision."""
    return table.astype({**dict.fromkeys(("auc", "abc", "abc_per_feature"), np.float32), "pair": np.int32})


def _vary(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """Compare the methods again, on other splits and trainings."""
    planned = variation.runs(parameters["splits"], parameters["trainings"])
    tables, ends, facts = [], [], []
    about: dict[str, Any] = {}
    for run in planned:
        experiment = run.prepare(parameters["source"], n_pairs=parameters["pairs"], **training(parameters))
        about = about or experiment_facts(experiment)
        tables.append(run.table(experiment, desk.folder / run.label, desk.scheduler))
        ends.append(run.ends(experiment))
        facts.append(run.facts(experiment))
        desk.say(f"{run.label}: R² {experiment.r2:.3f}, {len(facts)} of {len(planned)} runs")
    runs = pd.DataFrame(facts)
    areas = slim(pd.concat(tables, ignore_index=True)).drop(columns=["auc", "abc"])
    about |= {"parameters": {"methods": variation.METHODS}, "runs": len(runs)}
    result = {"areas": areas, "runs": runs, "pairs": pd.concat(ends, ignore_index=True)}
    return Recording(result, {**about, "evaluations": int(runs["evaluations"].sum())})


def _accuracy(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """How far the network of the events is off, on all its held-out ones."""
    experiment = prepare(**setting("cern", {**parameters, "pairs": 1}))
    split = experiment.split
    predicted = np.asarray(predict(experiment.model, split.x_test))
    facts = {
        **experiment_facts(experiment),
        "r2": float(1 - ((predicted - split.y_test) ** 2).mean() / split.y_test.var()),
        "least_prediction": float(predicted.min()),
        "skewness_of_predictions": float(skewness(predicted)),
    }
    return Recording({"bands": data_facts.accuracy(split.y_test, predicted)}, facts)


PARTS = ("areas", "pairs", "curves")
RUNS = (
    Run("bangalore", "Table 1: methods on pairs of houses", HOUSES, PARTS, partial(_compare, "bangalore", POLICIES[0])),
    Run("bangalore_variation", "Table 1 on other splits and trainings",
        {**HOUSES, "splits": variation.SPLITS, "trainings": variation.TRAININGS}, ("areas", "runs", "pairs"), _vary),
    *(Run(f"cern{kind}_{policy}", f"Tables 2 to 4: methods on {which} events, policy {policy}",
          {"source": source, **EVENTS, **CHARGED}, (*PARTS, "charges"),
          partial(_compare, "cern", policy))
      for kind, which, source in (("", "simulated", "simulated"), ("_genuine", "genuine", "real"))
      for policy in POLICIES),
    Run("cern_accuracy", "how far off the network is, by true mass (appendix A.4)",
        {"source": "real", "rows": CERN_ROWS, "epochs": None}, ("bands",), _accuracy),
)  # fmt: skip
