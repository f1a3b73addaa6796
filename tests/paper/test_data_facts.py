"""Facts about the data files, on files of known content, and the recorded ones."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from insdel_paper import results
from insdel_paper.data import bangalore, load
from insdel_paper.data.physics import identities
from insdel_paper.records.registry import RUNS
from insdel_paper.records.run import carry_out
from insdel_paper.studies import data_facts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files of the real ones' form: 60 houses, 20 of them incomplete and one a copy, and simulated events."""
    folder = tmp_path_factory.mktemp("data")
    homes = load("bangalore", "simulated", n=40)
    rows = homes.features.assign(Price=(homes.target * bangalore.UNIT).round().astype(int), Location="here")
    rows.iloc[-1] = rows.iloc[0]
    empty = rows.iloc[:20].copy()
    empty[list(bangalore.AMENITIES)] = bangalore.MISSING
    columns = ["Price", "Area", "Location", *bangalore.NAMES[1:]]
    pd.concat([rows, empty])[columns].to_csv(folder / data_facts.BANGALORE, index=False)
    events = load("cern", "simulated", n=50)
    events.features.assign(M=events.target).to_csv(folder / data_facts.CERN, index=False)
    pd.DataFrame({"M": [2.0, 3.0, 10.0]}).to_csv(folder / data_facts.MASS_LIST, index=False)
    return folder


def value(table: pd.DataFrame, fact: str) -> float:
    return float(table.set_index("fact")["value"][fact])


def test_facts_of_known_files(folder: Path) -> None:
    table = data_facts.collect(folder)
    assert value(table, "records") == 60 and value(table, "complete rows") == 40
    assert value(table, "a fifth of the complete rows, rounded up") == 8
    assert value(table, "columns beside the price") == 39 and value(table, "duplicates among the complete rows") >= 1
    assert value(table, "share of records that miss more than 90 % of the amenities") == pytest.approx(1 / 3)
    assert value(table, "mean residual of px = pt cos φ") < 1e-6 < value(table, "mean residual of pt = px cos φ")
    assert value(table, "largest mass (GeV)") == 10 and value(table, "distinct complete rows") == 3
    assert value(table, "mean residual of the mass formula") < 1e-3
    assert value(table, "100,000 rows less 85 without M, less a fifth") == 79_932
    assert value(table, "distinct complete rows less a fifth, rounded up") == 2
    events = pd.read_csv(folder / data_facts.CERN)
    for name, off in identities({column: events[column].to_numpy(float) for column in events}).items():
        assert value(table, f"largest residual: {name}") == off.max()


def test_differing_share_is_that_of_all_pairs() -> None:
    values = np.array([1, 1, 1, -1, -1])
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    assert data_facts.differing_share(values) == pytest.approx(np.mean([values[a] != values[b] for a, b in pairs]))


def test_accuracy_by_mass() -> None:
    true = np.array([5.0, 6, 105, 106])
    table = data_facts.accuracy(true, true + np.array([1, 3, -2, -4]))
    assert table["error"].tolist() == [2, -3] and table["events"].tolist() == [2, 2]
    assert table["low"].tolist() == [2, 100] and table["high"].tolist() == [20, 110]
    every = data_facts.accuracy(*[np.array([3.0, 30, 50, 70, 85, 95, 105])] * 2)
    assert every["low"].tolist() == [2, 20, 40, 60, 80, 90, 100]


def test_record_and_missing_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("INSDEL_DATA", str(folder))
    carry_out(RUNS["data_facts"])
    table, about = results.load("data_facts")
    assert about["command"] == "insdel record data_facts" and set(about["data"]["sha256"]) == set(os.listdir(folder))
    assert len(table) > 20
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("INSDEL_DATA", str(tmp_path / "empty"))
    with pytest.raises(FileNotFoundError, match="missing: Bangalore.csv"):
        carry_out(RUNS["data_facts"])
    monkeypatch.delenv("INSDEL_DATA")
    with pytest.raises(FileNotFoundError, match="INSDEL_DATA"):
        carry_out(RUNS["data_facts"])


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("INSDEL_DATA"), reason="needs INSDEL_DATA")
def test_the_recorded_facts_are_those_of_the_real_files() -> None:
    recorded, _ = results.load("data_facts")
    pd.testing.assert_frame_equal(data_facts.collect(Path(os.environ["INSDEL_DATA"])), recorded, rtol=1e-6)
