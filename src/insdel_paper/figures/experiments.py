"""Figures of chapters 11 and 12: the experiments."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from insdel.curves import MODES
from insdel.plots import METHOD_LOOKS, PALETTE, panels_grid, straight_line
from insdel_paper.figures.drawing import legend_outside

WALKERS = {"kernel_shap": "-", "integrated_gradients": "--"}


def _areas(table: pd.DataFrame, mode: str) -> pd.DataFrame:
    """ABC / n of every method in one test, (pairs, methods)."""
    return table[table["mode"] == mode].pivot_table("abc_per_feature", "pair", "method")


def experiment_aggregate(table: pd.DataFrame, unit: str = "") -> Figure:
    """ABC / n over all pairs: Kernel SHAP, IG against Kernel SHAP, random orders; a row per test  [figures 5, 8].

    table : from `compare`, with kernel_shap, integrated_gradients and random
    """
    figure, axes = panels_grid(2, 3, 10.5, 6.0)
    for (left, middle, right), mode in zip(axes, MODES, strict=True):
        areas = _areas(table, mode)
        both = areas[list(WALKERS)]
        ends = [both.min(axis=None), both.max(axis=None)]
        middle.plot(ends, ends, color=PALETTE["grey"], linewidth=1)
        look = {"color": PALETTE["orange"], "markersize": 3, "alpha": 0.5, "rasterized": True}
        middle.plot(areas["kernel_shap"], areas["integrated_gradients"], "o", **look)
        middle.set(xlabel="Kernel SHAP", ylabel="IG", title=f"{mode}: IG over Kernel SHAP")
        for panel, method, color, name in (
            (left, "kernel_shap", "blue", "Kernel SHAP"),
            (right, "random", "grey", "random orders"),
        ):
            panel.hist(areas[method], 30, color=PALETTE[color])
            panel.set(xlabel=f"{mode} ABC / n{unit}", ylabel="pairs", title=name)
            panel.set_yscale("log")  # the few pairs of the tail are what matters
    return figure


def experiment_walks(curves: pd.DataFrame, what: Sequence[str], ylabel: str) -> Figure:
    """Deletion (left) and insertion curves (right) of chosen pairs, a row each, over random orders  [figures 6, 7].

    curves : from `outcome.pair_curves`
    what : the pairs to draw, such as "example" or "insertion"
    """
    figure, axes = panels_grid(len(what), 2, 9.6, 3.4 * len(what), sharex=True)
    for row, name in zip(axes, what, strict=True):
        part = curves[curves["what"] == name]
        shuffled = part[part["method"] == "random"].pivot_table(index="step", columns="line", values="value")
        for panel, mode in zip(row, MODES[::-1], strict=True):
            panel.plot(shuffled, color="#BBBBBB", linewidth=0.7, zorder=1)[0].set_label("random orders")
            for method, style in WALKERS.items():
                label, color, _ = METHOD_LOOKS[method]
                line = part[(part["method"] == method) & (part["mode"] == mode)].sort_values("step")
                panel.plot(line["step"], line["value"], style, color=PALETTE[color], linewidth=2, label=label)
            straight_line(panel, line["value"].to_numpy())
            panel.set(title=f"pair {part['pair'].iloc[0]}, {mode}", xlabel="features changed so far")
        row[0].set_ylabel(ylabel)
    legend_outside(figure, axes[0, 0])
    return figure
