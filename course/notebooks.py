"""The course: student and teacher notebooks, both made from the solved exercises.

Cells carry nbgrader's metadata, so that a teacher's notebook can be put into nbgrader's `source` folder; what
nbgrader releases from it to students is what is written here as the student's notebook.
"""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from course.exercises import CHAPTERS, EXERCISES, TOPICS, Exercise, draw
from course.exercises.base import BEGIN
from insdel.errors import RunError, UserError
from insdel_book.jobs import stopped_kernels
from insdel_book.twins import FETCH, KERNEL

KINDS = ("student", "teacher")
SETUP = """\
from collections.abc import Callable, Sequence
from itertools import combinations, permutations, product

import numpy as np

import insdel
from insdel.examples import game
from insdel.plots import use_style
from insdel_book.course import load_course

exercises = load_course("exercises")
check, draw, example = exercises.check, exercises.draw, exercises.example
use_style()"""
INSTALL = f"""\
# Colab and the like: get the course and install the package. Does nothing where it is installed.
import importlib.util

if importlib.util.find_spec("insdel") is None:
    {FETCH}

"""
HOW = """\
Each exercise asks for one function. Write it where it says `YOUR CODE HERE`, run the cell, then run the check below it.
The check tries your function on several cases and tells you what is wrong; change your code until it is content.
To see what your function returns for the example that is shown, run `name(*example("name"))` in a new cell.
"""


def topic_exercises(topic: str) -> list[Exercise]:
    """Return the exercises of one notebook, in their order."""
    return [exercise for exercise in EXERCISES.values() if exercise.topic == topic]


def notebook(topic: str, solved: bool, address: str | None = None) -> Any:
    """Return the notebook of a topic, not executed, with solutions for teachers or without for students.

    address : of the repository from which Colab installs the package; None to leave that out
    """
    from nbformat.v4 import new_notebook

    number = list(TOPICS).index(topic) + 1
    chapters = dict.fromkeys(CHAPTERS[exercise.chapter] for exercise in topic_exercises(topic))
    title = f"# {number} {TOPICS[topic]}\n\n{HOW}\nThe chapters behind it: {'; '.join(chapters)}."
    setup = (INSTALL.format(address=address, commit="HEAD") if address else "") + SETUP
    cells = [_cell("markdown", f"{topic}-title", title), _cell("code", f"{topic}-setup", setup)]
    for place, exercise in enumerate(topic_exercises(topic), start=1):
        cells += exercise_cells(exercise, f"{number}.{place}", solved)
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})


def exercise_cells(exercise: Exercise, number: str, solved: bool) -> list[Any]:
    """Return the cells of one exercise: question, answer, check, and the figure of the answer if it has one."""
    name = exercise.name
    code = with_mistakes(exercise) if solved else exercise.starter
    cells = [question(exercise, number), _cell("code", name, code, locked=False, solution=True)]
    cells += [_cell("code", f"{name}-check", f'check("{name}", {name})', grade=True, points=exercise.points)]
    if exercise.figure is not None:
        cells += [_cell("code", f"{name}-figure", f'draw("{name}", {name})')]
    return cells


def question(exercise: Exercise, number: str) -> Any:
    """Return the cell with the question, a case with its result, and the figure that a right answer draws."""
    points = f"{exercise.points} point{'s' if exercise.points > 1 else ''}"
    text = f"## {number} {exercise.title} ({points})\n\n{exercise.prompt}\n\n"
    text += f"Chapter: *{CHAPTERS[exercise.chapter]}*. One case, and what it should give:\n\n"
    text += f"```text\n{exercise.expected}\n```"
    if exercise.figure is None:
        return _cell("markdown", f"{exercise.name}-question", text)
    text += "\n\nYour answer, drawn, should look like this:\n\n![What a right answer draws](attachment:expected.png)"
    cell = _cell("markdown", f"{exercise.name}-question", text)
    cell["attachments"] = {"expected.png": {"image/png": picture(exercise.name)}}
    return cell


@cache
def picture(name: str) -> str:
    """Return the figure that the solution of an exercise draws, as a PNG in base64."""
    import matplotlib.pyplot as plt

    from insdel_paper.figures import STYLE

    file = BytesIO()
    with plt.style.context(STYLE):
        draw(name, EXERCISES[name].solution).savefig(file, format="png", dpi=90, metadata={"Software": None})
    return base64.b64encode(file.getvalue()).decode("ascii")


def with_mistakes(exercise: Exercise) -> str:
    """Return the solved source with the mistakes that the check recognises as comments, inside the marks."""
    known = "\n".join(f"# - {message}" for message in exercise.task.mistakes)
    indent = " " * (exercise.source.index(BEGIN) - exercise.source.rindex("\n", 0, exercise.source.index(BEGIN)) - 1)
    note = textwrap.indent(f"# The check recognises these mistakes:\n{known}\n", indent)
    return exercise.source.replace(f"{BEGIN}\n", f"{BEGIN}\n{note}")


def _cell(
    kind: str,
    grade_id: str,
    source: str,
    grade: bool = False,
    locked: bool = True,
    solution: bool = False,
    points: int | None = None,
) -> Any:
    """Return a cell with nbgrader's metadata, version 3 of its schema."""
    from nbformat.v4 import new_code_cell, new_markdown_cell

    facts: dict[str, Any] = {"grade": grade, "grade_id": grade_id, "locked": locked, "solution": solution}
    facts |= {"schema_version": 3, "task": False, "cell_type": kind} | ({"points": points} if grade else {})
    make = new_markdown_cell if kind == "markdown" else new_code_cell
    return make(source, id=grade_id, metadata={"nbgrader": facts})


def execute(solved: Any) -> Any:
    """Run a teacher's notebook, so that it shows its checks pass; a check that fails is an error."""
    from papermill import PapermillExecutionError

    from insdel_book.run import run_notebook  # loads more than the exercises need

    try:
        with stopped_kernels(1) as pool:  # in the main thread nbclient would take Ctrl-C for itself
            solved = pool.submit(run_notebook, solved, Path.cwd()).result()
    except PapermillExecutionError as error:
        raise RunError(f"a solution of the course fails: {error.ename}: {error.evalue}") from None
    solved.metadata["language_info"] = {"name": "python"}
    return solved


def refuse_edited(path: Path, made: Any) -> None:
    """Refuse to write over a notebook that somebody has worked in: its cells are not those that would be written."""
    import nbformat

    if not path.exists():
        return
    try:
        cells = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    except Exception:  # no notebook at all, so not ours
        cells = []
    if cells != [cell.source for cell in made.cells]:
        raise UserError(f"{path} is not as it was written: somebody's work, or of another version of the course. "
                        "It is never overwritten. Move it, or name another folder with -o.")  # fmt: skip


def write_course(folder: Path, address: str | None = None, log: Callable[[str], None] = print) -> list[Path]:
    """Write `student/` and `teacher/` notebooks of all topics into a folder and return their paths."""
    import nbformat

    written = []
    numbered = list(enumerate(TOPICS, start=1))
    made = {folder / kind / f"{number:02d}_{topic}.ipynb": notebook(topic, kind == "teacher", address)
            for number, topic in numbered for kind in KINDS}  # fmt: skip
    for path, one in made.items():
        refuse_edited(path, one)
    for number, topic in numbered:
        for path in (folder / kind / f"{number:02d}_{topic}.ipynb" for kind in KINDS):
            path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(execute(made[path]) if path.parent.name == "teacher" else made[path], path)
            written.append(path)
        log(f"{TOPICS[topic]}: {len(topic_exercises(topic))} exercises, all solutions pass")
    return written
