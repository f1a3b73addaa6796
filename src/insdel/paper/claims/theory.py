"""Sections 3 and 4 and appendix B: statements that are proved, or refuted, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import sympy as sp
import torch

from insdel.attribution import explain
from insdel.paper.claims.verdict import HOLDS, NOT, PART, Claim, Figure, Finding
from insdel.paper.studies.cost import Counter
from insdel.paper.theory import CHECKS, LINKS, Check, erratum
from insdel.paper.theory.additive_functions import additive_game
from insdel.paper.theory.algebra import (
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
from insdel.paper.theory.gradients import interpolation

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
    found = slip_of(number)
    verdict = HOLDS if found.printed else PART if found.corrected or found.reading else NOT
    saved = "Read otherwise" if found.reading else "Corrected"
    version = found.reading or found.corrected
    because = f"Not as printed ({{ref}}`erratum {number} <erratum-{number}>`). {saved}: {version.statement}."
    return Finding(verdict, because, (), (f"symbolic: erratum {number}",))


def shown(statement: str, holds: bool, name: str) -> Finding:
    """Finding from a check that is written here."""
    return settled([Check(name, "", statement, bool(holds))])


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


def late(n: int = 5) -> Finding:
    """Δ_u is in the last n + 1 − ⌈u⌉ points of the curve, in full, and in no other."""
    good = []
    for u in subsets(n):
        walk = curve(from_dividends({u: sp.Integer(1)}, n), range(1, n + 1))
        good.append(walk == [0] * max(u, default=0) + [1] * (n + 1 - max(u, default=0)))
    words = r"with one $\Delta_u = 1$ the curve is 0 up to step $\lceil u\rceil$ and 1 from there on"
    words += f", for every $u$, $n = {n}$"
    return shown(words, all(good), "late")


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


def interpolates(m: int = 3) -> Finding:
    """The multilinear g equals f at all 2ᵐ corners."""
    game = hybrids(m)
    g = interpolation(game)
    same = [zero(g(*(sp.Integer(j in u) for j in range(1, m + 1))) - game[u]) for u in game]
    return shown(f"$g = f$ at all {len(same)} corners, m = {m}", all(same), "interpolation")


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


def ig_linear() -> Finding:
    """IG's evaluations for 4, 8 and 16 features."""
    points = {n: spent("integrated_gradients", n, steps=50) for n in (4, 8, 16)}
    because = "Counted: with automatic differentiation the number of evaluations does not even grow with n."
    return grows(points, False, because, "counted: integrated_gradients, 50 steps")


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


def monotone() -> Finding:
    """The Shapley order is the best for each increasing function of an additive one."""
    names = ["monotone_best_order", "monotone_shapley_order"]
    return proved(*names, *(f"increasing({link})" for link in LINKS), *(f"monotone_example({link})" for link in LINKS))


Row = tuple[str, str, str, str, Callable[[], Finding]]
ROWS: list[Row] = [
    ("theorem-1", "section 3.3; theorem 1", r"$\mathrm{AUC} = \sum_u (n - \lceil u\rceil + 1)\,\Delta_u$ for every $f$",
     "split", partial(proved, "theorem_1")),
    ("lemma-1", "appendix B, lemma 1", r"$g_u(e_w) = g_u(\mathbf 1)\,1_{u\subseteq w}$", "split",
     partial(proved, "lemma_1")),
    ("anchored-dividends", "appendix B", r"The anchored parts at $\mathbf 1$ are the Harsanyi dividends $\Delta_u$",
     "split", partial(proved, "moebius")),
    ("anchored-formula", "appendix B", "Inclusion–exclusion formula of the anchored parts, as printed before lemma 1",
     "split", partial(slip, 18)),
    ("anchored-conventions", "appendix B", "The vectors $e_u$ and the function $g$ as defined before lemma 1", "split",
     partial(slip, 7)),
    ("anchored-zeros-ones", "appendix B",
     r"“$\mathbf 0, \mathbf 1$ for vectors of all ones and all zeros, respectively”",
     "split", partial(slip, 19)),
    ("interaction-subsets", "section 3.3", r"The differences $\Delta_u$ are defined for $u\subseteq 1{:}d$", "split",
     partial(slip, 13)),
    ("interaction-late", "section 3",
     r"$\Delta_u$ is present only in the final $n + 1 - \lceil u\rceil$ points of the curve",
     "split", late),
    ("deletion-auc", "appendix B.1", r"$\mathrm{AUC}' = \sum_u \lfloor u\rfloor\,\Delta_u$", "split",
     partial(proved, "theorem_1_deletion")),
    ("deletion-abc", "appendix B.1", r"$\mathrm{ABC}' = \sum_{u\ne\emptyset}(\frac{n+1}2 - \lfloor u\rfloor)\Delta_u$",
     "split", partial(proved, "abc_of_deletion")),
    ("abc-sum", "appendix B.1",
     r"$\mathrm{ABC}+\mathrm{ABC}' = \sum_{u\ne\emptyset}(n-\lceil u\rceil-\lfloor u\rfloor+1)\Delta_u$", "split",
     partial(proved, "abc_sum")),
    ("aul", "section 3.3", r"$\mathrm{AUL} = (n+1)\Delta_\emptyset + \frac{n+1}2\sum_{u\ne\emptyset}\Delta_u$", "split",
     partial(proved, "aul_decomposition")),
    ("trapezoids", "section 3.1", "The trapezoidal area differs from AUC by a constant that no order changes", "walk",
     partial(proved, "trapezoid")),
    ("ends-omitted", "section 3.1", "Either end of the sum can be left out without changing differences between orders",
     "walk", omitted_ends),
    ("abc-auc-constant", "section 3.1", "AUC − ABC does not depend on the order", "walk", same_constant),
    ("direction", "section 3.1",
     "AUC and ABC from $x$ to $x'$ are those from $x'$ to $x$ (with the ranking turned round), in both tests", "walk",
     partial(proved, "direction_symmetry")),
    ("additive-areas", "section 3.2, eq. 3 and 4", "AUC and ABC of an additive function in closed form", "walk",
     partial(proved, "additive")),
    ("additive-best", "section 3.2", "The best order of an additive function is that of falling $f_j(x_j) - f_j(x'_j)$",
     "walk", partial(slip, 4)),
    ("additive-both-tests", "section 3.2", "Insertion and deletion give an additive function the same ABC", "walk",
     partial(proved, "additive_deletion")),
    ("additive-shapley", "section 3.2",
     "For an additive function the Shapley value is proportional to the change, so its order is the best", "best",
     partial(proved, "additive_shapley", "additive_best_order")),
    ("additive-mean", "section 3.3", r"$E(\mathrm{ABC}) = 0$ for an additive function and a random order", "shuffle",
     additive_mean),
    ("proposition-1", "section 3.3, proposition 1", r"$E\lceil\pi(u)\rceil = |u|(n+1)/(|u|+1)$", "shuffle",
     partial(proved, *(f"proposition_1({size})" for size in range(7)))),
    ("proposition-1-proof", "section 3.3, proof",
     "The steps of the proof: probability of the largest place, hockey stick",
     "shuffle", partial(proved, "ceiling_probability", *(f"hockey_stick({size})" for size in range(7)))),
    ("expected-auc", "section 3.3", r"$E(\mathrm{AUC}) = \sum_u(n - E\lceil\pi(u)\rceil + 1)\Delta_u$", "shuffle",
     partial(proved, "expected_auc")),
    ("expected-abc", "section 3.3", r"$E(\mathrm{ABC}) = \frac{n+1}2\sum_{u\ne\emptyset}\frac{1-|u|}{|u|+1}\Delta_u$",
     "shuffle", partial(proved, "expected_abc")),
    ("interactions-late-on-average", "section 3.3", r"$E\lceil u\rceil > (n+1)/2$ for $|u| > 1$, and $=$ for $|u| = 1$",
     "shuffle", late_on_average),
    ("expected-abc-reason", "section 3.3",
     r"An interaction has the opposite sign in $E(\mathrm{ABC})$, “because $|u|-1<0$”",
     "shuffle", partial(slip, 5)),
    ("abc-sign", "section 3.3", "The contribution to ABC from an interaction has the opposite sign of that interaction",
     "shuffle", partial(slip, 20)),
    ("mirror", "appendix B.1", r"$\Pr(\lfloor\pi(u)\rfloor = \ell) = \Pr(\lceil\pi(u)\rceil = n-\ell+1)$", "shuffle",
     partial(proved, "mirror")),
    ("both-tests-mean", "abstract; appendix B.1", r"$E(\mathrm{ABC}+\mathrm{ABC}') = 0$, interactions or not",
     "shuffle",
     partial(proved, "expected_abc_sum")),
    ("shapley-dividends", "section 3.4", r"The Shapley value shares each $\Delta_u$ equally among its members",
     "not-best",
     partial(proved, "shapley_dividends")),
    ("shapley-not-best", "abstract; section 3.4",
     r"Sorting by Shapley value need not maximise AUC: $n = 3$, $\Delta = (3, 2, 1)$, $\Delta_{12} = A$, $-2<A<-1$",
     "not-best", partial(proved, "counterexample")),
    ("shapley-not-best-sums", "section 3.4", r"$\mathrm{AUC}((1,2,3)) = 3\Delta_1+2\Delta_2+\Delta_1+2A = 14+2A$",
     "not-best", partial(slip, 6)),
    ("two-features", "section 3.4", "There is no such counterexample for $n = 2$", "not-best",
     partial(proved, "no_counterexample_for_two")),
    ("monotone", "abstract; appendix B.2",
     "For increasing functions of an additive one (logistic, exponential, leaky ReLU) the Shapley order maximises AUC",
     "best", monotone),
    ("logistic-interactions", "section 3",
     "Logistic regression has interactions of all orders on the probability scale",
     "best", partial(proved, "logistic_interactions")),
    ("monotone-setting", "appendix B.2",
     r"$f(z) = \sigma(\beta_0 + \sum_j z_j(x'_j-x_j)\beta_j)$, gradient $h'(z)\beta$",
     "best", partial(slip, 11)),
    ("monotone-swap", "appendix B.2", "What a swap of neighbours changes in AUC: the second sum runs to $r+1$", "best",
     partial(slip, 8)),
    ("monotone-maximiser", "appendix B.2", r"A maximiser of AUC has $\beta_{\pi(r+1)} \ge \beta_{\pi(r)}$", "best",
     partial(slip, 9)),
    ("monotone-ig-deletion", "appendix B.2", "The order of IG “optimizes the deletion AUC”", "best", partial(slip, 10)),
    ("monotone-ig", "sections 1 and 3; appendix B.2",
     "For differentiable increasing functions of an additive one IG computes the best order", "best",
     partial(slip, 16)),
    ("completeness", "sections 4 and 5.1", "The attributions of IG and Kernel SHAP add up to $f(x') - f(x)$", "binary",
     partial(proved, "ig_completeness", "shapley_paths")),
    ("ig-definition", "section 4", r"$A_f(x,x') = \int_0^1 \nabla f(x+t(x'-x))\,dt$ are the integrated gradients",
     "binary", partial(slip, 3)),
    ("shapley-paths", "section 4", "Shapley values are the average over $n!$ paths that jump one feature at a time",
     "binary", partial(proved, "shapley_paths")),
    ("interpolation", "section 4, option b", "The multilinear $g$ equals $f$ where the binary features are 0 or 1",
     "binary", interpolates),
    ("ig-multilinear", "section 4, option b", "IG of a multilinear plus an additive function are its Shapley values",
     "binary", partial(proved, "ig_multilinear")),
    ("ig-interpolated-shapley", "section 4, option b",
     "IG match Shapley values for functions like $g$, interpolated in the binary features",
     "binary", partial(slip, 17)),
    ("interpolation-cost", "section 4, option b", r"Evaluating $g$ costs $\Omega(2^m)$ for $m$ binary features",
     "binary",
     interpolation_cost),
    ("jump-cost", "section 4, option c", "Averaging over the orders of the jumps has a cost exponential in $m$",
     "binary",
     jump_cost),
    ("casting-fastest", "sections 1 and 4", "Casting the binary inputs to $[0,1]$ is preferable on grounds of speed",
     "binary", casting_fastest),
    ("ig-cost", "section 1", "IG's evaluations grow only linearly in the number of features", "spend", ig_linear),
]  # fmt: skip

CLAIMS = [Claim(*row) for row in ROWS]
