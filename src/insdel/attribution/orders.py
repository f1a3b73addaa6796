"""Attributions from walks: one step (occlusion), random orders, the myopic order, pure chance."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from insdel.attribution.coalitions import coalition_values, groups
from insdel.curves import check_mode
from insdel.errors import UserError
from insdel.evaluate import Model, Pairs, at_x, ends, hybrid_values
from insdel.lattice import LATTICE_MODES
from insdel.seeds import Seed, generators


def random(f: Model, pairs: Pairs, *, seed: Seed = 0) -> Tensor:
    """Random numbers, so that every order is as likely as any other; pair i draws by (seed, i)."""
    drawn = [generator.standard_normal(pairs.n) for generator in generators(seed, len(pairs))]
    return torch.from_numpy(np.stack(drawn))


def _values_with(
    f: Model, pairs: Pairs, taken: Tensor, tried: Tensor, chunk: int | None, progress: bool | None
) -> Tensor:
    """f where x′ gives the `taken` features and one of the `tried` ones, (pairs, n); NaN where not tried."""
    pair, feature = torch.nonzero(tried, as_tuple=True)

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        which, changed = pair[rows.cpu()], taken[pair[rows.cpu()]]
        changed[torch.arange(len(rows)), feature[rows.cpu()]] = True
        return which.to(rows.device), changed.to(rows.device)

    values = torch.full(tried.shape, torch.nan, dtype=torch.float64)
    if len(pair):
        values[tried] = torch.cat(list(hybrid_values(f, pairs, len(pair), select, chunk, progress))).cpu()
    return values


def occlusion(f: Model, pairs: Pairs, *, chunk: int | None = None, progress: bool | None = False) -> Tensor:
    """f(x with x′_j) − f(x), the effect Δ_j of changing feature j alone  [section 3.3]."""
    differing = pairs.differing().cpu()
    values = _values_with(f, pairs, torch.zeros_like(differing), differing, chunk, progress)
    start = at_x(f, pairs, chunk)
    return torch.where(differing, values - start[:, None], 0.0)


def two_sided(f: Model, pairs: Pairs, *, chunk: int | None = None, progress: bool | None = False) -> Tensor:
    """[f(x with x′_j) − f(x) + f(x′) − f(x′ with x_j)] / 2: feature j changed first, and changed last.

    2d + 2 evaluations for d differing features. Equals the Shapley value wherever no interaction has more than
    two members: such an interaction counts whole in one of the two terms, and so half.
    """
    differing = pairs.differing().cpu()
    first = _values_with(f, pairs, torch.zeros_like(differing), differing, chunk, progress)
    last = _values_without(f, pairs, differing, chunk, progress)
    start, end = ends(f, pairs, chunk)
    return torch.where(differing, (first - start[:, None] + end[:, None] - last) / 2, 0.0)


def _values_without(
    f: Model, pairs: Pairs, tried: Tensor, chunk: int | None, progress: bool | None
) -> Tensor:
    """f where all features but one of the `tried` ones come from x′, (pairs, n); NaN where not tried."""
    pair, feature = torch.nonzero(tried, as_tuple=True)

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        changed = torch.ones(len(rows), pairs.n, dtype=torch.bool)
        changed[torch.arange(len(rows)), feature[rows.cpu()]] = False
        return pair[rows.cpu()].to(rows.device), changed.to(rows.device)

    values = torch.full(tried.shape, torch.nan, dtype=torch.float64)
    if len(pair):
        values[tried] = torch.cat(list(hybrid_values(f, pairs, len(pair), select, chunk, progress))).cpu()
    return values


def shapley_sampling(
    f: Model,
    pairs: Pairs,
    *,
    permutations: int = 25,
    seed: Seed = 0,
    chunk: int | None = None,
    progress: bool | None = False,
) -> Tensor:
    """Shapley values as the mean gain of each feature over random orders of the differing ones.

    `permutations` (d − 1) evaluations for d differing features, and two for the ends; unbiased and
    complete whatever their number. Pair i draws by (`seed`, i).
    """
    if permutations < 1:
        raise UserError(f"shapley_sampling needs at least 1 permutation, but permutations is {permutations}.")
    draws, result = generators(seed, len(pairs)), torch.zeros(len(pairs), pairs.n, dtype=torch.float64)
    changed = torch.nonzero(pairs.differing().cpu().any(dim=1))[:, 0]
    for group in groups(pairs, changed, permutations * pairs.n):
        k, d = group.players.shape
        keys = np.stack([draws[p].random((permutations, d)) for p in group.index.tolist()])
        position = torch.from_numpy(keys.argsort(axis=2))
        masks = position[:, :, None] <= torch.arange(d - 1)[:, None]  # after step s: players placed up to s
        ends = torch.tensor([[False] * d, [True] * d]).expand(k, -1, -1)
        values = coalition_values(f, group, torch.cat([ends, masks.reshape(k, -1, d)], dim=1), chunk, progress).cpu()
        inner = values[:, 2:].reshape(k, permutations, d - 1)
        start, end = (values[:, [e], None].expand(-1, permutations, -1) for e in (0, 1))
        gains = torch.cat([start, inner, end], dim=2).diff(dim=2)
        result[group.index] = group.spread(gains.gather(2, position).mean(dim=1))
    return result


class _Walk:
    """The myopic walk upwards (sign 1) or downwards (sign −1) of every pair, one feature at a time."""

    def __init__(self, f: Model, pairs: Pairs, sign: int, chunk: int | None, progress: bool | None) -> None:
        self.f, self.pairs, self.sign, self.how = f, pairs, sign, (chunk, progress)
        self.differing = pairs.differing().cpu()
        self.taken = torch.zeros_like(self.differing)
        self.here = at_x(f, pairs, chunk)
        self.next = torch.zeros_like(self.differing, dtype=torch.float64)
        self.moved = torch.ones(len(pairs), dtype=torch.bool)  # else the next values are known already

    def take(self, free: Tensor) -> Tensor:
        """Take the best of the free features of every pair, the first of equals; (pairs,)."""
        tried = self.differing & free & self.moved[:, None]
        self.next = torch.where(tried, _values_with(self.f, self.pairs, self.taken, tried, *self.how), self.next)
        values = torch.where(self.differing, self.next, self.here[:, None])
        score = torch.where(free, self.sign * values, -torch.inf)
        best = torch.from_numpy(score.numpy().argmax(axis=1))  # torch's may be any of equals
        rows = torch.arange(len(best))
        self.taken[rows, best], self.here, self.moved = True, values[rows, best], self.differing[rows, best]
        return best


def greedy(
    f: Model, pairs: Pairs, *, mode: str = "both", chunk: int | None = None, progress: bool | None = False
) -> Tensor:
    """Ranks from always taking the step with the best next value: a baseline that asks f itself.

    Mode "insertion" takes the feature that raises f most, "deletion" the one that lowers it most;
    "both" fills one ranking from its two ends in turn, so that it serves both tests. Unchanged
    features are steps that leave f where it is. The numbers are ranks: only their order has a
    meaning. About d (d + 1) / 2 evaluations for d differing features.
    """
    signs = {"insertion": [1], "deletion": [-1], "both": [1, -1]}[check_mode(mode, LATTICE_MODES)]
    walks = [_Walk(f, pairs, sign, chunk, progress) for sign in signs]
    result = torch.zeros(len(pairs), pairs.n, dtype=torch.float64)
    free, rows = torch.ones_like(result, dtype=torch.bool), torch.arange(len(pairs))
    for step in range(pairs.n):
        walk = walks[step % len(walks)]
        best = walk.take(free)
        result[rows, best] = walk.sign * (pairs.n - step // len(walks))
        free[rows, best] = False
    return result
