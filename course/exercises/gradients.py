"""Exercises about attributions that follow a path or fit a line: IG, input × gradient, LIME, binary features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

import insdel
from course.exercises import figures as pictures
from course.exercises.base import exercise
from course.exercises.grading import Answer
from course.exercises.material import SEED, Slope, bent, slopes


def _ig(slope: Slope, x: np.ndarray, reference: np.ndarray, steps: int, rule: str = "riemann_middle") -> np.ndarray:
    return np.asarray(insdel.explain("integrated_gradients", slope.f, x, reference, steps=steps, rule=rule))


@exercise(
    "Integrate the gradient",
    chapter="best",
    points=3,
    prompt="""
    $\\mathrm{IG}_j = (x'_j - x_j)\\int_0^1 \\frac{\\partial f}{\\partial x_j}\\bigl(x + t(x' - x)\\bigr)\\,dt$.
    Cut the path into `steps` pieces of equal length and take the gradient in the **middle** of each. `gradient` maps
    points, one per row, to gradients, one per row.
    """,
    truth=_ig,
    cases=lambda: [(*case, steps) for case, steps in zip(slopes(), (2, 10, 5), strict=True)],
    mistakes={
        "the factor x′_j − x_j is missing (the paper's formula forgets it, too); without it nothing adds up.": (
            lambda slope, x, reference, steps: _ig(slope, x, reference, steps) / (reference - x)
        ),
        "you took the left end of each piece; take the middle, t = (k + ½) / steps.": (
            lambda slope, x, reference, steps: _ig(slope, x, reference, steps, "riemann_left")
        ),
        "you took the right end of each piece; take the middle, t = (k + ½) / steps.": (
            lambda slope, x, reference, steps: _ig(slope, x, reference, steps, "riemann_right")
        ),
        "the sign is reversed: A is the effect of changing x to x′, so the factor is x′ − x. (Libraries that explain x "
        "against a baseline x′ return s = −A.)": lambda slope, x, reference, steps: -_ig(slope, x, reference, steps),
        "you took the gradient at x only; it has to be averaged along the path.": (
            lambda slope, x, reference, steps: (reference - x) * slope(x)[0]
        ),
    },
)
def integrated_gradients(gradient: Callable, x: np.ndarray, reference: np.ndarray, steps: int) -> np.ndarray:
    """Integrated gradients (n,) from x to the reference, by the midpoint rule."""
    ### BEGIN SOLUTION
    t = (np.arange(steps) + 0.5) / steps
    path = x + t[:, None] * (reference - x)
    return (reference - x) * gradient(path).mean(axis=0)
    ### END SOLUTION


def _logistic_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 4)
    simple = np.array([1.0, -2.0]), np.array([0.0, 0.0]), np.array([1.0, 1.0])
    return [simple, *(tuple(rng.normal(size=(3, 4)).round(1)) for _ in range(2))]


def _logistic_ig(beta: np.ndarray, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    weights = torch.tensor(beta, dtype=torch.float64)
    options = {"steps": 60, "rule": "gauss_legendre"}
    return np.asarray(
        insdel.explain("integrated_gradients", lambda z: torch.sigmoid(z @ weights), x, reference, **options)
    )


@exercise(
    "Integrate without an integral",
    chapter="best",
    prompt="""
    For $f(x) = \\sigma(x^\\top\\beta)$ with $\\sigma(w) = 1/(1+e^{-w})$ the integral is the same for every feature:
    $\\mathrm{IG}_j = \\gamma_j c$ with $\\gamma_j = (x'_j - x_j)\\beta_j$. Find $c$ from completeness,
    $\\sum_j \\mathrm{IG}_j = f(x') - f(x)$, and return IG exactly.
    """,
    truth=_logistic_ig,
    cases=_logistic_cases,
    mistakes={
        "that is γ itself; multiply by c = (f(x′) − f(x)) / Σγ.": lambda beta, x, reference: (reference - x) * beta,
        "the sign is reversed: completeness asks for f(x′) − f(x).": lambda *case: -_logistic_ig(*case),
        "you gave every feature the same share of f(x′) − f(x); shares go by γ.": (
            lambda beta, x, reference: np.full(len(x), _logistic_ig(beta, x, reference).mean())
        ),
    },
)
def ig_of_score(beta: np.ndarray, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Exact integrated gradients (n,) of a logistic regression without intercept."""
    ### BEGIN SOLUTION
    gamma = (reference - x) * beta
    start, end = 1 / (1 + np.exp(-np.array([x, reference]) @ beta))
    return gamma * (end - start) / gamma.sum()
    ### END SOLUTION


def _input_x_gradient(slope: Slope, x: np.ndarray) -> np.ndarray:
    return np.asarray(insdel.explain("input_x_gradient", slope.f, x, x + 1))


@exercise(
    "Turn a library's sign",
    chapter="cern",
    points=1,
    prompt="""
    Libraries define input × gradient as $s_j = x_j\\,\\partial f/\\partial x_j$ at $x$: what the value $x_j$ **adds**,
    compared with 0. In an insertion test $A_j$ is the effect of giving $x_j$ **up**. Return $A$.
    """,
    truth=_input_x_gradient,
    cases=lambda: [case[:2] for case in slopes()],
    mistakes={
        "sign: A = −s. With s itself, insertion would begin with what raises f least.": (
            lambda slope, x: -_input_x_gradient(slope, x)
        ),
        "you took the absolute value; both tests need the sign.": lambda slope, x: np.abs(_input_x_gradient(slope, x)),
        "the factor x_j is missing: that is the vanilla gradient.": (
            lambda slope, x: np.asarray(insdel.explain("vanilla_grad", slope.f, x, x + 1))
        ),
    },
)
def input_x_gradient(gradient: Callable, x: np.ndarray) -> np.ndarray:
    """Effects A (n,) by input × gradient; `gradient` maps points (m, n) to gradients (m, n)."""
    ### BEGIN SOLUTION
    return -x * gradient(x[None])[0]
    ### END SOLUTION


def _lime_cases() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(SEED + 5)
    points, masks = rng.normal(size=(2, 2, 4)).round(1), rng.random((2, 12, 4)) < 0.5
    return [(bent, *points[k], masks[k]) for k in range(2)]


def _lime(f: Callable, x: np.ndarray, reference: np.ndarray, keep: np.ndarray, intercept: bool = True) -> np.ndarray:
    from sklearn.linear_model import LinearRegression

    values = f(np.where(keep, x, reference))
    return -LinearRegression(fit_intercept=intercept).fit(keep.astype(float), values).coef_


@exercise(
    "Fit a line, as LIME does",
    chapter="bangalore",
    points=3,
    prompt="""
    The core of LIME, without weights and penalty. Each row of `keep` says which features keep $x$'s value; the others
    come from $x'$. Predict these hybrids, fit $f \\approx b + \\sum_j s_j\\,\\mathrm{keep}_j$ by least squares with an
    intercept $b$, and return $A$, the effects of **changing** $x_j$ to $x'_j$.
    """,
    truth=_lime,
    cases=_lime_cases,
    mistakes={
        "sign: A = −s. A coefficient measures what keeping x_j adds; A is the effect of changing it.": (
            lambda *case: -_lime(*case)
        ),
        "the intercept is missing: add a column of ones.": (
            lambda f, x, reference, keep: _lime(f, x, reference, keep, intercept=False)
        ),
        "you read `keep` the wrong way round: where it is True the hybrid has x's value.": (
            lambda f, x, reference, keep: _lime(f, reference, x, keep)
        ),
    },
)
def lime_effects(f: Callable, x: np.ndarray, reference: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Effects A (n,) from a least-squares fit to hybrids; keep (m, n) is True where x's value stays."""
    ### BEGIN SOLUTION
    values = f(np.where(keep, x, reference))
    design = np.column_stack([np.ones(len(keep)), keep])
    coefficients = np.linalg.lstsq(design, values, rcond=None)[0]
    return -coefficients[1:]
    ### END SOLUTION


def bumpy_price(houses: np.ndarray) -> np.ndarray:
    """Price by area, metro and garden (0 or 1), with a bump between 0 and 1 that no house can have, (m, 3) → (m,)."""
    area, metro, garden = houses[:, 0], houses[:, 1], houses[:, 2]
    known = 50 + (4 - metro) * (area + 50 * garden * (1 - area / 200))
    return known + 150 * (metro - 1) * garden * (1 - garden)


HOUSES = np.array([100.0, 2.0, 0.0]), np.array([80.0, 1.0, 1.0])


def _jump_cases() -> list[tuple[Any, ...]]:
    points = np.random.default_rng(SEED + 6).normal(size=(2, 4)).round(1)
    return [(bumpy_price, *HOUSES, 2, 0.5), (bumpy_price, *HOUSES, 2, 0.2), (bent, *points, 0, 0.7)]


def _jump(f: Callable, x: np.ndarray, reference: np.ndarray, j: int, time: float) -> float:
    before, after = np.outer([1 - time] * 2, x) + np.outer([time] * 2, reference)
    before[j], after[j] = x[j], reference[j]
    return float(f(after[None])[0] - f(before[None])[0])


@exercise(
    "Jump from 0 to 1",
    chapter="binary",
    prompt="""
    Feature `j` is binary, so it cannot move along the straight path from $x$ to $x'$; it jumps at the given `time`
    between 0 and 1. All other features are then at $x + \\text{time}\\cdot(x' - x)$. Return the credit of feature `j`:
    the change of the prediction in the jump.
    """,
    truth=_jump,
    cases=_jump_cases,
    mistakes={
        "the other features are still at x; at the jump they are on their way.": (
            lambda f, x, reference, j, time: _jump(f, x, reference, j, 0.0)
        ),
        "the other features are at x′ already; at the jump they are on their way.": (
            lambda f, x, reference, j, time: _jump(f, x, reference, j, 1.0)
        ),
        "the sign is reversed: the prediction after the jump minus the one before.": lambda *case: -_jump(*case),
        "time runs from x to x′: at time 0 the others are at x.": (
            lambda f, x, reference, j, time: _jump(f, x, reference, j, 1 - time)
        ),
    },
)
def jump_credit(f: Callable, x: np.ndarray, reference: np.ndarray, j: int, time: float) -> float:
    """Change of f when the binary feature j jumps to the reference's value at the given time."""
    ### BEGIN SOLUTION
    before = x + time * (reference - x)
    after = before.copy()
    before[j], after[j] = x[j], reference[j]
    return f(after[None])[0] - f(before[None])[0]
    ### END SOLUTION


def _interpolated(f: Callable, x: np.ndarray, reference: np.ndarray, binary: Sequence[int], time: float) -> float:
    """The same by recursion: settle one binary feature after the other."""

    def settle(point: np.ndarray, left: list[int]) -> float:
        if not left:
            return float(f(point[None])[0])
        low, high = point.copy(), point.copy()
        low[left[0]], high[left[0]] = x[left[0]], reference[left[0]]
        return (1 - time) * settle(low, left[1:]) + time * settle(high, left[1:])

    return settle(x + time * (reference - x), list(binary))


def _equal_corners(f: Callable, x: np.ndarray, reference: np.ndarray, binary: Sequence[int], time: float) -> float:
    point = x + time * (reference - x)
    corners = np.array([point] * 2 ** len(binary))
    corners[:, list(binary)] = list(product(*([x[j], reference[j]] for j in binary)))
    return float(f(corners).mean())


def _interpolated_cases() -> list[tuple[Any, ...]]:
    points = np.random.default_rng(SEED + 7).normal(size=(2, 4)).round(1)
    return [(bumpy_price, *HOUSES, [2], 0.25), (bent, *points, [0, 1], 0.3), (bent, *points, [0, 2, 3], 0.8)]


def _cast(f: Callable, x: np.ndarray, reference: np.ndarray, binary: Sequence[int], time: float) -> float:
    return float(f((x + time * (reference - x))[None])[0])


def _draw_interpolated(answer: Answer) -> Figure:
    times = np.linspace(0, 1, 41)
    lines = {
        "interpolated: real gardens only": [answer(bumpy_price, *HOUSES, [2], t) for t in times],
        "cast: a fraction of a garden": [_cast(bumpy_price, *HOUSES, [2], t) for t in times],
    }
    return pictures.exercise_lines(times, lines, "time on the way from x to x′", "price in thousands")


@exercise(
    "Ask about possible points only",
    chapter="binary",
    points=3,
    prompt="""
    Interpolating: at time $t$ each binary feature already has the value of $x'$ with probability $t$, independently,
    and the other features are at $x + t\\,(x' - x)$. Return the expected prediction at that time, a sum over the $2^m$
    corners of the $m$ binary features. No point with a fraction of a binary feature may be asked about.
    """,
    truth=_interpolated,
    cases=_interpolated_cases,
    mistakes={
        "you put fractions into the binary features (casting); ask about the corners only.": _cast,
        "t and 1 − t are swapped in the probabilities.": (
            lambda f, x, reference, binary, time: _interpolated(f, *_swapped(x, reference, binary), binary, time)
        ),
        "all corners have the same weight in your mean; a corner with k features changed has t^k (1 − t)^(m − k).": (
            _equal_corners
        ),
    },
    figure=_draw_interpolated,
)
def interpolated(f: Callable, x: np.ndarray, reference: np.ndarray, binary: Sequence[int], time: float) -> float:
    """Expected prediction at a time when each feature in `binary` has changed with that probability."""
    ### BEGIN SOLUTION
    total = 0.0
    for changed in product([False, True], repeat=len(binary)):
        point, chance = x + time * (reference - x), 1.0
        for j, has_changed in zip(binary, changed, strict=True):
            point[j] = reference[j] if has_changed else x[j]
            chance *= time if has_changed else 1 - time
        total += chance * f(point[None])[0]
    return total
    ### END SOLUTION


def _swapped(x: np.ndarray, reference: np.ndarray, binary: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The pair with the values of the binary features exchanged."""
    swap = np.isin(np.arange(len(x)), binary)
    return np.where(swap, reference, x), np.where(swap, x, reference)
