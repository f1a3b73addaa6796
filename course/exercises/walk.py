"""Exercises about walks, orders and areas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import insdel
from course.exercises.base import exercise
from course.exercises.grading import Answer
from course.exercises.material import SEED, pairs
from insdel.examples import game, house
from insdel_paper import figures


def _hybrid_cases() -> list[tuple[Any, ...]]:
    _, x, reference, _ = house()
    longer = np.random.default_rng(SEED).integers(0, 10, (2, 6)).astype(float)
    return [(x, reference, [2]), (x, reference, [0, 2]), (x, reference, []), (*longer, [5, 0, 3])]


@exercise(
    "Mix two points",
    chapter="walk",
    points=1,
    prompt="""
    Write the hybrid $x'_u{:}x_{-u}$: the point whose features in $u$ come from $x'$ and all others from $x$.
    `changed` lists the features of $u$, counted from 0. Leave `x` and `reference` as they are.
    """,
    truth=lambda x, reference, changed: np.where(np.isin(np.arange(len(x)), changed), reference, x),
    cases=_hybrid_cases,
    mistakes={
        "x and x′ are swapped: the features in `changed` come from the reference, the others from x.": (
            lambda x, reference, changed: np.where(np.isin(np.arange(len(x)), changed), x, reference)
        ),
        "you returned only the changed features; a hybrid has all n of them.": (
            lambda x, reference, changed: reference[list(changed)]
        ),
    },
)
def hybrid(x: np.ndarray, reference: np.ndarray, changed: Sequence[int]) -> np.ndarray:
    """Point (n,) with the features in `changed` from the reference and the others from x."""
    ### BEGIN SOLUTION
    mixed = x.copy()
    for j in changed:
        mixed[j] = reference[j]
    return mixed
    ### END SOLUTION


def _curve_cases() -> list[tuple[Any, ...]]:
    first, second, third = pairs()
    return [(*first, [2, 1, 0]), (*first, [1, 2, 0]), (*second, [3, 0, 1, 2]), (*third, [1, 3, 2, 0])]


def _each_alone(f: Callable, x: np.ndarray, reference: np.ndarray, order: Sequence[int]) -> np.ndarray:
    rows = np.where(np.arange(len(x)) == np.asarray(order)[:, None], reference, x)
    return f(np.vstack([x, rows]))


def _draw_curve(answer: Answer) -> Figure:
    f, x, reference, names = house()
    orders = [2, 1, 0], [0, 1, 2]
    curves = {", ".join(names[j] for j in order): answer(f, x, reference, order) for order in orders}
    return figures.walk(curves, "price in thousands")


@exercise(
    "Walk from x to x′",
    chapter="walk",
    prompt="""
    Start at $x$, take its features from $x'$ one by one in the given order, and ask $f$ for a prediction before the
    first step and after each one: $f(\\tilde x^{(0)}), \\dots, f(\\tilde x^{(n)})$. Note that `f` takes a batch of
    points, one per row, and returns one number per row.
    """,
    truth=lambda f, x, reference, order: insdel.curve(f, x, reference, np.asarray(order)),
    cases=_curve_cases,
    mistakes={
        "your walk goes from x′ to x; it has to begin at x.": (
            lambda f, x, reference, order: insdel.curve(f, reference, x, np.asarray(order))
        ),
        "the prediction at x, before the first step, is missing: a curve has n + 1 points.": (
            lambda f, x, reference, order: insdel.curve(f, x, reference, np.asarray(order))[1:]
        ),
        "you changed each feature alone; the walk keeps the features that were changed before.": _each_alone,
        "you read the order as places; order[k] is the feature that is changed in step k + 1.": (
            lambda f, x, reference, order: insdel.curve(f, x, reference, np.argsort(order))
        ),
    },
    figure=_draw_curve,
)
def curve(f: Callable, x: np.ndarray, reference: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """Predictions (n + 1,) while features of the reference replace those of x, in the given order."""
    ### BEGIN SOLUTION
    mixed = x.copy()
    points = [mixed.copy()]
    for j in order:
        mixed[j] = reference[j]
        points.append(mixed.copy())
    return f(np.array(points))
    ### END SOLUTION


def _order_cases() -> list[tuple[Any, ...]]:
    lists = [-60.0, 50.0, 100.0], [0.5, -2.0, 0.1, 1.5], [1.0, 3.0, 1.0, -4.0, 3.0]
    return [(np.array(values), mode) for values in lists for mode in ("insertion", "deletion")]


@exercise(
    "Sort the features",
    chapter="walk",
    prompt="""
    $A_j$ is the effect of changing $x_j$ to $x'_j$. Insertion changes first what should raise $f$ most; deletion
    changes first what should lower it most. Return the feature indices in the order of the walk. Features with equal
    $A_j$ keep the order of their indices. (`np.argsort` has a parameter `kind="stable"`.)
    """,
    truth=lambda attributions, mode: insdel.order(attributions, mode),
    cases=_order_cases,
    mistakes={
        "you sorted in increasing order for insertion, too: insertion goes by decreasing A.": (
            lambda attributions, mode: np.argsort(attributions, kind="stable")
        ),
        "insertion and deletion are swapped.": (
            lambda a, mode: insdel.order(a, "deletion" if mode == "insertion" else "insertion")
        ),
        "you sorted by |A|; the sign counts, because it says whether a feature raises or lowers f.": (
            lambda attributions, mode: insdel.order(np.abs(attributions), mode)
        ),
        "you sorted by decreasing |A| in both tests; the sign counts, and deletion starts with the most negative A.": (
            lambda attributions, mode: insdel.order(np.abs(attributions))
        ),
        "you returned ranks; return the features, the first to be changed first. (One argsort, not two.)": (
            lambda attributions, mode: np.argsort(insdel.order(attributions, mode))
        ),
        "equal values are swapped: reversing a sorted list reverses the ties. Sort −A instead.": (
            lambda a, mode: (
                np.argsort(a, kind="stable")[::-1] if mode == "insertion" else np.argsort(a, kind="stable")
            )
        ),
    },
)
def feature_order(attributions: np.ndarray, mode: str) -> np.ndarray:
    """Feature indices (n,) in the order of an "insertion" or a "deletion"."""
    ### BEGIN SOLUTION
    key = -attributions if mode == "insertion" else attributions
    return np.argsort(key, kind="stable")
    ### END SOLUTION


def _curves() -> list[np.ndarray]:
    curves = [250.0, 350.0, 425.0, 380.0], [1.0, 4.0, 2.0, 0.0, 3.0], [3.0, 1.0, 0.0, 4.0]
    return [np.array(values) for values in curves]


@exercise(
    "Measure the straight line",
    chapter="walk",
    points=1,
    prompt="""
    Suppose every one of the $n$ steps brought the same change. What would the sum of the $n + 1$ points of the curve
    be? Write AUL, the area under the line, for the curve that is given by its values.
    """,
    truth=lambda values: np.linspace(values[0], values[-1], len(values)).sum(),
    cases=lambda: [(values,) for values in _curves()],
    mistakes={
        "you took n points; from f(x) to f(x′) there are n + 1.": (
            lambda values: (values[0] + values[-1]) * (len(values) - 1) / 2
        ),
        "you forgot the ½: the mean height of the line is (f(x) + f(x′)) / 2.": (
            lambda values: (values[0] + values[-1]) * len(values)
        ),
        "you added up the curve: that is AUC. The line joins its two ends.": lambda values: values.sum(),
    },
)
def aul(values: np.ndarray) -> float:
    """Sum of n + 1 points on the straight line between the ends of a curve, whose values are (n + 1,)."""
    ### BEGIN SOLUTION
    return len(values) / 2 * (values[0] + values[-1])
    ### END SOLUTION


@exercise(
    "Measure the walk",
    chapter="walk",
    prompt="""
    Write ABC, the area between curve and line, as the paper defines it: a sum, not divided by anything.
    In both tests more shall be better: AUC − AUL for an insertion, AUL − AUC for a deletion.
    """,
    truth=lambda values, mode: insdel.abc(values, mode),
    cases=lambda: [(values, mode) for values in _curves() for mode in ("insertion", "deletion")],
    mistakes={
        "deletion has the sign of insertion; a deletion is better the lower its curve is: AUL − AUC.": (
            lambda values, mode: insdel.abc(values)
        ),
        "you divided by n; that is ABC per feature, the scale of the paper's tables.": (
            lambda values, mode: insdel.abc(values, mode, per_feature=True)
        ),
        "you divided by n + 1; ABC is a sum.": lambda values, mode: insdel.abc(values, mode) / len(values),
        "you took the trapezoid area of the curve, but the sum for the line; take the sum for both.": (
            lambda values, mode: (
                (insdel.auc_trapezoid(values) - insdel.aul(values)) * (1 if mode == "insertion" else -1)
            )
        ),
        "you took the absolute value; a bad order has a negative ABC.": lambda values, mode: abs(insdel.abc(values)),
    },
)
def abc(values: np.ndarray, mode: str) -> float:
    """ABC of a curve with the values (n + 1,) for an "insertion" or a "deletion"; more is better."""
    ### BEGIN SOLUTION
    gap = values.sum() - len(values) / 2 * (values[0] + values[-1])
    return gap if mode == "insertion" else -gap
    ### END SOLUTION


@exercise(
    "Change one feature at a time",
    chapter="walk",
    prompt="""
    The simplest attribution: change each feature of $x$ alone to its value in $x'$ and return by how much the
    prediction rises, $A_j = f(x'_j{:}x_{-j}) - f(x)$.
    """,
    truth=lambda f, x, reference: insdel.explain("occlusion", f, x, reference),
    cases=pairs,
    mistakes={
        "the sign is reversed: A_j is the effect of changing x_j to x′_j, so f(x) is subtracted.": (
            lambda f, x, reference: -insdel.explain("occlusion", f, x, reference)
        ),
        "you forgot to subtract f(x).": lambda f, x, reference: f(np.where(np.eye(len(x), dtype=bool), reference, x)),
        "you started at x′ and changed features back; start at x.": (
            lambda f, x, reference: -insdel.explain("occlusion", f, reference, x)
        ),
    },
)
def alone(f: Callable, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Change of f (n,) when each feature alone is taken from the reference."""
    ### BEGIN SOLUTION
    effects = []
    for j in range(len(x)):
        mixed = x.copy()
        mixed[j] = reference[j]
        effects.append(f(mixed[None])[0] - f(x[None])[0])
    return np.array(effects)
    ### END SOLUTION


def _additive_abc(effects: np.ndarray, order: Sequence[int]) -> float:
    example = game({(j + 1,): effect for j, effect in enumerate(effects)})
    return float(insdel.abc(insdel.curve(*example[:3], np.asarray(order))))


@exercise(
    "Score a walk without walking",
    chapter="walk",
    prompt="""
    In an additive function, changing feature $j$ adds $d_j$ whatever the others are. Then no prediction is needed:
    $\\mathrm{ABC} = \\sum_{j=1}^n \\bigl(\\frac{n+1}{2} - j\\bigr)\\, d_{\\pi(j)}$.
    Write it. Mind that $j$ counts from 1 and features in code from 0.
    """,
    truth=_additive_abc,
    cases=lambda: [
        (np.array([-60.0, 50.0, 100.0]), [2, 1, 0]),
        (np.array([1.0, 4.0, 2.0, -3.0]), [2, 0, 1, 3]),
        (np.array([5.0, 1.0, 1.0, 2.0, -2.0]), [4, 0, 3, 1, 2]),
    ],
    mistakes={
        "you counted j from 0: the weights must add up to 0.": (
            lambda effects, order: sum(((len(order) + 1) / 2 - j) * effects[k] for j, k in enumerate(order))
        ),
        "you forgot the order: step j brings d of the feature that is changed in step j.": (
            lambda effects, order: _additive_abc(effects, range(len(order)))
        ),
        "you read the order as places; order[k] is the feature that is changed in step k + 1.": (
            lambda effects, order: _additive_abc(effects, np.argsort(order).tolist())
        ),
        "the middle of n steps is (n + 1) / 2, not n / 2.": (
            lambda effects, order: sum((len(order) / 2 - j) * effects[k] for j, k in enumerate(order, 1))
        ),
    },
)
def additive_abc(effects: np.ndarray, order: Sequence[int]) -> float:
    """Insertion ABC of an order, for an additive function with effects d_j (n,)."""
    ### BEGIN SOLUTION
    n = len(effects)
    return sum(((n + 1) / 2 - place) * effects[j] for place, j in enumerate(order, start=1))
    ### END SOLUTION
