"""How much a table of mean ABCs owes to the pairs, to the training and to the split  [Table 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Replicate:
    """One split and one training of an experiment; each run draws random orders and samples of its own.

    duplicates : houses: duplicate rows "kept" or "dropped"
    policy : events: how pairs are formed; empty for houses
    """

    split: int
    training: int
    duplicates: str = "kept"
    policy: str = ""

    @property
    def key(self) -> dict[str, Any]:
        """What tells this run from others, as columns of its tables."""
        first = {"policy": self.policy} if self.policy else {"duplicates": self.duplicates}
        return {**first, "split": self.split, "training": self.training}

    @property
    def label(self) -> str:
        """A name for files."""
        return "{}_split{}_training{}".format(*self.key.values())

    def prepare(self, source: str = "real", **changes: Any) -> Experiment:
        """Split the data, fit the network and pick the pairs of this run; changes are for `experiments.prepare`."""
        seeds: dict[str, Any] = {"split_seed": self.split, "train_seed": self.training, "source": source, **changes}
        if self.policy:
            return prepare("cern", policy=self.policy, pair_seed=self.split, **seeds)
        return prepare("bangalore", drop_duplicates=self.duplicates == "dropped", **seeds)

    def table(self, experiment: Experiment, samples: int = SAMPLES, **storage: Any) -> pd.DataFrame:
        """The rows of `compare` for this run, with its key in front; Kernel SHAP from `samples` where 2ᵈ is more."""
        options = {**experiment.options, "kernel_shap": {"samples": samples}}
        x, reference, seed = experiment.pairs.x, experiment.pairs.reference, SEEDS * self.split + self.training
        choice = {"options": options, "seed": seed, "score": False, **storage}
        return self._named(compare(experiment.model, x, reference, METHODS, **choice).table)

    def ends(self, experiment: Experiment) -> pd.DataFrame:
        """Who is paired with whom in this run: its key, pair, row, reference_row."""
        return self._named(experiment.ends)

    def _named(self, table: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({**self.key, **table}, index=table.index)


def runs(splits: int = SPLITS, trainings: int = TRAININGS) -> list[Replicate]:
    """Every training of every split, and half of the trainings again without duplicate rows."""
    kept = [Replicate(split, training) for split in range(splits) for training in range(trainings)]
    return kept + [replace(run, duplicates="dropped") for run in kept if run.training < max(1, trainings // 2)]


def event_runs(policies: Sequence[str] = POLICIES, trainings: int = EVENT_TRAININGS) -> list[Replicate]:
    """Trainings of the events' network from other seeds on the same split, each under every policy."""
    return [Replicate(0, seed, policy=policy) for seed in range(trainings) for policy in policies]


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
