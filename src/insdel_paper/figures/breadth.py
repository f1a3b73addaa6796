"""Figures of the chapter on many tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from insdel.plots import COLORS, PALETTE, panels_row


def breadth_scores(cells: pd.DataFrame, families: Sequence[str], titles: Mapping[str, str]) -> Figure:
    """Score of every method in every family: a dot per table, the mean over tables as a bar.

    cells : table, family, method, score
    titles : method → its name, the first on top
    """
    names = [name for name in titles if name in set(cells["method"])]
    means = cells[cells["method"].isin(names) & cells["family"].isin(families)].groupby(["method", "family", "table"])
    lowest = float(means["score"].mean().min())
    figure, panels = panels_row(len(families), 2.4 * len(families), 0.36 * len(names) + 1.2, sharey=True)
    for panel, family in zip(panels, families, strict=True):
        rows = cells[cells["family"] == family].groupby(["method", "table"])["score"].mean()
        for place, name in enumerate(names):
            if name not in rows.index.get_level_values("method"):
                continue
            values = rows[name].to_numpy()
            panel.plot(values, np.full(len(values), place), "o", color=COLORS[0], markersize=3, alpha=0.5)
            panel.plot(values.mean(), place, "|", color=PALETTE["black"], markersize=14, markeredgewidth=2)
        panel.set_title(family, fontsize="small")
        panel.set_xlabel("score")
        panel.set_xlim(min(0.5, lowest - 0.02), 1.02)
    panels[0].set_yticks(range(len(names)), [titles[name] for name in names])
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def breadth_interactions(cells: pd.DataFrame, scores: pd.DataFrame, families: Sequence[str]) -> Figure:
    """Kernel SHAP's score, and its lead over IG, against the share of the game that is not additive; a dot per cell.

    cells : table, family, policy, seed, not_additive
    scores : from `analysis.wide`
    """
    keys = list(scores.index.names)
    rows = scores.join(cells.drop_duplicates(keys).set_index(keys)["not_additive"]).reset_index()
    figure, panels = panels_row(2, 9.0, 3.6)
    lead = rows["kernel_shap"] - rows["integrated_gradients"]
    for panel, values, label in zip(
        panels, (rows["kernel_shap"], lead), ("score of Kernel SHAP", "Kernel SHAP − IG"), strict=True
    ):
        for family, color, marker in zip(families, COLORS, "osD^v", strict=False):
            some = rows["family"] == family
            panel.plot(100 * rows.loc[some, "not_additive"], values[some], marker, color=color, markersize=4, alpha=0.6,
                       linestyle="none", label=family)  # fmt: skip
        panel.set_xlabel("share that is not additive (%)")
        panel.set_ylabel(label)
    panels[0].legend(fontsize="small")
    return figure
