"""The command line: what users type, and what they are told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, insdel

from insdel.errors import UserError
from insdel_book import build
from insdel_book.chapters import find_chapter, list_chapters
from insdel_book.cli import main


def test_outside_a_clone(tmp_path: Path) -> None:
    done = insdel(tmp_path, "book")
    assert done.returncode == 2 and "Traceback" not in done.stderr and "_toc.yml" in done.stderr


def test_run_writes_notebook_and_page(tiny_book: Path) -> None:
    done = insdel(tiny_book, "run", "add", "-p", "count", "5", "-p", "words", "x,y", "-o", "runs/mine")
    assert done.returncode == 0, done.stderr
    notebook, page = (Path(line) for line in done.stdout.splitlines()[-2:])
    assert notebook == tiny_book / "runs" / "mine" / "01_add.ipynb"
    values = nbformat.read(notebook, as_version=4).metadata.insdel.parameters
    assert values["count"] == 5 and values["words"] == ["x", "y"] and values["scale"] == 0.5
    text = page.read_text(encoding="utf-8")
    assert 'The total is <span class="pasted-text">5.0</span>' in text
    assert not (tiny_book / "build" / "book").exists()
    again = insdel(tiny_book, "run", "add", "-o", "runs/mine")
    assert again.returncode == 2 and "never overwritten" in again.stderr


def test_data_and_doctor_say_what_there_is(
    tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., str]
) -> None:
    monkeypatch.delenv("INSDEL_DATA", raising=False)
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path))
    said = command("data", folder=tiny_book)
    assert "bangalore:" in said and "cern:" in said and said.count("simulated") == 2
    said = command("doctor")
    assert "OK  papermill" in said and "INSDEL_DATA is not set" in said
    monkeypatch.setenv("INSDEL_DATA", str(tiny_book / "nowhere"))
    assert "!!  real data" in command("doctor", 1)


@pytest.mark.parametrize(
    ("arguments", "evidence"),
    [
        ("", None),  # as in the book
        ("-p n_pairs 50", "live"),  # whoever changes a number wants to see what it does
        ("-p n_pairs 50 -p evidence recorded", "recorded"),
    ],
)
def test_figures_show_the_run_of_whoever_changes_a_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., str], arguments: str, evidence: str | None
) -> None:
    seen = {}

    def run_one(root, chapter, values, *_):
        seen.update(values)
        return tmp_path / "notebook", tmp_path / "page"

    monkeypatch.setattr("insdel_book.build.run_one", run_one)
    command(f"run cern {arguments} -o {tmp_path}")
    assert seen.get("evidence") == evidence


@pytest.mark.parametrize(("given", "source"), [({}, "simulated"), ({"path": "mine.csv"}, None)])
def test_a_file_of_the_user_wins_over_the_data_of_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], source: str | None
) -> None:
    seen = {}

    def run_chapters(root, chapters, values, profile, **_):
        seen.update(values["11_bangalore"], profile=profile)
        raise UserError("enough")

    monkeypatch.setattr(build, "run_chapters", run_chapters)
    with pytest.raises(UserError, match="enough"):
        build.run_one(ROOT, find_chapter(list_chapters(ROOT), "bangalore"), given, lambda: tmp_path, "smoke", print)
    assert seen.get("source") == source and seen.get("path") == given.get("path")
    assert seen["profile"] == ("smoke, changed" if given else "smoke")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(ZeroDivisionError("lost"), 1, "please report it"), (UserError("give it a name"), 2, "insdel: give it a name\n"),
     (OSError(28, "No space left on device"), 1, "insdel: [Errno 28] No space left on device\n")],
)  # fmt: skip
def test_a_defect_shows_its_traceback_and_a_users_mistake_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: int, words: str
) -> None:
    monkeypatch.setattr("insdel_book.doctor.report", lambda _: (_ for _ in ()).throw(error))
    assert main(["doctor"]) == code
    message = capsys.readouterr().err
    assert message == words or ("Traceback" in message and words in message)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "cern", "--list"], ["data"]])
def test_questions_are_answered_without_anything_heavy(arguments: list[str]) -> None:
    code = f"import sys; from insdel_book.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
    code += "print([name for name in ('torch', 'matplotlib', 'jupytext', 'papermill') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
