"""Figures of chapter 14: remove and retrain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.plots import PALETTE, method_look
from insdel_paper.figures.drawing import draw_groups, draw_row
from insdel_paper.studies.roar import tables as roar_tables
from insdel_paper.studies.roar.tables import TITLES

# by size: full lines; signed: dashed and hollow, in the colour of its method; controls: black and grey
RANKING_LOOKS: dict[str, dict[str, Any]] = {
    **{name: {**method_look(name), "ls": "-"} for name in ("kernel_shap", "integrated_gradients", "deeplift", "lime")},
    "input_x_gradient": {"color": PALETTE["grey"], "ls": "--", "marker": "X"},
    "vanilla_grad": {"color": PALETTE["grey"], "ls": "-.", "marker": "v"},
    **{f"{name}_signed": {**method_look(name), "ls": "--", "mfc": "white"}
       for name in ("kernel_shap", "integrated_gradients")},
    "global": {"color": PALETTE["black"], "ls": "-", "marker": "P"},
    "random": {"color": PALETTE["grey"], "ls": ":", "marker": "."},
}  # fmt: skip


def draw_losses(panel: Axes, table: pd.DataFrame, form: str = "features") -> None:
    """The loss of every ranking over the share removed, ± one standard error, and the straight line.

    table : of `removal.run`; form : of removal, one of its inputs
    """
    result = roar_tables.losses(table, form)
    ends = result[result["ranking"] == result["ranking"].iloc[0]].iloc[[0, -1]]
    panel.plot(ends["share"], ends["loss"], color=PALETTE["grey"], ls="--", lw=1, label="straight line")
    look: dict[str, Any] = {"titles": TITLES, "looks": RANKING_LOOKS, "errors": 1, "capsize": 2}
    draw_groups(panel, result, "ranking", "share", "loss", "se", **look)


def roar_curves(tables: Mapping[str, pd.DataFrame], unit: Mapping[str, str]) -> Figure:
    """Held-out loss over the share of removed features, ± one standard error; a panel per run  [figure in section 6].

    tables : title of the panel → table of `removal.run`
    unit : title → unit of the loss
    """

    def draw(panel: Axes, title: str) -> None:
        draw_losses(panel, tables[title])
        if roar_tables.is_noise(tables[title]):
            panel.set_title(f"{title} (the rise is within its noise)")
        panel.set_ylabel(f"held-out Huber loss{unit.get(title, '')}")

    width, removed = max(6.4, 5.2 * len(tables)), "share of the features removed"
    return draw_row(draw, tables, width, 4.2, xlabel=removed, sharey=False)
