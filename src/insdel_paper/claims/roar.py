"""Rules about remove and retrain  [section 6]: how much the loss bends away from a straight line."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from insdel import stats
from insdel_paper import results
from insdel_paper.claims import records
from insdel_paper.claims.runs import METHOD
from insdel_paper.claims.verdict import CANNOT, Answer, Finding, MissingRunError, required, rule
from insdel_paper.studies.roar import tables

DATA = {"bangalore": "houses", "cern_genuine": "genuine events"}


class Losses:
    """Tables of `removal.run` by task: those that are given, or the recorded ones."""

    def __init__(self, given: Mapping[str, pd.DataFrame] | None = None) -> None:
        self.given = given

    def has(self, task: str) -> bool:
        """Whether the task was run, or is recorded."""
        return results.exists(f"roar_{task}") if self.given is None else task in self.given

    def __getitem__(self, task: str) -> pd.DataFrame:
        if self.given is None:
            return records.table(f"roar_{task}")
        if task not in self.given:
            raise MissingRunError(f"The task {task} was not run")
        return self.given[task]

    def bends(self, task: str, ranking: str) -> pd.Series:
        """Area between curve and straight line over the mean rise, per replicate: 0 straight, 1/2 all lost at once."""
        if ranking not in set(self[task]["ranking"]):
            raise MissingRunError(f"The ranking {ranking} was not run")
        return pd.Series(tables.bend(self[task], ranking))


@rule("losses")
def bend(
    losses: Losses, of: list[str], label: str, minus: str = "", data: list[str] | None = None, **limits: str | float
) -> Answer | Finding:
    """Bends of rankings, or how much they exceed those of others, on each data set whose loss rises.

    of, minus : names of methods; minus may be "signed", the same method's ranking by sign
    limits : one of within, below, above
    """
    tasks = list(data or DATA)
    here = list(filter(losses.has, tasks)) or tasks[:1]  # without any, the error is about the first
    steep = [task for task in here if not tables.is_noise(losses[task])]
    if not steep:
        return Finding(CANNOT, "Without any feature the loss is hardly larger than with all of them.")
    figures = []
    for task in steep:
        for name in of:
            values = losses.bends(task, METHOD[name])
            if minus:
                values = values - losses.bends(task, METHOD.get(minus) or f"{METHOD[name]}_{minus}")
            text = f"{label.format(name)} ({DATA[task]})"
            figures.append(required(text, *stats.mean(values), **limits, df=len(values) - 1))
    return figures


@rule("losses")
def bends_more(losses: Losses, **steps: list[str]) -> Answer:
    """Without redundant columns the curves bend more; with every column twice they bend less.

    steps : label → a task, and the one that it is compared with
    """
    for text, (less, more) in steps.items():
        gap = losses.bends(less, METHOD["KS"]) - losses.bends(more, METHOD["KS"])
        yield required(f"bend of KS: {text}", *stats.mean(gap), above=0.0, df=len(gap) - 1)
