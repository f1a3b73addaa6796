"""Figures of chapter 22: what its interactive figures show, for pages without scripts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from insdel.curves import MODES
from insdel.plots import method_look, panels_grid, straight_line
from insdel_book.board import Board, Deal

DRAWN = {"best": "best order", "kernel_shap": "Shapley's order"}


def _walks(panel: Axes, one: Deal, mode: str) -> None:
    """Curves of the best order and of Shapley's in one test, and the straight line."""
    for button, label in DRAWN.items():
        cards = one.orders[button][mode]
        curve = np.asarray(one.lattice.curve(cards[::-1] if mode == "deletion" else cards))
        name = f"{label}, ABC {one.abc(button, mode):.4g}"
        panel.plot(curve, **method_look(button), markersize=5, label=name, zorder=3)
    straight_line(panel, curve)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))


def play_boards(boards: Sequence[Board]) -> Figure:
    """Best order and Shapley's on every board, insertion beside deletion; of a family the game in the middle.

    boards : from `play.board` or `play.family`
    """
    figure, rows = panels_grid(len(boards), 2, 9.0, 2.6 * len(boards), sharey="row")
    for panels, one in zip(rows, boards, strict=True):
        middle = len(one.deals) // 2
        place = f", {one.knob} = {one.positions[middle]:g}" if one.knob else ""
        for panel, mode in zip(panels, MODES, strict=True):
            _walks(panel, one.deals[middle], mode)
            panel.legend(fontsize="x-small")
        panels[0].set_title(f"{one.title}{place}", loc="left", fontsize="medium")
        panels[0].set_ylabel(one.unit or "value")
        panels[1].set_title("deletion", loc="right", fontsize="small")
        panels[0].set_title("insertion", loc="right", fontsize="small")
    for panel in rows[-1]:
        panel.set_xlabel("features changed so far")
    return figure
