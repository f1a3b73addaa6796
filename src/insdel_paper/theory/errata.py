"""The paper's slips that concern its theory: the printed version and the corrected one, both checked.

Numbers are those of the list of errata; 10 was withdrawn, and 20 became a part of 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import sympy as sp

from insdel.errors import UserError

from .additive_functions import additive_best_order
from .algebra import Game, Subset, abc, auc, from_dividends, hybrids, orders, subsets, weighted, zero
from .areas import alternating, anchored, insertion_weight, lemma_1, moebius, swapped, theorem_1
from .check import Check, Erratum, source
from .gradients import (
    ends,
    ig_completeness,
    ig_mixed,
    ig_multilinear,
    ig_order,
    ig_order_curved,
    integrated_gradients,
    scaled_step,
    step,
)
from .monotone import LINKS, composite, monotone_best_order, monotone_swap, numbers
from .naive_bayes import naive_bayes_three, naive_bayes_two
from .random_orders import expected_abc_sign
from .shapley_order import A

ERRATA: dict[int, Callable[[], Erratum]] = {}  # by number in the list of errata


def register(number: int) -> Callable[[Callable[[], Erratum]], Callable[[], Erratum]]:
    """Enter the function below in `ERRATA`."""

    def enter(function: Callable[[], Erratum]) -> Callable[[], Erratum]:
        ERRATA[number] = function
        return function

    return enter


def claim(where: str, statement: str, holds: Any, **details: Any) -> Check:
    """A check that belongs to an erratum only."""
    labelled = {label.replace("_", " "): value for label, value in details.items()}
    return Check("erratum", where, statement, bool(holds), labelled)


def reword(check: Check, statement: str) -> Check:
    """The same verdict and expressions under the words of the version that was checked."""
    return replace(check, statement=statement)


@register(3)
def erratum_3() -> Erratum:
    """IG lacks the factor x′ − x  [section 4]."""
    printed = reword(
        ig_completeness(factor=lambda start, end: sp.Integer(1)),
        r"The components of $\int_0^1\nabla f(x+t(x'-x))\,dt$ add up to $f(x')-f(x)$",
    )
    line = [sp.Integer(1), sp.Integer(2)]
    x, reference = [0, 0], [4, 1]
    with_factor, without = (
        integrated_gradients(lambda a, b: line[0] * a + line[1] * b, x, reference, factor)
        for factor in (step, lambda start, end: sp.Integer(1))
    )
    order = claim(
        "section 4",
        r"For $x_1+2x_2$ from $(0,0)$ to $(4,1)$ the missing factor reverses the order",
        with_factor[0] > with_factor[1] and without[0] < without[1],
        with_the_factor=with_factor,
        without=without,
    )
    return Erratum(3, "section 4", printed, ig_completeness(), remarks=(order,))


@register(4)
def erratum_4() -> Erratum:
    """The best order of an additive function, with the difference the wrong way round  [section 3.2]."""
    words = "Among the orders of an additive function, that of falling ${}$ has the largest AUC"
    printed = reword(additive_best_order(5, best=range(5, 0, -1)), words.format("f_j(x_j)-f_j(x'_j)"))
    corrected = reword(additive_best_order(5), words.format("f_j(x'_j)-f_j(x_j)"))
    return Erratum(4, "section 3.2", printed, corrected)


@register(5)
def erratum_5() -> Erratum:
    """The sign of |u| − 1  [section 3.3]."""
    members = 2 + sp.Symbol("m", integer=True, nonnegative=True)
    where = "section 3.3"
    printed = claim(where, r"$|u|-1<0$ for $|u|=2+m$", (members - 1).is_negative, difference=members - 1)
    corrected = claim(where, r"$1-|u|<0$ for $|u|=2+m$", (1 - members).is_negative, difference=1 - members)
    return Erratum(5, where, printed, corrected, remarks=(expected_abc_sign(), either_sign()))


def either_sign() -> Check:
    """In the ABC of one order an interaction can have its own sign: the opposite one is that of the mean."""
    share = abc(from_dividends({frozenset({1, 2}): sp.Symbol("Δ", positive=True)}, 5), range(1, 6))
    words = r"An interaction $\Delta>0$ can raise the ABC of one order, here $u=\{1,2\}$ in front, $n=5$"
    return claim("section 3.3", words, share.is_positive, ABC=share)


@register(6)
def erratum_6() -> Erratum:
    """A Δ₁ that should be Δ₃, and the constant 4Δ_∅  [section 3.4]."""
    where = "section 3.4"
    first, second, third, empty = sp.symbols("Δ_1 Δ_2 Δ_3 Δ_∅", real=True)
    parts = {(): empty, (1,): first, (2,): second, (3,): third, (1, 2): A}
    game = from_dividends({frozenset(u): d for u, d in parts.items()}, 3)
    area = auc(game, (1, 2, 3)).subs(empty, 0)
    head, values = r"$\mathrm{AUC}((1,2,3)) = 3\Delta_1+2\Delta_2+", {first: 3, second: 2, third: 1}
    wrong, right = (3 * first + 2 * second + last + 2 * A for last in (first, third))
    printed = claim(where, head + r"\Delta_1+2A$", zero(area - wrong), AUC=area, its_value=wrong.subs(values))
    corrected = claim(where, head + r"\Delta_3+2A$", zero(area - right), AUC=area, its_value=right.subs(values))
    whole = [auc(game, order).subs(values) for order in ((1, 2, 3), (1, 3, 2))]
    constant = claim(
        where,
        r"The term $4\Delta_\emptyset$ left out is the same in both orders and is 0 in the example, where "
        r"all other $\Delta_u$, hence also $\Delta_\emptyset$, are 0: leaving it out changes nothing",
        zero(whole[0] - 14 - 2 * A - 4 * empty) and zero(whole[1] - 13 - A - 4 * empty),
        AUCs=whole,
    )
    return Erratum(6, where, printed, corrected, remarks=(constant,))


def complement(n: int, u: Subset) -> Subset:
    """−u, where the vector 0_u : 1_{−u} is 1."""
    return frozenset(range(1, n + 1)) - u


def way_back() -> Check:
    """Mixing the two conventions anchors g at x′: the sum is then the AUC of the way back."""
    game = hybrids(4)
    forward, back = auc(game, range(1, 5)), auc(swapped(game), range(1, 5))
    total = weighted(swapped(game), insertion_weight)
    return claim(
        "appendix B",
        r"With $e_u$ from one place and $g(e_u)$ from the other, $\sum_u g_u(\mathbf 1)(n-\lceil u\rceil+1)$ is "
        r"the AUC from $x'$ to $x$ in the same order, which is another number",
        zero(total - back) and not zero(total - forward),
        the_sum=sp.expand(total),
        AUC=forward,
    )


def merged(u: Subset, inside: Any, outside: Any) -> tuple[Any, ...]:
    """The vector with three components that has one value on u and another off it."""
    return tuple(inside if j in u else outside for j in (1, 2, 3))


def same_function() -> Check:
    """Whether the two conventions, each for itself, send each z to the same hybrid."""
    first = {merged(u, 0, 1): merged(u, "x", "x′") for u in subsets(3)}
    second = {merged(u, 1, 0): merged(u, "x′", "x") for u in subsets(3)}
    words = "Each of the two conventions, kept throughout, defines the same function $g$"
    return claim("appendix B", words, first == second)


def points_of_the_proof() -> Check:
    """The points that the proof of theorem 1 names, put into the definition of AUC."""
    game = hybrids(3)
    named = [game[complement(3, frozenset(range(1, j + 1)))] for j in range(4)]
    words = r"$\mathrm{AUC} = \sum_j f(x_{1:j}{:}x'_{-(1:j)})$, the points named in the proof of theorem 1"
    area = auc(game, (1, 2, 3))
    return claim("appendix B", words, zero(area - sp.Add(*named)), AUC=area, sum_over_these_points=sp.Add(*named))


@register(7)
def erratum_7() -> Erratum:
    """Two conventions for e_u and g  [appendix B]."""
    where = "appendix B"
    words = r"Lemma 1, $g_u(e_w) = g_u(\mathbf 1)1_{{u\subseteq w}}$, with $e_w = {}$"
    printed = reword(lemma_1(3, unit=complement), words.format(r"\mathbf 0_w{:}\mathbf 1_{-w}"))
    corrected = reword(lemma_1(3), words.format(r"\mathbf 1_w{:}\mathbf 0_{-w}"))
    return Erratum(7, where, printed, corrected, remarks=(same_function(), way_back(), points_of_the_proof()))


@register(8)
def erratum_8() -> Erratum:
    """How far the second sum runs  [appendix B.2]."""
    words = r"The swap changes AUC by $h(\cdot) - h(\beta_0+\sum_{{\ell=1}}^{{{}}}\beta_{{\pi(\ell)}})$"
    printed = reword(monotone_swap(4, last=lambda r: r + 1), words.format("r+1"))
    return Erratum(8, "appendix B.2", printed, reword(monotone_swap(4), words.format("r")))


def rising_maximizer() -> Check:
    """Whether the best order of an exact example has rising γ, as printed."""
    best = {}
    for name in LINKS:
        game = composite(LINKS[name], numbers(name))
        best[name] = max(orders(3), key=lambda order, game=game: auc(game, order))  # type: ignore[misc]
    along = {name: [numbers(name)[j] for j in order] for name, order in best.items()}
    return Check(
        "erratum",
        "appendix B.2",
        r"A maximizer $\pi$ of AUC has $\beta_{\pi(r+1)}\ge\beta_{\pi(r)}$ for all $r$",
        all(left <= right for row in along.values() for left, right in pairwise(row)),
        {f"along the best order, {name}": row for name, row in along.items()},
    )


@register(9)
def erratum_9() -> Erratum:
    """Which way a maximizer is sorted  [appendix B.2]."""
    return Erratum(9, "appendix B.2", rising_maximizer(), monotone_best_order(5))


def setting(constant: Callable[..., Any], coefficient: Callable[..., Any], statement: str) -> Check:
    """Constant and coefficients of β_0 + x̃ᵀβ at the hybrid z, as functions of β, x, x′."""
    x, reference = ends(3)
    beta = [sp.Symbol(f"β_{j}", real=True) for j in range(4)]
    z = sp.symbols("z_1:4", real=True)
    slopes = [coefficient(*terms) for terms in zip(beta[1:], x, reference, strict=True)]
    hybrid = [a + s * (b - a) for a, b, s in zip(x, reference, z, strict=True)]
    true = beta[0] + sp.Add(*(b * v for b, v in zip(beta[1:], hybrid, strict=True)))
    claimed = constant(beta, x) + sp.Add(*(c * s for c, s in zip(slopes, z, strict=True)))
    missing = sp.expand(true - claimed)
    holds = missing == 0 and ig_order(3, coefficient).holds
    return claim("appendix B.2", statement, holds, claimed=claimed, missing=missing)


def beta_misleads() -> Check:
    """An exact case in which the order of β is not the best one, and that of γ is."""
    gamma = [sp.Integer(0), sp.log(2), -sp.log(3)]  # β = (log 2, log 3), x′ − x = (1, −1)
    game = composite(LINKS["logistic"], gamma)
    by_gamma, by_beta = auc(game, (1, 2)), auc(game, (2, 1))
    statement = r"With $\beta=(\log2,\log3)$ and $x'-x=(1,-1)$ the order of $\gamma$ beats that of $\beta$"
    return claim("appendix B.2", statement, by_gamma > by_beta, by_γ=by_gamma, by_β=by_beta)


@register(11)
def erratum_11() -> Erratum:
    """γ, not β, is to be sorted, and the constant holds xᵀβ  [appendix B.2]."""
    printed = setting(
        lambda beta, x: beta[0],
        lambda b, start, end: b,
        r"$a(z) = \beta_0+\sum_jz_j\beta_j$, with gradient $h'\beta$",
    )
    half = setting(
        lambda beta, x: beta[0],
        scaled_step,
        r"$a(z) = \beta_0+\sum_jz_j(x'_j-x_j)\beta_j$, without $x^\top\beta$",
    )
    corrected = setting(
        lambda beta, x: beta[0] + sp.Add(*(b * v for b, v in zip(beta[1:], x, strict=True))),
        scaled_step,
        r"$a(z) = \beta_0+x^\top\beta+\sum_jz_j\gamma_j$ with $\gamma_j=(x'_j-x_j)\beta_j$, gradient $h'\gamma$",
    )
    return Erratum(11, "appendix B.2", printed, corrected, remarks=(half, beta_misleads()))


@register(13)
def erratum_13() -> Erratum:
    """Subsets of 1:d that should be subsets of 1:n  [section 3.3]."""
    words = r"$\mathrm{{AUC}} = \sum_u(n-\lceil u\rceil+1)\Delta_u$ over all $u\subseteq1{{:}}{}$, $n=4$"
    shorter = theorem_1(4, weight=lambda n, u: insertion_weight(n, u) if n not in u else 0)
    printed = reword(shorter, words.format("d") + r" with a $d$ other than $n$, here $d=3$")
    return Erratum(13, "section 3.3", printed, reword(theorem_1(4), words.format("n")))


@register(16)
def erratum_16() -> Erratum:
    """IG and increasing functions of an additive one: the additive part must not be curved  [section 3]."""
    example = ig_order_curved()
    statement = "For increasing functions of differentiable additive functions IG compute the best order"
    printed = claim("section 3", statement, not example.holds)
    linear = ig_order(3)
    cube = reword(linear, "The same for functions additive on the cube of hybrids, continued linearly inside it")
    return Erratum(16, "section 3, appendix B.2", printed, linear, reading=cube, remarks=(example,))


@register(17)
def erratum_17() -> Erratum:
    """IG = Shapley needs every feature to be interpolated  [section 4]."""
    example = ig_mixed()
    statement = "IG equal Shapley values for the function $g$ that interpolates the binary features only"
    printed = claim("section 4", statement, not example.holds)
    return Erratum(17, "section 4", printed, ig_multilinear(3), remarks=(example,))


def nested(game: Game, ones: Subset, u: Subset) -> Any:
    """Σ_{v ⊆ u} (−1)^{|u−v|} g_v(z_v : 0_{−v}), with g_v where g is meant."""
    return sp.Add(*((-1) ** len(u - v) * anchored(game, v & ones)[v] for v in subsets(u)))


@register(18)
def erratum_18() -> Erratum:
    """The inclusion-exclusion formula holds for g, not for its parts g_v  [appendix B]."""
    words = r"$g_u(z) = \sum_{{v\subseteq u}}(-1)^{{|u-v|}}{}(z_v{{:}}\mathbf 0_{{-v}})$"
    printed = reword(moebius(3, formula=nested), words.format("g_v"))
    return Erratum(18, "appendix B", printed, reword(moebius(3, formula=alternating), words.format("g")))


@register(19)
def erratum_19() -> Erratum:
    """The words “all ones” and “all zeros” have changed places  [appendix B]."""
    game = hybrids(4)
    holds = zero(auc(game, range(1, 5)) - weighted(swapped(game), insertion_weight))
    statement = r"Theorem 1 with $\mathbf 0$ for the vector of ones and $\mathbf 1$ for that of zeros, $n=4$"
    return Erratum(19, "appendix B", claim("appendix B", statement, holds), theorem_1(4))


@register(25)
def erratum_25() -> Erratum:
    """Naive Bayes: joint density and two classes, not the posterior of one class among three  [section 3]."""
    where, example = "section 3, appendix B.2", naive_bayes_three()
    printed = claim(where, "Shapley's order is the best for every posterior of naive Bayes", not example.holds)
    reading = reword(naive_bayes_two(), r"Read as the joint density, which $h = \exp$ suggests, it holds")
    return Erratum(25, where, printed, naive_bayes_two(), reading=reading, remarks=(example,))


def erratum(number: int) -> Erratum:
    """Check one slip of the paper's theory."""
    if number not in ERRATA:
        raise UserError(
            f"erratum {number!r} is not one about theory; those are {sorted(ERRATA)}. "
            f"The others concern data and experiments and are checked where these are run."
        )
    return replace(ERRATA[number](), code=source(ERRATA[number]))
