"""Intervals that hold the truth as often as they promise: the study, and its figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from insdel_paper.studies import coverage


def test_experiments_are_drawn_anew_and_can_be_repeated() -> None:
    found = coverage.samples(3, points=40, seed=1)
    assert found.drop(columns="studentised").equals(coverage.samples(3, points=40, seed=1).drop(columns="studentised")) and found["mean"].nunique() == 3
    assert (found["references"] < 40).all() and (found["most"] > 1).all()
    assert (found["standard error"] > found["naive error"]).all()


def test_coverage_of_known_errors() -> None:
    rng = np.random.default_rng(0)
    drawn = [np.sort(rng.normal(size=99)) for _ in range(4000)]
    found = pd.DataFrame({"mean": rng.normal(size=4000), "standard error": 1.0, "naive error": 0.5, "studentised": drawn})
    held = coverage.covered(found, (0.5, 0.95))
    assert held["standard error"].tolist() == pytest.approx([0.5, 0.95], abs=0.02)
    assert held["naive error"].tolist() == pytest.approx([0.264, 0.673], abs=0.02)
    assert held["studentised"].tolist() == pytest.approx([0.5, 0.95], abs=0.03)


def test_studentised_means_of_pairs_that_share_nothing_are_those_of_a_sample() -> None:
    """Points come in couples that are one observation each: the spread is that of Student's t, however scaled."""
    rng = np.random.default_rng(3)
    values = rng.normal(5, 2, size=60)
    drawn = coverage.studentised(values, np.arange(60), np.arange(60, 120), rng, 2000)
    again = coverage.studentised(9 * values, np.arange(60), np.arange(60, 120), rng_again(3), 2000)
    assert drawn == pytest.approx(again) and np.array_equal(drawn, np.sort(drawn))
    assert abs(drawn.mean()) < 0.15 and 0.8 < drawn.std() < 1.9


def rng_again(seed: int) -> np.random.Generator:
    """The generator after the 60 draws of the values."""
    rng = np.random.default_rng(seed)
    rng.normal(5, 2, size=60)
    return rng


def test_skewed_values_are_covered_less_often_and_studentising_helps() -> None:
    held = {name: coverage.covered(coverage.samples(60, 60, 1, f)).mean() for name, f in coverage.POPULATIONS.items()}
    few, many = held.values()
    assert many["standard error"] < few["standard error"] and many["naive error"] < many["standard error"]
    assert abs(many["studentised"] - np.mean(coverage.LEVELS)) < abs(many["standard error"] - np.mean(coverage.LEVELS))
