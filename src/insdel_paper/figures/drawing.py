"""What several figures share: a row of panels, a table drawn group by group, marks, pictures, legends outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from insdel.plots import COLORS, PALETTE, method_look, panels_row

MARKERS = "osD^vPX*"
ZERO: dict[str, Any] = {"color": PALETTE["grey"], "linestyle": "--", "linewidth": 1}  # a line to compare with


def draw_row(
    draw: Callable[[Axes, Any], None],
    keys: Collection[Any],
    width: float,
    height: float,
    *,
    xlabel: str = "",
    ylabel: str = "",
    sharey: bool = True,
    legend: bool = True,
    **look: Any,
) -> Figure:
    """A row of panels: `draw` fills one for each key, which titles it; shared labels, one legend that looks so."""
    figure, panels = panels_row(len(keys), width, height, sharey=sharey)
    for panel, key in zip(panels, keys, strict=True):
        panel.set_title(str(key).replace("_", "-"))
        draw(panel, key)
    if xlabel:
        figure.supxlabel(xlabel)
    if ylabel:
        panels[0].set_ylabel(ylabel)
    if legend:
        legend_outside(figure, max(panels, key=lambda panel: len(panel.get_legend_handles_labels()[1])), **look)
    return figure


def draw_groups(
    panel: Axes,
    table: pd.DataFrame,
    by: str,
    x: str,
    y: str,
    error: str | None = None,
    *,
    titles: Mapping[Any, str] | None = None,
    looks: Mapping[Any, Mapping[str, Any]] | None = None,
    errors: float = 2.0,
    **style: Any,
) -> None:
    """A line with marks for each group of a table, in a colour and with a mark of its own, ± some errors.

    by, x, y, error : columns
    titles : group → its name in the legend
    looks : group → how its line looks, where it is not the next colour and mark
    errors : how many standard errors the bars show
    """
    groups = table.groupby(by, sort=False, observed=True)
    for (group, rows), color, marker in zip(groups, cycle(COLORS), cycle(MARKERS), strict=False):
        bars = None if error is None else errors * rows[error]
        look = {"color": color, "marker": marker, "ms": 4, **(looks or {}).get(group, {}), **style}
        panel.errorbar(rows[x], rows[y], bars, label=(titles or {}).get(group, group), **look)


def draw_marks(panel: Axes, marks: Mapping[str, float]) -> None:
    """An upright line for each mark, label → place, in the colour of its method and a style of its own."""
    for (label, place), style in zip(marks.items(), ("-", ":", "--", "-."), strict=False):
        panel.axvline(place, color=method_look(label)["color"], linestyle=style, linewidth=2, label=label)


def draw_picture(axes: Axes, image: Any, title: str = "") -> None:
    """Show one RGB picture, (3, height, width), without ticks; colours outside [0, 1] are cut off."""
    axes.imshow(np.clip(np.moveaxis(np.asarray(image, dtype=float), 0, -1), 0, 1), interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="#BBBBBB")  # white pictures need an edge
    axes.set_title(title, fontsize="medium")


def draw_pixel_curves(axes: Axes, curves: pd.DataFrame) -> None:
    """Deletion and insertion of one map and reference, as in images: insertion begins at the reference."""
    for mode, color in (("deletion", PALETTE["orange"]), ("insertion", PALETTE["blue"])):
        curve = curves[curves["mode"] == mode].sort_values("fraction")
        across = curve["fraction"] if mode == "deletion" else 1 - curve["fraction"]
        axes.plot(across, curve["value"], color=color, label=mode, linestyle="-" if mode == "deletion" else "--")
    axes.set(xlim=(0, 1), ylim=(-0.03, 1.03), xticks=[0, 0.5, 1], xticklabels=["0", "½", "1"])


def legend_outside(figure: Figure, panel: Axes, place: str = "upper center", **options: Any) -> None:
    """One legend for all panels, above them unless told otherwise, with the labels of one.

    Below, it would run into a label that all panels share.
    """
    look: dict[str, Any] = {"loc": f"outside {place}", "fontsize": "small", "ncols": 4, **options}
    figure.legend(*panel.get_legend_handles_labels(), **look)


def percent(*axes: Axis) -> None:
    """Write the numbers of an axis as percent, with as many digits as they need."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.10g} %"))
