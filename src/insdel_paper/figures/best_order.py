"""Figures of chapters 15 to 17: methods beside all n! orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.chance import Histogram
from insdel.lattice import LATTICE_MODES
from insdel.plots import COLORS, PALETTE, method_look, panels_row
from insdel_paper.figures.drawing import MARKERS, ZERO, draw_marks, draw_row, legend_outside, percent

TESTS = {"insertion": "insertion", "deletion": "deletion", "both": "insertion + deletion"}


def beyond_shares(shares: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> Figure:
    """Percent of the best ABC that each method reaches, ± 2 standard errors; a panel per test, a colour per run.

    shares : run → from `best_order.shares`
    titles : method → its name, from the top down
    """
    places = np.arange(len(titles))

    def draw(panel: Axes, mode: str) -> None:
        for k, (run, result) in enumerate(shares.items()):
            rows = result.loc[mode].reindex(list(titles))
            off = places + 0.16 * (k - (len(shares) - 1) / 2)
            look: dict[str, Any] = {"fmt": MARKERS[k], "color": COLORS[k], "markersize": 4, "lw": 1, "label": run}
            panel.errorbar(rows["share"], off, xerr=2 * rows["share_se"], **look)
        panel.axvline(100, color=PALETTE["black"], lw=1)
        panel.axvline(0, **ZERO)
        panel.set(title=TESTS[mode], yticks=places, yticklabels=titles.values(), ylim=(places[-1] + 0.5, -0.5))

    return draw_row(draw, LATTICE_MODES, 11.0, 4.2, xlabel="% of the best ABC")


def chance_histogram(counted: Histogram, marks: Mapping[str, float], xlabel: str) -> Figure:
    """Where all n! orders of one pair score: their density, and the chance to score more, with some orders marked.

    marks : name → area
    """
    figure, (density, tail) = panels_row(2, 10.0, 4.0)
    merged = counted.chances[: len(counted.chances) // 16 * 16].reshape(-1, 16).sum(axis=1)
    areas = counted.areas[: 16 * len(merged) : 16] + 7.5 * (counted.areas[1] - counted.areas[0])
    density.fill_between(areas, merged / merged.max(), color=PALETTE["sky"], alpha=0.6, lw=0)
    density.set(ylabel="orders, relative to the mode", ylim=(0, 1.05))
    more = counted.chances[::-1].cumsum()[::-1]
    tail.semilogy(counted.areas[more > 0], more[more > 0], color=PALETTE["blue"])
    tail.set_ylabel("chance to score at least that much")
    for panel in (density, tail):
        draw_marks(panel, marks)
        panel.set(xlabel=xlabel, xlim=(areas[merged > 0][0], counted.areas[-1]))
    legend_outside(figure, density)
    return figure


def chance_tails(tails: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> Figure:
    """Share of the pairs in which at most that many random orders do as well; pure chance follows the grey line.

    tails : run → rows of one mode of `best_order.Found.areas`
    """
    greys = iter(("--", "-.", (0, (5, 1, 1, 1, 1, 1)), ":"))
    colors = {method: method_look(method)["color"] for method in titles}
    styles = {method: next(greys, "--") if color == PALETTE["grey"] else "-" for method, color in colors.items()}

    def draw(panel: Axes, run: str) -> None:
        rows = tails[run]
        for method, name in titles.items():
            result = rows.loc[rows["method"] == method, "tail_probability"]
            sns.ecdfplot(x=result, ax=panel, color=colors[method], ls=styles[method], label=name)
        least = float(rows["tail_probability"].min())
        line = np.geomspace(least, 1, 200)
        panel.plot(line, line, color=PALETTE["grey"], lw=4, alpha=0.3, label="pure chance")
        panel.set(xscale="log", xlim=(least / 1.5, 1), xlabel="")
        percent(panel.xaxis, panel.yaxis)

    xlabel = "random orders that do as well or better"
    return draw_row(draw, tails, 5.0 * len(tails), 4.2, xlabel=xlabel, ylabel="pairs")
