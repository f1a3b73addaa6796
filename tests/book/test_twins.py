"""The notebooks for Colab and Binder, and the address that they install from."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from insdel_book.chapters import list_chapters
from insdel_book.twins import last_commit, repository_address, sync, twin


@pytest.fixture(autouse=True)
def no_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INSDEL_REPOSITORY", raising=False)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("someone/fork", "https://github.com/someone/fork"),
        ("https://github.com/someone/fork.git", "https://github.com/someone/fork"),
        ("git@github.com:someone/fork.git", "https://github.com/someone/fork"),
        ("ssh://git@github.com/someone/my.fork", "https://github.com/someone/my.fork"),
        ("https://example.org/someone/fork", None),
        ("/a/folder/of/mine", None),
    ],
)
def test_address_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, address: str) -> None:
    monkeypatch.setenv("INSDEL_REPOSITORY", text)
    assert repository_address(tmp_path) == address


def test_address_comes_from_the_remote(tmp_path: Path) -> None:
    assert repository_address(tmp_path) is None
    remote = ["remote", "add", "origin", "git@github.com:me/mine.git"]
    for words, address in ((["init", "-q"], None), (remote, "https://github.com/me/mine")):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
        assert repository_address(tmp_path) == address


def test_sync_writes_what_changed_and_is_deterministic(tiny_book: Path) -> None:
    chapters = list_chapters(tiny_book)
    assert [path.name for path in sync(tiny_book, chapters)] == ["01_add.ipynb", "02_draw.ipynb"]
    before = (tiny_book / "notebooks" / "01_add.ipynb").read_bytes()
    assert sync(tiny_book, chapters) == []
    source = chapters[1].source
    source.write_text(source.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    assert [path.name for path in sync(tiny_book, chapters)] == ["02_draw.ipynb"]
    assert (tiny_book / "notebooks" / "01_add.ipynb").read_bytes() == before


def test_twins_are_valid_and_know_their_address(tiny_book: Path) -> None:
    chapter = list_chapters(tiny_book)[0]
    plain, filled = (nbformat.writes(twin(chapter, address)) for address in (None, "https://github.com/me/mine"))
    nbformat.validate(nbformat.reads(filled, as_version=4))
    assert '\\"..[book]\\"' in plain
    assert "git clone -q https://github.com/me/mine insdel-book" in filled and '"..[book]' not in filled
    ids = [cell.id for cell in nbformat.reads(plain, as_version=4).cells]
    assert len(set(ids)) == len(ids)


def test_without_a_package_the_first_cell_clones_at_the_commit_installs_and_moves_in(
    tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Colab: an empty folder, no package; the repository moves on after the notebook was made."""

    def git(*words: str) -> str:
        plain = ["git", "-C", str(tiny_book), "-c", "user.name=me", "-c", "user.email=me@example.org", *words]
        return subprocess.run(plain, check=True, capture_output=True, text=True).stdout.strip()

    (tiny_book / "results").mkdir()
    (tiny_book / "results" / "record").write_text("old")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    commit = last_commit(tiny_book)
    assert commit == git("rev-parse", "HEAD")
    (tiny_book / "notebooks" / "01_add.md").write_text("prose")
    git("commit", "-qam", "prose alone")
    assert last_commit(tiny_book) == commit
    (tiny_book / "results" / "record").write_text("new")
    git("commit", "-qam", "second")
    cell = twin(list_chapters(tiny_book)[1], str(tiny_book), commit).cells[1]
    code, installed = TransformerManager().transform_cell(cell.source), []

    class Shell:
        def system(self, command: str) -> None:
            subprocess.run(command, shell=True, check=True)

        def run_line_magic(self, name: str, line: str) -> None:
            installed.append((name, line))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    exec(code, {"get_ipython": Shell})
    assert installed == [("pip", 'install -q "./insdel-book[book]"')]
    assert Path.cwd() == tmp_path / "insdel-book" / "notebooks"
    assert (Path.cwd().parent / "results" / "record").read_text() == "old"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    for start in (tmp_path, tmp_path / "insdel-book" / "notebooks"):  # a kernel that was started again; run twice
        monkeypatch.chdir(start)
        exec(code, {"get_ipython": Shell})
        assert Path.cwd() == tmp_path / "insdel-book" / "notebooks" and len(installed) == 1
