"""`insdel run your_own` from a folder of the reader's own: paths are meant from there, and the clone is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT

from insdel.book.cli import _clone, main, parser, user_values


def given(*arguments: str) -> dict[str, str]:
    pairs = [part for name, value in zip(arguments[::2], arguments[1::2], strict=True) for part in ("-p", name, value)]
    return user_values(parser().parse_args(["run", "your_own", *pairs]))


def test_files_are_meant_from_the_callers_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("flats.csv", "mine.py", "my.safetensors"):
        (tmp_path / name).touch()
    assert given("csv", "flats.csv", "target", "price") == {"csv": str(tmp_path / "flats.csv"), "target": "price"}
    assert given("model", "mine.py:model") == {"model": f"{tmp_path / 'mine.py'}:model"}
    assert given("model", "my.safetensors") == {"model": str(tmp_path / "my.safetensors")}


def test_what_is_no_file_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forest").mkdir()
    for value in ("forest", "network", "sklearn.svm:SVR", "other.py:model"):
        assert given("model", value) == {"model": value}
    assert given("csv", "none.csv") == {"csv": "none.csv"}


def test_the_clone_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert _clone() == ROOT
    assert main(["run", "your_own", "--list"]) == 0
    assert "csv = None" in capsys.readouterr().out


def test_a_clone_around_the_current_folder_comes_first(tiny_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_book / "book")
    assert _clone() == tiny_book
