"""Figures of chapter 18: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd

from insdel_paper import figures

TITLES = {"casting": "Casting", "jumping": "Jumping"}


def test_distances_are_percent_and_casting_is_drawn_over_the_bend() -> None:
    table = pd.DataFrame({
        "pair": [0, 1, 2] * 2, "method": ["casting"] * 3 + ["jumping"] * 3, "error": [1.0, 2, 3, 0.1, 0.2, 0.3],
        "size": 10.0, "bend": [4.0, 5, 6] * 2,
    })  # fmt: skip
    left, right = figures.binary_distance(table, TITLES).axes
    medians = [line.get_xdata()[0] for line in left.lines if len(set(line.get_xdata())) == 1]
    assert any(np.isclose(medians, 20)) and any(np.isclose(medians, 2))
    assert [label.get_text() for label in left.get_yticklabels()] == ["Casting", "Jumping"] and "%" in left.get_xlabel()
    [dots] = right.lines
    assert list(dots.get_xdata()) == [4, 5, 6] and list(dots.get_ydata()) == [1, 2, 3]


def test_gains_are_drawn_over_evaluations_with_two_standard_errors() -> None:
    index = pd.MultiIndex.from_product([["insertion", "deletion"], TITLES])
    areas = pd.DataFrame({"percent": [0.0, 8, 0, -1], "percent_se": [0.0, 2, 0, 1]}, index)
    figure = figures.binary_gain(areas, pd.Series({"casting": 1000, "jumping": 5000}), TITLES)
    for panel, percent, se in zip(figure.axes, (8, -1), (2, 1), strict=True):
        bars = {bar.get_label(): bar for bar in panel.containers}
        assert bars["Jumping"].lines[0].get_xydata().tolist() == [[5000, percent]]
        low, high = bars["Jumping"].lines[2][0].get_segments()[0][:, 1]
        assert (low, high) == (percent - 2 * se, percent + 2 * se)
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"Casting", "Jumping"}
