"""Figures of chapter 20: how little can I spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.curves import MODES
from insdel.plots import PALETTE, method_look, panels_grid, panels_row
from insdel_paper.figures.drawing import draw_groups, legend_outside


def _spent(panel: Axes, rows: pd.DataFrame, value: str, titles: Mapping[str, str], error: str | None = None) -> None:
    """Draw a value over evaluations: a line per method with budgets, a mark for each that has one price."""
    budgets = rows[rows["budget"].notna()]
    draw_groups(panel, budgets, "method", "evaluations", value, error, titles=titles, capsize=2,
                looks={method: method_look(method) for method in budgets["method"].unique()})  # fmt: skip
    single = rows[rows["budget"].isna() & (rows["evaluations"] > 0)]
    for (_, row), marker in zip(single.iterrows(), "P*Xhdp", strict=False):
        label = titles.get(row["method"], row["method"])
        color = method_look(row["method"])["color"]
        panel.plot(row["evaluations"], row[value], marker, color=color, markersize=7, label=label)
    for _, row in rows[rows["evaluations"] == 0].iterrows():
        panel.axhline(row[value], color=PALETTE["grey"], linestyle=":", label=titles.get(row["method"], row["method"]))
    panel.set_xscale("log")
    panel.set_xlabel("model evaluations per pair")


def spend_areas(table: pd.DataFrame, titles: Mapping[str, str] | None = None, unit: str = "") -> Figure:
    """Mean ABC / n that methods reach, over the model evaluations that they spend.

    table : from `cost.cost_accuracy`
    titles : method → its name in the legend
    """
    figure, panels = panels_row(2, 10.0, 4.0, sharey=True)
    for panel, mode in zip(panels, MODES, strict=True):
        _spent(panel, table[table["mode"] == mode], "abc_per_feature", titles or {})
        panel.set_title(mode)
    panels[0].set_ylabel(f"mean ABC / n{unit}")
    legend_outside(figure, panels[0])
    return figure


def spend_shortfall(table: pd.DataFrame, titles: Mapping[str, str] | None = None, share: float = 0.01) -> Figure:
    """How many percent of the exact ABC methods with a budget fall short, ± 2 standard errors of the paired difference.

    table : from `cost.cost_accuracy`
    share : what counts as near enough, drawn as a line
    """
    figure, panels = panels_row(2, 10.0, 3.8, sharey=True)
    goal = table["abc_per_feature"] + table["shortfall"]
    percent = table.assign(short=100 * table["shortfall"] / goal, error=100 * (table["shortfall_se"] / goal).abs())
    for panel, mode in zip(panels, MODES, strict=True):
        rows = percent[(percent["mode"] == mode) & percent["budget"].notna()]
        _spent(panel, rows, "short", titles or {}, "error")
        panel.axhline(100 * share, color=PALETTE["grey"], linestyle="--", label=f"{100 * share:g} %")
        panel.set_yscale("symlog", linthresh=100 * share)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_title(mode)
    panels[0].set_ylabel("short of the exact ABC, %")
    legend_outside(figure, panels[0])
    return figure


RIVALS = {
    "insdel": ("insdel", "blue", "o-"),
    "shap KernelExplainer": ("shap, Kernel", "orange", "s-"),
    "shapiq LeverageSHAP": ("shapiq, LeverageSHAP", "green", "D-"),
    "shapiq OddSHAP": ("shapiq, OddSHAP", "black", "P-"),
    "shapiq PolySHAP, order 2, paired": ("shapiq, PolySHAP of order 2", "pink", "^-"),
    "shapiq PolySHAP, order 3, paired": ("shapiq, PolySHAP of order 3", "yellow", "v-"),
}
WORST = 3.0  # relative squared errors beyond this say nothing but that a method failed


def estimator_errors(table: pd.DataFrame) -> Figure:
    """Relative squared error of sampled Shapley values over evaluations, a panel for each policy of each data set.

    table : the record `estimators`; the thin lines are the other approximators
    """
    races = dict(list(_mean_errors(table).groupby(["data", "policy"], sort=False)))
    figure, grid = panels_grid(-(-(len(races) + 1) // 3), 3, 8.4, 5.6, sharex=True, sharey=True)
    panels, others = np.split(grid.reshape(-1), [len(races)])
    for panel, ((data, policy), rows) in zip(panels, races.items(), strict=True):
        for who, line in rows[rows["error"] < WORST].groupby("who"):
            label, color, style = RIVALS.get(str(who), ("other approximators", "grey", "-"))
            look: dict[str, Any] = {"color": PALETTE[color], "linewidth": 0.6 if color == "grey" else 1.5}
            panel.loglog(line["budget"], line["error"], style, markersize=4, label=label, **look)
        panel.set_title(", ".join(_race_name(data, policy)))
        panel.xaxis.set_tick_params(labelbottom=True)
    figure.supxlabel("evaluations")
    figure.supylabel("relative squared error")
    named = dict(zip(*panels[0].get_legend_handles_labels()[::-1], strict=True))
    for empty in others:
        empty.set_axis_off()
    others[0].legend(named.values(), named.keys(), loc="center", fontsize="small")
    return figure


def _race_name(data: str, policy: str) -> tuple[str, str]:
    """Name a race in the reader's words."""
    return "events" if data == "cern" else "houses", policy.replace("_", "-")


def _with_names(table: pd.DataFrame) -> pd.DataFrame:
    """Name the races of a table with rows (data, policy), and drop the names of its axes."""
    return table.set_axis(pd.MultiIndex.from_tuples([_race_name(*race) for race in table.index])).rename_axis(
        columns=None
    )


def _mean_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Mean error of each contestant, over the pairs that all of them have."""
    common = table["pair"] <= table.loc[table["who"] != "insdel", "pair"].max()
    rows = table[common & table["error"].notna()]
    return rows.groupby(["data", "policy", "who", "budget"], sort=False, as_index=False)["error"].mean()


def estimator_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """How many times smaller this package's error is than the smallest of all others', (races, budgets)."""
    means, race = _mean_errors(table), ["data", "policy", "budget"]
    ours, others = (means[(means["who"] == "insdel") == own].groupby(race, sort=False)["error"].min()
                    for own in (True, False))  # fmt: skip
    ratio = (others / ours).rename("ratio").reset_index()
    return _with_names(ratio.pivot_table("ratio", ["data", "policy"], "budget", sort=False))


def estimator_ratio_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Standard errors of those ratios, relative to them: by the jackknife, each pair left out in turn."""
    pairs = table["pair"].unique()
    logs = [np.log(estimator_ratios(table[table["pair"] != left_out])) for left_out in pairs]
    return pd.DataFrame(np.sqrt(len(pairs) - 1) * np.std(logs, axis=0), logs[0].index, logs[0].columns)


def estimator_coverage(table: pd.DataFrame) -> pd.DataFrame:
    """Share of exact values inside this package's 95 % intervals, (races, budgets), over all its pairs."""
    ours = table[table["who"] == "insdel"]
    return _with_names(ours.pivot_table("inside", ["data", "policy"], "budget", sort=False))


def estimator_enough(table: pd.DataFrame, error: float = 0.05) -> pd.DataFrame:
    """The fewest evaluations raced from which on the root of the mean squared error stays within `error`.

    Returns
    -------
    (races, 2): this package's, and those of the rival that needs the fewest; missing where none of the budgets do
    """
    means = _mean_errors(table).sort_values("budget", ascending=False)
    means["settled"] = means["error"] <= error**2
    means["settled"] = means.groupby(["data", "policy", "who"], sort=False)["settled"].cummin()
    means["side"] = (means["who"] == "insdel").map({True: "insdel", False: "best rival"})
    fewest = means[means["settled"]].pivot_table("budget", ["data", "policy"], "side", aggfunc="min", sort=False)
    races = pd.MultiIndex.from_frame(table[["data", "policy"]].drop_duplicates())
    return _with_names(fewest.reindex(index=races, columns=["insdel", "best rival"]))


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
        _ratio_bars(panel, rows.iloc[::-1])
        panel.set_title(task, fontsize="medium", loc="left")
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_xlim(raced["ratio"].min() / 2.2, raced["ratio"].max() * 2.5)
    axes[-1, 0].xaxis.set_major_formatter("{x:g}")
    axes[-1, 0].set_xlabel("time, in units of insdel's")
    return figure


def _ratio_bars(panel: Axes, rows: pd.DataFrame) -> None:
    """One bar per contestant, from 1 to its ratio."""
    for place, row in enumerate(rows.itertuples()):
        color = "orange" if row.who == LIMIT else "blue" if row.who.startswith("insdel") else "sky"
        panel.barh(place, row.ratio - 1, left=1, height=0.6, color=PALETTE[color])
        side = -4 if row.ratio < 1 else 4
        align = "right" if row.ratio < 1 else "left"
        panel.annotate(f"{row.ratio:.2g} ×", (row.ratio, place), (side, 0), textcoords="offset points", va="center",
                       ha=align, fontsize="small")  # fmt: skip
        if row.who == LIMIT:
            panel.axvline(row.ratio, color=PALETTE["orange"], linestyle="--", linewidth=1)
    panel.axvline(1, color=PALETTE["black"], linewidth=1)
    panel.set_yticks(range(len(rows)), rows["who"], fontsize="small")


def bench_growth(table: pd.DataFrame) -> Figure:
    """How time grows with the features, and time and peak memory with the pairs.

    table : the record `bench`
    """
    figure, panels = panels_row(3, 11.0, 3.4)
    numbers = table["who"].str.split().str[0]
    lattice, pairs = table["task"] == "cost of one lattice", table["task"] == "peak memory"
    n, seconds = numbers[lattice].astype(int).to_numpy(), table.loc[lattice, "seconds"].to_numpy()
    panels[0].semilogy(n, seconds, "o-", color=PALETTE["blue"], label="measured")
    doubling = seconds[-1] * 2.0 ** (n - n[-1])
    panels[0].semilogy(n, doubling, "--", color=PALETTE["grey"], label="doubling per feature")
    panels[0].set(xlabel="differing features", ylabel="seconds", title="one lattice")
    panels[0].set_xticks(n)
    panels[0].legend(fontsize="small")
    count = numbers[pairs].astype(int).to_numpy()
    panels[1].loglog(count, table.loc[pairs, "seconds"], "o-", color=PALETTE["blue"])
    panels[1].set(xlabel="pairs", ylabel="seconds", title="many pairs: time")
    panels[2].semilogx(count, table.loc[pairs, "mebibytes"], "o-", color=PALETTE["orange"])
    panels[2].set(xlabel="pairs", ylabel="MiB above the idle process", title="many pairs: peak memory")
    panels[2].set_ylim(bottom=0)
    return figure


def growth_rates(table: pd.DataFrame) -> pd.DataFrame:
    """By what power of the size each cost grows at last: the slope over the last factor of ten, or what there is of it.

    table : the costs of the record `scale`
    """
    rows = []
    for (axis, who), part in table.groupby(["axis", "who"], sort=False):
        late = part[part["size"] * 10 >= part["size"].max()]
        power = np.polyfit(np.log(late["size"]), np.log(late["seconds"]), 1)[0]
        rows.append({"grows with": axis, "who": who, "from": late["size"].min(), "to": late["size"].max(),
                     "power": power, "seconds at the end": late["seconds"].iloc[-1]})  # fmt: skip
    return pd.DataFrame(rows).set_index(["grows with", "who"])


def scale_costs(table: pd.DataFrame) -> Figure:
    """How costs grow with pairs, features and background rows, a panel each.

    table : the costs of the record `scale`
    """
    axes = list(table["axis"].unique())
    figure, panels = panels_row(len(axes), 12.0, 4.2)
    for panel, axis in zip(panels, axes, strict=True):
        lines = table[table["axis"] == axis].groupby("who", sort=False)
        for color, marker, (who, part) in zip(("blue", "orange", "green", "black"), "os^D", lines, strict=False):
            panel.loglog(part["size"], part["seconds"], f"{marker}-", color=PALETTE[color], label=who, markersize=4)
        panel.set(xlabel=axis, ylabel="seconds of one thread")
        panel.set_ylim(top=100 * panel.get_ylim()[1])  # room for the legend
        panel.legend(fontsize="x-small", loc="upper left")
    return figure
