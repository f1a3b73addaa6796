"""Notebooks for students and teachers: nbgrader's rules, no solution given away, every teacher's cell runs."""

from __future__ import annotations

import base64
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import psutil
import pytest
from conftest import ROOT
from course import notebooks
from course.exercises import EXERCISES, TOPICS
from course.exercises.grading import STUB

from insdel.errors import UserError
from insdel_book import slides

topics = pytest.mark.parametrize("topic", TOPICS)

YES_OR_NO = {"type": "boolean"}
NBGRADER_3 = {  # nbgrader's metadata of a cell, version 3, as nbgrader/nbgraderformat/v3.json has it
    "type": "object",
    "properties": {
        "schema_version": {"type": "integer", "minimum": 3, "maximum": 3},
        "grade": YES_OR_NO,
        "locked": YES_OR_NO,
        "solution": YES_OR_NO,
        "task": YES_OR_NO,
        "grade_id": {"type": "string", "pattern": r"^[a-zA-Z0-9_\-]*$"},
        "points": {"type": "number", "minimum": 0},
        "checksum": {"type": "string", "minLength": 32, "maxLength": 32},
        "cell_type": {"type": "string", "enum": ["raw", "code", "markdown"]},
    },
    "required": ["schema_version", "grade", "locked", "solution"],
    "additionalProperties": False,
}


def facts(cell: Any) -> dict[str, Any]:
    return dict(cell.metadata.nbgrader)


def cleared(source: str) -> str:
    """What nbgrader makes of a solution cell: the stub, indented, in place of each marked region."""
    lines, inside = [], False
    for line in source.split("\n"):
        if line.strip() == "### BEGIN SOLUTION":
            inside = True
            lines += [line[: line.index("#")] + stub for stub in STUB.split("\n")]
        elif line.strip() == "### END SOLUTION":
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


@topics
def test_every_cell_follows_nbgraders_schema_and_each_exercise_has_its_cells(topic: str) -> None:
    for solved in (False, True):
        notebook = notebooks.notebook(topic, solved)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            found = facts(cell)
            jsonschema.validate(found, NBGRADER_3)
            assert found["cell_type"] == cell.cell_type and not found["task"]
            assert found["grade_id"], "needed where a cell is graded, locked or a solution"
            assert ("points" in found) == found["grade"], "points where there is a grade, and only there"
            if cell.cell_type == "markdown":
                assert found["grade"] == found["solution"], "nbgrader refuses Markdown that is only one of them"
        cells = {facts(cell)["grade_id"]: cell for cell in notebook.cells}
        for one in notebooks.topic_exercises(topic):
            answer, checked, question = (cells[f"{one.name}{part}"] for part in ("", "-check", "-question"))
            assert facts(answer)["solution"] and not facts(answer)["locked"] and not facts(answer)["grade"]
            assert facts(checked)["locked"] and facts(checked)["points"] == one.points
            assert checked.source == f'check("{one.name}", {one.name})'
            assert one.prompt in question.source and one.expected in question.source
            assert (f"{one.name}-figure" in cells) == ("attachments" in question) == (one.figure is not None)
            for files in question.get("attachments", {}).values():
                assert base64.b64decode(files["image/png"]).startswith(b"\x89PNG")


def test_ids_are_unique_in_the_whole_course() -> None:
    ids = [facts(cell)["grade_id"] for topic in TOPICS for cell in notebooks.notebook(topic, False).cells]
    assert len(set(ids)) == len(ids)


@topics
def test_students_get_what_nbgrader_would_release_and_no_solution(topic: str) -> None:
    student, teacher = (notebooks.notebook(topic, solved) for solved in (False, True))
    assert [cleared(cell.source) for cell in teacher.cells] == [cell.source for cell in student.cells]
    assert [cell.metadata for cell in teacher.cells] == [cell.metadata for cell in student.cells]
    source = "\n".join(cell.source for cell in student.cells)
    for one in EXERCISES.values():
        for line in one.body.splitlines():
            assert len(line.strip()) <= 12 or line.strip() not in source, (one.name, line)
        assert not any(message in source for message in one.task.mistakes)


@topics
def test_teachers_get_solutions_that_pass_and_mistakes(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    solved = notebooks.notebook(topic, True).cells
    for cell in solved:
        if cell.cell_type == "code":
            exec(cell.source, space)
    passed = re.findall(r"^(\w+): right, in all", capsys.readouterr().out, re.MULTILINE)
    assert passed == [one.name for one in notebooks.topic_exercises(topic)]
    cells = {facts(cell)["grade_id"]: cell.source for cell in solved}
    for one in notebooks.topic_exercises(topic):
        assert all(f"# - {message}" in cells[one.name] for message in one.task.mistakes)


def test_a_kernel_shows_the_student_words_instead_of_a_traceback() -> None:
    """In a real kernel: no answer yet, then a wrong one, then the solution."""
    from nbclient import NotebookClient

    student = notebooks.notebook("parts", False)
    student.cells = student.cells[:5]
    code = [cell for cell in student.cells if cell.cell_type == "code"]
    for attempt in ("def dividend(values, u):\n    return 0.0", EXERCISES["dividend"].solved):
        student.cells += [nbformat.v4.new_code_cell(attempt), nbformat.v4.new_code_cell(code[-1].source)]
    NotebookClient(student, timeout=120, kernel_name="python3", allow_errors=True, shutdown_kernel="immediate").execute()
    empty, wrong, right = (student.cells[k].outputs[-1] for k in (4, 6, 8))
    assert empty.ename == wrong.ename == "WrongAnswer"
    words = "dividend, not yet: there is no answer yet. Write yours in place of `raise NotImplementedError()`."
    assert " ".join(" ".join(empty.traceback).split()) == words
    assert "needed       25" in "\n".join(wrong.traceback) and "File" not in "\n".join(wrong.traceback)
    assert right.text == "dividend: right, in all 6 cases.\n"


def test_a_solution_that_fails_stops_the_course() -> None:
    broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("raise ValueError('seven')")])
    with pytest.raises(RuntimeError, match="a solution of the course fails: ValueError: seven"):
        notebooks.execute(broken)


def test_the_course_is_written_and_what_was_written_here_may_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebooks, "execute", lambda solved: solved)
    said: list[str] = []
    written = notebooks.write_course(tmp_path, "https://github.com/me/mine", said.append)
    assert {str(path.relative_to(tmp_path)) for path in written} == {
        f"{kind}/{k:02d}_{topic}.ipynb" for kind in ("student", "teacher") for k, topic in enumerate(TOPICS, start=1)
    }
    for path in written:
        stored = nbformat.read(path, as_version=4)
        nbformat.validate(stored)
        assert ("BEGIN SOLUTION" in path.read_text(encoding="utf-8")) == (path.parent.name == "teacher")
        assert "git clone -q https://github.com/me/mine insdel-book" in stored.cells[1].source
    assert len(said) == len(TOPICS)
    assert notebooks.write_course(tmp_path, "https://github.com/me/mine", said.append) == written


def test_the_command_writes_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., str]
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(notebooks, "write_course", lambda folder, address, log: asked.append(folder) or [folder / "a"])
    monkeypatch.setattr(slides, "build_slides", lambda root, *rest: asked.append(rest[:3]) or [rest[0] / "b"])
    said = command(f"course -o {tmp_path}", folder=ROOT)
    assert said.split() == [str(tmp_path / "a"), str(tmp_path / "slides" / "b")]
    assert "found 'nope'" in command("course --lectures nope", 2)
    command("course --only notebooks")
    command("course --only slides --lectures walk best --profile smoke")
    here = ROOT / "build" / "course"
    assert asked == [
        tmp_path, (tmp_path / "slides", None, "quick"), here, (here / "slides", ["walk", "best"], "smoke")
    ]  # fmt: skip


GUIDE = ROOT / "book" / "course.md"


def test_the_guide_names_exercises_that_exist_and_each_day_has_one_notebook() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    lesson = text.split("## A lesson of 90 minutes")[1].split("\n## ")[0]
    used = re.findall(r"exercises? ((?:`\w+`(?:, | and )?)+)", lesson)
    assert used and all(name in EXERCISES for group in used for name in re.findall(r"`(\w+)`", group))
    rows = re.findall(r"^\| \d \|.*$", text.split("## A week")[1], re.MULTILINE)
    for row, (number, topic) in zip(rows, enumerate(TOPICS, start=1), strict=True):
        assert f"| {number} |" in row and f"`{number:02d}_{topic}`" in row
        named = [name for name in re.findall(r"`(\w+)`", row) if name in EXERCISES]
        assert named == [one.name for one in notebooks.topic_exercises(topic)]


def test_a_solved_notebook_is_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "execute", lambda _: pytest.fail("it ran"))
    topic = next(iter(notebooks.TOPICS))
    path = tmp_path / "student" / f"01_{topic}.ipynb"
    path.parent.mkdir()
    solved = notebooks.notebook(topic, False)
    next(cell for cell in solved.cells if "YOUR CODE HERE" in cell.source).source = "my own answer"
    nbformat.write(solved, path)
    for text in (path.read_text(), "notes of my own"):
        path.write_text(text)
        with pytest.raises(UserError, match="never overwritten"):
            notebooks.write_course(tmp_path)
        assert path.read_text() == text


def test_an_interruption_ends_the_kernel_and_is_one(tmp_path: Path) -> None:
    """nbclient takes Ctrl-C for itself in the main thread, and answers with 40 lines."""
    code = f"import time\nfrom pathlib import Path\nPath({str(tmp_path / 'begun')!r}).touch()\ntime.sleep(600)"
    sleeping = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])

    def interrupt() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        notebooks.execute(sleeping)
    assert not [child for child in psutil.Process().children(recursive=True) if "ipykernel" in " ".join(child.cmdline())]
