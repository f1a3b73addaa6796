"""How much a table of mean ABCs owes to the pairs, to the training and to the split  [Table 1]."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel.comparison import PAPER_METHODS, compare
from insdel.curves import MODES
from insdel.errors import UserError
from insdel.stats import summary
from insdel_paper.studies.experiments import POLICIES, Experiment, prepare
from insdel_paper.studies.outcome import SAMPLES

SPLITS, TRAININGS = 6, 4  # of houses
EVENT_TRAININGS = 5
METHODS = PAPER_METHODS
SEEDS = 1000  # trainings of one split that get seeds of their own
RUN = ["duplicates", "split", "training"]
DIFFERENCE = "kernel_shap − integrated_gradients"


Run = dict[str, Any]  # duplicates ("kept" or "dropped") of houses or the policy of events; split, training


def runs(splits: int = SPLITS, trainings: int = TRAININGS) -> list[Run]:
    """Every training of every split, and half of the trainings again without duplicate rows."""
    seeds = product(range(splits), range(trainings))
    kept: list[Run] = [{"duplicates": "kept", "split": split, "training": training} for split, training in seeds]
    return kept + [{**run, "duplicates": "dropped"} for run in kept if run["training"] < max(1, trainings // 2)]


def event_runs(policies: Sequence[str] = POLICIES, trainings: int = EVENT_TRAININGS) -> list[Run]:
    """Trainings of the events' network from other seeds on the same split, each under every policy."""
    return [{"policy": policy, "split": 0, "training": seed} for seed in range(trainings) for policy in policies]


def repeat(
    run: Run, *, samples: int = SAMPLES, checkpoint: Path | None = None, scheduler: Any = None, **given: Any
) -> tuple[Experiment, pd.DataFrame, pd.DataFrame]:
    """Split the data, fit the network, pair and compare as a run says; random orders and samples are its own.

    samples : of Kernel SHAP where 2ᵈ is more
    checkpoint, scheduler : as for `compare`
    given : to `prepare`

    Returns the experiment, the table of `compare`, and who is paired with whom; both with the run's key in front
    """
    seeds: dict[str, Any] = {"split_seed": run["split"], "train_seed": run["training"], "source": "real", **given}
    if "policy" in run:
        one = prepare("cern", policy=run["policy"], pair_seed=run["split"], **seeds)
    else:
        one = prepare("bangalore", drop_duplicates=run["duplicates"] == "dropped", **seeds)
    found = compare(
        one.model, one.pairs.x, one.pairs.reference, METHODS, score=False, checkpoint=checkpoint, scheduler=scheduler,
        options={**one.options, "kernel_shap": {"samples": samples}}, seed=SEEDS * run["split"] + run["training"],
    )  # fmt: skip
    areas, ends = (pd.DataFrame({**run, **table}, index=table.index) for table in (found.table, one.ends))
    return one, areas, ends


def run_means(table: pd.DataFrame, pairs: pd.DataFrame | None = None, value: str = "abc_per_feature") -> pd.DataFrame:
    """Mean and standard error of every method, and of Kernel SHAP − IG, in every run and mode.

    table : rows of `compare` with the columns duplicates, split, training in front
    pairs : who is paired with whom in every run: duplicates, split, training, pair, row, reference_row; without it
        standard errors are naive

    Returns a DataFrame: duplicates, split, training, mode, method, mean, se; modes and methods as the paper lists them
    """
    known = {} if pairs is None else dict(list(pairs.groupby(RUN)))
    parts = {
        run: summary(rows, known.get(run), [("kernel_shap", "integrated_gradients")], value=value, bootstrap=0)
        for run, rows in table.astype({"method": str, "mode": str}).groupby(RUN, sort=False)
    }
    result = pd.concat(parts, names=RUN).reset_index(RUN)[[*RUN, "mode", "method", "mean", "se"]]
    places = {name: place for place, name in enumerate([*MODES, *METHODS, DIFFERENCE])}
    return result.sort_values(["mode", "method"], key=lambda names: names.map(places), kind="stable", ignore_index=True)


def components(means: pd.DataFrame) -> pd.DataFrame:
    """Where the spread of the means comes from: pairs within a run, training, split.

    With m_st the mean of split s and training t: `training` is the root of the mean over s of the variance
    of m_st over t; `split` that of Var_s(m̄_s) − training² / T, at least 0; `total` of their sum; `within`
    is the root mean square of the standard errors that single runs print. The trainings of a split share
    its held-out rows, so what `within` measures is a part of `split`, not one more term.

    means : from `run_means`, one value of duplicates

    Returns a DataFrame: mode, method, mean, within, training, split, total, ratio (total / within), runs
    """
    rows = []
    for (mode, method), part in means.groupby(["mode", "method"], sort=False):
        grid = part.pivot_table(index="split", columns="training", values="mean").to_numpy()
        rows.append({"mode": mode, "method": method, **nested(grid), "within": float((part["se"] ** 2).mean() ** 0.5)})
    table = pd.DataFrame(rows)
    table["ratio"] = table["total"] / table["within"]
    return table[["mode", "method", "mean", "within", "training", "split", "total", "ratio", "runs"]]


def nested(grid: np.ndarray) -> dict[str, float]:
    """Mean and standard deviations of a balanced (splits, trainings) grid with trainings nested in splits."""
    if min(grid.shape) < 2 or np.isnan(grid).any():
        raise UserError(
            f"variance components need at least 2 splits with the same 2 or more trainings each; found a grid "
            f"of {grid.shape[0]} × {grid.shape[1]} with {int(np.isnan(grid).sum())} gaps. Record more runs."
        )
    training = grid.var(axis=1, ddof=1).mean()
    split = max(0.0, grid.mean(axis=1).var(ddof=1) - training / grid.shape[1])
    spread = {"training": training**0.5, "split": split**0.5, "total": (training + split) ** 0.5}
    return {"mean": float(grid.mean()), **{key: float(value) for key, value in spread.items()}, "runs": grid.size}
