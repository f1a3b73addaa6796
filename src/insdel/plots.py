"""Every figure of the book, one function each.

Each function takes data, draws it and returns a matplotlib Figure. Figures keep an opaque light
background, so that they read the same in the book's light and dark themes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

# Okabe and Ito's colours, told apart with every common kind of colour blindness.
PALETTE = {
    "blue": "#0072B2",
    "orange": "#D55E00",
    "green": "#009E73",
    "pink": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#E69F00",
    "grey": "#6E6E6E",
    "black": "#1A1A1A",
}
COLORS = list(PALETTE.values())

STYLE: dict[str, Any] = {
    "figure.facecolor": "#FFFFFF",
    "axes.facecolor": "#FFFFFF",
    "savefig.facecolor": "#FFFFFF",
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=COLORS),
    "font.size": 11,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "insdel",  # the same figure gives the same file
}


def use_style() -> None:
    """Set the book's figure style for the running kernel: SVG figures, one palette."""
    plt.style.use(STYLE)
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # outside a notebook there is nothing to set
        return
    set_matplotlib_formats("svg")


# --- Part I, chapters 1 to 3: the walk, its parts, its random orders ---------------------------------


def _panels(
    columns: int = 1, width: float = 6.4, height: float = 3.8, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row of panels, closed so that a notebook shows it once."""
    figure, axes = plt.subplots(1, columns, figsize=(width, height), squeeze=False, sharey=sharey)
    plt.close(figure)
    return figure, list(axes[0])


def _line(axes: Axes, curve: np.ndarray) -> np.ndarray:
    """Draw the straight line between a curve's ends, and return its points."""
    steps = np.arange(len(curve))
    line = np.asarray(np.linspace(curve[0], curve[-1], len(curve)))
    axes.plot(steps, line, color=PALETTE["grey"], linestyle="--", label="straight line")
    return line


def _steps(axes: Axes, n: int, names: Sequence[str] | None = None) -> None:
    """Label the horizontal axis with the number of changed features, or with the feature of each step."""
    axes.set_xticks(range(n + 1), None if names is None else ["x", *(f"+ {name}" for name in names)])
    axes.set_xlabel("features changed so far" if names is None else "one more feature taken from x′")


def walk(curves: Mapping[str, ArrayLike], ylabel: str = "prediction") -> Figure:
    """Curves of several orders of one pair, each with its label, and the straight line.

    curves : {label: (n + 1,)}
    """
    figure, [axes] = _panels()
    for (label, values), color in zip(curves.items(), COLORS * len(curves), strict=False):
        curve = np.asarray(values)
        axes.plot(range(len(curve)), curve, marker="o", color=color, label=label)
    _line(axes, curve)
    _steps(axes, len(curve) - 1)
    axes.set_ylabel(ylabel)
    axes.legend()
    return figure


def walk_modes(
    insertion: ArrayLike,
    deletion: ArrayLike,
    names: tuple[Sequence[str], Sequence[str]],
    ylabel: str = "prediction",
) -> Figure:
    """Insertion and deletion side by side, the signed area against the line shaded  [figure 1 of the paper].

    insertion, deletion : (n + 1,) curves
    names : the features in the order of each test
    """
    figure, panels = _panels(2, 9.0, sharey=True)
    tests = {"insertion": (insertion, PALETTE["blue"]), "deletion": (deletion, PALETTE["orange"])}
    for axes, words, (title, (values, color)) in zip(panels, names, tests.items(), strict=True):
        curve = np.asarray(values)
        axes.fill_between(range(len(curve)), curve, _line(axes, curve), color=color, alpha=0.2, label="ABC")
        axes.plot(range(len(curve)), curve, marker="o", color=color, label="curve")
        _steps(axes, len(curve) - 1, words)
        axes.set_title(title)
        axes.legend()
    panels[0].set_ylabel(ylabel)
    return figure


def orders_histogram(
    samples: Mapping[str, ArrayLike],
    marks: Mapping[str, float] | None = None,
    xlabel: str = "ABC",
    bins: int = 40,
) -> Figure:
    """How ABC is spread over random orders; one outline per sample, one vertical line per mark.

    samples : {label: (orders,)}
    marks : {label: value}
    """
    figure, [axes] = _panels()
    values = {label: np.asarray(sample) for label, sample in samples.items()}
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), bins).tolist()
    for (label, sample), color in zip(values.items(), COLORS, strict=False):
        axes.hist(sample, edges, histtype="stepfilled", alpha=0.25, color=color)
        axes.hist(sample, edges, histtype="step", linewidth=1.5, color=color, label=label)
    for (label, mark), style in zip((marks or {}).items(), ("--", ":", "-."), strict=False):
        axes.axvline(mark, color=PALETTE["black"], linestyle=style, label=label)
    axes.set_xlabel(xlabel)
    axes.set_ylabel("number of orders")
    axes.legend(fontsize="small")
    return figure


def split_ledger(labels: Sequence[str], parts: ArrayLike, ylabel: str = "prediction") -> Figure:
    """The parts Δ_u stacked one after the other, from f(x) to f(x′).

    labels : one per part, the first for Δ_∅ = f(x)
    parts : (2ⁿ,) dividends in the same order
    """
    figure, [axes] = _panels(width=7.6)
    heights = np.asarray(parts, dtype=float)
    tops = np.cumsum(heights)
    start = np.concatenate([[0.0], tops[:-1]])
    colors = [PALETTE["grey"], *(PALETTE["blue"] if part >= 0 else PALETTE["orange"] for part in heights[1:])]
    axes.bar(range(len(heights)), heights, bottom=start, color=colors, width=0.7)
    axes.bar([len(heights)], [tops[-1]], color=PALETTE["grey"], width=0.7)
    signed = [f"{part:+.4g}".replace("-", "−") for part in heights[1:]]
    words = [f"{heights[0]:.4g}", *signed, f"{tops[-1]:.4g}"]
    for place, (word, top) in enumerate(zip(words, [*np.maximum(start, tops), tops[-1]], strict=True)):
        axes.annotate(word, (place, top), (0, 3), textcoords="offset points", ha="center")
    axes.set_xticks(range(len(heights) + 1), [*labels, "f(x′)"], rotation=30, ha="right")
    if tops.min() > 0:  # the parts are small beside f(x): leave out some of the empty space below them
        axes.set_ylim(bottom=0.7 * tops.min())
    axes.set_ylabel(ylabel)
    return figure


def split_entry(labels: Sequence[str], enters: ArrayLike, order: Sequence[str]) -> Figure:
    """Which points of a curve hold which part Δ_u: from the step that changes the last member of u on.

    labels : one per part
    enters : (parts,) the step ⌈u⌉ at which each part enters, 0 for Δ_∅
    order : the features in the order in which they are changed
    """
    n, rows = len(order), np.asarray(enters, dtype=int)
    figure, [axes] = _panels(height=0.34 * len(rows) + 1.1)
    present = np.arange(n + 1)[None, :] >= rows[:, None]
    for row, held in enumerate(present):
        fill = PALETTE["blue"] if rows[row] else PALETTE["grey"]
        colors = [fill if one else "none" for one in held]
        axes.scatter(range(n + 1), [row] * (n + 1), marker="s", s=150, c=colors, edgecolors=fill)
        axes.annotate(f"× {held.sum()}", (n + 0.5, row), va="center")
    axes.set_yticks(range(len(rows)), list(labels))
    axes.set_xlim(-0.5, n + 1)
    axes.invert_yaxis()
    _steps(axes, n, order)
    return figure


def shuffle_walks(curves: ArrayLike, ylabel: str = "prediction") -> Figure:
    """All walks of one pair, their mean, and the straight line.

    curves : (orders, n + 1)
    """
    figure, [axes] = _panels()
    walks = np.asarray(curves)
    steps = np.arange(walks.shape[1])
    for place, one in enumerate(walks):
        axes.plot(steps, one, color=PALETTE["sky"], linewidth=1, label=None if place else "each order")
    axes.plot(steps, walks.mean(axis=0), "o-", color=PALETTE["blue"], linewidth=2.5, label="mean of them")
    _line(axes, walks[0])
    _steps(axes, len(steps) - 1)
    axes.set_ylabel(ylabel)
    axes.legend()
    return figure


def shuffle_last(simulated: ArrayLike, exact: ArrayLike, errors: ArrayLike) -> Figure:
    """How late the last member of u is changed in a random order, by the size of u  [proposition 1].

    simulated, exact, errors : (n,) for |u| = 1, …, n
    """
    figure, [axes] = _panels()
    sizes = np.arange(1, len(np.asarray(exact)) + 1)
    axes.plot(sizes, np.asarray(exact), color=PALETTE["grey"], label="|u|(n + 1) / (|u| + 1)")
    spread, label = 2 * np.asarray(errors), "simulated, ± 2 standard errors"
    axes.errorbar(sizes, np.asarray(simulated), spread, fmt="o", color=COLORS[0], capsize=3, label=label)
    axes.axhline((len(sizes) + 1) / 2, color=PALETTE["orange"], linestyle=":", label="the middle, (n + 1)/2")
    axes.set_xticks(sizes)
    axes.set_xlabel("size of u")
    axes.set_ylabel("mean step of the last member")
    axes.legend()
    return figure


def shuffle_weights(sizes: Sequence[int], weights: ArrayLike) -> Figure:
    """What one unit of Δ_u adds to the expected ABC per n + 1, by the size of u, for both tests.

    weights : (sizes,) for insertion; deletion has the opposite ones
    """
    figure, [axes] = _panels(height=3.2)
    values, places = np.asarray(weights, dtype=float), np.asarray(sizes)
    axes.bar(places - 0.2, values, 0.4, color=PALETTE["blue"], label="insertion")
    axes.bar(places + 0.2, -values, 0.4, color=PALETTE["orange"], label="deletion")
    axes.axhline(0, color=PALETTE["black"], linewidth=0.8)
    axes.set_xticks(places)
    axes.set_xlabel("size of u")
    axes.set_ylabel("weight of Δᵤ in E(ABC) / (n + 1)")
    axes.legend()
    return figure


def shuffle_agreement(formula: ArrayLike, simulated: ArrayLike, errors: ArrayLike) -> Figure:
    """E(ABC) of random games: simulation against formula, and their difference with ± 2 standard errors.

    formula, simulated, errors : (games,)
    """
    figure, (both, difference) = _panels(2, 9.0)
    exact, mean = np.asarray(formula), np.asarray(simulated)
    both.axline((exact.min(), exact.min()), slope=1, color=PALETTE["grey"])
    both.plot(exact, mean, "o", color=PALETTE["blue"], ms=4)
    difference.axhline(0, color=PALETTE["grey"])
    difference.errorbar(exact, mean - exact, 2 * np.asarray(errors), fmt="o", color=PALETTE["blue"], ms=4)
    both.set_ylabel("mean ABC of the simulated orders")
    difference.set_ylabel("simulation − formula")
    for axes in (both, difference):
        axes.set_xlabel("E(ABC) by the formula")
    return figure


def all_orders(curves: ArrayLike, marked: Mapping[str, ArrayLike], ylabel: str = "prediction") -> Figure:
    """Curves of many orders in grey, a few of them marked, and the straight line  [section 3.4].

    Parameters
    ----------
    curves : (orders, n + 1)
    marked : legend text → curve, (n + 1,)
    """
    background = np.asarray(curves, dtype=float)
    figure, [axes] = _panels()
    axes.plot(background.T, color="#BBBBBB", linewidth=1, zorder=1)
    _line(axes, background[0])
    for (label, curve), color, marker in zip(marked.items(), COLORS, "osD^v", strict=False):
        axes.plot(np.asarray(curve), color=color, marker=marker, linewidth=2, label=label, zorder=3)
    _steps(axes, background.shape[1] - 1)
    axes.set_ylabel(ylabel)
    axes.legend()
    return figure


def abc_by_interaction(
    interaction: ArrayLike, areas: Mapping[str, ArrayLike], shapley: ArrayLike, fails: Sequence[tuple[float, float]]
) -> Figure:
    """ABC of every order while one interaction grows, and where Shapley's order is not on top  [section 3.4].

    Parameters
    ----------
    interaction : (m,), values of Δ₁₂
    areas : order → its ABC, (m,)
    shapley : (m,), ABC of the order by Shapley value
    fails : intervals in which another order is better
    """
    across = np.asarray(interaction, dtype=float)
    figure, [axes] = _panels(width=6.8, height=4.2)
    ends: dict[float, list[str]] = {}
    for low, high in fails:
        axes.axvspan(low, high, color=PALETTE["yellow"], alpha=0.25, linewidth=0)
    for order, area in areas.items():
        values = np.asarray(area, dtype=float)
        axes.plot(across, values, color="#999999", linewidth=1)
        ends.setdefault(float(values[-1]), []).append(order)
    for height, orders in ends.items():  # orders with one line share their label
        axes.text(across[-1] + 0.1, height, ", ".join(orders), va="center", fontsize=9, color=PALETTE["grey"])
    best = np.max([np.asarray(area, dtype=float) for area in areas.values()], axis=0)
    axes.plot(across, best, color=PALETTE["blue"], linewidth=5, alpha=0.35, label="best order")
    axes.plot(across, _broken(shapley), color=PALETTE["orange"], linewidth=2, label="Shapley's order")
    axes.set(xlabel="interaction A of features 1 and 2", ylabel="ABC")
    axes.legend(loc="upper right")
    return figure


def _broken(values: ArrayLike) -> np.ndarray:
    """Leave a gap where a curve jumps, so that no line is drawn across the jump."""
    points = np.asarray(values, dtype=float)
    steps = np.abs(np.diff(points))
    usual = np.quantile(steps, 0.9) + 1e-9
    return np.where(np.append(False, steps > 20 * usual), np.nan, points)


def shapley_misses(table: pd.DataFrame) -> Figure:
    """How often Shapley's order misses the best one in random games, and how much of the ABC it keeps.

    table : one row per n and strength, with columns missed, missed_se, kept, kept_se
    """
    figure, (left, right) = _panels(2, width=9.2, height=3.8)
    for (strength, rows), color, marker in zip(table.groupby("strength"), COLORS, "osD^v", strict=False):
        style: dict[str, Any] = {"color": color, "marker": marker, "capsize": 2, "label": f"{strength:g}"}
        left.errorbar(rows["n"], rows["missed"], rows["missed_se"], **style)
        right.errorbar(rows["n"], rows["kept"], rows["kept_se"], **style)
    left.set(xlabel="number of features", ylabel="games whose best order it misses", ylim=(-0.03, 1.03))
    right.set(xlabel="number of features", ylabel="part of the possible ABC it keeps", ylim=(0, 1.05))
    right.axhline(0, color=PALETTE["grey"], linewidth=1)
    right.legend(title="strength of interactions", loc="lower left")
    return figure


def same_order(names: Sequence[str], attributions: Mapping[str, ArrayLike], xlabel: str) -> Figure:
    """Attributions of several methods side by side, one row per feature, so that their orders can be compared.

    Parameters
    ----------
    names : n features, from top to bottom
    attributions : method → (n,)
    """
    figure, [axes] = _panels(height=0.8 + 0.42 * len(names))
    rows = np.arange(len(names))[::-1]
    axes.axvline(0, color=PALETTE["grey"], linewidth=1)
    for (method, values), color, marker in zip(attributions.items(), COLORS, "osD^v", strict=False):
        axes.plot(np.asarray(values, dtype=float), rows, marker, color=color, markersize=7, alpha=0.85, label=method)
    axes.hlines(rows, *axes.get_xlim(), color="#DDDDDD", linewidth=0.8, zorder=0)
    axes.set_yticks(rows, names)
    axes.set_xlabel(xlabel)
    axes.legend(loc="upper left")
    return figure


def missed_by_test(table: pd.DataFrame) -> Figure:
    """How often Shapley's ranking is not the best one, by test and by size of the interactions.

    table : one row per test and largest set, with columns missed and missed_se
    """
    figure, [axes] = _panels()
    for (test, rows), color, marker in zip(table.groupby("test", sort=False), COLORS, "osD^v", strict=False):
        style: dict[str, Any] = {"color": color, "marker": marker, "capsize": 2, "label": test}
        across = rows.sort_values("largest set")
        axes.errorbar(across["largest set"], across["missed"], across["missed_se"], **style)
    axes.set(xlabel="features that may interact with each other", ylabel="games whose best ranking is missed")
    axes.set(xticks=sorted(set(table["largest set"])), ylim=(-0.03, 1.03))
    axes.legend(title="judged by", loc="center right")
    return figure


CUBE = np.array([[1.0, 0.0], [0.45, 0.32], [0.0, 1.0]])  # where the three axes of a cube point on the page


def binary_cube() -> Figure:
    """Four ways through the cube between x and x′: none, straight, with a jump, along the edges  [figure 4]."""
    figure, panels = _panels(4, width=11.5, height=3.3)
    titles = ["(a) two points", "(b) straight line", "(c) one jump", "(d) along the edges"]
    for axes, title in zip(panels, titles, strict=True):
        _cube(axes)
        axes.set_title(title, fontsize=11)
    _path(panels[1], [(0, 0, 0), (1, 1, 1)], "blue")
    _path(panels[2], [(0, 0, 0), (0.5, 0.5, 0)], "blue")
    _path(panels[2], [(0.5, 0.5, 0), (0.5, 0.5, 1)], "orange", linestyle="--")
    _path(panels[2], [(0.5, 0.5, 1), (1, 1, 1)], "blue")
    _path(panels[3], [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)], "orange", linestyle="--")
    _path(panels[3], [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)], "green", linestyle="--")
    panels[2].annotate("jump", _on_page((0.5, 0.5, 0.5)), (-34, 0), textcoords="offset points", color=PALETTE["orange"])
    return figure


def _on_page(point: Sequence[float]) -> tuple[float, float]:
    """Where a point of the cube lies on the page."""
    across, up = np.asarray(point) @ CUBE
    return float(across), float(up)


def _cube(axes: Axes) -> None:
    """Draw the edges of a cube, its corners x and x′, and the names of its axes."""
    behind = (0, 1, 0)  # the corner that a solid cube would hide
    for one, other in combinations(product((0, 1), repeat=3), 2):
        if np.abs(np.subtract(one, other)).sum() == 1:
            style = ":" if behind in (one, other) else "-"
            axes.plot(*(np.array([one, other]) @ CUBE).T, color="#AAAAAA", linewidth=1, linestyle=style)
    for corner, name, place in (((0, 0, 0), "x", (-12, -12)), ((1, 1, 1), "x′", (5, 3))):
        axes.plot(*_on_page(corner), "o", color=PALETTE["black"], markersize=7, zorder=4)
        axes.annotate(name, _on_page(corner), place, textcoords="offset points", fontsize=13)
    labels = {"area": ((0.5, 0, -0.12), 0), "metro": ((1.12, 0.5, -0.1), 35), "garden": ((-0.1, 0, 0.5), 90)}
    for name, (point, turn) in labels.items():
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "color": PALETTE["grey"]}
        axes.text(*_on_page(point), name, rotation=turn, **look)
    axes.set_aspect("equal")
    axes.axis("off")


def _path(axes: Axes, corners: Sequence[tuple[float, float, float]], color: str, linestyle: str = "-") -> None:
    """Draw a path through the cube, each of its pieces with an arrow head in the middle."""
    points = np.array(corners) @ CUBE
    axes.plot(*points.T, color=PALETTE[color], linewidth=2.2, linestyle=linestyle, zorder=3)
    for start, end in pairwise(points):
        middle, ahead = start + 0.52 * (end - start), start + 0.6 * (end - start)
        arrow = {"arrowstyle": "-|>", "color": PALETTE[color], "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
        axes.annotate("", ahead, middle, arrowprops=arrow, zorder=3)


def jump_time(times: ArrayLike, attributions: ArrayLike, shapley: ArrayLike, names: Sequence[str]) -> Figure:
    """Attributions of the jumping path for every moment of the jump, beside the Shapley values  [section 4].

    Parameters
    ----------
    times : (m,), between 0 and 1
    attributions : (m, n)
    shapley : (n,)
    names : n features
    """
    figure, [axes] = _panels()
    for name, values, level, color in zip(names, np.asarray(attributions).T, np.asarray(shapley), COLORS, strict=False):
        axes.axhline(level, color=color, linestyle=":", linewidth=1.5)
        axes.plot(np.asarray(times), values, color=color, linewidth=2, label=name)
    axes.plot([], [], color=PALETTE["grey"], linestyle=":", label="Shapley value")
    axes.set(xlabel="moment of the jump", ylabel="attribution", xlim=(0, 1))
    axes.legend(loc="center right")
    return figure


def against_shapley(shapley: ArrayLike, attributions: Mapping[str, ArrayLike], binary: ArrayLike) -> Figure:
    """Differences of several methods from the Shapley values; binary features and others in two colours.

    Parameters
    ----------
    shapley : (pairs, n)
    attributions : method → (pairs, n)
    binary : (n,), true where a feature takes two values only
    """
    exact, two_valued = np.asarray(shapley), np.asarray(binary, dtype=bool)
    figure, panels = _panels(len(attributions), width=3.5 * len(attributions), height=3.6, sharey=True)
    for axes, (method, values) in zip(panels, attributions.items(), strict=True):
        axes.axhline(0, color=PALETTE["grey"], linewidth=1)
        for mask, color, marker, label in ((~two_valued, "blue", "o", "other"), (two_valued, "orange", "^", "binary")):
            gap = (np.asarray(values) - exact)[:, mask].ravel()
            style: dict[str, Any] = {"color": PALETTE[color], "markersize": 3.5, "alpha": 0.6, "rasterized": True}
            axes.plot(exact[:, mask].ravel(), gap, marker, label=label, **style)
        axes.set(title=method, xlabel="Shapley value")
    panels[0].set_ylabel("attribution − Shapley value")
    panels[0].legend(title="feature", loc="upper left", markerscale=1.8)
    return figure


def cost_by_features(features: ArrayLike, costs: Mapping[str, ArrayLike]) -> Figure:
    """Model evaluations per pair while the number of differing binary features grows  [section 4]."""
    figure, [axes] = _panels()
    for (method, counts), color, marker in zip(costs.items(), COLORS, "osD^v", strict=False):
        axes.semilogy(np.asarray(features), np.asarray(counts), color=color, marker=marker, label=method)
    axes.set(xlabel="binary features in which x and x′ differ", ylabel="evaluations of the model")
    axes.set_xticks(np.asarray(features))
    axes.legend()
    return figure


# --- Part II, chapter 7: the data, and how good the models are ---------------------------------------


def data_distributions(
    tables: Mapping[str, pd.DataFrame], columns: Sequence[str], across: int = 4, bins: int = 40
) -> Figure:
    """How each column is spread, an outline per table; a column with few values gets a bar for each.

    tables : {label: rows}, each with these columns
    columns : one panel each, `across` in a row
    """
    deep = -(-len(columns) // across)
    figure, grid = _grid(deep, across, 2.2 * across, 1.75 * deep + 0.5)
    for axes, column in zip(grid.flat, columns, strict=False):
        samples = {label: table[column].to_numpy(float) for label, table in tables.items()}
        edges = _edges(np.concatenate(list(samples.values())), bins)
        for (label, sample), color, style in zip(samples.items(), COLORS, ("-", "--", ":"), strict=False):
            weights = np.full(len(sample), 1 / len(sample))
            axes.hist(sample, edges, weights=weights, histtype="step", color=color, linestyle=style, label=label)
        axes.set(xlabel=column, yticks=[])
    for axes in grid.flat[len(columns) :]:
        axes.axis("off")
    grid[0, 0].legend(fontsize="small")
    figure.supylabel("share of the rows", fontsize="medium")
    return figure


def _edges(values: np.ndarray, bins: int) -> list[float]:
    """Edges of a histogram over all but the most extreme values; one bin for each of a few whole numbers."""
    low, high = np.quantile(values, [0.002, 0.998], method="nearest")
    if high - low < bins and (values % 1 == 0).all():
        return np.arange(low - 0.5, high + 1).tolist()
    return np.linspace(low, high, bins + 1).tolist()


def data_shares(shares: Mapping[str, pd.Series]) -> Figure:
    """How many rows have each of the 0/1 features, the most frequent on top, a mark per table.

    shares : {label: share by feature}, all with the same features
    """
    first = next(iter(shares.values())).sort_values()
    figure, [axes] = _panels(width=6.4, height=0.21 * len(first) + 1.0)
    rows = np.arange(len(first))
    axes.hlines(rows, 0, 1, color="#DDDDDD", linewidth=0.8, zorder=0)
    for (label, share), color, marker in zip(shares.items(), COLORS, "ox^", strict=False):
        axes.plot(share[first.index].to_numpy(float), rows, marker, color=color, markersize=5, label=label)
    axes.set_yticks(rows, list(first.index), fontsize="small")
    axes.set(xlabel="share of the rows that have it", xlim=(-0.02, 1.02), ylim=(-0.8, len(rows) - 0.2))
    axes.legend(loc="lower right")
    return figure


def data_residuals(mass: ArrayLike, residuals: Mapping[str, ArrayLike], limits: Mapping[str, float]) -> Figure:
    """How far formulas for M are off, over M, with marks for what is on average claimed or measured.

    mass : (events,); residuals : {label: (events,)}, relative; limits : {label: value}
    """
    figure, [axes] = _panels(height=4.2)
    for (label, values), color, marker in zip(residuals.items(), COLORS, "o^s", strict=False):
        seen = np.clip(np.asarray(values, float), 1e-16, None)  # a zero has no place on a logarithmic axis
        style: dict[str, Any] = {"markersize": 3, "alpha": 0.5, "rasterized": True, "label": label}
        axes.plot(np.asarray(mass, float), seen, marker, color=color, **style)
    for (label, limit), line in zip(limits.items(), ("--", ":", "-."), strict=False):
        axes.axhline(limit, color=PALETTE["black"], linestyle=line, label=label)
    axes.set(xscale="log", yscale="log", xlabel="M (GeV)", ylabel="|formula / M − 1|")
    axes.legend(fontsize="small", markerscale=2, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def fit_history(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """Training and validation loss by epoch, a panel per network, and the epoch that was kept.

    histories : {title: one row per epoch with epoch, train, validation}
    """
    figure, panels = _panels(len(histories), 4.6 * len(histories), 3.6)
    for axes, (title, rows) in zip(panels, histories.items(), strict=True):
        table = pd.DataFrame(list(rows))
        kept = table.loc[table["validation"].idxmin()]
        axes.plot(table["epoch"], table["train"], color=PALETTE["blue"], label="training rows, with dropout")
        axes.plot(table["epoch"], table["validation"], "--", color=PALETTE["orange"], label="validation rows")
        axes.plot(kept["epoch"], kept["validation"], "o", color=PALETTE["black"], label="the epoch that is kept")
        axes.set(title=title, xlabel="epoch", yscale="log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0].set_ylabel("Huber's loss")
    panels[0].legend(fontsize="small")
    return figure


def fit_recipes(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Loss of several ways to train on rows that none has seen, a dot per seed, a bar for their mean.

    tables : {title: from `insdel.search.compare_recipes`, with recipe, seed, loss}
    """
    most = max(table["recipe"].nunique() for table in tables.values())
    figure, axes = _grid(len(tables), 1, 7.6, (0.42 * most + 1.1) * len(tables))
    for panel, (title, table) in zip(axes[:, 0], tables.items(), strict=True):
        means = table.groupby("recipe", sort=False)["loss"].mean()
        places = {name: -place for place, name in enumerate(means.index)}
        panel.plot(table["loss"], table["recipe"].map(places), "o", color=PALETTE["blue"], alpha=0.6, label="a seed")
        panel.plot(means, list(places.values()), "|", color=PALETTE["orange"], ms=16, label="mean")
        panel.set_yticks(list(places.values()), list(places), fontsize="small")
        panel.set(title=title, xlabel="Huber's loss on rows set aside", xscale="log", ylim=(-len(places) + 0.5, 0.5))
    axes[0, 0].legend(fontsize="small")
    return figure


def predicted_vs_true(truth: ArrayLike, prediction: ArrayLike, unit: str = "") -> Figure:
    """Predictions of held-out rows against the truth, and the diagonal where they agree  [appendix, models].

    truth, prediction : (m,)
    unit : of both, for the axes
    """
    true, predicted = np.asarray(truth, float), np.asarray(prediction, float)
    ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    explained = 1 - ((true - predicted) ** 2).sum() / ((true - true.mean()) ** 2).sum()
    figure, [axes] = _panels(width=4.8, height=4.6)
    axes.plot(ends, ends, color=PALETTE["grey"], linestyle="--", label="prediction = truth")
    axes.plot(true, predicted, "o", color=PALETTE["blue"], markersize=3, alpha=0.35, rasterized=True)
    suffix = f" ({unit})" if unit else ""
    axes.set(xlabel=f"truth{suffix}", ylabel=f"prediction{suffix}", title=f"R² = {explained:.3f}, {len(true):,} rows")
    axes.set_aspect("equal")
    axes.legend(loc="upper left")
    return figure


def search_history(table: pd.DataFrame) -> Figure:
    """Validation loss of every trial of a search, and the best so far.

    table : what `insdel.search.history` returns: trial, state, validation, best
    """
    figure, [axes] = _panels()
    marks = {"complete": ("o", "blue", "ran to its end"), "pruned": ("x", "orange", "cut short")}
    for state, (marker, color, label) in marks.items():
        rows = table[table["state"] == state]
        axes.plot(rows["trial"], rows["validation"], marker, color=PALETTE[color], label=label)
    axes.step(table["trial"], table["best"], where="post", color=PALETTE["black"], label="best so far")
    axes.set(xlabel="trial", ylabel="validation loss (Huber)", yscale="log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    return figure


# --- Part II, chapter 10: images ---------------------------------------------------------------------


def _picture(axes: Axes, image: Any, title: str = "") -> None:
    """Show one RGB picture, (3, height, width), without ticks; colours outside [0, 1] are cut off."""
    axes.imshow(np.clip(np.moveaxis(np.asarray(image, dtype=float), 0, -1), 0, 1), interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color="#BBBBBB")  # white pictures need an edge
    axes.set_title(title, fontsize="medium")


def _heat(axes: Axes, scores: ArrayLike, title: str = "") -> None:
    """Show a saliency map by rank of its smoothed scores, so that a few extreme pixels do not hide the rest."""
    from scipy.ndimage import gaussian_filter

    smooth = gaussian_filter(np.asarray(scores, dtype=float), 2.0)
    ranks = smooth.ravel().argsort().argsort().reshape(smooth.shape) / max(smooth.size - 1, 1)
    axes.imshow(ranks, cmap="cividis", vmin=0, vmax=1)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_title(title, fontsize="medium")


def _pixel_curves(axes: Axes, curves: pd.DataFrame) -> None:
    """Deletion and insertion of one map and reference, as in images: insertion begins at the reference."""
    for mode, color in (("deletion", PALETTE["orange"]), ("insertion", PALETTE["blue"])):
        curve = curves[curves["mode"] == mode].sort_values("fraction")
        across = curve["fraction"] if mode == "deletion" else 1 - curve["fraction"]
        axes.plot(across, curve["value"], color=color, label=mode, linestyle="-" if mode == "deletion" else "--")
    axes.set(xlim=(0, 1), ylim=(-0.03, 1.03), xticks=[0, 0.5, 1], xticklabels=["0", "½", "1"])


def image_example(image: Any, scores: ArrayLike, curves: pd.DataFrame, what: str) -> Figure:
    """A photo, its saliency map, and both tests of that map  [figure 1 of the paper].

    image : (3, height, width); scores : (height, width); curves : mode, fraction, value
    """
    figure, (left, middle, right) = _panels(3, 10.5, 3.5)
    _picture(left, image, "what the network sees")
    _heat(middle, scores, "which pixels count (bright: most)")
    _pixel_curves(right, curves)
    right.legend(fontsize="small", loc="upper center")
    right.set(xlabel="fraction of the pixels deleted or inserted", ylabel=f"probability of {what}")
    return figure


def image_frames(frames: Mapping[str, Any], values: Mapping[str, Sequence[float]], titles: Sequence[str]) -> Figure:
    """Pictures along the way, one row per test, each with the network's probability.

    frames : {row title: (k, 3, height, width)}; values : {row title: (k,)}; titles : k column titles
    """
    rows, columns = len(frames), len(titles)
    figure, grid = plt.subplots(rows, columns, figsize=(2.0 * columns, 2.25 * rows), squeeze=False)
    plt.close(figure)
    for (name, pictures), line in zip(frames.items(), grid, strict=True):
        for axes, picture, value, title in zip(line, pictures, values[name], titles, strict=True):
            _picture(axes, picture, title if line is grid[0] else "")
            axes.set_xlabel(f"p = {value:.3f}")
        line[0].set_ylabel(name)
    return figure


def image_references(pictures: Mapping[str, Any], curves: pd.DataFrame, what: str) -> Figure:
    """The references of one photo, and below each the two tests against it.

    pictures : {reference: (3, height, width)}; curves : reference, mode, fraction, value
    """
    figure, grid = plt.subplots(2, len(pictures), figsize=(1.9 * len(pictures), 4.2), squeeze=False)
    plt.close(figure)
    for index, (name, picture) in enumerate(pictures.items()):
        _picture(grid[0, index], picture, name)
        _pixel_curves(grid[1, index], curves[curves["reference"] == name])
        if index:
            grid[1, index].set_yticklabels([])
    grid[1, 0].set_ylabel(f"probability of {what}")
    figure.legend(*grid[1, 0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize="small")
    figure.supxlabel("fraction of the pixels deleted or inserted", fontsize="medium")
    return figure


def image_curves(curves: pd.DataFrame, what: str) -> Figure:
    """Both tests against each reference, without any picture: curves has reference, mode, fraction, value."""
    names = list(dict.fromkeys(curves["reference"]))
    figure, panels = _panels(len(names), 1.9 * len(names), 2.6, sharey=True)
    for axes, name in zip(panels, names, strict=True):
        _pixel_curves(axes, curves[curves["reference"] == name])
        axes.set_title(name, fontsize="medium")
    panels[0].set_ylabel(f"probability of {what}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize="small")
    figure.supxlabel("fraction of the pixels deleted or inserted", fontsize="medium")
    return figure


def image_maps(maps: Mapping[str, ArrayLike]) -> Figure:
    """Saliency maps side by side; maps : {title: (height, width)}."""
    figure, panels = _panels(len(maps), 1.9 * len(maps), 2.2)
    for axes, (title, scores) in zip(panels, maps.items(), strict=True):
        _heat(axes, scores, title)
    return figure


def image_gains(gains: pd.DataFrame) -> Figure:
    """Insertion minus deletion AUC: right of zero is better than a random order is on average.

    gains : rows are references, one column per series
    """
    figure, [axes] = _panels(1, 7.4, 0.55 * len(gains) + 1.6)
    places = np.arange(len(gains))[::-1]
    for name, color, marker in zip(gains.columns, COLORS * len(gains.columns), "osD^vPX*" * 9, strict=False):
        axes.plot(gains[name], places, marker, color=color, label=name, ms=8, alpha=0.85)
    axes.axvline(0, color=PALETTE["grey"], linestyle="--")
    axes.set_yticks(places, gains.index)
    axes.set_ylim(-0.6, len(gains) - 0.4)
    axes.set_xlabel("insertion AUC − deletion AUC")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


# --- Part II, chapters 8 and 9: the experiments -------------------------------------------------------

TESTS = ("insertion", "deletion")


def _grid(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Figure, np.ndarray]:
    """Return a figure with rows and columns of panels, closed so that a notebook shows it once."""
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **shared)
    plt.close(figure)
    return figure, axes


def _areas(table: pd.DataFrame, method: str, mode: str) -> np.ndarray:
    """ABC / n of a method in one test, by pair."""
    chosen = table[(table["method"] == method) & (table["mode"] == mode)]
    return chosen.sort_values("pair")["abc_per_feature"].to_numpy(float)


def experiment_aggregate(table: pd.DataFrame, unit: str = "", bins: int = 30) -> Figure:
    """ABC / n over all pairs: Kernel SHAP, IG against Kernel SHAP, random orders; a row per test  [figures 5, 8].

    table : from `compare`, with kernel_shap, integrated_gradients and random
    """
    figure, axes = _grid(2, 3, 10.5, 6.0)
    for row, mode in zip(axes, TESTS, strict=True):
        shapley, gradients, chance = (
            _areas(table, method, mode) for method in ("kernel_shap", "integrated_gradients", "random")
        )
        row[0].hist(shapley, bins, color=PALETTE["blue"])
        ends = [min(shapley.min(), gradients.min()), max(shapley.max(), gradients.max())]
        row[1].plot(ends, ends, color=PALETTE["grey"], linewidth=1)
        row[1].plot(shapley, gradients, "o", color=PALETTE["green"], markersize=3, alpha=0.5, rasterized=True)
        row[2].hist(chance, bins, color=PALETTE["orange"])
        row[0].set(xlabel=f"{mode} ABC / n{unit}", ylabel="pairs", title="Kernel SHAP")
        row[1].set(xlabel="Kernel SHAP", ylabel="IG", title=f"{mode}: IG over Kernel SHAP")
        row[2].set(xlabel=f"{mode} ABC / n{unit}", ylabel="pairs", title="random orders")
    return figure


WALKERS = {"kernel_shap": ("Kernel SHAP", "blue", "-"), "integrated_gradients": ("IG", "orange", "--")}


def experiment_walks(curves: pd.DataFrame, what: Sequence[str], ylabel: str = "prediction") -> Figure:
    """Deletion (left) and insertion curves (right) of chosen pairs, a row each, over random orders  [figures 6, 7].

    Parameters
    ----------
    curves : from `gallery.curves`
    what : the pairs to draw, such as "example" or "insertion"
    """
    figure, axes = _grid(len(what), 2, 9.6, 3.4 * len(what), sharex=True)
    for row, name in zip(axes, what, strict=True):
        part = curves[curves["what"] == name]
        for panel, mode in zip(row, TESTS[::-1], strict=True):
            _random_walks(panel, part[part["method"] == "random"])
            for method, (label, color, style) in WALKERS.items():
                line = part[(part["method"] == method) & (part["mode"] == mode)].sort_values("step")
                panel.plot(line["step"], line["value"], style, color=PALETTE[color], linewidth=2, label=label)
            _line(panel, line["value"].to_numpy())
            panel.set(title=f"pair {part['pair'].iloc[0]}, {mode}", xlabel="features changed so far")
        row[0].set_ylabel(ylabel)
    axes[0, 0].legend(fontsize="small")
    return figure


def _random_walks(panel: Axes, part: pd.DataFrame) -> None:
    """Draw the curves of random orders thinly in the background."""
    walks = part.pivot_table(index="step", columns="line", values="value").to_numpy()
    lines = panel.plot(walks, color="#BBBBBB", linewidth=0.7, zorder=1)
    lines[0].set_label("random orders")


def experiment_scatter(table: pd.DataFrame, rises: ArrayLike, unit: str = "") -> Figure:
    """Deletion over insertion ABC / n, coloured by the sign of f(x′) − f(x); Kernel SHAP and IG  [figures 10–13].

    rises : (pairs,), whether f(x′) > f(x)
    """
    figure, panels = _panels(2, 9.2, 4.2, sharey=True)
    up = np.asarray(rises, dtype=bool)
    for panel, (method, (label, _, _)) in zip(panels, WALKERS.items(), strict=True):
        across, height = _areas(table, method, "insertion"), _areas(table, method, "deletion")
        for chosen, color, marker, text in ((up, "pink", "o", "f(x′) > f(x)"), (~up, "green", "^", "f(x′) < f(x)")):
            style: dict[str, Any] = {"markersize": 4, "alpha": 0.5, "rasterized": True, "label": text}
            panel.plot(across[chosen], height[chosen], marker, color=PALETTE[color], **style)
        ends = [min(across.min(), height.min()), max(across.max(), height.max())]
        panel.plot(ends, ends, color=PALETTE["grey"], linewidth=1)
        panel.set(title=label, xlabel=f"insertion ABC / n{unit}")
    panels[0].set_ylabel(f"deletion ABC / n{unit}")
    panels[0].legend(fontsize="small", markerscale=1.5)
    return figure


def experiment_differing(differing: ArrayLike, needed: int) -> Figure:
    """How many features differ between x and x′, and the least that the policy asks for."""
    figure, [axes] = _panels(height=3.0)
    counts = np.bincount(np.asarray(differing, dtype=int))
    places = np.arange(len(counts))
    axes.bar(places[needed:], counts[needed:], color=PALETTE["blue"])
    axes.axvline(needed - 0.5, color=PALETTE["orange"], linestyle="--", label=f"the rule: at least {needed}")
    for place in places[needed:]:
        if counts[place]:
            axes.annotate(str(counts[place]), (place, counts[place]), (0, 2), textcoords="offset points", ha="center")
    axes.set_xticks(places[needed:])
    axes.set(xlabel="features in which x and x′ differ", ylabel="pairs")
    axes.legend()
    return figure


def experiment_variation(means: pd.DataFrame, methods: Sequence[str], printed: pd.DataFrame) -> Figure:
    """Mean ABC / n of every run, by split, beside the printed mean with two printed standard errors.

    Parameters
    ----------
    means : from `variation.run_means`
    methods : to draw, a colour each
    printed : from `paper.table`
    """
    figure, panels = _panels(2, 9.6, 3.8, sharey=True)
    splits = sorted(means["split"].unique())
    for panel, mode in zip(panels, TESTS, strict=True):
        for shift, (method, color, marker) in enumerate(zip(methods, COLORS, "osD^v", strict=False)):
            rows = means[(means["mode"] == mode) & (means["method"] == method)]
            place = rows["split"].to_numpy() + 0.18 * (shift - (len(methods) - 1) / 2)
            panel.errorbar(place, rows["mean"], 2 * rows["se"], fmt=marker, color=PALETTE["grey"], ms=0, elinewidth=0.8)
            panel.plot(place, rows["mean"], marker, color=color, markersize=5, label=method.replace("_", " "))
            paper = printed[(printed["mode"] == mode) & (printed["method"] == method)]
            for mean, se in zip(paper["mean"], paper["se"], strict=True):
                panel.errorbar(len(splits) + 0.18 * shift, mean, 2 * se, fmt=marker, color=color, capsize=3)
        panel.axvline(len(splits) - 0.5, color=PALETTE["grey"], linewidth=0.8)
        panel.set_xticks([*splits, len(splits) + 0.18], [*map(str, splits), "paper"])
        panel.set(title=mode, xlabel="split")
    panels[0].set_ylabel("mean ABC / n, ± 2 standard errors")
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=len(methods), fontsize="small")
    return figure


def experiment_importance(sizes: pd.DataFrame, marked: Sequence[str], xlabel: str) -> Figure:
    """Mean |attribution| of every feature, largest first, by method; a few features marked in colour.

    Parameters
    ----------
    sizes : (features, methods), indexed by feature
    marked : the features that stand out
    """
    figure, panels = _panels(sizes.shape[1], 3.4 * sizes.shape[1], 0.28 * len(sizes) + 1.0)
    for panel, method in zip(panels, sizes, strict=True):
        ordered = sizes[method].sort_values()
        colors = [PALETTE["orange"] if name in marked else PALETTE["blue"] for name in ordered.index]
        panel.barh(range(len(ordered)), ordered, color=colors)
        panel.set_yticks(range(len(ordered)), ordered.index)
        panel.set(title=method, xlabel=xlabel)
    return figure


# --- Part III, chapter 17: how little can I spend ----------------------------------------------------


def _spent(panel: Axes, rows: pd.DataFrame, value: str, titles: Mapping[str, str], error: str | None = None) -> None:
    """Draw a value over evaluations: a line per method with budgets, a mark for each that has one price."""
    budgets = rows[rows["budget"].notna()]
    for (method, part), color, marker in zip(budgets.groupby("method", sort=False), COLORS, "osD^v", strict=False):
        bars = None if error is None else 2 * part[error]
        style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 4, "capsize": 2}
        panel.errorbar(part["evaluations"], part[value], bars, label=titles.get(method, method), **style)
    single = rows[rows["budget"].isna() & (rows["evaluations"] > 0)]
    for (_, row), marker in zip(single.iterrows(), "P*Xhdp", strict=False):
        label = titles.get(row["method"], row["method"])
        panel.plot(row["evaluations"], row[value], marker, color=PALETTE["black"], markersize=7, label=label)
    for _, row in rows[rows["evaluations"] == 0].iterrows():
        panel.axhline(row[value], color=PALETTE["grey"], linestyle=":", label=titles.get(row["method"], row["method"]))
    panel.set_xscale("log")
    panel.set_xlabel("model evaluations per pair")


def spend_areas(table: pd.DataFrame, titles: Mapping[str, str] | None = None, unit: str = "") -> Figure:
    """Mean ABC / n that methods reach, over the model evaluations that they spend.

    table : from `spend.cost_accuracy`
    titles : method → its name in the legend
    """
    figure, panels = _panels(2, 10.0, 4.0, sharey=True)
    for panel, mode in zip(panels, TESTS, strict=True):
        _spent(panel, table[table["mode"] == mode], "abc_per_feature", titles or {})
        panel.set_title(mode)
    panels[0].set_ylabel(f"mean ABC / n{unit}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize="small")
    return figure


def spend_shortfall(table: pd.DataFrame, titles: Mapping[str, str] | None = None, share: float = 0.01) -> Figure:
    """How many percent of the exact ABC methods with a budget fall short, ± 2 standard errors of the paired difference.

    table : from `spend.cost_accuracy`
    share : what counts as near enough, drawn as a line
    """
    figure, panels = _panels(2, 10.0, 3.8, sharey=True)
    goal = table["abc_per_feature"] + table["shortfall"]
    percent = table.assign(short=100 * table["shortfall"] / goal, error=100 * (table["shortfall_se"] / goal).abs())
    for panel, mode in zip(panels, TESTS, strict=True):
        rows = percent[(percent["mode"] == mode) & percent["budget"].notna()]
        _spent(panel, rows, "short", titles or {}, "error")
        panel.axhline(100 * share, color=PALETTE["grey"], linestyle="--", label=f"{100 * share:g} %")
        panel.set_yscale("symlog", linthresh=100 * share)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_title(mode)
    panels[0].set_ylabel("short of the exact ABC, %")
    panels[0].legend(fontsize="small")
    return figure


LIMIT = "matrix products alone"  # the benchmark's lower bound on what asking the network can cost


def bench_ratios(table: pd.DataFrame) -> Figure:
    """Time of everyone in units of this package's, task by task, and the limit that the matrix products set.

    table : the record `bench`
    """
    raced = table[table["ratio"].notna()]
    tasks = dict(list(raced.groupby("task", sort=False)))
    heights = [len(rows) for rows in tasks.values()]
    figure, axes = plt.subplots(len(tasks), 1, figsize=(8.0, 0.32 * sum(heights) + 0.8 * len(tasks)), sharex=True,
                                squeeze=False, height_ratios=heights)  # fmt: skip
    plt.close(figure)
    for panel, (task, rows) in zip(axes[:, 0], tasks.items(), strict=True):
        _ratio_bars(panel, rows.iloc[::-1])
        panel.set_title(task, fontsize="medium", loc="left")
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_xlim(raced["ratio"].min() / 1.6, raced["ratio"].max() * 2.5)
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
    figure, panels = _panels(3, 11.0, 3.4)
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


def message(text: str) -> Figure:
    """A figure that only says why there is nothing to show."""
    figure, [axes] = _panels(height=1.0)
    axes.axis("off")
    axes.text(0.5, 0.5, text, ha="center", va="center")
    return figure
