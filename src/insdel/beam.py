"""Good orders where the lattice is too large: a beam search that evaluates only the subsets it visits.

The best order is a longest path from the empty subset to the full one (see the chapter on the best order). Layer
by layer, a beam keeps the `width` most promising subsets and leaves the others out: those with the largest area so
far plus the area to come if the features still to change kept all, half or nothing of the effects that they have here:
each of these views chooses a third. If nothing was left out, the order is the best one. Otherwise there is no
certificate, and `gap` only says how much more the most promising subset left out promised: bounds of networks were
measured to be too loose to be of use (see the chapter on cost).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from insdel.arrays import Array, Points
from insdel.attribution.coalitions import Group, Task, coalition_values
from insdel.curves import check_mode
from insdel.errors import UserError, require_integer
from insdel.evaluate import Groups, Model, Pairs
from insdel.lattice import LATTICE_MODES

WIDTH = 64
VIEWS = (1.0, 0.5, 0.0)  # shares of the present effects that are expected to last


@dataclass(frozen=True, eq=False)
class BeamOrder:
    """An order found by beam search.

    order : (n,) features, as for `insdel.curve`
    abc : its area: ABC, or ABC + ABC′ for mode "both"
    gap : what the most promising subset that was left out seemed to offer beyond it; 0 if there was none
    exact : no subset was left out, so no order has a larger area
    evaluations : of f
    """

    order: Array
    abc: float
    gap: float
    exact: bool
    evaluations: int


@dataclass(frozen=True, eq=False)
class Beam:
    """Walks to some subsets of one size.

    masks : (w, d) who comes from the reference
    orders : (w, size) players in the order in which they came
    score : (w,) what the subset adds to the area at each step that is spent on it
    total : (w,) area so far
    linger : (w,) size of the subset at which the unchanged features had their turn; −1 while they are to come
    """

    masks: np.ndarray
    orders: np.ndarray
    score: np.ndarray
    total: np.ndarray
    linger: np.ndarray

    def take(self, rows: np.ndarray) -> Beam:
        """Return some of the walks."""
        return Beam(*(part[rows] for part in vars(self).values()))

    def with_lingering(self, unchanged: int) -> Beam:
        """Add to the walks on which the unchanged features still wait the same ones with their turn here and now."""
        now = self.take(self.linger < 0)
        size = np.full(len(now.score), self.orders.shape[1])
        after = replace(now, total=now.total + unchanged * now.score, linger=size)
        return Beam(*map(np.concatenate, zip(vars(self).values(), vars(after).values(), strict=True)))

    def best_of_each(self) -> np.ndarray:
        """Of walks to the same subset, with and without the unchanged features, which has the largest area."""
        largest_first = np.argsort(-self.total, kind="stable")
        keys = row_keys(np.column_stack([self.masks, self.linger >= 0])[largest_first])
        return largest_first[np.sort(np.unique(keys, return_index=True)[1])]


def row_keys(masks: np.ndarray) -> np.ndarray:
    """Rows of (m, d) booleans as bytes, (m,): far faster to compare than rows."""
    packed = np.packbits(np.pad(masks, ((0, 0), (0, 1))), axis=1)
    return packed.view(f"S{packed.shape[1]}")[:, 0]


class Search:
    """The search for one pair: what its subsets score, and how many were evaluated."""

    def __init__(self, f: Model, pairs: Pairs, mode: str, chunk: int | None) -> None:
        players = np.nonzero(pairs.differing())[1][None]
        self.mode, self.group = mode, Group(Task(f, pairs, chunk), np.zeros(1, dtype=np.int64), players)
        self.players, self.evaluations = players[0], 0
        self.unchanged = np.setdiff1d(np.arange(pairs.n), self.players)

    def scores(self, masks: np.ndarray) -> np.ndarray:
        """What each subset, (m, d), adds to the area, (m,); the reverse order visits the complements."""
        asked = np.concatenate([masks, ~masks]) if self.mode == "both" else masks
        _, first, back = np.unique(row_keys(asked), return_index=True, return_inverse=True)
        values = coalition_values(self.group, asked[first][None])[0][back]
        self.evaluations += len(first)
        if self.mode == "both":
            return values[: len(masks)] - values[len(masks) :]
        return values if self.mode == "insertion" else -values

    def step(self, beam: Beam, width: int) -> tuple[Beam, float]:
        """The most promising walks that are one step longer, and the largest area that any walk left out promises."""
        walk, player = np.nonzero(~beam.masks)
        masks = beam.masks[walk]
        masks[np.arange(len(walk)), player] = True
        score = self.scores(masks)
        orders = np.column_stack([beam.orders[walk], player])
        following = Beam(masks, orders, score, beam.total[walk] + score, beam.linger[walk])
        effects = (score - beam.score[walk]).reshape(len(beam.score), -1)
        hopes = np.stack([following.total + self.to_come(share * effects, following) for share in VIEWS])
        distinct = following.best_of_each()
        ranks = np.argsort(-hopes[:, distinct], axis=1, kind="stable")
        _, first = np.unique(ranks.T.reshape(-1), return_index=True)  # the views choose in turn
        choice, left = np.split(distinct[np.argsort(first)], [width])
        remaining = following.take(choice).with_lingering(len(self.unchanged))
        return remaining.take(remaining.best_of_each()), float(hopes[0, left].max(initial=-np.inf))

    def to_come(self, effects: np.ndarray, following: Beam) -> np.ndarray:
        """Area still to come if the players left keep their effects, (w, r), and come largest first; (w r,)."""
        r = effects.shape[1]
        place = np.argsort(np.argsort(-effects, axis=1, kind="stable"), axis=1)
        ranked = -np.sort(-effects, axis=1)
        weights = r - np.arange(r)  # those after the player that came move up by one
        before = np.cumsum(ranked * (weights - 1), axis=1) - ranked * (weights - 1)
        after = np.cumsum((ranked * weights)[:, ::-1], axis=1)[:, ::-1] - ranked * weights
        area = np.take_along_axis(before + after, place, axis=1).reshape(-1) + (r - 1) * following.score
        rise = (np.maximum(effects, 0).sum(axis=1, keepdims=True) - np.maximum(effects, 0)).reshape(-1)
        return area + np.where(following.linger < 0, len(self.unchanged) * (following.score + rise), 0.0)


def beam_order(
    f: Model,
    x: Points,
    reference: Points | None,
    mode: str = "insertion",
    *,
    groups: Groups | None = None,
    background: Points | None = None,
    width: int = WIDTH,
    chunk: int | None = None,
) -> BeamOrder:
    """Search for the order with the largest area, for any number of differing features d  [section 5.3].

    Asks for at most `width` d² / 2 evaluations or so (twice that for mode "both"), where `Lattice.best_order`
    needs 2ᵈ.

    Parameters
    ----------
    x, reference : (n,)
    mode : "insertion", "deletion" or "both" (ABC + ABC′, deletion in the reverse order)
    width : subsets of each size that are followed up
    chunk : rows per call of f
    """
    pairs = Pairs.of(x, reference, groups, background)
    require_integer("width", width, 1)
    if not pairs.single:
        raise UserError("beam_order takes one pair of (n,) points.")
    return pair_beam(f, pairs, mode, width, chunk)


def pair_beam(f: Model, pairs: Pairs, mode: str, width: int = WIDTH, chunk: int | None = None) -> BeamOrder:
    """Search for the best order of a single pair; see `beam_order`."""
    search = Search(f, pairs, check_mode(mode, LATTICE_MODES), chunk)
    d, unchanged, promised = len(search.players), search.unchanged, [-np.inf]
    nobody = np.zeros((1, d), dtype=bool)
    start = search.scores(nobody)
    beam = Beam(nobody, np.zeros((1, 0), dtype=np.int64), start, start.copy(), np.array([-1]))
    beam = beam.with_lingering(len(unchanged))
    for _ in range(d):
        beam, left_out = search.step(beam, width)
        promised.append(left_out)
    beam = beam.take(np.flatnonzero(beam.linger >= 0))
    best = beam.best_of_each()[0]
    total, came, turn = float(beam.total[best]), search.players[beam.orders[best]], int(beam.linger[best])
    order = pairs.restore(np.concatenate([came[:turn], unchanged, came[turn:]])[None])
    abc = total - (pairs.n + 1) / 2 * float(start[0] + beam.score[best])
    return BeamOrder(order, abc, max(0.0, max(promised) - total), bool(np.isneginf(max(promised))), search.evaluations)
