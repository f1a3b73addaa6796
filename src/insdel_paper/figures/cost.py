"""Figures and tables of the appendix on estimators: errors, time and memory beside those of other packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from insdel.plots import PALETTE, panels_grid

RIVALS = {
    "insdel": ("insdel", "blue", "o-"),
    "shap KernelExplainer": ("shap, Kernel", "orange", "s-"),
    "shapiq OddSHAP": ("shapiq, OddSHAP", "black", "P-"),
    "shapiq PolySHAP, order 3, paired": ("shapiq, PolySHAP of order 3", "yellow", "v-"),
}
WORST = 3.0  # relative squared errors beyond this say nothing but that a method failed


RACE = ["data", "policy"]


def _mean_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Mean error of each contestant, over the pairs that all of them have."""
    common = table["pair"] <= table.loc[table["who"] != "insdel", "pair"].max()
    rows = table[common & table["error"].notna()]
    return rows.groupby([*RACE, "who", "budget"], sort=False, as_index=False)["error"].mean()


def _by_race(table: pd.DataFrame, value: str, column: str) -> pd.DataFrame:
    """The least value in each column, a row per race under its names for readers."""
    wide = table.pivot_table(value, RACE, column, aggfunc="min", sort=False)
    names = [("events" if data == "cern" else "houses", policy.replace("_", "-")) for data, policy in wide.index]
    return wide.set_axis(pd.MultiIndex.from_tuples(names)).rename_axis(columns=None)


def estimator_errors(table: pd.DataFrame) -> Figure:
    """Relative squared error of sampled Shapley values over evaluations, a panel for each policy of each data set.

    table : the record `estimators`; the thin lines are the other approximators
    """
    means = _mean_errors(table)
    names = _by_race(means, "error", "budget").index
    figure, grid = panels_grid(-(-(len(names) + 1) // 3), 3, 8.4, 5.6, sharex=True, sharey=True)
    panels, others = np.split(grid.reshape(-1), [len(names)])
    races = means[means["error"] < WORST].groupby(RACE, sort=False)
    for panel, name, (_, rows) in zip(panels, names, races, strict=True):
        for who, line in rows.groupby("who"):
            label, color, style = RIVALS.get(str(who), ("other approximators", "grey", "-"))
            look: dict[str, Any] = {"color": PALETTE[color], "linewidth": 0.6 if color == "grey" else 1.5}
            panel.loglog(line["budget"], line["error"], style, markersize=4, label=label, **look)
        panel.set_title(", ".join(name))
        panel.xaxis.set_tick_params(labelbottom=True)
    figure.supxlabel("evaluations")
    figure.supylabel("relative squared error")
    labelled = dict(zip(*panels[0].get_legend_handles_labels()[::-1], strict=True))
    for empty in others:
        empty.set_axis_off()
    others[0].legend(labelled.values(), labelled.keys(), loc="center", fontsize="small")
    return figure


def estimator_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """How many times smaller this package's error is than the smallest of all others', (races, budgets)."""
    means = _mean_errors(table)
    own = means["who"] == "insdel"
    return _by_race(means[~own], "error", "budget") / _by_race(means[own], "error", "budget")


def estimator_ratio_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Standard errors of those ratios, relative to them: by the jackknife, each pair left out in turn."""
    pairs = table["pair"].unique()
    logs = [np.log(estimator_ratios(table[table["pair"] != left_out])) for left_out in pairs]
    return pd.DataFrame(np.sqrt(len(pairs) - 1) * np.std(logs, axis=0), logs[0].index, logs[0].columns)


def estimator_coverage(table: pd.DataFrame) -> pd.DataFrame:
    """Share of exact values inside this package's 95 % intervals, (races, budgets), over all its pairs."""
    ours = table[table["who"] == "insdel"].groupby([*RACE, "budget"], sort=False, as_index=False)["inside"].mean()
    return _by_race(ours, "inside", "budget")


def estimator_enough(table: pd.DataFrame, error: float = 0.05) -> pd.DataFrame:
    """The fewest evaluations raced from which on the root of the mean squared error stays within `error`.

    Returns
    -------
    (races, 2): this package's, and those of the rival that needs the fewest; missing where none of the budgets do
    """
    means = _mean_errors(table)
    late = means.sort_values("budget", ascending=False)
    settled = (late["error"] <= error**2).groupby([late[key] for key in (*RACE, "who")]).cummin()
    side = np.where(means["who"] == "insdel", "insdel", "best rival")
    means = means.assign(side=side, budget=means["budget"].where(settled, np.inf))
    return _by_race(means, "budget", "side")[["insdel", "best rival"]].replace(np.inf, np.nan)


LIMIT = "matrix products alone"  # the benchmark's lower bound on what asking the network can cost


def bench_ratios(table: pd.DataFrame) -> Figure:
    """Time of everyone in units of this package's, task by task, and the limit that the matrix products set.

    table : the record `bench`
    """
    raced = table[table["ratio"].notna()]
    tasks = {task: rows for task, rows in raced.groupby("task", sort=False) if len(rows) > 1}
    heights = [len(rows) for rows in tasks.values()]
    height = 0.24 * sum(heights) + 0.42 * len(tasks)
    figure, axes = panels_grid(len(tasks), 1, 8.0, height, sharex=True, height_ratios=heights)
    for panel, (task, rows) in zip(axes[:, 0], tasks.items(), strict=True):
        colors = [
            PALETTE["orange" if who == LIMIT else "blue" if who.startswith("insdel") else "sky"] for who in rows["who"]
        ]
        bars = panel.barh(rows["who"], rows["ratio"] - 1, left=1, height=0.6, color=colors)
        for bar, ratio in zip(bars, rows["ratio"], strict=True):
            side, align = (-4, "right") if ratio < 1 else (4, "left")
            panel.annotate(f"{ratio:.2g} ×", (ratio, bar.get_y() + 0.3), (side, 0), textcoords="offset points",
                           va="center", ha=align, fontsize="small")  # fmt: skip
        for ratio in rows.loc[rows["who"] == LIMIT, "ratio"]:
            panel.axvline(ratio, color=PALETTE["orange"], linestyle="--", linewidth=1)
        panel.axvline(1, color=PALETTE["black"], linewidth=1)
        panel.invert_yaxis()
        panel.tick_params(axis="y", labelsize="small")
        panel.set_title(task, fontsize="medium", loc="left")
    axes[-1, 0].set(xscale="log", xlim=(raced["ratio"].min() / 2.2, raced["ratio"].max() * 2.5))
    axes[-1, 0].xaxis.set_major_formatter("{x:g}")
    axes[-1, 0].set_xlabel("time, in units of insdel's")
    return figure
