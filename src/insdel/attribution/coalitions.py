"""Subsets of the differing features, the players, for many pairs at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from insdel.evaluate import Array, Model, Pairs, hybrid_values, like

BLOCK_ELEMENTS = 2**22  # entries of a block of masks: 32 MiB once they are float64


def given(pairs: Pairs) -> tuple[Array, Array]:
    """Return x and x′, (pairs, n) each, as the kind of points that the user passed."""
    if not isinstance(pairs.x, Tensor) or not isinstance(pairs.reference, Tensor):
        return pairs.x, pairs.reference
    return like(pairs.x, pairs.template), like(pairs.reference, pairs.template)


def choose(pairs: Pairs, index: Tensor) -> Pairs:
    """Return some of the pairs, by their (k,) numbers."""
    rows: Any = index.to(pairs.device) if isinstance(pairs.x, Tensor) else index.cpu().numpy()
    return replace(pairs, x=pairs.x[rows], reference=pairs.reference[rows], single=False)


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
            yield Group(choose(pairs, part), part, players)


def coalition_values(f: Model, group: Group, masks: Tensor, chunk: int | None, progress: bool | None) -> Tensor:
    """f where the players of each mask come from the reference; (k, m, d) booleans → (k, m)."""
    k, m, _ = masks.shape

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        pair, mask = rows // m, rows % m
        changed = torch.zeros(len(rows), group.pairs.n, dtype=torch.bool, device=rows.device)
        chosen = masks[pair.to(masks.device), mask.to(masks.device)].to(rows.device)
        return pair, changed.scatter_(1, group.players.to(rows.device)[pair], chosen)

    if not masks.numel():
        return torch.zeros(k, m, dtype=torch.float64)
    return torch.cat(list(hybrid_values(f, group.pairs, k * m, select, chunk, progress))).reshape(k, m)
