"""The recorded runs of remove and retrain: which rows, which columns of them, and what is trained how.

Next to the paper's two data sets stand those that tell its two explanations of straight curves apart: the
same data without redundant columns, another reference, and planted data whose importance is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from insdel.errors import UserError
from insdel_paper import data as datasets
from insdel_paper import networks
from insdel_paper.data import Dataset, Split
from insdel_paper.networks.training import Hyper, Recipe
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.roar import removal
from insdel_paper.studies.roar.removal import Plan

INDEPENDENT = tuple(f"{name}{i}" for i in (1, 2) for name in ("pt", "eta", "phi", "Q"))  # E and p follow from these
CORRELATION = 0.5  # Bangalore: a column that correlates more than this with an earlier one is dropped
PLANTED_ROWS, PLANTED_FEATURES, PLANTED_DECAY, PLANTED_NOISE = 2000, 12, 0.75, 0.1
PLANTED = (Hyper((64, 64), dropout=0.0, learning_rate=3e-3), Recipe(epochs=30, batch=128))


@dataclass(frozen=True)
class Task:
    """A recorded run; `tasks.yml` says what its fields mean."""

    title: str
    data: str
    source: str = "simulated"
    columns: str = "all"
    copies: int = 1
    rows: int | None = None
    epochs: int | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)


_FILE = Path(__file__).with_name("tasks.yml")
TASKS = {name: Task(**entry) for name, entry in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()}


def plan(name: str, threads: int = 1, *, epochs: int | None = None, **changes: Any) -> Plan:
    """Return the plan of a task, at full size by default; changes are fields of `Plan`, None for none."""
    task = find(name)
    hyper, recipe = PLANTED if task.data == "planted" else networks.choose(task.data)
    recipe = recipe if epochs is None else replace(recipe, epochs=epochs)
    given = {**task.plan, **{name: value for name, value in changes.items() if value is not None}}
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return Plan(hyper, recipe, threads=threads, **fields)


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
    binary, standardise = (tuple(n for n in kind if n in names) for kind in (dataset.binary, dataset.standardise))
    columns = dataset.features[list(names)]
    return replace(dataset, features=columns, names=tuple(names), binary=binary, standardise=standardise)


def _varying(split: Split) -> pd.DataFrame:
    """The training rows' columns that vary."""
    columns = pd.DataFrame(split.x_train.astype(np.float64), columns=list(split.names))
    return columns.loc[:, columns.std() > 0]


def uncorrelated(split: Split, most: float = CORRELATION) -> tuple[str, ...]:
    """Columns that vary and correlate at most that much with every kept one before them, in training rows."""
    correlation, remaining = _varying(split).corr().abs(), list[str]()
    for name in correlation:
        if (correlation.loc[remaining, name] <= most).all():
            remaining.append(name)
    return tuple(remaining)


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
        "origin": "planted: a weighted sum of independent normal features", "file": None, "sha256": None,
        "note": "simulated rows of known importance", "options": {"n": rows, "copies": copies, "seed": seed},
    }  # fmt: skip
    return Dataset("planted", table, pd.Series(y, name="y"), names, (), names, "simulated", about)


def planted_weights() -> np.ndarray:
    """Weights of the planted features, from the most important on, (12,)."""
    return 2.0 * PLANTED_DECAY ** np.arange(PLANTED_FEATURES)


def redundancy(split: Split) -> pd.Series:
    """Share of each varying column's variance that a linear function of the others explains, training rows."""
    columns = _varying(split)
    centred, shares = columns - columns.mean(), {}
    for name, column in centred.items():
        others = centred.drop(columns=name).to_numpy()
        rest = column - others @ np.linalg.lstsq(others, column, rcond=None)[0]
        shares[name] = 1 - rest.var() / column.var()
    return pd.Series(shares, name="explained by the others")


def exact_share(split: Split, chosen: Plan) -> float | None:
    """Share of all rows with exact Kernel SHAP against mean and mode; None for other references."""
    if chosen.reference != "statistics":
        return None
    x = np.concatenate([split.x_train, split.x_test])
    return float((2.0 ** (x != removal.reference_point(split)).sum(axis=1) <= chosen.samples).mean())


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
