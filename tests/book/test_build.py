"""The pipeline: what runs again, what fails, and that a failure leaves the old book alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, insdel, make_tiny_book

from insdel_book.build import launch_options, publish, typeset
from insdel_book.cache import chapter_key, code_hash, folder_hash, run_facts
from insdel_book.chapters import list_chapters


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package whose code may be edited."""
    folder = tmp_path_factory.mktemp("src")
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"), dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Path:
    """The tiny book, built once."""
    root = make_tiny_book(tmp_path_factory.mktemp("book") / "tiny")
    done = build(root, package)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == str(root / "build" / "book" / "index.html")
    assert "01_add: unchanged" not in done.stdout
    return root


def build(root: Path, package: Path, *arguments: str):
    return insdel(root, "book", "--profile", "smoke", *arguments, PYTHONPATH=str(package), INSDEL_REPOSITORY="me/mine")


def page(root: Path, name: str = "notebooks/01_add") -> str:
    return (root / "build" / "book" / f"{name}.html").read_text(encoding="utf-8")


def test_the_page_shows_the_profile_and_what_was_computed(book: Path) -> None:
    text = page(book)
    assert 'The total is <span class="pasted-text">0.5</span>' in text
    assert "injected-parameters" not in text and str(book) not in text
    assert "working in ./notebooks" in text
    status = BeautifulSoup(page(book, "book/status"), "html.parser").get_text()
    assert all(fact in status for fact in ("smoke", "simulated", "made up", "count = 2"))


def test_published_notebooks_name_the_repository_and_no_machine(book: Path) -> None:
    text = (book / "build" / "book" / "_sources" / "notebooks" / "01_add.ipynb").read_text(encoding="utf-8")
    assert "git clone -q https://github.com/me/mine" in text
    assert '"papermill"' not in text and "injected-parameters" not in text and str(book) not in text
    assert nbformat.reads(text, as_version=4).metadata.insdel.parameters.count == 2
    staged = {path.name for path in (book / "build" / "stage" / "notebooks").iterdir()}
    assert staged == {"01_add.ipynb", "02_draw.ipynb"}, "executed notebooks alone"


@pytest.mark.slow
def test_failures_leave_the_old_book(book: Path, package: Path) -> None:
    source = book / "notebooks" / "01_add.md"
    good, before = source.read_text(encoding="utf-8"), folder_hash(book / "build" / "book")
    try:
        source.write_text(good + "\n```{code-cell} ipython3\nlost = 1\nlost / 0\n```\n", encoding="utf-8")
        failed = build(book, package)
        assert failed.returncode == 1
        message = "01_add.md, code cell 6 failed:\n    lost = 1\n    lost / 0\n  ZeroDivisionError: division by zero"
        assert message in failed.stderr
        assert "Traceback" not in failed.stderr
        source.write_text(good + "\nSee {ref}`nowhere`.\n", encoding="utf-8")
        broken = build(book, package)
        assert broken.returncode == 1 and "undefined label: 'nowhere'" in broken.stderr
    finally:
        source.write_text(good, encoding="utf-8")
    assert folder_hash(book / "build" / "book") == before


@pytest.mark.slow
def test_edited_code_runs_the_chapters_that_use_it(book: Path, package: Path) -> None:
    for name in ("lattice", "plots"):  # used by neither, and by the one that draws
        code = package / "insdel" / f"{name}.py"
        code.write_text(code.read_text(encoding="utf-8") + "\n# one more line\n", encoding="utf-8")
    again = build(book, package)
    assert again.returncode == 0, again.stderr
    assert "01_add: unchanged" in again.stdout and "02_draw: unchanged" not in again.stdout


def test_the_kernel_tells_which_modules_a_chapter_depends_on(book: Path) -> None:
    paths = {path.name[:6]: path for path in (book / "build" / "cache").glob("*.ipynb")}
    add, draw = (set(run_facts(paths[name])["modules"]) for name in ("01_add", "02_dra"))
    assert {"insdel_book.chapters", "insdel_book.run"} <= add & draw
    assert "insdel.plots" in draw - add and "insdel_book.build" not in add | draw


def test_data_of_a_package_counts_and_a_file_that_changed_meanwhile_is_no_basis(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    folder.mkdir()
    for name in ("__init__.py", "one.py", "table.yml"):
        (folder / name).touch()
    names = ["course", "course.one"]
    hashes = [code_hash(tmp_path, names)]
    for name in ("one.py", "table.yml"):
        (folder / name).write_text("more")
        hashes.append(code_hash(tmp_path, names))
    assert len(set(hashes)) == 3 and code_hash(tmp_path, ["course.one"]) != hashes[-1]
    assert code_hash(tmp_path, names, since=0.0) == "" and code_hash(tmp_path, names, since=4e9) == hashes[-1]


def test_each_part_of_the_key_counts(tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter, other = list_chapters(tiny_book)
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "downloads"))
    monkeypatch.delenv("INSDEL_DATA", raising=False)
    text = chapter.source.read_text(encoding="utf-8")
    keys = [chapter_key(*part, tiny_book) for part in ((chapter, {}), (other, {}), (chapter, {"count": 1}))]
    monkeypatch.setenv("INSDEL_DATA", str(tmp_path / "data"))
    changes = [(tmp_path / "data" / "rows.csv", "1"), (tmp_path / "data" / "rows.csv", "2"),
               (tiny_book / "results" / "table.csv", "1"), (chapter.source, f"{text}\n")]  # fmt: skip
    for path, content in changes:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        keys.append(chapter_key(chapter, {}, tiny_book))
    assert len(set(keys)) == len(keys)
    assert keys[-1] == chapter_key(chapter, {}, tiny_book)


def test_publishing_replaces_the_old_pages(tmp_path: Path) -> None:
    for name, text in (("old", "1"), ("new", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.html").write_text(text, encoding="utf-8")
    target = publish(tmp_path / "new", tmp_path / "old")
    assert [path.name for path in target.iterdir()] == ["new.html"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]


def test_no_address_no_buttons(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch_options(None) == {}
    monkeypatch.setenv("INSDEL_BRANCH", "draft")
    options = launch_options("https://github.com/me/mine")
    assert options["repository"] == {"url": "https://github.com/me/mine", "branch": "draft", "path_to_book": ""}


def test_a_draft_counts_references_that_lead_out_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remarks = "a.ipynb:1: WARNING: undefined label: 'walk'\n"
    remarks += "b.ipynb:2: WARNING: duplicate name\nc: WARNING: label 'x' not found\n"
    done = subprocess.CompletedProcess([], 0, "", remarks)
    monkeypatch.setattr("insdel_book.build.subprocess.run", lambda *_, **__: done)
    said: list[str] = []
    typeset(tmp_path, False, said.append)
    assert said[0] == "b.ipynb:2: WARNING: duplicate name"
    assert said[1].startswith("2 references to chapters that are not part") and len(said) == 2
