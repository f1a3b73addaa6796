"""AUC and ABC of one order: Theorem 1, Lemma 1, both directions, additive functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import sympy as sp

from . import algebra
from .algebra import Game, Order, Subset, Weight
from .check import Result, statement


def equals_sum_over_interactions(n: int, area: Callable[[Game], Any], weight: Weight, label: str) -> Result:
    """Whether an area is Σ_u weight(n, u) Δ_u in the most general game, and both with symbols, as a page shows them."""
    game = algebra.hybrids(n, 7)
    value = sp.expand(area(game))
    named = sp.Add(*(weight(n, u) * delta for u, delta in algebra.symbols("Δ", n).items()))
    return algebra.zero(value - algebra.weighted(game, weight)), {label: value, "sum over interactions": named}


def insertion_weight(n: int, u: Subset) -> Any:
    """n − ⌈u⌉ + 1, the number of points of the curve that hold all of u  [theorem 1]."""
    return n - algebra.ceiling(u) + 1


@statement("appendix B, theorem 1")
def theorem_1(n: int = 6, weight: Weight = insertion_weight, order: Order | None = None) -> Result:
    r"""$\mathrm{AUC} = \sum_u (n - \lceil u\rceil + 1)\,\Delta_u$ for every $f$, $n = %(n)s$"""
    placing = algebra.checked_order(order, range(1, algebra.checked(n, 7) + 1))

    def placed(n: int, u: Subset) -> Any:
        return weight(n, algebra.positions(placing, u))

    return equals_sum_over_interactions(n, lambda game: algebra.auc(game, placing), placed, "AUC, point by point")


@statement("appendix B.1")
def theorem_1_deletion(n: int = 6, weight: Weight = algebra.floor) -> Result:
    r"""$\mathrm{AUC}' = \sum_u \lfloor u\rfloor\,\Delta_u$ for every $f$, $n = %(n)s$"""
    return equals_sum_over_interactions(
        n, lambda game: algebra.auc(game, range(n, 0, -1)), weight, "AUC′, point by point"
    )


def anchored(game: Game, ones: Subset) -> dict[Subset, Any]:
    """Each g_u(z) by its recursive definition, at the point z that is 1 on `ones`  [appendix B]."""
    parts: dict[Subset, Any] = {}
    for u in algebra.subsets(algebra.size(game)):  # smallest first, so that all smaller parts are known
        parts[u] = game[u & ones] - sp.Add(*(parts[v] for v in algebra.subsets(u) if v != u))
    return parts


@statement("appendix B, lemma 1")
def lemma_1(n: int = 4, unit: Callable[[int, Subset], Subset] = lambda n, w: w) -> Result:
    r"""$g_u(e_w) = g_u(\mathbf 1)\,1_{u\subseteq w}$ for all $u, w\subseteq 1{:}%(n)s$"""
    # unit: where e_w = 1_w : 0_{−w} is 1
    game = algebra.hybrids(n, 5)
    full = anchored(game, algebra.complement(n, frozenset()))
    parts = {w: anchored(game, unit(n, w)) for w in algebra.subsets(n)}
    failures = [(u, w) for w in parts for u in full if not algebra.zero(parts[w][u] - (full[u] if u <= w else 0))]
    u, w = failures[0] if failures else (frozenset(range(1, min(n, 2) + 1)), frozenset({1}))
    return not failures, {
        "pairs (u, w) checked": sp.Integer(4**n),
        "pairs that fail": sp.Integer(len(failures)),
        f"g_u(1) for u = {sorted(u)}": full[u],
        f"g_u(e_w) for w = {sorted(w)}": parts[w][u],
    }


def alternating(game: Game, ones: Subset, u: Subset) -> Any:
    """Σ_{v ⊆ u} (−1)^{|u−v|} g(z_v : 0_{−v})  [proof of lemma 1]."""
    return sp.Add(*((-1) ** len(u - v) * game[v & ones] for v in algebra.subsets(u)))


@statement("appendix B, proof of lemma 1")
def moebius(n: int = 4, formula: Callable[[Game, Subset, Subset], Any] = alternating) -> Result:
    r"""$g_u(z) = \sum_{v\subseteq u} (-1)^{|u-v|} g(z_v{:}0_{-v})$, $\sum_u g_u = g$ and $g_u(\mathbf 1) =
    \Delta_u$, $n = %(n)s$"""
    game, full = algebra.hybrids(n, 5), algebra.complement(n, frozenset())
    parts = {w: anchored(game, w) for w in algebra.subsets(n)}
    alternates = all(algebra.zero(parts[w][u] - formula(game, w, u)) for w in parts for u in parts[w])
    adds_up = all(algebra.zero(sp.Add(*parts[w].values()) - game[w]) for w in parts)
    dividends = all(algebra.zero(parts[full][u] - algebra.dividend(game, u)) for u in game)
    details = {"g_u(1) for u = 1:2": parts[full][frozenset(range(1, min(n, 2) + 1))]}
    return alternates and adds_up and dividends, details


@statement("section 3.3")
def aul_decomposition(n: int = 6, weight: Weight = lambda n, u: sp.Rational(n + 1, 2 if u else 1)) -> Result:
    r"""$\mathrm{AUL} = (n+1)\Delta_\emptyset + \frac{n+1}2\sum_{u\ne\emptyset}\Delta_u$, $n = %(n)s$"""
    return equals_sum_over_interactions(n, algebra.aul, weight, "AUL")


@statement("appendix B.1")
def abc_of_deletion(
    n: int = 6, weight: Weight = lambda n, u: sp.Rational(n + 1, 2) - algebra.floor(n, u) if u else 0
) -> Result:
    r"""$\mathrm{ABC}' = \sum_{u\ne\emptyset}\bigl(\frac{n+1}2 - \lfloor u\rfloor\bigr)\Delta_u$, $n = %(n)s$"""
    return equals_sum_over_interactions(n, lambda game: algebra.abc_deletion(game, range(1, n + 1)), weight, "ABC′")


@statement("appendix B.1")
def abc_sum(n: int = 6, weight: Weight = lambda n, u: n - algebra.ceiling(u) - algebra.floor(n, u) + 1) -> Result:
    r"""$\mathrm{ABC} + \mathrm{ABC}'$ ${} = \sum_{u\ne\emptyset}(n - \lceil u\rceil - \lfloor u\rfloor +
    1)\,\Delta_u$, $n = %(n)s$"""

    def both(game: Game) -> Any:
        return algebra.abc(game, range(1, n + 1)) + algebra.abc_deletion(game, range(1, n + 1))

    return equals_sum_over_interactions(n, both, weight, "ABC + ABC′")


@statement("beyond the paper")
def flipping_difference(n: int = 4, sign: int = 1) -> Result:
    r"""$\mathrm{ABC}+\mathrm{ABC}'$ is the AUC of the ranking minus that of the same ranking taken from its end,
    for every $f$, $n = %(n)s$"""
    game, ranking = algebra.hybrids(n, 7), range(1, n + 1)
    difference = algebra.auc(game, ranking) - sign * algebra.auc(game, ranking[::-1])
    both = algebra.abc(game, ranking) + algebra.abc_deletion(game, ranking)
    return algebra.zero(both - difference), {"difference": sp.expand(difference)}


def swapped(game: Game) -> dict[Subset, Any]:
    """The game of the walk from x′ to x: its u holds the features taken from x."""
    return {u: game[algebra.complement(algebra.size(game), u)] for u in game}


@statement("section 3.1")
def direction_symmetry(n: int = 4, back: Callable[[Order], Order] = lambda order: order[::-1]) -> Result:
    """From $x'$ to $x$, with the ranking reversed, insertion and deletion give the areas they give from $x$ to
    $x'$; $n = %(n)s$, all %(n)s! orders"""
    # the reversed ranking is what an antisymmetric attribution gives, and Shapley values are one
    game = algebra.hybrids(n, 5)
    other = swapped(game)
    curves = all(algebra.curve(other, back(order)) == algebra.curve(game, order)[::-1] for order in algebra.orders(n))
    areas = all(
        algebra.zero(area(other, back(o)) - area(game, o))
        for area in (algebra.abc, algebra.abc_deletion)
        for o in algebra.orders(n)
    )
    forward, back_again = algebra.shapley(game), algebra.shapley(other)
    antisymmetric = all(algebra.zero(forward[j] + back_again[j]) for j in forward)
    first = range(1, n + 1)
    details = {"from x to x′": algebra.curve(game, first), "from x′ to x": algebra.curve(other, back(first))}
    return curves and areas and antisymmetric, details


@statement("section 3.1")
def trapezoid(n: int = 5, omitted: Any = sp.S.Half) -> Result:
    r"""The trapezoidal area is $\mathrm{AUC} - \frac12(f(x) + f(x'))$, and minus its own line it is $\mathrm{ABC}$;
    $n = %(n)s$"""
    game, order = algebra.hybrids(n, 6), range(1, n + 1)
    points = algebra.curve(game, order)
    ends = points[0] + points[-1]
    area = sp.Add(*((left + right) / 2 for left, right in pairwise(points)))
    relation = algebra.zero(area - (algebra.auc(game, order) - omitted * ends))
    holds = relation and algebra.zero(area - sp.Rational(n, 2) * ends - algebra.abc(game, order))
    return holds, {"trapezoidal area": area, "AUC minus it": sp.expand(algebra.auc(game, order) - area)}


def additive_game(n: int) -> tuple[dict[Subset, Any], list[Any]]:
    """The game of f_∅ + Σ f_j(x_j), and its n changes f_j(x′_j) − f_j(x_j)."""
    at_x, at_reference = (
        [sp.Symbol(f"f_{{{j}}}({x}_{{{j}}})", real=True) for j in range(1, n + 1)] for x in ("x", "x'")
    )
    changes = [after - before for before, after in zip(at_x, at_reference, strict=True)]
    start = sp.Symbol("f_∅", real=True) + sp.Add(*at_x)
    return {u: sp.expand(start + sp.Add(*(changes[j - 1] for j in u))) for u in algebra.subsets(n)}, changes


@statement("section 3.2")
def additive(
    n: int = 5,
    auc_weight: Callable[[int, int], Any] = lambda n, j: n - j + 1,
    abc_weight: Callable[[int, int], Any] = lambda n, j: sp.Rational(n + 1, 2) - j,
) -> Result:
    r"""For additive $f$: $\mathrm{AUC} = (n+1)f(x)$ ${} + \sum_j (n-j+1)(f_j(x'_j)-f_j(x_j))$ and $\mathrm{ABC} =
    \sum_j(\frac{n+1}2-j)(f_j(x'_j)-f_j(x_j))$, $n = %(n)s$"""
    game, changes = additive_game(algebra.checked(n, 7))
    order = range(1, n + 1)
    area = (n + 1) * game[frozenset()] + sp.Add(*(auc_weight(n, j) * changes[j - 1] for j in order))
    between = sp.Add(*(abc_weight(n, j) * changes[j - 1] for j in order))
    return algebra.zero(algebra.auc(game, order) - area) and algebra.zero(algebra.abc(game, order) - between), {
        "ABC": between
    }


@statement("section 3.2")
def additive_deletion(n: int = 5, sign: int = 1) -> Result:
    r"""For additive $f$: $\mathrm{ABC} = \mathrm{ABC}'$, $n = %(n)s$, all %(n)s! orders"""
    game, _ = additive_game(algebra.checked(n, 5))
    gaps = [sp.expand(algebra.abc(game, o) - sign * algebra.abc_deletion(game, o)) for o in algebra.orders(n)]
    return all(map(algebra.zero, gaps)), {"ABC − ABC′ of the first order": gaps[0]}


@statement("section 3.2")
def additive_shapley(n: int = 5, share: Any = 1) -> Result:
    r"""For additive $f$: $\phi_j = f_j(x'_j) - f_j(x_j)$, $n = %(n)s$"""
    game, changes = additive_game(algebra.checked(n, 7))
    values = algebra.shapley(game)
    holds = all(algebra.zero(values[j] - share * changes[j - 1]) for j in values)
    return holds, {f"φ_{j}": value for j, value in values.items()}


def falling(n: int, letter: str = "d") -> list[Any]:
    """n numbers that fall strictly, written by their last one and n − 1 positive gaps."""
    last = sp.Symbol(f"{letter}_{n}", real=True)
    gaps = [sp.Symbol(f"ε_{j}", positive=True) for j in range(1, n)]
    return [last + sp.Add(*gaps[j:]) for j in range(n)]


@statement("section 3.2")
def additive_best_order(n: int = 5, best: Order | None = None) -> Result:
    r"""For additive $f$ the order of falling $f_j(x'_j)-f_j(x_j)$ has the largest AUC: its lead is a sum of gaps
    $\varepsilon_j > 0$ over each of the other %(n)s! − 1 orders, $n = %(n)s$"""
    changes = falling(algebra.checked(n, 6, least=2))
    game = {u: sp.Add(*(changes[j - 1] for j in u)) for u in algebra.subsets(n)}
    best = algebra.checked_order(best, range(1, n + 1))
    leads = {o: sp.expand(algebra.auc(game, best) - algebra.auc(game, o)) for o in algebra.orders(n) if o != best}
    holds = all(lead.is_positive is True for lead in leads.values())
    return holds, {"lead over the opposite order": leads.get(best[::-1])}
