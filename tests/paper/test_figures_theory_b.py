"""The figures of chapters 4 to 6 show the numbers they are given."""

from __future__ import annotations

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import insdel
from insdel.examples import game
from insdel_paper import figures
from insdel_paper.figures import theory


@pytest.fixture(autouse=True)
def style():
    """Draw as the book does, and leave matplotlib as it was."""
    with plt.rc_context():
        figures.use_style()
        yield
    assert not plt.get_fignums(), "a figure stayed open and would be shown twice"


def lines(axes: Axes, color: str) -> list[np.ndarray]:
    """Heights of the lines of that colour that hold points."""
    drawn = [line for line in axes.get_lines() if to_hex(line.get_color()) == figures.PALETTE[color].lower()]
    return [np.asarray(line.get_ydata(), dtype=float) for line in drawn if len(line.get_ydata())]


def labels(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def paper_game(a: float) -> insdel.Lattice:
    f, x, reference, _ = game({(1,): 3, (2,): 2, (3,): 1, (1, 2): a})
    return insdel.Lattice.evaluate(f, x, reference)


def test_abc_by_interaction_draws_the_upper_envelope_and_breaks_at_the_jumps():
    a = np.linspace(-6, 1, 141) + 1e-6
    lattices = [paper_game(value) for value in a]
    orders = np.array(list(permutations(range(3))))
    areas = np.array([one.abc(orders) for one in lattices]).T
    shapley = [float(one.abc(insdel.order(one.shapley()))) for one in lattices]
    named = {str(tuple(order + 1)): area for order, area in zip(orders, areas, strict=True)}
    figure = figures.abc_by_interaction(a, named, shapley, [(-2, -1), (-6, -4)])
    axes = figure.axes[0]
    np.testing.assert_allclose(lines(axes, "black")[0], areas.max(axis=0))
    by_shapley = lines(axes, "blue")[0]
    assert np.isnan(by_shapley).sum() == 2, "one gap at A = −4 and one at A = −2"
    np.testing.assert_allclose(a[np.isnan(by_shapley)], [-4, -2], atol=0.051)
    assert len(axes.patches) == 2
    assert len(axes.texts) == 5, "two of the six orders have the same line and share a label"


def test_missed_by_test_sorts_the_sizes():
    cases = [(size, test) for size in (3, 1, 2) for test in ("insertion", "both")]
    rows = [{"test": test, "largest set": size, "missed": size / 10, "missed_se": 0.01} for size, test in cases]
    axes = figures.missed_by_test(pd.DataFrame(rows)).axes[0]
    for color in ("blue", "orange"):
        np.testing.assert_allclose(lines(axes, color)[0], [0.1, 0.2, 0.3])
    assert labels(axes) == ["insertion", "both"]


def test_cube_corners_do_not_coincide_on_the_page():
    corners = {theory.on_page([k >> j & 1 for j in range(3)]) for k in range(8)}
    assert len(corners) == 8


def test_against_shapley_draws_differences_by_kind_of_feature():
    shapley = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    methods = {"same": shapley, "more": shapley + np.array([0.5, 0.0, -0.5])}
    panels = figures.against_shapley(shapley, methods, [True, False, False]).axes
    assert [axes.get_title() for axes in panels] == ["same", "more"]
    np.testing.assert_array_equal(lines(panels[0], "orange")[0], [0, 0])
    np.testing.assert_array_equal(lines(panels[1], "orange")[0], [0.5, 0.5])
    np.testing.assert_array_equal(lines(panels[1], "blue")[0], [0, -0.5, 0, -0.5])


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0, 3.0], [1.0] * 30])
def test_no_gap_without_a_jump(values):
    assert not np.isnan(theory.broken(values)).any()


def test_a_gap_at_each_jump():
    values = np.concatenate([np.arange(20.0), 500 + np.arange(20.0)])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(theory.broken(values))), [20])
