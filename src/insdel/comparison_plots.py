"""A comparison, and one walk of it, as pictures for slides: matplotlib axes in, axes out."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes

from insdel.attribution import METHODS
from insdel.errors import UserError
from insdel.plots import COLORS, PALETTE, STYLE, method_look, straight_line

TITLES = {"insertion": "Insertion", "deletion": "Deletion"}
FIXED = {name: method_look(name)["color"] for name in (*METHODS, "best", "expected")}
LONGEST = 22  # characters of a feature's name in a legend


def method_title(label: str) -> str:
    """A method's name as readers know it; labels of users as they are."""
    extra = {"best": "Best order", "expected": "Chance"}
    return METHODS[label].title if label in METHODS else extra.get(label, label)


def _plain(text: Any, longest: int | None = None) -> str:
    """Text as it is, for a dollar sign would begin a formula; cut where it is too long."""
    short = str(text) if longest is None or len(str(text)) <= longest else str(text)[: longest - 1] + "…"
    return short.replace("$", r"\$")


def colours(comparison: Any) -> dict[str, str]:
    """The colours of `method_look` for built-in methods; methods of users take what is free."""
    labels = list(comparison.plan.methods)
    taken = {PALETTE["grey"], PALETTE["black"], *(FIXED[label] for label in labels if label in FIXED)}
    free = [color for color in COLORS if color not in taken] or COLORS
    others = [label for label in labels if label not in FIXED]
    return {**FIXED, **{label: free[k % len(free)] for k, label in enumerate(others)}}


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
    labels, modes = (list(dict.fromkeys(summary[name])) for name in ("method", "mode"))
    if axes is None:
        with plt.style.context(STYLE):
            axes = plt.subplots(figsize=(6.4, 1.3 + 0.62 * len(labels)))[1]
    color, table = colours(comparison), comparison.table
    spread = table["pair"] * 0.618 % 1 - 0.5  # dots of pairs apart from each other, the same in every drawing
    table = table.assign(place=table["method"].map(labels.index) + 0.6 * spread)
    sns.scatterplot(table, x="score", y="place", hue="method", palette=color, s=8, alpha=0.3, linewidth=0,
                    legend=False, ax=axes, zorder=1)  # fmt: skip
    for k, mode in enumerate(modes):  # large marks: filled for the first test, hollow for the second
        rows = summary[summary["mode"] == mode].set_index("method").loc[labels]
        place = (k - (len(modes) - 1) / 2) * 0.34
        style: dict[str, Any] = {"fmt": "os"[k % 2], "markersize": 7, "capsize": 3, "zorder": 3}
        for j, label in enumerate(labels):
            axes.errorbar(rows.loc[label, "score"], j + place, xerr=2 * rows.loc[label, "score_se"], color=color[label],
                          markerfacecolor=color[label] if k == 0 else "white", **style)  # fmt: skip
        face = PALETTE["black"] if k == 0 else "white"
        axes.plot([], [], "os"[k % 2], markersize=7, color=PALETTE["black"], markerfacecolor=face, label=TITLES[mode])
    lowest = float(np.nanmin([-0.1, *(summary["score"] - 2.5 * summary["score_se"].fillna(0))]))
    axes.set_xlim(max(lowest, -1.3), 1.08)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    for place in (0, 1):
        axes.axvline(place, color=PALETTE["grey"], linestyle="--", linewidth=1, zorder=0)
    found = " that a search found" if (summary["best_is"] == "search").any() else ""
    axes.set_xlabel(f"score: 0 = chance, 1 = the best order{found}")
    axes.set_ylabel("")
    axes.set_yticks(range(len(labels)), [_plain(method_title(label)) for label in labels])
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=2, borderaxespad=0.2)
    return axes


def plot_walk(comparison: Any, row: Any, mode: str = "insertion", axes: Axes | None = None, first: int = 3) -> Axes:
    """Predictions along the walks of all methods for one row of x, from x to the reference.

    Parameters
    ----------
    row : the row of x, by its index
    first : features of each method that the legend names, in the order in which they change
    """
    walks, orders = comparison.curves(row, mode)
    n = comparison.pairs.n
    names = comparison.pairs.names or [f"feature {j}" for j in range(n)]
    if axes is None:
        with plt.style.context(STYLE):
            axes = plt.subplots(figsize=(6.4, 3.6 + 0.16 * len(walks)))[1]
    straight_line(axes, next(iter(walks.values())))
    color = colours(comparison)
    greys = [label for label in walks if color[label] == PALETTE["grey"]]
    for k, (label, curve) in enumerate(walks.items()):
        chosen = [_plain(names[j], LONGEST) for j in orders.get(label, ())[:first]]
        steps = ": " + ", ".join(chosen) + (" …" if n > first else "") if chosen else ""
        style = ("--", "-.", ":")[greys.index(label) % 3] if label in greys else "-"
        axes.plot(curve, style, color=color[label], label=_plain(method_title(label)) + steps,
                  marker="o" if n <= 20 else None, markersize=3.5,
                  linewidth=1.4 + 1.2 * (len(walks) - 1 - k))  # lines that coincide remain visible  # fmt: skip
    if n <= 12:
        axes.set_xticks(range(n + 1))
    axes.set_xlabel("features changed so far")
    axes.set_ylabel("prediction")
    axes.set_title(f"{TITLES[mode]}, row {_plain(row)}", fontsize=11)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), fontsize=9, borderaxespad=0, title_fontsize=9,
                title="method: features that it changes first", alignment="left")  # fmt: skip
    return axes
