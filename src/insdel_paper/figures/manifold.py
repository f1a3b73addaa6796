"""Figures of chapter 19: off the manifold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from insdel.curves import MODES
from insdel.plots import PALETTE, method_look, panels_row
from insdel_paper.figures.drawing import MARKERS, ZERO, draw_groups, draw_row, legend_outside


def manifold_earned(earned: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Share of a method's ABC that points off the manifold add, over what it were if all points of a walk added alike.

    earned : from `manifold.off_manifold_share`, with policies
    titles : method → its name, for the methods to show
    """
    policies = list(earned.index.get_level_values("policy").unique())

    def draw(panel: Axes, mode: str) -> None:
        panel.plot([0, 1], [0, 1], **ZERO, label="no more than other points")
        for policy, marker in zip(policies, MARKERS, strict=False):
            rows = earned.loc[policy].xs(mode, level="mode").reindex(list(titles)).reset_index()
            names = {method: f"{policy.replace('_', '-')}: {title}" for method, title in titles.items()}
            looks = {method: {**method_look(method), "marker": marker} for method in titles}
            look: dict[str, Any] = {"ms": 6, "ls": "none", "elinewidth": 0.8, "titles": names, "looks": looks}
            draw_groups(panel, rows, "method", "even", "share", "share_se", **look)
        panel.set(xlim=(0, 1), ylim=(0, 1))

    return draw_row(draw, MODES, 10.0, 4.0, xlabel="share if all points of a walk added alike",
                    ylabel="share of the ABC from points off", ncols=2)  # fmt: skip


def manifold_tail(found: pd.DataFrame, beyond: float) -> Figure:
    """Left: how rare large insertion ABCs are, a line per pairing. Right: they come with distance from the data.

    found : from `manifold.tail`
    beyond : an ABC / n to mark, the paper's 150 GeV
    """
    figure, [left, right] = panels_row(2, 10.0, 3.8)
    rest = {"lw": 0.8, "color": PALETTE["sky"], "label": "other pairings"}
    for pairing, part in found.groupby("pairing"):
        first = {"lw": 2, "color": PALETTE["blue"], "label": "the pairing of the other chapters", "zorder": 3}
        sns.ecdfplot(part, x="insertion", stat="count", complementary=True, ax=left, **(rest if pairing else first))
        rest["label"] = f"_{pairing}" if pairing else rest["label"]  # one of them in the legend
    left.set(yscale="log", xlabel="insertion ABC / n (GeV)", ylabel="pairs with at least that much")
    right.plot(found["distance"], found["insertion"], ".", color=PALETTE["blue"], markersize=2, alpha=0.5,
               rasterized=True)  # fmt: skip
    right.set_xscale("log")
    right.xaxis.set_major_formatter("{x:g}")
    right.xaxis.set_minor_formatter(NullFormatter())
    right.set(xlabel="largest distance to the data on the walk", ylabel="insertion ABC / n (GeV)")
    left.axvline(beyond, color=PALETTE["orange"], linestyle="--", label=f"{beyond:g} GeV")
    right.axhline(beyond, color=PALETTE["orange"], linestyle="--")
    legend_outside(figure, left)
    return figure
