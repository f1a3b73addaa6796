"""Attributions from walks: one step (occlusion), random orders, the myopic order, pure chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from insdel.arrays import beside
from insdel.attribution.coalitions import coalition_values, groups
from insdel.curves import check_mode
from insdel.errors import UserError
from insdel.evaluate import Model, Pairs, all_values, at_x, ends
from insdel.lattice import LATTICE_MODES
from insdel.seeds import Seed, generators


def random(f: Model, pairs: Pairs, *, seed: Seed = 0) -> np.ndarray:
    """Random numbers, so that every order is as likely as any other; pair i draws by (seed, i)."""
    drawn = [generator.standard_normal(pairs.n) for generator in generators(seed, len(pairs))]
    return np.stack(drawn)


def _values_with(
    f: Model, pairs: Pairs, taken: np.ndarray, tried: np.ndarray, chunk: int | None, progress: bool | None
) -> np.ndarray:
    """f where x′ gives the `taken` features, but for a `tried` one, of which x and x′ are swapped; NaN where not tried.

    All (pairs, n).
    """
    pair, feature = np.nonzero(tried)

    def select(rows: Any) -> tuple[Any, Any]:
        which, features = beside(pair, rows)[rows], beside(feature, rows)[rows]
        return which, beside(taken, rows)[which] ^ (features[:, None] == beside(np.arange(pairs.n), rows))

    values = np.full(tried.shape, np.nan)
    if len(pair):
        values[tried] = all_values(f, pairs, len(pair), select, chunk, progress)
    return values


def occlusion(f: Model, pairs: Pairs, *, chunk: int | None = None, progress: bool | None = False) -> np.ndarray:
    """f(x with x′_j) − f(x), the effect Δ_j of changing feature j alone  [section 3.3]."""
    differing = pairs.differing()
    values = _values_with(f, pairs, np.zeros_like(differing), differing, chunk, progress)
    return np.where(differing, values - at_x(f, pairs, chunk)[:, None], 0.0)


def two_sided(f: Model, pairs: Pairs, *, chunk: int | None = None, progress: bool | None = False) -> np.ndarray:
    """[f(x with x′_j) − f(x) + f(x′) − f(x′ with x_j)] / 2: feature j changed first, and changed last.

    2d + 2 evaluations for d differing features. Equals the Shapley value wherever no interaction has more than
    two members: such an interaction counts whole in one of the two terms, and so half.
    """
    differing = pairs.differing()
    nothing, everything = np.zeros_like(differing), np.ones_like(differing)
    first, last = (_values_with(f, pairs, taken, differing, chunk, progress) for taken in (nothing, everything))
    start, end = ends(f, pairs, chunk)
    return np.where(differing, (first - start[:, None] + end[:, None] - last) / 2, 0.0)


def shapley_sampling(
    f: Model,
    pairs: Pairs,
    *,
    permutations: int = 25,
    seed: Seed = 0,
    chunk: int | None = None,
    progress: bool | None = False,
) -> np.ndarray:
    """Shapley values as the mean gain of each feature over random orders of the differing ones.

    `permutations` (d − 1) evaluations for d differing features, and two for the ends; unbiased and
    complete whatever their number. Pair i draws by (`seed`, i).
    """
    if permutations < 1:
        raise UserError(f"shapley_sampling needs at least 1 permutation, but permutations is {permutations}.")
    draws, result = generators(seed, len(pairs)), np.zeros((len(pairs), pairs.n))
    changed = np.flatnonzero(pairs.differing().any(axis=1))
    for group in groups(pairs, changed, permutations * pairs.n):
        k, d = group.players.shape
        keys = np.stack([draws[p].random((permutations, d)) for p in group.index])
        position = keys.argsort(axis=2)
        masks = position[:, :, None] <= np.arange(d - 1)[:, None]  # after step s: players placed up to s
        ends = np.broadcast_to([[[False] * d, [True] * d]], (k, 2, d))
        values = coalition_values(f, group, np.concatenate([ends, masks.reshape(k, -1, d)], axis=1), chunk, progress)
        inner = values[:, 2:].reshape(k, permutations, d - 1)
        start, end = (np.broadcast_to(values[:, [e], None], (k, permutations, 1)) for e in (0, 1))
        gains = np.diff(np.concatenate([start, inner, end], axis=2), axis=2)
        result[group.index] = group.spread(np.take_along_axis(gains, position, axis=2).mean(axis=1))
    return result


class _Walk:
    """The myopic walk upwards (sign 1) or downwards (sign −1) of every pair, one feature at a time."""

    def __init__(self, f: Model, pairs: Pairs, sign: int, chunk: int | None, progress: bool | None) -> None:
        self.f, self.pairs, self.sign, self.how = f, pairs, sign, (chunk, progress)
        self.differing = pairs.differing()
        self.taken = np.zeros_like(self.differing)
        self.here = at_x(f, pairs, chunk)
        self.next = np.zeros(self.differing.shape)
        self.moved = np.ones(len(pairs), dtype=bool)  # else the next values are known already

    def take(self, free: np.ndarray) -> np.ndarray:
        """Take the best of the free features of every pair, the first of equals; (pairs,)."""
        tried = self.differing & free & self.moved[:, None]
        self.next = np.where(tried, _values_with(self.f, self.pairs, self.taken, tried, *self.how), self.next)
        values = np.where(self.differing, self.next, self.here[:, None])
        best = np.where(free, self.sign * values, -np.inf).argmax(axis=1)
        rows = np.arange(len(best))
        self.taken[rows, best], self.here, self.moved = True, values[rows, best], self.differing[rows, best]
        return best


def greedy(
    f: Model, pairs: Pairs, *, mode: str = "both", chunk: int | None = None, progress: bool | None = False
) -> np.ndarray:
    """Ranks from always taking the step with the best next value: a baseline that asks f itself.

    Mode "insertion" takes the feature that raises f most, "deletion" the one that lowers it most;
    "both" fills one ranking from its two ends in turn, so that it serves both tests. Unchanged
    features are steps that leave f where it is. The numbers are ranks: only their order has a
    meaning. About d (d + 1) / 2 evaluations for d differing features.
    """
    signs = {"insertion": [1], "deletion": [-1], "both": [1, -1]}[check_mode(mode, LATTICE_MODES)]
    walks = [_Walk(f, pairs, sign, chunk, progress) for sign in signs]
    result = np.zeros((len(pairs), pairs.n))
    free, rows = np.ones(result.shape, dtype=bool), np.arange(len(pairs))
    for step in range(pairs.n):
        walk = walks[step % len(walks)]
        best = walk.take(free)
        result[rows, best] = walk.sign * (pairs.n - step // len(walks))
        free[rows, best] = False
    return result
