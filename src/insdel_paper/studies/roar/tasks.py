"""The recorded runs of remove and retrain: which rows, which columns of them, and what is trained how.

Next to the paper's two data sets stand those that tell its two explanations of straight curves apart: the
same data without redundant columns, another reference, and planted data whose importance is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError
from insdel.own.mlp import Hyper, Recipe
from insdel_paper import data as datasets
from insdel_paper import networks
from insdel_paper.data import Dataset, Split
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.roar import removal
from insdel_paper.studies.roar.removal import BY_SIZE, EXPLAINED, FORMS, SIGHTS, Plan

INDEPENDENT = tuple(f"{name}{i}" for i in (1, 2) for name in ("pt", "eta", "phi", "Q"))  # E and p follow from these
CORRELATION = 0.5  # Bangalore: a column that correlates more than this with an earlier one is dropped
CERN_ROWS = 16_000
PLANTED_ROWS, PLANTED_FEATURES, PLANTED_DECAY, PLANTED_NOISE = 2000, 12, 0.75, 0.1
PLANTED = (Hyper((64, 64), dropout=0.0, learning_rate=3e-3), Recipe(epochs=30, batch=128))


@dataclass(frozen=True)
class Task:
    """A recorded run.

    title : for tables and figures
    data : "bangalore", "cern" or "planted"
    source : where the rows come from, as for `datasets.load`; planted ones are simulated
    columns : "all", or "independent": without redundant ones
    copies : how many times every planted column stands there
    rows : how many are simulated; None for all of a real file
    epochs : of each training; None for those of the recipe
    plan : fields of `Plan` that differ from its defaults
    """

    title: str
    data: str
    source: str = "simulated"
    columns: str = "all"
    copies: int = 1
    rows: int | None = None
    epochs: int | None = None
    plan: tuple[tuple[str, Any], ...] = ()


TASKS = {
    "bangalore": Task("houses", "bangalore", "real", plan=(("leak", (0.1, 0.3, 0.5, 0.7, 0.9)),)),
    "bangalore_imputed": Task(
        "houses, three forms of removal", "bangalore", "real",
        plan=(("forms", FORMS), ("fractions", (0.1, 0.3, 0.5)), ("leak", (0.3,)), ("sights", SIGHTS)),
    ),
    "cern": Task("events", "cern", plan=(("leak", (0.1, 0.3, 0.5)),)),
    "cern_genuine": Task(
        "genuine events", "cern", "real", epochs=10,  # half the recipe's, for time
        plan=(("forms", FORMS), ("fractions", (0.1, 0.3, 0.5)), ("leak", (0.3,)), ("sights", SIGHTS)),
    ),
    "bangalore_methods": Task(
        "houses, six methods", "bangalore", "real",
        plan=(("rankings", (*EXPLAINED, "random")), ("forms", FORMS), ("fractions", (0.1, 0.3, 0.5))),
    ),
    "planted": Task(
        "planted", "planted", rows=PLANTED_ROWS, plan=(("leak", (0.1, 0.3, 0.5, 0.7, 0.9)), ("samples", 2**12))
    ),
    "planted_copied": Task(
        "planted, every column twice", "planted", copies=2, rows=PLANTED_ROWS, plan=(("samples", 2**12),)
    ),
    "bangalore_independent": Task(
        "houses, correlated columns dropped", "bangalore", "real", "independent", plan=(("rankings", BY_SIZE),)
    ),
    "cern_independent": Task(
        "events, 8 independent columns", "cern", columns="independent", rows=CERN_ROWS, plan=(("rankings", BY_SIZE),)
    ),
    "bangalore_counterfactual": Task(
        "houses, explained against counterfactuals", "bangalore", "real",
        plan=(("rankings", BY_SIZE), ("reference", "counterfactual")),
    ),
}  # fmt: skip


def plan(name: str, threads: int = 1, *, epochs: int | None = None, **changes: Any) -> Plan:
    """Return the plan of a task, at full size by default; changes are fields of `Plan`, None for none."""
    task = find(name)
    hyper, recipe = PLANTED if task.data == "planted" else networks.choose(task.data)
    recipe = recipe if epochs is None else replace(recipe, epochs=epochs)
    given = {name: value for name, value in changes.items() if value is not None}
    return Plan(hyper, recipe, threads=threads, **{**dict(task.plan), **given})


def find(name: str) -> Task:
    """Return the task of that name."""
    if name not in TASKS:
        raise UserError(f"there is no task {name!r}. The tasks are: {', '.join(TASKS)}.")
    return TASKS[name]


def load(name: str, rows: int | None = None, source: str | None = None) -> tuple[Dataset, Split]:
    """The rows of a task, with its columns only, and their division.

    Parameters
    ----------
    rows, source : others than the task's, such as fewer, or "simulated" houses
    """
    task = find(name)
    if task.data == "planted":
        dataset = planted(rows or task.rows or PLANTED_ROWS, task.copies)
    else:
        dataset = datasets.load(task.data, source or task.source, n=rows or task.rows)
    if task.columns == "independent":
        dataset = only(dataset, INDEPENDENT if task.data == "cern" else uncorrelated(datasets.split(dataset)))
    return dataset, datasets.split(dataset)


def only(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The same rows with some of the columns."""
    kinds = dataset.binary, dataset.standardise
    binary, standardise = (tuple(name for name in kind if name in names) for kind in kinds)
    columns = dataset.features[list(names)]
    return replace(dataset, features=columns, names=tuple(names), binary=binary, standardise=standardise)


def uncorrelated(split: Split, most: float = CORRELATION) -> tuple[str, ...]:
    """Columns that vary and correlate at most that much with every kept one before them, in training rows."""
    values = split.x_train.astype(np.float64)
    varying = [j for j in range(values.shape[1]) if values[:, j].std() > 0]
    correlation = dict(zip(varying, np.abs(np.corrcoef(values[:, varying].T)), strict=True))
    remaining: list[int] = []
    for j in varying:
        if all(correlation[j][varying.index(k)] <= most for k in remaining):
            remaining.append(j)
    return tuple(split.names[j] for j in remaining)


def planted(rows: int = PLANTED_ROWS, copies: int = 1, seed: int = 0) -> Dataset:
    """Simulated rows of which the importance is known: y = Σ 2 · 0.75ʲ x_j + noise, x independent and normal.

    Parameters
    ----------
    copies : each column stands there that often; the copies carry nothing new
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, PLANTED_FEATURES))
    y = x @ planted_weights() + PLANTED_NOISE * rng.normal(size=rows)
    names = tuple(f"x{j + 1}{mark}" for mark in [""] + ["′" * k for k in range(1, copies)] for j in range(x.shape[1]))
    table = pd.DataFrame(np.tile(x, (1, copies)), columns=list(names))
    about = {
        "origin": "planted: a weighted sum of independent normal features",
        "file": None,
        "sha256": None,
        "note": "simulated rows of known importance",
        "options": {"n": rows, "copies": copies, "seed": seed},
    }
    return Dataset("planted", table, pd.Series(y, name="y"), names, (), names, "simulated", about)


def planted_weights() -> np.ndarray:
    """Weights of the planted features, from the most important on, (12,)."""
    return 2.0 * PLANTED_DECAY ** np.arange(PLANTED_FEATURES)


def redundancy(split: Split) -> pd.Series:
    """Share of each column's variance that a linear function of the other columns explains, training rows.

    Columns that do not vary are left out.
    """
    values = split.x_train.astype(np.float64)
    varying = [j for j in range(values.shape[1]) if values[:, j].std() > 0]
    result = {}
    for j in varying:
        others = np.column_stack([np.ones(len(values)), values[:, [k for k in varying if k != j]]])
        rest = values[:, j] - others @ np.linalg.lstsq(others, values[:, j], rcond=None)[0]
        result[split.names[j]] = 1 - rest.var() / values[:, j].var()
    return pd.Series(result, name="explained by the others")


def exact_share(split: Split, chosen: Plan) -> float | None:
    """Share of all rows with exact Kernel SHAP against mean and mode; None for other references."""
    if chosen.reference != "statistics":
        return None
    x = np.concatenate([split.x_train, split.x_test])
    return removal.exact_share(x, removal.reference_point(split)[None], chosen.samples)


def retrain_task(
    name: str, context: RunContext, *, source: str, rows: int | None, epochs: int | None, replicates: int | None,
    samples: int | None,
) -> Recording:  # fmt: skip
    """Remove and retrain on a task; sizes are of the plan, None is full size. `losses` has Huber's loss of each."""
    chosen = plan(name, context.threads, epochs=epochs, replicates=replicates, samples=samples)
    dataset, split = load(name, rows, source)
    grid, exact = removal.cells(chosen), exact_share(split, chosen)
    size = f"{len(dataset.features):,} {dataset.source} rows × {len(split.names)} features"
    part = "" if exact is None else f", exact for {100 * exact:.0f} % of the rows"
    context.log(
        f"  {size}; Kernel SHAP from {chosen.samples:,} samples{part}; "
        f"integrated gradients in {chosen.ig_steps} steps; "
        f"{len(grid)} cells of {chosen.replicates} trainings, {chosen.recipe.epochs} epochs each"
    )
    table = removal.run(split, chosen, checkpoint=context.folder / "cells", report=context.log)
    facts = {
        "parameters": asdict(chosen),
        "title": find(name).title,
        "data": {"what": size, "source": dataset.source, **dataset.provenance},
        "features": list(split.names),
        "explained_by_the_others": float(redundancy(split).median()),
        "exact_kernel_shap": exact,
        "trainings": len(grid) * chosen.replicates,
        "r2": float(table.query("input == 'features' and fraction == 0")["r2"].mean()),
        "seconds_are": "data, attributions and trainings, over all starts",
    }
    return Recording({"losses": table.astype({"removed": "int16", "replicate": "int16"})}, facts)


for _name, _task in TASKS.items():
    record(
        f"roar_{_name}", f"remove and retrain: {_task.title}", ("losses",),
        source=_task.source, rows=_task.rows, epochs=_task.epochs, replicates=None, samples=None,
    )(partial(retrain_task, _name))  # fmt: skip
