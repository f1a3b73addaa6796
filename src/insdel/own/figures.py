"""Figures of chapter 21: the reader's own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.curves import MODES
from insdel.plots import COLORS, PALETTE, message, panels_grid, panels_row, straight_line
from insdel.stats import REFERENCES, summary

MOST_FEATURES = 15  # bars of a pair that can still be read
PER_ROW = 4  # panels beside each other
NO_NUMBERS = "None of these methods gives every feature a number."
MARKERS = "osD^vP*X"


def plain(text: str) -> str:
    """Text as it is: a dollar sign would begin a formula."""
    return str(text).replace("$", r"\$")


def own_ranking(
    table: pd.DataFrame, titles: Mapping[str, str] | None = None, pairs: Any = None, unit: str = ""
) -> Figure:
    """Mean ABC / n of every method ± 2 standard errors, best on top; lines for the best and the mean of all orders.

    Parameters
    ----------
    table : from `compare`
    titles : method → its name on the axis
    pairs : as for `insdel.summary`
    """
    rows, titles = summary(table, pairs, bootstrap=0), titles or {}
    figure, panels = panels_row(2, 10.0, 0.36 * rows["method"].nunique() + 1.6)
    for panel, mode in zip(panels, MODES, strict=True):
        part = rows[rows["mode"] == mode].set_index("method")
        for name, color, style in zip(REFERENCES, ("green", "grey"), ("-", "--"), strict=True):
            if name in part.index:
                label = titles.get(name, name)
                panel.axvline(part.loc[name, "mean"], color=PALETTE[color], linestyle=style, label=label)
        shown = part.drop(index=list(REFERENCES), errors="ignore").sort_values("mean")
        bars = 2 * shown["se"]
        panel.errorbar(shown["mean"], range(len(shown)), xerr=bars, fmt="o", color=PALETTE["blue"], capsize=3)
        panel.set_yticks(range(len(shown)), [titles.get(method, method) for method in shown.index])
        panel.set(title=mode, xlabel=f"mean ABC / n{plain(unit)}")
    handles = panels[0].get_legend_handles_labels()
    if handles[0]:
        figure.legend(*handles, loc="outside lower center", ncols=2, fontsize="small")
    return figure


def own_walks(
    curves: Mapping[str, Mapping[str, np.ndarray]], titles: Mapping[str, str] | None = None, ylabel: str = "prediction"
) -> Figure:
    """Insertion and deletion curves of one pair, a line per method.

    curves : mode → method → (n + 1,), from `own_pairs.walks`
    """
    if not any(curves.values()):
        return message(NO_NUMBERS)
    figure, panels = panels_row(2, 10.0, 4.0, sharey=True)
    for panel, mode in zip(panels, MODES, strict=True):
        for place, (method, values) in enumerate(curves[mode].items()):
            marker, color = MARKERS[place % len(MARKERS)], COLORS[place % len(COLORS)]
            label = (titles or {}).get(method, method)
            panel.plot(values, color=color, marker=marker, markersize=4, alpha=0.85, label=label)
        straight_line(panel, values)
        panel.set(title=mode, xlabel="features changed so far")
    panels[0].set_ylabel(plain(ylabel))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize="small")
    return figure


def own_attributions(
    ranked: Mapping[str, np.ndarray], names: Sequence[str], titles: Mapping[str, str] | None = None
) -> Figure:
    """A_j of one pair by several methods, a panel each; the features with the largest mean share on top.

    Parameters
    ----------
    ranked : method → (n,)
    names : (n,) such as "bmi: 22.1 → 30.4"
    """
    if not ranked:
        return message(NO_NUMBERS)
    sizes = np.abs(np.stack(list(ranked.values())))
    share = (sizes / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(float).tiny)).mean(axis=0)
    top = np.argsort(-share, kind="stable")[:MOST_FEATURES][::-1]
    columns = min(PER_ROW, len(ranked))
    rows = -(-len(ranked) // columns)
    figure, panels = panels_grid(rows, columns, 3.0 + 1.75 * columns, rows * (0.26 * len(top) + 0.7) + 0.4, sharey=True)
    for panel, (method, values) in zip(panels.flat, ranked.items(), strict=False):
        _bars(panel, np.asarray(values)[top])
        panel.set_title((titles or {}).get(method, method), fontsize="medium")
        panel.set_yticks(range(len(top)), [plain(names[j]) for j in top])
    for panel in panels.flat[len(ranked) :]:
        panel.axis("off")
    figure.supxlabel("attribution: effect of changing the feature", fontsize="medium")
    return figure


def _bars(panel: Axes, values: np.ndarray) -> None:
    """Bars to the right for what raises the prediction, to the left for what lowers it."""
    colors = [PALETTE["blue"] if value >= 0 else PALETTE["orange"] for value in values]
    panel.barh(range(len(values)), values, color=colors)
    panel.axvline(0, color=PALETTE["black"], linewidth=0.8)
    panel.locator_params(axis="x", nbins=3)
