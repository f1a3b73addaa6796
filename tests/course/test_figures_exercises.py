"""Figures of the exercises: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from course.exercises import figures


def test_lines_are_drawn_with_their_labels_and_markers_for_few_points() -> None:
    figure = figures.exercise_lines([1, 2, 3], {"a": [4, 5, 6], "b": [1, 1, 1]}, "size", "place")
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.lines] == ["a", "b"] and axes.get_xlabel() == "size"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [4, 5, 6])
    assert axes.lines[0].get_marker() == "o"
    many = figures.exercise_lines(np.arange(50), {"a": np.arange(50)}, "size", "place")
    assert many.axes[0].lines[0].get_marker() == "" and not plt.get_fignums()


def test_errors_stand_beside_their_labels_first_on_top() -> None:
    axes = figures.exercise_errors(["paired", "unpaired"], [1.0, 1.0], [0.1, 0.5], "difference").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["paired", "unpaired"]
    assert list(axes.get_yticks()) == [1, 0]
    lengths = [np.ptp(part[:, 0]) for part in axes.collections[0].get_segments()]
    np.testing.assert_allclose(lengths, [0.2, 1.0])


def test_pictures_have_their_titles() -> None:
    figure = figures.exercise_pictures({"grey": np.eye(3), "colour": np.zeros((3, 3, 3))})
    assert [axes.get_title() for axes in figure.axes] == ["grey", "colour"]
    assert figure.axes[0].images[0].get_array().shape == (3, 3)
