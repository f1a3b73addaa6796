"""Figures of the experiments show the data they are given."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from insdel.curves import MODES
from insdel_paper import figures

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


def test_scatter_has_a_row_per_sign(table):
    rises = RNG.random(PAIRS) < 0.3
    shapley_up, gradients_up, shapley_down, _ = figures.experiment_scatter(table, rises, "").axes
    up, diagonal = shapley_up.lines
    down, _ = shapley_down.lines
    assert np.array_equal(up.get_xdata(), area(table, "kernel_shap", "insertion")[rises])
    assert np.array_equal(down.get_ydata(), area(table, "kernel_shap", "deletion")[~rises])
    assert np.array_equal(gradients_up.lines[0].get_xdata(), area(table, "integrated_gradients", "insertion")[rises])
    assert up.get_color() != down.get_color() and up.get_marker() != down.get_marker()
    assert np.array_equal(diagonal.get_xdata(), diagonal.get_ydata())
