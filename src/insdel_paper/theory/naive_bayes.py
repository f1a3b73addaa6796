"""Naive Bayes: which of its outputs are monotone functions of an additive one  [section 3; appendix B.2].

Each feature multiplies the likelihood of class k by a ratio p(x′_j | k) / p(x_j | k). The joint density of x and one
class is a product of these, the posterior is that product over the sum of those of all classes. A softmax regression
is the same function of z.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from .algebra import Subset, auc, orders, shapley, subsets, zero
from .check import Result, statement
from .monotone import logistic

Ratios = Sequence[Sequence[Any]]  # one row per class, one likelihood ratio per feature

# powers of 2 by which three features change the likelihood of three classes that are equally probable at x
DOUBLINGS = ((0, 2, 0), (-3, 3, -3), (3, -3, -1))


def likelihoods(ratios: Ratios, u: Subset) -> list[Any]:
    """The likelihood of every class once the features of u have been changed, 1 before."""
    return [sp.Mul(*(row[j - 1] for j in u)) for row in ratios]


def posterior(ratios: Ratios) -> dict[Subset, Any]:
    """The posterior of the first class, equal priors at x."""
    parts = {u: likelihoods(ratios, u) for u in subsets(len(ratios[0]))}
    return {u: part[0] / sp.Add(*part) for u, part in parts.items()}


def symbols(n: int, k: int) -> list[Any]:
    """Positive likelihood ratios of n features for class k."""
    return [sp.Symbol(f"r_{k}{j}", positive=True) for j in range(1, n + 1)]


@statement("appendix B.2")
def naive_bayes_two(n: int = 3, classes: int = 2) -> Result:
    """With two classes the posterior is σ of an additive function; the joint density is exp of one."""
    ratios = [symbols(n, k) for k in range(1, classes + 1)]
    posteriors = posterior(ratios)
    gaps, joint = [], []
    for u, value in posteriors.items():
        logit = sp.Add(*(sp.log(ratios[0][j - 1] / ratios[1][j - 1]) for j in u))
        gaps.append(sp.simplify(value - logistic(logit)))
        additive = sp.exp(sp.Add(*(sp.log(ratios[0][j - 1]) for j in u)))
        joint.append(sp.simplify(additive - likelihoods(ratios, u)[0]))
    return (
        r"Naive Bayes: the joint density of $x$ and a class is $\exp$ of an additive function, and the posterior of "
        rf"one of two classes is $\sigma$ of one, $n = {n}$. So Shapley's order is the best for both",
        all(zero(gap) for gap in [*gaps, *joint]),
        {"posterior, all features changed": posteriors[frozenset(range(1, n + 1))]},
    )


@statement("appendix B.2, completed")
def naive_bayes_three(doublings: Sequence[Sequence[int]] = DOUBLINGS) -> Result:
    """The posterior of one class among three: another order beats Shapley's, in exact arithmetic."""
    ratios = [[sp.Integer(2) ** power for power in row] for row in doublings]
    game = posterior(ratios)
    phi = shapley(game)
    areas = {order: auc(game, order) for order in orders(len(phi))}
    by_shapley = tuple(sorted(phi, key=lambda j: -phi[j]))
    best = max(areas, key=lambda order: areas[order])
    return (
        "The posterior of one class among three, in naive Bayes or a softmax regression, can have a better order than "
        "Shapley's",
        bool(areas[best] > areas[by_shapley]),
        {
            "powers of 2, by class": [sp.Tuple(*row) for row in doublings],
            "φ": list(phi.values()),
            f"AUC of Shapley's order {by_shapley}": areas[by_shapley],
            f"AUC of {best}": areas[best],
        },
    )
