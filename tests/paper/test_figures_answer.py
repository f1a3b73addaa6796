"""Figures that give the answer, and the one look of every method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import insdel
from insdel.plots import METHOD_LOOKS, PALETTE, method_look
from insdel_paper.figures import answer

TITLES = {"kernel_shap": "Kernel SHAP", "random": "Random"}


def means(methods: list[str], start: float) -> pd.DataFrame:
    cells = [(mode, method) for mode in ("insertion", "deletion") for method in methods]
    rows = [{"mode": m, "method": k, "mean": start + i, "se": 0.25} for i, (m, k) in enumerate(cells)]
    return pd.DataFrame(rows)


def test_dumbbells_hold_both_means_and_the_limits():
    ours, printed = means(["best", "kernel_shap", "random", "expected"], 10.0), means(["kernel_shap", "random"], 1.0)
    left, right = answer.dumbbells(ours, printed, TITLES, "").axes
    segments = [line.get_xdata() for line in left.lines if list(line.get_ydata()) in ([0, 0], [1, 1])]
    assert [list(ends) for ends in segments[:2]] == [[11.0, 1.0], [12.0, 2.0]]
    upright = {line.get_label(): line.get_xdata()[0] for line in right.lines if line.get_label().endswith(", ours")}
    assert upright == {"best order, ours": 14.0, "mean of all orders, ours": 17.0}
    assert [label.get_text() for label in left.get_yticklabels()] == ["Kernel SHAP", "Random"]


def test_dumbbells_do_without_limits():
    ours = printed = means(["kernel_shap", "random"], 1.0)
    figure = answer.dumbbells(ours, printed, TITLES, "")
    assert not any(line.get_label().endswith(", ours") for panel in figure.axes for line in panel.lines)


@pytest.mark.parametrize("name", METHOD_LOOKS)
def test_a_method_looks_the_same_under_its_name_and_its_label(name):
    label, color, marker = METHOD_LOOKS[name]
    assert method_look(name) == method_look(label) == {"color": PALETTE[color], "marker": marker}
    if name in insdel.METHODS:
        assert method_look(insdel.METHODS[name].title) == method_look(name)


def test_four_methods_have_a_colour_and_the_others_are_grey():
    colors = [PALETTE[color] for _, color, _ in METHOD_LOOKS.values()]
    assert len(set(colors) - {PALETTE["black"], PALETTE["grey"]}) == 4
    assert method_look("vanilla_grad")["color"] == method_look("no such method")["color"] == PALETTE["grey"]
    assert method_look("by Shapley value") == method_look("kernel_shap")
    assert method_look("best for deletion")["color"] == PALETTE["black"]


def test_lead_shows_two_errors_on_both_sides():
    rows = pd.DataFrame({"mode": ["insertion", "deletion"], "lead": [3.0, -1.0], "se": [0.5, 0.25]}, ["houses"] * 2)
    [axes] = answer.lead(rows).axes
    ends = [bar.get_segments()[0][:, 0] for bar in axes.collections]
    np.testing.assert_allclose(ends, [[2.0, 4.0], [-1.5, -0.5]])
