"""A tree ensemble as a game in closed form: everything exact, at any number of features.

For a pair (x, x′) a leaf is reached by the hybrids S with A ⊆ S and B ∩ S = ∅: A holds the features at whose splits
only x′ goes towards the leaf, B those at which only x does. So v(S) = c + Σ w [A ⊆ S] [B ∩ S = ∅] over the leaves, and
from the leaves alone follow Shapley values, the curve of every order, mean and variance over all orders, and the best
order: by dynamic programming for few features, by local search with an upper bound for many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from operator import or_
from time import monotonic
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import binom, gammaln

from insdel.arrays import beside, to_numpy
from insdel.chance import Moments
from insdel.curves import check_mode
from insdel.errors import UserError, require_integer
from insdel.evaluate import Groups, Pairs, Points, feature_names
from insdel.lattice import LATTICE_MODES as MODES
from insdel.lattice import MAX_FEATURES, Game, Lattice
from insdel.tree_models import Ensemble, read

EXACT = 16  # players up to which the best order is found by dynamic programming
KICKS = 20  # restarts of the local search
COUPLES = 256  # leaves of which all couples are formed together
TABLE = 2**25  # entries of the table of integrals behind the variance: 256 MiB
GROUPED = 30  # leaves up to which trees are joined before their upper bound is taken


class BestOrder(NamedTuple):
    """An order (n,), its ABC, an upper bound of the ABC of every order, and whether `order` is known to be the best."""

    order: np.ndarray
    area: float
    bound: float
    exact: bool


class Leaves(NamedTuple):
    """Leaves of pairs' games: pair, tree and weight (L,), and A and B as bits of (L, words) integers."""

    pair: np.ndarray
    tree: np.ndarray
    w: np.ndarray
    A: np.ndarray
    B: np.ndarray

    @classmethod
    def joined(cls, parts: Iterable[Leaves]) -> Leaves:
        """Return several lists of leaves as one."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def merged(self) -> Leaves:
        """Add up the weights of equal (A, B) of all trees of a pair; sorted by pair, found by a hash of 64 bits."""
        bits = int(self.pair.max(initial=0)).bit_length()
        h = pd.util.hash_pandas_object(pd.DataFrame(np.hstack([self.A, self.B])), index=False).to_numpy()
        h = (h >> bits) | (self.pair.astype(np.uint64) << min(64 - bits, 63))
        _, first, inverse = np.unique(h, return_index=True, return_inverse=True)
        w = np.bincount(inverse, self.w, len(first))
        return Leaves(self.pair[first], self.tree[first], w, self.A[first], self.B[first])


@dataclass(frozen=True, eq=False)
class Trees:
    """A fitted tree ensemble whose raw predictions are games in closed form; see `Trees.of`."""

    ensemble: Ensemble

    @classmethod
    def of(cls, model: Any, output: int = 0) -> Trees:
        """Read a fitted model of scikit-learn, XGBoost, LightGBM or CatBoost, and check it against its predictions.

        The games are about raw margins; for trees and forests of scikit-learn about the prediction or, of
        classifiers, about the probability of class `output`.
        """
        return cls(read(model, require_integer("output", output)))

    def game(
        self, x: Points, reference: Points | None = None, groups: Groups | None = None, *,
        background: Points | None = None,
    ) -> TreeGame:  # fmt: skip
        """The game of one pair of (n,) points, arrays or rows of frames, with the methods of a Lattice.

        groups : {name: features} or lists of features that change together; a group is one step of every order,
            in the place of its first feature
        background : (rows, n) instead of the reference: the mean of the games with each of the rows
        """
        pairs = self._pairs(x, reference, groups, background)
        if len(pairs) != 1:
            raise UserError("game takes one pair of (n,) points. Use games for many pairs.")
        return next(self.pair_games(pairs))

    def games(
        self, X: Points, R: Points | None = None, groups: Groups | None = None, chunk: int | None = None, *,
        background: Points | None = None,
    ) -> Iterator[TreeGame]:  # fmt: skip
        """Yield the game of each pair of rows of X and R, (pairs, n) each; pairs are worked on together in chunks."""
        return self.pair_games(self._pairs(X, R, groups, background), chunk)

    def _pairs(self, x: Any, r: Any, groups: Groups | None, background: Any) -> Pairs:
        """Pairs of points, of frames and series the model's columns in its order; groups may be of its names."""
        names = self.ensemble.names
        if groups is not None and names and feature_names(x) is None and np.shape(x)[-1:] == (len(names),):
            x = pd.DataFrame(np.atleast_2d(to_numpy(x)), columns=list(names))

        def selected(points: Any) -> Any:
            places = None if feature_names(points) is None else self.places(feature_names(points))
            if places is None:
                return points
            return points.iloc[:, places] if isinstance(points, pd.DataFrame) else points.iloc[places]

        return Pairs.of(selected(x), selected(r), groups, selected(background))

    def places(self, columns: Any) -> list[int] | None:
        """Where each feature of the model stands among these columns; None where their order alone counts."""
        names = [str(name) for name in self.ensemble.names or ()]
        found = {str(column).replace(" ", "_"): k for k, column in enumerate(columns)}  # LightGBM stores no spaces
        found |= {str(column): k for k, column in enumerate(columns)}
        absent = [name for name in names if name not in found]
        if names and absent and not self.ensemble.default_names:
            raise UserError(f"the model needs the columns {absent}, which the data frame does not have.")
        return None if absent or not names else [found[name] for name in names]

    def pair_games(self, pairs: Pairs, chunk: int | None = None) -> Iterator[TreeGame]:
        """Yield the game of each pair; with a background, the mean of its games with each of the rows."""
        if not pairs.numeric:
            raise UserError("trees need numbers, or data frames.")
        places = None if pairs.columns is None else self.places(pairs.columns.names)
        if places is None and pairs.x.shape[1] != self.ensemble.n:
            n = self.ensemble.n
            raise UserError(f"points must have shape ({n},) or (pairs, {n}), but found {tuple(pairs.x.shape)}.")
        size = int(np.clip(2**21 // max(len(self.ensemble.feature), 1), 1, 1024))
        size = size if chunk is None else require_integer("chunk", chunk, 1)
        together = max(1, size // (1 if pairs.background is None else len(pairs.background)))
        return (game for part in _cut(pairs, together) for game in self._chunk(part, places, size))

    def _chunk(self, pairs: Pairs, places: list[int] | None, size: int) -> Iterator[TreeGame]:
        """Yield the games of some pairs, `size` references at a time: a mean of games is a sum over leaves, too."""
        step = np.arange(pairs.n) if pairs.group is None else pairs.group
        step, every, found = step if places is None else step[places], pairs.every_reference(), []
        rows = len(every) // len(pairs)
        for k, part in enumerate(_cut(every, size)):
            leaves, *others = self._leaves(part, places, step)
            leaves = leaves._replace(pair=(leaves.pair + k * size) // rows)
            found.append((leaves.merged() if rows > 1 else leaves, *others))
        parts, *rest = zip(*found, strict=True)
        leaves, (c, x, r) = Leaves.joined(parts), map(np.concatenate, rest)
        leaves = leaves.merged() if len(parts) > 1 else leaves
        ends, differing = np.searchsorted(leaves.pair, np.arange(len(pairs) + 1)), pairs.differing()
        for p, (start, stop) in enumerate(pairwise(ends)):
            own, refs = slice(start, stop), slice(p * rows, (p + 1) * rows)
            players, source = tuple(np.flatnonzero(differing[p]).tolist()), (self.ensemble, x[refs], r[refs], step)
            yield TreeGame(float(c[refs].mean()), leaves.w[own] / rows, leaves.A[own], leaves.B[own], players, pairs.n,
                           source)  # fmt: skip

    def _leaves(
        self, pairs: Pairs, places: list[int] | None, step: np.ndarray
    ) -> tuple[Leaves, np.ndarray, np.ndarray, np.ndarray]:
        """Merged leaves of the pairs' games, their constants (m,), and the codes of x and x′, (m, features) each.

        All is checked against the model's own predictions at x, x′ and two random hybrids of each pair.
        """
        e, m, n = self.ensemble, len(pairs), pairs.n

        def rows(points: Any) -> Any:
            points = to_numpy(points)
            frame = points if pairs.columns is None else pairs.columns.frame(points)
            return frame if places is None else frame.iloc[:, places]

        x, r = e.encode(rows(pairs.x)), e.encode(rows(pairs.reference))
        leaves = _pair_leaves(e, x, r, step, n).merged()
        constant = ~(leaves.A.any(axis=1) | leaves.B.any(axis=1))
        c = e.base + np.bincount(leaves.pair[constant], leaves.w[constant], m)
        leaves = Leaves(*(part[~constant] for part in leaves))

        masks = np.random.default_rng(0).random((4, m, n)) < 0.5
        masks[0], masks[1] = False, True
        values = []
        for subset in _pack(masks.reshape(4 * m, n)).reshape(4, m, -1):
            inside = subset[leaves.pair]
            on = ~((leaves.A & ~inside) | (leaves.B & inside)).any(axis=1)
            values.append(c + np.bincount(leaves.pair[on], leaves.w[on], m))
        hybrids = rows(pairs.take(np.tile(np.arange(m), 4), beside(masks.reshape(4 * m, n), pairs.x)))
        e.check(np.concatenate(values), e.sums(e.encode(hybrids))[1], e.predict(hybrids))
        return leaves, c, x, r


def _cut(pairs: Pairs, size: int) -> Iterator[Pairs]:
    return (pairs.subset(np.arange(start, min(start + size, len(pairs)))) for start in range(0, len(pairs), size))


def _pack(masks: np.ndarray) -> np.ndarray:
    """Boolean masks as bits of integers, (m, n) → (m, words) uint64."""
    full = np.pad(masks, ((0, 0), (0, -masks.shape[1] % 64 if masks.shape[1] else 64)))
    return np.packbits(full, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _unpack(words: np.ndarray, n: int) -> np.ndarray:
    """Bits of integers as booleans, (L, words) → (L, n)."""
    bits = np.unpackbits(np.ascontiguousarray(words, dtype="<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n].astype(bool)


def _pair_leaves(e: Ensemble, x: np.ndarray, r: np.ndarray, step: np.ndarray, n: int) -> Leaves:
    """All leaves that hybrids of each pair reach, level by level for all trees of all pairs together."""
    left_x, left_r = e.goes_left(x).astype(np.int8), e.goes_left(r).astype(np.int8)
    rank = np.zeros(len(e.feature), dtype=np.int64)
    rank[e.internal] = np.arange(len(e.internal))
    m, words = len(x), max(1, -(-n // 64))
    pair: np.ndarray = np.repeat(np.arange(m), len(e.roots))
    tree: np.ndarray = np.tile(np.arange(len(e.roots)), m)
    A: np.ndarray = np.zeros((len(pair), words), dtype=np.uint64)
    node, B, done = e.roots[tree], A.copy(), [Leaves(pair[:0], tree[:0], np.zeros(0), A[:0], A[:0])]
    while len(node):
        leaf = e.feature[node] < 0
        done.append(Leaves(pair[leaf], tree[leaf], e.value[node[leaf]], A[leaf], B[leaf]))
        pair, tree, node, A, B = (part[~leaf] for part in (pair, tree, node, A, B))
        place, rows = step[e.feature[node]], np.arange(len(node))
        word, bit = place >> 6, np.uint64(1) << (place & 63).astype(np.uint64)
        by_x, by_r = left_x[pair, rank[node]], left_r[pair, rank[node]]
        split = by_x != by_r
        in_A, in_B = ((M[rows, word] & bit) != 0 for M in (A, B))
        to_x, to_r = np.flatnonzero(~split | ~in_A), np.flatnonzero(split & ~in_B)
        new_A, new_B = A[to_r], B[to_x]
        new_A[np.arange(len(to_r)), word[to_r]] |= bit[to_r]
        new_B[np.arange(len(to_x)), word[to_x]] |= np.where(split[to_x], bit[to_x], np.uint64(0))
        both = np.r_[to_x, to_r]
        node = np.r_[e.children[by_x[to_x], node[to_x]], e.children[by_r[to_r], node[to_r]]]
        pair, tree, A, B = pair[both], tree[both], np.concatenate([A[to_x], new_A]), np.concatenate([new_B, B[to_r]])
    return Leaves.joined(done)


class Members(NamedTuple):
    """Members of sets, set by set, each set closed by the sentinel n: leaf and player of each, starts of the sets."""

    leaf: np.ndarray
    player: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, bits: np.ndarray) -> Members:
        """Members of sets that are given as (L, n) booleans."""
        leaf, player = np.nonzero(np.pad(bits, ((0, 0), (0, 1)), constant_values=True))
        return cls(leaf, player, np.searchsorted(leaf, np.arange(len(bits))))


@dataclass(frozen=True, eq=False)
class TreeGame(Game):
    """The game of one pair: v(S) = c + Σ w [A ⊆ S] [B ∩ S = ∅], with the methods of a Lattice.

    c : the value that no hybrid changes
    w, A, B : (L,) weights and (L, words) bits of the leaves
    source : what a bound needs: ensemble, codes of x and x′, (rows, n), and the step of each feature
    """

    c: float
    w: np.ndarray
    A: np.ndarray
    B: np.ndarray
    players: tuple[int, ...]
    n: int
    source: tuple[Any, ...] | None = field(default=None, repr=False)
    origin: ClassVar[str] = "trees"

    @cached_property
    def _bits(self) -> tuple[np.ndarray, np.ndarray]:
        return _unpack(self.A, self.n), _unpack(self.B, self.n)

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        A, B = self._bits
        return A.sum(axis=1), B.sum(axis=1)

    @cached_property
    def active(self) -> np.ndarray:
        """Players that some leaf depends on, in order; the others can stand anywhere."""
        A, B = self._bits
        return np.flatnonzero(A.any(axis=0) | B.any(axis=0))

    def _in(self, mode: str) -> TreeGame:
        """The game whose insertion area is the area of a mode.

        Deletion turns the signs. In "both", the reverse order visits the complements, so the leaves (B, A, −w) join.
        """
        if check_mode(mode, MODES) == "insertion":
            return self
        if mode == "deletion":
            return TreeGame(-self.c, -self.w, self.A, self.B, self.players, self.n)
        zero = np.zeros(2 * len(self.w), dtype=np.int64)
        sets = np.concatenate([self.A, self.B]), np.concatenate([self.B, self.A])
        doubled = Leaves(zero, zero, np.r_[self.w, -self.w], *sets).merged()
        keep = doubled.w != 0
        return TreeGame(0.0, doubled.w[keep], doubled.A[keep], doubled.B[keep], self.players, self.n)

    @property
    def values(self) -> np.ndarray:
        """v on all subsets of the players, (2ᵈ,), as a Lattice has them."""
        if self.d > MAX_FEATURES:
            raise UserError(f"all values of {self.d} players are 2**{self.d} numbers; the limit is 2**{MAX_FEATURES}.")
        return _table(self, np.array(self.players, dtype=np.int64))

    def dividends(self) -> np.ndarray:
        """Interactions Δ_u (Harsanyi dividends), (2ᵈ,) over subsets of players."""
        return np.asarray(Lattice(self.values, self.players, self.n).dividends())

    def shapley(self) -> np.ndarray:
        """Exact Shapley values of the change from x to x′, (n,); they add up to f(x′) − f(x)."""
        (a, b), (A, B) = self._sizes, self._bits
        share = self.w / binom(a + b, a)
        return (share / np.maximum(a, 1)) @ A - (share / np.maximum(b, 1)) @ B

    def banzhaf(self) -> np.ndarray:
        """Banzhaf values, (n,): the mean of f(S + j) − f(S) over all subsets S, each counted alike."""
        (a, b), (A, B) = self._sizes, self._bits
        share = self.w * 0.5 ** (a + b - 1)
        return share @ A - share @ B

    def expected_curve(self) -> np.ndarray:
        """The mean of the curves of all n! orders, (n + 1,): c + Σ w C(n−a−b, k−a) / C(n, k)."""
        n, (a, b) = self.n, self._sizes
        sizes, leaf = np.unique(a * (n + 1) + b, return_inverse=True)
        (a, b), k = np.divmod(sizes[:, None], n + 1), np.arange(n + 1)
        share = _log_binom(n - a - b, k - a) - _log_binom(n, k)
        return self.c + np.bincount(leaf, self.w, len(sizes)) @ np.exp(share)

    def expected_auc(self) -> float:
        """AUC averaged over all n! orders, (n + 1)(c + Σ w a! b! / (a + b + 1)!)  [Proposition 1]."""
        return (self.n + 1) * (self.c + float(self.w @ _beta(*self._sizes)))

    def moments(self, mode: str = "insertion") -> Moments:
        """Exact mean and standard deviation of the ABC over all n! orders.

        A leaf is on for T steps, so the variance is Σ w w′ (E[T T′] − E[T] E[T′]) over couples of leaves. Where one
        leaf is on at time s and another at a later time t, A comes before s, A′ before t, B after s and B′ after t: an
        integral of `_double_beta`, by the numbers of features that the leaves have in common.
        """
        game = self._in(mode)
        n, w, (a, b) = game.n, game.w, game._sizes
        top = (int(a.max(initial=0)), int(b.max(initial=0)))
        if (top[0] + 1) ** 2 * (min(top) + 1) * (top[1] + 1) ** 2 > TABLE:
            raise UserError(
                f"leaves that depend on {top} features are too many for the exact variance. Use random_abc."
            )
        late = _double_beta(*top)
        beta, mean = _beta(*np.ogrid[: 2 * top[0] + 1, : 2 * top[1] + 1]), (n + 1) * _beta(a, b)
        A, B = (bits[:, game.active].astype(np.float32) for bits in game._bits)
        variance = 0.0
        for start in range(0, len(w), COUPLES):
            rows = slice(start, start + COUPLES)
            aa, ab, ba, bb = ((P[rows] @ Q.T).astype(np.int64) for P in (A, B) for Q in (A, B))
            a1, b1 = a[rows, None], b[rows, None]
            free = ab == 0
            after = late[a1, np.where(free, a - aa - ba, 0), ba, b1 - ba - bb, b]
            same = beta[a1 + a - aa, b1 + b - bb]
            both = 2 * (n + 1) * (n + 2) * np.where(free, after, 0) - (n + 1) * np.where(free & (ba == 0), same, 0)
            variance += float(w[rows] @ (both - mean[rows, None] * mean) @ w)
        return Moments(self.expected_abc(mode), float(np.sqrt(max(variance, 0.0))))

    @cached_property
    def _member_lists(self) -> tuple[Members, Members]:
        A, B = self._bits
        return Members.of(A), Members.of(B)

    def _spans(self, orders: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The steps from which and until which each leaf is on, (L, m): last member of A, first of B.

        In portions of the orders whose tables over the leaves' members fit into memory.
        """
        A, B = self._member_lists
        size = max(1, 2**22 // max(1, len(A.leaf) + len(B.leaf)))
        for start in range(0, len(orders), size):
            part = orders[start : start + size].T
            place = np.empty((self.n + 1, part.shape[1]), dtype=np.int32)
            np.put_along_axis(place[: self.n], part, np.arange(1, self.n + 1, dtype=np.int32)[:, None], axis=0)
            if not len(self.w):
                yield place[:0], place[:0]
                continue
            place[self.n] = 0
            on = np.maximum.reduceat(place[A.player], A.start, axis=0)
            place[self.n] = self.n + 1
            yield on, np.maximum(np.minimum.reduceat(place[B.player], B.start, axis=0), on)

    def _curves(self, orders: np.ndarray) -> np.ndarray:
        curves, width = [], self.n + 2
        for on, off in self._spans(orders):
            m = on.shape[1]
            shift, w = np.arange(m) * width, np.repeat(self.w, m)
            steps = [np.bincount((at + shift).ravel(), w, m * width) for at in (on, off)]
            curves.append(np.cumsum((steps[0] - steps[1]).reshape(m, width), axis=1)[:, :-1])
        return self.c + np.concatenate(curves)

    def areas(self, orders: np.ndarray) -> np.ndarray:
        """AUC − AUL of each order, (m, n) → (m,)."""
        areas = np.concatenate([self.w @ (off - on) for on, off in self._spans(orders)])
        return areas + (self.n + 1) * self.c - self.aul()

    def best_order(self, mode: str = "insertion") -> np.ndarray:
        """The best order that `search` finds, (n,): the best of all for up to 16 players that matter."""
        return self.search(mode).order

    def search(
        self, mode: str = "insertion", *, bound: bool = False, seconds: float | None = None, max_exact: int = EXACT
    ) -> BestOrder:
        """Search for the order with the largest ABC.

        Parameters
        ----------
        bound : also compute an upper bound for all orders (else it is infinite unless the order is the best)
        seconds : stop searching, and stop tightening the bound, after so long (default: no limit, 10 for the bound)
        max_exact : players up to which dynamic programming finds the best order
        """
        game = self._in(mode)
        if exact := len(game.active) <= min(max_exact, MAX_FEATURES):
            lattice = Lattice(_table(game, game.active), tuple(game.active.tolist()), game.n)
            order = np.asarray(lattice.best_order())
        else:
            order = _linger(game, _local_search(game, np.inf if seconds is None else seconds))
        area = float(game.areas(order[None])[0])
        if exact or not bound:
            return BestOrder(order, area, area if exact else np.inf, exact)
        top = max(self._bound(mode, 10.0 if seconds is None else seconds), area)
        return BestOrder(order, area, top, bool(top - area <= 1e-9 * (abs(area) + abs(top))))

    def _bound(self, mode: str, seconds: float) -> float:
        """An upper bound of the ABC of all orders."""
        if self.source is None:
            raise UserError("a bound needs the trees of the game; build it by Trees.game.")
        ensemble, x, r, step = self.source
        leaves, trees = _pair_leaves(ensemble, x, r, step, self.n), len(x) * len(ensemble.roots)
        game, sign = self._in(mode), -1.0 if mode == "deletion" else 1.0
        tree = leaves.tree + len(ensemble.roots) * leaves.pair  # each row of a background has trees of its own
        w, A, B = sign * leaves.w / len(x), leaves.A, leaves.B
        if mode == "both":
            tree, w = np.r_[tree, tree + trees], np.r_[w, -w]
            A, B = np.concatenate([A, B]), np.concatenate([B, A])
        keep = (A | B).any(axis=1)
        A, B = (_unpack(M[keep], self.n)[:, self.active] for M in (A, B))
        constant = (ensemble.base * sign if mode != "both" else 0.0) + w[~keep].sum()
        program = _Relaxation(_join_trees(tree[keep], w[keep], A, B), constant, len(self.active))
        return _certificate(program, game._ends, self.n, seconds) - game.aul()


def _log_binom(n: Any, k: Any) -> np.ndarray:
    """log C(n, k), −∞ outside 0 … n: binomials of hundreds are too large themselves."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def _beta(a: Any, b: Any) -> np.ndarray:
    """a! b! / (a + b + 1)!, the share of its steps that a leaf is on, on average."""
    return 1 / ((a + b + 1) * binom(a + b, a))


@lru_cache(maxsize=8)
def _double_beta(a: int, b: int) -> np.ndarray:
    """I[e, f, m, g, l] = ∬ s^e t^f (t − s)^m (1 − s)^g (1 − t)^l over 0 < s < t < 1, for e, f ≤ a, g, l ≤ b, m ≤ both.

    Without f and g it is a Dirichlet integral; t = s + (t − s) and 1 − s = (t − s) + (1 − t) give the rest by sums.
    """
    both = min(a, b)
    e, m, last = np.ogrid[: 2 * a + 1, : both + a + b + 1, : 2 * b + 1]
    plain = 1 / ((e + m + last + 1) * (e + m + last + 2) * binom(e + m + last, e) * binom(m + last, m))
    table = np.empty((a + 1, a + 1, both + 1, b + 1, b + 1))
    for f in range(a + 1):
        row = plain
        for g in range(b + 1):
            table[:, f, :, g] = row[: a + 1, : both + 1, : b + 1]
            row = row[:, 1:, :-1] + row[:, :-1, 1:]
        plain = plain[1:, :-1] + plain[:-1, 1:]
    return table


def _table(game: TreeGame, players: np.ndarray) -> np.ndarray:
    """v on all subsets of the players, (2ᵈ,), by zeta transforms.

    A leaf is expanded over its smaller set: Σ over u ⊆ B of (−1)^|u| at A ∪ u, or the same for the complements.
    """
    powers = 2 ** np.arange(len(players), dtype=np.int64)
    A, B = (bits[:, players] @ powers for bits in game._bits)
    a, b = game._sizes
    up, down = np.zeros(2 ** len(players)), np.zeros(2 ** len(players))
    for table, few, inside, outside in ((up, b <= a, A, B), (down, b > a, B, A)):
        key, rest, w = inside[few], outside[few], game.w[few]
        while len(key):
            done = rest == 0
            table += np.bincount(key[done], w[done], len(table))
            key, rest, w = key[~done], rest[~done], w[~done]
            low = rest & -rest
            key, rest, w = np.r_[key, key | low], np.r_[rest ^ low, rest ^ low], np.r_[w, -w]
        for k in range(len(players)):
            halves = table.reshape(-1, 2, 2**k)
            halves[:, 1] += halves[:, 0]
    return game.c + up + down[::-1]


def _linger(game: TreeGame, walk: np.ndarray) -> np.ndarray:
    """The order of all features in which those that change nothing come where the curve is highest."""
    order, idle = game.active[walk], np.setdiff1d(np.arange(game.n), game.active)
    top = int(game._curves(np.r_[order, idle][None])[0, : len(walk) + 1].argmax())
    return np.r_[order[:top], idle, order[top:]].astype(np.int64)


class _Moves:
    """The totals of all orders that differ from one in the place of one feature."""

    def __init__(self, game: TreeGame) -> None:
        A, B = (bits[:, game.active] for bits in game._bits)
        self.d, self.idle, self.c, self.w = len(game.active), game.n - len(game.active), game.c, game.w
        self.A, self.B = Members.of(A), Members.of(B)
        (leaf_A, player_A), (leaf_B, player_B) = np.nonzero(A), np.nonzero(B)
        self.player, self.cut = np.r_[player_A, player_B], len(leaf_A)
        self.leaf = np.r_[leaf_A, leaf_B]
        self.sign = np.r_[self.w[leaf_A], -self.w[leaf_B]]

    def totals(self, order: np.ndarray) -> tuple[np.ndarray, float]:
        """Total of each order in which one player moves behind k others, (d, d), and of the order itself."""
        d, A, B, place = self.d, self.A, self.B, np.empty(self.d, dtype=np.int64)
        place[order] = np.arange(1, d + 1)
        at = np.r_[place, 0][A.player]
        last = np.maximum.reduceat(at, A.start)  # place of each A, and the last but one
        last_but_one = np.maximum.reduceat(np.where(at == last[A.leaf], 0, at), A.start)
        at = np.r_[place, d + 1][B.player]
        first = np.minimum.reduceat(at, B.start)  # place of each B, and the second
        second = np.minimum.reduceat(np.where(at == first[B.leaf], d + 1, at), B.start)
        stop = np.maximum(first, last)
        curve = self.c + np.cumsum(np.bincount(last, self.w, d + 2) - np.bincount(stop, self.w, d + 2))[: d + 1]
        at, cut = place[self.player], self.cut
        on, off = last[self.leaf], first[self.leaf]
        on[:cut] = np.where(at[:cut] == on[:cut], last_but_one[self.leaf[:cut]], on[:cut])
        off[cut:] = np.where(at[cut:] == off[cut:], second[self.leaf[cut:]], off[cut:])
        on -= on > at  # places among the others
        off -= off > at
        row, size = self.player * (d + 1), d * (d + 1)
        change = np.bincount(row + on, self.sign, size) - np.bincount(row + np.maximum(on, off), self.sign, size)
        effect = np.cumsum(change.reshape(d, d + 1), axis=1)[:, :d]  # of the player, behind k others
        without = np.where(np.arange(d) < place[:, None], curve[:d], curve[1:] - effect)
        later = np.cumsum(effect[:, ::-1], axis=1)[:, ::-1]
        totals = without.sum(axis=1, keepdims=True) + without + later
        if self.idle:
            rest = np.maximum.accumulate((without + effect)[:, ::-1], axis=1)[:, ::-1]
            totals += self.idle * np.maximum(np.maximum.accumulate(without, axis=1), rest)
        return totals, float(curve.sum() + self.idle * curve.max())


def _local_search(game: TreeGame, seconds: float) -> np.ndarray:
    """Iterated local search over the active players: the best move of one player until none helps, then a kick."""
    stop, rng, moves = monotonic() + seconds, np.random.default_rng(0), _Moves(game)
    order = np.argsort(-game.shapley()[game.active], kind="stable")
    best, best_order = -np.inf, order
    for _ in range(KICKS + 1):
        while True:
            totals, total = moves.totals(order)
            player, place = np.unravel_index(int(totals.argmax()), totals.shape)
            if totals[player, place] <= total + 1e-11 * (1 + abs(total)) or monotonic() > stop:
                break
            order = _moved(order, player, place)
        if total > best + 1e-12 * abs(best) or best == -np.inf:
            best, best_order = total, order
        if monotonic() > stop:
            break
        order = best_order
        for j, k in rng.integers(0, moves.d, (3, 2)):
            order = _moved(order, order[j], k)
    return best_order


def _moved(order: np.ndarray, player: Any, place: Any) -> np.ndarray:
    return np.insert(order[order != player], place, player)


Cubes = list[tuple[int, int, float]]  # (A, B, w) with sets as Python integers


def _join_trees(tree: np.ndarray, w: np.ndarray, A: np.ndarray, B: np.ndarray) -> list[Cubes]:
    """Trees as lists of cubes, each joined with those most similar to it while the product stays small.

    The sum of joined trees has a tighter bound.
    """
    packed = (np.packbits(M, axis=1, bitorder="little") for M in (A, B))
    ints = [[int.from_bytes(row.tobytes(), "little") for row in rows] for rows in packed]
    lists: dict[int, Cubes] = {}
    for t, cube in zip(tree.tolist(), zip(*ints, w.tolist(), strict=True), strict=True):
        lists.setdefault(t, []).append(cube)
    pool = sorted(lists.values(), key=len, reverse=True)
    supports = [reduce(or_, (a | b for a, b, _ in cubes)) for cubes in pool]
    joined = []
    while pool:
        cubes, support = pool.pop(0), supports.pop(0)
        while True:
            alike = [((s & ~support).bit_count(), -(s & support).bit_count(), i) for i, s in enumerate(supports)]
            near = [i for _, shared, i in sorted(alike) if shared][:25]
            products = ((i, _product(cubes, pool[i])) for i in near)
            place, product = next(((i, found) for i, found in products if found), (0, None))
            if product is None:
                break
            cubes = product
            support |= supports.pop(place)
            pool.pop(place)
        joined.append(cubes)
    return joined


def _product(first: Cubes, second: Cubes) -> Cubes | None:
    """The sum of two trees as one: the cubes that both allow. None if they are more than GROUPED."""
    product: dict[tuple[int, int], float] = {}
    for A, B, w in first:
        for C, D, z in second:
            if not (A & D or B & C):
                product[A | C, B | D] = product.get((A | C, B | D), 0.0) + w + z
                if len(product) > GROUPED:
                    return None
    return [(A, B, w) for (A, B), w in product.items()]


class _Relaxation:
    """The linear program behind the bound: shares of each tree's cubes and of the features in S.

    For any μ ≥ 0, v(S) ≤ C + π(S) with C = c + Σ over trees max over cubes (w − Σ_A μᴬ − Σ_B μᴮ) + Σ μᴮ and
    π_j = Σ over trees (μᴬ_j − μᴮ_j). The duals give a good μ; the bound holds for whatever the solver returns.
    """

    def __init__(self, lists: list[Cubes], constant: float, d: int) -> None:
        self.constant, self.d, self.trees = constant, d, len(lists)
        self.tree = np.repeat(np.arange(len(lists)), [len(cubes) for cubes in lists])
        *sets, w = zip(*(cube for cubes in lists for cube in cubes), strict=True)
        self.w, count = np.array(w), len(w)
        side, cube, j = np.nonzero([[[members >> k & 1 for k in range(d)] for members in part] for part in sets])
        rows, row = np.unique((side * self.trees + self.tree[cube]) * d + j, return_inverse=True)
        self.j, self.is_B = rows % d, rows >= self.trees * d  # a row for each feature in some A, or some B, of a tree
        self.cubes = sp.csr_matrix((np.ones(len(cube)), (row, cube)), (len(rows), count))
        self.right = self.is_B.astype(np.float64)
        takes = sp.csr_matrix((2 * self.right - 1, (np.arange(len(rows)), self.j)), (len(rows), d))
        self.limits = sp.hstack([self.cubes, takes], format="csr")
        one_each = sp.csr_matrix((np.ones(count), (self.tree, np.arange(count))), (self.trees, count))
        self.equal = sp.block_diag([one_each, np.ones((1, d))], "csr")

    def solve(self, size: int, seconds: float) -> tuple[float, np.ndarray, float]:
        """C and π from the duals for |S| = size, and the relaxation's value (−∞ if the solver failed)."""
        result = linprog(-np.r_[self.w, np.zeros(self.d)], self.limits, self.right, self.equal,
                         np.r_[np.ones(self.trees), size], (0, 1), method="highs",
                         options={"time_limit": max(seconds, 0.05)})  # fmt: skip
        found = getattr(result, "ineqlin", {}).get("marginals")
        mu = np.zeros(len(self.right)) if found is None else np.maximum(-np.nan_to_num(found), 0.0)
        return *self.modular(mu), -result.fun + self.constant if result.status == 0 else -np.inf

    def modular(self, mu: np.ndarray) -> tuple[float, np.ndarray]:
        """C and π of any μ ≥ 0."""
        rest = np.full(self.trees, -np.inf)
        np.maximum.at(rest, self.tree, self.w - self.cubes.T @ mu)
        pi = np.bincount(self.j, np.where(self.is_B, -mu, mu), self.d)
        return self.constant + float(rest.sum() + mu[self.is_B].sum()), pi


def _certificate(program: _Relaxation, ends: np.ndarray, n: int, seconds: float) -> float:
    """An upper bound of the AUC of every order; tightened at the sizes where it is loosest until time is up."""
    stop, d = monotonic() + seconds, program.d
    sizes, low, top = np.arange(d + 1), np.full(d + 1, np.nan), np.full(d + 1, np.inf)
    const, slope = np.zeros(d + 1), np.zeros((d + 1, d))
    low[[0, d]] = top[[0, d]] = const[[0, d]] = ends

    def tighten(size: int, C: float, pi: np.ndarray, value: float) -> None:
        new = C + np.r_[0.0, np.cumsum(-np.sort(-pi))]
        better = (new < top) & (sizes > 0) & (sizes < d)
        top[better], const[better], slope[better] = new[better], C, pi
        low[size] = value if np.isfinite(value) else top[size]

    tighten(1, *program.modular(np.zeros(len(program.right))), np.nan)
    low[1] = np.nan if d > 1 else low[d]
    waiting = [size for size in (d // 2, 1, d - 1) if 0 < size < d]
    while monotonic() < stop:
        known = np.flatnonzero(np.isfinite(low))
        slack = top - np.interp(sizes, known, low[known])
        slack[known] = 0
        size = waiting.pop(0) if waiting else int(slack.argmax())
        if size in known and not waiting and slack[size] <= 1e-4 * np.ptp(top):
            break
        tighten(size, *program.solve(size, stop - monotonic()))
    steps = np.cumsum(slope[::-1], axis=0)[::-1][1:]  # what a feature adds that comes at step p: from there to the end
    rows, columns = linear_sum_assignment(-steps)
    nested = const.sum() + steps[rows, columns].sum()
    return float(min(top.sum(), nested) + (n - d) * top.max())
