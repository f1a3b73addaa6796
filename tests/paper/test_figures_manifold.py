"""Figures of chapter 19: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from insdel_paper import figures

TITLES = {"kernel_shap": "Kernel SHAP", "random": "Random"}
MODES = ("insertion", "deletion")


@pytest.fixture(autouse=True)
def nothing_left_open():
    """A figure that stays open would be shown twice in a notebook."""
    before = plt.get_fignums()
    yield
    assert plt.get_fignums() == before


def test_profiles_have_a_panel_per_policy_and_the_limit() -> None:
    profile = pd.DataFrame([
        {"policy": policy, "method": method, "step": step, "low": step, "median": step + up, "high": step + 5}
        for up, policy in ((1, "one_to_one"), (2, "average")) for method in TITLES for step in range(4)
    ])  # fmt: skip
    figure = figures.manifold_profile(profile, 2.5, TITLES)
    assert [panel.get_title() for panel in figure.axes] == ["one-to-one", "average"]
    for panel, up in zip(figure.axes, (1, 2), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in panel.lines}
        assert list(lines["Kernel SHAP"]) == [up, 1 + up, 2 + up, 3 + up]
        assert set(lines["99 % of rows held out"]) == {2.5}
        assert len(panel.collections) == 2


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


def test_the_extreme_walk_names_its_features() -> None:
    orders = {"insertion": (-1, 2, 0, 1), "deletion": (-1, 1, 0, 2)}
    rows = [
        {"mode": mode, "step": step, "feature": feature, "value": 10.0 * step, "distance": step, "violation": -step}
        for mode, order in orders.items() for step, feature in enumerate(order)
    ]  # fmt: skip
    steps = pd.DataFrame(rows[::-1]).assign(physics=lambda table: 7.0 * table["step"])
    figure = figures.manifold_extreme(steps, ["a", "b", "c"], 15.0, ["physics"])
    for k, order in enumerate((["x", "+ c", "+ a", "+ b"], ["x", "+ b", "+ a", "+ c"])):
        value, distance, violation = (figure.axes[2 * row + k] for row in range(3))
        assert [label.get_text() for label in violation.get_xticklabels()] == order
        network, physics, ceiling = value.lines
        assert list(network.get_ydata()) == [0, 10, 20, 30] and set(ceiling.get_ydata()) == {15}
        assert list(physics.get_ydata()) == [0, 7, 14, 21] and physics.get_label() == "physics"
        assert list(distance.lines[0].get_ydata()) == [0, 1, 2, 3]
        assert list(violation.lines[0].get_ydata()) == [0, -1, -2, -3]


def test_the_tail_counts_pairs_that_have_at_least_so_much() -> None:
    found = pd.DataFrame({"pairing": [0, 0, 0, 1], "insertion": [5.0, 9, 7, 3], "distance": [1.0, 3, 2, 1]})
    left, right = figures.manifold_tail(found, 8.0).axes
    first, second, mark = left.lines
    assert first.get_xydata().tolist() == [[9, 1], [7, 2], [5, 3]] and second.get_xydata().tolist() == [[3, 1]]
    assert set(mark.get_xdata()) == {8} and "8 GeV" in mark.get_label()
    assert np.array_equal(right.lines[0].get_xydata(), found[["distance", "insertion"]])
    assert set(right.lines[1].get_ydata()) == {8}
