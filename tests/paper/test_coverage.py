"""Intervals that hold the truth as often as they promise: the study, and its figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from insdel_paper import figures
from insdel_paper.studies import coverage


def test_experiments_are_drawn_anew_and_can_be_repeated() -> None:
    found = coverage.samples(3, points=40, seed=1)
    assert found.equals(coverage.samples(3, points=40, seed=1)) and found["mean"].nunique() == 3
    assert (found["references"] < 40).all() and (found["most"] > 1).all()
    assert (found["standard error"] > found["naive error"]).all()


def test_coverage_of_known_errors() -> None:
    means = np.random.default_rng(0).normal(size=4000)
    found = pd.DataFrame({"mean": means, "standard error": 1.0, "naive error": 0.5})
    held = coverage.covered(found, (0.5, 0.95))
    assert held["standard error"].tolist() == pytest.approx([0.5, 0.95], abs=0.02)
    assert held["naive error"].tolist() == pytest.approx([0.264, 0.673], abs=0.02)


def test_the_figure_shows_both_errors_and_the_promise() -> None:
    held = pd.DataFrame({"standard error": [0.5, 0.9], "naive error": [0.4, 0.7]}, index=[0.5, 0.9])
    (panel,) = figures.experiment_coverage(held).axes
    promise, known, naive = panel.lines
    assert list(known.get_ydata()) == [0.5, 0.9] and list(naive.get_ydata()) == [0.4, 0.7]
    assert np.array_equal(promise.get_xdata(), promise.get_ydata()) and not plt.get_fignums()
