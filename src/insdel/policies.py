"""Which reference x′ goes with which x: counterfactual, one-to-one, average.

"Differ" means different numbers, however near (−0.0 equals 0.0). Ties are decided by the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from insdel.arrays import Array, Points, like, to_numpy
from insdel.errors import UserError, listed, require_integer, require_one_of
from insdel.evaluate import Model, aligned, as_points, differ, feature_names, predict, same_fields
from insdel.frames import encode
from insdel.seeds import check_seed

POLICIES = ("counterfactual", "one_to_one", "average")
CHUNK_NUMBERS = 2**20  # distances computed at a time: 8 MiB


@dataclass(frozen=True, eq=False)
class PolicyPairs:
    """Points and the references that a policy gave them.

    Attributes
    ----------
    x, reference : (pairs, n), of the kind of the points that came in
    index : (pairs,) row of each x among these points, increasing
    reference_index : (pairs,) row of its reference; None if the reference is no row
    differing : (pairs,) how many features differ
    without : the rows that got no reference, each with the reason
    """

    x: Array
    reference: Array
    index: np.ndarray
    reference_index: np.ndarray | None
    differing: np.ndarray
    without: dict[int, str]

    def __len__(self) -> int:
        return len(self.index)

    def first(self, count: int | None) -> PolicyPairs:
        """The first pairs only; all of them for None."""
        if count is None:
            return self
        require_integer("the number of pairs", count, 1)
        kept = {name: part[:count] for name, part in vars(self).items() if name != "without" and part is not None}
        return replace(self, **kept)

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """One line: how many pairs, how much they differ, how many points have none."""
        mean = f"{self.differing.mean():.3f}" if len(self) else "no"
        return f"Pairs({len(self)} pairs, {mean} differing features on average, {len(self.without)} without)"


def counterfactual(
    f: Model, points: Points, *, at_least: int | None = None, all_differ: bool = False, nearest: int = 20
) -> PolicyPairs:
    """Pair each x with a near x′ that differs much and is predicted very differently  [sections 5.1, 5.2].

    Candidates differ from x in `at_least` features, or in all; of the `nearest` candidates in Euclidean
    distance, x′ has the largest |f(x′) − f(x)|. Equal distances: the earlier row counts as nearer; equal
    response differences: the nearer candidate wins, then the earlier row.

    Parameters
    ----------
    f : maps (m, n) to m numbers
    points : (m, n), as f sees them: distances are those of the standardised features
    at_least : the paper's 12 for Bangalore
    all_differ : the paper's choice for CERN, the charges included; give this or `at_least`
    nearest : how many candidates compete; all, where there are fewer
    """
    rows = _rows(points, "counterfactual")
    n = rows.shape[1]
    if (at_least is None) != all_differ:
        raise UserError(
            f"the counterfactual policy needs either at_least=k or all_differ=True; "
            f"found at_least={at_least} and all_differ={all_differ}."
        )
    needed = n if at_least is None else require_integer("at_least", at_least)
    if not 1 <= needed <= n:
        raise UserError(f"at_least needs a number between 1 and the {n} features; found {needed}.")
    require_integer("nearest", nearest, 1)
    z, response = to_numpy(rows).astype(np.float64), to_numpy(predict(f, points))
    partner, most = _partners(z, response, needed, nearest)
    reason = f"no other point differs in at least {needed} of {n} features; {{}} is the most"
    return _pairs(points, rows, partner, lambda i: reason.format(most[i]))


def one_to_one(points: Points, seed: int = 0) -> PolicyPairs:
    """Pair the points, (m, n), completely at random, each pair in both directions  [section 5.2].

    If m is odd, one point is left without a partner.
    """
    rows = _rows(points)
    check_seed(seed)
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    even = len(rows) - len(rows) % 2
    left, right = shuffled[:even:2], shuffled[1:even:2]
    partner = np.full(len(rows), -1)
    partner[left], partner[right] = right, left
    return _pairs(points, rows, partner, lambda _: f"{len(rows)} points cannot be paired without one being left")


def average(points: Points, data: Points | None = None) -> PolicyPairs:
    """Pair each x with the mean of all features, a point that need not be physical  [section 5.2].

    Parameters
    ----------
    points : (m, n)
    data : (rows, n) of which the mean is taken, such as the training rows; by default the points. Columns of
        data frames are matched by name
    """
    rows = _rows(points, "average")
    given = points if data is None else aligned(data, feature_names(points), "data", "points")
    table = to_numpy(_rows(given, "average", "data")).astype(np.float64)
    if table.shape[1] != rows.shape[1]:
        raise UserError(
            f"data needs the {rows.shape[1]} features of the points; found {table.shape[1]}. Select the same columns."
        )
    x = to_numpy(rows)
    mean = np.tile(table.mean(axis=0).astype(x.dtype if x.dtype.kind == "f" else np.float64), (len(rows), 1))
    index, differing = np.arange(len(rows)), (x != mean).sum(axis=1)
    if isinstance(points, pd.DataFrame):
        means = pd.DataFrame(mean, index=points.index, columns=points.columns)
        return PolicyPairs(points, means, index, None, differing, {})
    return PolicyPairs(rows, like(mean, rows), index, None, differing, {})


def choose(
    policy: str, f: Model, points: Points, *, data: Points | None = None, seed: int = 0, **options: Any
) -> PolicyPairs:
    """Pair the points by the policy of that name, one of `POLICIES`.

    data : what `average` takes the mean of; seed : of `one_to_one`; options : of `counterfactual`
    """
    require_one_of("policy", policy, POLICIES)
    if policy == "counterfactual":
        return counterfactual(f, points, **options)
    if policy == "one_to_one":
        return one_to_one(points, seed)
    return average(points, data)


def _rows(points: Points, policy: str = "", name: str = "points") -> Array:
    """Return a table with at least one row; what is no number stands as a code, or is refused for a policy."""
    rows: Array
    text: list[str] = []
    if isinstance(points, pd.DataFrame) and points.shape[1]:
        columns, [rows] = encode(points)
        text = [str(columns.names[j]) for j in np.flatnonzero(columns.coded)]
    else:
        rows = as_points(points, name)
    if policy and text:
        raise UserError(
            f"the {policy} policy needs numbers, but {name} has other values in {listed(text)}. Encode "
            "these columns first, or use one_to_one, which takes any values."
        )
    if rows.ndim != 2 or len(rows) == 0:
        raise UserError(f"{name} needs shape (m, n), m ≥ 1; found {tuple(rows.shape)}. Pass one point per row.")
    if policy and np.isnan(to_numpy(rows).astype(np.float64)).any():
        raise UserError(f"the {policy} policy needs numbers, but {name} has missing values. Drop or impute these rows.")
    return rows


def _partners(z: np.ndarray, response: np.ndarray, needed: int, nearest: int) -> tuple[np.ndarray, np.ndarray]:
    """(m,) row of each reference, −1 for none, and (m,) the most features in which another row differs."""
    size = max(1, CHUNK_NUMBERS // len(z))
    found = []
    for start in range(0, len(z), size):
        part = z[start : start + size]
        differing = cdist(part, z, "hamming") * z.shape[1]
        distance = cdist(part, z)  # rows at equal distance must tie
        distance[differing < needed - 0.5] = np.inf
        count = min(nearest, len(z))
        last = np.partition(distance, count - 1, axis=1)[:, [count - 1]]  # a sort, but cheaper
        closer, level = distance < last, distance == last
        room = count - closer.sum(axis=1, keepdims=True)  # for the first of those that are equally far
        candidate = (closer | (level & (level.cumsum(axis=1) <= room))) & np.isfinite(distance)
        gap = np.where(candidate, np.abs(response[start : start + size, None] - response), -1.0)
        widest = candidate & (gap == gap.max(axis=1, keepdims=True))  # of these the nearest, then the first
        column = np.where(widest, distance, np.inf).argmin(axis=1)
        found.append((np.where(candidate.any(axis=1), column, -1), differing.max(axis=1).round().astype(int)))
    partners, most = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return partners, most


def _pairs(points: Points, rows: Array, partner: np.ndarray, reason: Callable[[int], str]) -> PolicyPairs:
    """Rows with their partners, (m,), −1 for none, for a reason; rows of a data frame keep its types."""
    index = np.flatnonzero(partner >= 0)
    without = {i: reason(i) for i in np.flatnonzero(partner < 0).tolist()}
    partner = partner[index]
    differing = differ(rows[index], rows[partner]).sum(axis=1)
    x, reference = (points.iloc[k] if isinstance(points, pd.DataFrame) else rows[k] for k in (index, partner))
    return PolicyPairs(x, reference, index, partner, differing, without)
