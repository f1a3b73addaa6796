"""Figures of chapter 18: which binary IG."""

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
from insdel_paper.figures.drawing import MARKERS, ZERO, draw_groups, draw_row


def binary_distance(table: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Left: distance of every pair from exact Shapley values, by method. Right: casting's, over how much f bends.

    table : from `binary_ig.study`
    titles : method → its name, for the methods to show
    """
    figure, [left, right] = panels_row(2, 10.0, 3.8)
    percent = table.assign(distance=100 * table["error"] / table["size"])
    colors = [method_look(title)["color"] for title in titles.values()]
    sns.boxplot(percent, x="distance", y="method", order=list(titles), hue="method", hue_order=list(titles),
                palette=colors, saturation=1, width=0.6, whis=(5, 95), showfliers=False,
                log_scale=True, ax=left)  # fmt: skip
    left.set_yticks(range(len(titles)), list(titles.values()))
    left.xaxis.set_major_formatter("{x:g}")
    left.set(xlabel="distance of a pair's values from exact ones, %", ylabel="")
    casting = table[table["method"] == "casting"]
    right.loglog(casting["bend"], casting["error"], "o", color=PALETTE["orange"], markersize=3, rasterized=True)
    for axis in (left.xaxis, right.xaxis, right.yaxis):
        axis.set_minor_formatter(NullFormatter())
    right.set(xlabel="mean |f − g| on the line (10⁷ INR)", ylabel="casting: Σ|A − φ| (10⁷ INR)")
    return figure


def binary_gain(areas: pd.DataFrame, evaluations: pd.Series, titles: Mapping[str, str]) -> Figure:
    """How many percent more ABC than casting, ± 2 standard errors, over model evaluations per pair.

    areas : from `binary_ig.areas`
    evaluations : method → model evaluations per pair, a gradient counted twice
    """
    looks = {method: {**method_look(title), "marker": marker}
             for (method, title), marker in zip(titles.items(), MARKERS, strict=False)}  # fmt: skip
    look: dict[str, Any] = {"titles": titles, "capsize": 3, "ms": 6, "ls": "none", "looks": looks}

    def draw(panel: Axes, mode: str) -> None:
        rows = areas.loc[mode].reindex(list(titles)).rename_axis("method").reset_index()
        rows["evaluations"] = rows["method"].map(evaluations)
        draw_groups(panel, rows, "method", "evaluations", "percent", "percent_se", **look)
        panel.axhline(0, **ZERO)
        panel.set_xscale("log")
        panel.xaxis.set_minor_formatter(NullFormatter())  # their labels would run into each other

    return draw_row(draw, MODES, 10.0, 3.6, xlabel="model evaluations per pair", ylabel="ABC more than casting, %")
