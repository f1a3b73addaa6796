"""The run behind the chapter on cost: the area that a method reaches, against the evaluations that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from insdel_paper.records.comparisons import EVENTS, setting
from insdel_paper.records.run import Desk, Recording, Run, experiment_facts
from insdel_paper.studies.cost import BUDGETS, ONE_PRICE, cost_accuracy
from insdel_paper.studies.experiments import prepare


def _spend(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    experiment = prepare(**setting("cern", parameters))
    x, reference = experiment.pairs.x, experiment.pairs.reference
    checkpoint = desk.folder / "budgets"
    table = cost_accuracy(experiment.model, x, reference, budgets=parameters["budgets"], pairs=experiment.pairs,
                          checkpoint=checkpoint)  # fmt: skip
    return Recording({"budgets": table}, experiment_facts(experiment))


SIZE = {"source": "real", **EVENTS, "pairs": 200, "budgets": BUDGETS | ONE_PRICE}
RUNS = (Run("cost", "ABC reached against evaluations spent, genuine events", SIZE, ("budgets",), _spend),)
