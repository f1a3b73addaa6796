"""`insdel doctor`: every line is OK or says what to do, and the lines tell the truth."""

from __future__ import annotations

import shutil
from collections import namedtuple
from importlib.metadata import version
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from conftest import ROOT

from insdel_book import doctor
from insdel_book.doctor import Diagnosis, examine, report
from insdel_paper import data, results


@pytest.fixture
def book(tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book without real data, records and builds."""
    for name in ("INSDEL_DATA", "INSDEL_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path / "results"))
    return tiny_book


def found(book: Path) -> dict[str, Diagnosis]:
    return {finding.what: finding for finding in examine(book)}


def test_every_line_is_ok_or_says_what_to_do(book: Path) -> None:
    lines, healthy = report(book)
    assert healthy
    for line in lines:
        assert line.startswith("OK  ") or (line.startswith("--  ") and "→" in line), line
    what = [line[4:].split(":")[0] for line in lines]
    assert {"Python", "torch", "versions", "device", "data, bangalore", "data, cern", "disk", "time, smoke",
            "time, quick", "time, paper", "browser"} <= set(what)  # fmt: skip


def test_versions_are_compared_with_the_lock(book: Path) -> None:
    assert "no requirements.lock" in found(book)["versions"].found
    good = [f"{name}=={version(name).split('+')[0]}" for name in ("numpy", "torch", "PyYAML")]
    lock = book / "requirements.lock"
    lock.write_text("# exact\n" + "\n".join(good) + "\n")
    assert found(book)["versions"] == Diagnosis("versions", "3 of 3 as in requirements.lock", "", False)
    lock.write_text("\n".join([*good[1:], "numpy==0.1", "no-such-package==3"]) + "\n")
    finding = found(book)["versions"]
    assert finding.found == (f"2 of 4 as in requirements.lock; other versions: numpy {version('numpy')} (lock: 0.1); "
                             "missing: no-such-package")  # fmt: skip
    assert "make setup" in finding.remedy and not finding.needed


def test_missing_packages_are_needed(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "BOOK_PACKAGES", ("papermill", "no-such-package"))
    lines, healthy = report(book)
    assert not healthy and '!!  no-such-package: missing  →  pip install "insdel[book]"' in lines


def test_data_sets_are_listed_one_by_one(book: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "INSDEL_DATA is not set" in found(book)["real data"].found
    simulated = found(book)["data, cern"]
    assert "simulated" in simulated.found and simulated.remedy and not simulated.needed
    entry = {"name": "cern", "found": "/data/dielectron.csv", "sha_ok": True, "get": "download it"}
    monkeypatch.setenv("INSDEL_DATA", str(tmp_path))
    monkeypatch.setattr(data, "available", lambda: [entry])
    assert found(book)["data, cern"] == Diagnosis("data, cern", "real: /data/dielectron.csv", "", False)
    monkeypatch.setattr(data, "available", lambda: [entry | {"sha_ok": False}])
    assert "not the published file" in found(book)["data, cern"].remedy
    monkeypatch.setenv("INSDEL_DATA", str(tmp_path / "nowhere"))
    assert found(book)["real data"].needed and "data, cern" not in found(book)


@pytest.mark.parametrize(("free", "healthy", "short"), [(50, True, ""), (1.5, True, "paper"), (0.2, False, "quick")])
def test_disk(book: Path, monkeypatch: pytest.MonkeyPatch, free: float, healthy: bool, short: str) -> None:
    usage = namedtuple("usage", "free")(free * 2**30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    finding = found(book)["disk"]
    assert f"{free:.1f} GiB free" in finding.found and short in finding.remedy
    assert bool(finding.remedy) == bool(short) and report(book)[1] == healthy


def test_times_come_from_runs_with_the_profiles_own_parameters(book: Path) -> None:
    assert found(book)["time, quick"].found == "not known yet" and "finds out" in found(book)["time, quick"].remedy
    (book / "build" / "cache").mkdir(parents=True)
    for name, profile, seconds in (("01_add-a", "quick", 30), ("01_add-b", "quick, changed", 999),  # a reader's own run
                                   ("01_add-c", "smoke", 7), ("02_draw-d", "quick", 70)):  # fmt: skip
        facts = {"insdel": {"profile": profile, "seconds": seconds}}
        nbformat.write(nbformat.v4.new_notebook(metadata=facts), book / "build" / "cache" / f"{name}.ipynb")
    lines = found(book)
    assert lines["time, quick"].found == "2 min for 2 of 2 chapters"
    assert lines["time, smoke"].found == "7 s for 1 of 2 chapters"
    assert lines["time, paper"].found == "not known yet"


def test_recorded_full_size_runs_count_for_the_paper_profile(book: Path) -> None:
    results.save("bangalore", {"areas": pd.DataFrame({"a": [1.0]})}, {"seconds": 5400.0})
    assert found(book)["time, paper"].found == "not known yet; 1.5 h for the recorded full-size runs"


@pytest.mark.parametrize("file", ["areas.parquet", "about.json"])
def test_damaged_records_and_caches_are_named_not_fatal(book: Path, file: str) -> None:
    table = pd.DataFrame({"profile": ["quick"], "chapter": ["01_add"], "seconds": [1.0]})
    for name in ("bangalore", "cern"):
        results.save(name, {"areas": table}, {"seconds": 5.0})
    assert found(book)["records"] == Diagnosis("records", "2 of 2 sound, 2 files", "", False)
    for name in ("bangalore", "cern"):
        path = results.folder() / name / file
        path.write_bytes(path.read_bytes()[:-9])
    (results.folder() / "cern.parquet").touch()
    cached = book / "build" / "cache" / "01_add-x.ipynb"
    cached.parent.mkdir(parents=True)
    cached.write_text("{")
    lines, healthy = report(book)
    assert not healthy and "OK  records: 0 of 2 sound, 0 files" in lines
    finding = found(book)["record, bangalore"]
    assert file in finding.found and "git checkout -- results/bangalore" in finding.remedy and finding.needed
    assert "cern.parquet" in found(book)["results/"].found


def test_durations_in_words() -> None:
    assert [doctor.in_words(s) for s in (5, 89, 90, 5399, 5400, 36000)] == ["5 s", "89 s", "2 min", "90 min", "1.5 h",
                                                                          "10.0 h"]  # fmt: skip


def test_the_real_repository_can_be_examined() -> None:
    lines = {finding.what: finding for finding in examine(ROOT)}
    assert "as in requirements.lock" in lines["versions"].found
