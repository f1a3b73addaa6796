"""The rows that teach a candidate and those at which it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from insdel_paper import data
from insdel_paper.studies.experiments import INSPECTED

FULL_ROWS = 79_931  # events that the paper trained on


@dataclass(frozen=True)
class Rows:
    """Rows of one data set, divided; for events also simulated ones to make up the paper's number.

    name : "cern" or "bangalore"
    x_train, y_train : (m, n) as the network sees them, (m,)
    x, y : those that are inspected
    mean, scale : (n,) of the z-scores
    x_extra, y_extra : simulated rows in the same units, or none
    binary : places of features that are 0 or 1
    provenance : of the genuine rows
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    x_extra: np.ndarray
    y_extra: np.ndarray
    binary: tuple[int, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """Provenance for a record."""
        simulated = ", and simulated ones" if len(self.x_extra) else ""
        data = {"what": f"{len(self.x_train) + len(self.x):,} real rows{simulated}", "source": "real"}
        trained = "real and simulated" if simulated else "real"
        return {"data": {**data, **self.provenance}, "pairs_are": "per policy", "trained_on": trained}

    def taught(self, genuine: int, simulated: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The first rows of either kind, together: x (m, n) and y (m,)."""
        x = np.concatenate([self.x_train[:genuine], self.x_extra[:simulated]])
        return x, np.concatenate([self.y_train[:genuine], self.y_extra[:simulated]])


@cache
def events(seed: int = 0) -> Rows:
    """The sample of genuine events, 2,000 of them inspected; as many simulated ones as the paper had events."""
    genuine = data.load("cern", "real")
    split = data.split(genuine, (INSPECTED["cern"] or 0) / len(genuine.features), seed=seed)
    extra = data.load("cern", "simulated", n=FULL_ROWS, seed=1)
    simulated = split.transform(extra.features), extra.target.to_numpy(np.float32)
    return _divided(split, genuine, simulated)


@cache
def houses(seed: int = 0) -> Rows:
    """The complete houses; the seed decides which fifth is held out and inspected."""
    genuine = data.load("bangalore", "real")
    split = data.split(genuine, seed=seed)
    return _divided(split, genuine, (split.x_train[:0], split.y_train[:0]))


def _divided(split: data.Split, genuine: data.Dataset, extra: tuple[np.ndarray, np.ndarray]) -> Rows:
    binary = [split.names.index(name) for name in split.binary if name not in genuine.standardise]
    parts = (split.x_train, split.y_train, split.x_test, split.y_test, split.mean, split.scale)
    return Rows(genuine.name, *parts, *extra, tuple(binary), genuine.provenance)
