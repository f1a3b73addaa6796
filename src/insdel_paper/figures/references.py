"""Figures of chapter 8: what the choice of a reference does."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from torch import Tensor

from insdel.plots import COLORS, WIDEST, panels_row

STYLES = ("-", "--", "-.", ":")


def reference_agreement(agree: pd.DataFrame) -> Figure:
    """Rank correlations between the attributions for different references, as a matrix with its numbers.

    agree : (references, references), symmetric, in [−1, 1]
    """
    figure, [axes] = panels_row(width=7.6, height=5.4)
    sns.heatmap(agree, vmin=-1, vmax=1, cmap="RdBu", annot=True, fmt=".2f", cbar=False, square=True, ax=axes,
                annot_kws={"fontsize": 9})  # fmt: skip
    axes.set_xticks(axes.get_xticks(), list(agree.columns), rotation=40, ha="right", fontsize=9)
    axes.tick_params(length=0)
    return figure


def reference_adversary(pictures: Mapping[str, Tensor], curves: Mapping[str, pd.Series], what: str) -> Figure:
    """Pictures in a row, and below them the deletion walks towards each reference, changed pixels on a log axis.

    pictures : {title: (3, height, width)} with colours in [0, 1]
    curves : {reference: prediction by number of changed pixels}
    """
    figure, axes = plt.subplot_mosaic(
        [list(pictures), ["walks"] * len(pictures)], figsize=(WIDEST, 6.0), height_ratios=[1, 1.15]
    )
    plt.close(figure)
    for title, picture in pictures.items():
        axes[title].imshow(picture.clamp(0, 1).permute(1, 2, 0).numpy(), interpolation="nearest")
        axes[title].set_title(title)
        axes[title].axis("off")
    panel = axes["walks"]
    for place, (name, curve) in enumerate(curves.items()):
        style = STYLES[place % len(STYLES)]
        panel.plot(curve.index, curve, style, color=COLORS[place], linewidth=2, label=f"towards {name}")
    panel.set_xscale("log")
    panel.set(xlabel="pixels changed", ylabel=f"probability of {what}", ylim=(0, None))
    panel.legend()
    return figure
