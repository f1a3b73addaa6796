"""Increasing functions of an additive one, h(γ₀ + Σ γ_j z_j)  [appendix B.2]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import factorial
from typing import Any

import sympy as sp

from insdel.errors import UserError

from .additive_functions import falling
from .algebra import Order, Subset, auc, checked, checked_order, dividend, orders, shapley, subsets, zero
from .check import Result, statement

Link = Callable[[Any], Any]

H = sp.Function("h")
SLOPE = sp.Rational(1, 10)


def logistic(w: Any) -> Any:
    """σ(w) = 1 / (1 + e^{−w})."""
    return 1 / (1 + sp.exp(-w))


def leaky_relu(w: Any) -> Any:
    """Return w where w ≥ 0, and a tenth of it below."""
    return sp.Piecewise((w, sp.sympify(w) >= 0), (SLOPE * w, True))


LINKS: Mapping[str, Link] = {"logistic": logistic, "exponential": sp.exp, "leaky ReLU": leaky_relu}


def link_named(name: str) -> Link:
    """The increasing function of that name."""
    if name not in LINKS:
        raise UserError(f"an increasing function is needed, one of {sorted(LINKS)}; found {name!r}.")
    return LINKS[name]


def gammas(n: int) -> list[Any]:
    """γ_0, γ_1, …, γ_n as real symbols."""
    return [sp.Symbol(f"γ_{j}", real=True) for j in range(n + 1)]


def composite(link: Link, coefficients: list[Any]) -> dict[Subset, Any]:
    """The game z ↦ h(γ_0 + Σ γ_j z_j), from γ_0, …, γ_n."""
    constant, *effects = coefficients
    return {u: link(constant + sp.Add(*(effects[j - 1] for j in u))) for u in subsets(len(effects))}


@statement("appendix B.2")
def monotone_swap(n: int = 5, last: Callable[[int], int] = lambda r: r) -> Result:
    """Swapping places r and r + 1 changes one point of the curve only  [appendix B.2]."""
    gamma = gammas(checked(n, 8, least=2))
    game, order = composite(H, gamma), list(range(1, n + 1))
    differences, claims = [], []
    for r in range(1, n):
        other = [*order[: r - 1], r + 1, r, *order[r + 1 :]]
        differences.append(auc(game, other) - auc(game, order))
        claims.append(H(sp.Add(*gamma[:r], gamma[r + 1])) - H(sp.Add(*gamma[: last(r) + 1])))
    return (
        r"$\mathrm{AUC}(\pi')-\mathrm{AUC}(\pi)$ ${} = h(s_{r-1}+\gamma_{\pi(r+1)}) - h(s_r)$ with "
        rf"$s_r = \gamma_0+\sum_{{\ell\le r}}\gamma_{{\pi(\ell)}}$, for any $h$, $n = {n}$, all $r$",
        all(zero(d - c) for d, c in zip(differences, claims, strict=True)),
        {f"difference, r = {r}": d for r, d in enumerate(differences, start=1)},
    )


def steps(n: int, order: Order) -> list[Any]:
    """The argument of h at each point of the curve, for γ_1 > … > γ_n."""
    effects = falling(n, "γ")
    return [sp.Symbol("γ_0", real=True) + sp.Add(*(effects[j - 1] for j in order[:k])) for k in range(n + 1)]


def compared(n: int, order: Order, other: Order) -> list[Any]:
    """By how much the arguments of h along one order are above those along another."""
    return [sp.expand(a - b) for a, b in zip(steps(n, order), steps(n, other), strict=True)]


def ahead(gaps: list[Any]) -> bool:
    """No argument behind and one ahead: then so is the sum of h, for each strictly increasing h."""
    return all(gap.is_nonnegative is True for gap in gaps) and any(gap.is_positive for gap in gaps)


@statement("appendix B.2")
def monotone_best_order(n: int = 5, best: Order | None = None) -> Result:
    """Falling γ has the largest AUC of all n! orders, for each strictly increasing h  [appendix B.2]."""
    best = checked_order(best, range(1, checked(n, 6, least=2) + 1))
    others = [order for order in orders(n) if order != best]
    return (
        r"For $\gamma_1>\dots>\gamma_n$ the order $1,\dots,n$ has the largest AUC whatever the increasing $h$: "
        rf"at each point its argument of $h$ is at least that of any other of the {n}! orders",
        all(ahead(compared(n, best, order)) for order in others),
        {"ahead of the opposite order by": compared(n, best, best[::-1])},
    )


@statement("appendix B.2, completed")
def monotone_worst_order(n: int = 5, worst: Order | None = None) -> Result:
    """Rising γ has the smallest AUC, so the same ranking is best for deletion too (beyond the paper)."""
    worst = checked_order(worst, range(checked(n, 6, least=2), 0, -1))
    others = [order for order in orders(n) if order != worst]
    return (
        r"The deletion test takes the same ranking from its end, by rising $\gamma$, and this order has the "
        rf"smallest $\mathrm{{AUC}}'$ of all {n}! orders whatever the increasing $h$",
        all(ahead(compared(n, order, worst)) for order in others),
        {"behind the opposite order by": compared(n, worst[::-1], worst)},
    )


def pair_weight(n: int, u: Subset) -> Any:
    """|u|! (n − |u| − 2)! / (n − 1)!, the weight of u in φ_ℓ − φ_ℓ′."""
    return sp.Rational(factorial(len(u)) * factorial(n - len(u) - 2), factorial(n - 1))


@statement("appendix B.2")
def monotone_shapley_order(n: int = 4, weight: Callable[[int, Subset], Any] = pair_weight) -> Result:
    """φ_ℓ − φ_ℓ′ is a mean of comparisons h(s + γ_ℓ) − h(s + γ_ℓ′)  [appendix B.2]."""
    gamma = gammas(checked(n, 6, least=2))
    game = composite(H, gamma)
    phi = shapley(game)
    pairs = [(i, j) for i in range(1, n + 1) for j in range(i + 1, n + 1)]
    means = {
        (i, j): sp.Add(*(weight(n, u) * (game[u | {i}] - game[u | {j}]) for u in subsets(set(phi) - {i, j})))
        for i, j in pairs
    }
    weights = [weight(n, u) for u in subsets(n - 2)]
    return (
        r"$\phi_\ell-\phi_{\ell'}$ is a mean with positive weights of $h(s+\gamma_\ell)-h(s+\gamma_{\ell'})$, "
        rf"so $\phi$ has the order of $\gamma$ for each increasing $h$, $n = {n}$",
        all(zero(phi[i] - phi[j] - means[i, j]) for i, j in pairs)
        and all(w > 0 for w in weights)
        and sum(weights) == 1,
        {"φ_1 − φ_2": means[1, 2], "weights": weights},
    )


def rise(link: Link) -> list[Any]:
    """h(w + log(1 + τ)) − h(w) on each side of the bend at 0 and across it, simplified; τ, p, q > 0."""
    w, tau = sp.Symbol("w", real=True), sp.Symbol("τ", positive=True)
    p, q = sp.symbols("p q", positive=True)
    if not link(w).has(sp.Piecewise):  # a step log(1 + τ) keeps exponentials rational
        return [sp.factor(sp.simplify(link(w + sp.log(1 + tau)) - link(w)))]
    bend = sp.Integer(0)
    cases = [(p, p + q), (-p - q, -p), (-q, p), (bend, p), (-p, bend)]
    return [sp.expand(link(end) - link(start)) for start, end in cases]


@statement("appendix B.2", cases=LINKS)
def increasing(name: str = "logistic", link: Link | None = None) -> Result:
    """The paper's examples of h are strictly increasing: h(b) − h(a) > 0 for all b > a  [appendix B.2]."""
    rises = rise(link or link_named(name))
    return (
        f"The {name} function is strictly increasing",
        all(step.is_positive is True for step in rises),
        {f"rise, case {k}": step for k, step in enumerate(rises, start=1)},
    )


def numbers(name: str) -> list[Any]:
    """γ_0, …, γ_3 that cross the bend of each link and keep its values rational."""
    plain = [sp.Integer(-1), sp.Integer(-3), sp.Integer(2), sp.Integer(1)]
    return plain if name == "leaky ReLU" else [-sp.log(2), -sp.log(5), sp.log(3), sp.log(2)]


@statement("appendix B.2", cases=LINKS)
def monotone_example(name: str = "logistic", effects: list[Any] | None = None) -> Result:
    """One exact case: all 3! orders, and the best is the one by Shapley value and by γ  [appendix B.2]."""
    gamma = effects or numbers(name)
    game = composite(link_named(name), gamma)
    phi = shapley(game)
    areas = {order: auc(game, order) for order in orders(3)}
    best = max(areas, key=lambda order: areas[order])
    by_shapley = tuple(sorted(phi, key=lambda j: -phi[j]))
    by_gamma = tuple(sorted(phi, key=lambda j: -gamma[j]))
    return (
        f"For the {name} function of an additive one the order by Shapley value has the largest AUC",
        best == by_shapley == by_gamma and list(areas.values()).count(areas[best]) == 1,
        {"γ": gamma, "φ": list(phi.values()), "best order": best, "AUC of all orders": list(areas.values())},
    )


@statement("section 3")
def logistic_interactions(n: int = 3, constant: Any = 0) -> Result:
    """The logistic function of an additive one has interactions of all orders  [section 3]."""
    ratios = [sp.Integer(2), sp.Integer(3), sp.Integer(5), sp.Integer(7)][: checked(n, 4, least=2)]
    game = composite(logistic, [sp.sympify(constant), *map(sp.log, ratios)])
    parts = {u: sp.simplify(dividend(game, u)) for u in subsets(n) if len(u) > 1}
    return (
        r"$\sigma(\gamma_0+\sum_j\gamma_jz_j)$ has $\Delta_u\ne0$ for every $|u|\ge2$, here at "
        rf"$\gamma_j = \log 2, \log 3, \dots$, $n = {n}$",
        all(part != 0 for part in parts.values()),
        {f"Δ for u = {sorted(u)}": part for u, part in parts.items()},
    )
