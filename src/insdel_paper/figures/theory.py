"""Figures of part I, and of what part III says about orders  [sections 3 and 4]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.plots import COLORS, PALETTE, method_look, panels_grid, panels_row, step_axis, straight_line
from insdel_paper.figures.drawing import draw_groups


def walk(curves: Mapping[str, ArrayLike], ylabel: str = "prediction") -> Figure:
    """Curves of several orders of one pair, each with its label, and the straight line.

    curves : {label: (n + 1,)}
    """
    figure, [axes] = panels_row()
    for (label, values), color in zip(curves.items(), COLORS * len(curves), strict=False):
        curve = np.asarray(values)
        axes.plot(range(len(curve)), curve, marker="o", color=color, label=label)
    straight_line(axes, curve)
    step_axis(axes, len(curve) - 1)
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
    figure, panels = panels_row(2, 9.0, sharey=True)
    tests = {"insertion": (insertion, PALETTE["blue"]), "deletion": (deletion, PALETTE["orange"])}
    for axes, words, (title, (values, color)) in zip(panels, names, tests.items(), strict=True):
        curve = np.asarray(values)
        axes.fill_between(range(len(curve)), curve, straight_line(axes, curve), color=color, alpha=0.2, label="ABC")
        axes.plot(range(len(curve)), curve, marker="o", color=color, label="curve")
        step_axis(axes, len(curve) - 1, words)
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
    figure, [axes] = panels_row()
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
    figure, [axes] = panels_row(width=7.6)
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
    figure, [axes] = panels_row(height=0.34 * len(rows) + 1.1)
    present = np.arange(n + 1)[None, :] >= rows[:, None]
    for row, held in enumerate(present):
        fill = PALETTE["blue"] if rows[row] else PALETTE["grey"]
        colors = [fill if one else "none" for one in held]
        axes.scatter(range(n + 1), [row] * (n + 1), marker="s", s=150, c=colors, edgecolors=fill)
        axes.annotate(f"× {held.sum()}", (n + 0.5, row), va="center")
    axes.set_yticks(range(len(rows)), list(labels))
    axes.set_xlim(-0.5, n + 1)
    axes.invert_yaxis()
    step_axis(axes, n, order)
    return figure


def shuffle_walks(curves: ArrayLike, ylabel: str = "prediction") -> Figure:
    """All walks of one pair, their mean, and the straight line.

    curves : (orders, n + 1)
    """
    figure, [axes] = panels_row()
    walks = np.asarray(curves)
    steps = np.arange(walks.shape[1])
    for place, one in enumerate(walks):
        axes.plot(steps, one, color=PALETTE["sky"], linewidth=1, label=None if place else "each order")
    axes.plot(steps, walks.mean(axis=0), "o-", color=PALETTE["blue"], linewidth=2.5, label="mean of them")
    straight_line(axes, walks[0])
    step_axis(axes, len(steps) - 1)
    axes.set_ylabel(ylabel)
    axes.legend()
    return figure


def shuffle_last(simulated: ArrayLike, exact: ArrayLike, errors: ArrayLike) -> Figure:
    """How late the last member of u is changed in a random order, by the size of u  [proposition 1].

    simulated, exact, errors : (n,) for |u| = 1, …, n
    """
    figure, [axes] = panels_row()
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
    figure, [axes] = panels_row(height=3.2)
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
    figure, (both, difference) = panels_row(2, 9.0)
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
    figure, [axes] = panels_row()
    axes.plot(background.T, color="#BBBBBB", linewidth=1, zorder=1)
    straight_line(axes, background[0])
    for label, curve in marked.items():
        axes.plot(np.asarray(curve), **method_look(label), linewidth=2, label=label, zorder=3)
    step_axis(axes, background.shape[1] - 1)
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
    figure, [axes] = panels_row(width=6.8, height=4.2)
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
    axes.plot(across, best, color=PALETTE["black"], linewidth=5, alpha=0.25, label="best order")
    axes.plot(across, broken(shapley), color=PALETTE["blue"], linewidth=2, label="Shapley's order")
    axes.set(xlabel="interaction A of features 1 and 2", ylabel="ABC")
    axes.legend(loc="upper right")
    return figure


def broken(values: ArrayLike) -> np.ndarray:
    """Leave a gap where a curve jumps, so that no line is drawn across the jump."""
    points = np.asarray(values, dtype=float)
    steps = np.abs(np.diff(points))
    usual = np.quantile(steps, 0.9) + 1e-9
    return np.where(np.append(False, steps > 20 * usual), np.nan, points)


def shapley_misses(table: pd.DataFrame) -> Figure:
    """How often Shapley's order misses the best one in random games, and how much of the ABC it keeps.

    table : one row per n and strength, with columns missed, missed_se, kept, kept_se
    """
    figure, (left, right) = panels_row(2, width=9.2, height=3.8)
    for panel, part in ((left, "missed"), (right, "kept")):
        draw_groups(panel, table.sort_values("strength"), "strength", "n", part, f"{part}_se", errors=1, capsize=2)
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
    figure, [axes] = panels_row(height=0.8 + 0.42 * len(names))
    rows = np.arange(len(names))[::-1]
    axes.axvline(0, color=PALETTE["grey"], linewidth=1)
    for method, values in attributions.items():
        look: dict[str, Any] = {"ls": "none", "markersize": 7, "alpha": 0.85, **method_look(method)}
        axes.plot(np.asarray(values, dtype=float), rows, label=method, **look)
    axes.hlines(rows, *axes.get_xlim(), color="#DDDDDD", linewidth=0.8, zorder=0)
    axes.set_yticks(rows, names)
    axes.set_xlabel(xlabel)
    axes.legend(loc="upper left")
    return figure


def missed_by_test(table: pd.DataFrame) -> Figure:
    """How often Shapley's ranking is not the best one, by test and by size of the interactions.

    table : one row per test and largest set, with columns missed and missed_se
    """
    figure, [axes] = panels_row()
    across = table.sort_values("largest set", kind="stable")
    draw_groups(axes, across, "test", "largest set", "missed", "missed_se", errors=1, capsize=2)
    axes.set(xlabel="features that may interact with each other", ylabel="games whose best ranking is missed")
    axes.set(xticks=sorted(set(table["largest set"])), ylim=(-0.03, 1.03))
    axes.legend(title="judged by", loc="center right")
    return figure


CUBE = np.array([[1.0, 0.0], [0.45, 0.32], [0.0, 1.0]])  # where the three axes of a cube point on the page


def binary_cube() -> Figure:
    """Four ways through the cube between x and x′: none, straight, with a jump, along the edges  [figure 3]."""
    figure, grid = panels_grid(2, 2, 6.8, 5.6)  # two rows: legible on a phone
    panels = list(grid.flat)
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
    panels[2].annotate("jump", on_page((0.5, 0.5, 0.5)), (-34, 0), textcoords="offset points", color=PALETTE["orange"])
    return figure


def on_page(point: Sequence[float]) -> tuple[float, float]:
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
        axes.plot(*on_page(corner), "o", color=PALETTE["black"], markersize=7, zorder=4)
        axes.annotate(name, on_page(corner), place, textcoords="offset points", fontsize=13)
    labels = {"area": ((0.5, 0, -0.12), 0), "metro": ((1.12, 0.5, -0.1), 35), "garden": ((-0.1, 0, 0.5), 90)}
    for name, (point, turn) in labels.items():
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 11, "color": PALETTE["grey"]}
        axes.text(*on_page(point), name, rotation=turn, **look)
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
    figure, [axes] = panels_row()
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
    figure, panels = panels_row(len(attributions), width=3.5 * len(attributions), height=3.6, sharey=True)
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
    figure, [axes] = panels_row()
    for (method, counts), color, marker in zip(costs.items(), COLORS, "osD^v", strict=False):
        axes.semilogy(np.asarray(features), np.asarray(counts), color=color, marker=marker, label=method)
    axes.set(xlabel="binary features in which x and x′ differ", ylabel="evaluations of the model")
    axes.set_xticks(np.asarray(features))
    axes.legend()
    return figure
