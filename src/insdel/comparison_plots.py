"""A comparison, and one walk of it, as pictures for slides: matplotlib axes in, axes out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes

from insdel.attribution import METHODS
from insdel.errors import UserError
from insdel.plots import COLORS, PALETTE, STYLE, straight_line

TITLES = {"insertion": "Insertion", "deletion": "Deletion"}


def method_title(label: str) -> str:
    """A method's name as readers know it; labels of users as they are."""
    extra = {"best": "Best order", "expected": "Chance"}
    return METHODS[label].title if label in METHODS else extra.get(label, label)


def plot_comparison(comparison: Any, axes: Axes | None = None) -> Axes:
    """Scores of all methods: a dot for each pair, and the mean over all pairs with two standard errors.

    Parameters
    ----------
    comparison : from `insdel.compare`, with scores
    axes : where to draw; by default a new figure
    """
    summary = comparison.summary(bootstrap=0)
    if "score" not in summary:
        raise UserError("plot needs scores, but this comparison was made with score=False. Leave that out.")
    labels = list(dict.fromkeys(summary["method"]))
    if axes is None:
        with plt.style.context(STYLE):
            axes = plt.subplots(figsize=(6.4, 1.2 + 0.55 * len(labels)))[1]
    table = comparison.table.assign(method=comparison.table["method"].map(method_title))
    colours = {"insertion": PALETTE["blue"], "deletion": PALETTE["orange"]}
    sns.stripplot(table, x="score", y="method", hue="mode", dodge=True, size=2.5, alpha=0.35, palette=colours,
                  legend=False, ax=axes, zorder=1)  # fmt: skip
    modes = list(dict.fromkeys(summary["mode"]))
    for k, mode in enumerate(modes):
        rows = summary[summary["mode"] == mode].set_index("method").loc[labels]
        places = np.arange(len(labels)) + (k - (len(modes) - 1) / 2) * 0.4
        axes.errorbar(rows["score"], places, xerr=2 * rows["score_se"], fmt="o", markersize=6, capsize=3,
                      color=colours[mode], markeredgecolor="white", label=TITLES[mode], zorder=3)  # fmt: skip
    lowest = float(np.nanmin([-0.1, *(summary["score"] - 2.5 * summary["score_se"].fillna(0))]))
    axes.set_xlim(max(lowest, -1.3), 1.08)
    for place in (0, 1):
        axes.axvline(place, color=PALETTE["grey"], linestyle="--", linewidth=1, zorder=0)
    found = " that a search found" if (summary["best_is"] == "search").any() else ""
    axes.set_xlabel(f"score: 0 = chance, 1 = the best order{found}")
    axes.set_ylabel("")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16 + 0.5 / len(labels)), ncol=2)
    return axes


def plot_walk(comparison: Any, row: Any, mode: str = "insertion", axes: Axes | None = None, first: int = 3) -> Axes:
    """Predictions along the walks of all methods for one row of x, from x to the reference.

    Parameters
    ----------
    row : the row of x, by its index
    first : features of each method that the legend names, in the order in which they change
    """
    walks, orders = comparison.curves(row, mode)
    names = comparison.pairs.names or [f"feature {j}" for j in range(comparison.pairs.n)]
    if axes is None:
        with plt.style.context(STYLE):
            axes = plt.subplots(figsize=(6.4, 3.8))[1]
    straight_line(axes, next(iter(walks.values())))
    for k, (label, curve) in enumerate(walks.items()):
        steps = "" if label not in orders else ": " + ", ".join(str(names[j]) for j in orders[label][:first]) + " …"
        style = ("-", "--", "-.", ":")[k // len(COLORS) % 4]
        axes.plot(curve, style, color=COLORS[k % len(COLORS)], label=method_title(label) + steps, drawstyle="default")
    n = comparison.pairs.n
    if n <= 12:
        axes.set_xticks(range(n + 1))
    axes.set_xlabel("features changed so far")
    axes.set_ylabel("prediction")
    axes.set_title(f"{TITLES[mode]}, row {row}", fontsize=11)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=9, ncol=1)
    return axes
