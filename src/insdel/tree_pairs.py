"""Pairs as games of trees, where f is a method of a tree ensemble or, through a link, a function of its margins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax

from insdel.arrays import is_tensor, to_numpy
from insdel.curves import order
from insdel.errors import UserError
from insdel.evaluate import Model, Pairs, ends
from insdel.lattice import FEW_HYBRIDS, Lattice
from insdel.probability import Probability
from insdel.trees import MAX_FEATURES, BestOrder, TreeGame, Trees

ORDERS = 1000  # random orders behind the chance level of a probability
METHODS = ("predict", "decision_function")  # of a model, that may be sums over leaves
Link = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class LinkedGame:
    """A game that is a function of the margins of trees, such as a probability: all by curves, nothing in closed form.

    margins : the games of the raw margins, one for each output that the link needs
    link : (margins, …) → (…)
    """

    margins: Sequence[TreeGame]
    link: Link
    origin: ClassVar[str] = "trees and link"

    @property
    def players(self) -> tuple[int, ...]:
        """The features that differ, in order."""
        return tuple(sorted(set().union(*(game.players for game in self.margins))))

    @property
    def d(self) -> int:
        """Number of players."""
        return len(self.players)

    @property
    def n(self) -> int:
        """Number of all features."""
        return self.margins[0].n

    def curve(self, order: Any) -> np.ndarray:
        """Curve of an order over all n features; (n,) → (n + 1,) or (m, n) → (m, n + 1)."""
        return self.link(np.stack([game.curve(order) for game in self.margins]))

    def abc(self, order: Any, mode: str = "insertion") -> Any:
        """ABC of an order, (n,) → one number, (m, n) → (m,)."""
        ahead = self._area(order, mode)
        return ahead if mode != "both" else ahead + self._area(np.asarray(order)[..., ::-1], "deletion")

    def _area(self, order: Any, mode: str) -> Any:
        curve = self.curve(order)
        area = curve.sum(axis=-1) - (self.n + 1) / 2 * (curve[..., 0] + curve[..., -1])
        return -area if mode == "deletion" else area

    @cached_property
    def _sample(self) -> np.ndarray:
        """Random orders, half of them the others reversed, (ORDERS, n)."""
        half = np.random.default_rng(0).permuted(np.tile(np.arange(self.n), (ORDERS // 2, 1)), axis=1)
        return np.concatenate([half, half[:, ::-1]])

    def expected_curve(self) -> np.ndarray:
        """The mean of the curves of 1,000 random orders, (n + 1,)."""
        return self.curve(self._sample).mean(axis=0)

    def expected_abc(self, mode: str = "insertion") -> float:
        """The mean ABC of 1,000 random orders."""
        return float(np.mean(self.abc(self._sample, mode)))

    def best_order(self, mode: str = "insertion") -> np.ndarray:
        """The best order that `search` finds, (n,)."""
        return self.search(mode).order

    def search(self, mode: str = "insertion", *, max_exact: int = MAX_FEATURES) -> BestOrder:
        """Search for the order with the largest ABC: exact up to `max_exact` differing features.

        Beyond, the best of the 1,000 random orders and, for each margin and its negative, of its best order and the
        order by its Shapley values.
        """
        if self.d <= max_exact:
            tables = [replace(game, players=self.players).values for game in self.margins]
            best = np.asarray(Lattice(self.link(np.stack(tables)), self.players, self.n).best_order(mode))
            return BestOrder(best, area := float(self.abc(best, mode)), area, True)
        candidates = [*self._sample]
        for game in self.margins:
            candidates += [game.best_order(part) for part in ("insertion", "deletion", "both")]
            candidates += [np.asarray(order(sign * game.shapley())) for sign in (1, -1)]
        areas = self.abc(np.array(candidates), mode)
        return BestOrder(candidates[int(areas.argmax())], float(areas.max()), np.inf, False)


def tree_games(
    f: Model, pairs: Pairs, known: dict[int, Trees] | None = None
) -> Sequence[TreeGame] | Sequence[LinkedGame]:
    """The games of all pairs, where f is the `predict` or a probability of a tree ensemble; none for other models.

    known : ensembles that were read before, by output; more are added
    """
    model, k = _model(f)
    if model is None:
        return []
    wanted = np.stack(ends(f, pairs))
    for outputs, link in _links(model, k):
        try:
            margins = [_games(model, output, pairs, {} if known is None else known) for output in outputs]
        except UserError:
            continue
        both = [np.array([game._ends for game in games]).T for games in margins]
        found = both[0] if link is None else link(np.stack(both))
        if np.allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max()):
            return margins[0] if link is None else [LinkedGame(games, link) for games in zip(*margins, strict=True)]
    return []


def shapley_games(f: Model, pairs: Pairs, known: dict[int, Trees] | None = None) -> Sequence[TreeGame]:
    """The games of all pairs in closed form, none for models without, and where a few predictions are quicker."""
    d = int(pairs.differing().sum(axis=1).max())
    if d <= MAX_FEATURES and len(pairs) * 2**d <= FEW_HYBRIDS:
        return []
    games = tree_games(f, pairs, known)
    return [game for game in games if isinstance(game, TreeGame)]


def _model(f: Model) -> tuple[Any, int | None]:
    """The model whose method f is, and the class whose probability f is."""
    if isinstance(f, Probability):
        return f.classifier, f.k
    method = getattr(f, "func", f)  # functools.partial, as of predict with raw_score=True
    return (getattr(method, "__self__", None) if getattr(method, "__name__", "") in METHODS else None), None


def _links(model: Any, k: int | None) -> Iterator[tuple[Sequence[int], Link | None]]:
    """Outputs of the model, and what may turn their margins into f; None: nothing."""
    yield (k or 0,), None
    if k is None:
        yield (0,), lambda margins: np.exp(margins[0])
        yield (0,), lambda margins: expit(margins[0])
    elif len(model.classes_) == 2:
        yield (0,), lambda margins: expit(margins[0] if k else -margins[0])
    else:
        yield range(len(model.classes_)), lambda margins: softmax(margins, axis=0)[k]


def _games(model: Any, output: int, pairs: Pairs, known: dict[int, Trees]) -> list[TreeGame]:
    if output not in known:
        known[output] = Trees.of(model, output)
    trees = known[output]
    rows = pairs.reference if pairs.background is None else pairs.background
    points: list[Any] = [to_numpy(part) if is_tensor(part) else part for part in (pairs.x, rows)]
    step, places = np.arange(points[0].shape[1]), None
    if pairs.group is not None:
        step = np.asarray(pairs.group)
    if pairs.columns is not None:
        places = trees.places(pairs.columns.names)
        points = [pairs.columns.frame(part) for part in points]
    elif any(part.dtype.kind not in "biuf" for part in points):
        raise UserError("trees need numbers, or data frames.")
    step = step if places is None else step[places]
    return list(trees.pair_games(points[0], points[1], step, pairs.n, pairs.background is not None))
