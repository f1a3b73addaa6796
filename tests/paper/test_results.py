"""Records are found again with their provenance, from anywhere in a clone; damaged ones are named with a remedy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

from insdel_paper import results

TABLE = pd.DataFrame({"pair": [0, 1], "abc": [0.1, 0.2]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path))
    results.save("trial", {"areas": TABLE, "few": TABLE[:1]}, {"command": "insdel record trial", "seconds": 3.5},
                 network=lambda path: path.write_bytes(b"weights"))  # fmt: skip
    return tmp_path


def test_a_record_comes_back_with_its_provenance(folder):
    found, about = results.load("trial")
    pd.testing.assert_frame_equal(found, TABLE)
    pd.testing.assert_frame_equal(results.load("trial", "few")[0], TABLE[:1])
    assert about["command"] == "insdel record trial" and about["files"]["areas.parquet"]["rows"] == 2
    assert {"package", "date", "versions", "hardware"} <= set(about)
    assert results.names() == ["trial"] and results.tables("trial") == ["areas", "few"]
    assert results.exists("trial", "few") and not results.exists("trial", "many") and not results.exists("few")
    assert results.network("trial").read_bytes() == b"weights" and results.check("trial") == 3
    files = ["about.json", "areas.parquet", "few.parquet", "network.safetensors"]
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*")) == [f"trial/{f}" for f in files]


def test_a_new_record_takes_the_place_of_the_old_one(folder):
    results.save("trial", {"areas": TABLE[1:]}, {"command": "again"})
    assert len(results.load("trial")[0]) == 1 and [path.name for path in folder.iterdir()] == ["trial"]
    assert not (folder / "trial" / "few.parquet").exists()
    with pytest.raises(FileNotFoundError, match="no network"):
        results.network("trial")


def test_what_is_missing_is_named(folder):
    with pytest.raises(FileNotFoundError, match="there is no record 'other' .* there are: trial. .*INSDEL_RESULTS"):
        results.load("other")
    with pytest.raises(FileNotFoundError, match="no table 'many'; it has: areas, few"):
        results.load("trial", "many")


@pytest.mark.parametrize("name", ["areas.parquet", "network.safetensors"])
@pytest.mark.parametrize("how", ["truncated", "foreign", "gone"])
def test_a_damaged_file_is_named_with_its_remedy(folder, name, how):
    path = folder / "trial" / name
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-3])
    elif how == "foreign":
        shutil.copy(folder / "trial" / "few.parquet", path)
    else:
        path.unlink()
    with pytest.raises(results.DamagedRecordError, match=f"{name} is .*git checkout -- results/trial"):
        results.check("trial")
    with pytest.raises(results.DamagedRecordError, match=name):
        results.load("trial") if name.startswith("areas") else results.network("trial")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"files": 3}'])
def test_a_damaged_note_is_named(folder, text):
    (folder / "trial" / "about.json").write_text(text)
    assert results.names() == ["trial"]
    with pytest.raises(results.DamagedRecordError, match="about.json"):
        results.load("trial")


def test_a_killed_writer_leaves_the_old_record(folder):
    def fail(path):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        results.save("trial", {"areas": TABLE[1:]}, {}, network=fail)
    assert len(results.load("trial")[0]) == 2 and results.names() == ["trial"]


@pytest.mark.parametrize("name", results.names())
def test_every_record_of_the_repository_is_sound_and_says_where_it_comes_from(name):
    assert results.check(name)
    assert {"command", "parameters", "data", "seconds", "versions", "hardware"} <= set(results.about(name))


def test_records_are_those_of_the_clone_around_else_of_the_package(tmp_path):
    """Also where the package is a copy without a repository, as after `pip install` from a clone."""
    clone, package = tmp_path / "clone", tmp_path / "site-packages"
    shutil.copytree(ROOT / "results" / "cern_accuracy", clone / "results" / "cern_accuracy")
    (clone / "_toc.yml").touch()
    (clone / "notebooks").mkdir()
    shutil.copytree(ROOT / "src", package, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"), dirs_exist_ok=True)

    def names(folder: Path, path: Path) -> str:
        plain = {key: value for key, value in os.environ.items() if key != "INSDEL_RESULTS"}
        code = "from insdel_paper import results; print(*results.names())"
        run = [sys.executable, "-c", code]
        return subprocess.run(run, cwd=folder, env=plain | {"PYTHONPATH": str(path)}, capture_output=True, text=True,
                              check=True).stdout.strip()  # fmt: skip

    assert names(clone / "notebooks", package) == "cern_accuracy"
    assert names(tmp_path, package) == ""
    assert "bangalore" in names(tmp_path, ROOT / "src").split()


def test_a_page_shows_the_record_where_it_is_wanted_and_there(folder):
    asked = []
    assert results.shown("trial", "live", "recorded", lambda name: asked.append(name) or "record") == "record"
    assert results.shown("trial", "live", "live", asked.append) == "live"
    assert results.shown("nothing", "live", "recorded", asked.append) == "live" and asked == ["trial"]
    with pytest.raises(ValueError, match="evidence must be recorded or live; found 'both'"):
        results.shown("trial", "live", "both", asked.append)
