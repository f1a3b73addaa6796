"""Figures of the experiments show the data they are given."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import insdel_paper as paper
from insdel.curves import MODES
from insdel_paper import figures
from insdel_paper.studies import variation

RNG = np.random.default_rng(1)
PAIRS = 40


@pytest.fixture
def table():
    area = "abc_per_feature"
    rows = [
        pd.DataFrame({"pair": range(PAIRS), "method": method, "mode": mode, area: RNG.gamma(2, size=PAIRS)})
        for method in ("kernel_shap", "integrated_gradients", "random")
        for mode in MODES
    ]
    return pd.concat(rows, ignore_index=True)


def area(table, method, mode):
    return table.query("method == @method and mode == @mode")["abc_per_feature"].to_numpy()


def test_aggregate_counts_every_pair_and_plots_ig_over_kernel_shap(table):
    figure = figures.experiment_aggregate(table)
    assert isinstance(figure, Figure) and len(figure.axes) == 6
    for row, mode in enumerate(MODES):
        left, middle, right = figure.axes[3 * row : 3 * row + 3]
        assert sum(patch.get_height() for patch in left.patches) == PAIRS
        assert sum(patch.get_height() for patch in right.patches) == PAIRS
        dots = middle.lines[1]
        assert np.array_equal(dots.get_xdata(), area(table, "kernel_shap", mode))
        assert np.array_equal(dots.get_ydata(), area(table, "integrated_gradients", mode))


def test_aggregate_does_not_depend_on_the_order_of_rows(table):
    shuffled = figures.experiment_aggregate(table.sample(frac=1, random_state=0))
    same = figures.experiment_aggregate(table)
    assert np.array_equal(shuffled.axes[1].lines[1].get_ydata(), same.axes[1].lines[1].get_ydata())


def test_scatter_colours_by_the_sign(table):
    rises = RNG.random(PAIRS) < 0.3
    figure = figures.experiment_scatter(table, rises)
    up, down, diagonal = figure.axes[0].lines
    assert np.array_equal(up.get_xdata(), area(table, "kernel_shap", "insertion")[rises])
    assert np.array_equal(down.get_ydata(), area(table, "kernel_shap", "deletion")[~rises])
    assert up.get_color() != down.get_color() and up.get_marker() != down.get_marker()
    assert np.array_equal(diagonal.get_xdata(), diagonal.get_ydata())


def test_walks_draw_both_methods_random_orders_and_the_line():
    parts = []
    for method, mode, lines in (("kernel_shap", "insertion", 1), ("kernel_shap", "deletion", 1),
                                ("integrated_gradients", "insertion", 1), ("integrated_gradients", "deletion", 1),
                                ("random", "both", 20)):  # fmt: skip
        for line in range(lines):
            values = np.r_[0.0, RNG.normal(size=3), 1.0]
            parts.append(pd.DataFrame({"what": "example", "pair": 7, "method": method, "mode": mode, "line": line,
                                       "step": range(5), "value": values}))  # fmt: skip
    curves = pd.concat(parts, ignore_index=True)
    figure = figures.experiment_walks(curves, ["example"])
    deletion, insertion = figure.axes
    assert "pair 7, deletion" in deletion.get_title() and len(insertion.lines) == 20 + 2 + 1
    drawn = insertion.lines[20].get_ydata()
    wanted = curves.query("method == 'kernel_shap' and mode == 'insertion'")["value"]
    assert np.array_equal(drawn, wanted)


def test_differing_counts():
    figure = figures.experiment_differing([12, 12, 13, 15], 12)
    assert [patch.get_height() for patch in figure.axes[0].patches] == [2, 1, 0, 1]


def test_variation_shows_every_run_and_the_paper():
    rows = [("kept", s, t, mode, m, RNG.random(), 0.1) for s in range(3) for t in range(2)
            for mode in MODES for m in ("kernel_shap", "lime")]  # fmt: skip
    means = pd.DataFrame(rows, columns=[*variation.RUN, "mode", "method", "mean", "se"])
    figure = figures.experiment_variation(means, ["kernel_shap", "lime"], paper.table("bangalore"))
    left = figure.axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in left.lines}
    wanted = means.query("mode == 'insertion' and method == 'lime'")["mean"]
    assert np.array_equal(drawn["lime"], wanted)
    assert left.get_xticklabels()[-1].get_text() == "paper"


def test_importance_marks_the_charges():
    sizes = pd.DataFrame({"Kernel SHAP": [3.0, 1.0, 2.0]}, index=["pt1", "Q1", "E1"])
    figure = figures.experiment_importance(sizes, ["Q1"], "mean |A|")
    bars = figure.axes[0].patches
    assert [bar.get_width() for bar in bars] == [1, 2, 3]
    assert bars[0].get_facecolor() != bars[1].get_facecolor() == bars[2].get_facecolor()


def test_a_message_says_why():
    assert figures.message("not run").axes[0].texts[0].get_text() == "not run"
