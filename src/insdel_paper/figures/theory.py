"""Figures of part I, and of what part III says about orders  [sections 3 and 4]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, cycle, pairwise, product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.chance import Histogram
from insdel.plots import COLORS, PALETTE, method_look, panels_grid, panels_row, step_axis, straight_line
from insdel_paper.figures.drawing import draw_marks, draw_row, legend_outside


def walk(curves: Mapping[str, ArrayLike], ylabel: str = "prediction", others: ArrayLike | None = None) -> Figure:
    """Curves of several orders of one pair, each with its label, and the straight line  [section 3.4].

    curves : {label: (n + 1,)}
    others : (orders, n + 1), drawn in grey behind them
    """
    figure, [axes] = panels_row()
    if others is not None:
        lines = axes.plot(np.asarray(others).T, color="#BBBBBB", linewidth=1, zorder=1)
        lines[0].set_label("each order")
    for (label, values), color in zip(curves.items(), cycle(COLORS), strict=False):
        known = method_look(label)
        look = {"color": color, "marker": "o"} if known["color"] == PALETTE["grey"] else known
        axes.plot(np.asarray(values), **look, linewidth=2, label=label, zorder=3)
    straight_line(axes, np.asarray(values))
    step_axis(axes, len(np.asarray(values)) - 1)
    axes.set_ylabel(ylabel)
    axes.legend()
    return figure


def walk_modes(
    insertion: ArrayLike, deletion: ArrayLike, names: tuple[Sequence[str], Sequence[str]], ylabel: str = "prediction"
) -> Figure:
    """Insertion and deletion side by side, the signed area against the line shaded  [figure 1 of the paper].

    insertion, deletion : (n + 1,) curves
    names : the features in the order of each test
    """
    tests = {
        "insertion": (np.asarray(insertion), PALETTE["blue"], names[0]),
        "deletion": (np.asarray(deletion), PALETTE["orange"], names[1]),
    }

    def draw(axes: Axes, mode: str) -> None:
        curve, color, words = tests[mode]
        axes.fill_between(range(len(curve)), curve, straight_line(axes, curve), color=color, alpha=0.2, label="ABC")
        axes.plot(curve, marker="o", color=color, label="curve")
        step_axis(axes, len(curve) - 1, words)
        axes.legend()

    return draw_row(draw, tests, 9.0, 3.8, ylabel=ylabel, legend=False)


def orders_histogram(
    samples: Mapping[str, ArrayLike], marks: Mapping[str, float], xlabel: str = "ABC", bins: int = 40
) -> Figure:
    """How ABC is spread over random orders; one outline per sample, one vertical line per mark.

    samples : {label: (orders,)}
    marks : {label: value}
    """
    figure, [axes] = panels_row(width=7.6)
    values = {label: np.asarray(sample) for label, sample in samples.items()}
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), bins).tolist()
    for (label, sample), color in zip(values.items(), COLORS, strict=False):
        axes.hist(sample, edges, histtype="stepfilled", alpha=0.25, color=color)
        axes.hist(sample, edges, histtype="step", linewidth=1.5, color=color, label=label)
    draw_marks(axes, marks)
    axes.set(xlabel=xlabel, ylabel="number of orders")
    legend_outside(figure, axes)
    return figure


def chance_histogram(counted: Histogram, marks: Mapping[str, float], xlabel: str) -> Figure:
    """Where all n! orders of one pair score: their density, and the chance to score more, with some orders marked.

    marks : name → area
    """
    figure, (density, tail) = panels_row(2, 10.0, 4.0)
    merged = counted.chances[: len(counted.chances) // 16 * 16].reshape(-1, 16).sum(axis=1)
    areas = counted.areas[: 16 * len(merged) : 16] + 7.5 * (counted.areas[1] - counted.areas[0])
    density.fill_between(areas, merged / merged.max(), color=PALETTE["sky"], alpha=0.6, lw=0)
    density.set(ylabel="orders, relative to the mode", ylim=(0, 1.05))
    more = counted.chances[::-1].cumsum()[::-1]
    tail.semilogy(counted.areas[more > 0], more[more > 0], color=PALETTE["blue"])
    tail.set_ylabel("chance to score at least that much")
    for panel in (density, tail):
        draw_marks(panel, marks)
        panel.set(xlabel=xlabel, xlim=(areas[merged > 0][0], counted.areas[-1]))
    legend_outside(figure, density)
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


CUBE = np.array([[1.0, 0.0], [0.45, 0.32], [0.0, 1.0]])  # where the three axes of a cube point on the page


def binary_cube() -> Figure:
    """Four ways through the cube between x and x′: none, straight, with a jump, along the edges  [figure 3]."""
    x, reference, before, after = (0, 0, 0), (1, 1, 1), (0.5, 0.5, 0), (0.5, 0.5, 1)
    ways: dict[str, list[tuple[str, list[Any]]]] = {
        "(a) two points": [],
        "(b) straight line": [("blue", [x, reference])],
        "(c) one jump": [("blue", [x, before]), ("orange", [before, after]), ("blue", [after, reference])],
        "(d) along the edges": [("orange", [x, (1, 0, 0), (1, 1, 0), reference]),
                                ("green", [x, (0, 0, 1), (0, 1, 1), reference])],
    }  # fmt: skip
    figure, grid = panels_grid(2, 2, 6.8, 5.6)  # two rows: legible on a phone
    for axes, (title, paths) in zip(grid.flat, ways.items(), strict=True):
        for edge in combinations(product((0, 1), repeat=3), 2):
            if np.ptp(edge, axis=0).sum() == 1:  # dotted is what a solid cube would hide
                style = ":" if (0, 1, 0) in edge else "-"
                axes.plot(*(edge @ CUBE).T, color="#AAAAAA", linewidth=1, linestyle=style)
        for color, corners in paths:
            points, style = corners @ CUBE, "-" if color == "blue" else "--"
            axes.plot(*points.T, style, color=PALETTE[color], linewidth=2.2, zorder=3)
            arrow = {"arrowstyle": "-|>", "color": PALETTE[color], "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
            for start, end in pairwise(points):  # an arrow head in the middle of each piece
                axes.annotate("", start + 0.6 * (end - start), start + 0.52 * (end - start), arrowprops=arrow, zorder=3)
        for name, corner, shift in (("x", x, (-12, -12)), ("x′", reference, (5, 3))):
            axes.plot(*(corner @ CUBE), "o", color=PALETTE["black"], markersize=7, zorder=4)
            axes.annotate(name, corner @ CUBE, shift, textcoords="offset points", fontsize=13)
        sides = ("area", (0.5, 0, -0.12), 0), ("metro", (1.12, 0.5, -0.1), 35), ("garden", (-0.1, 0, 0.5), 90)
        for name, middle, turn in sides:
            axes.text(*(middle @ CUBE), name, rotation=turn, ha="center", va="center", color=PALETTE["grey"])
        axes.set_title(title, fontsize=11)
        axes.set(aspect="equal")
        axes.axis("off")
    grid[1, 0].annotate("jump", (0.5, 0.5, 0.5) @ CUBE, (-34, 0), textcoords="offset points", color=PALETTE["orange"])
    return figure
