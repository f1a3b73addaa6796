"""Exercises about all orders: chance, both tests, and whether the Shapley order is the best."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import insdel
from course.exercises import figures as pictures
from course.exercises.base import exercise
from course.exercises.grading import Answer
from course.exercises.material import SEED, dividend_tables, from_parts, lattice, tables
from course.exercises.parts import MASK
from insdel.examples import game


def _alone(values: np.ndarray) -> np.ndarray:
    return np.array([values[1 << k] - values[0] for k in range(lattice(values).n)])


@exercise(
    "Average over all orders",
    chapter="split",
    points=3,
    prompt=f"""
    The Shapley value of feature $j$ is the jump of the prediction at the moment when $j$ is changed, averaged over all
    $n!$ orders. Enumerate them (`itertools.permutations`). `values[S]` is the prediction with the features of the set
    $S$ taken from $x'$. {MASK}
    """,
    truth=lambda values: lattice(values).shapley(),
    cases=lambda: [(values,) for values in tables()],
    mistakes={
        "you added up the jumps of all orders; divide by the number of orders, n!.": (
            lambda values: lattice(values).shapley() * len(list(permutations(range(lattice(values).n))))
        ),
        "that is the change of each feature alone: the jump in orders where it comes first. Average over all.": _alone,
        "every set has the same weight in your mean (these are Banzhaf values); every order should have it.": (
            lambda values: lattice(values).banzhaf()
        ),
        "the sign is reversed: the jump is the prediction after the change minus the one before.": (
            lambda values: -lattice(values).shapley()
        ),
    },
)
def shapley_by_orders(values: np.ndarray) -> np.ndarray:
    """Shapley values (n,) from the predictions (2ⁿ,) at all hybrids, by enumerating all orders."""
    ### BEGIN SOLUTION
    n = len(values).bit_length() - 1
    orders = list(permutations(range(n)))
    total = np.zeros(n)
    for order in orders:
        changed = 0
        for j in order:
            total[j] += values[changed | 1 << j] - values[changed]
            changed |= 1 << j
    return total / len(orders)
    ### END SOLUTION


def _mean_last(size: int, n: int) -> float:
    return float(np.mean([max(places, default=0) for places in combinations(range(1, n + 1), size)]))


def _draw_last(answer: Answer) -> Figure:
    sizes = np.arange(1, 9)
    return pictures.exercise_lines(
        sizes,
        {"last of |u| features": [answer(int(k), 8) for k in sizes], "middle of the walk": np.full(8, 4.5)},
        "size of u",
        "mean place in an order of 8",
    )


@exercise(
    "Wait for the last one",
    chapter="shuffle",
    points=1,
    prompt="""
    Proposition 1: in a shuffled order of $n$ features, where is the last member of a set of `size` features on
    average? Places count from 1. Return the closed form, or count all sets of places, as you like.
    """,
    truth=_mean_last,
    cases=lambda: [(2, 3), (1, 7), (3, 5), (4, 4), (0, 6)],
    mistakes={
        "that is the mean place of the first member; take the last one.": (
            lambda size, n: (n + 1) / (size + 1) if size else 0.0
        ),
        "the factor is n + 1, not n: the gaps before and after count, too.": lambda size, n: size * n / (size + 1),
        "that is the middle of the walk; only single features stand there on average.": (
            lambda size, n: (n + 1) / 2 if size else 0.0
        ),
    },
    figure=_draw_last,
)
def expected_last(size: int, n: int) -> float:
    """Mean place, from 1 to n, of the last of `size` features in a shuffled order of n."""
    ### BEGIN SOLUTION
    return size * (n + 1) / (size + 1)
    ### END SOLUTION


@exercise(
    "Score chance",
    chapter="shuffle",
    prompt=f"""
    What does a ranking score that was made by rolling dice?
    $\\mathrm{{E}}(\\mathrm{{ABC}}) = \\frac{{n+1}}2\\sum_{{u\\ne\\emptyset}}\\frac{{1-|u|}}{{1+|u|}}\\,\\Delta_u$.
    {MASK} `S.bit_count()` is the size of the set.
    """,
    truth=lambda dividends: lattice(from_parts(dividends)).expected_abc(),
    cases=lambda: [(parts,) for parts in dividend_tables()],
    mistakes={
        "the sign is reversed: the weight is (1 − |u|) / (1 + |u|), negative for every interaction.": (
            lambda parts: -lattice(from_parts(parts)).expected_abc()
        ),
        "that is E(AUC); subtract AUL.": lambda parts: lattice(from_parts(parts)).expected_auc(),
        "the factor is (n + 1) / 2, not n / 2.": (
            lambda parts: (
                lattice(from_parts(parts)).expected_abc() * lattice(parts).n / (lattice(parts).n + 1)
            )
        ),
        "the empty set must be left out: f(x) is in the curve and in the line alike.": (
            lambda parts: lattice(from_parts(parts)).expected_abc() + (lattice(parts).n + 1) / 2 * parts[0]
        ),
    },
)
def expected_abc(dividends: np.ndarray) -> float:
    """Mean insertion ABC over all orders, from the parts (2ⁿ,) of all sets of features."""
    ### BEGIN SOLUTION
    n, total = len(dividends).bit_length() - 1, 0.0
    for S in range(1, 2**n):
        size = S.bit_count()
        total += (n + 1) / 2 * (1 - size) / (1 + size) * dividends[S]
    return total
    ### END SOLUTION


def _both_cases() -> list[tuple[Any, ...]]:
    first, second, third = tables()
    return [(first, [2, 1, 0]), (first, [1, 2, 0]), (second, [2, 0, 1]), (third, [3, 0, 2, 1])]


@exercise(
    "Run both tests",
    chapter="shuffle",
    prompt=f"""
    A ranking lists the features by decreasing $A_j$. Insertion walks it from its beginning, deletion from its end.
    Return $\\mathrm{{ABC}} + \\mathrm{{ABC}}'$, whose mean over all rankings is 0 for every $f$. `values[S]` is the
    prediction with the features of the set $S$ taken from $x'$. {MASK}
    """,
    truth=lambda values, ranking: lattice(values).abc(np.asarray(ranking), "both"),
    cases=_both_cases,
    mistakes={
        "you walked the deletion in the order of the insertion, so the two cancel; it begins at the ranking's end.": (
            lambda values, ranking: 0.0
        ),
        "for the deletion the sign is reversed: ABC′ = AUL − AUC.": (
            lambda values, ranking: (
                lattice(values).abc(np.asarray(ranking)) + lattice(values).abc(np.asarray(ranking)[::-1])
            )
        ),
        "that is the insertion alone.": lambda values, ranking: lattice(values).abc(np.asarray(ranking)),
    },
)
def abc_both(values: np.ndarray, ranking: list[int]) -> float:
    """ABC of the insertion plus ABC of the deletion, from the predictions (2ⁿ,) at all hybrids."""
    ### BEGIN SOLUTION
    def auc(order: list[int]) -> float:
        changed, total = 0, values[0]
        for j in order:
            changed |= 1 << j
            total += values[changed]
        return total

    return auc(ranking) - auc(ranking[::-1])
    ### END SOLUTION


def _missed(A: float) -> float:
    """Theorem 'Shapley order and largest AUC', with the six AUCs worked out by hand."""
    return -1 - A if -2 < A < -1 else 2.0 if A < -4 else 0.0


def _missed_when(A: float, share: float, sign: float = 1.0) -> float:
    """What an order by other shares of A, or by turned signs, misses."""
    game = lattice(from_parts(np.array([0.0, 3.0, 2.0, A, 1.0, 0.0, 0.0, 0.0])))
    ranking = insdel.order(sign * np.array([3 + share * A, 2 + share * A, 1.0]))
    return float(game.abc(game.best_order()) - game.abc(ranking))


def _draw_missed(answer: Answer) -> Figure:
    A = np.linspace(-6, 1, 281) + 1e-6
    missed = {"largest ABC − ABC of the Shapley order": [answer(float(a)) for a in A]}
    return pictures.exercise_lines(A, missed, "interaction A", "ABC that is missed")


@exercise(
    "Beat the Shapley order",
    chapter="not-best",
    points=3,
    prompt="""
    The paper's counterexample: three features with $\\Delta_1 = 3$, $\\Delta_2 = 2$, $\\Delta_3 = 1$ and one
    interaction $\\Delta_{12} = A$. Return by how much the ABC of the order by Shapley values falls short of the largest
    ABC of all six orders. `insdel.examples.game({(1,): 3, (2,): 2, (3,): 1, (1, 2): A})` makes the function and the two
    points, and you may use all of `insdel`.
    """,
    truth=_missed,
    cases=lambda: [(-1.5,), (-5.0,), (-3.0,), (-0.5,), (2.0,), (-1.2,), (-9.0,)],
    mistakes={
        "you sorted the Shapley values in increasing order; insertion goes by decreasing values.": (
            lambda A: _missed_when(A, 0.5, -1.0)
        ),
        "your values give all of A to feature 1 and to feature 2; each gets half.": lambda A: _missed_when(A, 1.0),
        "you sorted by the single effects; the Shapley values contain half of A.": lambda A: _missed_when(A, 0.0),
        "the difference is reversed: the largest ABC comes first.": lambda A: -_missed(A),
    },
    figure=_draw_missed,
)
def missed_by_shapley(A: float) -> float:
    """Largest ABC of all orders minus the ABC of the Shapley order, in the paper's counterexample."""
    ### BEGIN SOLUTION
    f, x, reference, _ = game({(1,): 3, (2,): 2, (3,): 1, (1, 2): A})
    curves = insdel.curve(f, x, reference, np.array(list(permutations(range(3)))))
    ranking = insdel.order(np.array([3 + A / 2, 2 + A / 2, 1]))
    return float(insdel.abc(curves).max() - insdel.abc(insdel.curve(f, x, reference, ranking)))
    ### END SOLUTION


def _comparisons(values: np.ndarray, j: int, k: int, other: bool = True) -> np.ndarray:
    sets = np.arange(len(values))
    without = sets[(sets >> j & 1 == 0) & (sets >> k & 1 == 0)]
    return values[without | 1 << j] - values[without | (1 << k if other else 0)]


def _comparison_cases() -> list[tuple[Any, ...]]:
    first, second, third = tables()
    return [(first, 2, 1), (second, 0, 2), (third, 3, 0), (third, 1, 2)]


@exercise(
    "Compare two features in every company",
    chapter="best",
    prompt=f"""
    Is $j$ a better newcomer than $k$? Return $f(S{{+}}j) - f(S{{+}}k)$ for every set $S$ that holds neither, the sets
    in the order of their numbers. If all have one sign, Shapley values and every walk agree about $j$ and $k$.
    `values[S]` is the prediction with the features of the set $S$ taken from $x'$. {MASK}
    """,
    truth=_comparisons,
    cases=_comparison_cases,
    mistakes={
        "j and k are swapped.": lambda values, j, k: -_comparisons(values, j, k),
        "you compared with S itself; compare f(S + j) with f(S + k).": (
            lambda values, j, k: _comparisons(values, j, k, other=False)
        ),
        "that is the first set only, the empty one; go through all that hold neither j nor k.": (
            lambda values, j, k: _comparisons(values, j, k)[0]
        ),
    },
)
def comparisons(values: np.ndarray, j: int, k: int) -> np.ndarray:
    """Differences f(S + j) − f(S + k) (2ⁿ⁻²,) over all S without j and k."""
    ### BEGIN SOLUTION
    result = []
    for S in range(len(values)):
        if not S >> j & 1 and not S >> k & 1:
            result.append(values[S | 1 << j] - values[S | 1 << k])
    return np.array(result)
    ### END SOLUTION


def _score_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 3)
    simple = np.array([0.2, 0.9, -0.5]), np.array([1.0, 1.0, 1.0]), np.array([0.0, 1.5, -1.0])
    return [simple, *(tuple(rng.normal(size=(3, 5)).round(1)) for _ in range(2))]


def _best_for_logistic(beta: np.ndarray, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    game = insdel.Lattice.evaluate(lambda z: 1 / (1 + np.exp(-(z @ beta))), x, reference)
    return np.asarray(game.best_order())


@exercise(
    "Order a logistic regression",
    chapter="best",
    points=1,
    prompt="""
    A logistic regression predicts $\\sigma(\\beta_0 + x^\\top\\beta)$, and $\\sigma$ is strictly increasing. Return the
    best of all $n!$ orders for the insertion test, without any prediction.
    """,
    truth=_best_for_logistic,
    cases=_score_cases,
    mistakes={
        "you sorted by β; a large coefficient does nothing where x and x′ agree. Sort by (x′ − x) β.": (
            lambda beta, x, reference: insdel.order(beta)
        ),
        "you sorted by |γ|; what lowers the score has to come last.": (
            lambda beta, x, reference: insdel.order(np.abs((reference - x) * beta))
        ),
        "the sign is reversed: the change is x′ − x.": lambda beta, x, reference: insdel.order((x - reference) * beta),
    },
)
def order_of_score(beta: np.ndarray, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Features (n,) in the order with the largest AUC, for an increasing function of a linear score."""
    ### BEGIN SOLUTION
    gamma = (reference - x) * beta
    return np.argsort(-gamma, kind="stable")
    ### END SOLUTION
