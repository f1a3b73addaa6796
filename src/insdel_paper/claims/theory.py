"""Sections 3 and 4 and appendix B: statements that are proved, or refuted, in exact arithmetic."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp
import torch

from insdel.attribution import explain
from insdel_paper.claims.verdict import HOLDS, NOT, PART, Figure, Finding, claim, claims_in
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


@claim(
    "theorem-1", "section 3.3; theorem 1",
    r"$\mathrm{AUC} = \sum_u (n - \lceil u\rceil + 1)\,\Delta_u$ for every $f$",
    "split",
)
def theorem_1() -> Finding:
    return proved("theorem_1")


@claim("lemma-1", "appendix B, lemma 1", r"$g_u(e_w) = g_u(\mathbf 1)\,1_{u\subseteq w}$", "split")
def lemma_1() -> Finding:
    return proved("lemma_1")


@claim(
    "anchored-dividends", "appendix B",
    r"The anchored parts at $\mathbf 1$ are the Harsanyi dividends $\Delta_u$",
    "split",
)
def anchored_dividends() -> Finding:
    return proved("moebius")


@claim(
    "anchored-formula", "appendix B",
    "Inclusion–exclusion formula of the anchored parts, as printed before lemma 1",
    "split",
)
def anchored_formula() -> Finding:
    return slip(18)


@claim(
    "anchored-conventions", "appendix B",
    "The vectors $e_u$ and the function $g$ as defined before lemma 1",
    "split",
)
def anchored_conventions() -> Finding:
    return slip(7)


@claim(
    "anchored-zeros-ones", "appendix B",
    r"“$\mathbf 0, \mathbf 1$ for vectors of all ones and all zeros, respectively”",
    "split",
)
def anchored_zeros_ones() -> Finding:
    return slip(19)


@claim("interaction-subsets", "section 3.3", r"The differences $\Delta_u$ are defined for $u\subseteq 1{:}d$", "split")
def interaction_subsets() -> Finding:
    return slip(13)


@claim(
    "interaction-late", "section 3",
    r"$\Delta_u$ is present only in the final $n + 1 - \lceil u\rceil$ points of the curve",
    "split",
)
def late(n: int = 5) -> Finding:
    """Δ_u is in the last n + 1 − ⌈u⌉ points of the curve, in full, and in no other."""
    good = []
    for u in subsets(n):
        walk = curve(from_dividends({u: sp.Integer(1)}, n), range(1, n + 1))
        good.append(walk == [0] * max(u, default=0) + [1] * (n + 1 - max(u, default=0)))
    words = r"with one $\Delta_u = 1$ the curve is 0 up to step $\lceil u\rceil$ and 1 from there on"
    words += f", for every $u$, $n = {n}$"
    return shown(words, all(good), "late")


@claim("deletion-auc", "appendix B.1", r"$\mathrm{AUC}' = \sum_u \lfloor u\rfloor\,\Delta_u$", "split")
def deletion_auc() -> Finding:
    return proved("theorem_1_deletion")


@claim(
    "deletion-abc", "appendix B.1",
    r"$\mathrm{ABC}' = \sum_{u\ne\emptyset}(\frac{n+1}2 - \lfloor u\rfloor)\Delta_u$",
    "split",
)
def deletion_abc() -> Finding:
    return proved("abc_of_deletion")


@claim(
    "abc-sum", "appendix B.1",
    r"$\mathrm{ABC}+\mathrm{ABC}' = \sum_{u\ne\emptyset}(n-\lceil u\rceil-\lfloor u\rfloor+1)\Delta_u$",
    "split",
)
def abc_sum() -> Finding:
    return proved("abc_sum")


@claim(
    "aul", "section 3.3",
    r"$\mathrm{AUL} = (n+1)\Delta_\emptyset + \frac{n+1}2\sum_{u\ne\emptyset}\Delta_u$",
    "split",
)
def aul() -> Finding:
    return proved("aul_decomposition")


@claim("trapezoids", "section 3.1", "The trapezoidal area differs from AUC by a constant that no order changes", "walk")
def trapezoids() -> Finding:
    return proved("trapezoid")


@claim(
    "ends-omitted", "section 3.1",
    "Either end of the sum can be left out without changing differences between orders",
    "walk",
)
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


@claim("abc-auc-constant", "section 3.1", "AUC − ABC does not depend on the order", "walk")
def same_constant(n: int = 4) -> Finding:
    """AUC − ABC is AUL, the same for every order."""
    game = hybrids(n)
    levels = {sp.expand(auc(game, o) - abc(game, o)) for o in orders(n)}
    return shown(f"AUC − ABC is one expression for all {n}! orders", len(levels) == 1, "same_constant")


@claim(
    "direction", "section 3.1",
    "AUC and ABC from $x$ to $x'$ are those from $x'$ to $x$ (with the ranking turned round), in both tests",
    "walk",
)
def direction() -> Finding:
    return proved("direction_symmetry")


@claim("additive-areas", "section 3.2, eq. 3 and 4", "AUC and ABC of an additive function in closed form", "walk")
def additive_areas() -> Finding:
    return proved("additive")


@claim(
    "additive-best", "section 3.2",
    "The best order of an additive function is that of falling $f_j(x_j) - f_j(x'_j)$",
    "walk",
)
def additive_best() -> Finding:
    return slip(4)


@claim("additive-both-tests", "section 3.2", "Insertion and deletion give an additive function the same ABC", "walk")
def additive_both_tests() -> Finding:
    return proved("additive_deletion")


@claim(
    "additive-shapley", "section 3.2",
    "For an additive function the Shapley value is proportional to the change, so its order is the best",
    "best",
)
def additive_shapley() -> Finding:
    return proved("additive_shapley", "additive_best_order")


@claim("additive-mean", "section 3.3", r"$E(\mathrm{ABC}) = 0$ for an additive function and a random order", "shuffle")
def additive_mean(n: int = 4) -> Finding:
    """E(ABC) of an additive function over all orders."""
    game, _ = additive_game(n)
    mean = mean_over_orders(n, lambda order: abc(game, order))
    return shown(f"the mean ABC of an additive function over all {n}! orders is 0", zero(mean), "additive_mean")


@claim("proposition-1", "section 3.3, proposition 1", r"$E\lceil\pi(u)\rceil = |u|(n+1)/(|u|+1)$", "shuffle")
def proposition_1() -> Finding:
    return proved(*(f"proposition_1({size})" for size in range(7)))


@claim(
    "proposition-1-proof", "section 3.3, proof",
    "The steps of the proof: probability of the largest place, hockey stick",
    "shuffle",
)
def proposition_1_proof() -> Finding:
    return proved("ceiling_probability", *(f"hockey_stick({size})" for size in range(7)))


@claim("expected-auc", "section 3.3", r"$E(\mathrm{AUC}) = \sum_u(n - E\lceil\pi(u)\rceil + 1)\Delta_u$", "shuffle")
def expected_auc() -> Finding:
    return proved("expected_auc")


@claim(
    "expected-abc", "section 3.3",
    r"$E(\mathrm{ABC}) = \frac{n+1}2\sum_{u\ne\emptyset}\frac{1-|u|}{|u|+1}\Delta_u$",
    "shuffle",
)
def expected_abc() -> Finding:
    return proved("expected_abc")


@claim(
    "interactions-late-on-average", "section 3.3",
    r"$E\lceil u\rceil > (n+1)/2$ for $|u| > 1$, and $=$ for $|u| = 1$",
    "shuffle",
)
def late_on_average() -> Finding:
    """E⌈π(u)⌉ − (n + 1)/2 > 0 for |u| = 2 + m, and 0 for |u| = 1."""
    n, m = sp.Symbol("n", positive=True), sp.Symbol("m", nonnegative=True)
    excess = sp.factor((2 + m) * (n + 1) / (3 + m) - (n + 1) / 2)
    single = sp.simplify((n + 1) / 2 - (n + 1) / 2)
    words = rf"$E\lceil\pi(u)\rceil - \frac{{n+1}}2 = {sp.latex(excess)} > 0$ for $|u| = 2 + m$, and 0 for $|u| = 1$"
    return shown(words, bool(excess.is_positive) and single == 0, "late_on_average")


@claim(
    "expected-abc-reason", "section 3.3",
    r"An interaction has the opposite sign in $E(\mathrm{ABC})$, “because $|u|-1<0$”",
    "shuffle",
)
def expected_abc_reason() -> Finding:
    return slip(5)


@claim(
    "abc-sign", "section 3.3",
    "The contribution to ABC from an interaction has the opposite sign of that interaction",
    "shuffle",
)
def abc_sign() -> Finding:
    result = slip_of(5).remarks
    because = (
        "Right for the mean over all orders. In the ABC of one order it can have either sign "
        "({ref}`erratum 5 <erratum-5>`)."
    )
    return Finding(PART if all(map(bool, result)) else NOT, because, (), ("symbolic: erratum 5",))


@claim("mirror", "appendix B.1", r"$\Pr(\lfloor\pi(u)\rfloor = \ell) = \Pr(\lceil\pi(u)\rceil = n-\ell+1)$", "shuffle")
def mirror() -> Finding:
    return proved("mirror")


@claim(
    "both-tests-mean", "abstract; appendix B.1",
    r"$E(\mathrm{ABC}+\mathrm{ABC}') = 0$, interactions or not",
    "shuffle",
)
def both_tests_mean() -> Finding:
    return proved("expected_abc_sum")


@claim(
    "shapley-dividends", "section 3.4",
    r"The Shapley value shares each $\Delta_u$ equally among its members",
    "not-best",
)
def shapley_dividends() -> Finding:
    return proved("shapley_dividends")


@claim(
    "shapley-not-best", "abstract; section 3.4",
    r"Sorting by Shapley value need not maximise AUC: $n = 3$, $\Delta = (3, 2, 1)$, $\Delta_{12} = A$, $-2<A<-1$",
    "not-best",
)
def shapley_not_best() -> Finding:
    return proved("counterexample")


@claim(
    "shapley-not-best-sums", "section 3.4",
    r"$\mathrm{AUC}((1,2,3)) = 3\Delta_1+2\Delta_2+\Delta_1+2A = 14+2A$",
    "not-best",
)
def shapley_not_best_sums() -> Finding:
    return slip(6)


@claim("two-features", "section 3.4", "There is no such counterexample for $n = 2$", "not-best")
def two_features() -> Finding:
    return proved("no_counterexample_for_two")


@claim(
    "monotone", "abstract; appendix B.2",
    "For increasing functions of an additive one (logistic, exponential, leaky ReLU) the Shapley order maximises AUC",
    "best",
)
def monotone() -> Finding:
    """The Shapley order is the best for each increasing function of an additive one."""
    names = ["monotone_best_order", "monotone_shapley_order"]
    return proved(*names, *(f"increasing({link})" for link in LINKS), *(f"monotone_example({link})" for link in LINKS))


@claim(
    "logistic-interactions", "section 3",
    "Logistic regression has interactions of all orders on the probability scale",
    "best",
)
def logistic_interactions() -> Finding:
    return proved("logistic_interactions")


@claim(
    "monotone-setting", "appendix B.2",
    r"$f(z) = \sigma(\beta_0 + \sum_j z_j(x'_j-x_j)\beta_j)$, gradient $h'(z)\beta$",
    "best",
)
def monotone_setting() -> Finding:
    return slip(11)


@claim(
    "monotone-swap", "appendix B.2",
    "What a swap of neighbours changes in AUC: the second sum runs to $r+1$",
    "best",
)
def monotone_swap() -> Finding:
    return slip(8)


@claim("monotone-maximiser", "appendix B.2", r"A maximiser of AUC has $\beta_{\pi(r+1)} \ge \beta_{\pi(r)}$", "best")
def monotone_maximiser() -> Finding:
    return slip(9)


@claim(
    "naive-bayes", "section 3; appendix B.2",
    "The Shapley order maximises AUC for naive Bayes",
    "best",
)
def naive_bayes() -> Finding:
    return slip(25)


@claim("monotone-ig-deletion", "appendix B.2", "The order of IG “optimizes the deletion AUC”", "best")
def monotone_ig_deletion() -> Finding:
    return proved("monotone_worst_order", "ig_order")


@claim(
    "monotone-ig", "sections 1 and 3; appendix B.2",
    "For differentiable increasing functions of an additive one IG computes the best order",
    "best",
)
def monotone_ig() -> Finding:
    return slip(16)


@claim(
    "completeness", "sections 4 and 5.1",
    "The attributions of IG and Kernel SHAP add up to $f(x') - f(x)$",
    "binary",
)
def completeness() -> Finding:
    return proved("ig_completeness", "shapley_paths")


@claim(
    "ig-definition", "section 4",
    r"$A_f(x,x') = \int_0^1 \nabla f(x+t(x'-x))\,dt$ are the integrated gradients",
    "binary",
)
def ig_definition() -> Finding:
    return slip(3)


@claim(
    "shapley-paths", "section 4",
    "Shapley values are the average over $n!$ paths that jump one feature at a time",
    "binary",
)
def shapley_paths() -> Finding:
    return proved("shapley_paths")


@claim(
    "interpolation", "section 4, option b",
    "The multilinear $g$ equals $f$ where the binary features are 0 or 1",
    "binary",
)
def interpolates(m: int = 3) -> Finding:
    """The multilinear g equals f at all 2ᵐ corners."""
    game = hybrids(m)
    g = interpolation(game)
    same = [zero(g(*(sp.Integer(j in u) for j in range(1, m + 1))) - game[u]) for u in game]
    return shown(f"$g = f$ at all {len(same)} corners, m = {m}", all(same), "interpolation")


@claim(
    "ig-multilinear", "section 4, option b",
    "IG of a multilinear plus an additive function are its Shapley values",
    "binary",
)
def ig_multilinear() -> Finding:
    return proved("ig_multilinear")


@claim(
    "ig-interpolated-shapley", "section 4, option b",
    "IG match Shapley values for functions like $g$, interpolated in the binary features",
    "binary",
)
def ig_interpolated_shapley() -> Finding:
    return slip(17)


@claim(
    "interpolation-cost", "section 4, option b",
    r"Evaluating $g$ costs $\Omega(2^m)$ for $m$ binary features",
    "binary",
)
def interpolation_cost() -> Finding:
    """Evaluations of IG on the interpolated function, for 4 to 10 binary features."""
    def cost(m: int) -> int:
        return spent("ig_interpolated", m + 1, binary=list(range(m)), steps=2)

    because = "Counted: interpolating doubles the evaluations with each binary feature."
    return grows({m: cost(m) for m in (4, 7, 10)}, True, because, "counted: ig_interpolated, 2 steps")


@claim(
    "jump-cost", "section 4, option c",
    "Averaging over the orders of the jumps has a cost exponential in $m$",
    "binary",
)
def jump_cost() -> Finding:
    """Evaluations of IG with jumps averaged over their orders, for 4 to 10 binary features."""
    points = {m: spent("ig_jump", m + 1, binary=list(range(m)), steps=2) for m in (6, 9, 12)}
    because = "Counted: the m! orders of the jumps share 2ᵐ corners, so the cost doubles with each binary feature."
    return grows(points, True, because, "counted: ig_jump, 2 steps")


@claim(
    "casting-fastest", "sections 1 and 4",
    "Casting the binary inputs to $[0,1]$ is preferable on grounds of speed",
    "binary",
)
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


@claim(
    "deeplift-one-step", "section 5.1",
    "DeepLIFT can be read as IG with a single step, with average slopes",
    "six-ways",
)
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


@claim(
    "input-gradient-zeros", "appendix A.3",
    "Replacing zeros of binary features by $-10^{-4}$ keeps Input × Gradient from degenerating",
    "six-ways",
)
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


@claim(
    "vanilla-scaling", "section 5.1",
    "Vanilla Grad depends on the scaling of the inputs: standard deviations here, $[0, 1]$ as another choice",
    "six-ways",
)
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


@claim(
    "adversarial", "section 2",
    "With a blurred reference a classification can depend on many pixels, with an adversarial one on few",
    "choose-reference",
)
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


@claim("ig-cost", "section 1", "IG's evaluations grow only linearly in the number of features", "spend")
def ig_linear() -> Finding:
    """IG's evaluations for 4, 8 and 16 features."""
    points = {n: spent("integrated_gradients", n, steps=50) for n in (4, 8, 16)}
    because = "Counted: with automatic differentiation the number of evaluations does not even grow with n."
    return grows(points, False, because, "counted: integrated_gradients, 50 steps")


CLAIMS = claims_in(__name__)
