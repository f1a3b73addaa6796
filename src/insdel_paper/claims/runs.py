"""One comparison of methods, recorded or of now, and its numbers: means, paired differences, ratios, correlations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import insdel_paper as paper
from insdel import stats
from insdel.stats import Number, PairIds
from insdel_paper import results
from insdel_paper.claims import records
from insdel_paper.claims.verdict import MissingRunError, level
from insdel_paper.studies import tables, variation

Side = tuple[str, str]  # method and mode
KS, IG, _, _, _, LIME, RANDOM = paper.SIX
I, D = MODES = ("insertion", "deletion")  # noqa: E741
SHORT = dict(
    zip(paper.SIX, ("KS", "IG", "DeepLIFT", "Vanilla Grad", "Input × Gradient", "LIME", "random"), strict=True)
)
METHOD = {short: method for method, short in SHORT.items()}  # as `claims.yml` names them
SPLITS, TRAININGS = "bangalore_variation", "cern_variation"  # records of other splits and trainings
CF, OTO, AVERAGE = POLICIES = ("counterfactual", "one_to_one", "average")
WORDS = {"houses": "houses", CF: "counterfactual", OTO: "one-to-one", AVERAGE: "average"}
KINDS = {"cern_genuine": "genuine", "cern": "simulated"}


def label(what: Side) -> str:
    """A method and a test in words."""
    return f"{SHORT.get(what[0], what[0])}, {what[1]}"


class Run:
    """One comparison, recorded or of now.

    name : of the record; "this run" for one of now
    subject : "houses", or the policy that pairs events
    data : which events, in a word, for labels
    tables : name → table, as a record has them: areas, pairs, curves, charges; None: those of the record
    """

    def __init__(
        self, name: str, subject: str, data: str = "", tables: Mapping[str, pd.DataFrame] | None = None
    ) -> None:
        self.name, self.subject, self.data, self.tables = name, subject, data, tables
        self.printed = printed(subject).set_index(["method", "mode"])[["mean", "se"]]

    @property
    def kind(self) -> str:
        """Data and policy in words."""
        return WORDS[self.subject] + (f", {self.data}" if self.data else "")

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

    @property
    def trainings(self) -> list[pd.DataFrame]:
        """The columns of networks that were trained from other seeds; [] where none is recorded."""
        recorded = self.tables is None and self.data == "genuine" and results.exists(TRAININGS)
        return _trainings(TRAININGS, self.subject) if recorded else []

    def widened(self, number: Number, statistic: Callable[..., float], *sides: Side) -> Number:
        """A number with an error that also covers what another training would change.

        statistic : of one series of ABC / n for each of the sides
        """
        return number[0], float(np.hypot(number[1], spread(self.retrained(statistic, *sides))))

    def retrained(self, statistic: Callable[..., float], *sides: Side) -> np.ndarray:
        """The statistic of every recorded training, (trainings,); empty where one of the sides was not recorded."""
        recorded = [columns for columns in self.trainings if all(side in columns for side in sides)]
        return np.array([statistic(*(columns[side] for side in sides)) for columns in recorded])

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

    def enlarged(self, values: pd.Series) -> float:
        """The standard error that counts shared points, over the naive one of the mean of (pairs,) values."""
        return self.average(values)[1] / float(stats.naive_error(values))

    def paper(self, a: Side, b: Side | None = None) -> float | None:
        """The printed mean of a, or the printed difference a − b of means."""
        try:
            return float(self.printed.loc[a, "mean"] - (self.printed.loc[b, "mean"] if b else 0.0))
        except KeyError:
            return None

    def paper_ratio(self, a: Side, b: Side) -> float:
        """The printed mean of a over that of b."""
        return float(self.printed.loc[a, "mean"] / self.printed.loc[b, "mean"])


def spread(again: np.ndarray) -> float:
    """Standard deviation of (trainings,) numbers, stretched to the t quantile of so few; 0 without any."""
    return float(np.std(again, ddof=1)) * level(len(again) - 1) / level() if len(again) else 0.0


def printed(subject: str) -> pd.DataFrame:
    """Rows of the paper's table about the houses, or about a policy for events."""
    return tables.printed("bangalore") if subject == "houses" else tables.printed("cern", subject)


def names(subject: str) -> dict[str, str]:
    """Records about the houses or about a policy for events, and which events they hold, in a word."""
    return {"bangalore": ""} if subject == "houses" else {f"{name}_{subject}": kind for name, kind in KINDS.items()}


def recorded(subject: str) -> list[Run]:
    """The recorded runs; `MissingRecordError` if there is none.

    Of events the genuine one alone, if its network was fitted to genuine events, too; else also the simulated one.
    """
    kinds, genuine = names(subject), f"cern_genuine_{subject}"
    if results.exists(genuine) and records.about(genuine).get("trained_on") == "real":
        kinds = {genuine: "genuine"}
    return [_recorded(name, subject, kinds[name]) for name in records.existing(*kinds)]


@records.kept
def _recorded(name: str, subject: str, data: str) -> Run:
    return Run(name, subject, data)


@records.kept
def _trainings(name: str, policy: str) -> list[pd.DataFrame]:
    table = records.table(name)
    return [tables.wide(part) for _, part in table[table["policy"] == policy].groupby("training")]


def run_means() -> dict[tuple[int, int], dict[Side, float]]:
    """(split, training) → (method, mode) → mean ABC / n, of houses with duplicate rows kept; {} if none is recorded."""
    return _run_means(SPLITS) if results.exists(SPLITS) else {}


@records.kept
def _run_means(name: str) -> dict[tuple[int, int], dict[Side, float]]:
    means = variation.run_means(records.table(name)).query("duplicates == 'kept'")
    runs = means.groupby(["split", "training"])
    return {key: part.set_index(["method", "mode"])["mean"].to_dict() for key, part in runs}
