"""Pairs as games of trees, where f is a method of a tree ensemble or, through a link, a function of its margins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from insdel.curves import order
from insdel.errors import UserError
from insdel.evaluate import Model, Pairs, random_hybrids
from insdel.lattice import FEW_HYBRIDS, MAX_FEATURES, Game, Lattice
from insdel.probability import Probability
from insdel.trees import BestOrder, TreeGame, Trees

ORDERS = 1000  # random orders behind the chance level of a probability
METHODS = ("predict", "decision_function")  # of a model, that may be sums over leaves
LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")  # whose methods they are, not a subclass's own
MARGINS = {"output_margin", "raw_score", "prediction_type"}  # options without which `predict` gives labels
Link = Callable[[np.ndarray], np.ndarray]


class LinkedGame(Game):
    """A game that is a function of the margins of trees, such as a probability: all by curves, nothing in closed form.

    margins : the games of the raw margins, one for each output that the link needs
    link : (margins, …) → (…)
    """

    origin = "trees and link"

    def __init__(self, margins: Sequence[TreeGame], link: Link) -> None:
        self.margins, self.link = margins, link
        self.players, self.n = margins[0].players, margins[0].n

    def _curves(self, orders: np.ndarray) -> np.ndarray:
        return self.link(np.stack([game._curves(orders) for game in self.margins]))

    @cached_property
    def _sample(self) -> np.ndarray:
        """Random orders, half of them the others reversed, (ORDERS, n)."""
        half = self.random_orders(ORDERS // 2, 0)
        return np.concatenate([half, half[:, ::-1]])

    def expected_curve(self) -> np.ndarray:
        """The mean of the curves of 1,000 random orders, (n + 1,)."""
        return self._curves(self._sample).mean(axis=0)

    def best_order(self, mode: str = "insertion") -> np.ndarray:
        """The best order that `search` finds, (n,)."""
        return self.search(mode).order

    def search(self, mode: str = "insertion", *, max_exact: int = MAX_FEATURES) -> BestOrder:
        """Search for the order with the largest ABC: exact up to `max_exact` differing features.

        Beyond, the best of the 1,000 random orders and, for each margin and its negative, of its best order and the
        order by its Shapley values.
        """
        if self.d <= max_exact:
            values = self.link(np.stack([game.values for game in self.margins]))
            best = np.asarray(Lattice(values, self.players, self.n).best_order(mode))
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
    if isinstance(f, Probability):
        model, k, method = f.classifier, f.k, f.classifier.predict_proba
    else:
        method, k = getattr(f, "func", f), None  # functools.partial, as of predict with raw_score=True
        name, model = getattr(method, "__name__", ""), getattr(method, "__self__", None)
        labels = len(getattr(model, "classes_", ())) and not MARGINS & {*getattr(f, "keywords", ())}
        model = None if name not in METHODS or (name == "predict" and labels) else model
    if model is None or str(getattr(method, "__module__", "")).partition(".")[0] not in LIBRARIES:
        return []
    known = {} if known is None else known
    masks, wanted = random_hybrids(f, pairs)
    orders, sizes = (~masks).argsort(axis=2, kind="stable"), masks.sum(axis=2)
    for outputs, link in _links(model, k):
        try:
            for output in set(outputs) - set(known):
                known[output] = Trees.of(model, output)
            margins = [list(known[output].pair_games(pairs)) for output in outputs]
        except UserError:
            continue
        curves = [[game._curves(rows) for game, rows in zip(games, orders, strict=True)] for games in margins]
        values = np.take_along_axis(np.array(curves), sizes[None, ..., None], axis=3)[..., 0]
        found = values[0] if link is None else link(values)
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
