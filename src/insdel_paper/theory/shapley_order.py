"""Shapley values, and why their order need not be the one with the largest AUC  [section 3.4]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from . import algebra
from .algebra import Game, Order, Subset
from .check import Result, statement

A = sp.Symbol("A", real=True)
INTERVAL = sp.Interval.open(-2, -1)  # the paper's, of A
FAILS = INTERVAL + sp.Interval.open(-sp.oo, -4)


@statement("section 3.4")
def shapley_dividends(n: int = 5, share: Callable[[Subset], Any] = lambda u: sp.Rational(1, len(u))) -> Result:
    r"""$\phi_j = \sum_{u\ni j} \Delta_u/|u|$ for every $f$, $n = %(n)s$"""
    game = algebra.hybrids(n, 6)
    values = algebra.shapley(game)
    shared = {j: sp.Add(*(share(u) * algebra.dividend(game, u) for u in game if j in u)) for j in values}
    return all(algebra.zero(values[j] - shared[j]) for j in values), {"φ_1": values[1]}


def jump(game: Game, order: Order, j: int) -> Any:
    """The step of the curve at which feature j is changed."""
    points, step = algebra.curve(game, order), order.index(j)
    return points[step + 1] - points[step]


@statement("section 4")
def shapley_paths(n: int = 4, gain: Callable[[Game, Order, int], Any] = jump) -> Result:
    r"""$\phi_j$ is the mean jump of feature $j$ over all %(n)s! paths, and $\sum_j\phi_j = f(x')-f(x)$"""
    game = algebra.hybrids(n, 5)
    values = algebra.shapley(game)
    means = {j: algebra.mean_over_orders(n, lambda order, j=j: gain(game, order, j)) for j in values}  # type: ignore[misc]
    total = sp.expand(sp.Add(*values.values()))
    whole = game[algebra.complement(n, frozenset())] - game[frozenset()]
    holds = all(algebra.zero(values[j] - means[j]) for j in values) and algebra.zero(total - whole)
    return holds, {"φ_1": values[1], "sum of all φ_j": total}


def example() -> dict[Subset, Any]:
    """The paper's game: Δ_1 = 3, Δ_2 = 2, Δ_3 = 1, Δ_{1,2} = A  [section 3.4]."""
    effects = {(1,): 3, (2,): 2, (3,): 1, (1, 2): A}
    return algebra.from_dividends({frozenset(u): sp.sympify(d) for u, d in effects.items()}, 3)


@statement("section 3.4")
def counterexample(claimed: Any = INTERVAL) -> Result:
    r"""$\phi_1>\phi_2>\phi_3$ and $\mathrm{AUC}((1,3,2)) > \mathrm{AUC}((1,2,3))$ exactly for $-2<A<-1$"""
    game = example()
    phi = algebra.shapley(game)
    by_shapley, other = algebra.auc(game, (1, 2, 3)), algebra.auc(game, (1, 3, 2))
    ranked = sp.And(phi[1] > phi[2], phi[2] > phi[3]).as_set()
    interval = ranked.intersect((other > by_shapley).as_set())
    values = list(phi.values())
    return bool(interval == claimed), {
        "φ": values, "AUC((1, 2, 3))": by_shapley, "AUC((1, 3, 2))": other, "A": interval,
    }  # fmt: skip


@statement("section 3.4, completed")
def counterexample_set(claimed: Any = FAILS) -> Result:
    """In the same game no Shapley order is best for $-2<A<-1$, nor for $A<-4$; for all other $A$ one is"""
    game = example()
    phi = algebra.shapley(game)
    areas = {order: algebra.auc(game, order) for order in algebra.orders(3)}
    agree = sp.S.EmptySet
    for (i, j, k), area in areas.items():
        best = [area >= rival for rival in areas.values()]
        agree += sp.And(phi[i] >= phi[j], phi[j] >= phi[k], *best).as_set()
    fails = sp.S.Reals - agree
    return bool(fails == claimed), {"some Shapley order is best": agree, "none is": fails}


@statement("section 3.4")
def no_counterexample_for_two(ratio: Any = 1) -> Result:
    r"""For $n=2$: $\mathrm{AUC}((1,2)) - \mathrm{AUC}((2,1)) = \phi_1-\phi_2$, so there is none"""
    game = algebra.hybrids(2)
    phi = algebra.shapley(game)
    lead, gap = algebra.auc(game, (1, 2)) - algebra.auc(game, (2, 1)), sp.expand(phi[1] - phi[2])
    return algebra.zero(lead - ratio * gap), {"AUC((1, 2)) − AUC((2, 1))": lead, "φ_1 − φ_2": gap}
