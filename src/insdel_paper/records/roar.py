"""The runs of remove and retrain (ROAR): one per task, and Huber's loss of every training in `losses`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd

from insdel_paper.data import Dataset, Split
from insdel_paper.records.run import Desk, Recording, Run
from insdel_paper.studies.roar import removal, tasks
from insdel_paper.studies.roar.removal import Plan
from insdel_paper.studies.roar.tasks import TASKS

SIZE = ("epochs", "replicates", "samples")  # of the plan; what a trial makes smaller, None is full size


def _retrain(name: str, parameters: Mapping[str, Any], desk: Desk) -> Recording:
    plan = tasks.plan(name, desk.threads, **{key: parameters[key] for key in SIZE})
    dataset, split = tasks.load(name, parameters["rows"], parameters["source"])
    desk.say(_line(dataset, split, plan))
    table = removal.run(split, plan, checkpoint=desk.folder / "cells", report=desk.say)
    table = table.astype({"removed": "int16", "replicate": "int16"})
    return Recording({"losses": table}, _facts(name, plan, dataset, split, table))


def _line(dataset: Dataset, split: Split, plan: Plan) -> str:
    """Rows, columns, sizes of the attributions, trainings."""
    exact = tasks.exact_share(split, plan)
    part = "" if exact is None else f", exact for {100 * exact:.0f} % of the rows"
    return (
        f"  {_rows(dataset, split)}; Kernel SHAP from {plan.samples:,} samples{part}; "
        f"integrated gradients in {plan.ig_steps} steps; "
        f"{len(removal.cells(plan))} cells of {plan.replicates} trainings, {plan.recipe.epochs} epochs each"
    )


def _rows(dataset: Dataset, split: Split) -> str:
    return f"{len(dataset.features):,} {dataset.source} rows × {len(split.names)} features"


def _facts(name: str, plan: Plan, dataset: Dataset, split: Split, table: pd.DataFrame) -> dict[str, Any]:
    return {
        "parameters": asdict(plan),
        "title": tasks.find(name).title,
        "data": {"what": _rows(dataset, split), "source": dataset.source, **dataset.provenance},
        "features": list(split.names),
        "explained_by_the_others": float(tasks.redundancy(split).median()),
        "exact_kernel_shap": tasks.exact_share(split, plan),
        "trainings": len(removal.cells(plan)) * plan.replicates,
        "r2": float(table.query("input == 'features' and fraction == 0")["r2"].mean()),
        "seconds_are": "data, attributions and trainings, over all starts",
    }


RUNS = tuple(
    Run(f"roar_{name}", f"remove and retrain: {task.title}",
        {"source": task.source, "rows": task.rows, **dict.fromkeys(SIZE), "epochs": task.epochs},
        ("losses",), partial(_retrain, name))
    for name, task in TASKS.items()
)  # fmt: skip
