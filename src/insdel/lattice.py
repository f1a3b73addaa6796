"""All 2ᵈ hybrids of a pair (x, x′), evaluated once, answer every question about orders.

Let d be the number of features in which x and x′ differ: the players. Subsets S of players are
integers whose bit k says that player k takes its value from the reference. From the 2ᵈ values
follow, with no further model call, the interactions Δ_u, exact Shapley values, the curve of every
order, the expectation over all orders and the best order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import Any

import numpy as np

from insdel.arrays import Array, Points, beside, like, loaded_torch, to_numpy, to_tensor, without_gradients
from insdel.curves import check_mode, check_order
from insdel.errors import UserError, require_integer
from insdel.evaluate import BatchModel, Groups, Model, Pairs, eval_mode, hybrid_values, progress_bar, same_fields
from insdel.seeds import check_seed

MAX_FEATURES = 20
FEW_HYBRIDS = 2**12  # predicting so many is quicker than reading a model's trees
LARGEST = 40  # players whose lattice nobody can hold: 2**40 values are 8 TiB
UNCHANGED = 62  # a bit that no subset has
LATTICE_MODES = ("insertion", "deletion", "both")


class Game:
    """A pair as a game: what follows about orders once a subclass has the curves, the mean curve and the best order.

    players : the d features (or groups) that differ, in feature order
    n : number of all features; the others are unchanged but take their place in every order
    """

    players: tuple[int, ...]
    n: int

    @property
    def d(self) -> int:
        """Number of players."""
        return len(self.players)

    def _curves(self, orders: np.ndarray) -> np.ndarray:
        """Curves of (m, n) orders, (m, n + 1)."""
        raise NotImplementedError

    @cached_property
    def _ends(self) -> np.ndarray:
        """f(x) and f(x′), (2,)."""
        return self._curves(np.arange(self.n)[None])[0, [0, -1]]

    def expected_curve(self) -> Any:
        """The mean of the curves of all n! orders, (n + 1,)."""
        raise NotImplementedError

    def _like(self, values: Any) -> Any:
        """Results in the kind of array that the user passed."""
        return values

    def curve(self, order: Points) -> Any:
        """Curve of an order over all n features, without a model call; (n,) → (n + 1,) or (m, n) → (m, n + 1)."""
        curves = self._curves(check_order(order, self.n))
        return self._like(curves[0] if np.ndim(order) == 1 else curves)

    def aul(self) -> float:
        """Area under the straight line from f(x) to f(x′)  [eq. 2]."""
        return (self.n + 1) / 2 * float(self._ends.sum())

    def areas(self, orders: np.ndarray) -> np.ndarray:
        """AUC − AUL of each order, (m, n) → (m,)."""
        return self._curves(orders).sum(axis=1) - self.aul()

    def _abc(self, orders: np.ndarray, mode: str) -> np.ndarray:
        check_mode(mode, LATTICE_MODES)
        areas = self.areas(orders)
        if mode == "both":
            return areas - self.areas(orders[:, ::-1])
        return areas if mode == "insertion" else -areas

    def abc(self, order: Points, mode: str = "insertion") -> Any:
        """ABC of an order over all n features; (n,) → one number, (m, n) → (m,).

        Mode "both" is ABC + ABC′, where insertion follows the order and deletion its reverse.
        """
        areas = self._abc(check_order(order, self.n), mode)
        return self._like(areas[0] if np.ndim(order) == 1 else areas)

    def random_orders(self, orders: int, seed: int | list[int]) -> np.ndarray:
        """That many uniformly random orders, (orders, n)."""
        require_integer("orders", orders, 1)
        check_seed(seed)
        return np.random.default_rng(seed).permuted(np.tile(np.arange(self.n), (orders, 1)), axis=1)

    def random_abc(self, orders: int, seed: int = 0, mode: str = "insertion") -> Any:
        """ABC of that many uniformly random orders, (orders,), without a model call."""
        return self._like(self._abc(self.random_orders(orders, seed), mode))

    def expected_auc(self) -> float:
        """AUC averaged over all n! orders  [Proposition 1]."""
        return float(self.expected_curve().sum())

    def expected_abc(self, mode: str = "insertion") -> float:
        """ABC averaged over all n! orders; for mode "both" (ABC + ABC′) it is exactly 0."""
        sign = {"insertion": 1.0, "deletion": -1.0, "both": 0.0}[check_mode(mode, LATTICE_MODES)]
        return sign * (self.expected_auc() - self.aul()) if sign else 0.0


@dataclass(frozen=True, eq=False)
class Lattice(Game):
    """The values of f on all hybrids of one pair; see `Game` for the rest.

    values : (2ᵈ,) float64; bit k of the index is set where `players[k]` is taken from the reference
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
        **options: Any,
    ) -> Lattice:
        """Evaluate f on all hybrids of x and reference, each (n,); `options` are the others of `lattices`."""
        pairs = Pairs.of(x, reference, groups, background)
        if not pairs.single:
            raise UserError("Lattice.evaluate takes one pair of (n,) points. Use insdel.lattices for many pairs.")
        return next(pair_lattices(f, pairs, **options))

    @property
    def _values(self) -> np.ndarray:
        return to_numpy(self.values).astype(np.float64, copy=False)

    def _like(self, values: Any) -> Any:
        return beside(values, self.values)

    def _over_features(self, values: np.ndarray) -> np.ndarray:
        """Spread (d,) values of the players over all n features; unchanged ones get 0."""
        full = np.zeros(self.n, dtype=values.dtype)
        full[list(self.players)] = values
        return full

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
        return self._semivalues([1 / (self.d * comb(self.d - 1, s)) for s in range(self.d)])

    def banzhaf(self) -> Array:
        """Banzhaf values, (n,): the mean of f(S + j) − f(S) over all subsets S, each counted alike."""
        return self._semivalues([0.5 ** (self.d - 1)] * self.d)

    def _semivalues(self, weights: list[float]) -> Array:
        """Σ over subsets S without j of the weight of their size · (f(S + j) − f(S)), (n,)."""
        joins, stays = np.array([0.0, *weights]), np.array([*weights, 0.0])  # of f(S), by |S|
        size, gains = subset_sizes(self.d), self._values - self._values[0]
        without = gains * stays[size]
        both = gains * joins[size] + without
        sums = np.array([both.reshape(-1, 2, 2**k)[:, 1].sum() for k in range(self.d)])  # of the subsets with player k
        return self._like(self._over_features(sums - without.sum()))

    def _curves(self, orders: np.ndarray) -> np.ndarray:
        bits = self._over_features(1 << np.arange(self.d))  # what each feature adds to the number of a subset
        subsets = np.zeros((len(orders), self.n + 1), dtype=np.int64)
        np.cumsum(bits[orders], axis=1, out=subsets[:, 1:])
        return self._values[subsets]

    def expected_curve(self) -> Array:
        """The mean of the curves of all n! orders, (n + 1,).

        After j steps of a random order the players among the first j features number s with
        hypergeometric probability, and every subset of s players is as likely as every other. No cancellation,
        unlike in the equal sum of AUC = (n + 1) Σ Δ_u / (|u| + 1).
        """
        counts = np.array([comb(self.d, s) for s in range(self.d + 1)])
        mean = np.bincount(subset_sizes(self.d), self._values) / counts
        chances = [[comb(self.d, s) * comb(self.n - self.d, j - s) / comb(self.n, j) if s <= j else 0.0
                    for s in range(self.d + 1)] for j in range(self.n + 1)]  # fmt: skip
        return self._like(np.array(chances) @ mean)

    def best_order(self, mode: str = "insertion") -> Array:
        """An order with the largest possible ABC, (n,), by dynamic programming over subsets.

        Mode "insertion" maximises the AUC, "deletion" minimises it, and "both" maximises ABC + ABC′
        where insertion follows the order and deletion its reverse. Unchanged features come where
        the walk does best to linger. Among equally good orders the first in dictionary order over
        the players is taken.
        """
        values, unchanged = self.terms(mode), [j for j in range(self.n) if j not in self.players]
        count = len(unchanged)
        # largest sum on a walk from each subset to the full one, with the lingering over, or still to come
        lingered, waiting = values.copy(), count * values + values
        for subsets, ahead in _layers(self.d):
            here = values[subsets]
            lingered[subsets] = here + lingered[ahead].max(axis=0)
            if count:
                waiting[subsets] = np.maximum(here + waiting[ahead].max(axis=0), count * here + lingered[subsets])
        subset, order, totals = 0, [], waiting if count else lingered
        while True:
            if totals is waiting and lingered[subset] + count * values[subset] >= waiting[subset]:
                order += unchanged
                totals = lingered
            free = [k for k in range(self.d) if not subset >> k & 1]
            if not free:
                return self._like(np.array(order))
            best = max(free, key=lambda k: (float(totals[subset | 1 << k]), -k))
            order.append(self.players[best])
            subset |= 1 << best

    def terms(self, mode: str) -> np.ndarray:
        """What every visited subset adds to the area, (2ᵈ,) float64; the straight line's part is not taken off."""
        values = self._values
        if check_mode(mode, LATTICE_MODES) == "both":  # the reverse order visits the complements
            return values - values[::-1]
        return values if mode == "insertion" else -values


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
    f: Model, pairs: Pairs, *, max_features: int = MAX_FEATURES, chunk: int | None = None, progress: bool | None = None
) -> Iterator[Lattice]:
    """Yield the Lattice of each pair; see `lattices`."""
    differing = pairs.differing()
    d = differing.sum(axis=1)
    largest, limit = int(d.max()), min(require_integer("max_features", max_features), LARGEST)
    if largest > limit:
        size, remedy = f"2**{largest} evaluations", ""
        if largest <= LARGEST:
            size = f"2**{largest} = {2**largest:,} evaluations and {2**largest >> 17:,} MiB for the values"
            remedy = f", or pass max_features={largest}"
        raise UserError(
            f"pair {int(d.argmax())} differs in {largest} features, so its lattice needs {size}; the limit is "
            f"2**{limit}. Choose pairs that differ in fewer features{remedy}."
        )
    if loaded_torch() is not None and chunk is None and pairs.plain:
        from insdel.fold import Fold

        fold = Fold.of(f)
        if fold is not None and fold.pays(largest):
            return _folded_lattices(fold, pairs, differing, progress)
    return _lattices(f, pairs, differing, chunk, progress)


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


@lru_cache(maxsize=2)
def _layers(d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Subsets by size, from the second largest to the empty one, each with the (r, subsets) one step ahead."""
    by_size = np.split(np.argsort(subset_sizes(d), kind="stable"), np.cumsum([comb(d, s) for s in range(d)]))
    layers = []
    for subsets in by_size[-2::-1]:
        ahead = subsets[:, None] | 1 << np.arange(d)
        layers.append((subsets, ahead[ahead != subsets[:, None]].reshape(len(subsets), -1).T.copy()))
    return layers
