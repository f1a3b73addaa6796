"""Figures of chapters 9 and 10: the data, and how good the models are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.plots import COLORS, PALETTE, panels_grid, panels_row
from insdel_paper.figures.drawing import ZERO


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


def predicted_vs_true(truth: ArrayLike, prediction: ArrayLike, unit: str) -> Figure:
    """Predictions of held-out rows against the truth, and the diagonal where they agree  [appendix, models].

    truth, prediction : (m,), in this unit
    """
    true, predicted = np.asarray(truth, float), np.asarray(prediction, float)
    ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    explained = 1 - ((true - predicted) ** 2).sum() / ((true - true.mean()) ** 2).sum()
    figure, [axes] = panels_row(width=4.8, height=4.6)
    axes.plot(ends, ends, **ZERO, label="prediction = truth")
    axes.plot(true, predicted, "o", color=PALETTE["blue"], markersize=3, alpha=0.35, rasterized=True)
    axes.set(xlabel=f"truth ({unit})", ylabel=f"prediction ({unit})", aspect="equal")
    axes.set_title(f"R² = {explained:.3f}, {len(true):,} rows")
    axes.legend(loc="upper left")
    return figure
