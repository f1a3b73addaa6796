"""Figures of chapters 15 to 17: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd

from insdel.chance import Histogram
from insdel_paper import figures

TITLES = {"kernel_shap": "Kernel SHAP", "random": "Random"}


def shares(level: float) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([["insertion", "deletion", "both"], TITLES], names=["mode", "method"])
    return pd.DataFrame({"share": level + np.arange(6.0), "share_se": 1.0}, index)


def test_shares_have_a_panel_per_test_and_a_colour_per_run() -> None:
    figure = figures.beyond_shares({"houses": shares(50), "collisions": shares(90)}, TITLES)
    assert [axes.get_title() for axes in figure.axes] == ["insertion", "deletion", "insertion + deletion"]
    for k, axes in enumerate(figure.axes):
        houses, collisions = axes.containers
        assert list(houses.lines[0].get_xdata()) == [50 + 2 * k, 51 + 2 * k]
        assert list(collisions.lines[0].get_xdata()) == [90 + 2 * k, 91 + 2 * k]
        low, high = houses.lines[2][0].get_segments()[0][:, 0]
        assert (low, high) == (48 + 2 * k, 52 + 2 * k)  # two standard errors
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["Kernel SHAP", "Random"]
    assert figure.axes[0].yaxis_inverted()


def test_the_histogram_shows_density_and_tail() -> None:
    counted = Histogram(np.arange(64.0), np.full(64, 1 / 64))
    density, tail = figures.chance_histogram(counted, {"best": 60.0}, "ABC").axes
    [line] = [line for line in tail.lines if line.get_label() != "best"]
    np.testing.assert_allclose(line.get_ydata(), 1 - np.arange(64) / 64)
    assert tail.get_yscale() == "log"
    assert density.lines[0].get_label() == "best" and set(density.lines[0].get_xdata()) == {60.0}


def test_tails_are_shares_of_pairs() -> None:
    rows = pd.DataFrame({"method": ["kernel_shap"] * 4 + ["random"] * 4,
                         "tail_probability": [0.01, 0.01, 0.02, 0.5, 0.25, 1.0, 0.75, 0.5]})  # fmt: skip
    [axes] = figures.chance_tails({"houses": rows}, TITLES).axes
    drawn = {line.get_label(): (np.array(line.get_xdata()), np.array(line.get_ydata())) for line in axes.lines}
    np.testing.assert_allclose(drawn["Kernel SHAP"][0][1:], [0.01, 0.01, 0.02, 0.5])
    np.testing.assert_allclose(drawn["Random"][1], [0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(*drawn["pure chance"])
    assert axes.get_title() == "houses" and axes.get_xscale() == "log"
