"""The race of estimators: everyone gets the same game and budget, and goes on where a killed race was."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conftest import load_benchmark

import insdel

pytest.importorskip("shapiq", reason="the extra `bench` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
D, BUDGET = 9, 120


@pytest.fixture(scope="module")
def estimators() -> ModuleType:
    return load_benchmark("estimators")


@pytest.fixture(scope="module")
def lattice() -> insdel.Lattice:
    """A game with interactions of two players at most: regressions of second order are exact on it."""
    rng = np.random.default_rng(4)
    alone, together = rng.normal(size=D), np.triu(rng.normal(size=(D, D)), 1)
    return insdel.Lattice.evaluate(lambda z: z @ alone + ((z @ together) * z).sum(axis=1), np.zeros(D), np.ones(D))


def test_the_lookup_is_the_game(estimators: ModuleType, lattice: insdel.Lattice) -> None:
    masks = np.random.default_rng(5).random((20, D)) < 0.5
    expected = [lattice.values[sum(1 << j for j in np.flatnonzero(row))] for row in masks]
    assert np.array_equal(estimators.lookup(lattice)(masks), expected)


def test_who_is_exact_on_a_game_of_second_order(estimators: ModuleType, lattice: insdel.Lattice) -> None:
    size = estimators.Size(pairs=1, seeds=1)
    for who in ("insdel", *filter(estimators.is_here, estimators.PEERS)):
        [row] = estimators.errors(who, [lattice], BUDGET, size)
        assert row["who"] == who and row["budget"] == BUDGET and row["version"]
        exact = who == "insdel" or "order 2, paired" in who
        assert not exact or row["error"] < 1e-9, who
        assert row["error"] < 10, who


def test_budgets_that_cover_the_cube_are_no_race(estimators: ModuleType, lattice: insdel.Lattice) -> None:
    assert list(estimators.errors("insdel", [lattice], 2**D, estimators.Size())) == []


def test_nobody_is_asked_for_that_is_not_installed(estimators: ModuleType) -> None:
    assert estimators.is_here("insdel") and estimators.is_here("shap KernelExplainer")
    assert estimators.is_here("shapiq KernelSHAP, paired") and not estimators.is_here("shapiq NoSuchSHAP, order 2")


def test_a_race_goes_on_with_those_who_were_not_there(
    estimators: ModuleType, lattice: insdel.Lattice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimators, "lattices_of", lambda *_: [lattice])
    monkeypatch.setattr(estimators, "PEERS", {who: estimators.PEERS[who] for who in ("shapiq KernelSHAP", "shapiq SVARM")})
    size = estimators.Size(1, 0, 1, (BUDGET,))
    monkeypatch.setattr(estimators, "is_here", lambda who: "SVARM" not in who)
    first = estimators.race(size, tmp_path, only=1)
    assert first["who"].tolist() == ["insdel", "shapiq KernelSHAP"]
    monkeypatch.setattr(estimators, "is_here", lambda _: True)
    again = estimators.race(size, tmp_path, only=1)
    assert again["who"].tolist() == ["insdel", "shapiq KernelSHAP", "shapiq SVARM"]
    assert again["seconds"].tolist()[:2] == first["seconds"].tolist()  # they did not run again
