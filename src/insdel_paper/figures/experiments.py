"""Figures of chapters 11 and 12: the experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.curves import MODES
from insdel.plots import METHOD_LOOKS, PALETTE, method_look, panels_grid, panels_row, straight_line
from insdel_paper.figures.drawing import legend_outside
from insdel_paper.studies.tables import title


def _areas(table: pd.DataFrame, method: str, mode: str) -> np.ndarray:
    """ABC / n of a method in one test, by pair."""
    choice = table[(table["method"] == method) & (table["mode"] == mode)]
    return choice.sort_values("pair")["abc_per_feature"].to_numpy(float)


def experiment_aggregate(table: pd.DataFrame, unit: str = "", bins: int = 30) -> Figure:
    """ABC / n over all pairs: Kernel SHAP, IG against Kernel SHAP, random orders; a row per test  [figures 5, 8].

    table : from `compare`, with kernel_shap, integrated_gradients and random
    """
    figure, axes = panels_grid(2, 3, 10.5, 6.0)
    for row, mode in zip(axes, MODES, strict=True):
        shapley, gradients, chance = (
            _areas(table, method, mode) for method in ("kernel_shap", "integrated_gradients", "random")
        )
        row[0].hist(shapley, bins, color=PALETTE["blue"])
        ends = [min(shapley.min(), gradients.min()), max(shapley.max(), gradients.max())]
        row[1].plot(ends, ends, color=PALETTE["grey"], linewidth=1)
        row[1].plot(shapley, gradients, "o", color=PALETTE["orange"], markersize=3, alpha=0.5, rasterized=True)
        row[2].hist(chance, bins, color=PALETTE["grey"])
        row[0].set(xlabel=f"{mode} ABC / n{unit}", ylabel="pairs", title="Kernel SHAP")
        row[1].set(xlabel="Kernel SHAP", ylabel="IG", title=f"{mode}: IG over Kernel SHAP")
        row[2].set(xlabel=f"{mode} ABC / n{unit}", ylabel="pairs", title="random orders")
        for panel in (row[0], row[2]):
            panel.set_yscale("log")  # the few pairs of the tail are what matters
    return figure


INTERVALS = {  # kind of interval → colour, marker, label
    "standard error": ("blue", "o", "counting shared points"),
    "studentised": ("green", "^", "studentised bootstrap over points"),
    "naive error": ("orange", "s", "naive"),
}


def experiment_coverage(covered: Mapping[str, pd.DataFrame]) -> Figure:
    """How often intervals hold the truth over how often they say they do, a panel for each population.

    covered : name of a population → table from `coverage.covered`
    """
    figure, panels = panels_row(len(covered), 4.6 * len(covered), 4.4, sharey=True)
    for panel, (name, table) in zip(panels, covered.items(), strict=True):
        panel.plot([0.45, 1], [0.45, 1], color=PALETTE["grey"], linewidth=1, label="as promised")
        for kind, (color, marker, label) in INTERVALS.items():
            panel.plot(table.index, table[kind], color=PALETTE[color], marker=marker, label=label)
        panel.set(xlabel="nominal level of the interval", title=name)
    panels[0].set_ylabel("share of intervals that hold the truth")
    legend_outside(figure, panels[0], ncols=2)
    return figure


WALKERS = {"kernel_shap": "-", "integrated_gradients": "--"}


def experiment_walks(curves: pd.DataFrame, what: Sequence[str], ylabel: str = "prediction") -> Figure:
    """Deletion (left) and insertion curves (right) of chosen pairs, a row each, over random orders  [figures 6, 7].

    Parameters
    ----------
    curves : from `pair_curves.curves`
    what : the pairs to draw, such as "example" or "insertion"
    """
    figure, axes = panels_grid(len(what), 2, 9.6, 3.4 * len(what), sharex=True)
    for row, name in zip(axes, what, strict=True):
        part = curves[curves["what"] == name]
        for panel, mode in zip(row, MODES[::-1], strict=True):
            shuffled = part[part["method"] == "random"].pivot_table(index="step", columns="line", values="value")
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


def experiment_scatter(table: pd.DataFrame, rises: ArrayLike, unit: str = "") -> Figure:
    """Deletion over insertion ABC / n: Kernel SHAP and IG, a row per sign of f(x′) − f(x)  [figures 10–13].

    rises : (pairs,), whether f(x′) > f(x)
    """
    up = np.asarray(rises, dtype=bool)
    figure, axes = panels_grid(2, 2, 7.6, 6.2, sharex=True, sharey=True)
    signs = ((up, "pink", "o", "f(x′) > f(x)"), (~up, "green", "^", "f(x′) < f(x)"))
    for method, column in zip(WALKERS, axes.T, strict=True):
        across, height = _areas(table, method, "insertion"), _areas(table, method, "deletion")
        ends = [min(across.min(), height.min()), max(across.max(), height.max())]
        for panel, (choice, color, marker, text) in zip(column, signs, strict=True):
            panel.plot(across[choice], height[choice], marker, color=PALETTE[color], ms=4, alpha=0.5, rasterized=True)
            panel.plot(ends, ends, color=PALETTE["grey"], linewidth=1)
            panel.set_title(f"{METHOD_LOOKS[method][0]}, {text}", fontsize="medium")
    figure.supxlabel(f"insertion ABC / n{unit}")
    figure.supylabel(f"deletion ABC / n{unit}")
    return figure


def experiment_differing(differing: ArrayLike, needed: int) -> Figure:
    """How many features differ between x and x′, and the least that the policy asks for."""
    figure, [axes] = panels_row(height=3.0)
    counts = np.bincount(np.asarray(differing, dtype=int))
    places = np.arange(len(counts))
    axes.bar(places[needed:], counts[needed:], color=PALETTE["blue"])
    axes.axvline(needed - 0.5, color=PALETTE["orange"], linestyle="--", label=f"the rule: at least {needed}")
    for place in places[needed:]:
        if counts[place]:
            axes.annotate(str(counts[place]), (place, counts[place]), (0, 2), textcoords="offset points", ha="center")
    axes.set_xticks(places[needed:])
    axes.set(xlabel="features in which x and x′ differ", ylabel="pairs")
    axes.legend()
    return figure


def experiment_variation(means: pd.DataFrame, methods: Sequence[str], printed: pd.DataFrame) -> Figure:
    """Mean ABC / n of every run, by split, beside the printed mean with two printed standard errors.

    Parameters
    ----------
    means : from `variation.run_means`
    methods : to draw, a colour each
    printed : from `paper.table`
    """
    figure, panels = panels_row(2, 9.6, 3.8, sharey=True)
    splits = sorted(means["split"].unique())
    for panel, mode in zip(panels, MODES, strict=True):
        for shift, method in enumerate(methods):
            look = method_look(method)
            color, marker = look["color"], look["marker"]
            rows = means[(means["mode"] == mode) & (means["method"] == method)]
            place = rows["split"].to_numpy() + 0.18 * (shift - (len(methods) - 1) / 2)
            panel.errorbar(place, rows["mean"], 2 * rows["se"], fmt=marker, color=PALETTE["grey"], ms=0, elinewidth=0.8)
            panel.plot(place, rows["mean"], marker, color=color, markersize=5, label=title(method))
            paper = printed[(printed["mode"] == mode) & (printed["method"] == method)]
            for mean, se in zip(paper["mean"], paper["se"], strict=True):
                panel.errorbar(len(splits) + 0.18 * shift, mean, 2 * se, fmt=marker, color=color, capsize=3)
        panel.axvline(len(splits) - 0.5, color=PALETTE["grey"], linewidth=0.8)
        panel.set_xticks([*splits, len(splits) + 0.18], [*map(str, splits), "paper"])
        panel.set(title=mode, xlabel="split")
    panels[0].set_ylabel("mean ABC / n, ± 2 standard errors")
    legend_outside(figure, panels[0], ncols=len(methods))
    return figure


def experiment_importance(sizes: pd.DataFrame, marked: Sequence[str], xlabel: str) -> Figure:
    """Mean |attribution| of every feature, largest first, by method; a few features marked in colour.

    Parameters
    ----------
    sizes : (features, methods), indexed by feature
    marked : the features that stand out
    """
    figure, panels = panels_row(sizes.shape[1], 3.4 * sizes.shape[1], 0.28 * len(sizes) + 1.0)
    for panel, method in zip(panels, sizes, strict=True):
        ordered = sizes[method].sort_values()
        colors = [PALETTE["orange"] if name in marked else PALETTE["blue"] for name in ordered.index]
        panel.barh(range(len(ordered)), ordered, color=colors)
        panel.set_yticks(range(len(ordered)), ordered.index)
        panel.set(title=method, xlabel=xlabel)
    return figure
