"""Figures of chapter 19: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd

from insdel_paper import figures

TITLES = {"kernel_shap": "Kernel SHAP", "random": "Random"}
MODES = ("insertion", "deletion")


def test_shares_are_drawn_over_shares() -> None:
    index = pd.MultiIndex.from_product([["average"], TITLES, MODES], names=["policy", "method", "mode"])
    shares = {"even": [0.1, 0.2, 0.3, 0.4], "share": [0.5, 0.6, 0.7, 0.8], "share_se": 0.02}
    earned = pd.DataFrame(shares, index)
    figure = figures.manifold_earned(earned, TITLES)
    for panel, mode in zip(figure.axes, MODES, strict=True):
        points = {bar.get_label(): bar.lines[0].get_xydata().tolist() for bar in panel.containers}
        assert panel.get_title() == mode
        assert points == {
            f"average: {title}": [earned.loc[("average", method, mode), ["even", "share"]].tolist()]
            for method, title in TITLES.items()
        }


def test_the_tail_counts_pairs_that_have_at_least_so_much() -> None:
    found = pd.DataFrame({"pairing": [0, 0, 0, 1], "insertion": [5.0, 9, 7, 3], "distance": [1.0, 3, 2, 1]})
    left, right = figures.manifold_tail(found, 8.0).axes
    first, second, mark = left.lines
    assert first.get_xydata().tolist()[1:] == [[5, 2], [7, 1], [9, 0]] and first.get_ydata()[0] == 3
    assert second.get_xydata().tolist()[1:] == [[3, 0]]
    assert set(mark.get_xdata()) == {8} and "8 GeV" in mark.get_label()
    assert np.array_equal(right.lines[0].get_xydata(), found[["distance", "insertion"]])
    assert set(right.lines[1].get_ydata()) == {8}
