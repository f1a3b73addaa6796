"""Orders drawn at random: Proposition 1 and the expected areas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import sympy as sp

from . import algebra
from .algebra import Game, Order, Weight
from .areas import equals_sum_over_interactions
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
    samples = [algebra.ceiling(frozenset(w)) for w in combinations(range(1, n + 1), size)]
    return sp.Rational(sum(samples), len(samples))


@statement("section 3.3, proposition 1", cases=range(7))
def proposition_1(size: int = 3, claimed: Claim = mean_ceiling, largest: int = 9) -> Result:
    r"""$E\lceil\pi(u)\rceil = |u|(n+1)/(|u|+1)$ for $|u| = %(size)s$ and every $n$"""
    algebra.checked(size, 6, least=0)
    tried = range(max(size, 1), algebra.checked(largest, 12, least=max(size, 1)) + 1)
    counted = all(algebra.zero(enumerated_mean(n, size) - claimed(size, sp.Integer(n))) for n in tried)
    # the same mean for symbolic n: Σ_k k Pr(⌈π(u)⌉ = k), summed in closed form
    total = sp.summation(sp.expand(K * choose(K - 1, size - 1)), (K, size, N)) if size else sp.Integer(0)
    closed = sp.cancel(total / choose(N, size))
    details = {"summed for symbolic n": sp.factor(closed), f"counted at n = {largest}": enumerated_mean(largest, size)}
    return counted and bool(sp.cancel(closed - claimed(size, N)) == 0), details


@statement("section 3.3, proof of proposition 1", cases=range(7))
def hockey_stick(size: int = 3, claimed: Claim = lambda size, n: choose(n + 1, size + 1)) -> Result:
    r"""$\sum_{k=%(size)s}^n \binom{k}{%(size)s} = \binom{n+1}{%(size)s+1}$ for every $n$"""
    algebra.checked(size, 8, least=0)
    total = sp.summation(sp.expand(choose(K, size)), (K, size, N))
    return algebra.zero(total - claimed(size, N)), {"the sum": sp.factor(total)}


@statement("section 3.3, proof of proposition 1")
def ceiling_probability(size: int = 3, claimed: Claim = lambda size, k: size / k * choose(k, size)) -> Result:
    r"""$\binom ku - \binom{k-1}u = \binom{k-1}{u-1} = \frac uk\binom ku$ for $u = |u| = %(size)s$"""
    # claimed: |u|/k · C(k, |u|), the number of sets with ⌈u⌉ = k
    algebra.checked(size, 8)
    step = choose(K, size) - choose(K - 1, size)
    holds = algebra.zero(step - choose(K - 1, size - 1)) and algebra.zero(step - claimed(size, K))
    return holds, {"number of sets with ⌈u⌉ = k": sp.factor(step)}


@statement("appendix B.1")
def mirror(n: int = 7, image: Callable[[int, int], int] = lambda n, level: n - level + 1) -> Result:
    r"""$\Pr(\lfloor\pi(u)\rfloor = \ell) = \Pr(\lceil\pi(u)\rceil = n-\ell+1)$ for $0\le\ell\le n+1$ and every
    $|u|$, $n = %(n)s$"""
    sets = algebra.subsets(algebra.checked(n, 10))
    lowest = Counter((len(u), algebra.floor(n, u)) for u in sets)
    highest = Counter((len(u), algebra.ceiling(u)) for u in sets)
    cases = [(size, level) for size in range(n + 1) for level in range(n + 2)]
    holds = all(lowest[size, level] == highest[size, image(n, level)] for size, level in cases)
    return holds, {"sets of two, by ⌊u⌋": [lowest[2, level] for level in range(1, n + 1)]}


@statement("section 3.3")
def expected_auc(n: int = 5, weight: Weight = lambda n, u: n - mean_ceiling(len(u), n) + 1) -> Result:
    r"""$E(\mathrm{AUC}) = \sum_u (n - E\lceil\pi(u)\rceil + 1)\,\Delta_u$, $n = %(n)s$, all %(n)s! orders"""

    def mean(game: Game) -> Any:
        return algebra.mean_over_orders(n, lambda order: algebra.auc(game, order))

    return equals_sum_over_interactions(algebra.checked(n, 6), mean, weight, "mean over all orders")


@statement("section 3.3")
def expected_abc(
    n: int = 5,
    weight: Weight = lambda n, u: sp.Rational((n + 1) * (1 - len(u)), 2 * (len(u) + 1)) if u else 0,
) -> Result:
    r"""$E(\mathrm{ABC}) = \frac{n+1}2\sum_{u\ne\emptyset}\frac{1-|u|}{1+|u|}\Delta_u$, $n = %(n)s$, all %(n)s!
    orders"""

    def mean(game: Game) -> Any:
        return algebra.mean_over_orders(n, lambda order: algebra.abc(game, order))

    return equals_sum_over_interactions(algebra.checked(n, 6), mean, weight, "mean over all orders")


@statement("appendix B.1")
def expected_abc_sum(n: int = 5, sign: int = 1) -> Result:
    r"""$E(\mathrm{ABC} + \mathrm{ABC}') = 0$ for every $f$, $n = %(n)s$, all %(n)s! orders"""
    game = algebra.hybrids(n, 6)

    def both(order: Order) -> Any:
        return algebra.abc(game, order) + sign * algebra.abc_deletion(game, order)

    mean = algebra.mean_over_orders(n, both)
    return algebra.zero(mean), {"one order": sp.expand(both(range(1, n + 1))), "mean over all orders": mean}


@statement("section 3.3")
def expected_abc_sign(size: Any = None) -> Result:
    r"""$(1-|u|)/(|u|+1) < 0$ for every $|u| = 2 + m$, $m \ge 0$"""
    members = 2 + sp.Symbol("m", integer=True, nonnegative=True) if size is None else sp.sympify(size)
    factor = (1 - members) / (members + 1)
    return factor.is_negative is True, {"the factor": factor}
