"""All 2ᵈ hybrids of a pair (x, x′), evaluated once, answer every question about orders.

Let d be the number of features in which x and x′ differ: the players. Subsets S of players are
integers whose bit k says that player k takes its value from the reference. From the 2ᵈ values
follow, with no further model call, the interactions Δ_u, exact Shapley values, the curve of every
order, the expectation over all orders and the best order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from insdel.arrays import Array, Points, beside, like, loaded_torch, to_numpy, to_tensor, without_gradients
from insdel.curves import abc, check_mode, check_order
from insdel.errors import UserError, require_integer
from insdel.evaluate import (
    BatchModel,
    Groups,
    Model,
    Pairs,
    eval_mode,
    hybrid_values,
    progress_bar,
    same_fields,
)
from insdel.seeds import check_seed

MAX_FEATURES = 20
FEW_HYBRIDS = 2**12  # predicting so many is quicker than reading a model's trees
LARGEST = 40  # players whose lattice nobody can hold: 2**40 values are 8 TiB
UNCHANGED = 62  # a bit that no subset has
LATTICE_MODES = ("insertion", "deletion", "both")


@dataclass(frozen=True, eq=False)
class Lattice:
    """The values of f on all hybrids of one pair.

    values : (2ᵈ,) float64; bit k of the index is set where `players[k]` is taken from the reference
    players : the d features that differ, in feature order
    n : number of all features; the others are unchanged but take their place in every order
    """

    values: Array
    players: tuple[int, ...]
    n: int

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if len(self.values) != 2**self.d:
            raise UserError(f"{self.d} players need {2**self.d} values, not {len(self.values)}.")

    @classmethod
    def evaluate(
        cls,
        f: Model,
        x: Points,
        reference: Points | None = None,
        *,
        groups: Groups | None = None,
        background: Points | None = None,
        max_features: int = MAX_FEATURES,
        chunk: int | None = None,
        progress: bool | None = None,
    ) -> Lattice:
        """Evaluate f on all hybrids of x and reference, each (n,); see `lattices` for the options."""
        pairs = Pairs.of(x, reference, groups, background)
        if not pairs.single:
            raise UserError("Lattice.evaluate takes one pair of (n,) points. Use insdel.lattices for many pairs.")
        return next(pair_lattices(f, pairs, max_features=max_features, chunk=chunk, progress=progress))

    @property
    def d(self) -> int:
        """Number of players."""
        return len(self.players)

    @property
    def _values(self) -> np.ndarray:
        return to_numpy(self.values).astype(np.float64, copy=False)

    def _like(self, values: np.ndarray) -> Array:
        return like(values, self.values)

    def _over_features(self, values: np.ndarray) -> Array:
        """Spread (d,) values of the players over all n features; unchanged ones get 0."""
        full = np.zeros(self.n)
        full[list(self.players)] = values
        return self._like(full)

    def dividends(self) -> Array:
        """Interactions Δ_u (Harsanyi dividends), (2ᵈ,) over subsets of players  [section 3.3].

        The fast Möbius transform: d passes of one subtraction each.
        """
        delta = self._values.copy()
        for k in range(self.d):
            halves = delta.reshape(-1, 2, 2**k)
            halves[:, 1] -= halves[:, 0]
        return self._like(delta)

    def shapley(self) -> Array:
        """Exact Shapley values of the change from x to x′, (n,); they add up to f(x′) − f(x)."""
        size, (joins, stays) = subset_sizes(self.d), _shapley_weights(self.d)
        gains = self._values - self._values[0]
        without = gains * stays[size]
        return self._over_features(_sums_with_player(gains * joins[size] + without) - without.sum())

    def banzhaf(self) -> Array:
        """Banzhaf values, (n,): the mean of f(S + j) − f(S) over all subsets S, each counted alike."""
        gains = (self._values - self._values[0]) / 2 ** max(self.d - 1, 0)
        return self._over_features(2 * _sums_with_player(gains) - gains.sum())

    def curve(self, order: Points) -> Array:
        """Curve of an order over all n features, by look-up; (n,) → (n + 1,) or (m, n) → (m, n + 1)."""
        curves = self._curves(check_order(order, self.n))
        return self._like(curves[0] if np.ndim(order) == 1 else curves)

    def _curves(self, orders: np.ndarray) -> np.ndarray:
        steps = self._bits()[orders].cumsum(axis=1)
        return self._values[np.pad(steps, ((0, 0), (1, 0)))]

    def _bits(self) -> np.ndarray:
        """What each feature adds to the number of a subset, (n,): its bit; 0 for unchanged ones."""
        bits = np.zeros(self.n, dtype=np.int64)
        bits[list(self.players)] = 1 << np.arange(self.d)
        return bits

    def aul(self) -> float:
        """Area under the straight line from f(x) to f(x′)  [eq. 2]."""
        return (self.n + 1) / 2 * float(self._values[0] + self._values[-1])

    def expected_curve(self) -> Array:
        """The mean of the curves of all n! orders, (n + 1,).

        After j steps of a random order the players among the first j features number s with
        hypergeometric probability, and every subset of s players is as likely as every other.
        """
        counts = np.array([comb(self.d, s) for s in range(self.d + 1)])
        mean = np.bincount(subset_sizes(self.d), self._values) / counts
        steps = range(self.n + 1)
        chances = [[comb(self.d, s) * comb(self.n - self.d, j - s) / comb(self.n, j) if s <= j else 0.0
                    for s in range(self.d + 1)] for j in steps]  # fmt: skip
        return self._like(np.array(chances) @ mean)

    def expected_auc(self) -> float:
        """AUC averaged over all n! orders  [Proposition 1].

        Over all steps of a random order every number of players is as likely as every other, so this
        is n + 1 times the mean over sizes of the mean over the subsets of that size: no cancellation,
        unlike the equal sum (n + 1) Σ Δ_u / (|u| + 1).
        """
        return float(self.expected_curve().sum())

    def expected_abc(self, mode: str = "insertion") -> float:
        """ABC averaged over all n! orders; for mode "both" (ABC + ABC′) it is exactly 0."""
        sign = {"insertion": 1.0, "deletion": -1.0, "both": 0.0}[check_mode(mode, LATTICE_MODES)]
        return sign * (self.expected_auc() - self.aul()) if sign else 0.0

    def abc(self, order: Points, mode: str = "insertion") -> Array:
        """ABC of an order over all n features, by look-up.

        Mode "both" is ABC + ABC′, where insertion follows the order and deletion its reverse.
        """
        check_mode(mode, LATTICE_MODES)
        if mode != "both":
            return abc(self.curve(order), mode)
        rows = check_order(order, self.n)
        total = np.asarray(abc(self._curves(rows))) + np.asarray(abc(self._curves(rows[:, ::-1]), "deletion"))
        return self._like(total[0] if np.ndim(order) == 1 else total)

    def random_abc(self, orders: int, seed: int = 0, mode: str = "insertion") -> Array:
        """ABC of that many uniformly random orders, (orders,), by look-up without a model call."""
        return self._like(self.random_areas(orders, seed)[check_mode(mode, LATTICE_MODES)])

    def random_areas(self, orders: int, seed: int | list[int] = 0) -> dict[str, np.ndarray]:
        """ABC of uniformly random orders, mode → (orders,) float64; the same orders for all three modes."""
        check_draws(orders, seed)
        steps = np.random.default_rng(seed).permuted(np.tile(self._bits(), (orders, 1)), axis=1)
        subsets = np.pad(steps.cumsum(axis=1), ((0, 0), (1, 0)))
        values, aul = self._values, self.aul()
        forward, back = (part[subsets].sum(axis=1) for part in (values, values[::-1]))
        return {"insertion": forward - aul, "deletion": aul - forward, "both": forward - back}

    def best_order(self, mode: str = "insertion") -> Array:
        """An order with the largest possible ABC, (n,), by dynamic programming over subsets.

        Mode "insertion" maximises the AUC, "deletion" minimises it, and "both" maximises ABC + ABC′
        where insertion follows the order and deletion its reverse. Unchanged features come where
        the walk does best to linger. Among equally good orders the first in dictionary order over
        the players is taken.
        """
        values, unchanged = self.terms(mode), [j for j in range(self.n) if j not in self.players]
        lingered, waiting = _best_totals(values, len(unchanged))
        return self._like(np.array(self._walk(values, lingered, waiting, unchanged)))

    def terms(self, mode: str) -> np.ndarray:
        """What every visited subset adds to the area, (2ᵈ,) float64; the straight line's part is not taken off."""
        values = self._values
        if check_mode(mode, LATTICE_MODES) == "both":  # the reverse order visits the complements
            return values - values[::-1]
        return values if mode == "insertion" else -values

    def _walk(
        self, values: np.ndarray, lingered: np.ndarray, waiting: np.ndarray, unchanged: list[int]
    ) -> list[int]:
        """Follow the best totals from the empty to the full subset."""
        subset, order, totals = 0, [], waiting
        while True:
            if totals is waiting and lingered[subset] + len(unchanged) * values[subset] >= waiting[subset]:
                order += unchanged
                totals = lingered
            free = [k for k in range(self.d) if not subset >> k & 1]
            if not free:
                return order
            best = max(free, key=lambda k: (float(totals[subset | 1 << k]), -k))
            order.append(self.players[best])
            subset |= 1 << best


def lattices(
    f: Model,
    X: Points,
    R: Points | None = None,
    *,
    groups: Groups | None = None,
    background: Points | None = None,
    max_features: int = MAX_FEATURES,
    chunk: int | None = None,
    progress: bool | None = None,
) -> Iterator[Lattice]:
    """Yield the Lattice of each pair of rows of X and R; pairs are evaluated together, chunk by chunk.

    On a processor, networks that begin with Linear → PReLU, ReLU or LeakyReLU → Linear are folded where that
    pays (see `insdel.fold`): the same values but for rounding. With `chunk`, f itself is called.

    Parameters
    ----------
    X, R : (n,) or (pairs, n)
    groups : columns that change together, {label: [columns]}; each group is one player
    background : (rows, n) instead of R: f is averaged over hybrids with each of them
    max_features : refuse pairs with more differing features than this
    chunk : hybrids per model call, of as many pairs as fit (default: what suits the device)
    progress : show a progress bar (default: on terminals, for work of more than two seconds)
    """
    pairs = Pairs.of(X, R, groups, background)
    return pair_lattices(f, pairs, max_features=max_features, chunk=chunk, progress=progress)


def pair_lattices(
    f: Model,
    pairs: Pairs,
    *,
    max_features: int = MAX_FEATURES,
    chunk: int | None = None,
    progress: bool | None = None,
) -> Iterator[Lattice]:
    """Yield the Lattice of each pair; see `lattices`."""
    differing = pairs.differing()
    d = differing.sum(axis=1)
    _check_size(d, require_integer("max_features", max_features))
    if loaded_torch() is not None and chunk is None and pairs.plain:
        from insdel.fold import Fold

        fold = Fold.of(f)
        if fold is not None and fold.pays(int(d.max())):
            return _folded_lattices(fold, pairs, differing, progress)
    return _lattices(f, pairs, differing, chunk, progress)


def check_draws(orders: int, seed: int | list[int]) -> None:
    """Refuse a number of random orders below 1, and what is no seed."""
    require_integer("orders", orders, 1)
    check_seed(seed)


def _check_size(d: np.ndarray, limit: int) -> None:
    largest = int(d.max())
    if largest > min(limit, LARGEST):
        remedy = f", or pass max_features={largest}" if largest <= LARGEST else ""
        raise UserError(
            f"pair {int(d.argmax())} differs in {largest} features, so its lattice needs 2**{largest} = {2**largest:,} "
            f"evaluations and {2**largest >> 17:,} MiB for the values; the limit is 2**{min(limit, LARGEST)}. "
            f"Choose pairs that differ in fewer features{remedy}."
        )


def _lattices(
    f: Model, pairs: Pairs, differing: np.ndarray, chunk: int | None, progress: bool | None
) -> Iterator[Lattice]:
    """Evaluate the concatenated lattices of all pairs and cut the values into one Lattice per pair."""
    bit = np.where(differing, differing.cumsum(axis=1) - 1, UNCHANGED)
    end = (1 << differing.sum(axis=1)).cumsum()
    start = end - (1 << differing.sum(axis=1))

    def select(rows: Any) -> tuple[Any, Any]:
        pair = np.searchsorted(end, to_numpy(rows), side="right")
        subset = to_numpy(rows) - start[pair]
        bits = bit[pair[:1]] if pair[0] == pair[-1] else bit[pair]
        mask = (subset[:, None] >> bits & 1).astype(bool)
        return beside(pair, rows), beside(mask, rows)

    chunks = hybrid_values(f, pairs, int(end[-1]), select, chunk, progress)
    buffer = np.empty(0)
    for p in range(len(pairs)):
        players = tuple(np.flatnonzero(differing[p]).tolist())
        parts, have = [buffer], len(buffer)
        while have < 2 ** len(players):
            parts.append(next(chunks))
            have += len(parts[-1])
        values, buffer = np.split(np.concatenate(parts), [2 ** len(players)])
        yield Lattice(like(values.copy(), pairs.template), players, pairs.n)


def _folded_lattices(fold: Any, pairs: Pairs, differing: np.ndarray, progress: bool | None) -> Iterator[Lattice]:
    """Evaluate pair by pair: each is large enough for a network that folds."""
    model = BatchModel(fold.f, pairs.template)
    points = pairs.on(model)
    with progress_bar(int((1 << differing.sum(axis=1)).sum()), progress) as bar:
        for p in range(len(pairs)):
            players = np.flatnonzero(differing[p]).tolist()
            with without_gradients(), eval_mode(fold.f):
                values = fold.values(to_tensor(points.x[p]), to_tensor(points.reference[p]), players)
            bar.update(len(values))
            yield Lattice(like(model.checked(values, len(values)), pairs.template), tuple(players), pairs.n)


@lru_cache(maxsize=8)
def subset_sizes(d: int) -> np.ndarray:
    """Number of players in each of the 2ᵈ subsets."""
    size = np.zeros(1, dtype=np.int64)
    for _ in range(d):
        size = np.concatenate([size, size + 1])
    size.flags.writeable = False  # it is shared
    return size


@lru_cache(maxsize=32)
def _shapley_weights(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight of f(S) by |S|: where the player is in S (it has just joined), and where it is not (yet)."""
    stays = [1 / (d * comb(d - 1, s)) for s in range(d)]
    return np.array([0.0, *stays]), np.array([*stays, 0.0])


def _sums_with_player(values: np.ndarray) -> np.ndarray:
    """Σ over the subsets that contain player k, (d,): halve the lattice once per player, last first."""
    sums: list[float] = []
    while len(values) > 1:
        without, with_last = values.reshape(2, -1)
        sums.append(with_last.sum())
        values = without + with_last
    return np.array(sums[::-1])


@lru_cache(maxsize=2)
def _layers(d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Subsets by size, from the second largest to the empty one, each with the (r, subsets) one step ahead."""
    by_size = np.split(np.argsort(subset_sizes(d), kind="stable"), np.cumsum([comb(d, s) for s in range(d)]))
    layers = []
    for subsets in by_size[-2::-1]:
        ahead = subsets[:, None] | 1 << np.arange(d)
        layers.append((subsets, ahead[ahead != subsets[:, None]].reshape(len(subsets), -1).T.copy()))
    return layers


def _best_totals(values: np.ndarray, unchanged: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest Σ values on a walk from each subset to the full one, with the lingering over, or still to come.

    Lingering repeats one subset of the walk `unchanged` times. Layer by layer, from the full subset down.
    """
    lingered, waiting = values.copy(), unchanged * values + values
    for subsets, ahead in _layers((len(values) - 1).bit_length()):
        here = values[subsets]
        lingered[subsets] = here + lingered[ahead].max(axis=0)
        if unchanged:
            waiting[subsets] = np.maximum(here + waiting[ahead].max(axis=0), unchanged * here + lingered[subsets])
    return lingered, waiting if unchanged else lingered
