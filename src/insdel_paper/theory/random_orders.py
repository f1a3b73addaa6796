"""Orders drawn at random: Proposition 1 and the expected areas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import sympy as sp

from .algebra import (
    Subset,
    Weight,
    abc,
    abc_deletion,
    auc,
    ceiling,
    checked,
    floor,
    hybrids,
    mean_over_orders,
    subsets,
    weighted,
    zero,
)
from .areas import named
from .check import Result, statement

Claim = Callable[[int, Any], Any]

N = sp.Symbol("n", integer=True, positive=True)
K = sp.Symbol("k", integer=True, positive=True)


def choose(top: Any, bottom: int) -> Any:
    """Binomial coefficient as a polynomial in `top`, which sums and divides exactly."""
    return sp.Mul(*(top - i for i in range(bottom))) / sp.factorial(bottom)


def mean_ceiling(size: int, n: Any) -> Any:
    """|u|(n + 1)/(|u| + 1)  [proposition 1]."""
    return size * (n + 1) / sp.Integer(size + 1)


def enumerated_mean(n: int, size: int) -> Any:
    """Mean of ⌈w⌉ over all w ⊆ 1:n with that many members."""
    samples = [ceiling(frozenset(w)) for w in combinations(range(1, n + 1), size)]
    return sp.Rational(sum(samples), len(samples))


def summed_mean(size: int) -> Any:
    """The same mean for a symbolic n: Σ_k k Pr(⌈π(u)⌉ = k), summed in closed form."""
    if size == 0:
        return sp.Integer(0)
    total = sp.summation(sp.expand(K * choose(K - 1, size - 1)), (K, size, N))
    return sp.cancel(total / choose(N, size))


@statement("section 3.3, proposition 1", cases=range(7))
def proposition_1(size: int = 3, claimed: Claim = mean_ceiling, largest: int = 9) -> Result:
    """E⌈π(u)⌉ = |u|(n + 1)/(|u| + 1): by enumeration, and summed for symbolic n  [proposition 1]."""
    checked(size, 6, least=0)
    checked(largest, 12, least=max(size, 1))
    tried = range(max(size, 1), largest + 1)
    counted = all(zero(enumerated_mean(n, size) - claimed(size, sp.Integer(n))) for n in tried)
    closed = summed_mean(size)
    return (
        rf"$E\lceil\pi(u)\rceil = |u|(n+1)/(|u|+1)$ for $|u| = {size}$ and every $n$",
        counted and bool(sp.cancel(closed - claimed(size, N)) == 0),
        {
            "summed for symbolic n": sp.factor(closed),
            f"counted at n = {largest}": enumerated_mean(largest, size),
        },
    )


def blade(size: int, n: Any) -> Any:
    """C(n + 1, |u| + 1), the end of the hockey stick."""
    return choose(n + 1, size + 1)


@statement("section 3.3, proof of proposition 1", cases=range(7))
def hockey_stick(size: int = 3, claimed: Claim = blade) -> Result:
    """Σ_{k=|u|}^n C(k, |u|) = C(n + 1, |u| + 1) for symbolic n  [proof of proposition 1]."""
    checked(size, 8, least=0)
    total = sp.summation(sp.expand(choose(K, size)), (K, size, N))
    return (
        rf"$\sum_{{k={size}}}^n \binom{{k}}{{{size}}} = \binom{{n+1}}{{{size + 1}}}$ for every $n$",
        zero(total - claimed(size, N)),
        {"the sum": sp.factor(total)},
    )


def share_of_sets(size: int, k: Any) -> Any:
    """|u|/k · C(k, |u|), the number of sets with ⌈u⌉ = k."""
    return size / k * choose(k, size)


@statement("section 3.3, proof of proposition 1")
def ceiling_probability(size: int = 3, claimed: Claim = share_of_sets) -> Result:
    """Pr(⌈π(u)⌉ = k) from Pr(⌈π(u)⌉ ≤ k), for symbolic k and n  [proof of proposition 1]."""
    checked(size, 8)
    step = choose(K, size) - choose(K - 1, size)
    return (
        rf"$\binom ku - \binom{{k-1}}u = \binom{{k-1}}{{u-1}} = \frac uk\binom ku$ for $u = |u| = {size}$",
        zero(step - choose(K - 1, size - 1)) and zero(step - claimed(size, K)),
        {"number of sets with ⌈u⌉ = k": sp.factor(step)},
    )


@statement("appendix B.1")
def mirror(n: int = 7, image: Callable[[int, int], int] = lambda n, level: n - level + 1) -> Result:
    """Pr(⌊π(u)⌋ = ℓ) = Pr(⌈π(u)⌉ = n − ℓ + 1), counted for each |u|  [appendix B.1]."""
    checked(n, 10)
    lowest = Counter((len(u), floor(n, u)) for u in subsets(n))
    highest = Counter((len(u), ceiling(u)) for u in subsets(n))
    cases = [(size, level) for size in range(n + 1) for level in range(n + 2)]
    return (
        r"$\Pr(\lfloor\pi(u)\rfloor = \ell) = \Pr(\lceil\pi(u)\rceil = n-\ell+1)$ "
        rf"for $0\le\ell\le n+1$ and every $|u|$, $n = {n}$",
        all(lowest[size, level] == highest[size, image(n, level)] for size, level in cases),
        {"sets of two, by ⌊u⌋": [lowest[2, level] for level in range(1, n + 1)]},
    )


def expected_auc_weight(n: int, u: Subset) -> Any:
    """n − |u|(n + 1)/(|u| + 1) + 1  [section 3.3]."""
    return n - mean_ceiling(len(u), n) + 1


@statement("section 3.3")
def expected_auc(n: int = 5, weight: Weight = expected_auc_weight) -> Result:
    """E(AUC) over all n! orders  [section 3.3]."""
    game = hybrids(checked(n, 6))
    mean = mean_over_orders(n, lambda order: auc(game, order))
    return (
        rf"$E(\mathrm{{AUC}}) = \sum_u (n - E\lceil\pi(u)\rceil + 1)\,\Delta_u$, $n = {n}$, all {n}! orders",
        zero(mean - weighted(game, weight)),
        {"mean over all orders": mean, "sum over interactions": named(n, weight)},
    )


def expected_abc_weight(n: int, u: Subset) -> Any:
    """(n + 1)/2 · (1 − |u|)/(|u| + 1), and 0 for the empty set  [section 3.3]."""
    return sp.Rational((n + 1) * (1 - len(u)), 2 * (len(u) + 1)) if u else 0


@statement("section 3.3")
def expected_abc(n: int = 5, weight: Weight = expected_abc_weight) -> Result:
    """E(ABC) over all n! orders  [section 3.3]."""
    game = hybrids(checked(n, 6))
    mean = mean_over_orders(n, lambda order: abc(game, order))
    return (
        r"$E(\mathrm{ABC}) = \frac{n+1}2\sum_{u\ne\emptyset}\frac{1-|u|}{1+|u|}\Delta_u$, "
        rf"$n = {n}$, all {n}! orders",
        zero(mean - weighted(game, weight)),
        {"mean over all orders": mean, "sum over interactions": named(n, weight)},
    )


@statement("appendix B.1")
def expected_abc_sum(n: int = 5, sign: int = 1) -> Result:
    """E(ABC + ABC′) = 0 over all n! orders, interactions or not  [appendix B.1]."""
    game = hybrids(checked(n, 6))
    mean = mean_over_orders(n, lambda order: abc(game, order) + sign * abc_deletion(game, order))
    one = sp.expand(abc(game, range(1, n + 1)) + sign * abc_deletion(game, range(1, n + 1)))
    return (
        rf"$E(\mathrm{{ABC}} + \mathrm{{ABC}}') = 0$ for every $f$, $n = {n}$, all {n}! orders",
        zero(mean),
        {"one order": one, "mean over all orders": mean},
    )


@statement("section 3.3")
def expected_abc_sign(size: Any = None) -> Result:
    """An interaction enters E(ABC) with the opposite sign: (1 − |u|)/(|u| + 1) < 0  [section 3.3]."""
    members = 2 + sp.Symbol("m", integer=True, nonnegative=True) if size is None else sp.sympify(size)
    factor = (1 - members) / (members + 1)
    return (
        r"$(1-|u|)/(|u|+1) < 0$ for every $|u| = 2 + m$, $m \ge 0$",
        factor.is_negative is True,
        {"the factor": factor},
    )
