"""Every statement of the theory holds, and every statement bent a little does not."""

from __future__ import annotations

import inspect
from fractions import Fraction
from functools import cache
from itertools import permutations

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from insdel_paper import theory
from insdel_paper.theory import algebra, monotone, parity, trees


@pytest.fixture(scope="module")
def checks() -> dict[str, theory.Check]:
    return {name: check() for name, check in theory.CHECKS.items()}


@pytest.fixture(scope="module")
def errata() -> dict[int, theory.Erratum]:
    return {number: theory.erratum(number) for number in theory.ERRATA}


@pytest.mark.parametrize("name", theory.CHECKS)
def test_every_statement_holds_in_exact_arithmetic_and_unfolds_to_its_code(
    checks: dict[str, theory.Check], name: str
) -> None:
    check = checks[name]
    assert check.holds is True, str(check)
    assert name.split("(")[0] == check.name
    assert check.where and check.statement and check.details
    for value in check.details.values():
        expressions = value if isinstance(value, list | tuple) else [value]
        assert not any(sp.sympify(expression).has(sp.Float) for expression in expressions)
    text, code = check._repr_markdown_().split('<details class="check-code">')
    assert text.strip() == check.markdown() and text.count("$") % 2 == 0
    assert "```python\n# insdel_paper.theory." in code and f"\ndef {check.name}(" in code
    assert "@statement" not in code and code.endswith("```\n\n</details>")


def test_checks_are_attributes_and_other_names_are_refused() -> None:
    assert {"theorem_1", "increasing", "erratum"} <= set(dir(theory))
    with pytest.raises(AttributeError, match="its checks are .*'theorem_1'"):
        _ = theory.theorem_2


def test_two_checks_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="found two called 'theorem_1'"):
        theory.statement("here")(inspect.unwrap(theory.theorem_1))


SIZES = {
    range(1, 7): ("theorem_1", "theorem_1_deletion", "aul_decomposition", "abc_of_deletion", "abc_sum", "trapezoid",
                  "additive", "additive_shapley", "shapley_dividends"),
    range(1, 6): ("expected_auc", "expected_abc", "expected_abc_sum", "direction_symmetry", "additive_deletion",
                  "shapley_paths", "mirror", "even_part_has_no_say", "odd_parities_are_shared", "odd_kernel"),
    (1, 2, 3, 5, 7): ("leaf_shapley", "leaf_mean_curve", "leaf_covariance"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "n"), [(name, n) for sizes, names in SIZES.items() for name in names for n in sizes])
def test_statements_for_each_n(name: str, n: int) -> None:
    assert getattr(theory, name)(n)


@pytest.mark.parametrize("order", list(permutations((1, 2, 3, 4))))
def test_theorem_1_for_any_order(order: tuple[int, ...]) -> None:
    assert theory.theorem_1(4, order=order)


def test_a_linear_fit_on_all_sets_with_shapleys_kernel_gives_shapley_values() -> None:
    game = algebra.hybrids(4)
    fit = parity.fitted_values(4, 1, lambda n, u: sp.Rational(1, sp.binomial(n, len(u)) * len(u) * (n - len(u))))
    estimated = fit * sp.Matrix(list(game.values()))
    assert all(algebra.zero(estimated[j - 1] - value) for j, value in algebra.shapley(game).items())


def test_a_cubic_fit_on_drawn_sets_differs_from_the_linear_one() -> None:
    cubic, linear = (parity.fitted_values(5, degree, parity.draws) for degree in (3, 1))
    assert cubic != linear


# Each of these is a statement with one thing wrong, put through the same machinery.
BENT = {
    "theorem 1, weight n − ⌈u⌉": lambda: theory.theorem_1(4, lambda n, u: n - algebra.ceiling(u)),
    "theorem 1, ⌊u⌋ for ⌈u⌉": lambda: theory.theorem_1(4, lambda n, u: n - algebra.floor(n, u) + 1),
    "theorem 1, one interaction left out": lambda: theory.theorem_1(
        4, lambda n, u: 0 if u == {2, 4} else n - algebra.ceiling(u) + 1
    ),
    "theorem 1 for n = 6, Δ_∅ counted n times": lambda: theory.theorem_1(
        6, lambda n, u: n - algebra.ceiling(u) + bool(u)
    ),
    "deletion, ⌈u⌉ for ⌊u⌋": lambda: theory.theorem_1_deletion(4, lambda n, u: algebra.ceiling(u)),
    "deletion, ⌊∅⌋ = n": lambda: theory.theorem_1_deletion(4, lambda n, u: algebra.floor(n, u) if u else n),
    "lemma 1, one unit vector for all w": lambda: theory.lemma_1(3, lambda n, w: frozenset({1, 2, 3})),
    "Möbius without signs": lambda: theory.moebius(
        3, lambda game, ones, u: sp.Add(*(game[v & ones] for v in algebra.subsets(u)))
    ),
    "AUL, halves also for ∅": lambda: theory.aul_decomposition(3, lambda n, u: sp.Rational(n + 1, 2)),
    "ABC′ with the sign of ABC": lambda: theory.abc_of_deletion(
        3, lambda n, u: algebra.floor(n, u) - sp.Rational(n + 1, 2)
    ),
    "ABC + ABC′ without the 1": lambda: theory.abc_sum(3, lambda n, u: n - algebra.ceiling(u) - algebra.floor(n, u)),
    "both flipping walks added": lambda: theory.flipping_difference(3, sign=-1),
    "way back in the same order": lambda: theory.direction_symmetry(3, lambda order: order),
    "trapezoid, whole ends left out": lambda: theory.trapezoid(3, 1),
    "additive AUC, n − j": lambda: theory.additive(3, auc_weight=lambda n, j: n - j),
    "additive ABC, n/2 − j": lambda: theory.additive(3, abc_weight=lambda n, j: sp.Rational(n, 2) - j),
    "additive ABC = −ABC′": lambda: theory.additive_deletion(3, sign=-1),
    "additive φ twice as large": lambda: theory.additive_shapley(3, share=2),
    "additive, two neighbours swapped": lambda: theory.additive_best_order(4, best=(1, 3, 2, 4)),
    "proposition 1, |u| n": lambda: theory.proposition_1(2, lambda k, n: k * n / sp.Integer(k + 1)),
    "proposition 1, right at n = 9 only": lambda: theory.proposition_1(2, lambda k, n: sp.Rational(20, 3)),
    "proposition 1, right up to n = 9 only": lambda: theory.proposition_1(
        2, lambda k, n: k * (n + 1) / sp.Integer(k + 1) + sp.Mul(*(n - i for i in range(2, 10)))
    ),
    "hockey stick, C(n, k + 1)": lambda: theory.hockey_stick(2, lambda k, n: n * (n - 1) * (n - 2) / 6),
    "Pr(⌈u⌉ = k) without |u|/k": lambda: theory.ceiling_probability(2, lambda size, k: k * (k - 1) / 2),
    "mirror, n − ℓ": lambda: theory.mirror(5, lambda n, level: n - level),
    "E(AUC), E⌈u⌉ = (n + 1)/2": lambda: theory.expected_auc(3, lambda n, u: sp.Rational(n + 1, 2)),
    "E(ABC), |u| − 1": lambda: theory.expected_abc(
        3, lambda n, u: sp.Rational((n + 1) * (len(u) - 1), 2 * (len(u) + 1)) if u else 0
    ),
    "E(ABC) = 0 with interactions": lambda: theory.expected_abc(3, lambda n, u: 0),
    "E(ABC − ABC′) = 0": lambda: theory.expected_abc_sum(3, sign=-1),
    "sign for a main effect": lambda: theory.expected_abc_sign(1),
    "dividends not shared": lambda: theory.shapley_dividends(3, lambda u: 1),
    "jump of another feature": lambda: theory.shapley_paths(
        3, lambda game, order, j: game[frozenset({j})] - game[frozenset()]
    ),
    "interval with its ends": lambda: theory.counterexample(sp.Interval(-2, -1)),
    "interval from −3": lambda: theory.counterexample(sp.Interval.open(-3, -1)),
    "only the paper's interval": lambda: theory.counterexample_set(sp.Interval.open(-2, -1)),
    "n = 2, opposite sign": lambda: theory.no_counterexample_for_two(-1),
    "swap, sum to r − 1": lambda: theory.monotone_swap(3, lambda r: r - 1),
    "monotone, two neighbours swapped": lambda: theory.monotone_best_order(4, best=(2, 1, 3, 4)),
    "monotone, falling order as the worst": lambda: theory.monotone_worst_order(4, worst=(1, 2, 3, 4)),
    "monotone Shapley, equal weights": lambda: theory.monotone_shapley_order(
        4, lambda n, u: sp.Rational(1, 2 ** (n - 2))
    ),
    "increasing, w²": lambda: theory.increasing("square", lambda w: w**2),
    "increasing, sine": lambda: theory.increasing("sine", sp.sin),
    "increasing, falling exponential": lambda: theory.increasing("falling", lambda w: sp.exp(-w)),
    "increasing, ReLU is flat below 0": lambda: theory.increasing(
        "ReLU", lambda w: sp.Piecewise((w, sp.sympify(w) >= 0), (0, True))
    ),
    "increasing, falls below 0 only": lambda: theory.increasing(
        "1/w", lambda w: sp.Piecewise((w, sp.sympify(w) >= 0), (1 / sp.sympify(w), True))
    ),
    "increasing, absolute value": lambda: theory.increasing(
        "absolute value", lambda w: sp.Piecewise((w, sp.sympify(w) >= 0), (-w, True))
    ),
    "example with a tie": lambda: theory.monotone_example("exponential", [0, sp.log(2), sp.log(2), 0]),
    "logistic, no interaction at the centre": lambda: theory.logistic_interactions(2, -(sp.log(2) + sp.log(3)) / 2),
    "two classes, taken for three": lambda: theory.naive_bayes_two(2, classes=3),
    "three classes, of which two are the same": lambda: theory.naive_bayes_three(((0, 2, 0), (3, -3, -1), (3, -3, -1))),
    "IG without its factor": lambda: theory.ig_completeness(2, lambda a, b: sp.Integer(1)),
    "IG with its factor turned round": lambda: theory.ig_completeness(2, lambda a, b: a - b),
    "IG by β": lambda: theory.ig_order(2, lambda beta, a, b: beta),
    "IG by (x − x′)β": lambda: theory.ig_order(2, lambda beta, a, b: (a - b) * beta),
    "IG for a straight additive function": lambda: theory.ig_order_curved(power=1),
    "IG = Shapley, one feature squared": lambda: theory.ig_multilinear(2, power=2),
    "IG of a product is Shapley": lambda: theory.ig_mixed(power=1),
    "the odd part has no say": lambda: theory.even_part_has_no_say(3, sign=-1),
    "even parities are shared, too": lambda: theory.odd_parities_are_shared(3, lambda u: sp.Rational(2, len(u))),
    "a leaf shared by all members": lambda: theory.leaf_shapley(3, lambda a, b: sp.Rational(1, a + b)),
    "a leaf that goes off a step later": lambda: theory.leaf_mean_curve(
        3, lambda n, k, a, b: trees.leaf_share(n, k if k < n - b else max(k - 1, 0), a, b)
    ),
    "leaves as if independent": lambda: theory.leaf_covariance(
        3, lambda one, two: trees.leaf_mean_area(one) * trees.leaf_mean_area(two)
    ),
    "two-sided occlusion with three at a time": lambda: theory.two_sided_is_shapley(3, most=3),
    "two-sided occlusion off by a third": lambda: theory.two_sided_error(3, half=sp.Rational(1, 3)),
    "Kernel SHAP with a set more often than its complement": lambda: theory.paired_kernel_shap(4, lambda n, u: sum(u)),
    "sinh for even sets": lambda: theory.odd_kernel(3, counted=lambda u: len(u) % 2 == 0),
}


bent = cache(lambda name: BENT[name]())


@pytest.mark.parametrize("name", BENT)
def test_a_bent_statement_does_not_hold(name: str) -> None:
    check = bent(name)
    assert check.holds is False and not check


def test_every_statement_has_a_bent_version() -> None:
    assert {name.split("(")[0] for name in theory.CHECKS} == {bent(name).name for name in BENT}


@pytest.mark.parametrize("number", theory.ERRATA)
def test_printed_version_is_false_and_corrected_one_true(errata: dict[int, theory.Erratum], number: int) -> None:
    slip = errata[number]
    assert slip and slip.number == number
    assert not slip.printed, str(slip.printed)
    assert slip.corrected, str(slip.corrected)
    assert slip.printed.statement != slip.corrected.statement
    assert slip.verdict == ("a matter of reading" if number in (16, 25) else "confirmed")
    page, code = slip._repr_markdown_().split("<details")
    assert page.count("$") % 2 == 0 and f"\ndef erratum_{number}()" in code


def test_remarks_of_the_errata(errata: dict[int, theory.Erratum]) -> None:
    remarks = {number: [bool(remark) for remark in slip.remarks] for number, slip in errata.items()}
    assert remarks[7] == [True, True, False]  # the points in the proof of theorem 1 are those of the way back
    assert remarks[11] == [False, True]  # the constant without xᵀβ; the order of β loses
    assert all(all(remarks[number]) for number in remarks if number not in (7, 11))


def test_an_erratum_can_be_refuted() -> None:
    true, false = theory.counterexample(), theory.counterexample(sp.Interval(0, 1))
    assert theory.Erratum(0, "here", printed=true, corrected=false).verdict.startswith("refuted")
    assert theory.Erratum(0, "here", printed=false, corrected=false).verdict == "neither version holds"
    assert not theory.Erratum(0, "here", printed=true, corrected=true)


def test_the_counterexample_by_hand() -> None:
    details = theory.counterexample().details
    A = sp.Symbol("A", real=True)
    assert details["AUC((1, 2, 3))"] == 14 + 2 * A
    assert details["AUC((1, 3, 2))"] == 13 + A
    assert details["φ"] == [3 + A / 2, 2 + A / 2, 1]
    assert details["A"] == sp.Interval.open(-2, -1)


def test_the_counterexample_set_at_sample_values() -> None:
    # A second way to the same set: numbers put in, all six orders compared with plain fractions.
    fails = theory.counterexample_set().details["none is"]
    for twice in range(-13, 6):
        a = Fraction(twice, 2)
        effects = {(1,): 3, (2,): 2, (3,): 1, (1, 2): a}
        value = {u: sum(d for v, d in effects.items() if set(v) <= u) for u in algebra.subsets(3)}
        area = {o: sum(value[frozenset(o[:j])] for j in range(4)) for o in permutations((1, 2, 3))}
        phi = {1: 3 + a / 2, 2: 2 + a / 2, 3: Fraction(1)}
        ranked = [o for o in area if phi[o[0]] >= phi[o[1]] >= phi[o[2]]]
        assert all(area[o] < max(area.values()) for o in ranked) == (sp.Rational(twice, 2) in fails)


fractions = st.fractions(min_value=-9, max_value=9, max_denominator=12)


@settings(max_examples=40, deadline=None)
@given(st.lists(fractions, min_size=16, max_size=16), st.permutations([1, 2, 3, 4]))
def test_the_algebra_agrees_with_plain_fractions(values: list[Fraction], order: list[int]) -> None:
    game = dict(zip(algebra.subsets(4), map(sp.Rational, values), strict=True))
    plain = dict(zip(algebra.subsets(4), values, strict=True))
    area = sum(plain[frozenset(order[:j])] for j in range(5))
    line = Fraction(5, 2) * (plain[frozenset()] + plain[frozenset({1, 2, 3, 4})])
    assert algebra.auc(game, order) == sp.Rational(area)
    assert algebra.abc(game, order) == sp.Rational(area - line)
    assert algebra.abc_deletion(game, order[::-1]) == sp.Rational(line - area)
    rebuilt = algebra.from_dividends({u: algebra.dividend(game, u) for u in game}, 4)
    assert rebuilt == game


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-6, 6), min_size=3, max_size=3, unique=True), st.integers(-3, 3))
@pytest.mark.parametrize("name", theory.LINKS)
def test_monotone_order_for_random_effects(name: str, effects: list[int], constant: int) -> None:
    scale = 1 if name == "leaky ReLU" else sp.log(2)  # powers of two keep the values rational
    assert theory.monotone_example(name, [scale * sp.Integer(value) for value in [constant, *effects]])


def test_small_games_by_hand() -> None:
    product = {u: sp.Integer(len(u) == 2) for u in algebra.subsets(2)}
    assert algebra.shapley(product) == {1: sp.Rational(1, 2), 2: sp.Rational(1, 2)}
    assert algebra.dividend(product, frozenset({1, 2})) == 1
    assert algebra.abc(product, (1, 2)) == sp.Rational(-1, 2)
    assert algebra.positions((3, 1, 2), frozenset({1, 3})) == {1, 2}
    assert (algebra.ceiling(frozenset()), algebra.floor(5, frozenset())) == (0, 6)


def test_leaky_relu_is_what_it_says() -> None:
    assert [monotone.leaky_relu(sp.Integer(w)) for w in (-10, 0, 10)] == [-1, 0, 10]


@pytest.mark.parametrize("n", [0, -1, 40, 2.0, True, "3"])
def test_a_size_that_cannot_be_done_is_refused(n) -> None:
    with pytest.raises(ValueError, match=r"needs a whole number from 1 to .*found"):
        theory.theorem_1(n)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="one of .*'logistic'"):
        theory.increasing("cosine")
    with pytest.raises(ValueError, match="not one about theory; those are"):
        theory.erratum(1)
    with pytest.raises(ValueError, match="permutation"):
        theory.theorem_1(3, order=(1, 2, 2))
    with pytest.raises(ValueError, match="permutation"):
        theory.monotone_best_order(3, best=(1, 2))


def test_how_a_check_reads() -> None:
    good, bad = theory.theorem_1(2), theory.theorem_1(2, lambda n, u: 1)
    page = good._repr_markdown_()
    assert page.startswith("**✓ holds** · $") and "- AUC, point by point: $f_{1,2} + f_{1} + f_{∅}$" in page
    assert bad._repr_markdown_().startswith("**✗ does not hold**")
    assert "- A: $\\left(-2, -1\\right)$" in theory.counterexample()._repr_markdown_()
    assert "$A + 13$" in theory.counterexample()._repr_markdown_()
    assert "- IG: $\\frac{1}{3}$, $\\frac{2}{3}$" in theory.ig_mixed()._repr_markdown_()
    assert "✓ holds: theorem_1 (appendix B, theorem 1)" in str(good)
    assert "f_{1,2} + f_{1} + f_{∅}" in str(good)
    assert "(64 terms, not shown)" in theory.theorem_1(6)._repr_markdown_()


def test_how_an_erratum_reads(errata: dict[int, theory.Erratum]) -> None:
    page, text = errata[16]._repr_markdown_(), str(errata[16])
    for label in ("printed", "printed, read otherwise", "corrected"):
        assert f"*{label}:*" in page and f"[{label}]" in text
    assert page.startswith("**Erratum 16** *(section 3, appendix B.2)*: a matter of reading")


def test_a_long_sum_can_break_between_its_summands() -> None:
    a, b, c = (sp.Symbol(f"{letter}_{{1,2,3}}") for letter in ("alpha", "beta", "gamma"))
    page = theory.Check("here", "this chapter", "a sum", True, {"sum": 2 * a - b + c, "short": a - b}).markdown()
    assert "- sum: $2 alpha_{1,2,3}$ ${} - beta_{1,2,3}$ ${} + gamma_{1,2,3}$" in page
    assert "- short: $alpha_{1,2,3} - beta_{1,2,3}$" in page


def test_a_check_written_on_a_page_has_no_code_to_unfold() -> None:
    assert "<details" not in theory.Check("here", "this chapter", "1 = 1", True)._repr_markdown_()
