"""Leaves of trees: Shapley values, mean curve, mean area and variance over all orders, counted order by order.

A leaf is on for the sets S with A ⊆ S and B ∩ S = ∅. Its first step is the place of A's last member in the order, and
it goes off at the place of B's first member.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import sympy as sp

from .algebra import checked, orders
from .check import Result, statement

KINDS = list(product("AB-", repeat=2))  # of a feature: in A, B or neither, of two leaves
MOST = 150  # couples of leaves that are counted


def leaves(n: int) -> Iterator[tuple[int, int, str]]:
    """All |A| and |B| with |A| + |B| from 1 to n, and where each feature is: in A, B or neither."""
    for total in range(1, n + 1):
        for a in range(total + 1):
            yield a, total - a, "A" * a + "B" * (total - a) + "-" * (n - total)


def span(places: Sequence[int], sets: str) -> tuple[int, int]:
    """First step of a leaf and the step at which it goes off; sets[j] says where feature j is: in A, B or neither."""
    last = max((p for p, kind in zip(places, sets, strict=True) if kind == "A"), default=0)
    first = min((p for p, kind in zip(places, sets, strict=True) if kind == "B"), default=len(places) + 1)
    return last, max(first, last)


@statement("chapter on trees, theorem 1")
def leaf_shapley(
    n: int = 5, claimed: Callable[[int, int], Any] = lambda a, b: 1 / (a * sp.binomial(a + b, a))
) -> Result:
    r"""$\phi_j = w / \big(a \binom{a+b}{a}\big)$ for $j \in A$, $-w / \big(b \binom{a+b}{a}\big)$ for $j \in B$,
    for all $a + b \leq %(n)s$"""
    holds, all_places = True, orders(checked(n, 7))
    for a, b, sets in leaves(n):
        gains = [0] * n
        for places in all_places:
            on, off = span(places, sets)
            for step, gain in ((on, 1), (off, -1)):
                if off > on and 0 < step <= n:
                    gains[places.index(step)] += gain
        means = [sp.Rational(gain, len(all_places)) for gain in gains]
        holds = holds and means == [claimed(a, b)] * a + [-claimed(b, a)] * b + [sp.Integer(0)] * (n - a - b)
    return holds, {"a = 2, b = 1, in A": claimed(2, 1), "in B": -claimed(1, 2)}


def leaf_share(n: int, k: int, a: int, b: int) -> Any:
    """C(n − a − b, k − a)/C(n, k), the share of orders in which a leaf is on after k steps."""
    return sp.binomial(n - a - b, k - a) / sp.binomial(n, k) if a <= k <= n - b else sp.Integer(0)


def leaf_mean_area(sets: str) -> Any:
    """E[T] = (n + 1) a! b!/(a + b + 1)!, the mean number of steps that a leaf is on."""
    a, b = sets.count("A"), sets.count("B")
    return (len(sets) + 1) * sp.factorial(a) * sp.factorial(b) / sp.factorial(a + b + 1)


@statement("chapter on trees, theorem 2")
def leaf_mean_curve(n: int = 5, claimed: Callable[..., Any] = leaf_share) -> Result:
    r"""a leaf is on after $k$ steps in $\binom{n-a-b}{k-a} / \binom nk$ of the orders, over all steps $(n+1)\, a!\,
    b! / (a+b+1)!$ times, for $n = %(n)s$ and all $a + b \leq %(n)s$"""
    holds, all_places = True, orders(checked(n, 7))
    for a, b, sets in leaves(n):
        spans = [span(places, sets) for places in all_places]
        counted = [sp.Rational(sum(on <= k < off for on, off in spans), len(spans)) for k in range(n + 1)]
        curve = [claimed(n, k, a, b) for k in range(n + 1)]
        holds = holds and counted == curve and sum(counted) == leaf_mean_area(sets)
    return holds, {"mean curve for a = 2, b = 1": [claimed(n, k, 2, 1) for k in range(n + 1)]}


@cache
def double_integral(e: int, f: int, m: int, g: int, last: int) -> Any:
    """∬ s^e t^f (t − s)^m (1 − s)^g (1 − t)^last over 0 < s < t < 1, by t = s + (t − s), 1 − s = (t − s) + (1 − t)."""
    if f:
        return double_integral(e + 1, f - 1, m, g, last) + double_integral(e, f - 1, m + 1, g, last)
    if g:
        return double_integral(e, f, m + 1, g - 1, last) + double_integral(e, f, m, g - 1, last + 1)
    return sp.factorial(e) * sp.factorial(m) * sp.factorial(last) / sp.factorial(e + m + last + 2)


def product_mean(first: str, second: str) -> Any:
    """E[T T′] of two leaves by the integrals."""
    n, count = len(first), Counter(zip(first, second, strict=True))

    def ahead(mine: str, theirs: str) -> Any:
        """One leaf on at a time s, the other at a later time t."""
        both = Counter(zip(mine, theirs, strict=True))
        if both["A", "B"]:
            return sp.Integer(0)
        later = both["-", "A"], both["B", "A"], both["B", "-"]
        return double_integral(mine.count("A"), *later, theirs.count("B"))

    p, q = (sum(number for kinds, number in count.items() if kind in kinds) for kind in "AB")
    conflict = count["A", "B"] or count["B", "A"]
    same = 0 if conflict else (n + 1) * sp.factorial(p) * sp.factorial(q) / sp.factorial(p + q + 1)
    return (n + 1) * (n + 2) * (ahead(first, second) + ahead(second, first)) - same


@statement("chapter on trees, theorem 3")
def leaf_covariance(n: int = 4, claimed: Callable[[str, str], Any] = product_mean) -> Result:
    r"""$E[T T'] = (n+1)(n+2)(J(\ell \to \ell') + J(\ell' \to \ell)) - (n+1)\, p!\, q!/(p+q+1)!$ for couples of
    leaves, $n = %(n)s$"""
    kinds = list(combinations_with_replacement(KINDS, checked(n, 7)))
    couples = [tuple(map("".join, zip(*kind, strict=True))) for kind in kinds[:: max(1, len(kinds) // MOST)]]
    holds, all_places = True, orders(n)
    for first, second in couples:
        total = 0
        for places in all_places:
            (on, off), (later, end) = span(places, first), span(places, second)
            total += (off - on) * (end - later)
        holds = holds and bool(claimed(first, second) == sp.Rational(total, len(all_places)))
    sets = "AB" + "-" * (n - 2)
    square = claimed(sets, sets) if n > 1 else sp.Integer(0)
    return holds, {"couples counted": sp.Integer(len(couples)), "E[T²] for a = b = 1": square}
