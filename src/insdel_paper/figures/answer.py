"""Figures that give the answer: who is ahead, by how much, at what price, and how the test goes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.curves import MODES
from insdel.plots import METHOD_LOOKS, PALETTE, panels_row
from insdel_paper.figures.drawing import ZERO, draw_groups, draw_row, legend_outside


def lead(rows: pd.DataFrame) -> Figure:
    """Kernel SHAP's lead over IG in percent of Kernel SHAP's area, ± 2 standard errors, a row per comparison.

    rows : indexed by what is compared; columns mode, lead and se, both in percent
    """
    labels = list(dict.fromkeys(rows.index))
    figure, [axes] = panels_row(width=7.2, height=1.3 + 0.5 * len(labels))
    for mode, color, marker, shift in (("insertion", "blue", "o", -0.14), ("deletion", "orange", "s", 0.14)):
        part = rows[rows["mode"] == mode]
        places = [labels.index(label) + shift for label in part.index]
        axes.errorbar(part["lead"], places, xerr=2 * part["se"], fmt=marker, color=PALETTE[color],
                      capsize=3, markersize=7, label=mode)  # fmt: skip
    axes.axvline(0, **ZERO)
    axes.set_yticks(range(len(labels)), labels)
    axes.set(ylim=(len(labels) - 0.4, -0.6), xlabel="lead in % of Kernel SHAP's area (left of 0: IG ahead)")
    legend_outside(figure, axes)
    return figure


def dumbbells(ours: pd.DataFrame, printed: pd.DataFrame, titles: Mapping[str, str], unit: str) -> Figure:
    """Printed means beside ours, a row per method and a panel per test; best order and chance as lines.

    ours, printed : columns mode, method, mean and se; `ours` may hold "best" and "expected", drawn as lines
    titles : method → its name, for the methods of both; also the order of the rows, from above
    """
    places = range(len(titles))

    def draw(panel: Axes, mode: str) -> None:
        one, two = (part[part["mode"] == mode].set_index("method") for part in (ours, printed))
        for place, method in enumerate(titles):
            panel.plot([one["mean"][method], two["mean"][method]], [place, place], color="#BBBBBB", linewidth=2)
        for part, color, marker, label in ((two, "black", "D", "paper"), (one, "blue", "o", "ours")):
            part = part.loc[list(titles)]
            panel.errorbar(part["mean"], places, xerr=2 * part["se"], fmt=marker, capsize=2, color=PALETTE[color],
                           markersize=6, label=label)  # fmt: skip
        panel.axvline(0, **ZERO, label="straight line")
        limits = ("best", "-", "best order, ours"), ("expected", ":", "mean of all orders, ours")
        for reference, style, label in limits:
            if reference in one.index:
                panel.axvline(one["mean"][reference], color=PALETTE["black"], linestyle=style, linewidth=1, label=label)
        panel.set(yticks=places, yticklabels=titles.values(), ylim=(len(titles) - 0.5, -0.5))

    xlabel = f"mean ABC / n{unit}, ± 2 standard errors"
    return draw_row(draw, MODES, 9.6, 1.4 + 0.42 * len(titles), xlabel=xlabel, ncols=3)


def price(table: pd.DataFrame) -> Figure:
    """Share of the exact Shapley order's area that methods reach, over model evaluations, a panel per test.

    table : from `cost.cost_accuracy`, with budget, evaluations, abc_per_feature and shortfall
    """
    priced = table[(table["budget"].notna() | (table["method"] == "deeplift")) & table["method"].isin(METHOD_LOOKS)]
    titles = {method: title for method, (title, _, _) in METHOD_LOOKS.items()}
    looks = {
        method: {"color": PALETTE[color], "marker": mark, "ms": 5} for method, (_, color, mark) in METHOD_LOOKS.items()
    }

    def draw(panel: Axes, mode: str) -> None:
        exact = table[table["mode"] == mode].nlargest(1, "evaluations")["abc_per_feature"].item()
        rows = priced[priced["mode"] == mode]
        rows = rows.assign(share=100 * rows["abc_per_feature"] / exact, place=rows["method"].map(list(titles).index))
        draw_groups(panel, rows.sort_values("place", kind="stable"), "method", "evaluations", "share", titles=titles,
                    looks=looks)  # fmt: skip
        panel.set(xscale="log", ylim=(90, 100.6))
        panel.axhline(100, **ZERO)

    return draw_row(draw, MODES, 9.6, 4.0, xlabel="model evaluations per pair",
                    ylabel="% of the area of exact Kernel SHAP", ncols=5)  # fmt: skip
