"""The run behind the chapter on binary features: casting, interpolating and jumping on the real houses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from insdel_paper.records.comparisons import HOUSES, setting
from insdel_paper.records.run import Desk, Recording, Run, experiment_facts
from insdel_paper.studies.binary_ig import Plan, binary_features, study
from insdel_paper.studies.experiments import prepare


def _study(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    experiment = prepare(**setting("bangalore", parameters))
    plan = Plan(**{name: parameters[name] for name in asdict(Plan())})
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    binary = binary_features(experiment)
    table = study(experiment.model, x, reference, binary, plan, checkpoint=desk.folder / "chunks")
    pairs = int(table["pair"].nunique())
    return Recording({"methods": table}, {**experiment_facts(experiment), "pairs": pairs, "left_out": len(x) - pairs})


RUNS = (
    Run("binary_ig", "casting, interpolating and jumping, houses", {**HOUSES, **asdict(Plan())}, ("methods",), _study),
)
