"""Subsets of the differing features, the players, for many pairs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice
from math import comb

import numpy as np
import torch
from torch import Tensor

from insdel.evaluate import Model, Pairs, hybrid_values

BLOCK_ELEMENTS = 2**22  # entries of a block of masks: 32 MiB once they are float64
LISTED = 2**17  # subsets of one size, to choose from
ROUNDS = 64  # of drawing among more of them: even the last of all is found in about log(count)


@dataclass(frozen=True, eq=False)
class Group:
    """Pairs that differ in equally many features, so that their subsets fill a rectangle.

    index : (k,) numbers of these pairs
    players : (k, d) their differing features, in feature order
    """

    pairs: Pairs
    index: Tensor
    players: Tensor

    @property
    def d(self) -> int:
        """Number of players."""
        return self.players.shape[1]

    def spread(self, values: Tensor) -> Tensor:
        """Spread (k, d) values of the players over all n features; unchanged ones get 0."""
        full = torch.zeros(len(values), self.pairs.n, dtype=values.dtype, device=values.device)
        return full.scatter_(1, self.players.to(values.device), values)


def groups(pairs: Pairs, index: Tensor, masks_per_pair: int) -> Iterator[Group]:
    """Cut the pairs `index` into groups of equal d, small enough for that many masks each."""
    differing = pairs.differing().cpu()
    sizes = differing.sum(dim=1)
    for d in sizes[index].unique().tolist():
        block = max(1, BLOCK_ELEMENTS // max(1, d * masks_per_pair))
        for part in index[sizes[index] == d].split(block):
            players = torch.nonzero(differing[part])[:, 1].reshape(len(part), d)
            yield Group(pairs.some(part), part, players)


def coalition_values(f: Model, group: Group, masks: Tensor, chunk: int | None, progress: bool | None) -> Tensor:
    """f where the players of each mask come from the reference; (k, m, d) booleans → (k, m)."""
    k, m, _ = masks.shape

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        pair, mask = rows // m, rows % m
        changed = torch.zeros(len(rows), group.pairs.n, dtype=torch.bool, device=rows.device)
        choice = masks[pair.to(masks.device), mask.to(masks.device)].to(rows.device)
        return pair, changed.scatter_(1, group.players.to(rows.device)[pair], choice)

    if not masks.numel():
        return torch.zeros(k, m, dtype=torch.float64)
    return torch.cat(list(hybrid_values(f, group.pairs, k * m, select, chunk, progress))).reshape(k, m)


def draw_subsets(d: int, count: int, share: Mapping[int, float], seed: int) -> Tensor:
    """The empty subset and `count` others, (count + 1, d), different and no two complements, in random order.

    All single players come first (with them every first-order effect can be told); the sizes 2 … d / 2 get
    their share of the rest, and are taken whole where that is no less than there are. They depend on
    d, the count and the seed alone: pairs with equally many players can have them in common.

    share : size → how often subsets of that size or its complement's are wanted
    """
    generator = np.random.default_rng([seed, d])
    parts = [_draw_of_size(d, s, k, generator) for s, k in _count_by_size(d, count, share).items()]
    drawn = torch.cat(parts)[torch.from_numpy(generator.permutation(sum(map(len, parts))))]
    return torch.cat([torch.zeros(1, d, dtype=torch.bool), drawn])  # any beginning of it has all sizes


def _count_by_size(d: int, count: int, share: Mapping[int, float]) -> dict[int, int]:
    """Tell how many subsets of each size to draw."""
    counts, left, sizes = {1: d}, count - d, list(range(2, d // 2 + 1))
    while sizes and left > 0:
        upper = np.cumsum([share[s] + (share[d - s] if 2 * s < d else 0) for s in sizes])
        size = np.searchsorted(upper[:-1] / upper[-1], (np.arange(left) + 0.5) / left)
        wanted = dict(zip(sizes, np.bincount(size, minlength=len(sizes)).tolist(), strict=True))
        over = next((s for s in sizes if wanted[s] >= count_of_size(d, s)), None)
        if over is None:
            return counts | wanted
        counts[over] = count_of_size(d, over)
        left -= counts[over]
        sizes.remove(over)
    return counts


def count_of_size(d: int, s: int) -> int:
    """Number of subsets of size s, of which one of two complements is counted."""
    return comb(d, s) // (2 if 2 * s == d else 1)


@lru_cache(maxsize=32)
def _all_of_size(d: int, s: int) -> Tensor:
    """All subsets of size s, (count, d); in dictionary order the first half of size d / 2 has no complements."""
    members = torch.tensor(list(islice(combinations(range(d), s), count_of_size(d, s))))
    return torch.zeros(len(members), d, dtype=torch.bool).scatter_(1, members, True)


def _draw_of_size(d: int, s: int, count: int, generator: np.random.Generator) -> Tensor:
    """Different random subsets of size s, (count, d), of which no two are complements."""
    if count_of_size(d, s) <= LISTED:
        return _all_of_size(d, s)[torch.from_numpy(generator.permutation(count_of_size(d, s))[:count])]
    rows = np.empty((0, d), dtype=bool)
    for _ in range(ROUNDS):
        if len(rows) >= count:
            return torch.from_numpy(rows[:count])
        more = generator.random((count, d)).argsort(axis=1) < s
        more = np.where(more[:, :1], more, ~more) if 2 * s == d else more
        rows = generator.permutation(np.unique(np.concatenate([rows, more]), axis=0))
    raise RuntimeError(
        f"{ROUNDS} rounds of drawing gave {len(rows):,} different subsets of {s} of {d} players; {count:,} of "
        f"{count_of_size(d, s):,} are needed. Ask for fewer samples."
    )
