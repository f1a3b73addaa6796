"""What the interactive figures of chapter 22 are given: all values of a pair, and the orders that the buttons lay.

A page has no model. It gets the 2ᵈ predictions of a pair's hybrids, so that the curve of every order is a look-up,
and the orders that Python has found. Cards lie in the order of insertion; deletion takes them from the other end.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from insdel.attribution import explain
from insdel.curves import MODES, order
from insdel.evaluate import Model
from insdel.examples import Example
from insdel.lattice import LATTICE_MODES, Lattice, lattices
from insdel.plots import method_look, panels_grid, straight_line

METHODS = {"kernel_shap": "KS", "integrated_gradients": "IG", "lime": "LIME"}  # those with a button
DRAWN = {"best": "best order", "kernel_shap": "Shapley's order"}  # in pictures for pages without scripts
LARGEST, STEP = 6.0, 0.25  # of the sliders for Δ_u
NOTE = "If scripts run, an interactive figure appears here. Otherwise see the picture below."


@dataclass(frozen=True)
class Deal:
    """One game: the values, and the orders of the buttons.

    lattice : of the differing features alone, so that every card counts in n
    orders : button → test ("insertion", "deletion", "both") → cards, (d,), in the order of insertion
    """

    lattice: Lattice
    orders: Mapping[str, Mapping[str, np.ndarray]]

    def abc(self, button: str, mode: str = "insertion") -> float:
        """ABC of a button's order in a test (mode "both": ABC + ABC′)."""
        cards = self.orders[button][mode]
        return float(self.lattice.abc(cards[::-1] if mode == "deletion" else cards, mode))

    def share(self, button: str, mode: str = "insertion") -> float:
        """That ABC as a share of the best; NaN where even the best order wins no area."""
        best = self.abc("best", mode)
        return self.abc(button, mode) / best if best > 0 else float("nan")


@dataclass(frozen=True)
class Board:
    """A pair of points to play with, or several that a slider leads through.

    unit : of the prediction
    knob, positions : what the slider changes, and its values; none for a single deal
    names, changes : d texts each, such as "area" and "100 → 80"
    deals : one, or one per position of the slider
    """

    title: str
    about: str
    unit: str
    knob: str
    names: tuple[str, ...]
    changes: tuple[str, ...]
    positions: tuple[float, ...]
    deals: tuple[Deal, ...]


def deal(f: Model, x: Any, reference: Any, seed: int = 0) -> Deal:
    """Evaluate all hybrids of a pair of (n,) points, and rank its differing features by each method.

    Values are rounded to float32 first, as a page gets them: so its areas are those of `lattice`.
    """
    full = Lattice.evaluate(f, x, reference, progress=False)
    values = np.asarray(full.values, dtype=np.float32).astype(np.float64)
    lattice = Lattice(values, tuple(range(full.d)), full.d)
    orders: dict[str, dict[str, np.ndarray]] = {}
    for method in METHODS:
        options: dict[str, Any] = {"samples": 200, "seed": seed} if method == "lime" else {}
        scores = np.asarray(explain(method, f, x, reference, **options))[list(full.players)]
        orders[method] = dict.fromkeys(LATTICE_MODES, np.asarray(order(scores)))

    def corner(z: np.ndarray) -> np.ndarray:  # at its corners the unit cube is the lattice
        return values[z.astype(np.int64) @ 2 ** np.arange(lattice.d)]

    orders |= {"greedy": {}, "best": {}}
    ends = np.zeros(lattice.d), np.ones(lattice.d)
    for mode in LATTICE_MODES:
        orders["greedy"][mode] = np.asarray(order(explain("greedy", corner, *ends, mode=mode)))
        orders["best"][mode] = np.asarray(lattice.best_order(mode))
    orders["best"]["deletion"] = orders["best"]["deletion"][::-1]  # it names the card that goes first, so the last one
    return Deal(lattice, orders)


def board(
    title: str, about: str, unit: str, f: Model, pair: tuple[Any, Any], names: Sequence[str],
    shown: tuple[Any, Any] | None = None, seed: int = 0,
) -> Board:  # fmt: skip
    """A board with one pair (x, x′) of (n,) points; `shown` are their values in the units of the cards."""
    x, reference = (np.asarray(point) for point in pair)
    left, right = pair if shown is None else shown
    players = np.flatnonzero(x != reference).tolist()
    changes = tuple(f"{float(left[j]):.4g} → {float(right[j]):.4g}".replace("-", "−") for j in players)
    named = tuple(names[j] for j in players)
    return Board(title, about, unit, "", named, changes, (), (deal(f, x, reference, seed),))


def family(
    title: str, about: str, make: Callable[[float], Example], knob: str, positions: Iterable[float], seed: int = 0
) -> Board:
    """A board whose slider leads from game to game: `make(position)` gives f, x, x′ and the names."""
    places = tuple(map(float, positions))
    games = [board(title, about, "", f, (x, reference), [f"feature {name}" for name in names], seed=seed)
             for f, x, reference, names in map(make, places)]  # fmt: skip
    return replace(games[0], knob=knob, positions=places, deals=tuple(one.deals[0] for one in games))


def hardest_pair(f: Model, X: np.ndarray, R: np.ndarray) -> int:
    """The pair, a row of X and R (pairs, n), in which the order by Shapley value keeps least of the best ABC."""
    shares = []
    for one in lattices(f, X, R, progress=False):
        best, ours = (float(one.abc(cards)) for cards in (one.best_order(), order(one.shapley())))
        shares.append(ours / best if best > 0 else 1.0)
    return int(np.argmin(shares))


def encode(values: Any) -> str:
    """Numbers as little-endian float32 in base64, of the kind without slashes: a page must not look like addresses."""
    return base64.urlsafe_b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()


def _figure(kind: str, still: str, data: Mapping[str, Any]) -> HTML:
    """An interactive figure: an empty place on the page, and the data for the script that draws a figure of this kind.

    still : label of the matplotlib figure for pages without scripts, which it replaces
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=np.ndarray.tolist).replace("</", "<\\/")
    return HTML(
        f'<div class="play" data-play="{kind}" data-still="{still}"><p class="play-note">{NOTE}</p>'
        f'<script type="application/json">{text}</script></div>'
    )


def cards(boards: Sequence[Board], still: str) -> HTML:
    """The figure in which the reader orders cards."""
    buttons = METHODS | {"random": "random", "greedy": "greedy", "best": "best"}
    shown = [
        vars(one) | {"positions": [float(f"{place:.6g}") for place in one.positions],
                     "deals": [{"values": encode(game.lattice.values), "orders": game.orders} for game in one.deals]}
        for one in boards
    ]  # fmt: skip
    return _figure("order", still, {"buttons": buttons, "boards": shown})


def sliders(games: Mapping[str, Mapping[tuple[int, ...], float]], still: str) -> HTML:
    """The figure with a slider for each Δ_u of a three-feature game.

    games : title → {u: Δ_u}, features counted from 1 as in `examples.game`; each gets a button, the first is shown
    """
    subsets = [u for size in (1, 2, 3) for u in combinations((1, 2, 3), size)]
    if unknown := {u for dividends in games.values() for u in dividends} - set(subsets):
        raise ValueError(f"a three-feature game needs sets among {subsets}; found {sorted(unknown)}. Leave them out.")
    rows = {title: [float(dividends.get(u, 0.0)) for u in subsets] for title, dividends in games.items()}
    sizes = [abs(delta) for row in rows.values() for delta in row]
    if max(sizes) > LARGEST or any(size % STEP for size in sizes):
        raise ValueError(f"sliders need Δ_u between ±{LARGEST:g} in steps of {STEP:g}; found {rows}. Change those.")
    return _figure("game", still, {"subsets": subsets, "games": rows, "largest": LARGEST, "step": STEP})


def play_boards(boards: Sequence[Board]) -> Figure:
    """Best order and Shapley's on every board, insertion beside deletion; of a family the game in the middle."""
    figure, rows = panels_grid(len(boards), 2, 9.0, 2.6 * len(boards), sharey="row")
    for panels, one in zip(rows, boards, strict=True):
        middle = len(one.deals) // 2
        game, place = one.deals[middle], f", {one.knob} = {one.positions[middle]:g}" if one.knob else ""
        for panel, mode in zip(panels, MODES, strict=True):
            for button, label in DRAWN.items():
                cards = game.orders[button][mode]
                curve = np.asarray(game.lattice.curve(cards[::-1] if mode == "deletion" else cards))
                name = f"{label}, ABC {game.abc(button, mode):.4g}"
                panel.plot(curve, **method_look(button), markersize=5, label=name, zorder=3)
            straight_line(panel, curve)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
            panel.set_title(mode, loc="right", fontsize="small")
            panel.legend(fontsize="x-small")
        panels[0].set_title(f"{one.title}{place}", loc="left", fontsize="medium")
        panels[0].set_ylabel(one.unit or "value")
    for panel in rows[-1]:
        panel.set_xlabel("features changed so far")
    return figure
