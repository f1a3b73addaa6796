"""Sections 3 and 4 and appendix B: statements that are proved, or refuted, in exact arithmetic."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp
import torch

from insdel.attribution import explain
from insdel_paper.claims.verdict import HOLDS, NOT, PART, Figure, Finding, Rule
from insdel_paper.studies.cost import Counter
from insdel_paper.theory import CHECKS, LINKS, Check, erratum
from insdel_paper.theory.additive_functions import additive_game
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
from insdel_paper.theory.gradients import interpolation

exact = cache(lambda name: CHECKS[name]())
slip_of = cache(erratum)


def proved(*names: str) -> Finding:
    """All of these exact checks hold."""
    return settled([exact(name) for name in names])


def settled(checks: list[Check]) -> Finding:
    """Finding from exact checks: all hold, none does, or some."""
    good = sum(check.holds for check in checks)
    verdict = HOLDS if good == len(checks) else PART if good else NOT
    said = checks[0].statement if len(checks) == 1 else f"{good} of {len(checks)} exact checks hold"
    evidence = tuple(f"symbolic: {check.name}" for check in checks)
    return Finding(verdict, f"In exact arithmetic: {said}.", (), tuple(dict.fromkeys(evidence)))


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
    counter, weights = Counter(), torch.linspace(0.5, 1.5, n, dtype=torch.float64)
    x = np.zeros(n)
    with counter.watch(lambda z: torch.tanh(z @ weights)) as f:
        explain(method, f, x, x + 1, **options)
    return counter.points


def grows(points: dict[int, int], exponential: bool, because: str, evidence: str) -> Finding:
    """Whether counts double with each feature (or more), or grow by at most a constant per feature."""
    sizes = sorted(points)
    factor = (points[sizes[-1]] / points[sizes[0]]) ** (1 / (sizes[-1] - sizes[0]))
    linear = points[sizes[-1]] / sizes[-1] <= points[sizes[0]] / sizes[0]
    figures = [Figure(f"evaluations, {n} features", points[n]) for n in sizes]
    figures.append(Figure("factor per feature", factor))
    holds = factor > 1.9 if exponential else linear
    return Finding(HOLDS if holds else NOT, because, tuple(figures), (evidence,))


def late(n: int = 5) -> Finding:
    """Δ_u is in the last n + 1 − ⌈u⌉ points of the curve, in full, and in no other."""
    good = []
    for u in subsets(n):
        walk = curve(from_dividends({u: sp.Integer(1)}, n), range(1, n + 1))
        good.append(walk == [0] * max(u, default=0) + [1] * (n + 1 - max(u, default=0)))
    words = r"with one $\Delta_u = 1$ the curve is 0 up to step $\lceil u\rceil$ and 1 from there on"
    words += f", for every $u$, $n = {n}$"
    return shown(words, all(good), "late")


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


def same_constant(n: int = 4) -> Finding:
    """AUC − ABC is AUL, the same for every order."""
    game = hybrids(n)
    levels = {sp.expand(auc(game, o) - abc(game, o)) for o in orders(n)}
    return shown(f"AUC − ABC is one expression for all {n}! orders", len(levels) == 1, "same_constant")


def additive_mean(n: int = 4) -> Finding:
    """E(ABC) of an additive function over all orders."""
    game, _ = additive_game(n)
    mean = mean_over_orders(n, lambda order: abc(game, order))
    return shown(f"the mean ABC of an additive function over all {n}! orders is 0", zero(mean), "additive_mean")


def late_on_average() -> Finding:
    """E⌈π(u)⌉ − (n + 1)/2 > 0 for |u| = 2 + m, and 0 for |u| = 1."""
    n, m = sp.Symbol("n", positive=True), sp.Symbol("m", nonnegative=True)
    excess = sp.factor((2 + m) * (n + 1) / (3 + m) - (n + 1) / 2)
    single = sp.simplify((n + 1) / 2 - (n + 1) / 2)
    words = rf"$E\lceil\pi(u)\rceil - \frac{{n+1}}2 = {sp.latex(excess)} > 0$ for $|u| = 2 + m$, and 0 for $|u| = 1$"
    return shown(words, bool(excess.is_positive) and single == 0, "late_on_average")


def abc_sign() -> Finding:
    result = slip_of(5).remarks
    because = (
        "Right for the mean over all orders. In the ABC of one order it can have either sign "
        "({ref}`erratum 5 <erratum-5>`)."
    )
    return Finding(PART if all(map(bool, result)) else NOT, because, (), ("symbolic: erratum 5",))


def monotone() -> Finding:
    """The Shapley order is the best for each increasing function of an additive one."""
    names = ["monotone_best_order", "monotone_shapley_order"]
    return proved(*names, *(f"increasing({link})" for link in LINKS), *(f"monotone_example({link})" for link in LINKS))


def interpolates(m: int = 3) -> Finding:
    """The multilinear g equals f at all 2ᵐ corners."""
    game = hybrids(m)
    g = interpolation(game)
    same = [zero(g(*(sp.Integer(j in u) for j in range(1, m + 1))) - game[u]) for u in game]
    return shown(f"$g = f$ at all {len(same)} corners, m = {m}", all(same), "interpolation")


def interpolation_cost() -> Finding:
    """Evaluations of IG on the interpolated function, for 4 to 10 binary features."""
    def cost(m: int) -> int:
        return spent("ig_interpolated", m + 1, binary=list(range(m)), steps=2)

    because = "Counted: interpolating doubles the evaluations with each binary feature."
    return grows({m: cost(m) for m in (4, 7, 10)}, True, because, "counted: ig_interpolated, 2 steps")


def jump_cost() -> Finding:
    """Evaluations of IG with jumps averaged over their orders, for 4 to 10 binary features."""
    points = {m: spent("ig_jump", m + 1, binary=list(range(m)), steps=2) for m in (6, 9, 12)}
    because = "Counted: the m! orders of the jumps share 2ᵐ corners, so the cost doubles with each binary feature."
    return grows(points, True, because, "counted: ig_jump, 2 steps")


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
    return Finding(verdict, "Counted, with 20 steps each.", figures, ("counted: three kinds of IG",))


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
    figures = tuple(Figure(f"distinct attributions of {n} features that are 0, {name}", k) for name, k in
                    distinct.items())  # fmt: skip
    verdict = HOLDS if distinct == {"as it is": 1, "replaced": n} else NOT
    return Finding(verdict, "Counted on a network with one unit.", figures, ("counted: input_x_gradient",))


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


def ig_linear() -> Finding:
    """IG's evaluations for 4, 8 and 16 features."""
    points = {n: spent("integrated_gradients", n, steps=50) for n in (4, 8, 16)}
    because = "Counted: with automatic differentiation the number of evaluations does not even grow with n."
    return grows(points, False, because, "counted: integrated_gradients, 50 steps")


RULES: dict[str, Rule] = {
    "theorem-1": lambda: proved("theorem_1"),
    "lemma-1": lambda: proved("lemma_1"),
    "anchored-dividends": lambda: proved("moebius"),
    "anchored-formula": lambda: slip(18),
    "anchored-conventions": lambda: slip(7),
    "anchored-zeros-ones": lambda: slip(19),
    "interaction-subsets": lambda: slip(13),
    "interaction-late": late,
    "deletion-auc": lambda: proved("theorem_1_deletion"),
    "deletion-abc": lambda: proved("abc_of_deletion"),
    "abc-sum": lambda: proved("abc_sum"),
    "aul": lambda: proved("aul_decomposition"),
    "trapezoids": lambda: proved("trapezoid"),
    "ends-omitted": omitted_ends,
    "abc-auc-constant": same_constant,
    "direction": lambda: proved("direction_symmetry"),
    "additive-areas": lambda: proved("additive"),
    "additive-best": lambda: slip(4),
    "additive-both-tests": lambda: proved("additive_deletion"),
    "additive-shapley": lambda: proved("additive_shapley", "additive_best_order"),
    "additive-mean": additive_mean,
    "proposition-1": lambda: proved(*(f"proposition_1({size})" for size in range(7))),
    "proposition-1-proof": lambda: proved("ceiling_probability", *(f"hockey_stick({size})" for size in range(7))),
    "expected-auc": lambda: proved("expected_auc"),
    "expected-abc": lambda: proved("expected_abc"),
    "interactions-late-on-average": late_on_average,
    "expected-abc-reason": lambda: slip(5),
    "abc-sign": abc_sign,
    "mirror": lambda: proved("mirror"),
    "both-tests-mean": lambda: proved("expected_abc_sum"),
    "shapley-dividends": lambda: proved("shapley_dividends"),
    "shapley-not-best": lambda: proved("counterexample"),
    "shapley-not-best-sums": lambda: slip(6),
    "two-features": lambda: proved("no_counterexample_for_two"),
    "monotone": monotone,
    "logistic-interactions": lambda: proved("logistic_interactions"),
    "monotone-setting": lambda: slip(11),
    "monotone-swap": lambda: slip(8),
    "monotone-maximiser": lambda: slip(9),
    "naive-bayes": lambda: slip(25),
    "monotone-ig-deletion": lambda: proved("monotone_worst_order", "ig_order"),
    "monotone-ig": lambda: slip(16),
    "completeness": lambda: proved("ig_completeness", "shapley_paths"),
    "ig-definition": lambda: slip(3),
    "shapley-paths": lambda: proved("shapley_paths"),
    "interpolation": interpolates,
    "ig-multilinear": lambda: proved("ig_multilinear"),
    "ig-interpolated-shapley": lambda: slip(17),
    "interpolation-cost": interpolation_cost,
    "jump-cost": jump_cost,
    "casting-fastest": casting_fastest,
    "deeplift-one-step": deeplift_one_step,
    "input-gradient-zeros": input_gradient_zeros,
    "vanilla-scaling": vanilla_scaling,
    "adversarial": adversarial,
    "ig-cost": ig_linear,
}
