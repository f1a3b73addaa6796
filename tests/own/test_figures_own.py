"""Figures of chapter 21 draw what they are given."""

from __future__ import annotations

from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from insdel.own import figures


@pytest.fixture(autouse=True)
def nothing_left_open():
    before = plt.get_fignums()
    yield
    assert plt.get_fignums() == before


def areas(**means: float) -> pd.DataFrame:
    """Two pairs, one unit above and below each mean; deletion has the negative of it."""
    modes, pairs = (("insertion", 1), ("deletion", -1)), ((0, -1.0), (1, 1.0))
    rows = [(pair, method, mode, sign * mean + shift)
            for method, mean in means.items() for mode, sign in modes for pair, shift in pairs]  # fmt: skip
    return pd.DataFrame(rows, columns=["pair", "method", "mode", "abc_per_feature"])


def test_the_best_method_is_on_top_and_references_are_lines() -> None:
    figure = figures.own_ranking(areas(a=1, b=5, best=7, expected=0), {"a": "A", "best": "the best"}, unit=" (GeV)")
    insertion, deletion = figure.axes
    assert [label.get_text() for label in insertion.get_yticklabels()] == ["A", "b"]
    assert [label.get_text() for label in deletion.get_yticklabels()] == ["b", "A"]
    assert list(insertion.containers[0].lines[0].get_xdata()) == [1, 5]
    low, high = insertion.containers[0].lines[2][0].get_segments()[0][:, 0]
    assert (low, high) == (pytest.approx(1 - 2), pytest.approx(1 + 2))  # the standard error of −1 and 1 is 1
    lines = {line.get_label(): set(line.get_xdata()) for line in insertion.lines}
    assert lines["the best"] == {7} and lines["expected"] == {0}
    assert insertion.get_xlabel() == "mean ABC / n (GeV)" and len(figure.legends) == 1
    assert not figures.own_ranking(areas(a=1, b=5)).legends


def test_a_walk_per_method() -> None:
    curves = {"insertion": {"a": np.array([0.0, 2, 3]), "b": np.array([0.0, 1, 3])},
              "deletion": {"a": np.array([0.0, 1, 3]), "b": np.array([0.0, 0, 3])}}  # fmt: skip
    figure = figures.own_walks(curves, {"a": "A"}, "price")
    for axes, mode in zip(figure.axes, curves, strict=True):
        drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert axes.get_title() == mode
        np.testing.assert_array_equal(drawn["A"], curves[mode]["a"])
        np.testing.assert_array_equal(drawn["b"], curves[mode]["b"])
        np.testing.assert_allclose(drawn["straight line"], [0, 1.5, 3])
    assert figure.axes[0].get_ylabel() == "price"


def test_attributions_are_sorted_by_their_mean_share() -> None:
    ranked = {"a": np.array([1.0, -2.0, 0.0]), "b": np.array([100.0, 200.0, 700.0])}
    figure = figures.own_attributions(ranked, ["p", "q", "r"], {"a": "A"})
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["p", "r", "q"]  # shares 0.217, 0.35, 0.433
    assert [bar.get_width() for bar in first.patches] == [1, 0, -2]
    assert [bar.get_width() for bar in second.patches] == [100, 700, 200]
    assert to_hex(first.patches[2].get_facecolor()).upper() == figures.PALETTE["orange"]
    assert [axes.get_title() for axes in figure.axes] == ["A", "b"]


def test_many_features_are_cut_to_those_that_matter() -> None:
    [axes] = figures.own_attributions({"a": np.arange(40.0)}, [f"c{j}" for j in range(40)]).axes
    assert [bar.get_width() for bar in axes.patches] == list(range(25, 40))


def test_many_methods_take_several_rows() -> None:
    figure = figures.own_attributions({f"m{k}": np.array([1.0, 2.0]) for k in range(6)}, ["p", "q"])
    assert [axes.get_title() for axes in figure.axes] == [*(f"m{k}" for k in range(6)), "", ""]
    assert [axes.axison for axes in figure.axes] == [True] * 6 + [False] * 2


def test_without_a_method_that_gives_numbers_there_is_a_sentence() -> None:
    for figure in (figures.own_attributions({}, ["p"]), figures.own_walks({"insertion": {}, "deletion": {}})):
        assert "None of these methods" in "".join(text.get_text() for text in figure.findobj(Text))


def test_dollars_in_names_are_shown_as_they_are() -> None:
    names = ["cost $: 1 → 2", "a$b$c: x → $y", "$\\frac"]
    figure = figures.own_attributions({"kernel_shap": np.array([1.0, -2.0, 3.0])}, names)
    figure.savefig(BytesIO(), format="svg")  # matplotlib took what stands between two of them for a formula
    shown = [label.get_text().replace(r"\$", "$") for label in figure.axes[0].get_yticklabels()]
    assert sorted(shown) == sorted(names)
    walks = {mode: {"lime": np.zeros(3)} for mode in ("insertion", "deletion")}
    figures.own_walks(walks, ylabel="predicted $ per $\\m^2").savefig(BytesIO(), format="svg")
