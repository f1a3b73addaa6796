"""Tasks of remove and retrain: their rows and columns, and that a killed recording ends in the same record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from insdel_paper import data, networks, results
from insdel_paper.networks import stacked
from insdel_paper.records.registry import RUNS
from insdel_paper.records.run import carry_out
from insdel_paper.studies.roar import removal, tables, tasks

ROWS, SMALL = 120, {"epochs": 1, "replicates": 2, "samples": 64}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path / "results"))
    return tmp_path


@pytest.mark.parametrize("name", tasks.TASKS)
def test_every_task_has_rows_and_a_plan(name: str) -> None:
    dataset, split = tasks.load(name, 200, source="simulated")
    assert dataset.source == "simulated" and len(dataset.features) == 200
    plan = tasks.plan(name)
    assert plan.replicates == 5 and plan.fractions in (removal.FRACTIONS, (0.1, 0.3, 0.5))
    assert split.x_train.shape[1] == len(dataset.names)
    small = tasks.plan(name, **SMALL)
    assert (small.recipe.epochs, small.replicates, small.samples) == (1, 2, 64)


def test_the_papers_tasks_have_the_papers_networks() -> None:
    for name in ("bangalore", "cern"):
        plan = tasks.plan(name)
        assert (plan.hyper, plan.recipe) == networks.choose(name)
        assert set(plan.rankings) == set(removal.RANKINGS)
    assert tasks.TASKS["bangalore"].source == "real"


def test_everything_follows_from_the_independent_columns() -> None:
    """The eight dropped ones, and the target, are functions of the eight kept ones."""
    full = data.load("cern", "simulated", n=300)
    kept, _ = tasks.load("cern_independent", 300)
    assert kept.names == tasks.INDEPENDENT and len(kept.names) == 8
    assert kept.binary == ("Q1", "Q2") and set(kept.standardise) == set(kept.names)
    for i in "12":
        pt, eta, phi = (kept.features[f"{name}{i}"] for name in ("pt", "eta", "phi"))
        np.testing.assert_allclose(full.features[f"px{i}"], pt * np.cos(phi), atol=1e-9)
        np.testing.assert_allclose(full.features[f"py{i}"], pt * np.sin(phi), atol=1e-9)
        np.testing.assert_allclose(full.features[f"pz{i}"], pt * np.sinh(eta), atol=1e-9)
        np.testing.assert_allclose(full.features[f"E{i}"], pt * np.cosh(eta), rtol=1e-6)


def test_correlated_columns_are_dropped() -> None:
    dataset, split = tasks.load("bangalore_independent", 600, source="simulated")
    correlation = np.abs(np.corrcoef(split.x_train.astype(float).T)) - np.eye(len(dataset.names))
    assert correlation.max() <= tasks.CORRELATION
    assert dataset.names[0] == "Area" and 10 < len(dataset.names) < 38
    whole = data.split(data.load("bangalore", "simulated", n=600))
    np.testing.assert_array_equal(split.test, whole.test)  # the same rows are held out


def test_a_column_that_never_varies_is_dropped() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    features = pd.DataFrame({"a": values[:, 0], "same": 1.0, "copy": values[:, 0], "b": values[:, 1]})
    names = tuple(features)
    split = data.split(data.Dataset("t", features, features["b"], names, (), ("a",), "simulated", {}))
    assert tasks.uncorrelated(split) == ("a", "b")
    assert tasks.redundancy(split)["copy"] == pytest.approx(1)
    assert tasks.redundancy(split)["b"] < 0.2


def test_planted_rows_and_their_copies() -> None:
    once, twice = (tasks.planted(500, copies) for copies in (1, 2))
    assert once.names[:2] == ("x1", "x2") and len(once.names) == 12 and len(set(twice.names)) == 24
    np.testing.assert_array_equal(once.target, twice.target)
    np.testing.assert_array_equal(twice.features.to_numpy()[:, :12], twice.features.to_numpy()[:, 12:])
    noise = once.target - once.features.to_numpy() @ tasks.planted_weights()
    assert noise.std() == pytest.approx(tasks.PLANTED_NOISE, rel=0.1)


def test_a_recording_is_the_table_of_its_run(folder: Path, monkeypatch) -> None:
    calls, real = [], stacked.fit
    monkeypatch.setattr(stacked, "fit", lambda *given, **options: calls.append(1) or real(*given, **options))
    said: list[str] = []
    path = carry_out(RUNS["roar_planted_copied"], {"rows": ROWS, **SMALL}, log=said.append)
    text = "\n".join(said)
    assert "cells left" in text and "64 samples" in text and "50 steps" in text
    monkeypatch.setenv("INSDEL_RESULTS", str(path.parent))
    table, about = results.load("roar_planted_copied")
    plan = tasks.plan("planted_copied", **SMALL)
    assert len(calls) == len(removal.cells(plan)) - 1  # fraction 0 needs no stack
    whole = removal.run(tasks.load("planted_copied", ROWS)[1], plan)
    pd.testing.assert_frame_equal(table, whole.astype({"removed": "int16", "replicate": "int16"}))
    assert about["command"] == "insdel record roar_planted_copied -p rows 120 -p epochs 1 -p replicates 2 -p samples 64"
    assert about["parameters"]["threads"] == 1 and about["seconds"] > 0
    assert "120 simulated rows" in tables.describe_record(about)


def test_misuse_is_told() -> None:
    with pytest.raises(ValueError, match="there is no task"):
        tasks.find("boston")
