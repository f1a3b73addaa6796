"""Attributions from walks: one step (occlusion), random orders, the myopic order, pure chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from insdel.arrays import beside
from insdel.attribution.coalitions import Task, coalition_values, groups
from insdel.curves import check_mode
from insdel.errors import UserError
from insdel.evaluate import at_x, ends
from insdel.lattice import LATTICE_MODES
from insdel.seeds import Seed, generators


def random(task: Task, *, seed: Seed = 0) -> np.ndarray:
    """Random numbers, so that every order is as likely as any other; pair i draws by (seed, i)."""
    return np.stack([each.standard_normal(task.pairs.n) for each in generators(seed, len(task.pairs))])


def _values_with(task: Task, taken: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """f where x′ gives the `taken` features, but for a `tried` one, of which x and x′ are swapped; NaN where not tried.

    All (pairs, n).
    """
    pair, feature = np.nonzero(tried)

    def select(rows: Any) -> tuple[Any, Any]:
        which, features = beside(pair, rows)[rows], beside(feature, rows)[rows]
        return which, beside(taken, rows)[which] ^ (features[:, None] == beside(np.arange(tried.shape[1]), rows))

    values = np.full(tried.shape, np.nan)
    if len(pair):
        values[tried] = task.values(len(pair), select)
    return values


def occlusion(task: Task) -> np.ndarray:
    """f(x with x′_j) − f(x), the effect Δ_j of changing feature j alone  [section 3.3]."""
    differing = task.pairs.differing()
    values = _values_with(task, np.zeros_like(differing), differing)
    return np.where(differing, values - at_x(task.f, task.pairs, task.chunk)[:, None], 0.0)


def two_sided(task: Task) -> np.ndarray:
    """[f(x with x′_j) − f(x) + f(x′) − f(x′ with x_j)] / 2: feature j changed first, and changed last.

    2d + 2 evaluations for d differing features. Equals the Shapley value wherever no interaction has more than
    two members: such an interaction counts whole in one of the two terms, and so half.
    """
    differing = task.pairs.differing()
    nothing, everything = np.zeros_like(differing), np.ones_like(differing)
    first, last = (_values_with(task, taken, differing) for taken in (nothing, everything))
    start, end = ends(task.f, task.pairs, task.chunk)
    return np.where(differing, (first - start[:, None] + end[:, None] - last) / 2, 0.0)


def shapley_sampling(task: Task, *, permutations: int = 25, seed: Seed = 0) -> np.ndarray:
    """Shapley values as the mean gain of each feature over random orders of the differing ones.

    `permutations` (d − 1) evaluations for d differing features, and two for the ends; unbiased and
    complete whatever their number. Pair i draws by (`seed`, i).
    """
    if permutations < 1:
        raise UserError(f"shapley_sampling needs at least 1 permutation, but permutations is {permutations}.")
    pairs = task.pairs
    draws, result = generators(seed, len(pairs)), np.zeros((len(pairs), pairs.n))
    changed = np.flatnonzero(pairs.differing().any(axis=1))
    for group in groups(task, changed, permutations * pairs.n):
        k, d = group.players.shape
        keys = np.stack([draws[p].random((permutations, d)) for p in group.index])
        position = keys.argsort(axis=2)
        masks = position[:, :, None] <= np.arange(d - 1)[:, None]  # after step s: players placed up to s
        ends = np.broadcast_to([[[False] * d, [True] * d]], (k, 2, d))
        values = coalition_values(group, np.concatenate([ends, masks.reshape(k, -1, d)], axis=1))
        inner = values[:, 2:].reshape(k, permutations, d - 1)
        start, end = (np.broadcast_to(values[:, [e], None], (k, permutations, 1)) for e in (0, 1))
        gains = np.diff(np.concatenate([start, inner, end], axis=2), axis=2)
        result[group.index] = group.spread(np.take_along_axis(gains, position, axis=2).mean(axis=1))
    return result


def greedy(task: Task, *, mode: str = "both") -> np.ndarray:
    """Ranks from always taking the step with the best next value: a baseline that asks f itself.

    Mode "insertion" takes the feature that raises f most, "deletion" the one that lowers it most;
    "both" fills one ranking from its two ends in turn, so that it serves both tests. Unchanged
    features are steps that leave f where it is. The numbers are ranks: only their order has a
    meaning. About d (d + 1) / 2 evaluations for d differing features.
    """
    signs = {"insertion": [1], "deletion": [-1], "both": [1, -1]}[check_mode(mode, LATTICE_MODES)]
    differing, rows, n = task.pairs.differing(), np.arange(len(task.pairs)), task.pairs.n
    result, free = np.zeros(differing.shape), np.ones_like(differing)
    taken = [np.zeros_like(differing) for _ in signs]  # by each walk: one for each sign
    here = [at_x(task.f, task.pairs, task.chunk) for _ in signs]
    known = [np.zeros(differing.shape) for _ in signs]  # values after one step more
    moved = np.ones((len(signs), len(rows)), dtype=bool)  # else they are those of the step before
    for step in range(n):
        k = step % len(signs)
        tried = differing & free & moved[k][:, None]
        known[k] = np.where(tried, _values_with(task, taken[k], tried), known[k])
        values = np.where(differing, known[k], here[k][:, None])
        best = np.where(free, signs[k] * values, -np.inf).argmax(axis=1)  # the first of equals
        taken[k][rows, best], here[k], moved[k] = True, values[rows, best], differing[rows, best]
        result[rows, best], free[rows, best] = signs[k] * (n - step // len(signs)), False
    return result
