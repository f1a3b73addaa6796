"""Figures of chapter 7: one prediction explained in six ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.curves import MODES
from insdel.plots import PALETTE, method_look, panels_grid, panels_row, straight_line

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))  # told apart without colours, too


def six_attributions(attributions: Mapping[str, ArrayLike], names: Sequence[str]) -> Figure:
    """One panel of bars per method, the features down the side.

    attributions : {method: (features,)}, each panel with a scale of its own
    """
    figure, axes = panels_grid(1, len(attributions), 9.5, 0.3 * len(names) + 1.2, sharey=True)
    places = np.arange(len(names))
    for panel, (title, values) in zip(axes[0], attributions.items(), strict=True):
        heights = np.asarray(values, dtype=float)
        panel.barh(places, heights, color=[PALETTE["blue" if one > 0 else "orange"] for one in heights])
        panel.axvline(0, color=PALETTE["black"], linewidth=0.8)
        limit = 1.1 * np.abs(heights).max() or 1.0
        panel.set_xlim(-limit, limit)
        panel.set_xticks([0])
        panel.set_title(title.replace(" ", "\n", 1), fontsize=11)
    axes[0, 0].set_yticks(places, list(names))
    axes[0, 0].invert_yaxis()
    figure.supxlabel("A: lowers the prediction ← 0 → raises it")
    return figure


def six_walks(walks: Mapping[tuple[str, str], ArrayLike], chance: ArrayLike, ylabel: str = "prediction") -> Figure:
    """The walks of several methods over those of random orders, insertion left, deletion right.

    walks : {(mode, method): (n + 1,)}
    chance : (orders, n + 1)
    """
    figure, panels = panels_row(2, 10.5, 4.4, sharey=True)
    titles = list(dict.fromkeys(title for _, title in walks))
    for panel, mode in zip(panels, MODES, strict=True):
        lines = panel.plot(np.asarray(chance).T, color="#CCCCCC", linewidth=0.6, zorder=1, rasterized=True)
        lines[0].set_label("random orders")
        for place, title in enumerate(titles):
            curve = np.asarray(walks[mode, title], dtype=float)
            style: dict[str, Any] = {"linestyle": STYLES[place % len(STYLES)], "linewidth": 2, "label": title}
            panel.plot(curve, color=method_look(title)["color"], **style)
        straight_line(panel, curve)
        panel.set(title=mode, xlabel="features changed so far")
    panels[0].set_ylabel(ylabel)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
