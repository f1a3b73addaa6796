"""The paper's slips that concern its theory: the printed version and the corrected one, both checked.

Numbers are those of the list of errata; 10 was withdrawn, and 20 became a part of 5. `errata.yml` has the words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import sympy as sp
import yaml

from insdel.errors import UserError

from . import algebra, areas, gradients, monotone, random_orders, shapley_order
from .algebra import Game, Subset
from .check import Check, Erratum, source

Version = Check | tuple[Any, dict[str, Any]]  # a check, or what only an erratum asks: whether it holds, expressions
WORDS: dict[int, dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
ERRATA: dict[int, Callable[[], Erratum]] = {}  # by number in the list of errata


def register(number: int, where: str) -> Callable[[Callable[[], dict[str, Any]]], Callable[[], Erratum]]:
    """Enter the function below in `ERRATA`; it returns the versions of the slip at `where` in the paper."""

    def version(found: Version, words: str | None) -> Check:
        if isinstance(found, Check):
            return replace(found, statement=words or found.statement)
        return Check("erratum", where, str(words), bool(found[0]), found[1])

    def enter(function: Callable[[], dict[str, Any]]) -> Callable[[], Erratum]:
        def check() -> Erratum:
            words, found = WORDS[number], function()
            remarks = zip_longest(found.pop("remarks", ()), words.get("remarks", ()))
            versions = {name: version(one, words.get(name)) for name, one in found.items()}
            said = tuple(version(one, text) for one, text in remarks)
            return Erratum(number, where, **versions, remarks=said, code=source(function))

        ERRATA[number] = check
        return check

    return enter


def erratum(number: int) -> Erratum:
    """Check one slip of the paper's theory."""
    if number not in ERRATA:
        raise UserError(
            f"erratum {number!r} is not one about theory; those are {sorted(ERRATA)}. "
            f"The others concern data and experiments and are checked where these are run."
        )
    return ERRATA[number]()


@register(3, "section 4")
def erratum_3() -> dict[str, Any]:
    """IG lacks the factor x′ − x  [section 4]."""
    f, x, reference = lambda a, b: a + 2 * b, [0, 0], [4, 1]
    one = lambda start, end: sp.Integer(1)  # noqa: E731  in place of the factor
    with_factor, without = (gradients.integrated_gradients(f, x, reference, factor) for factor in (gradients.step, one))
    reversed_order = with_factor[0] > with_factor[1] and without[0] < without[1]
    return {
        "printed": gradients.ig_completeness(factor=one),
        "corrected": gradients.ig_completeness(),
        "remarks": [(reversed_order, {"with the factor": with_factor, "without": without})],
    }


@register(4, "section 3.2")
def erratum_4() -> dict[str, Any]:
    """The best order of an additive function, with the difference the wrong way round  [section 3.2]."""
    return {
        "printed": areas.additive_best_order(5, best=range(5, 0, -1)),
        "corrected": areas.additive_best_order(5),
    }


@register(5, "section 3.3")
def erratum_5() -> dict[str, Any]:
    """The sign of |u| − 1  [section 3.3]; in the ABC of one order an interaction can have its own sign."""
    members = 2 + sp.Symbol("m", integer=True, nonnegative=True)
    game = algebra.from_dividends({frozenset({1, 2}): sp.Symbol("Δ", positive=True)}, 5)
    share = algebra.abc(game, range(1, 6))
    return {
        "printed": ((members - 1).is_negative, {"difference": members - 1}),
        "corrected": ((1 - members).is_negative, {"difference": 1 - members}),
        "remarks": [random_orders.expected_abc_sign(), (share.is_positive, {"ABC": share})],
    }


@register(6, "section 3.4")
def erratum_6() -> dict[str, Any]:
    """A Δ₁ that should be Δ₃, and the constant 4Δ_∅  [section 3.4]."""
    first, second, third, empty = sp.symbols("Δ_1 Δ_2 Δ_3 Δ_∅", real=True)
    A, values = shapley_order.A, {first: 3, second: 2, third: 1}
    parts = {(): empty, (1,): first, (2,): second, (3,): third, (1, 2): A}
    game = algebra.from_dividends({frozenset(u): d for u, d in parts.items()}, 3)
    area = algebra.auc(game, (1, 2, 3)).subs(empty, 0)
    totals = [3 * first + 2 * second + last + 2 * A for last in (first, third)]
    printed, corrected = (
        (algebra.zero(area - total), {"AUC": area, "its value": total.subs(values)}) for total in totals
    )
    whole = [algebra.auc(game, order).subs(values) for order in ((1, 2, 3), (1, 3, 2))]
    same = algebra.zero(whole[0] - 14 - 2 * A - 4 * empty) and algebra.zero(whole[1] - 13 - A - 4 * empty)
    return {"printed": printed, "corrected": corrected, "remarks": [(same, {"AUCs": whole})]}


@register(7, "appendix B")
def erratum_7() -> dict[str, Any]:
    """Two conventions for e_u and g, which the proof mixes: g is then anchored at x′  [appendix B]."""
    game, small = algebra.hybrids(4), algebra.hybrids(3)

    def merged(u: Subset, inside: Any, outside: Any) -> tuple[Any, ...]:
        """The vector with three components that has one value on u and another off it."""
        return tuple(inside if j in u else outside for j in (1, 2, 3))

    first = {merged(u, 0, 1): merged(u, "x", "x′") for u in small}
    second = {merged(u, 1, 0): merged(u, "x′", "x") for u in small}
    forward, back = algebra.auc(game, range(1, 5)), algebra.auc(areas.swapped(game), range(1, 5))
    total = algebra.weighted(areas.swapped(game), areas.insertion_weight)
    way_back = algebra.zero(total - back) and not algebra.zero(total - forward)
    area = algebra.auc(small, (1, 2, 3))
    named = sp.Add(*(small[algebra.complement(3, frozenset(range(1, j + 1)))] for j in range(4)))
    return {
        "printed": areas.lemma_1(3, unit=algebra.complement),
        "corrected": areas.lemma_1(3),
        "remarks": [
            (first == second, {}),
            (way_back, {"the sum": sp.expand(total), "AUC": forward}),
            (algebra.zero(area - named), {"AUC": area, "sum over these points": named}),
        ],
    }


@register(8, "appendix B.2")
def erratum_8() -> dict[str, Any]:
    """How far the second sum runs  [appendix B.2]."""
    return {"printed": monotone.monotone_swap(4, last=lambda r: r + 1), "corrected": monotone.monotone_swap(4)}


@register(9, "appendix B.2")
def erratum_9() -> dict[str, Any]:
    """Which way a maximizer is sorted: in exact examples γ falls along the best order  [appendix B.2]."""
    along = {}
    for name, link in monotone.LINKS.items():
        gamma = monotone.numbers(name)
        game = monotone.composite(link, gamma)
        best = max(algebra.orders(3), key=lambda order, game=game: algebra.auc(game, order))  # type: ignore[misc]
        along[f"along the best order, {name}"] = [gamma[j] for j in best]
    rises = all(left <= right for row in along.values() for left, right in pairwise(row))
    return {"printed": (rises, along), "corrected": monotone.monotone_best_order(5)}


def setting(constant: Callable[..., Any], coefficient: Callable[..., Any]) -> Version:
    """Constant and coefficients of β_0 + x̃ᵀβ at the hybrid z, as functions of β, x, x′."""
    x, reference = gradients.ends(3)
    beta = [sp.Symbol(f"β_{j}", real=True) for j in range(4)]
    z = sp.symbols("z_1:4", real=True)
    hybrid = [a + s * (b - a) for a, b, s in zip(x, reference, z, strict=True)]
    true = beta[0] + sp.Add(*(b * v for b, v in zip(beta[1:], hybrid, strict=True)))
    slopes = [coefficient(*terms) for terms in zip(beta[1:], x, reference, strict=True)]
    claimed = constant(beta, x) + sp.Add(*(c * s for c, s in zip(slopes, z, strict=True)))
    missing = sp.expand(true - claimed)
    holds = missing == 0 and gradients.ig_order(3, coefficient).holds
    return holds, {"claimed": claimed, "missing": missing}


@register(11, "appendix B.2")
def erratum_11() -> dict[str, Any]:
    """γ, not β, is to be sorted, and the constant holds xᵀβ  [appendix B.2]."""
    game = monotone.composite(monotone.logistic, [sp.Integer(0), sp.log(2), -sp.log(3)])
    by_gamma, by_beta = algebra.auc(game, (1, 2)), algebra.auc(game, (2, 1))
    whole = lambda beta, x: beta[0] + sp.Add(*(b * v for b, v in zip(beta[1:], x, strict=True)))  # noqa: E731
    return {
        "printed": setting(lambda beta, x: beta[0], lambda b, start, end: b),
        "corrected": setting(whole, gradients.scaled_step),
        "remarks": [
            setting(lambda beta, x: beta[0], gradients.scaled_step),
            (by_gamma > by_beta, {"by γ": by_gamma, "by β": by_beta}),
        ],
    }


@register(13, "section 3.3")
def erratum_13() -> dict[str, Any]:
    """Subsets of 1:d that should be subsets of 1:n  [section 3.3]."""
    without_n = areas.theorem_1(4, weight=lambda n, u: areas.insertion_weight(n, u) if n not in u else 0)
    return {"printed": without_n, "corrected": areas.theorem_1(4)}


@register(16, "section 3, appendix B.2")
def erratum_16() -> dict[str, Any]:
    """IG and increasing functions of an additive one: the additive part must not be curved  [section 3]."""
    example, linear = gradients.ig_order_curved(), gradients.ig_order(3)
    return {"printed": (not example, {}), "corrected": linear, "reading": linear, "remarks": [example]}


@register(17, "section 4")
def erratum_17() -> dict[str, Any]:
    """IG = Shapley needs every feature to be interpolated  [section 4]."""
    example = gradients.ig_mixed()
    return {"printed": (not example, {}), "corrected": gradients.ig_multilinear(3), "remarks": [example]}


@register(18, "appendix B")
def erratum_18() -> dict[str, Any]:
    """The inclusion-exclusion formula holds for g, not for its parts g_v  [appendix B]."""

    def nested(game: Game, ones: Subset, u: Subset) -> Any:
        """The formula with g_v where g is meant."""
        parts = {v: areas.anchored(game, v & ones)[v] for v in algebra.subsets(u)}
        return sp.Add(*((-1) ** len(u - v) * part for v, part in parts.items()))

    return {"printed": areas.moebius(3, formula=nested), "corrected": areas.moebius(3)}


@register(19, "appendix B")
def erratum_19() -> dict[str, Any]:
    """The words “all ones” and “all zeros” have changed places  [appendix B]."""
    game = algebra.hybrids(4)
    total = algebra.weighted(areas.swapped(game), areas.insertion_weight)
    same = algebra.zero(algebra.auc(game, range(1, 5)) - total)
    return {"printed": (same, {}), "corrected": areas.theorem_1(4)}


@register(25, "section 3, appendix B.2")
def erratum_25() -> dict[str, Any]:
    """Naive Bayes: joint density and two classes, not the posterior of one class among three  [section 3]."""
    example, two = monotone.naive_bayes_three(), monotone.naive_bayes_two()
    return {"printed": (not example, {}), "corrected": two, "reading": two, "remarks": [example]}
