"""What several figures share: a table drawn group by group, and legends outside the panels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from insdel.plots import COLORS

MARKERS = "osD^vPX*"


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
    for place, (group, rows) in enumerate(table.groupby(by, sort=False, observed=True)):
        look: dict[str, Any] = {"color": COLORS[place % len(COLORS)], "marker": MARKERS[place % len(MARKERS)]}
        label = (titles or {}).get(group, group)
        bars = None if error is None else errors * rows[error]
        look |= {"ms": 4, **(looks or {}).get(group, {}), **style}
        panel.errorbar(rows[x], rows[y], bars, label=label, **look)


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
