"""Figures of the exercises: an answer, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.plots import COLORS, PALETTE, panels_row


def exercise_lines(x: ArrayLike, lines: Mapping[str, ArrayLike], xlabel: str, ylabel: str) -> Figure:
    """Lines over a common axis, each with its label; x (m,), every line (m,)."""
    figure, [axes] = panels_row(height=3.2)
    for (label, values), color in zip(lines.items(), COLORS, strict=False):
        marker = "o" if len(np.asarray(x)) <= 12 else ""  # few points: not a continuous line
        axes.plot(np.asarray(x), np.asarray(values), color=color, label=label, marker=marker)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.legend()
    return figure


def exercise_errors(labels: Sequence[str], means: ArrayLike, errors: ArrayLike, xlabel: str) -> Figure:
    """Means with one standard error to either side, one row per label, and a line at zero."""
    figure, [axes] = panels_row(height=0.9 + 0.45 * len(labels))
    rows = np.arange(len(labels))[::-1]
    axes.errorbar(np.asarray(means), rows, xerr=np.asarray(errors), fmt="o", capsize=4, color=PALETTE["blue"])
    axes.axvline(0, color=PALETTE["grey"], linestyle="--")
    axes.set_yticks(rows, labels)
    axes.set(xlabel=xlabel, ylim=(-0.6, len(labels) - 0.4))
    return figure


def exercise_pictures(pictures: Mapping[str, ArrayLike]) -> Figure:
    """Pictures side by side, (height, width) or (height, width, 3) with values in [0, 1], each with its title."""
    figure, panels = panels_row(len(pictures), 2.4 * len(pictures), 2.6)
    for axes, (title, picture) in zip(panels, pictures.items(), strict=True):
        axes.imshow(np.asarray(picture), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title)
        axes.axis("off")
    return figure
