"""Increasing functions of an additive one, h(γ₀ + Σ γ_j z_j); which outputs of naive Bayes are such  [appendix B.2].

Naive Bayes: each feature multiplies the likelihood of class k by a ratio p(x′_j | k) / p(x_j | k). The joint density of
x and one class is a product of these, the posterior is that product over the sum of those of all classes. A softmax
regression is the same function of z.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import factorial
from typing import Any

import sympy as sp

from insdel.errors import UserError

from .algebra import Order, Subset, auc, checked, checked_order, complement, dividend, orders, shapley, subsets, zero
from .areas import falling
from .check import Result, statement

Link = Callable[[Any], Any]
Ratios = Sequence[Sequence[Any]]  # one row per class, one likelihood ratio per feature

H = sp.Function("h")


def logistic(w: Any) -> Any:
    """σ(w) = 1 / (1 + e^{−w})."""
    return 1 / (1 + sp.exp(-w))


def leaky_relu(w: Any) -> Any:
    """Return w where w ≥ 0, and a tenth of it below."""
    return sp.Piecewise((w, sp.sympify(w) >= 0), (w / sp.Integer(10), True))


LINKS: Mapping[str, Link] = {"logistic": logistic, "exponential": sp.exp, "leaky ReLU": leaky_relu}


def link_named(name: str) -> Link:
    """The increasing function of that name."""
    if name not in LINKS:
        raise UserError(f"an increasing function is needed, one of {sorted(LINKS)}; found {name!r}.")
    return LINKS[name]


def gammas(n: int) -> list[Any]:
    """γ_0, γ_1, …, γ_n as real symbols."""
    return [sp.Symbol(f"γ_{j}", real=True) for j in range(n + 1)]


def composite(link: Link, coefficients: Sequence[Any]) -> dict[Subset, Any]:
    """The game z ↦ h(γ_0 + Σ γ_j z_j), from γ_0, …, γ_n."""
    constant, *effects = coefficients
    return {u: link(constant + sp.Add(*(effects[j - 1] for j in u))) for u in subsets(len(effects))}


@statement("appendix B.2")
def monotone_swap(n: int = 5, last: Callable[[int], int] = lambda r: r) -> Result:
    r"""$\mathrm{AUC}(\pi')-\mathrm{AUC}(\pi)$ ${} = h(s_{r-1}+\gamma_{\pi(r+1)}) - h(s_r)$ with $s_r =
    \gamma_0+\sum_{\ell\le r}\gamma_{\pi(\ell)}$, for any $h$, $n = %(n)s$, all $r$"""
    gamma = gammas(checked(n, 8, least=2))
    game, order = composite(H, gamma), list(range(1, n + 1))
    differences, claims = [], []
    for r in range(1, n):
        other = [*order[: r - 1], r + 1, r, *order[r + 1 :]]
        differences.append(auc(game, other) - auc(game, order))
        claims.append(H(sp.Add(*gamma[:r], gamma[r + 1])) - H(sp.Add(*gamma[: last(r) + 1])))
    holds = all(zero(d - c) for d, c in zip(differences, claims, strict=True))
    return holds, {f"difference, r = {r}": d for r, d in enumerate(differences, start=1)}


def compared(n: int, order: Order, other: Order) -> list[Any]:
    """By how much the arguments of h along one order are above those along another, for γ_1 > … > γ_n."""
    gamma = falling(n, "γ")
    return [
        sp.expand(sp.Add(*(gamma[j - 1] for j in order[:k])) - sp.Add(*(gamma[j - 1] for j in other[:k])))
        for k in range(n + 1)
    ]


def ahead(gaps: list[Any]) -> bool:
    """No argument behind and one ahead: then so is the sum of h, for each strictly increasing h."""
    return all(gap.is_nonnegative is True for gap in gaps) and any(gap.is_positive for gap in gaps)


@statement("appendix B.2")
def monotone_best_order(n: int = 5, best: Order | None = None) -> Result:
    r"""For $\gamma_1>\dots>\gamma_n$ the order $1,\dots,n$ has the largest AUC whatever the increasing $h$: at each
    point its argument of $h$ is at least that of any other of the %(n)s! orders"""
    best = checked_order(best, range(1, checked(n, 6, least=2) + 1))
    holds = all(ahead(compared(n, best, order)) for order in orders(n) if order != best)
    return holds, {"ahead of the opposite order by": compared(n, best, best[::-1])}


@statement("appendix B.2, completed")
def monotone_worst_order(n: int = 5, worst: Order | None = None) -> Result:
    r"""The deletion test takes the same ranking from its end, by rising $\gamma$, and this order has the smallest
    $\mathrm{AUC}'$ of all %(n)s! orders whatever the increasing $h$"""
    worst = checked_order(worst, range(checked(n, 6, least=2), 0, -1))
    holds = all(ahead(compared(n, order, worst)) for order in orders(n) if order != worst)
    return holds, {"behind the opposite order by": compared(n, worst[::-1], worst)}


def pair_weight(n: int, u: Subset) -> Any:
    """|u|! (n − |u| − 2)! / (n − 1)!, the weight of u in φ_ℓ − φ_ℓ′."""
    return sp.Rational(factorial(len(u)) * factorial(n - len(u) - 2), factorial(n - 1))


@statement("appendix B.2")
def monotone_shapley_order(n: int = 4, weight: Callable[[int, Subset], Any] = pair_weight) -> Result:
    r"""$\phi_\ell-\phi_{\ell'}$ is a mean with positive weights of $h(s+\gamma_\ell)-h(s+\gamma_{\ell'})$, so
    $\phi$ has the order of $\gamma$ for each increasing $h$, $n = %(n)s$"""
    game = composite(H, gammas(checked(n, 6, least=2)))
    phi = shapley(game)
    means = {
        (i, j): sp.Add(
            *(weight(n, u) * (game[u | {i}] - game[u | {j}]) for u in subsets(complement(n, frozenset({i, j}))))
        )
        for i, j in combinations(phi, 2)
    }
    weights = [weight(n, u) for u in subsets(n - 2)]
    is_mean = all(w > 0 for w in weights) and sum(weights) == 1
    equal = all(zero(phi[i] - phi[j] - mean) for (i, j), mean in means.items())
    return equal and is_mean, {"φ_1 − φ_2": means[1, 2], "weights": weights}


@statement("appendix B.2", cases=LINKS)
def increasing(name: str = "logistic", link: Link | None = None) -> Result:
    """The %(name)s function is strictly increasing"""
    h, w, bend = link or link_named(name), sp.Symbol("w", real=True), sp.Integer(0)
    tau, p, q = sp.symbols("τ p q", positive=True)
    if h(w).has(sp.Piecewise):  # h(b) − h(a) on each side of the bend at 0, across it, and from and to it
        cases = [(p, p + q), (-p - q, -p), (-q, p), (bend, p), (-p, bend)]
        rises = [sp.expand(h(end) - h(start)) for start, end in cases]
    else:  # a step log(1 + τ) keeps exponentials rational
        rises = [sp.factor(sp.simplify(h(w + sp.log(1 + tau)) - h(w)))]
    holds = all(step.is_positive is True for step in rises)
    return holds, {f"rise, case {k}": step for k, step in enumerate(rises, start=1)}


def numbers(name: str) -> list[Any]:
    """γ_0, …, γ_3 that cross the bend of each link and keep its values rational."""
    plain = [sp.Integer(-1), sp.Integer(-3), sp.Integer(2), sp.Integer(1)]
    return plain if name == "leaky ReLU" else [-sp.log(2), -sp.log(5), sp.log(3), sp.log(2)]


def falling_order(values: Mapping[int, Any]) -> tuple[int, ...]:
    """The features by falling value."""
    return tuple(sorted(values, key=lambda j: -values[j]))


@statement("appendix B.2", cases=LINKS)
def monotone_example(name: str = "logistic", effects: list[Any] | None = None) -> Result:
    """For the %(name)s function of an additive one the order by Shapley value has the largest AUC"""
    gamma = effects or numbers(name)
    game = composite(link_named(name), gamma)
    phi = shapley(game)
    areas = {order: auc(game, order) for order in orders(3)}
    best = max(areas, key=lambda order: areas[order])
    details = {"γ": gamma, "φ": list(phi.values()), "best order": best, "AUC of all orders": list(areas.values())}
    alone = list(areas.values()).count(areas[best]) == 1
    return alone and best == falling_order(phi) == falling_order(dict(enumerate(gamma[1:], start=1))), details


@statement("section 3")
def logistic_interactions(n: int = 3, constant: Any = 0) -> Result:
    r"""$\sigma(\gamma_0+\sum_j\gamma_jz_j)$ has $\Delta_u\ne0$ for every $|u|\ge2$, here at $\gamma_j = \log 2,
    \log 3, \dots$, $n = %(n)s$"""
    ratios = [sp.Integer(2), sp.Integer(3), sp.Integer(5), sp.Integer(7)][: checked(n, 4, least=2)]
    game = composite(logistic, [sp.sympify(constant), *map(sp.log, ratios)])
    parts = {u: sp.simplify(dividend(game, u)) for u in subsets(n) if len(u) > 1}
    return all(part != 0 for part in parts.values()), {f"Δ for u = {sorted(u)}": part for u, part in parts.items()}


def likelihoods(ratios: Ratios, u: Subset) -> list[Any]:
    """The likelihood of every class once the features of u have been changed, 1 before."""
    return [sp.Mul(*(row[j - 1] for j in u)) for row in ratios]


def posterior(ratios: Ratios) -> dict[Subset, Any]:
    """The posterior of the first class, equal priors at x."""
    parts = {u: likelihoods(ratios, u) for u in subsets(len(ratios[0]))}
    return {u: part[0] / sp.Add(*part) for u, part in parts.items()}


@statement("appendix B.2")
def naive_bayes_two(n: int = 3, classes: int = 2) -> Result:
    r"""Naive Bayes: the joint density of $x$ and a class is $\exp$ of an additive function, and the posterior of
    one of two classes is $\sigma$ of one, $n = %(n)s$. So Shapley's order is the best for both"""
    ratios = [[sp.Symbol(f"r_{k}{j}", positive=True) for j in range(1, n + 1)] for k in range(1, classes + 1)]
    posteriors, gaps = posterior(ratios), []
    for u, value in posteriors.items():
        logit = sp.Add(*(sp.log(ratios[0][j - 1] / ratios[1][j - 1]) for j in u))
        additive = sp.Add(*(sp.log(ratios[0][j - 1]) for j in u))
        gaps += [sp.simplify(value - logistic(logit)), sp.simplify(sp.exp(additive) - likelihoods(ratios, u)[0])]
    return all(map(zero, gaps)), {"posterior, all features changed": posteriors[complement(n, frozenset())]}


# powers of 2 by which three features change the likelihood of three classes that are equally probable at x
DOUBLINGS = ((0, 2, 0), (-3, 3, -3), (3, -3, -1))


@statement("appendix B.2, completed")
def naive_bayes_three(doublings: Sequence[Sequence[int]] = DOUBLINGS) -> Result:
    """The posterior of one class among three, in naive Bayes or a softmax regression, can have a better order than
    Shapley's"""
    game = posterior([[sp.Integer(2) ** power for power in row] for row in doublings])
    phi = shapley(game)
    areas = {order: auc(game, order) for order in orders(len(phi))}
    by_shapley, best = falling_order(phi), max(areas, key=lambda order: areas[order])
    return bool(areas[best] > areas[by_shapley]), {
        "powers of 2, by class": [sp.Tuple(*row) for row in doublings],
        "φ": list(phi.values()),
        f"AUC of Shapley's order {by_shapley}": areas[by_shapley],
        f"AUC of {best}": areas[best],
    }
