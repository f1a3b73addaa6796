"""Figures of chapters 9 and 10: the data, and how good the models are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from insdel.plots import COLORS, PALETTE, panels_grid, panels_row


def data_distributions(
    tables: Mapping[str, pd.DataFrame], columns: Sequence[str], across: int = 4, bins: int = 40
) -> Figure:
    """How each column is spread, an outline per table; a column with few values gets a bar for each.

    tables : {label: rows}, each with these columns
    columns : one panel each, `across` in a row
    """
    deep = -(-len(columns) // across)
    figure, grid = panels_grid(deep, across, 2.2 * across, 1.75 * deep + 0.5)
    for axes, column in zip(grid.flat, columns, strict=False):
        samples = {label: table[column].to_numpy(float) for label, table in tables.items()}
        values = np.concatenate(list(samples.values()))
        low, high = np.quantile(values, [0.002, 0.998], method="nearest")  # all but the most extreme values
        few = high - low < bins and (values % 1 == 0).all()  # one bin for each of a few whole numbers
        edges = (np.arange(low - 0.5, high + 1) if few else np.linspace(low, high, bins + 1)).tolist()
        for (label, sample), color, style in zip(samples.items(), COLORS, ("-", "--", ":"), strict=False):
            weights = np.full(len(sample), 1 / len(sample))
            axes.hist(sample, edges, weights=weights, histtype="step", color=color, linestyle=style, label=label)
        axes.set(xlabel=column, yticks=[])
    for axes in grid.flat[len(columns) :]:
        axes.axis("off")
    grid[0, 0].legend(fontsize="small")
    figure.supylabel("share of the rows")
    return figure


def data_shares(shares: Mapping[str, pd.Series]) -> Figure:
    """How many rows have each of the 0/1 features, the most frequent on top, a mark per table.

    shares : {label: share by feature}, all with the same features
    """
    first = next(iter(shares.values())).sort_values()
    figure, [axes] = panels_row(width=6.4, height=0.21 * len(first) + 1.0)
    rows = np.arange(len(first))
    axes.hlines(rows, 0, 1, color="#DDDDDD", linewidth=0.8, zorder=0)
    for (label, share), color, marker in zip(shares.items(), COLORS, "ox^", strict=False):
        axes.plot(share[first.index].to_numpy(float), rows, marker, color=color, markersize=5, label=label)
    axes.set_yticks(rows, list(first.index), fontsize="small")
    axes.set(xlabel="share of the rows that have it", xlim=(-0.02, 1.02), ylim=(-0.8, len(rows) - 0.2))
    axes.legend(loc="lower right")
    return figure


def data_residuals(mass: ArrayLike, residuals: Mapping[str, ArrayLike], limits: Mapping[str, float]) -> Figure:
    """How far formulas for M are off, over M, with marks for what is on average claimed or measured.

    mass : (events,); residuals : {label: (events,)}, relative; limits : {label: value}
    """
    figure, [axes] = panels_row(height=4.2)
    for (label, values), color, marker in zip(residuals.items(), COLORS, "o^s", strict=False):
        seen = np.clip(np.asarray(values, float), 1e-16, None)  # a zero has no place on a logarithmic axis
        style: dict[str, Any] = {"markersize": 3, "alpha": 0.5, "rasterized": True, "label": label}
        axes.plot(np.asarray(mass, float), seen, marker, color=color, **style)
    for (label, limit), line in zip(limits.items(), ("--", ":", "-."), strict=False):
        axes.axhline(limit, color=PALETTE["black"], linestyle=line, label=label)
    axes.set(xscale="log", yscale="log", xlabel="M (GeV)", ylabel="|formula / M − 1|")
    axes.legend(fontsize="small", markerscale=2, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def fit_history(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """Training and validation loss by epoch, a panel per network, and the epoch that was kept.

    histories : {title: one row per epoch with epoch, train, validation}
    """
    figure, panels = panels_row(len(histories), 4.6 * len(histories), 3.6)
    for axes, (title, rows) in zip(panels, histories.items(), strict=True):
        table = pd.DataFrame(list(rows))
        remaining = table.loc[table["validation"].idxmin()]
        axes.plot(table["epoch"], table["train"], color=PALETTE["blue"], label="training rows, with dropout")
        axes.plot(table["epoch"], table["validation"], "--", color=PALETTE["orange"], label="validation rows")
        axes.plot(remaining["epoch"], remaining["validation"], "o", color=PALETTE["black"], label="the kept epoch")
        axes.set(title=title, xlabel="epoch", yscale="log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0].set_ylabel("Huber's loss")
    panels[0].legend(fontsize="small")
    return figure


def fit_recipes(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Loss of several ways to train on rows that none has seen, a dot per seed, a bar for their mean.

    tables : {title: from `insdel_paper.networks.search.compare_recipes`, with recipe, seed, loss}
    """
    most = max(table["recipe"].nunique() for table in tables.values())
    figure, axes = panels_grid(len(tables), 1, 7.6, (0.42 * most + 1.1) * len(tables))
    for panel, (title, table) in zip(axes[:, 0], tables.items(), strict=True):
        marks = {"x": "loss", "y": "recipe", "ax": panel}
        sns.stripplot(table, color=PALETTE["blue"], alpha=0.6, size=6, jitter=False, label="a seed", **marks)
        sns.pointplot(table, color=PALETTE["orange"], ls="none", errorbar=None, marker="|", ms=16, label="mean",
                      **marks)  # fmt: skip
        panel.tick_params(axis="y", labelsize="small")
        panel.set(title=title, xlabel="Huber's loss on rows set aside", ylabel="", xscale="log")
    handles = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    axes[0, 0].legend(handles.values(), handles.keys(), fontsize="small")
    return figure


def predicted_vs_true(truth: ArrayLike, prediction: ArrayLike, unit: str = "") -> Figure:
    """Predictions of held-out rows against the truth, and the diagonal where they agree  [appendix, models].

    truth, prediction : (m,)
    unit : of both, for the axes
    """
    true, predicted = np.asarray(truth, float), np.asarray(prediction, float)
    ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    explained = 1 - ((true - predicted) ** 2).sum() / ((true - true.mean()) ** 2).sum()
    figure, [axes] = panels_row(width=4.8, height=4.6)
    axes.plot(ends, ends, color=PALETTE["grey"], linestyle="--", label="prediction = truth")
    axes.plot(true, predicted, "o", color=PALETTE["blue"], markersize=3, alpha=0.35, rasterized=True)
    suffix = f" ({unit})" if unit else ""
    axes.set(xlabel=f"truth{suffix}", ylabel=f"prediction{suffix}", title=f"R² = {explained:.3f}, {len(true):,} rows")
    axes.set_aspect("equal")
    axes.legend(loc="upper left")
    return figure


def search_history(table: pd.DataFrame) -> Figure:
    """Validation loss of every trial of a search, and the best so far.

    table : what `insdel_paper.networks.search.history` returns: trial, state, validation, best
    """
    figure, [axes] = panels_row()
    marks = {"complete": ("o", "blue", "ran to its end"), "pruned": ("x", "orange", "cut short")}
    for state, (marker, color, label) in marks.items():
        rows = table[table["state"] == state]
        axes.plot(rows["trial"], rows["validation"], marker, color=PALETTE[color], label=label)
    axes.step(table["trial"], table["best"], where="post", color=PALETTE["black"], label="best so far")
    axes.set(xlabel="trial", ylabel="validation loss (Huber)", yscale="log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    return figure
