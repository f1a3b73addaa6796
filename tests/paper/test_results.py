"""Records are found again with their provenance."""

import pandas as pd
import pytest

from insdel.paper import results


def test_a_record_comes_back_with_its_provenance(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path))
    table = pd.DataFrame({"pair": [0, 1], "abc": [0.1, 0.2]})
    results.save("trial", table, {"command": "make paper", "seconds": 3.5})
    found, provenance = results.load("trial")
    pd.testing.assert_frame_equal(found, table)
    assert provenance["command"] == "make paper" and provenance["rows"] == 2
    assert {"package", "date", "versions", "hardware"} <= set(provenance)
    assert results.names() == ["trial"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trial.json", "trial.parquet"]


def test_a_missing_record_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there is no record 'trial'"):
        results.load("trial")


def test_every_record_of_the_repository_says_where_it_comes_from():
    for name in results.names():
        table, provenance = results.load(name)
        assert len(table) == provenance["rows"]
        assert {"command", "parameters", "data", "seconds", "versions", "hardware"} <= set(provenance), name
