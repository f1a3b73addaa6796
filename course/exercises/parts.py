"""Exercises about parts of a prediction: dividends, Theorem 1, Shapley values.

Predictions at all hybrids stand in an array `values` of length 2ⁿ: `values[S]` is the prediction with the
features in S taken from x′, where feature k is in S if bit k of S is set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

import insdel
from course.exercises.base import exercise
from course.exercises.material import dividend_tables, from_parts, lattice, tables

MASK = "Feature $k$ is in the set with number $S$ if bit $k$ of $S$ is set: $\\{0, 2\\}$ has the number $1 + 4 = 5$."


def _subsets(u: Sequence[int]) -> list[tuple[int, ...]]:
    return [v for size in range(len(u) + 1) for v in combinations(u, size)]


def _number(u: Sequence[int]) -> int:
    return sum(1 << k for k in u)


def _dividend_cases() -> list[tuple[Any, ...]]:
    first, second, third = tables()
    return [(first, [1, 2]), (first, [0]), (second, [0, 1, 2]), (second, []), (third, [0, 1, 3]), (third, [3, 2])]


@exercise(
    "Find the part of a set",
    chapter="split",
    prompt=f"""
    The part of $u$ is $\\Delta_u = \\sum_{{v\\subseteq u}} (-1)^{{|u - v|}} f(x'_v{{:}}x_{{-v}})$.
    `values[S]` is the prediction with the features of the set $S$ taken from $x'$. {MASK}
    """,
    truth=lambda values, u: lattice(values).dividends()[_number(u)],
    cases=_dividend_cases,
    mistakes={
        "the exponent is |u − v|, how many features are missing in v, not |v|: sets of odd size have the wrong sign.": (
            lambda values, u: sum((-1) ** len(v) * values[_number(v)] for v in _subsets(u))
        ),
        "you added all terms; their signs alternate.": lambda values, u: sum(values[_number(v)] for v in _subsets(u)),
        "that is the whole change from f(x); the parts of the smaller sets are still in it.": (
            lambda values, u: values[_number(u)] - values[0] if len(u) else values[0]
        ),
    },
)
def dividend(values: np.ndarray, u: Sequence[int]) -> float:
    """Part of the set u of features, from the predictions (2ⁿ,) at all hybrids."""
    ### BEGIN SOLUTION
    total = 0.0
    for size in range(len(u) + 1):
        for v in combinations(u, size):
            total += (-1) ** (len(u) - size) * values[sum(1 << k for k in v)]
    return total
    ### END SOLUTION


@exercise(
    "Put the parts together again",
    chapter="split",
    prompt=f"""
    The way back: the prediction with the features of $w$ taken from $x'$ is the sum of the parts of all subsets of
    $w$, the empty set and $w$ itself included. Return it for every $w$. {MASK} Then `u & ~w == 0` says that
    $u \\subseteq w$.
    """,
    truth=from_parts,
    cases=lambda: [(parts,) for parts in dividend_tables()],
    mistakes={
        "you added the parts of all sets with a smaller number; only subsets of w count.": np.cumsum,
        "you added the parts of the sets that contain w; it is the other way round: of those that w contains.": (
            lambda parts: from_parts(parts[::-1])[::-1]
        ),
        "the empty set is missing: its part is f(x).": lambda parts: from_parts(parts) - parts[0],
    },
)
def predictions(dividends: np.ndarray) -> np.ndarray:
    """Predictions (2ⁿ,) at all hybrids from the parts (2ⁿ,) of all sets."""
    ### BEGIN SOLUTION
    numbers = np.arange(len(dividends))
    return np.array([dividends[numbers & ~w == 0].sum() for w in numbers])
    ### END SOLUTION


def _last_place(u: Sequence[int], order: Sequence[int]) -> int:
    return max((place for place, j in enumerate(order, start=1) if j in u), default=0)


@exercise(
    "See when a part enters",
    chapter="split",
    points=1,
    prompt="""
    A part enters the walk when the last feature of $u$ is changed. Return $\\lceil u\\rceil$, the place of that feature
    in the order. Places count from 1, and $\\lceil\\emptyset\\rceil = 0$.
    """,
    truth=_last_place,
    cases=lambda: [
        ([0, 1], [2, 1, 0]), ([0, 2], [2, 0, 1]), ([], [1, 0, 2]), ([1, 3], [3, 0, 1, 2]), ([2], [1, 3, 0, 2]),
    ],
    mistakes={
        "places count from 1, not from 0.": lambda u, order: max(_last_place(u, order) - 1, 0),
        "that is the place of the first feature of u; the part waits for the last one.": (
            lambda u, order: min((place for place, j in enumerate(order, start=1) if j in u), default=0)
        ),
        "that is the largest feature number in u; look where the features stand in the order.": (
            lambda u, order: max(u, default=-1) + 1
        ),
    },
)
def last_place(u: Sequence[int], order: Sequence[int]) -> int:
    """Place, from 1 to n, of the member of u that is changed last; 0 for the empty set."""
    ### BEGIN SOLUTION
    places = [list(order).index(j) + 1 for j in u]
    return max(places, default=0)
    ### END SOLUTION


def _auc(dividends: np.ndarray, order: Sequence[int]) -> float:
    return float(insdel.auc(lattice(from_parts(dividends)).curve(np.asarray(order))))


def _weighted(dividends: np.ndarray, order: Sequence[int], shift: int = 1, by_size: bool = False) -> float:
    n = len(order)
    sets = [[k for k in range(n) if S >> k & 1] for S in range(2**n)]
    places = [len(u) if by_size else _last_place(u, order) for u in sets]
    return float(sum((n - place + shift) * part for place, part in zip(places, dividends, strict=True)))


@exercise(
    "Use Theorem 1",
    chapter="split",
    points=3,
    prompt=f"""
    $\\mathrm{{AUC}} = \\sum_u (n - \\lceil u\\rceil + 1)\\,\\Delta_u$, where $\\lceil u\\rceil$ is the place of the
    member of $u$ that is changed last and the sum includes the empty set. Write it, without any curve. {MASK}
    """,
    truth=_auc,
    cases=lambda: [
        (parts, order)
        for parts, order in zip(dividend_tables(), ([2, 1, 0], [1, 2, 0], [3, 0, 2, 1]), strict=True)
    ],
    mistakes={
        "you weighted by the size of u; what counts is the place of its last member.": (
            lambda parts, order: _weighted(parts, order, by_size=True)
        ),
        "the weight is n − ⌈u⌉ + 1: the part is there in step ⌈u⌉ already.": (
            lambda parts, order: _weighted(parts, order, shift=0)
        ),
        "the empty set is missing: f(x) is in all n + 1 points.": (
            lambda parts, order: _auc(parts, order) - (len(order) + 1) * parts[0]
        ),
        "you read the order as places; order[k] is the feature that is changed in step k + 1.": (
            lambda parts, order: _auc(parts, np.argsort(order).tolist())
        ),
    },
)
def auc_by_parts(dividends: np.ndarray, order: Sequence[int]) -> float:
    """AUC of an order (n,) from the parts (2ⁿ,) of all sets of features."""
    ### BEGIN SOLUTION
    n, total = len(order), 0.0
    for S, part in enumerate(dividends):
        last = max((place for place, j in enumerate(order, start=1) if S >> j & 1), default=0)
        total += (n - last + 1) * part
    return total
    ### END SOLUTION


def _shared(dividends: np.ndarray, largest: int | None = None, share: str = "size") -> np.ndarray:
    n = len(dividends).bit_length() - 1
    result = np.zeros(n)
    for S in range(1, 2**n):
        members = [k for k in range(n) if S >> k & 1]
        if largest is None or len(members) <= largest:
            result[members] += dividends[S] / {"size": len(members), "whole": 1, "n": n}[share]
    return result


@exercise(
    "Share the parts",
    chapter="split",
    prompt=f"""
    Split each part equally among its members: $\\phi_j = \\sum_{{u\\ni j}} \\Delta_u / |u|$. The empty set has no
    members and is left out. The result is the Shapley values. {MASK}
    """,
    truth=lambda dividends: lattice(from_parts(dividends)).shapley(),
    cases=lambda: [(parts,) for parts in dividend_tables()],
    mistakes={
        "every member got the whole part; it is shared, so divide by |u|.": lambda parts: _shared(parts, share="whole"),
        "you divided by n; a part is shared among the |u| members of its set only.": (
            lambda parts: _shared(parts, share="n")
        ),
        "only the single features count so far; their interactions have to be shared as well.": (
            lambda parts: _shared(parts, largest=1)
        ),
    },
)
def shapley(dividends: np.ndarray) -> np.ndarray:
    """Shapley values (n,) from the parts (2ⁿ,) of all sets of features."""
    ### BEGIN SOLUTION
    n = len(dividends).bit_length() - 1
    values = np.zeros(n)
    for S in range(1, 2**n):
        members = [k for k in range(n) if S >> k & 1]
        values[members] += dividends[S] / len(members)
    return values
    ### END SOLUTION
