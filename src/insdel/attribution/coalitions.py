"""What a method is given, and subsets of the differing features, the players, for many pairs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np

from insdel.arrays import beside
from insdel.evaluate import Model, Pairs, Select, all_values

BLOCK_ELEMENTS = 2**22  # entries of a block of masks: 32 MiB once they are float64
LISTED = 2**17  # subsets of one size, to choose from
ROUNDS = 64  # of drawing among more of them: even the last of all is found in about log(count)


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is given: f, the pairs, rows per model call, and whether to show a bar."""

    f: Model
    pairs: Pairs
    chunk: int | None = None
    progress: bool | None = False

    def subset(self, index: np.ndarray) -> Task:
        """Return the same task for some of the pairs, by their (k,) numbers."""
        return replace(self, pairs=self.pairs.subset(index))

    def values(self, total: int, select: Select) -> np.ndarray:
        """The values of `total` hybrids, (total,); see `insdel.evaluate.hybrid_values`."""
        return all_values(self.f, self.pairs, total, select, self.chunk, self.progress)


@dataclass(frozen=True, eq=False)
class Group:
    """Pairs that differ in equally many features, so that their subsets fill a rectangle.

    index : (k,) numbers of these pairs
    players : (k, d) their differing features, in feature order
    """

    task: Task
    index: np.ndarray
    players: np.ndarray

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Spread (k, d) values of the players over all n features; unchanged ones get 0."""
        full = np.zeros((len(values), self.task.pairs.n))
        np.put_along_axis(full, self.players, values, axis=1)
        return full


def groups(task: Task, index: np.ndarray, masks_per_pair: int) -> Iterator[Group]:
    """Cut the pairs `index` into groups of equal d, small enough for that many masks each."""
    differing = task.pairs.differing()
    sizes = differing.sum(axis=1)
    for d in np.unique(sizes[index]).tolist():
        block = max(1, BLOCK_ELEMENTS // max(1, d * masks_per_pair))
        alike = index[sizes[index] == d]
        for part in np.split(alike, range(block, len(alike), block)):
            players = np.nonzero(differing[part])[1].reshape(len(part), d)
            yield Group(task.subset(part), part, players)


def coalition_values(group: Group, masks: np.ndarray) -> np.ndarray:
    """f where the players of each mask come from the reference; (k, m, d) booleans, or (1, m, d) for all, → (k, m)."""
    (k, d), m = group.players.shape, masks.shape[1]
    if not k * masks[0].size:
        return np.zeros((k, m))
    padded = np.pad(masks, ((0, 0), (0, 0), (0, 1)))  # a player more, who never comes: the unchanged features
    place = np.full((k, group.task.pairs.n), d)
    np.put_along_axis(place, group.players, np.arange(d)[None], axis=1)

    def select(rows: Any) -> tuple[Any, Any]:
        pair, mask = rows // m, rows % m
        return pair, beside(padded, rows)[(pair % len(masks))[:, None], mask[:, None], beside(place, rows)[pair]]

    return group.task.values(k * m, select).reshape(k, m)


def draw_subsets(d: int, count: int, share: Mapping[int, float], seed: int) -> np.ndarray:
    """The empty subset and `count` others, (count + 1, d), different and no two complements, in random order.

    All single players come first (with them every first-order effect can be told); the sizes 2 … d / 2 get
    their share of the rest, and are taken whole where that is no less than there are. They depend on
    d, the count and the seed alone: pairs with equally many players can have them in common.

    share : size → how often subsets of that size or its complement's are wanted
    """
    counts, left, sizes = {1: d}, count - d, list(range(2, d // 2 + 1))  # counts: how many of each size
    while sizes and left > 0:
        upper = np.cumsum([share[s] + (share[d - s] if 2 * s < d else 0) for s in sizes])
        size = np.searchsorted(upper[:-1] / upper[-1], (np.arange(left) + 0.5) / left)
        wanted = dict(zip(sizes, np.bincount(size, minlength=len(sizes)).tolist(), strict=True))
        over = next((s for s in sizes if wanted[s] >= count_of_size(d, s)), None)
        if over is None:
            counts |= wanted
            break
        counts[over] = count_of_size(d, over)
        left -= counts[over]
        sizes.remove(over)
    generator = np.random.default_rng([seed, d])
    parts = [_draw_of_size(d, s, k, generator) for s, k in counts.items()]
    drawn = np.concatenate(parts)[generator.permutation(sum(map(len, parts)))]
    return np.concatenate([np.zeros((1, d), dtype=bool), drawn])  # any beginning of it has all sizes


def count_of_size(d: int, s: int) -> int:
    """Number of subsets of size s, of which one of two complements is counted."""
    return comb(d, s) // (2 if 2 * s == d else 1)


@lru_cache(maxsize=32)
def _all_of_size(d: int, s: int) -> np.ndarray:
    """All subsets of size s, (count, d); in dictionary order the first half of size d / 2 has no complements."""
    members = np.array(list(islice(combinations(range(d), s), count_of_size(d, s))))
    subsets = np.zeros((len(members), d), dtype=bool)
    np.put_along_axis(subsets, members, True, axis=1)
    return subsets


def _draw_of_size(d: int, s: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """Different random subsets of size s, (count, d), of which no two are complements."""
    if count_of_size(d, s) <= LISTED:
        return _all_of_size(d, s)[generator.permutation(count_of_size(d, s))[:count]]
    rows = np.empty((0, d), dtype=bool)
    for _ in range(ROUNDS):
        if len(rows) >= count:
            return rows[:count]
        more = generator.random((count, d)).argsort(axis=1) < s
        more = np.where(more[:, :1], more, ~more) if 2 * s == d else more
        rows = generator.permutation(np.unique(np.concatenate([rows, more]), axis=0))
    raise RuntimeError(
        f"{ROUNDS} rounds of drawing gave {len(rows):,} different subsets of {s} of {d} players; {count:,} of "
        f"{count_of_size(d, s):,} are needed. Ask for fewer samples."
    )
