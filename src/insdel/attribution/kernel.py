"""Kernel SHAP with x′ as its only background point: exact, or by regression on sampled subsets.

Shapley values minimise Σ_S w(|S|) (f(S) − f(∅) − Σ_{j∈S} A_j)² subject to Σ A_j = f(x′) − f(x), with
w(s) = (d − 1) / (C(d, s) s (d − s)). Over all subsets that is the exact value; over some it is an
estimate. Subsets come in pairs S and its complement: as w is symmetric, only the differences
h = (f(S) − f(Sᶜ)) / 2 then matter, to be fitted by Σ ±A_j / 2.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, islice
from math import comb

import numpy as np
import torch
from torch import Tensor

from insdel.attribution.coalitions import Group, choose, coalition_values, groups
from insdel.attribution.exact import shapley
from insdel.evaluate import Model, Pairs, float64
from insdel.lattice import MAX_FEATURES

LISTED = 2**17  # subsets of one size


def kernel_shap(
    f: Model,
    pairs: Pairs,
    *,
    samples: int | None = None,
    max_features: int = MAX_FEATURES,
    seed: int = 0,
    chunk: int | None = None,
    progress: bool | None = False,
) -> Tensor:
    """Shapley values of the change from x to x′, exact or from `samples` subsets  [section 5].

    By default exact, from 2ᵈ evaluations for d differing features, up to `max_features` of them.
    With `samples`, the paper's 120,000 say, pairs for which 2ᵈ is no more than that are still
    exact; for the others that many subsets, in pairs of complements, are drawn by `seed` and fitted.
    """
    d = pairs.differing().sum(dim=1).cpu()
    sampled = torch.zeros_like(d, dtype=torch.bool)
    if samples is None:
        _check_exact(int(d.max()), max_features)
    else:
        sampled = d > max(samples, 1).bit_length() - 1
        _check_samples(samples, int(d[sampled].max()) if sampled.any() else 0)
    result = torch.zeros(len(pairs), pairs.n, dtype=torch.float64)
    if not sampled.all():
        exact = torch.nonzero(~sampled)[:, 0]
        result[exact] = shapley(f, choose(pairs, exact), int(d.max()), chunk, progress).cpu()
    generator = np.random.default_rng(seed)
    for group in groups(pairs, torch.nonzero(sampled)[:, 0], (samples or 0) // 2):
        masks, weights = sample_subsets(len(group.index), group.d, samples or 0, generator)
        result[group.index] = group.spread(_fit(f, group, masks, weights, chunk, progress)).cpu()
    return result


def _check_exact(d: int, limit: int) -> None:
    if d > limit:
        raise ValueError(
            f"exact Kernel SHAP needs 2**{d} evaluations for {d} differing features; the limit is 2**{limit}. "
            f"Pass samples=... to estimate it, or raise max_features."
        )


def _check_samples(samples: int, d: int) -> None:
    if samples < 2 * d + 2 or samples < 1:
        raise ValueError(
            f"Kernel SHAP needs at least {max(1, 2 * d + 2)} samples for {d} differing features, "
            f"but samples is {samples}."
        )


def sample_subsets(pairs: int, d: int, samples: int, generator: np.random.Generator) -> tuple[Tensor, Tensor]:
    """One subset of each complementary pair, (pairs, m, d), and its weight, (m,); 2m + 2 ≤ samples.

    The smallest sizes, which weigh most, are taken whole as long as they cost no more than their
    share of the samples (size 1 always: then the regression has one solution). The rest is drawn at
    random, of each size as many as its weight asks for.
    """
    mass = {s: (1 if 2 * s == d else 2) * (d - 1) / (s * (d - s)) for s in range(1, d // 2 + 1)}
    left, parts, weights = (samples - 2) // 2, [], []
    while mass:
        s = min(mass)
        count = _count(d, s)
        if s > 1 and count > left * mass[s] / sum(mass.values()):
            break
        parts.append(_all_of_size(d, s).expand(pairs, -1, -1))
        weights += [mass.pop(s) / count] * count
        left -= count
    if mass and left:
        upper = np.cumsum(list(mass.values())) / sum(mass.values())
        chosen = np.searchsorted(upper[:-1], (np.arange(left) + 0.5) / left)
        for s, count in zip(mass, np.bincount(chosen, minlength=len(mass)), strict=True):
            parts.append(_draw(pairs, d, s, int(count), generator))
        weights += [sum(mass.values()) / left] * left
    return torch.cat(parts, dim=1), torch.tensor(weights, dtype=torch.float64)


def _count(d: int, s: int) -> int:
    """Number of subsets of size s, of which one of two complements is counted."""
    return comb(d, s) // (2 if 2 * s == d else 1)


@lru_cache(maxsize=32)
def _all_of_size(d: int, s: int) -> Tensor:
    """All subsets of size s, (count, d); in dictionary order the first half of size d / 2 has no complements."""
    members = torch.tensor(list(islice(combinations(range(d), s), _count(d, s))))
    return torch.zeros(len(members), d, dtype=torch.bool).scatter_(1, members, True)


def _draw(pairs: int, d: int, s: int, count: int, generator: np.random.Generator) -> Tensor:
    """Random subsets of size s, (pairs, count, d), each at most once as long as they can be listed."""
    if _count(d, s) > LISTED:  # so many that the same one rarely comes twice
        return torch.from_numpy(generator.random((pairs, count, d), dtype=np.float32).argsort(axis=2) < s)
    keys = generator.random((pairs, _count(d, s)), dtype=np.float32)
    return _all_of_size(d, s)[torch.from_numpy(np.argpartition(keys, min(count, keys.shape[1] - 1), axis=1)[:, :count])]


def _fit(
    f: Model, group: Group, masks: Tensor, weights: Tensor, chunk: int | None, progress: bool | None
) -> Tensor:
    """Solve the weighted regression with its constraint, (pairs, d)."""
    ends = torch.tensor([[[False] * group.d, [True] * group.d]]).expand(len(masks), -1, -1)
    values = coalition_values(f, group, torch.cat([ends, masks, ~masks], dim=1), chunk, progress)
    total = values[:, 1] - values[:, 0]
    there, back = values[:, 2:].chunk(2, dim=1)
    signs, weights = float64(masks.to(values.device)) - 0.5, weights.to(values.device)[None, :, None]
    gram = (signs * weights).transpose(1, 2) @ signs
    right = (signs * weights).transpose(1, 2) @ ((there - back) / 2)[:, :, None]
    ones = torch.ones_like(right)
    free, slope = torch.linalg.solve(gram, torch.cat([right, ones], dim=2)).split(1, dim=2)
    excess = (free.sum(dim=1) - total[:, None]) / slope.sum(dim=1)
    return (free - slope * excess[:, :, None])[:, :, 0]
