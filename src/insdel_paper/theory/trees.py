"""Leaves of trees: Shapley values, mean curve, mean area and variance over all orders, counted order by order.

A leaf is on for the sets S with A ⊆ S and B ∩ S = ∅. Its first step is the place of A's last member in the order, and
it goes off at the place of B's first member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations_with_replacement, permutations
from typing import Any

import sympy as sp

from .algebra import checked
from .check import Result, statement

Sizes = tuple[int, int]
KINDS = [(first, second) for first in "AB-" for second in "AB-"]  # of a feature: in A, B or neither, of two leaves
MOST = 150  # couples of leaves that are counted


def sizes(n: int) -> Iterator[Sizes]:
    """All (|A|, |B|) with |A| + |B| from 1 to n."""
    return ((a, total - a) for total in range(1, n + 1) for a in range(total + 1))


def span(places: Sequence[int], sets: str) -> tuple[int, int]:
    """First step of a leaf and the step at which it goes off; sets[j] says where feature j is: in A, B or neither."""
    last = max((p for p, kind in zip(places, sets, strict=True) if kind == "A"), default=0)
    first = min((p for p, kind in zip(places, sets, strict=True) if kind == "B"), default=len(places) + 1)
    return last, max(first, last)


@lru_cache(maxsize=2)
def orders(n: int) -> list[tuple[int, ...]]:
    """The places of the features, 1 to n, in each order."""
    return list(permutations(range(1, n + 1)))


def leaf_value(a: int, b: int) -> Any:
    """1/(a C(a + b, a)), the Shapley value of a member of A."""
    return 1 / (a * sp.binomial(a + b, a))


@statement("chapter on trees, theorem 1")
def leaf_shapley(n: int = 5, claimed: Callable[[int, int], Any] = leaf_value) -> Result:
    """Members of A get w/(a C(a + b, a)), members of B get −w/(b C(a + b, a)): counted over all n! orders."""
    checked(n, 7)
    holds = True
    for a, b in sizes(n):
        sets = "A" * a + "B" * b + "-" * (n - a - b)
        gains = [0] * n
        for places in orders(n):
            on, off = span(places, sets)
            for step, gain in ((on, 1), (off, -1)):
                if off > on and 0 < step <= n:
                    gains[places.index(step)] += gain
        means = [sp.Rational(gain, len(orders(n))) for gain in gains]
        wanted = [claimed(a, b)] * a + [-claimed(b, a)] * b + [sp.Integer(0)] * (n - a - b)
        holds = holds and means == wanted
    return (
        rf"$\phi_j = w / \big(a \binom{{a+b}}{{a}}\big)$ for $j \in A$, $-w / \big(b \binom{{a+b}}{{a}}\big)$ for "
        rf"$j \in B$, for all $a + b \leq {n}$",
        holds,
        {"a = 2, b = 1, in A": claimed(2, 1), "in B": -claimed(1, 2)},
    )


def leaf_share(n: int, k: int, a: int, b: int) -> Any:
    """C(n − a − b, k − a)/C(n, k), the share of orders in which a leaf is on after k steps."""
    return sp.binomial(n - a - b, k - a) / sp.binomial(n, k) if a <= k <= n - b else sp.Integer(0)


def leaf_mean_area(sets: str) -> Any:
    """E[T] = (n + 1) a! b!/(a + b + 1)!, the mean number of steps that a leaf is on."""
    a, b = sets.count("A"), sets.count("B")
    return (len(sets) + 1) * sp.factorial(a) * sp.factorial(b) / sp.factorial(a + b + 1)


@statement("chapter on trees, theorem 2")
def leaf_mean_curve(n: int = 5, claimed: Callable[..., Any] = leaf_share) -> Result:
    """The mean curve of a leaf, and its sum (n + 1) a! b!/(a + b + 1)!: counted over all n! orders."""
    checked(n, 7)
    holds = True
    for a, b in sizes(n):
        spans = [span(places, "A" * a + "B" * b + "-" * (n - a - b)) for places in orders(n)]
        counted = [sp.Rational(sum(on <= k < off for on, off in spans), len(spans)) for k in range(n + 1)]
        area = leaf_mean_area("A" * a + "B" * b + "-" * (n - a - b))
        holds = holds and counted == [claimed(n, k, a, b) for k in range(n + 1)] and sum(counted) == area
    return (
        rf"a leaf is on after $k$ steps in $\binom{{n-a-b}}{{k-a}} / \binom nk$ of the orders, over all steps "
        rf"$(n+1)\, a!\, b! / (a+b+1)!$ times, for $n = {n}$ and all $a + b \leq {n}$",
        holds,
        {"mean curve for a = 2, b = 1": [claimed(n, k, 2, 1) for k in range(n + 1)]},
    )


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
    n, count = len(first), dict.fromkeys(KINDS, 0)
    for kind in zip(first, second, strict=True):
        count[kind] += 1
    own, other = (lambda c, k=k: sum(v for kind, v in count.items() if kind[k] == c) for k in (0, 1))

    def ahead(k: int) -> Any:
        """The first leaf on at a time s, the second at a later time t (for k = 1 the other way around)."""
        both = {(x[k], x[1 - k]): v for x, v in count.items()}
        if both["A", "B"]:
            return sp.Integer(0)
        mine, theirs = (own, other) if k == 0 else (other, own)
        return double_integral(mine("A"), both["-", "A"], both["B", "A"], both["B", "-"], theirs("B"))

    p, q = (sum(v for kind, v in count.items() if c in kind) for c in "AB")
    same = sp.factorial(p) * sp.factorial(q) / sp.factorial(p + q + 1)
    conflict = count["A", "B"] or count["B", "A"]
    return (n + 1) * (n + 2) * (ahead(0) + ahead(1)) - (0 if conflict else (n + 1) * same)


@statement("chapter on trees, theorem 3")
def leaf_covariance(n: int = 4, claimed: Callable[[str, str], Any] = product_mean) -> Result:
    """E[T T′] of couples of leaves by double integrals: counted over all n! orders."""
    checked(n, 7)
    couples = [tuple(map("".join, zip(*kinds, strict=True))) for kinds in combinations_with_replacement(KINDS, n)]
    couples = couples[:: max(1, len(couples) // MOST)]
    holds = True
    for first, second in couples:
        total = 0
        for places in orders(n):
            (on, off), (later, end) = span(places, first), span(places, second)
            total += (off - on) * (end - later)
        holds = holds and bool(claimed(first, second) == sp.Rational(total, len(orders(n))))
    return (
        rf"$E[T T'] = (n+1)(n+2)(J(\ell \to \ell') + J(\ell' \to \ell)) - (n+1)\, p!\, q!/(p+q+1)!$ for {len(couples)} "
        rf"couples of leaves and $n = {n}$",
        holds,
        {"E[T²] for a = b = 1": claimed("AB" + "-" * (n - 2), "AB" + "-" * (n - 2)) if n > 1 else sp.Integer(0)},
    )
