"""`insdel run your_own` from a folder of the reader's own: mistakes are told before a kernel starts."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from conftest import ROOT, insdel

from insdel_book.cli import main
from insdel_book.course import clone


def test_the_clone_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert clone() == ROOT
    assert main(["run", "your_own", "--list"]) == 0
    assert "csv = None" in capsys.readouterr().out


def test_a_clone_around_the_current_folder_comes_first(tiny_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_book / "book")
    assert clone() == tiny_book


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["your_own", "-p", "csv", "none.csv", "-p", "target", "price"], "there is no file"),
        (["your_own", "-p", "model", "short.safetensors"], "announces a header"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_before_anything_runs(tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "short.safetensors").write_bytes((10**10).to_bytes(8, "little") + b"{}")
    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = insdel(tmp_path, "run", *arguments)
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (ROOT / "runs" / arguments[0]).exists()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - started < 2  # seconds of CPU time
