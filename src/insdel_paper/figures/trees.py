"""Figures of the chapter on trees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from insdel.plots import PALETTE, method_look, panels_row
from insdel_paper.figures.drawing import legend_outside


def trees_scale(areas: np.ndarray, marks: Mapping[str, float]) -> Figure:
    """Areas of random orders, and where chance, an explanation, the best order found and its bound lie.

    areas : (orders,)
    marks : label → area
    """
    figure, [panel] = panels_row(1, 7.6, 3.6)
    panel.hist(areas, bins=40, color=PALETTE["grey"], alpha=0.6, label=f"{len(areas):,} random orders")
    for (label, area), style in zip(marks.items(), (":", "-", "--", "-."), strict=False):
        panel.axvline(area, color=method_look(label)["color"], linestyle=style, linewidth=2, label=label)
    panel.set_xlabel("ABC of the insertion test")
    panel.set_ylabel("orders")
    legend_outside(figure, panel)
    return figure


def trees_gaps(table: pd.DataFrame) -> Figure:
    """Certified gap and loss of the Shapley order, pair by pair, for each family of models.

    table : from `studies.trees.certified_gaps`
    """
    families = list(dict.fromkeys(table["family"]))
    figure, [panel] = panels_row(1, 7.6, 3.8)
    row = table["family"].map(families.index).to_numpy()
    for value, shift, color, marker, label in (
        ("gap", -0.14, PALETTE["blue"], "o", "upper bound above the order found"),
        ("shapley", 0.14, PALETTE["orange"], "s", "Shapley order below the order found"),
    ):
        percent = np.maximum(100 * table[value], 1e-3)
        panel.plot(percent, row + shift, marker, color=color, markersize=4, alpha=0.8, label=label, linestyle="none")
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
    panel.set_yticks(range(len(families)), families)
    panel.invert_yaxis()
    panel.set_xlabel("% of the way from chance to the order found (0 stands at 0.001)")
    legend_outside(figure, panel)
    return figure
