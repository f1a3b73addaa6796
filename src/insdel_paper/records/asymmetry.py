"""The run behind the question why insertion scores higher than deletion: one thing changed at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from insdel_paper.records.comparisons import setting
from insdel_paper.records.run import Desk, Recording, Run, experiment_facts
from insdel_paper.studies import asymmetry, experiments


def _measure(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    prepared = {
        policy: experiments.prepare(**setting("cern", parameters, policy)) for policy in experiments.POLICIES
    }
    first = prepared["counterfactual"]
    desk.say("  fitting networks for log M and for the normal scores of M")
    models = asymmetry.variants(first.split, first.model, **first.model.config["recipe"])
    pairs = {policy: one.pairs for policy, one in prepared.items()}
    table = asymmetry.asymmetry(models, pairs, parameters["samples"]).reset_index()
    return Recording({"ratios": table}, experiment_facts(first))


SIZE = {"source": "real", "rows": None, "epochs": None, "pairs": 400, "samples": 512}
WHAT = "insertion and deletion with clipped predictions and other targets, genuine events"
RUNS = (Run("asymmetry", WHAT, SIZE, ("ratios",), _measure),)
