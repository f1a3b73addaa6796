"""Figures of chapter 14: remove and retrain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.plots import PALETTE, method_look, panels_row
from insdel_paper.figures.drawing import draw_groups, draw_row, legend_outside
from insdel_paper.studies.roar import tables as roar_tables
from insdel_paper.studies.roar.tables import TITLES

REMOVED = "share of the features removed"
# by size: full lines; signed: dashed and hollow, in the colour of its method; controls: black and grey
LOOKS: dict[str, dict[str, Any]] = {
    **{name: {**method_look(name), "ls": "-"} for name in ("kernel_shap", "integrated_gradients", "deeplift", "lime")},
    "input_x_gradient": {"color": PALETTE["grey"], "ls": "--", "marker": "X"},
    "vanilla_grad": {"color": PALETTE["grey"], "ls": "-.", "marker": "v"},
    **{f"{name}_signed": {**method_look(name), "ls": "--", "mfc": "white"}
       for name in ("kernel_shap", "integrated_gradients")},
    "global": {"color": PALETTE["black"], "ls": "-", "marker": "P"},
    "random": {"color": PALETTE["grey"], "ls": ":", "marker": "."},
}  # fmt: skip


def _curves(panel: Axes, table: pd.DataFrame, form: str = "features") -> None:
    result = roar_tables.losses(table, form)
    ends = result[result["ranking"] == result["ranking"].iloc[0]].iloc[[0, -1]]
    panel.plot(ends["share"], ends["loss"], color=PALETTE["grey"], ls="--", lw=1, label="straight line")
    draw_groups(panel, result, "ranking", "share", "loss", "se", titles=TITLES, looks=LOOKS, errors=1, capsize=2)


def roar_curves(tables: Mapping[str, pd.DataFrame], unit: Mapping[str, str]) -> Figure:
    """Held-out loss over the share of removed features, ± one standard error; a panel per run  [figure in section 6].

    tables : title of the panel → table of `removal.run`
    unit : title → unit of the loss
    """

    def draw(panel: Axes, title: str) -> None:
        _curves(panel, tables[title])
        if roar_tables.is_noise(tables[title]):
            panel.set_title(f"{title} (the rise is within its noise)")
        panel.set_ylabel(f"held-out Huber loss{unit.get(title, '')}")

    return draw_row(draw, tables, max(6.4, 5.2 * len(tables)), 4.2, xlabel=REMOVED, sharey=False)


def roar_forms(table: pd.DataFrame, unit: str) -> Figure:
    """The curves of one data set in every form of removal, a panel each, ± one standard error.

    table : of `removal.run` with several forms
    """
    forms = [form for form in roar_tables.FORM_TITLES if form in set(table["input"])]

    def draw(panel: Axes, form: str) -> None:
        _curves(panel, table, form)
        panel.set_title(roar_tables.FORM_TITLES[form].replace(", ", ",\n"), fontsize="medium")

    ylabel = f"held-out Huber loss{unit}"
    return draw_row(draw, forms, max(6.4, 4.4 * len(forms)), 4.0, xlabel=REMOVED, ylabel=ylabel, sharey=False)


def roar_bends(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Bend of every curve, ± two standard errors, a row per run: 0 is straight, 0.5 the most there can be.

    tables : title of the row → table of `removal.run`
    """
    figure, [panel] = panels_row(1, 8.6, 1.2 + 0.62 * len(tables))
    noise = [roar_tables.is_noise(table) for table in tables.values()]
    bends = [roar_tables.bends(table).assign(row=row) for row, table in enumerate(tables.values()) if not noise[row]]
    found = pd.concat(bends).groupby(level=0)
    rankings = [name for name in LOOKS if name in found.groups]
    for ranking, offset in zip(rankings, np.linspace(-0.28, 0.28, len(rankings)), strict=True):
        rows = found.get_group(ranking)
        look = {**LOOKS[ranking], "ls": "none", "ms": 5, "capsize": 2, "label": TITLES[ranking]}
        panel.errorbar(rows["bend"], rows["row"] + offset, xerr=2 * rows["se"], **look)
    panel.axvline(0, color=PALETTE["black"], linewidth=1)
    panel.axvspan(-roar_tables.STRAIGHT, roar_tables.STRAIGHT, color=PALETTE["grey"], alpha=0.15, linewidth=0)
    panel.set(xlim=(-0.52, 0.52), ylim=(len(tables) - 0.5, -0.5), xlabel="bend: late ← straight → early")
    titles = [f"{title} (noise)" if flat else title for title, flat in zip(tables, noise, strict=True)]
    panel.set_yticks(range(len(tables)), titles)
    legend_outside(figure, panel)
    return figure


def roar_leaks(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Percent of the rise that a network undoes which sees only who was removed, ± two standard errors.

    tables : title of the panel → table of `removal.run` with masks
    """

    def draw(panel: Axes, title: str) -> None:
        undone = roar_tables.leaks(tables[title])
        undone[["undone", "se"]] *= 100
        draw_groups(panel, undone, "ranking", "share", "undone", "se", titles=TITLES, looks=LOOKS, capsize=2)
        panel.axhline(0, color=PALETTE["black"], linewidth=1)
        panel.set_xlim(0, 1)

    ylabel = "rise undone by the mask alone, %"
    return draw_row(draw, tables, max(6.4, 4.4 * len(tables)), 3.8, xlabel=REMOVED, ylabel=ylabel)
