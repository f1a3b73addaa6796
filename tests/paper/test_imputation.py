"""Draws given the kept features, and what can be read of a mask off filled rows."""

from __future__ import annotations

import numpy as np
import pytest

from insdel_paper import data
from insdel_paper.studies.roar import imputation, mask_reader
from insdel_paper.studies.roar.imputation import Copula


@pytest.fixture(scope="module")
def correlated() -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3)) @ np.linalg.cholesky([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1.0]]).T
    return np.column_stack([x, x[:, 0] > 0.5]).astype(np.float32)


def test_kept_features_stay_and_drawn_ones_follow_the_conditional_distribution(correlated: np.ndarray) -> None:
    """Jointly normal columns: given x0, column x1 has mean 0.8 x0 and variance 1 − 0.64."""
    mask = np.zeros(correlated.shape, dtype=bool)
    mask[:, 1] = True
    filled = Copula.of(correlated[:, :3]).draw(correlated[:, :3], mask[:, :3], seed=1)
    assert (filled[~mask[:, :3]] == correlated[:, :3][~mask[:, :3]]).all()
    slope = np.polyfit(correlated[:, 0], filled[:, 1], 1)[0]
    assert slope == pytest.approx(0.8, abs=0.04)
    assert (filled[:, 1] - slope * correlated[:, 0]).std() == pytest.approx(0.6, abs=0.03)
    assert set(filled[:, 1]) <= set(correlated[:, 1]), "draws are values that training rows have"


def test_with_everything_removed_the_whole_distribution_is_drawn(correlated: np.ndarray) -> None:
    filled = Copula.of(correlated).draw(correlated, np.ones(correlated.shape, dtype=bool), seed=2)
    assert np.corrcoef(filled[:, 0], filled[:, 1])[0, 1] == pytest.approx(0.8, abs=0.04)
    assert filled[:, 3].mean() == pytest.approx(correlated[:, 3].mean(), abs=0.03)
    assert abs(np.corrcoef(filled[:, 0], correlated[:, 0])[0, 1]) < 0.05, "nothing of the row is left"
    again = Copula.of(correlated).draw(correlated, np.ones(correlated.shape, dtype=bool), seed=2)
    assert (filled == again).all()


def test_what_follows_from_kept_features_of_an_event_is_computed() -> None:
    split = data.split(data.load("cern", "simulated", n=400))
    mask = np.zeros(split.x_test.shape, dtype=bool)
    mask[:, [split.names.index(name) for name in ("px1", "py1", "E1", "pz2", "Q1")]] = True
    known, left = imputation.deduce(split.x_test, mask, split)
    assert [name for name, column in zip(split.names, left.T, strict=True) if column.any()] == ["Q1"]
    assert np.abs(known - split.x_test)[~left].max() < 1e-3
    everything, nothing = imputation.deduce(split.x_test, np.ones_like(mask), split)
    assert nothing.all() and (everything == split.x_test).all()


def test_a_mask_is_read_off_means_but_not_off_draws(correlated: np.ndarray) -> None:
    """Random masks depend on no row: off draws nobody should read them better than by guessing."""
    x, rng = correlated[:, :3], np.random.default_rng(3)
    places = rng.permuted(np.tile(np.arange(3), (len(x), 1)), axis=1)
    mask = places == 0
    half = len(x) // 2
    named = {}
    for what, filled in {
        "mean": np.where(mask, 0.123, x).astype(np.float32),
        "draw": Copula.of(x[:half]).draw(x, mask, seed=4),
    }.items():
        read = mask_reader.read_mask(filled[:half], mask[:half], filled[half:])[1]
        assert (read.sum(axis=1) == 1).all()
        named[what] = mask_reader.named(read, mask[half:])
    assert named["mean"] > 0.95
    assert named["draw"] < 0.45 and mask_reader.named_by_habit(mask[:half], mask[half:]) == pytest.approx(1 / 3, abs=0.05)
