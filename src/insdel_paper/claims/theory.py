"""Rules about sections 3 and 4 and appendix B: statements that are proved, or refuted, in exact arithmetic."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp
import torch

from insdel.attribution import explain
from insdel.errors import UserError
from insdel_paper.claims.verdict import HOLDS, NOT, PART, Figure, Finding, rule
from insdel_paper.studies.cost import counting
from insdel_paper.theory import CHECKS, Check, erratum
from insdel_paper.theory.algebra import (
    abc,
    auc,
    curve,
    from_dividends,
    hybrids,
    mean_over_orders,
    orders,
    subsets,
    zero,
)
from insdel_paper.theory.areas import additive_game
from insdel_paper.theory.gradients import interpolation

exact = cache(lambda name: CHECKS[name]())
slip_of = cache(erratum)


@rule()
def proved(*names: str) -> Finding:
    """All of these exact checks hold, and all cases of one that has cases."""
    cases = {name: [check for check in CHECKS if check.split("(")[0] == name] for name in names}
    unknown = [name for name, known in cases.items() if not known]
    if unknown or not cases:
        raise UserError(f"a proof needs the name of a check of `insdel_paper.theory`; found {unknown or 'none'}.")
    return settled([exact(check) for known in cases.values() for check in known])


def settled(checks: list[Check]) -> Finding:
    """Finding from exact checks: all hold, none does, or some."""
    good = sum(check.holds for check in checks)
    verdict = HOLDS if good == len(checks) else PART if good else NOT
    said = checks[0].statement if len(checks) == 1 else f"{good} of {len(checks)} exact checks hold"
    evidence = tuple(f"symbolic: {check.name}" for check in checks)
    return Finding(verdict, f"In exact arithmetic: {said}.", (), tuple(dict.fromkeys(evidence)))


@rule()
def slip(number: int) -> Finding:
    """A statement with a slip: in part if the corrected version holds, or another reading of the words does."""
    result = slip_of(number)
    verdict = HOLDS if result.printed else PART if result.corrected or result.reading else NOT
    saved = "Read otherwise" if result.reading else "Corrected"
    version = result.reading or result.corrected
    because = f"Not as printed ({{ref}}`erratum {number} <erratum-{number}>`). {saved}: {version.statement}."
    return Finding(verdict, because, (), (f"symbolic: erratum {number}",))


def shown(statement: str, holds: bool, name: str) -> Finding:
    """Finding from a check that is written here."""
    return settled([Check(name, "", statement, bool(holds))])


def spent(method: str, n: int, **options: Any) -> int:
    """Points that f is asked about for one pair that differs in n features."""
    x, weights = np.zeros(n), torch.linspace(0.5, 1.5, n, dtype=torch.float64)
    with counting(lambda z: torch.tanh(z @ weights)) as (f, asked):
        explain(method, f, x, x + 1, **options)
    return sum(asked)


@rule()
def cost_grows(method: str, features: list[int], steps: int, binary: bool = False) -> Finding:
    """Whether counts double with each feature (or more); if not binary: grow by at most a constant per feature.

    features : how many there are, binary ones beside one that is not, if binary
    """
    points = {
        n: spent(method, n + 1, binary=list(range(n)), steps=steps) if binary else spent(method, n, steps=steps)
        for n in features
    }
    first, last = features[0], features[-1]
    factor = (points[last] / points[first]) ** (1 / (last - first))
    figures = [Figure(f"evaluations, {n} features", count) for n, count in points.items()]
    holds = factor > 1.9 if binary else points[last] / last <= points[first] / first
    figures.append(Figure("factor per feature", factor))
    return Finding(HOLDS if holds else NOT, "", tuple(figures), (f"counted: {method}, {steps} steps",))


@rule()
def late(n: int = 5) -> Finding:
    """Δ_u is in the last n + 1 − ⌈u⌉ points of the curve, in full, and in no other."""
    good = []
    for u in subsets(n):
        walk = curve(from_dividends({u: sp.Integer(1)}, n), range(1, n + 1))
        good.append(walk == [0] * max(u, default=0) + [1] * (n + 1 - max(u, default=0)))
    words = r"with one $\Delta_u = 1$ the curve is 0 up to step $\lceil u\rceil$ and 1 from there on"
    words += f", for every $u$, $n = {n}$"
    return shown(words, all(good), "late")


@rule()
def omitted_ends(n: int = 4) -> Finding:
    """Leaving f(x), f(x′) or both out of the sum changes no difference between two orders."""
    game, first = hybrids(n), tuple(range(1, n + 1))
    cuts = [slice(1, None), slice(None, -1), slice(1, -1)]
    gaps = [
        sum(curve(game, o)[cut]) - sum(curve(game, first)[cut]) - (auc(game, o) - auc(game, first))
        for o in orders(n)
        for cut in cuts
    ]
    words = f"without either end, or both, the sums of all {n}! orders differ from each other as the AUCs do"
    return shown(words, all(zero(gap) for gap in gaps), "omitted_ends")


@rule()
def same_constant(n: int = 4) -> Finding:
    """AUC − ABC is AUL, the same for every order."""
    game = hybrids(n)
    levels = {sp.expand(auc(game, o) - abc(game, o)) for o in orders(n)}
    return shown(f"AUC − ABC is one expression for all {n}! orders", len(levels) == 1, "same_constant")


@rule()
def additive_mean(n: int = 4) -> Finding:
    """E(ABC) of an additive function over all orders."""
    game, _ = additive_game(n)
    mean = mean_over_orders(n, lambda order: abc(game, order))
    return shown(f"the mean ABC of an additive function over all {n}! orders is 0", zero(mean), "additive_mean")


@rule()
def late_on_average() -> Finding:
    """E⌈π(u)⌉ − (n + 1)/2 > 0 for |u| = 2 + m, and 0 for |u| = 1."""
    n, m = sp.Symbol("n", positive=True), sp.Symbol("m", nonnegative=True)
    excess, single = (sp.factor(size * (n + 1) / (size + 1) - (n + 1) / 2) for size in (2 + m, sp.Integer(1)))
    words = rf"$E\lceil\pi(u)\rceil - \frac{{n+1}}2 = {sp.latex(excess)} > 0$ for $|u| = 2 + m$, and 0 for $|u| = 1$"
    return shown(words, bool(excess.is_positive) and single == 0, "late_on_average")


@rule()
def abc_sign() -> Finding:
    """Right for the mean over all orders, not for the ABC of one."""
    return Finding(PART if all(map(bool, slip_of(5).remarks)) else NOT, "", (), ("symbolic: erratum 5",))


@rule()
def interpolates(m: int = 3) -> Finding:
    """The multilinear g equals f at all 2ᵐ corners."""
    game = hybrids(m)
    g = interpolation(game)
    same = [zero(g(*(sp.Integer(j in u) for j in range(1, m + 1))) - game[u]) for u in game]
    return shown(f"$g = f$ at all {len(same)} corners, m = {m}", all(same), "interpolation")


@rule()
def casting_fastest(m: int = 10) -> Finding:
    """Evaluations of the three ways to treat m binary features, at the same 20 steps."""
    binary = {"binary": list(range(m)), "steps": 20}
    points = {
        "casting": spent("integrated_gradients", m + 1, steps=20),
        "jumping": spent("ig_jump", m + 1, **binary),
        "interpolating": spent("ig_interpolated", m + 1, **binary),
    }
    figures = tuple(Figure(f"evaluations, {name}, {m} binary features", value) for name, value in points.items())
    verdict = HOLDS if points["casting"] < min(points["jumping"], points["interpolating"]) else NOT
    return Finding(verdict, "", figures, ("counted: three kinds of IG",))


@rule()
def deeplift_one_step() -> Finding:
    """One bend: DeepLIFT is IG exactly. Two in a row: it multiplies mean slopes, where IG take the mean product."""
    t = sp.Symbol("t", positive=True)
    slope = sp.integrate(sp.exp(t), (t, 0, 1)) - (sp.exp(1) - sp.exp(0))  # mean slope of exp from 0 to 1 − its secant
    inner = t**2 + t  # x₁² + x₂ from (0, 0) to (1, 1), squared
    ig = [sp.integrate(2 * inner * part, (t, 0, 1)) for part in (2 * t, sp.Integer(1))]
    lift = [sp.Rational(4 - 0, 2) * part for part in (1, 1)]  # secant of the square times secant of each inner part
    words = (
        "through one bend the mean slope along the path is the slope of the secant, so that DeepLIFT equals IG; for "
        f"$(x_1^2+x_2)^2$ from $(0,0)$ to $(1,1)$ it gives {lift[0]}, {lift[1]} where IG give "
        f"${sp.latex(ig[0])}$, ${sp.latex(ig[1])}$: an approximation, and complete"
    )
    return shown(words, slope == 0 and lift != ig and sum(lift) == sum(ig) == 4, "deeplift_one_step")


@rule()
def input_gradient_zeros(n: int = 6) -> Finding:
    """Features that are 0 all get 0 as it is; with the replacement they differ."""
    weights = torch.linspace(-1.0, 1.5, n, dtype=torch.float64)
    x, binary = np.zeros(n), list(range(n))
    choices: dict[str, dict[str, Any]] = {"as it is": {}, "replaced": {"binary": binary}}
    values = {
        name: explain("input_x_gradient", lambda z: torch.tanh(z @ weights), x, x + 1, **options)
        for name, options in choices.items()
    }
    distinct = {name: len(np.unique(np.asarray(value))) for name, value in values.items()}
    text = f"distinct attributions of {n} features that are 0, "
    figures = tuple(Figure(text + name, count) for name, count in distinct.items())
    verdict = HOLDS if distinct == {"as it is": 1, "replaced": n} else NOT
    return Finding(verdict, "", figures, ("counted: input_x_gradient",))


@rule()
def vanilla_scaling() -> Finding:
    """Scales 1 and 3 of two features with slopes 2 and 1 reverse their order."""
    slopes = sp.Matrix([2, 1])
    scaled = [sp.Matrix([slopes[k] * scale[k] for k in range(2)]) for scale in ((1, 1), (1, 3))]
    reversed_order = (scaled[0][0] > scaled[0][1]) and (scaled[1][0] < scaled[1][1])
    words = (
        "slopes 2 and 1 rank two features one way on the scales 1 and 1, and the other way on 1 and 3; how much that "
        "matters on the houses is not recorded"
    )
    return shown(words, reversed_order, "vanilla_scaling")


@rule()
def adversarial(n: int = 9) -> Finding:
    """A made-up classifier, linear in the pixels: from a black image it needs many, one pixel can spoil it."""
    image, black, adversary = [1] * n, [0] * n, [-n, *[1] * (n - 1)]
    classified = {
        name: [sum(image[:k] + start[k:]) > n / 2 for k in range(n + 1)]
        for name, start in (("black", black), ("adversary", adversary))
    }
    from_black, from_adversary = (steps.index(True) for steps in classified.values())
    words = (
        f"a made-up classifier, which adds up {n} pixels, needs {from_black} of them on the way from a black image, "
        f"and {from_adversary} on the way from an image that differs in one pixel only"
    )
    return shown(words, from_adversary == 1 < from_black, "adversarial")
