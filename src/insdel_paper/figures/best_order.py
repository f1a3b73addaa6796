"""Figures of chapters 15 to 17: methods beside all n! orders."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.chance import Histogram
from insdel.lattice import LATTICE_MODES
from insdel.plots import COLORS, PALETTE, method_look, panels_row, straight_line
from insdel_paper.figures.drawing import MARKERS, legend_outside, percent

TESTS = {"insertion": "insertion", "deletion": "deletion", "both": "insertion + deletion"}
KINDS = {"pairwise": "2 signs", "odd": "3, 5, 7, … signs", "even": "4, 6, 8, … signs"}


def beyond_walks(curves: Mapping[str, np.ndarray], shuffled: np.ndarray, ylabel: str = "prediction") -> Figure:
    """Curves of a few orders of one pair, over the middle 90 % of random ones.

    curves : name → (n + 1,)
    shuffled : (orders, n + 1), curves of random orders
    """
    figure, [panel] = panels_row(1, 7.0, 4.0)
    steps = np.arange(shuffled.shape[1])
    low, high = np.quantile(shuffled, [0.05, 0.95], axis=0)
    panel.fill_between(steps, low, high, color=PALETTE["grey"], alpha=0.2, lw=0, label="9 of 10 random orders")
    straight_line(panel, shuffled[0])
    for name, curve in curves.items():
        panel.plot(steps, curve, **method_look(name), markersize=5, label=name)
    panel.set(xlabel="features changed so far", ylabel=ylabel)
    panel.legend(fontsize="small")
    return figure


def beyond_shares(shares: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> Figure:
    """Percent of the best ABC that each method reaches, ± 2 standard errors; a panel per test, a colour per run.

    shares : run → from `best_order_tables.shares`
    titles : method → its name, from the top down
    """
    figure, panels = panels_row(len(LATTICE_MODES), 11.0, 4.2, sharey=True)
    places = np.arange(len(titles))
    for panel, mode in zip(panels, LATTICE_MODES, strict=True):
        for k, (run, result) in enumerate(shares.items()):
            rows = result.loc[mode].reindex(list(titles))
            off = places + 0.16 * (k - (len(shares) - 1) / 2)
            panel.errorbar(rows["share"], off, xerr=2 * rows["share_se"], fmt=MARKERS[k], color=COLORS[k],
                           markersize=4, lw=1, label=run)  # fmt: skip
        panel.axvline(100, color=PALETTE["black"], lw=1)
        panel.axvline(0, color=PALETTE["grey"], lw=1, ls=":")
        panel.set(title=TESTS[mode], xlabel="% of the best ABC")
    panels[0].set_yticks(places, list(titles.values()))
    panels[0].invert_yaxis()
    legend_outside(figure, panels[0])
    return figure


def _clouds(panel: Axes, clouds: Mapping[str, pd.DataFrame], x: str, y: str) -> None:
    """One cloud of dots per run."""
    for k, (run, rows) in enumerate(clouds.items()):
        panel.scatter(rows[x], rows[y], s=14, marker=MARKERS[k], color=COLORS[k], alpha=0.55, lw=0, label=run,
                      rasterized=True)  # fmt: skip


def beyond_hard(hard: Mapping[str, pd.DataFrame]) -> Figure:
    """What Shapley's order loses in each pair, over two measures of interaction, on logarithmic axes.

    hard : run → from `best_order_tables.hard_pairs`; pairs in which nothing is lost are not drawn
    """
    figure, panels = panels_row(2, 10.0, 4.2, sharey=True)
    drawn = {run: rows[(rows["lost"] > 0) & (rows["turned"] > 0)] for run, rows in hard.items()}
    names = {"interacting": "variance that single features do not explain", "turned": "comparisons reversed"}
    for panel, (column, label) in zip(panels, names.items(), strict=True):
        _clouds(panel, drawn, column, "lost")
        panel.set(xscale="log", yscale="log", xlabel=label)
        percent(panel.xaxis, panel.yaxis)
    panels[0].set_ylabel("lost to the best order")
    legend_outside(figure, panels[0], markerscale=2)
    return figure


def chance_histogram(counted: Histogram, marks: Mapping[str, float], xlabel: str = "ABC") -> Figure:
    """Where all n! orders of one pair score: their density, and the chance to score more, with some orders marked.

    marks : name → area
    """
    figure, panels = panels_row(2, 10.0, 4.0)
    merged = counted.chances[: len(counted.chances) // 16 * 16].reshape(-1, 16).sum(axis=1)
    areas = counted.areas[: 16 * len(merged) : 16] + 7.5 * (counted.areas[1] - counted.areas[0])
    panels[0].fill_between(areas, merged / merged.max(), color=PALETTE["sky"], alpha=0.6, lw=0)
    panels[0].set(ylabel="orders, relative to the mode", ylim=(0, 1.05))
    more = counted.chances[::-1].cumsum()[::-1]
    panels[1].semilogy(counted.areas[more > 0], more[more > 0], color=PALETTE["blue"])
    panels[1].set_ylabel("chance to score at least that much")
    for panel in panels:
        for (name, area), style in zip(marks.items(), ("-", ":", "--"), strict=False):
            panel.axvline(area, color=method_look(name)["color"], ls=style, lw=2, label=name)
        panel.set(xlabel=xlabel, xlim=(areas[merged > 0][0], counted.areas[-1]))
    legend_outside(figure, panels[0])
    return figure


def chance_tails(tails: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> Figure:
    """Share of the pairs in which at most that many random orders do as well; pure chance follows the grey line.

    tails : run → rows of one mode of `best_order.Found.areas`
    """
    figure, panels = panels_row(len(tails), 5.0 * len(tails), 4.2, sharey=True)
    greys = iter(("--", "-.", (0, (5, 1, 1, 1, 1, 1)), ":"))
    colors = {method: method_look(method)["color"] for method in titles}
    styles = {method: next(greys, "--") if color == PALETTE["grey"] else "-" for method, color in colors.items()}
    for panel, (run, rows) in zip(panels, tails.items(), strict=True):
        for method, name in titles.items():
            result = rows.loc[rows["method"] == method, "tail_probability"]
            sns.ecdfplot(x=result, ax=panel, color=colors[method], ls=styles[method], label=name)
        least = float(rows["tail_probability"].min())
        line = np.geomspace(least, 1, 200)
        panel.plot(line, line, color=PALETTE["grey"], lw=4, alpha=0.3, label="pure chance")
        panel.set(xscale="log", xlim=(least / 1.5, 1), title=run, xlabel="")
        percent(panel.xaxis, panel.yaxis)
    panels[0].set_ylabel("pairs")
    figure.supxlabel("random orders that do as well or better")
    legend_outside(figure, panels[0])
    return figure


def chance_scale(standings: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> Figure:
    """ABC on the scale from 0, the mean of all orders, to 1, the best: the middle 50 and 90 % of the pairs.

    standings : run → rows of one mode of `best_order_tables.standings`
    """
    figure, panels = panels_row(len(standings), 5.0 * len(standings), 3.8, sharey=True)
    for panel, (run, rows) in zip(panels, standings.items(), strict=True):
        sns.boxplot(rows, x="normalised", y="method", order=list(titles), whis=(5, 95), showfliers=False, width=0.5,
                    color=PALETTE["sky"], medianprops={"color": PALETTE["black"], "lw": 2}, ax=panel)  # fmt: skip
        panel.axvline(0, color=PALETTE["grey"], lw=1, ls=":")
        panel.axvline(1, color=PALETTE["black"], lw=1)
        panel.set(title=run, xlabel="0: mean of all orders, 1: best", ylabel="")
    panels[0].set_yticks(range(len(titles)), list(titles.values()))
    return figure


def both_plane(
    cloud: tuple[np.ndarray, np.ndarray], marks: Mapping[str, tuple[float, float]], unit: str = ""
) -> Figure:
    """Insertion and deletion ABC of random rankings of one pair, and some rankings among them.

    cloud : insertion, deletion, (orders,) each
    marks : name → (insertion, deletion)
    """
    figure, [panel] = panels_row(1, 6.8, 4.6)
    panel.scatter(*cloud, s=4, color=PALETTE["grey"], alpha=0.35, lw=0, label="random rankings", rasterized=True)
    for (name, point), marker in zip(marks.items(), MARKERS, strict=False):
        color = method_look(name)["color"]
        panel.plot(*point, marker, color=color, markersize=9, markeredgecolor="white", label=name)
    panel.axline((0, 0), slope=1, color=PALETTE["black"], lw=1, ls="--")
    panel.set(xlabel=f"insertion ABC{unit}", ylabel=f"deletion ABC′{unit}")
    legend_outside(figure, panel)
    return figure


def both_differences(gaps: Mapping[str, pd.DataFrame], unit: str = "") -> Figure:
    """ABC − ABC′ of Shapley's ranking: over what Theorem 1 says, and over the mean of all rankings.

    gaps : run → from `best_order_tables.differences`
    """
    figure, panels = panels_row(2, 10.0, 4.2, sharey=True)
    names = {"term": "interactions, by Theorem 1", "shift": "its mean over all rankings"}
    for panel, (column, label) in zip(panels, names.items(), strict=True):
        _clouds(panel, gaps, column, "difference")
        panel.axline((0, 0), slope=1, color=PALETTE["black"], lw=1, ls="--")
        panel.axhline(0, color=PALETTE["grey"], lw=0.8)
        panel.set_xlabel(f"{label}{unit}")
    panels[0].set_ylabel(f"ABC − ABC′, Kernel SHAP{unit}")
    legend_outside(figure, panels[0], markerscale=2)
    return figure


def both_kinds(kinds: pd.DataFrame) -> Figure:
    """Mean share of the variance over hybrids that interactions explain, by how many features take part.

    kinds : by run; columns pairwise, odd, even
    """
    figure, [panel] = panels_row(1, 8.0, 0.5 * len(kinds) + 1.4)
    left = np.zeros(len(kinds))
    for (column, label), color in zip(KINDS.items(), ("sky", "orange", "blue"), strict=True):
        panel.barh(range(len(kinds)), kinds[column], left=left, color=PALETTE[color], label=label, height=0.6)
        left += kinds[column].to_numpy()
    panel.set_yticks(range(len(kinds)), list(kinds.index))
    panel.invert_yaxis()
    panel.set_xlabel("variance over hybrids that interactions explain")
    percent(panel.xaxis)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure
