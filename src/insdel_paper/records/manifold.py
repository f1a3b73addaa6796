"""The runs behind the chapter on hybrids that are no data.

walks     every point of the walks: its value, and how far it is from the data
real      the same distances for rows held out
pairings  all events paired at random again and again: how extreme an ABC gets
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from insdel_paper.records.comparisons import EVENTS, HOUSES, setting
from insdel_paper.records.run import Desk, Recording, Run, experiment_facts
from insdel_paper.studies.experiments import POLICIES, Experiment, prepare
from insdel_paper.studies.manifold import METHODS, Ruler, chosen_pairs, extremes, tail, walks, with_masses


def _houses(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    experiment = prepare(**setting("bangalore", parameters))
    ruler = Ruler.of(experiment)
    steps = walks(experiment, ruler, checkpoint=desk.folder / "walks")
    return Recording({"walks": slim(steps), "real": ruler.measure(experiment.x_test)}, _facts(experiment))


def _events(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    tables, ruler = [], None
    for policy in POLICIES:
        experiment = prepare(**setting("cern", parameters, policy))
        ruler = ruler or Ruler.of(experiment)
        tables.append(walks(experiment, ruler, checkpoint=desk.folder / policy).assign(policy=policy))
    assert ruler is not None  # there are policies
    steps = slim(pd.concat(tables, ignore_index=True))
    return Recording({"walks": steps, "real": ruler.measure(experiment.x_test)}, _facts(experiment))


def _extreme(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    experiment = prepare(**setting("cern", {**parameters, "pairs": None}, "one_to_one"))
    ruler = Ruler.of(experiment)
    result = tail(experiment, ruler, pairings=parameters["pairings"], checkpoint=desk.folder / "pairings")
    few = extremes(result)
    extreme = chosen_pairs(experiment, few["row"].tolist(), few["reference_row"].tolist())
    steps = with_masses(walks(extreme, ruler, checkpoint=desk.folder / "walks"), extreme)
    steps = slim(steps.assign(what=few["what"].to_numpy()[steps["pair"]]))
    return Recording({"pairings": result, "walks": steps}, {**_facts(experiment), "pairs": len(result)})


def slim(steps: pd.DataFrame) -> pd.DataFrame:
    """The same table in less space: words as categories, pairs as small numbers."""
    words = {name: "category" for name in ("policy", "method", "mode", "what") if name in steps}
    return steps.astype({**words, "pair": np.int16})


def _facts(experiment: Experiment) -> dict[str, Any]:
    return {**experiment_facts(experiment), "parameters": {"methods": METHODS}}


GENUINE = {"source": "real", **EVENTS}
RUNS = (
    Run("manifold_cern", "how far hybrids are from the data, genuine events", {**GENUINE, "pairs": 100},
        ("walks", "real"), _events),
    Run("manifold_extreme", "the pair with the most extreme ABC, genuine events",
        {"source": "real", "rows": EVENTS["rows"], "epochs": None, "pairings": 10},
        ("pairings", "walks"), _extreme),
    Run("manifold_bangalore", "how far hybrids are from the data, houses", HOUSES, ("walks", "real"), _houses),
)  # fmt: skip
