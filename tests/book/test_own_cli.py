"""`insdel run your_own` from a folder of the reader's own: mistakes are told before a kernel starts."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from conftest import ROOT, insdel

from insdel_book.cli import main
from insdel_book.clone import clone


def test_the_clone_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert clone() == ROOT
    assert main(["run", "your_own", "--list"]) == 0
    assert "csv = None" in capsys.readouterr().out


def test_a_clone_around_the_current_folder_comes_first(tiny_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_book / "book")
    assert clone() == tiny_book


HOUSES = "<<<<<<< HEAD\nPrice,Area\n=======\n"
FLATS = "area,rooms,price\n" + "".join(f"{30 + i / 7:.2f},{1 + i % 4},{3 * i % 17}\n" for i in range(40))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["your_own", "-p", "csv", "none.csv", "-p", "target", "price"], "there is no file"),
        (["your_own", "-p", "csv", "flats.csv"], "needs target"),
        (["your_own", "-p", "csv", "flats.csv", "-p", "target", "prize"], "the columns are: area, rooms, price"),
        (["your_own", "-p", "csv", "flats.csv", "-p", "target", "price", "-p", "drop", "x"], "has no column x"),
        (["your_own", "-p", "target", "price"], "target needs csv"),
        (["your_own", "-p", "model", "short.safetensors"], "announces a header"),
        (["your_own", "-p", "model", "tree"], "file.py:name"),
        (["your_own", "-p", "n_rows", "0"], "at least 4; found '0'"),
        (["your_own", "-p", "n_rows", "4", "-p", "n_rows", "5"], "given twice"),
        (["bangalore", "-p", "path", "houses.csv"], "resolve the merge"),
        (["cern", "-p", "scheduler", "tcp://127.0.0.1:1"], "no scheduler answers"),
        (["images", "-p", "photo", "houses.csv"], "cannot be read as a picture"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_before_anything_runs(tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "flats.csv").write_text(FLATS)
    (tmp_path / "houses.csv").write_text(HOUSES)
    (tmp_path / "short.safetensors").write_bytes((10**10).to_bytes(8, "little") + b"{}")
    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = insdel(tmp_path, "run", *arguments)
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (ROOT / "runs" / arguments[0]).exists()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - started < 2  # seconds of CPU time
