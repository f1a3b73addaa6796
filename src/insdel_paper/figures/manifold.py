"""Figures of chapter 19: off the manifold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from insdel.curves import MODES
from insdel.plots import PALETTE, method_look, panels_grid, panels_row
from insdel_paper.figures.drawing import MARKERS, draw_groups, legend_outside


def manifold_profile(
    profile: pd.DataFrame, limit: float, titles: Mapping[str, str], ylabel: str = "distance to the data, relative"
) -> Figure:
    """Distance to the data along the walk, median and quartiles over pairs: a panel per policy, a line per method.

    profile : from `manifold.profile`, one mode
    limit : beyond it a point is off
    titles : method → its name, for the methods to show
    """
    policies = list(profile["policy"].unique())
    figure, panels = panels_row(len(policies), 3.5 * len(policies), 3.6, sharey=True)
    for panel, policy in zip(panels, policies, strict=True):
        for method, title in titles.items():
            color = method_look(method)["color"]
            part = profile[(profile["policy"] == policy) & (profile["method"] == method)]
            panel.plot(part["step"], part["median"], color=color, label=title)
            panel.fill_between(part["step"], part["low"], part["high"], color=color, alpha=0.15, linewidth=0)
        panel.axhline(limit, color=PALETTE["grey"], linestyle="--", label="99 % of rows held out")
        panel.set_title(policy.replace("_", "-"))
    panels[0].set_ylabel(ylabel)
    panels[0].set_ylim(bottom=0)
    figure.supxlabel("features changed so far")
    legend_outside(figure, panels[0])
    return figure


def manifold_earned(earned: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Share of a method's ABC that points off the manifold add, over what it were if all points of a walk added alike.

    earned : from `manifold.off_manifold_share`, with policies
    titles : method → its name, for the methods to show
    """
    figure, panels = panels_row(2, 10.0, 4.0, sharey=True)
    policies = list(earned.index.get_level_values("policy").unique())
    for panel, mode in zip(panels, MODES, strict=True):
        panel.plot([0, 1], [0, 1], "--", color=PALETTE["grey"], linewidth=1, label="no more than other points")
        for policy, marker in zip(policies, MARKERS, strict=False):
            rows = earned.loc[policy].xs(mode, level="mode").reindex(list(titles)).reset_index()
            names = {method: f"{policy.replace('_', '-')}: {title}" for method, title in titles.items()}
            looks = {method: {**method_look(method), "marker": marker} for method in titles}
            look: dict[str, Any] = {"ms": 6, "ls": "none", "elinewidth": 0.8, "titles": names, "looks": looks}
            draw_groups(panel, rows, "method", "even", "share", "share_se", **look)
        panel.set(title=mode, xlim=(0, 1), ylim=(0, 1))
    panels[0].set_ylabel("share of the ABC from points off")
    figure.supxlabel("share if all points of a walk added alike")
    legend_outside(figure, panels[0], ncols=2)
    return figure


def manifold_extreme(
    steps: pd.DataFrame, names: Sequence[str], ceiling: float, formulas: Sequence[str] = ()
) -> Figure:
    """One pair's walk, step by step: f, the distance to the data, and what is impossible about the point.

    steps : rows of `manifold.walks`, one pair and one method
    names : of the features
    ceiling : the largest f that data has
    formulas : columns of `steps` to draw beside f, such as what physics says
    """
    figure, axes = panels_grid(3, 2, 11.0, 7.0, sharex="col", sharey="row")
    shown = {"value": "mass (GeV)", "distance": "distance\nto the data", "violation": "momentum gap\n(GeV)"}
    for column, mode in enumerate(MODES):
        part = steps[steps["mode"] == mode].sort_values("step")
        for row, (name, label) in enumerate(shown.items()):
            panel = axes[row, column]
            panel.plot(part["step"], part[name], "o-", color=PALETTE[("blue", "orange", "pink")[row]], markersize=4,
                       label="the network" if row == 0 else None)  # fmt: skip
            if column == 0:
                panel.set_ylabel(label)
        for name, style in zip(formulas, (":", "-."), strict=False):
            axes[0, column].plot(part["step"], part[name], style, color=PALETTE["green"], label=name)
        axes[0, column].axhline(ceiling, color=PALETTE["grey"], linestyle="--", label="largest prediction at an event")
        labels = ["x", *(f"+ {names[feature]}" for feature in part["feature"].iloc[1:])]
        axes[2, column].set_xticks(range(len(labels)), labels, rotation=90, fontsize="small")
        axes[0, column].set_title(mode)
    legend_outside(figure, axes[0, 1], "upper center", ncols=2)
    return figure


def manifold_tail(found: pd.DataFrame, beyond: float) -> Figure:
    """Left: how rare large insertion ABCs are, a line per pairing. Right: they come with distance from the data.

    found : from `manifold.tail`
    beyond : an ABC / n to mark, the paper's 150 GeV
    """
    figure, [left, right] = panels_row(2, 10.0, 3.8)
    rest = {"lw": 0.8, "color": PALETTE["sky"], "label": "other pairings"}
    for pairing, part in found.groupby("pairing"):
        first = {"lw": 2, "color": PALETTE["blue"], "label": "the pairing of the other chapters", "zorder": 3}
        sns.ecdfplot(part, x="insertion", stat="count", complementary=True, ax=left, **(rest if pairing else first))
        rest["label"] = f"_{pairing}" if pairing else rest["label"]  # one of them in the legend
    left.set(yscale="log", xlabel="insertion ABC / n (GeV)", ylabel="pairs with at least that much")
    right.plot(found["distance"], found["insertion"], ".", color=PALETTE["blue"], markersize=2, alpha=0.5,
               rasterized=True)  # fmt: skip
    right.set_xscale("log")
    right.xaxis.set_major_formatter("{x:g}")
    right.xaxis.set_minor_formatter(NullFormatter())
    right.set(xlabel="largest distance to the data on the walk", ylabel="insertion ABC / n (GeV)")
    left.axvline(beyond, color=PALETTE["orange"], linestyle="--", label=f"{beyond:g} GeV")
    right.axhline(beyond, color=PALETTE["orange"], linestyle="--")
    legend_outside(figure, left)
    return figure
