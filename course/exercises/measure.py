"""Exercises about experiments: data, pairs, standard errors, pixels, and remove-and-retrain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import insdel
from course.exercises import figures as pictures
from course.exercises.base import exercise
from course.exercises.grading import Answer
from course.exercises.material import SEED, bent
from insdel_paper.data import physics


def _mass_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 8)
    cases: list[tuple[Any, ...]] = [(np.array([5.0, 3.0, 0.0, 0.0]), np.array([13.0, 0.0, 5.0, 0.0]))]
    for _ in range(3):
        pt, eta, phi = rng.uniform(5, 40, 2), rng.uniform(-2, 2, 2), rng.uniform(-3, 3, 2)
        track = physics.momenta(pt, eta, phi)
        cases.append(tuple(np.stack([track[key] for key in ("E", "px", "py", "pz")], axis=1)))
    return cases


def _mass(first: np.ndarray, second: np.ndarray) -> float:
    """M² = m₁² + m₂² + 2(E₁E₂ − p₁·p₂): the same by another formula."""
    squares = [p[0] ** 2 - p[1:] @ p[1:] for p in (first, second)]
    return float(np.sqrt(sum(squares) + 2 * (first[0] * second[0] - first[1:] @ second[1:])))


@exercise(
    "Weigh two electrons",
    chapter="data-models",
    points=1,
    prompt="""
    The target of the CERN data is the invariant mass of two electrons,
    $M^2 = (E_1 + E_2)^2 - \\lVert p_1 + p_2\\rVert^2$ with momenta $p = (p_x, p_y, p_z)$, all in GeV.
    Each electron comes as an array $(E, p_x, p_y, p_z)$.
    """,
    truth=_mass,
    cases=_mass_cases,
    mistakes={
        "that is M²; the square root is missing.": lambda first, second: _mass(first, second) ** 2,
        "that is the energy; the momentum has to be subtracted.": lambda first, second: first[0] + second[0],
        "you added the masses of the two electrons; add their momenta first, as vectors.": (
            lambda first, second: sum(np.sqrt(max(p[0] ** 2 - p[1:] @ p[1:], 0.0)) for p in (first, second))
        ),
        "you subtracted the lengths of the momenta; directions count: add the vectors first.": (
            lambda first, second: np.sqrt(
                (first[0] + second[0]) ** 2 - np.linalg.norm(first[1:]) ** 2 - np.linalg.norm(second[1:]) ** 2
            )
        ),
    },
)
def invariant_mass(first: np.ndarray, second: np.ndarray) -> float:
    """Invariant mass of two particles, each (4,): E, px, py, pz."""
    ### BEGIN SOLUTION
    total = first + second
    return np.sqrt(total[0] ** 2 - np.sum(total[1:] ** 2))
    ### END SOLUTION


def _partner_cases() -> list[tuple[Any, ...]]:
    points = np.random.default_rng(SEED + 9).integers(0, 3, (30, 4)).astype(float)
    points += np.random.default_rng(SEED + 10).normal(scale=0.01, size=(30, 4)).round(4) * [1, 1, 0, 0]
    return [(bent, points, i, 3, 5) for i in (0, 3, 7, 11, 17, 19)]


def _partner(f: Callable, points: np.ndarray, i: int, at_least: int, nearest: int) -> int:
    pairs = insdel.policies.counterfactual(f, points, at_least=at_least, nearest=nearest)
    assert pairs.reference_index is not None
    return int(pairs.reference_index[list(pairs.index).index(i)])


@exercise(
    "Choose a counterfactual",
    chapter="bangalore",
    points=3,
    prompt="""
    The counterfactual policy gives row $i$ a reference: of the rows that differ from it in at least `at_least` features
    (exactly, bit for bit), take the `nearest` ones in Euclidean distance, and of these the one whose prediction differs
    most, in either direction. Return its row number.
    """,
    truth=_partner,
    cases=_partner_cases,
    mistakes={
        "that is the nearest row; of the nearest ones take that with the largest |f(x′) − f(x)|.": (
            lambda f, points, i, at_least, nearest: _partner(f, points, i, at_least, 1)
        ),
        "you searched all candidates; only the nearest ones compete.": (
            lambda f, points, i, at_least, nearest: _partner(f, points, i, at_least, len(points))
        ),
        "you took the largest f(x′); the difference may go either way: |f(x′) − f(x)|.": (
            lambda f, points, i, at_least, nearest: _highest(f, points, i, at_least, nearest)
        ),
        "you took the nearest rows first and then asked for `at_least` differing features; ask first.": (
            lambda f, points, i, at_least, nearest: _filtered_late(f, points, i, at_least, nearest)
        ),
        "you did not ask for `at_least` differing features.": (
            lambda f, points, i, at_least, nearest: _partner(f, points, i, 1, nearest)
        ),
    },
)
def counterfactual(f: Callable, points: np.ndarray, i: int, at_least: int, nearest: int) -> int:
    """Row of the reference for row i of the points (m, n)."""
    ### BEGIN SOLUTION
    differing = (points != points[i]).sum(axis=1)
    candidates = np.flatnonzero(differing >= at_least)
    distance = np.linalg.norm(points[candidates] - points[i], axis=1)
    near = candidates[np.argsort(distance, kind="stable")[:nearest]]
    gap = np.abs(f(points[near]) - f(points[i : i + 1]))
    return near[np.argmax(gap)]
    ### END SOLUTION


def _highest(f: Callable, points: np.ndarray, i: int, at_least: int, nearest: int) -> int:
    """The candidate with the largest prediction."""
    rows = np.flatnonzero((points != points[i]).sum(axis=1) >= at_least)
    near = rows[np.argsort(((points[rows] - points[i]) ** 2).sum(axis=1), kind="stable")[:nearest]]
    return int(near[np.argmax(f(points[near]))])


def _filtered_late(f: Callable, points: np.ndarray, i: int, at_least: int, nearest: int) -> int:
    """Of the nearest rows those with enough differing features, and of these the one with the largest gap."""
    rows = np.argsort(((points - points[i]) ** 2).sum(axis=1), kind="stable")
    near = [k for k in rows[rows != i][:nearest] if (points[k] != points[i]).sum() >= at_least]
    return int(near[np.argmax(np.abs(f(points[near]) - f(points[i : i + 1])))]) if near else -1


def _score_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 11)
    few = (np.array([2.0, 4.0, 4.0, 6.0]), np.array([0, 1, 2, 3]), np.array([4, 4, 5, 5]))
    x, reference = np.arange(20), rng.integers(20, 25, 20)
    effects = rng.normal(size=25)
    both = np.concatenate([np.arange(6), np.arange(6, 12)]), np.concatenate([np.arange(6, 12), np.arange(6)])
    twice = np.tile(rng.normal(size=6).round(2), 2)
    return [few, ((effects[reference] + 0.1 * rng.normal(size=20)).round(2), x, reference), (twice, *both)]


def _point_error(scores: np.ndarray, x: np.ndarray, reference: np.ndarray) -> float:
    """√(Σ e_k e_l over all k, l whose pairs have a point in common) / m, written as a double loop."""
    off, ends = scores - scores.mean(), [{a, b} for a, b in zip(x.tolist(), reference.tolist(), strict=True)]
    total = sum(off[k] * off[j] for k in range(len(off)) for j in range(len(off)) if ends[k] & ends[j])
    return float(np.sqrt(total)) / len(off)


@exercise(
    "Give a mean its error",
    chapter="bangalore",
    points=2,
    prompt="""
    The tables print mean ABCs with standard errors. Scores of pairs that share a house are not independent. With
    $e_k$ for score $k$ minus the mean, add up $e_ke_l$ over all $k$ and $l$ (also $k = l$) whose pairs have a point in
    common, take the square root, and divide by the number of pairs $m$. Pair $k$ has the points `x[k]` and
    `reference[k]`, given by their row numbers; a point may be the $x$ of one pair and the reference of another.
    """,
    truth=_point_error,
    cases=_score_cases,
    mistakes={
        "you treated the pairs as independent, as in sd / √m; pairs that share a point are not.": (
            lambda scores, x, reference: np.sqrt(((scores - scores.mean()) ** 2).sum()) / len(scores)
        ),
        "that is sd / √m, for independent pairs; add the products of pairs that share a point.": (
            lambda scores, x, reference: pd.Series(scores).sem()
        ),
        "you compared x with x and references with references only; a point can be x here and reference there.": (
            lambda scores, x, reference: _point_error(scores, x, reference + 1000)
        ),
        "that is the variance of the mean; take the square root.": (
            lambda scores, x, reference: _point_error(scores, x, reference) ** 2
        ),
        "you divided by √m; the sum has up to m² terms, so its root is divided by m.": (
            lambda scores, x, reference: _point_error(scores, x, reference) * np.sqrt(len(scores))
        ),
    },
)
def standard_error(scores: np.ndarray, x: np.ndarray, reference: np.ndarray) -> float:
    """Standard error of the mean of the scores (m,) of pairs with the points x (m,) and reference (m,)."""
    ### BEGIN SOLUTION
    off = scores - scores.mean()
    shared = sum(a[:, None] == b for a in (x, reference) for b in (x, reference)) > 0
    return np.sqrt(off @ shared @ off) / len(scores)
    ### END SOLUTION


def _paired_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 12)
    pair_effects = rng.normal(scale=5, size=25)
    methods = pair_effects + rng.normal(size=(2, 25)) + np.array([[0.5], [0.0]])
    return [(np.array([5.0, 9.0, 1.0, 6.0]), np.array([4.0, 8.0, 1.0, 4.0])), tuple(methods.round(2))]


def _paired(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    gap = pd.Series(a) - pd.Series(b)
    return np.array([gap.mean(), gap.sem()])


def _unpaired(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([a.mean() - b.mean(), np.hypot(pd.Series(a).sem(), pd.Series(b).sem())])


def _draw_paired(answer: Answer) -> Figure:
    a, b = _paired_cases()[1]
    (mean, error), unpaired = answer(a, b), _unpaired(a, b)
    return pictures.exercise_errors(
        ["pair by pair", "as if unpaired"], [mean, unpaired[0]], [error, unpaired[1]], "difference of two methods"
    )


@exercise(
    "Compare two methods on the same pairs",
    chapter="bangalore",
    prompt="""
    Two methods were scored on the same pairs: `a[k]` and `b[k]` belong to pair $k$. Return the mean of the difference
    $a - b$ and its standard error, as two numbers. Pairs that are easy for one method are easy for the other, too; use
    that. No two of these pairs have a point in common, so that the differences are independent and the standard error
    is their standard deviation (with $m - 1$) over $\\sqrt m$. Pairs that share points need the error of the exercise
    “Give a mean its error”.
    """,
    truth=_paired,
    cases=_paired_cases,
    mistakes={
        "your error treats the two as unpaired, √(se_a² + se_b²); subtract pair by pair first.": _unpaired,
        "a and b are swapped.": lambda a, b: _paired(b, a),
        "that is the mean only; return the mean and its standard error.": lambda a, b: _paired(a, b)[0],
        "the second number is the spread of the differences; divide by √m.": (
            lambda a, b: _paired(a, b) * [1, np.sqrt(len(a))]
        ),
    },
    figure=_draw_paired,
)
def paired_difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Mean of a − b and its standard error, for scores (m,) on the same m pairs."""
    ### BEGIN SOLUTION
    gap = a - b
    return gap.mean(), gap.std(ddof=1) / np.sqrt(len(gap))
    ### END SOLUTION


def _ring() -> tuple[np.ndarray, np.ndarray]:
    """A drawn ring in colour, (24, 24, 3), and a saliency map that is highest on it, (24, 24)."""
    rows, columns = np.mgrid[:24, :24]
    distance = np.hypot(rows - 11.3, columns - 12.1)
    on_ring = np.abs(distance - 7) < 2
    image = np.where(on_ring[..., None], [0.9, 0.4, 0.1], [0.2, 0.3, 0.5] + 0.01 * rows[..., None])
    return image, np.exp(-np.abs(distance - 7)) + 1e-6 * (24 * rows + columns)


def _pixel_cases() -> list[tuple[Any, ...]]:
    small = np.arange(12.0).reshape(2, 2, 3), np.array([[0.1, 0.9], [0.5, 0.3]])
    image, saliency = _ring()
    return [(*small, 2, 0.0), (*small, 1, -1.0), (image[::3, ::3], saliency[::3, ::3], 20, 0.5)]


def _blank(image: np.ndarray, saliency: np.ndarray, count: int, fill: float, most: bool = True) -> np.ndarray:
    ranked = insdel.order(saliency.ravel(), "insertion" if most else "deletion")
    gone = np.isin(np.arange(saliency.size), ranked[:count]).reshape(saliency.shape)
    return np.where(gone[..., None], fill, image)


def _draw_blank(answer: Answer) -> Figure:
    image, saliency = _ring()
    return pictures.exercise_pictures(
        {"image": image, "saliency": saliency, "120 pixels deleted": answer(image, saliency, 120, 0.5)}
    )


@exercise(
    "Delete pixels",
    chapter="images",
    prompt="""
    Deletion on an image: overwrite the `count` pixels with the largest saliency by `fill`, all three colours of them,
    and return the new image. Leave the given one as it is.
    """,
    truth=_blank,
    cases=_pixel_cases,
    mistakes={
        "you deleted the pixels with the smallest saliency.": (
            lambda image, saliency, count, fill: _blank(image, saliency, count, fill, most=False)
        ),
        "only one colour was overwritten; a pixel has three.": (
            lambda image, saliency, count, fill: np.concatenate(
                [_blank(image, saliency, count, fill)[..., :1], image[..., 1:]], axis=2
            )
        ),
        "you kept the salient pixels and overwrote all others: that is the beginning of an insertion.": (
            lambda image, saliency, count, fill: _blank(image, saliency, saliency.size - count, fill, most=False)
        ),
    },
    figure=_draw_blank,
)
def blank_pixels(image: np.ndarray, saliency: np.ndarray, count: int, fill: float) -> np.ndarray:
    """Image (h, w, 3) in which the `count` pixels with the largest saliency (h, w) are overwritten."""
    ### BEGIN SOLUTION
    result = image.copy()
    salient = np.argsort(-saliency, axis=None, kind="stable")[:count]
    result[np.unravel_index(salient, saliency.shape)] = fill
    return result
    ### END SOLUTION


def _train_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 13)
    rows = np.column_stack([rng.normal(2, 1, 11).round(1), rng.random(11) < 0.8, rng.exponential(size=11).round(1)])
    more = np.column_stack([rng.random(9) < 0.3, rng.normal(size=9).round(1), rng.random(9) < 0.7])
    return [(rows, [1]), (more, [0, 2]), (rows[:7], [])]


def _fill(train: np.ndarray, binary: list[int]) -> np.ndarray:
    table = pd.DataFrame(train)
    return np.array([table[j].mode()[0] if j in binary else table[j].mean() for j in table])


@exercise(
    "Say what \"removed\" means",
    chapter="roar",
    points=1,
    prompt="""
    Remove-and-retrain overwrites features by values without information. The paper takes the mean of the training rows
    for continuous features and their most frequent value for binary ones. Return these values, one per feature;
    `binary` lists the features that hold 0 or 1.
    """,
    truth=_fill,
    cases=_train_cases,
    mistakes={
        "you took the mean of the binary features, too; no house has a fraction of a garden.": (
            lambda train, binary: train.mean(axis=0)
        ),
        "you took the median of the continuous features; the paper takes the mean.": (
            lambda train, binary: np.median(train, axis=0)
        ),
        "you overwrote by 0; that is a value like any other, and carries information.": (
            lambda train, binary: np.zeros(train.shape[1])
        ),
    },
)
def fill_values(train: np.ndarray, binary: list[int]) -> np.ndarray:
    """Mean (continuous) or mode (binary, 0 or 1) of every column of the training rows (m, n)."""
    ### BEGIN SOLUTION
    values = train.mean(axis=0)
    values[binary] = values[binary] > 0.5
    return values
    ### END SOLUTION


def _roar_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 14)
    rows, attributions = rng.normal(size=(2, 6, 5)).round(2)
    simple = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[-9.0, 1.0, 2.0], [3.0, 0.5, -1.0]])
    fills = (2, np.arange(5.0)), (4, np.full(5, 0.5))
    return [(*simple, 1, np.zeros(3)), *((rows, attributions, *fill) for fill in fills)]


def _removed(rows: np.ndarray, key: np.ndarray, count: int, fill: np.ndarray) -> np.ndarray:
    """Overwrite where the key is among the `count` largest of its row."""
    places = np.argsort(insdel.order(key), axis=1)
    return np.where(places < count, fill, rows)


@exercise(
    "Remove what matters",
    chapter="roar",
    prompt="""
    In every row, overwrite the `count` features with the largest $|A_j|$ of **that row** by their values in `fill`.
    A loss does not care for signs, so the absolute value decides. Leave `rows` as it is and return a new array.
    """,
    truth=lambda rows, attributions, count, fill: _removed(rows, np.abs(attributions), count, fill),
    cases=_roar_cases,
    mistakes={
        "you sorted by the signed attributions; take |A|.": _removed,
        "you removed the features with the smallest |A|.": (
            lambda rows, attributions, count, fill: _removed(rows, -np.abs(attributions), count, fill)
        ),
        "you removed the same features from all rows; each row has its own ranking.": (
            lambda rows, attributions, count, fill: _removed(
                rows, np.broadcast_to(np.abs(attributions).mean(axis=0), rows.shape), count, fill
            )
        ),
    },
)
def remove_features(rows: np.ndarray, attributions: np.ndarray, count: int, fill: np.ndarray) -> np.ndarray:
    """Rows (m, n) with the most important features of each overwritten by `fill` (n,)."""
    ### BEGIN SOLUTION
    result = rows.copy()
    top = np.argsort(-np.abs(attributions), axis=1, kind="stable")[:, :count]
    for row, features in enumerate(top):
        result[row, features] = fill[features]
    return result
    ### END SOLUTION
