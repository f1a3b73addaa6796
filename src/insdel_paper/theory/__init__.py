"""The paper's statements as sympy objects that a test or a chapter can ask: true?

Each function checks one statement exactly, without floating-point numbers, and returns a `Check`.
`CHECKS` names them all, `ERRATA` the slips of the paper that concern its theory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from .additive_functions import additive, additive_best_order, additive_deletion, additive_shapley
from .areas import (
    abc_of_deletion,
    abc_sum,
    aul_decomposition,
    direction_symmetry,
    flipping_difference,
    lemma_1,
    moebius,
    theorem_1,
    theorem_1_deletion,
    trapezoid,
)
from .check import Check, Erratum
from .errata import ERRATA, erratum
from .gradients import ig_completeness, ig_mixed, ig_multilinear, ig_order, ig_order_curved
from .monotone import (
    LINKS,
    increasing,
    logistic_interactions,
    monotone_best_order,
    monotone_example,
    monotone_shapley_order,
    monotone_swap,
    monotone_worst_order,
)
from .naive_bayes import naive_bayes_three, naive_bayes_two
from .parity import even_part_has_no_say, odd_kernel, odd_parities_are_shared
from .random_orders import (
    ceiling_probability,
    expected_abc,
    expected_abc_sign,
    expected_abc_sum,
    expected_auc,
    hockey_stick,
    mirror,
    proposition_1,
)
from .shapley_order import (
    counterexample,
    counterexample_set,
    no_counterexample_for_two,
    shapley_dividends,
    shapley_paths,
)

STATEMENTS: list[Callable[..., Check]] = [
    theorem_1,
    theorem_1_deletion,
    lemma_1,
    moebius,
    aul_decomposition,
    abc_of_deletion,
    abc_sum,
    flipping_difference,
    direction_symmetry,
    trapezoid,
    additive,
    additive_deletion,
    additive_shapley,
    additive_best_order,
    ceiling_probability,
    mirror,
    expected_auc,
    expected_abc,
    expected_abc_sum,
    expected_abc_sign,
    shapley_dividends,
    shapley_paths,
    counterexample,
    counterexample_set,
    no_counterexample_for_two,
    monotone_swap,
    monotone_best_order,
    monotone_worst_order,
    monotone_shapley_order,
    logistic_interactions,
    naive_bayes_two,
    naive_bayes_three,
    ig_completeness,
    ig_order,
    ig_order_curved,
    ig_multilinear,
    ig_mixed,
    even_part_has_no_say,
    odd_parities_are_shared,
    odd_kernel,
]

# Each check by name, with its default size; those about one |u| or one h once for each.
CHECKS: Mapping[str, Callable[[], Check]] = {
    **{check.__name__: check for check in STATEMENTS},
    **{f"proposition_1({size})": partial(proposition_1, size) for size in range(7)},
    **{f"hockey_stick({size})": partial(hockey_stick, size) for size in range(7)},
    **{f"increasing({name})": partial(increasing, name) for name in LINKS},
    **{f"monotone_example({name})": partial(monotone_example, name) for name in LINKS},
}

__all__ = [
    "CHECKS",
    "ERRATA",
    "LINKS",
    "Check",
    "Erratum",
    "abc_of_deletion",
    "abc_sum",
    "additive",
    "additive_best_order",
    "additive_deletion",
    "additive_shapley",
    "aul_decomposition",
    "ceiling_probability",
    "counterexample",
    "counterexample_set",
    "direction_symmetry",
    "erratum",
    "even_part_has_no_say",
    "expected_abc",
    "expected_abc_sign",
    "expected_abc_sum",
    "expected_auc",
    "flipping_difference",
    "hockey_stick",
    "ig_completeness",
    "ig_mixed",
    "ig_multilinear",
    "ig_order",
    "ig_order_curved",
    "increasing",
    "lemma_1",
    "logistic_interactions",
    "mirror",
    "moebius",
    "monotone_best_order",
    "monotone_example",
    "monotone_shapley_order",
    "monotone_swap",
    "monotone_worst_order",
    "naive_bayes_three",
    "naive_bayes_two",
    "no_counterexample_for_two",
    "odd_kernel",
    "odd_parities_are_shared",
    "proposition_1",
    "shapley_dividends",
    "shapley_paths",
    "theorem_1",
    "theorem_1_deletion",
    "trapezoid",
]
