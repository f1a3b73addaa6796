"""AUC and ABC of one order: Theorem 1, Lemma 1, both directions, additive functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import sympy as sp

from .algebra import (
    Game,
    Order,
    Subset,
    Weight,
    abc,
    abc_deletion,
    auc,
    aul,
    ceiling,
    checked,
    checked_order,
    curve,
    dividend,
    floor,
    hybrids,
    orders,
    positions,
    shapley,
    size,
    subsets,
    symbols,
    weighted,
    zero,
)
from .check import Result, statement

HALF = sp.Rational(1, 2)


def named(n: int, weight: Weight) -> Any:
    """Σ_u weight(n, u) Δ_u with a symbol for each Δ_u: how a formula looks on a page."""
    return sp.Add(*(weight(n, u) * delta for u, delta in symbols("Δ", n).items()))


def insertion_weight(n: int, u: Subset) -> Any:
    """n − ⌈u⌉ + 1, the number of points of the curve that hold all of u  [theorem 1]."""
    return n - ceiling(u) + 1


@statement("appendix B, theorem 1")
def theorem_1(n: int = 6, weight: Weight = insertion_weight, order: Order | None = None) -> Result:
    """AUC = Σ_u (n − ⌈u⌉ + 1) Δ_u as an identity in 2ⁿ symbols  [theorem 1]."""
    game = hybrids(checked(n, 7))
    placing = checked_order(order, range(1, n + 1))
    area = auc(game, placing)

    def placed(n: int, u: Subset) -> Any:
        return weight(n, positions(placing, u))

    return (
        rf"$\mathrm{{AUC}} = \sum_u (n - \lceil u\rceil + 1)\,\Delta_u$ for every $f$, $n = {n}$",
        zero(area - weighted(game, placed)),
        {"AUC, point by point": area, "sum over interactions": named(n, placed)},
    )


@statement("appendix B.1")
def theorem_1_deletion(n: int = 6, weight: Weight = floor) -> Result:
    """AUC′ = Σ_u ⌊u⌋ Δ_u for the walk in the opposite order  [appendix B.1]."""
    game = hybrids(checked(n, 7))
    area = auc(game, range(n, 0, -1))
    return (
        rf"$\mathrm{{AUC}}' = \sum_u \lfloor u\rfloor\,\Delta_u$ for every $f$, $n = {n}$",
        zero(area - weighted(game, weight)),
        {"AUC′, point by point": area, "sum over interactions": named(n, weight)},
    )


def anchored(game: Game, ones: Subset) -> dict[Subset, Any]:
    """Each g_u(z) by its recursive definition, at the point z that is 1 on `ones`  [appendix B]."""
    parts: dict[Subset, Any] = {}
    for u in subsets(size(game)):  # smallest first, so that all smaller parts are known
        parts[u] = game[u & ones] - sp.Add(*(parts[v] for v in subsets(u) if v != u))
    return parts


def ones_on(n: int, w: Subset) -> Subset:
    """Where e_w = 1_w : 0_{−w} is 1: on w itself  [lemma 1]."""
    return w


@statement("appendix B, lemma 1")
def lemma_1(n: int = 4, unit: Callable[[int, Subset], Subset] = ones_on) -> Result:
    """g_u(e_w) = g_u(1) where u ⊆ w, and 0 elsewhere, for all u and w  [lemma 1]."""
    game = hybrids(checked(n, 5))
    full = anchored(game, frozenset(range(1, n + 1)))
    parts = {w: anchored(game, unit(n, w)) for w in subsets(n)}
    failures = [(u, w) for w in parts for u in full if not zero(parts[w][u] - (full[u] if u <= w else 0))]
    u, w = failures[0] if failures else (frozenset(range(1, min(n, 2) + 1)), frozenset({1}))
    return (
        rf"$g_u(e_w) = g_u(\mathbf 1)\,1_{{u\subseteq w}}$ for all $u, w\subseteq 1{{:}}{n}$",
        not failures,
        {
            "pairs (u, w) checked": sp.Integer(4**n),
            "pairs that fail": sp.Integer(len(failures)),
            f"g_u(1) for u = {sorted(u)}": full[u],
            f"g_u(e_w) for w = {sorted(w)}": parts[w][u],
        },
    )


def alternating(game: Game, ones: Subset, u: Subset) -> Any:
    """Σ_{v ⊆ u} (−1)^{|u−v|} g(z_v : 0_{−v})  [proof of lemma 1]."""
    return sp.Add(*((-1) ** len(u - v) * game[v & ones] for v in subsets(u)))


@statement("appendix B, proof of lemma 1")
def moebius(n: int = 4, formula: Callable[[Game, Subset, Subset], Any] = alternating) -> Result:
    """The anchored parts are alternating sums of g, they add up to g, and g_u(1) = Δ_u  [appendix B]."""
    game = hybrids(checked(n, 5))
    full = frozenset(range(1, n + 1))
    parts = {w: anchored(game, w) for w in subsets(n)}
    alternates = all(zero(parts[w][u] - formula(game, w, u)) for w in parts for u in parts[w])
    adds_up = all(zero(sp.Add(*parts[w].values()) - game[w]) for w in parts)
    dividends = all(zero(parts[full][u] - dividend(game, u)) for u in game)
    return (
        rf"$g_u(z) = \sum_{{v\subseteq u}} (-1)^{{|u-v|}} g(z_v{{:}}0_{{-v}})$, $\sum_u g_u = g$ and "
        rf"$g_u(\mathbf 1) = \Delta_u$, $n = {n}$",
        alternates and adds_up and dividends,
        {"g_u(1) for u = 1:2": parts[full][frozenset(range(1, min(n, 2) + 1))]},
    )


@statement("section 3.3")
def aul_decomposition(n: int = 6, weight: Weight = lambda n, u: sp.Rational(n + 1, 2 if u else 1)) -> Result:
    """AUL = (n + 1) Δ_∅ + (n + 1)/2 Σ_{u ≠ ∅} Δ_u  [section 3.3]."""
    game = hybrids(checked(n, 7))
    return (
        rf"$\mathrm{{AUL}} = (n+1)\Delta_\emptyset + \frac{{n+1}}2\sum_{{u\ne\emptyset}}\Delta_u$, $n = {n}$",
        zero(aul(game) - weighted(game, weight)),
        {"AUL": aul(game), "sum over interactions": named(n, weight)},
    )


def abc_deletion_weight(n: int, u: Subset) -> Any:
    """(n + 1)/2 − ⌊u⌋, and 0 for the empty set  [appendix B.1]."""
    return sp.Rational(n + 1, 2) - floor(n, u) if u else 0


@statement("appendix B.1")
def abc_of_deletion(n: int = 6, weight: Weight = abc_deletion_weight) -> Result:
    """ABC′ = Σ_{u ≠ ∅} ((n + 1)/2 − ⌊u⌋) Δ_u  [appendix B.1]."""
    game = hybrids(checked(n, 7))
    area = sp.expand(abc_deletion(game, range(1, n + 1)))
    return (
        rf"$\mathrm{{ABC}}' = \sum_{{u\ne\emptyset}}\bigl(\frac{{n+1}}2 - \lfloor u\rfloor\bigr)\Delta_u$, "
        rf"$n = {n}$",
        zero(area - weighted(game, weight)),
        {"ABC′": area, "sum over interactions": named(n, weight)},
    )


def abc_sum_weight(n: int, u: Subset) -> Any:
    """n − ⌈u⌉ − ⌊u⌋ + 1  [appendix B.1]."""
    return n - ceiling(u) - floor(n, u) + 1


@statement("appendix B.1")
def abc_sum(n: int = 6, weight: Weight = abc_sum_weight) -> Result:
    """ABC + ABC′ = Σ_{u ≠ ∅} (n − ⌈u⌉ − ⌊u⌋ + 1) Δ_u  [appendix B.1]."""
    game, order = hybrids(checked(n, 7)), range(1, n + 1)
    area = sp.expand(abc(game, order) + abc_deletion(game, order))
    return (
        r"$\mathrm{ABC} + \mathrm{ABC}'$ ${} = \sum_{u\ne\emptyset}"
        rf"(n - \lceil u\rceil - \lfloor u\rfloor + 1)\,\Delta_u$, $n = {n}$",
        zero(area - weighted(game, weight)),
        {"ABC + ABC′": area, "sum over interactions": named(n, weight)},
    )


@statement("beyond the paper")
def flipping_difference(n: int = 4, sign: int = 1) -> Result:
    """ABC + ABC′ is the area of the walk most relevant first, minus that of the walk least relevant first."""
    game, ranking = hybrids(checked(n, 7)), tuple(range(1, n + 1))
    both = abc(game, ranking) + abc_deletion(game, ranking)
    difference = auc(game, ranking) - sign * auc(game, ranking[::-1])
    return (
        r"$\mathrm{ABC}+\mathrm{ABC}'$ is the AUC of the ranking minus that of the same ranking taken from its end, "
        rf"for every $f$, $n = {n}$",
        zero(both - difference),
        {"difference": sp.expand(difference)},
    )


def swapped(game: Game) -> dict[Subset, Any]:
    """The game of the walk from x′ to x: its u holds the features taken from x."""
    everything = max(game, key=len)
    return {u: game[everything - u] for u in game}


@statement("section 3.1")
def direction_symmetry(n: int = 4, back: Callable[[Order], Order] = lambda order: order[::-1]) -> Result:
    """From x′ to x by the opposite ranking: same points, same areas, for all n! orders  [section 3.1].

    The opposite ranking is what an antisymmetric attribution gives, and Shapley values are one.
    """
    game = hybrids(checked(n, 5))
    other = swapped(game)
    curves = all(curve(other, back(order)) == curve(game, order)[::-1] for order in orders(n))
    areas = all(zero(abc(other, back(o)) - abc(game, o)) for o in orders(n))
    deleted = all(zero(abc_deletion(other, back(o)) - abc_deletion(game, o)) for o in orders(n))
    forward, back_again = shapley(game), shapley(other)
    antisymmetric = all(zero(forward[j] + back_again[j]) for j in forward)
    return (
        r"From $x'$ to $x$, with the ranking reversed, insertion and deletion give the areas they give "
        rf"from $x$ to $x'$; $n = {n}$, all {n}! orders",
        curves and areas and deleted and antisymmetric,
        {"from x to x′": curve(game, range(1, n + 1)), "from x′ to x": curve(other, back(range(1, n + 1)))},
    )


@statement("section 3.1")
def trapezoid(n: int = 5, omitted: Any = HALF) -> Result:
    """Trapezoids give AUC − ½(f(x) + f(x′)), so the same ABC and the same differences  [section 3.1]."""
    game = hybrids(checked(n, 6))
    points = curve(game, range(1, n + 1))
    ends = points[0] + points[-1]
    area = sp.Add(*((left + right) / 2 for left, right in pairwise(points)))
    line = sp.Rational(n, 2) * ends
    relation = zero(area - (sp.Add(*points) - omitted * ends))
    return (
        r"The trapezoidal area is $\mathrm{AUC} - \frac12(f(x) + f(x'))$, and minus its own line it is "
        rf"$\mathrm{{ABC}}$; $n = {n}$",
        relation and zero(area - line - abc(game, range(1, n + 1))),
        {"trapezoidal area": area, "AUC minus it": sp.expand(sp.Add(*points) - area)},
    )
