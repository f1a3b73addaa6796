"""Numbers of one comparison, with standard errors: means, paired differences, ratios, correlations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import insdel_paper as paper
from insdel import stats
from insdel.stats import Number, PairIds
from insdel_paper import results
from insdel_paper.claims import records
from insdel_paper.claims.verdict import LIMITS, Figure, MissingRunError, above, below, level, within
from insdel_paper.studies import tables, variation

Side = tuple[str, str]  # method and mode
KS, IG, DL, VG, IXG, LIME, RANDOM = paper.SIX
I, D = MODES = ("insertion", "deletion")  # noqa: E741
SHORT = {KS: "KS", IG: "IG", DL: "DeepLIFT", VG: "Vanilla Grad", IXG: "Input × Gradient", LIME: "LIME",
    RANDOM: "random"}
TRAININGS = "cern_variation"  # the record of the events' network trained from other seeds
WORDS = {"counterfactual": "counterfactual", "one_to_one": "one-to-one", "average": "average"}


def label(what: Side) -> str:
    """A method and a test in words."""
    return f"{SHORT.get(what[0], what[0])}, {what[1]}"


class Run:
    """One comparison, recorded or of now.

    name : of the record; "this run" for one of now
    printed : rows of the paper's table for the same experiment and policy
    policy, data : of events: who is paired with whom, and in a word which events, for labels
    tables : name → table, as a record has them: areas, pairs, curves, charges; None: those of the record
    """

    def __init__(
        self,
        name: str,
        printed: pd.DataFrame,
        policy: str = "",
        data: str = "",
        tables: Mapping[str, pd.DataFrame] | None = None,
    ) -> None:
        self.name, self.policy, self.data, self.tables = name, policy, data, tables
        self.printed = printed.set_index(["method", "mode"])[["mean", "se"]]

    @property
    def kind(self) -> str:
        """Policy and data, for labels; empty for houses."""
        return f"{WORDS[self.policy]}, {self.data}" if self.policy else ""

    def table(self, part: str = "areas") -> pd.DataFrame:
        """A table of the run."""
        if self.tables is None:
            return records.table(self.name, part)
        if part not in self.tables:
            raise MissingRunError(f"The {part} of the pairs were not measured")
        return self.tables[part]

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Per pair: rows, number of differing features, f(x), f(x′)."""
        return self.table("pairs")

    @cached_property
    def columns(self) -> pd.DataFrame:
        """ABC per feature: one row per pair, one column per (method, mode)."""
        return tables.wide(self.table()).astype(float)

    def __getitem__(self, what: Side) -> pd.Series:
        """ABC per feature of a method in a test, (pairs,)."""
        if what not in self.columns:
            raise MissingRunError(f"{SHORT.get(what[0], what[0])} was not run")
        return self.columns[what]

    @cached_property
    def ends(self) -> PairIds:
        """The points that each pair is made of: standard errors count these."""
        return PairIds.of(self.pairs, self.columns.index)

    def average(self, values: pd.Series) -> Number:
        """Mean of (pairs,) values; its standard error accounts for shared points."""
        return stats.mean(values, self.ends)

    @cached_property
    def trainings(self) -> list[pd.DataFrame]:
        """The columns of networks that were trained from other seeds; [] where none is recorded."""
        if self.tables is not None or self.data != "genuine" or not results.exists(TRAININGS):
            return []
        table = records.table(TRAININGS)
        return [tables.wide(part) for _, part in table[table["policy"] == self.policy].groupby("training")]

    def widened(self, number: Number, statistic: Callable[..., float], *sides: Side) -> Number:
        """A number with an error that also covers what another training would change.

        The standard deviation between the recorded trainings is added, stretched to the t quantile of so few.

        statistic : of one series of ABC / n for each of the sides
        """
        if not self.trainings or any(side not in self.trainings[0] for side in sides):
            return number
        again = [statistic(*(columns[side] for side in sides)) for columns in self.trainings]
        spread = float(np.std(again, ddof=1)) * level(len(again) - 1) / level()
        return number[0], float(np.hypot(number[1], spread))

    def mean(self, what: Side) -> Number:
        """Mean ABC / n of a method."""
        return self.widened(self.average(self[what]), np.mean, what)

    def difference(self, a: Side, b: Side) -> Number:
        """Mean of the paired difference a − b."""
        return self.widened(self.average(self[a] - self[b]), lambda x, y: (x - y).mean(), a, b)

    def ratio(self, a: Side, b: Side) -> Number:
        """Mean of a over mean of b; its standard error by the delta method, paired."""
        return self.widened(stats.ratio(self[a], self[b], self.ends), lambda x, y: x.mean() / y.mean(), a, b)

    def correlation(self, a: Side, b: Side) -> Number:
        """Correlation over the pairs; its standard error by the jackknife over points."""
        return self.widened(stats.correlation(self[a], self[b], self.ends), lambda x, y: x.corr(y), a, b)

    def bootstrapped(self, values: Any, statistic: Callable[[np.ndarray], float]) -> Number:
        """A statistic of (pairs,) or (pairs, k) values, and its bootstrap standard error over points."""
        return stats.bootstrap_error(values, statistic, self.ends)

    def paper(self, a: Side, b: Side | None = None) -> float | None:
        """The printed mean of a, or the printed difference a − b of means."""
        try:
            return float(self.printed.loc[a, "mean"] - (self.printed.loc[b, "mean"] if b else 0.0))
        except KeyError:
            return None

    def paper_ratio(self, a: Side, b: Side) -> float:
        """The printed mean of a over that of b."""
        return float(self.printed.loc[a, "mean"] / self.printed.loc[b, "mean"])

    def tell(self, text: str) -> str:
        """A label that says which data it is about."""
        return f"{text} ({self.kind})" if self.kind else text


def larger(run: Run, a: Side, b: Side) -> Figure:
    """The paired difference a − b is positive."""
    text = run.tell(f"{label(a)}, minus {label(b) if a[1] != b[1] else SHORT.get(b[0], b[0])}")
    value, se = run.difference(a, b)
    if (a[0], b[0]) == (KS, IG) and a[1] == b[1] and (paper.DIFFERENCE, a[1]) in run.printed.index:
        printed = run.printed.loc[(paper.DIFFERENCE, a[1])]
        return above(text, value, se, 0.0, float(printed["mean"]), float(printed["se"]))
    return above(text, value, se, 0.0, run.paper(a, b))


def close(run: Run, a: Side, b: Side, word: str = "close") -> Figure:
    """The mean of a falls short of that of b by at most what the word allows."""
    value, se = run.ratio(a, b)
    text = run.tell(f"share of {label(b)} that {SHORT[a[0]]} reaches")
    return above(text, value, se, 1 - LIMITS[word], paper=run.paper_ratio(a, b))


def short(run: Run, a: Side, b: Side, word: str = "poor") -> Figure:
    """The mean of a falls short of that of b by at least what the word says."""
    value, se = run.ratio(a, b)
    text = run.tell(f"share of {label(b)} that {SHORT[a[0]]} reaches")
    return below(text, value, se, 1 - LIMITS[word], paper=run.paper_ratio(a, b))


def tie(run: Run, a: Side, b: Side) -> Figure:
    """Two means differ by at most what the word tie allows."""
    value, se = run.difference(a, b)
    larger_mean = max(abs(run.mean(a)[0]), abs(run.mean(b)[0]))
    printed = (run.paper(a, b) or 0.0) / max(abs(run.paper(a) or 0.0), abs(run.paper(b) or 0.0))
    text = run.tell(f"{label(a)}, minus {SHORT[b[0]]}, as a share")
    return within(text, value / larger_mean, se / larger_mean, LIMITS["tie"], paper=printed)


def alike(run: Run, a: Side, b: Side, limit: float = LIMITS["point by point"]) -> Figure:
    """The correlation of a and b over the pairs is larger than a limit."""
    return above(run.tell(f"correlation of {label(a)} with {label(b)}"), *run.correlation(a, b), limit)


def survives(run: Run, text: str, holds: Callable[[Any], bool]) -> list[Figure]:
    """In which share of the recorded splits and trainings a statement about the means is true.

    [] if none is recorded, and for a run of now, which is judged by itself.

    holds : from {(mode, method): mean} to true or false. The standard error is that over the splits.
    """
    if run.tables is not None or not results.exists("bangalore_variation"):
        return []
    true = pd.Series({key: holds(means) for key, means in _means(results.folder()).items()}, dtype=float)
    shares = true.groupby(level=0).mean()
    words = f"share of {len(true)} splits and trainings: {text}"
    return [above(words, *stats.mean(shares), LIMITS["most"], df=len(shares) - 1)]


def ratio_of_runs(a: Side, b: Side) -> tuple[float, float, int] | None:
    """Mean over the recorded splits and trainings of a over b, its error over splits, and degrees of freedom."""
    if not results.exists("bangalore_variation"):
        return None
    means = _means(results.folder())
    ratios = pd.Series({run: m[a[::-1]] / m[b[::-1]] for run, m in means.items()}).groupby(level=0).mean()
    return *stats.mean(ratios), len(ratios) - 1


@lru_cache(maxsize=4)
def _means(folder: Path) -> dict[tuple[int, int], dict[tuple[str, str], float]]:
    """(split, training) → (mode, method) → mean ABC / n, duplicate rows kept."""
    means = variation.run_means(records.table("bangalore_variation")).query("duplicates == 'kept'")
    runs = means.groupby(["split", "training"])
    return {key: part.set_index(["mode", "method"])["mean"].to_dict() for key, part in runs}
