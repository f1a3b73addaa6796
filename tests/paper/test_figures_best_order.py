"""Figures of chapters 15 to 17: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from insdel.chance import Histogram
from insdel_paper import figures

TITLES = {"kernel_shap": "Kernel SHAP", "random": "Random"}


def shares(level: float) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([["insertion", "deletion", "both"], TITLES], names=["mode", "method"])
    return pd.DataFrame({"share": level + np.arange(6.0), "share_se": 1.0}, index)


def test_walks_lie_over_the_band_of_random_orders() -> None:
    shuffled = np.tile([0.0, 1.0, 4.0], (100, 1))
    shuffled[:, 1] = np.arange(100)
    [axes] = figures.beyond_walks({"best": np.array([0.0, 5.0, 4.0])}, shuffled, "GeV").axes
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert list(drawn["best"]) == [0, 5, 4] and list(drawn["straight line"]) == [0, 2, 4]
    middle = axes.collections[0].get_paths()[0].vertices
    middle = middle[middle[:, 0] == 1, 1]
    assert (middle.min(), middle.max()) == (pytest.approx(4.95), pytest.approx(94.05))
    assert axes.get_ylabel() == "GeV"


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


def test_hard_pairs_that_lose_nothing_are_not_drawn() -> None:
    rows = pd.DataFrame({"lost": [0.0, 0.1, 0.2], "interacting": [0.1, 0.2, 0.3], "turned": [0.01, 0.02, 0.03]})
    variance, turned = figures.beyond_hard({"houses": rows}).axes
    np.testing.assert_allclose(variance.collections[0].get_offsets(), [[0.2, 0.1], [0.3, 0.2]])
    np.testing.assert_allclose(turned.collections[0].get_offsets(), [[0.02, 0.1], [0.03, 0.2]])
    assert turned.get_xscale() == "log" and turned.xaxis.get_major_formatter()(0.001, 0) == "0.1 %"


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


def test_the_scale_shows_quantiles_over_pairs() -> None:
    rows = pd.DataFrame({"method": ["kernel_shap"] * 101 + ["random"] * 2,
                         "normalised": [*np.linspace(0, 1, 101), 0.0, np.nan]})  # fmt: skip
    [axes] = figures.chance_scale({"houses": rows}, TITLES).axes
    places = {round(float(x), 2) for line in axes.lines[:5] for x in line.get_xdata()}
    assert places == {0.05, 0.25, 0.5, 0.75, 0.95}  # whiskers, box, median
    assert set(axes.lines[9].get_xdata()) == {0.0}  # missing pairs are left out
