"""The import graph: which chapters an edit of the package runs again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from insdel_book.chapters import list_chapters
from insdel_book.imports import OPTIONS, Graph

TEXTS = {chapter.name[3:]: chapter.source.read_text(encoding="utf-8") for chapter in list_chapters(ROOT)}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "src"
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return folder


def changed_by(package: Path, file: str) -> set[str]:
    """The chapters whose hash of the code changes when a line is added to a file."""
    path, graph = package / file, Graph(package)
    before = {name: graph.hash(graph.of_chapter(text)) for name, text in TEXTS.items()}
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    return {name for name, text in TEXTS.items() if graph.hash(graph.of_chapter(text)) != before[name]}


def test_an_edited_exercise_runs_one_chapter(package: Path) -> None:
    assert changed_by(package, "insdel_book/course/exercises/walk.py") == {"exercises"}


def test_the_lattice_runs_those_that_use_it(package: Path) -> None:
    changed = changed_by(package, "insdel/lattice.py")
    assert {"shuffle", "shapley_is_not_best", "bangalore", "best_order"} <= changed and "data" not in changed


def test_what_all_chapters_go_through_runs_all(package: Path) -> None:
    assert changed_by(package, "insdel_book/run.py") == set(TEXTS)
    assert changed_by(package, "insdel_book/build.py") == set()


def test_data_of_the_package_counts(package: Path) -> None:
    changed = changed_by(package, "insdel_paper/data/bangalore.json")
    assert {"data", "bangalore"} <= changed and "walk" not in changed


def test_the_graph_knows_at_least_what_python_loads() -> None:
    """Whatever the first cells of a chapter really import of the package, the graph names."""
    graph = Graph(ROOT / "src")
    for name in ("walk", "bangalore", "your_own"):
        cells = TEXTS[name].split("```{code-cell} ipython3\n")[4]  # the imports
        source = OPTIONS.sub("", cells.split("```")[0])
        code = f"import sys\n{source}\nprint(*[m for m in sys.modules if m.startswith('insdel')])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        loaded = set(done.stdout.split()) & set(graph.files)
        unused = graph.closure(graph.lazy["insdel_paper.figures"].values())  # figures that other chapters draw
        assert loaded - unused <= graph.of_chapter(TEXTS[name]) | set(graph.lazy), name
        assert len(loaded - unused) > 3


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import insdel\ninsdel.curve", "insdel.curves"),
        ("import insdel as i\ni.policies.average", "insdel.policies"),
        ("import insdel\nhelp(insdel)", "insdel.lattice"),  # handed on as a whole: all of it
        ("import insdel_paper\ninsdel_paper.table('x')", "insdel_paper.printed"),
        ("def f():\n    from insdel_paper import figures\n    figures.walk", "insdel_paper.figures.theory"),
        ("from insdel import explain", "insdel.attribution"),
        ("name = 'insdel_book.course.grading'", "insdel_book.course.grading"),
    ],
)
def test_forms_of_imports(source: str, found: str) -> None:
    assert found in Graph(ROOT / "src").imports(source)


def test_a_cell_that_cannot_be_read_depends_on_everything() -> None:
    graph = Graph(ROOT / "src")
    assert graph.of_chapter("```{code-cell} ipython3\nif (:\n```\n") == set(graph.files)
