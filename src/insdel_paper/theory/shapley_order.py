"""Shapley values, and why their order need not be the one with the largest AUC  [section 3.4]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from .algebra import (
    Game,
    Order,
    Subset,
    auc,
    checked,
    curve,
    dividend,
    from_dividends,
    hybrids,
    mean_over_orders,
    orders,
    shapley,
    zero,
)
from .check import Result, statement

A = sp.Symbol("A", real=True)


@statement("section 3.4")
def shapley_dividends(n: int = 5, share: Callable[[Subset], Any] = lambda u: sp.Rational(1, len(u))) -> Result:
    """φ_j = Σ_{u ∋ j} Δ_u / |u|: each interaction is shared equally  [section 3.4]."""
    game = hybrids(checked(n, 6))
    values = shapley(game)
    shared = {j: sp.Add(*(share(u) * dividend(game, u) for u in game if j in u)) for j in values}
    return (
        rf"$\phi_j = \sum_{{u\ni j}} \Delta_u/|u|$ for every $f$, $n = {n}$",
        all(zero(values[j] - shared[j]) for j in values),
        {"φ_1": values[1]},
    )


def jump(game: Game, order: Order, j: int) -> Any:
    """The step of the curve at which feature j is changed."""
    points, step = curve(game, order), order.index(j)
    return points[step + 1] - points[step]


@statement("section 4")
def shapley_paths(n: int = 4, gain: Callable[[Game, Order, int], Any] = jump) -> Result:
    """φ_j is the mean jump of feature j over all n! paths; all φ add up to f(x′) − f(x)  [section 4]."""
    game = hybrids(checked(n, 5))
    values = shapley(game)
    means = {j: mean_over_orders(n, lambda order, j=j: gain(game, order, j)) for j in values}  # type: ignore[misc]
    total = sp.expand(sp.Add(*values.values()))
    whole = game[frozenset(range(1, n + 1))] - game[frozenset()]
    return (
        rf"$\phi_j$ is the mean jump of feature $j$ over all {n}! paths, and $\sum_j\phi_j = f(x')-f(x)$",
        all(zero(values[j] - means[j]) for j in values) and zero(total - whole),
        {"φ_1": values[1], "sum of all φ_j": total},
    )


def example(empty: Any = 0) -> dict[Subset, Any]:
    """The paper's game: Δ_1 = 3, Δ_2 = 2, Δ_3 = 1, Δ_{1,2} = A  [section 3.4]."""
    effects = {(): empty, (1,): 3, (2,): 2, (3,): 1, (1, 2): A}
    return from_dividends({frozenset(u): sp.sympify(d) for u, d in effects.items()}, 3)


@statement("section 3.4")
def counterexample(claimed: Any = None) -> Result:
    """Shapley ranks 1, 2, 3, and 1, 3, 2 has a larger AUC, exactly for −2 < A < −1  [section 3.4]."""
    claimed = sp.Interval.open(-2, -1) if claimed is None else claimed
    game = example()
    phi = shapley(game)
    by_shapley, other = auc(game, (1, 2, 3)), auc(game, (1, 3, 2))
    ranked = sp.And(phi[1] > phi[2], phi[2] > phi[3]).as_set()
    interval = ranked.intersect((other > by_shapley).as_set())
    return (
        r"$\phi_1>\phi_2>\phi_3$ and $\mathrm{AUC}((1,3,2)) > \mathrm{AUC}((1,2,3))$ exactly for $-2<A<-1$",
        bool(interval == claimed),
        {
            "φ": [phi[j] for j in (1, 2, 3)],
            "AUC((1, 2, 3))": by_shapley,
            "AUC((1, 3, 2))": other,
            "A": interval,
        },
    )


def region(conditions: list[Any]) -> Any:
    """The values of A that meet all conditions."""
    return sp.And(*conditions).as_set()


@statement("section 3.4, completed")
def counterexample_set(claimed: Any = None) -> Result:
    """All A for which no order of falling Shapley values has the largest AUC (beyond the paper)."""
    claimed = sp.Interval.open(-2, -1) + sp.Interval.open(-sp.oo, -4) if claimed is None else claimed
    game = example()
    phi = shapley(game)
    areas = {order: auc(game, order) for order in orders(3)}
    agree = sp.S.EmptySet
    for (i, j, k), area in areas.items():
        falls = [phi[i] >= phi[j], phi[j] >= phi[k]]
        agree += region(falls + [area >= rival for rival in areas.values()])
    fails = sp.S.Reals - agree
    return (
        r"In the same game no Shapley order is best for $-2<A<-1$, nor for $A<-4$; for all other $A$ one is",
        bool(fails == claimed),
        {"some Shapley order is best": agree, "none is": fails},
    )


@statement("section 3.4")
def no_counterexample_for_two(ratio: Any = 1) -> Result:
    """For n = 2, AUC((1, 2)) − AUC((2, 1)) = φ_1 − φ_2 for every f  [section 3.4]."""
    game = hybrids(2)
    phi = shapley(game)
    lead = auc(game, (1, 2)) - auc(game, (2, 1))
    return (
        r"For $n=2$: $\mathrm{AUC}((1,2)) - \mathrm{AUC}((2,1)) = \phi_1-\phi_2$, so there is none",
        zero(lead - ratio * (phi[1] - phi[2])),
        {"AUC((1, 2)) − AUC((2, 1))": lead, "φ_1 − φ_2": sp.expand(phi[1] - phi[2])},
    )
