"""Figures of chapter 13: images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from insdel.plots import PALETTE, panels_grid, panels_row
from insdel_paper.figures.drawing import legend_outside


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
    figure, (left, middle, right) = panels_row(3, 7.6, 3.3)
    _picture(left, image, "what the network sees")
    _heat(middle, scores, "bright pixels count most")
    _pixel_curves(right, curves)
    legend_outside(figure, right, "lower right")
    right.set(xlabel="fraction of the pixels\ndeleted or inserted", ylabel=f"probability of {what}")
    return figure


def image_frames(frames: Mapping[str, Any], values: Mapping[str, Sequence[float]], titles: Sequence[str]) -> Figure:
    """Pictures along the way, one row per test, each with the network's probability.

    frames : {row title: (k, 3, height, width)}; values : {row title: (k,)}; titles : k column titles
    """
    rows, columns = len(frames), len(titles)
    figure, grid = panels_grid(rows, columns, 2.0 * columns, 2.25 * rows)
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
    figure, grid = panels_grid(2, len(pictures), 1.9 * len(pictures), 4.2)
    for index, (name, picture) in enumerate(pictures.items()):
        _picture(grid[0, index], picture, name)
        _pixel_curves(grid[1, index], curves[curves["reference"] == name])
        if index:
            grid[1, index].set_yticklabels([])
    grid[1, 0].set_ylabel(f"probability of {what}")
    legend_outside(figure, grid[1, 0], "lower right", ncols=2)
    figure.supxlabel("fraction of the pixels deleted or inserted")
    return figure


def image_curves(curves: pd.DataFrame, what: str) -> Figure:
    """Both tests against each reference, without any picture: curves has reference, mode, fraction, value."""
    names = list(dict.fromkeys(curves["reference"]))
    figure, panels = panels_row(len(names), 1.9 * len(names), 2.6, sharey=True)
    for axes, name in zip(panels, names, strict=True):
        _pixel_curves(axes, curves[curves["reference"] == name])
        axes.set_title(name, fontsize="medium")
    panels[0].set_ylabel(f"probability of {what}")
    legend_outside(figure, panels[0], "lower right", ncols=2)
    figure.supxlabel("fraction of the pixels deleted or inserted")
    return figure


def image_maps(maps: Mapping[str, ArrayLike]) -> Figure:
    """Saliency maps side by side; maps : {title: (height, width)}."""
    figure, panels = panels_row(len(maps), 1.9 * len(maps), 2.2)
    for axes, (title, scores) in zip(panels, maps.items(), strict=True):
        _heat(axes, scores, title)
    return figure


def image_photos(areas: pd.DataFrame, readings: Mapping[str, pd.DataFrame]) -> Figure:
    """Insertion against deletion AUC, a panel per reference, a dot per photo; on the diagonal the tests are equal.

    areas : photo, preparation, reference, mode, auc; readings : {name: deletion and insertion by reference}
    """
    names = list(next(iter(readings.values())).index)
    figure, panels = panels_row(len(names), 2.7 * len(names), 3.3, sharey=True)
    wide = areas.pivot_table(index=["preparation", "photo"], columns=["reference", "mode"], values="auc")
    dots = dict(zip(areas["preparation"].unique(), (("o", PALETTE["sky"]), ("^", PALETTE["green"])), strict=False))
    stars = dict(zip(readings, (PALETTE["orange"], PALETTE["blue"]), strict=True))
    for axes, name in zip(panels, names, strict=True):
        axes.plot([0, 1], [0, 1], color=PALETTE["grey"], linestyle="--", linewidth=1)
        for preparation, (marker, color) in dots.items():
            part = wide.loc[preparation][name]
            axes.plot(part["deletion"], part["insertion"], marker, color=color, ms=4, alpha=0.5, label=preparation,
                      rasterized=True)  # fmt: skip
        for reading, color in stars.items():
            row = readings[reading].loc[name]
            axes.plot(row["deletion"], row["insertion"], "*", c=color, ms=15, mec="white", label=f"paper, {reading}")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], title=name)
        axes.set_aspect("equal")
    panels[0].set_ylabel("insertion AUC")
    figure.supxlabel("deletion AUC")
    legend_outside(figure, panels[0], "upper center")
    return figure
