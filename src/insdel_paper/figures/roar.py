"""Figures of chapter 14: remove and retrain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.plots import PALETTE, method_look, panels_row
from insdel_paper.figures.drawing import draw_groups, legend_outside
from insdel_paper.studies.roar import tables as roar_tables
from insdel_paper.studies.roar.tables import TITLES

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


def roar_curves(tables: Mapping[str, pd.DataFrame], unit: Mapping[str, str] | None = None) -> Figure:
    """Held-out loss over the share of removed features, ± one standard error; a panel per run  [figure in section 6].

    tables : title of the panel → table of `removal.run`
    unit : title → unit of the loss
    """
    figure, panels = panels_row(len(tables), max(6.4, 5.2 * len(tables)), 4.2)
    for panel, (title, table) in zip(panels, tables.items(), strict=True):
        _curves(panel, table)
        noise = " (the rise is within its noise)" if roar_tables.is_noise(table) else ""
        panel.set_title(f"{title}{noise}")
        panel.set_ylabel(f"held-out Huber loss{(unit or {}).get(title, '')}")
    fullest = max(panels, key=lambda panel: len(panel.get_legend_handles_labels()[1]))
    figure.supxlabel("share of the features removed")
    legend_outside(figure, fullest)
    return figure


def roar_forms(table: pd.DataFrame, unit: str = "") -> Figure:
    """The curves of one data set in every form of removal, a panel each, ± one standard error.

    table : of `removal.run` with several forms
    """
    forms = [form for form in roar_tables.FORM_TITLES if form in set(table["input"])]
    figure, panels = panels_row(len(forms), max(6.4, 4.4 * len(forms)), 4.0)
    for panel, form in zip(panels, forms, strict=True):
        _curves(panel, table, form)
        panel.set_title(roar_tables.FORM_TITLES[form].replace(", ", ",\n"), fontsize="medium")
    panels[0].set_ylabel(f"held-out Huber loss{unit}")
    figure.supxlabel("share of the features removed")
    legend_outside(figure, panels[0])
    return figure


def _curves(panel: Axes, table: pd.DataFrame, form: str = "features") -> None:
    result = roar_tables.losses(table, form)
    ends = result[result["ranking"] == result["ranking"].iloc[0]].iloc[[0, -1]]
    panel.plot(ends["share"], ends["loss"], color=PALETTE["grey"], ls="--", lw=1, label="straight line")
    draw_groups(
        panel, result, "ranking", "share", "loss", "se", titles=TITLES, looks=LOOKS, errors=1, capsize=2
    )


def roar_bends(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Bend of every curve, ± two standard errors, a row per run: 0 is straight, 0.5 the most there can be.

    tables : title of the row → table of `removal.run`
    """
    figure, [panel] = panels_row(1, 8.6, 1.2 + 0.62 * len(tables))
    rankings = [name for name in LOOKS if any(name in set(table["ranking"]) for table in tables.values())]
    offsets = np.linspace(-0.28, 0.28, len(rankings)) if len(rankings) > 1 else np.zeros(1)
    for ranking, offset in zip(rankings, offsets, strict=True):
        result = pd.DataFrame({row + offset: roar_tables.bends(table).loc[ranking]
                               for row, table in enumerate(tables.values())
                               if ranking in set(table["ranking"]) and not roar_tables.is_noise(table)},
                              index=["bend", "se"], dtype=float).T  # fmt: skip
        look = {**LOOKS[ranking], "ls": "none", "ms": 5, "capsize": 2, "label": TITLES[ranking]}
        panel.errorbar(result["bend"], result.index, xerr=2 * result["se"], **look)
    panel.axvline(0, color=PALETTE["black"], linewidth=1)
    panel.axvspan(-roar_tables.STRAIGHT, roar_tables.STRAIGHT, color=PALETTE["grey"], alpha=0.15, linewidth=0)
    panel.set_xlim(-0.52, 0.52)
    panel.set_xlabel("bend: late ← straight → early")
    titles = [f"{title} (noise)" if roar_tables.is_noise(table) else title for title, table in tables.items()]
    panel.set_yticks(range(len(tables)), titles)
    panel.set_ylim(len(tables) - 0.5, -0.5)  # the first run on top
    legend_outside(figure, panel)
    return figure


def roar_leaks(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Percent of the rise that a network undoes which sees only who was removed, ± two standard errors.

    tables : title of the panel → table of `removal.run` with masks
    """
    figure, panels = panels_row(len(tables), max(6.4, 4.4 * len(tables)), 3.8, sharey=True)
    for panel, (title, table) in zip(panels, tables.items(), strict=True):
        undone = roar_tables.leaks(table)
        undone[["undone", "se"]] *= 100
        draw_groups(panel, undone, "ranking", "share", "undone", "se", titles=TITLES, looks=LOOKS, capsize=2)
        panel.axhline(0, color=PALETTE["black"], linewidth=1)
        panel.set(title=title, xlim=(0, 1))
    panels[0].set_ylabel("rise undone by the mask alone, %")
    figure.supxlabel("share of the features removed")
    legend_outside(figure, panels[0])
    return figure
