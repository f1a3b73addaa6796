"""Kernel SHAP with x′ as its only background point: exact, or estimated from some subsets.

Shapley values minimise Σ_S w(|S|) (f(S) − f(∅) − Σ_{j∈S} A_j)² subject to Σ A_j = f(x′) − f(x), with
w(s) = (d − 1) / (C(d, s) s (d − s)). Over all subsets that is the exact value. From some subsets, always
together with their complements, they are estimated by regression on odd functions (`insdel.attribution.odd`);
what that leaves over of a large budget goes to the weighted regression above.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from insdel.arrays import Array, Points, to_numpy
from insdel.attribution.coalitions import Group, Task, coalition_values, count_of_size, draw_subsets, groups
from insdel.attribution.odd import LARGEST, odd_regression, odd_subsets
from insdel.errors import UserError, require_integer
from insdel.evaluate import Groups, Model, Pairs
from insdel.lattice import MAX_FEATURES, pair_lattices
from insdel.seeds import Seed, pair_seeds


class Estimate(NamedTuple):
    """Shapley values and their standard errors, (n,) or (pairs, n) each; the error is 0 where they are exact."""

    values: Array
    error: Array


def shapley(task: Task, max_features: int) -> np.ndarray:
    """Exact Shapley values of the change from x to x′, (pairs, n)."""
    found = pair_lattices(**vars(task), max_features=max_features)
    return np.stack([to_numpy(lattice.shapley()) for lattice in found])


def banzhaf(task: Task, *, max_features: int = MAX_FEATURES) -> np.ndarray:
    """Mean of f(S + j) − f(S) over all subsets S of the differing features, each counted alike.

    Unlike Shapley values these do not add up to f(x′) − f(x).
    """
    found = pair_lattices(**vars(task), max_features=max_features)
    return np.stack([to_numpy(lattice.banzhaf()) for lattice in found])


def kernel_shap(
    task: Task, *, samples: int | None = None, max_features: int = MAX_FEATURES, seed: Seed = 0
) -> np.ndarray:
    """Shapley values of the change from x to x′, exact or from `samples` subsets  [section 5].

    By default exact: from the leaves where f is the `predict` of a tree ensemble (see `insdel.Trees`), else from
    2ᵈ evaluations for d differing features, up to `max_features` of them.
    With `samples`, the paper's 120,000 say, pairs for which 2ᵈ is no more than that are still
    exact; for the others that many subsets, in pairs of complements, are drawn by `seed`, the same
    for all pairs with equally many differing features. These share what is learned about interactions (see
    `insdel.attribution.odd`), so an estimate depends on the pairs beside it, within its standard error, which
    `estimate_shapley` gives.
    """
    if samples is not None:
        return _estimate(task, samples, seed)[0]
    from insdel.tree_pairs import shapley_games

    if games := shapley_games(task.f, task.pairs):
        return np.stack([game.shapley() for game in games])
    d = int(task.pairs.differing().sum(axis=1).max())
    if d > max_features:
        raise UserError(
            f"exact Kernel SHAP needs 2**{d} evaluations for {d} differing features; the limit is 2**{max_features}. "
            "Pass samples=... to estimate it, or raise max_features; of compare these are "
            'options={"kernel_shap": {"samples": ...}}.'
        )
    return shapley(task, d)


def estimate_shapley(
    f: Model,
    x: Points,
    reference: Points | None,
    samples: int,
    *,
    groups: Groups | None = None,
    background: Points | None = None,
    seed: int = 0,
    chunk: int | None = None,
) -> Estimate:
    """Shapley values from `samples` evaluations per pair, with standard errors.

    The values are those of ``explain("kernel_shap", ..., samples=samples)``. An interval of two errors to
    either side holds the exact value for about 95 of 100 features (the chapter on cost counts).

    Parameters
    ----------
    x, reference : (n,) or (pairs, n)
    samples : evaluations of f per pair, at least 2d + 2 for d differing features; with 2ᵈ or more all is exact
    """
    pairs = Pairs.of(x, reference, groups, background)
    values, error = _estimate(Task(f, pairs, chunk), require_integer("samples", samples), seed)
    return Estimate(pairs.restore(values), pairs.restore(error))


def _estimate(task: Task, samples: int, seed: Seed) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors, (pairs, n) each."""
    pairs = task.pairs
    d = pairs.differing().sum(axis=1)
    sampled = d > max(samples, 1).bit_length() - 1
    least = max(1, 2 * int(d[sampled].max(initial=-1)) + 2)
    if samples < least:
        found = f"for {int(d[sampled].max(initial=0))} differing features, but samples is {samples}"
        raise UserError(f"Kernel SHAP needs at least {least} samples {found}.")
    values, error = np.zeros((2, len(pairs), pairs.n))
    if not sampled.all():
        exact = np.flatnonzero(~sampled)
        values[exact] = shapley(task.subset(exact), int(d.max()))
    seeds = pair_seeds(seed, len(pairs))[:, 0]  # what comes after would be a pair's own
    for common in np.unique(seeds[sampled]).tolist():
        index = np.flatnonzero(sampled & (seeds == common))
        for group in groups(task, index, max(1, samples // pairs.n)):
            result = _from_subsets(group, samples, common)
            values[group.index], error[group.index] = (group.spread(part) for part in result)
    return values, error


def _from_subsets(group: Group, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors, (pairs, d) each, from one set of subsets for all pairs of a group."""
    d = group.players.shape[1]
    weighted = None if samples // 2 <= LARGEST else sample_subsets(d, samples, seed)
    masks = odd_subsets(d, samples, seed) if weighted is None else weighted[0]
    forward, back = np.split(coalition_values(group, np.concatenate([masks, ~masks])[None]), 2, axis=1)
    y = (forward - back) / 2
    values, error, predicted = odd_regression(y[:, :LARGEST], masks[:LARGEST], masks)
    if weighted is None:
        return values, error
    more, more_error = _regress(y - predicted, *weighted)
    # at the subsets that were fitted nothing is left over, so that few others change little, and many replace the fit
    return values + more, np.hypot(error * (LARGEST / len(masks)), more_error)


def sample_subsets(d: int, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One subset of each complementary pair, (m, d), the empty one first; its weight; what is missing of its size.

    Sizes as Kernel SHAP weighs them: the smallest, which weigh most, are whole as far as the samples
    go, the others drawn, of each size as many as its weight asks for. The empty subset has no weight. 2m ≤ samples.
    """
    mass = {s: (d - 1) / (s * (d - s)) for s in range(1, d)}
    masks = draw_subsets(d, (samples - 2) // 2, mass, seed)
    size = masks.sum(axis=1)
    count = np.bincount(size, minlength=d // 2 + 1)
    sizes = range(1, d // 2 + 1)
    both = np.array([0.0, *(mass[s] * (2 if 2 * s < d else 1) for s in sizes)])
    missing = 1 - count / np.array([1.0, *(float(count_of_size(d, s)) for s in sizes)])
    drawn = missing > 0
    each = np.where(drawn, both[drawn].sum() / max(count[drawn].sum(), 1), both / np.maximum(count, 1))
    return masks, each[size], missing[size]


def _regress(
    y: np.ndarray, masks: np.ndarray, weights: np.ndarray, missing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit half-differences y, (pairs, m), by Σ ±A_j / 2 with Σ A_j = 0; A and standard errors, (pairs, d) each.

    Only subsets of sizes of which some are missing, as a share of all, make it uncertain.
    """
    signs = masks - 0.5
    factor = cho_factor((signs * weights[:, None]).T @ signs)
    free = cho_solve(factor, (signs * weights[:, None]).T)  # (d, m): A as a function of y, but for the sum
    slope = cho_solve(factor, np.ones((len(free), 1)))
    free = free - slope * (free.sum(axis=0) / slope.sum())
    values = y @ free.T
    return values, np.sqrt((missing * (y - values @ signs.T) ** 2) @ (free.T**2))
