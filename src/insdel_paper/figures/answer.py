"""Figures that give the answer: who is ahead, by how much, at what price, and how the test goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from insdel.curves import MODES
from insdel.plots import METHOD_LOOKS, PALETTE, panels_row
from insdel_paper.figures.drawing import legend_outside


def lead(rows: pd.DataFrame) -> Figure:
    """Kernel SHAP's lead over IG in percent of Kernel SHAP's area, ± 2 standard errors, a row per comparison.

    rows : indexed by what is compared; columns mode, lead and se, both in percent
    """
    labels = list(dict.fromkeys(rows.index))
    figure, [axes] = panels_row(width=7.2, height=1.3 + 0.5 * len(labels))
    looks = {"insertion": ("blue", "o", 0.14), "deletion": ("orange", "s", -0.14)}
    for mode, (color, marker, shift) in looks.items():
        part = rows[rows["mode"] == mode]
        places = [len(labels) - 1 - labels.index(label) + shift for label in part.index]
        axes.errorbar(part["lead"], places, xerr=2 * part["se"], fmt=marker, color=PALETTE[color],
                      capsize=3, markersize=7, label=mode)  # fmt: skip
    axes.axvline(0, color=PALETTE["grey"], linestyle="--", linewidth=1)
    axes.set_yticks(range(len(labels)), labels[::-1])
    axes.set_ylim(-0.6, len(labels) - 0.4)
    axes.set_xlabel("lead in % of Kernel SHAP's area (left of 0: IG ahead)")
    legend_outside(figure, axes)
    return figure


def dumbbells(ours: pd.DataFrame, printed: pd.DataFrame, titles: Mapping[str, str], unit: str = "") -> Figure:
    """Printed means beside ours, a row per method and a panel per test; best order and chance as lines.

    Parameters
    ----------
    ours, printed : columns mode, method, mean and se; `ours` may hold "best" and "expected", drawn as lines
    titles : method → its name, for the methods of both; also the order of the rows, from above
    """
    figure, panels = panels_row(2, 9.6, 1.4 + 0.42 * len(titles), sharey=True)
    places = {method: len(titles) - 1 - k for k, method in enumerate(titles)}
    for panel, mode in zip(panels, MODES, strict=True):
        one, two = (part[part["mode"] == mode].set_index("method") for part in (ours, printed))
        for method, place in places.items():
            panel.plot([one["mean"][method], two["mean"][method]], [place, place], color="#BBBBBB", linewidth=2)
        for part, color, marker, label in ((two, "black", "D", "paper"), (one, "blue", "o", "ours")):
            part = part.loc[list(places)]
            panel.errorbar(part["mean"], list(places.values()), xerr=2 * part["se"], fmt=marker, capsize=2,
                           color=PALETTE[color], markersize=6, label=label)  # fmt: skip
        panel.axvline(0, color=PALETTE["grey"], linestyle="--", linewidth=1, label="straight line")
        limits = ("best", "-", "best order, ours"), ("expected", ":", "mean of all orders, ours")
        for reference, style, label in limits:
            if reference in one.index:
                panel.axvline(one["mean"][reference], color=PALETTE["black"], linestyle=style, linewidth=1, label=label)
        panel.set_title(mode)
    panels[0].set_yticks(list(places.values()), list(titles.values()))
    figure.supxlabel(f"mean ABC / n{unit}, ± 2 standard errors")
    legend_outside(figure, panels[0], ncols=3)
    return figure


def method_steps() -> Figure:
    """The whole method in five boxes: attribution, order, walk, curve, area; with the signs of both tests."""
    figure, [axes] = panels_row(width=7.6, height=2.6)
    figure.set_layout_engine("none")
    axes.set_position((0, 0, 1, 1))
    axes.set(xlim=(0, 10), ylim=(0, 3.4))
    axes.axis("off")
    boxes = (
        ("attribution", "$A_j$, the effect\nof changing\n$x_j$ to $x'_j$"),
        ("order", "insertion:\nlargest $A$ first\ndeletion:\nsmallest first"),
        ("walk", "from $x$ to $x'$,\none feature\nat a time"),
        ("curve", "$f$ at each\nof the $n+1$\npoints"),
        ("area (ABC)", "insertion:\nabove the line\ndeletion:\nbelow it"),
    )
    for k, (title, text) in enumerate(boxes):
        left = 2.0 * k
        box = FancyBboxPatch((left + 0.16, 1.0), 1.56, 2.2, boxstyle="round,pad=0.02")
        box.set(edgecolor=PALETTE["blue"], facecolor="#EAF3FA")
        axes.add_patch(box)
        axes.text(left + 0.94, 2.92, title, ha="center", va="center", weight="bold", fontsize=10.5)
        axes.text(left + 0.94, 1.85, text, ha="center", va="center", fontsize=10)
        if k:
            axes.add_patch(FancyArrowPatch((left - 0.26, 2.1), (left + 0.14, 2.1), arrowstyle="->", mutation_scale=14))
    axes.text(5, 0.45, "score = (area − chance) / (best − chance)\n0: what shuffled orders reach on average; "
              "1: the best of all orders", ha="center", va="center", fontsize=10)  # fmt: skip
    return figure


def policy_cloud(points: np.ndarray, pairs: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Three policies in a cloud of two features, with both walks from x to each x′.

    Parameters
    ----------
    points : (m, 2) the data
    pairs : policy → x (2,) and x′ (2,)
    """
    figure, panels = panels_row(len(pairs), 3.3 * len(pairs), 3.4, sharey=True)
    for panel, (policy, (x, reference)) in zip(panels, pairs.items(), strict=True):
        panel.plot(*points.T, ".", color="#C4C4C4", markersize=3, zorder=0, rasterized=True)
        for corner, color in (((reference[0], x[1]), "blue"), ((x[0], reference[1]), "orange")):
            walk = np.array([x, corner, reference])
            panel.plot(*walk.T, color=PALETTE[color], linewidth=2)
            panel.plot(*corner, "s", color=PALETTE[color], markersize=6)
        panel.plot(*x, "o", color=PALETTE["black"], markersize=8)
        panel.plot(*reference, "*", color=PALETTE["black"], markersize=13)
        panel.annotate("x", tuple(x), (-11, -11), textcoords="offset points")
        panel.annotate("x′", tuple(reference), (8, 4), textcoords="offset points")
        panel.set(title=policy.replace("_", "-"), xlabel="feature 1")
    panels[0].set_ylabel("feature 2")
    return figure


def price(table: pd.DataFrame, singles: Sequence[str] = ("deeplift",), floor: float = 90.0) -> Figure:
    """Share of the exact Shapley order's area that methods reach, over model evaluations, a panel per test.

    table : from `cost.cost_accuracy`, with budget, evaluations, abc_per_feature and shortfall
    singles : methods that have one price
    """
    figure, panels = panels_row(2, 9.6, 4.0, sharey=True)
    whole = table.loc[table.groupby("mode")["evaluations"].idxmax()].set_index("mode")["abc_per_feature"]
    for panel, mode in zip(panels, MODES, strict=True):
        rows = table[table["mode"] == mode]
        for method, (title, color, marker) in METHOD_LOOKS.items():
            part = rows[(rows["method"] == method) & (rows["budget"].notna() | rows["method"].isin(singles))]
            if len(part):
                _priced(panel, part, float(whole[mode]), f"{marker}-", PALETTE[color], title)
        panel.set(title=mode, xscale="log", ylim=(floor, 100.6))
        panel.axhline(100, color=PALETTE["grey"], linestyle="--", linewidth=1)
    panels[0].set_ylabel("% of the area of exact Kernel SHAP")
    figure.supxlabel("model evaluations per pair")
    legend_outside(figure, panels[0], ncols=5)
    return figure


def _priced(panel: Axes, part: pd.DataFrame, whole: float, style: str, color: str, title: str) -> None:
    share = 100 * part["abc_per_feature"] / whole
    panel.plot(part["evaluations"], share, style, color=color, markersize=5, label=title)
