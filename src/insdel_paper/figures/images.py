"""Figures of chapter 13: images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.plots import PALETTE
from insdel_paper.figures.drawing import ZERO, draw_row


def draw_picture(axes: Axes, image: Any, title: str = "") -> None:
    """Show one RGB picture, (3, height, width), without ticks; colours outside [0, 1] are cut off."""
    axes.imshow(np.clip(np.moveaxis(np.asarray(image, dtype=float), 0, -1), 0, 1), interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color="#BBBBBB")  # white pictures need an edge
    axes.set_title(title, fontsize="medium")


def draw_heat(axes: Axes, scores: ArrayLike, title: str) -> None:
    """Show a saliency map by rank of its smoothed scores, so that a few extreme pixels do not hide the rest."""
    from scipy.ndimage import gaussian_filter

    smooth = gaussian_filter(np.asarray(scores, dtype=float), 2.0)
    ranks = smooth.ravel().argsort().argsort().reshape(smooth.shape) / max(smooth.size - 1, 1)
    axes.imshow(ranks, cmap="cividis", vmin=0, vmax=1)
    axes.axis("off")
    axes.set_title(title, fontsize="medium")


def draw_pixel_curves(axes: Axes, curves: pd.DataFrame) -> None:
    """Deletion and insertion of one map and reference, as in images: insertion begins at the reference."""
    for mode, color in (("deletion", PALETTE["orange"]), ("insertion", PALETTE["blue"])):
        curve = curves[curves["mode"] == mode].sort_values("fraction")
        across = curve["fraction"] if mode == "deletion" else 1 - curve["fraction"]
        axes.plot(across, curve["value"], color=color, label=mode, linestyle="-" if mode == "deletion" else "--")
    axes.set(xlim=(0, 1), ylim=(-0.03, 1.03), xticks=[0, 0.5, 1], xticklabels=["0", "½", "1"])


def image_photos(areas: pd.DataFrame, readings: Mapping[str, pd.DataFrame]) -> Figure:
    """Insertion against deletion AUC, a panel per reference, a dot per photo; on the diagonal the tests are equal.

    areas : photo, preparation, reference, mode, auc; readings : {name: deletion and insertion by reference}
    """
    names = list(next(iter(readings.values())).index)
    wide = areas.pivot_table(index=["preparation", "photo"], columns=["reference", "mode"], values="auc")

    def draw(axes: Axes, name: str) -> None:
        axes.plot([0, 1], [0, 1], **ZERO)
        for preparation, marker, color in zip(areas["preparation"].unique(), "o^", ("sky", "green"), strict=False):
            part = wide.loc[preparation][name]
            look: dict[str, Any] = {"ms": 4, "alpha": 0.5, "rasterized": True}
            axes.plot(part["deletion"], part["insertion"], marker, color=PALETTE[color], label=preparation, **look)
        for (reading, table), color in zip(readings.items(), ("orange", "blue"), strict=True):
            star: dict[str, Any] = {"c": PALETTE[color], "ms": 15, "mec": "white", "label": f"paper, {reading}"}
            axes.plot(table.loc[name, "deletion"], table.loc[name, "insertion"], "*", **star)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")

    return draw_row(draw, names, 2.7 * len(names), 3.3, xlabel="deletion AUC", ylabel="insertion AUC")
