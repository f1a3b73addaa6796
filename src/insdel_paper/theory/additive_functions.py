"""Additive functions: the areas in closed form, and the best order  [section 3.2]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from .algebra import Order, Subset, abc, abc_deletion, auc, checked, checked_order, orders, shapley, subsets, zero
from .check import Result, statement


def additive_game(n: int) -> tuple[dict[Subset, Any], list[Any]]:
    """The game of f_∅ + Σ f_j(x_j), and its n changes f_j(x′_j) − f_j(x_j)."""
    at_x = [sp.Symbol(f"f_{{{j}}}(x_{{{j}}})", real=True) for j in range(1, n + 1)]
    at_reference = [sp.Symbol(f"f_{{{j}}}(x'_{{{j}}})", real=True) for j in range(1, n + 1)]
    constant = sp.Symbol("f_∅", real=True)
    changes = [after - before for before, after in zip(at_x, at_reference, strict=True)]
    start = constant + sp.Add(*at_x)
    return {u: sp.expand(start + sp.Add(*(changes[j - 1] for j in u))) for u in subsets(n)}, changes


def additive_auc_weight(n: int, j: int) -> Any:
    """n − j + 1  [section 3.2]."""
    return n - j + 1


def additive_abc_weight(n: int, j: int) -> Any:
    """(n + 1)/2 − j  [section 3.2]."""
    return sp.Rational(n + 1, 2) - j


@statement("section 3.2")
def additive(
    n: int = 5,
    auc_weight: Callable[[int, int], Any] = additive_auc_weight,
    abc_weight: Callable[[int, int], Any] = additive_abc_weight,
) -> Result:
    """AUC and ABC of an additive function in closed form  [section 3.2]."""
    game, changes = additive_game(checked(n, 7))
    order = range(1, n + 1)
    area = (n + 1) * game[frozenset()] + sp.Add(*(auc_weight(n, j) * changes[j - 1] for j in order))
    between = sp.Add(*(abc_weight(n, j) * changes[j - 1] for j in order))
    return (
        r"For additive $f$: $\mathrm{AUC} = (n+1)f(x)$ ${} + \sum_j (n-j+1)(f_j(x'_j)-f_j(x_j))$ and "
        rf"$\mathrm{{ABC}} = \sum_j(\frac{{n+1}}2-j)(f_j(x'_j)-f_j(x_j))$, $n = {n}$",
        zero(auc(game, order) - area) and zero(abc(game, order) - between),
        {"ABC": between},
    )


@statement("section 3.2")
def additive_deletion(n: int = 5, sign: int = 1) -> Result:
    """Insertion and deletion give an additive function the same ABC  [section 3.2]."""
    game, _ = additive_game(checked(n, 5))
    gaps = [sp.expand(abc(game, o) - sign * abc_deletion(game, o)) for o in orders(n)]
    return (
        rf"For additive $f$: $\mathrm{{ABC}} = \mathrm{{ABC}}'$, $n = {n}$, all {n}! orders",
        all(zero(gap) for gap in gaps),
        {"ABC − ABC′ of the first order": gaps[0]},
    )


@statement("section 3.2")
def additive_shapley(n: int = 5, share: Any = 1) -> Result:
    """The Shapley value of an additive function is the change itself  [section 3.2]."""
    game, changes = additive_game(checked(n, 7))
    values = shapley(game)
    return (
        rf"For additive $f$: $\phi_j = f_j(x'_j) - f_j(x_j)$, $n = {n}$",
        all(zero(values[j] - share * changes[j - 1]) for j in values),
        {f"φ_{j}": value for j, value in values.items()},
    )


def falling(n: int, letter: str = "d") -> list[Any]:
    """n numbers that fall strictly, written by their last one and n − 1 positive gaps."""
    last = sp.Symbol(f"{letter}_{n}", real=True)
    gaps = [sp.Symbol(f"ε_{j}", positive=True) for j in range(1, n)]
    return [last + sp.Add(*gaps[j:]) for j in range(n)]


@statement("section 3.2")
def additive_best_order(n: int = 5, best: Order | None = None) -> Result:
    """Sorting by falling f_j(x′_j) − f_j(x_j) beats each other order  [section 3.2]."""
    changes = falling(checked(n, 6, least=2))
    game = {u: sp.Add(*(changes[j - 1] for j in u)) for u in subsets(n)}
    best = checked_order(best, range(1, n + 1))
    leads = {o: sp.expand(auc(game, best) - auc(game, o)) for o in orders(n) if o != best}
    return (
        r"For additive $f$ the order of falling $f_j(x'_j)-f_j(x_j)$ has the largest AUC: its lead is a sum "
        rf"of gaps $\varepsilon_j > 0$ over each of the other {n}! − 1 orders, $n = {n}$",
        all(lead.is_positive is True for lead in leads.values()),
        {"lead over the opposite order": leads.get(best[::-1])},
    )
