"""Every chapter follows the skeleton of notebooks/README.md, and its two files agree."""

from __future__ import annotations

import ast
import re
from functools import cache

import nbformat
import pytest
import yaml
from conftest import CHECK, ROOT, SETUP

from insdel_book.chapters import PROFILES, Chapter, list_chapters, profile_values
from insdel_book.twins import KERNEL, twin

CHAPTERS = list_chapters(ROOT)
FIRST_APPENDIX = 31  # numbers from here: details of a chapter, which has the exercises
WIDTH, LINES = 78, 25  # of code, in a cell that is not folded
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell", "parameters"}
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)


def without_address(source: str) -> str:
    """A first cell may install from a repository's address instead of the folder above."""
    return re.sub(r"!git clone -q https://github\.com/.*", '%pip install -q "..[book]"', source, flags=re.DOTALL)


@each_chapter
def test_md_and_ipynb_agree_and_no_output_is_stored(chapter: Chapter) -> None:
    stored = nbformat.read(chapter.source.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(stored)
    made = twin(chapter)
    for key in ("cell_type", "source", "metadata"):
        found = [without_address(cell[key]) if key == "source" else cell[key] for cell in stored.cells]
        assert found == [cell[key] for cell in made.cells], "out of step: run `insdel sync`"
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert stored.metadata == {"kernelspec": KERNEL, "language_info": {"name": "python"}}


@each_chapter
def test_first_code_cells_install_set_and_check(chapter: Chapter) -> None:
    first, second, third = [cell for cell in chapter.read().cells if cell.cell_type == "code"][:3]
    assert first.metadata.tags == ["remove-cell"]
    assert first.source in SETUP and "%pip install" in first.source
    assert second.metadata.tags == ["parameters"]
    assert third.metadata.tags == ["remove-cell"] and third.source in CHECK and "check_parameters()" in third.source


@each_chapter
def test_parameters_have_comments_and_profiles_fit(chapter: Chapter) -> None:
    parameters = chapter.parameters()
    assert parameters and all(parameter.meaning for parameter in parameters.values())
    for parameter in parameters.values():
        assert parameter.range.validate_python(parameter.default) == parameter.default, "a default must lie in its own range"
    for profile in PROFILES:
        profile_values(ROOT, chapter, profile)


def test_profiles_name_existing_chapters_only() -> None:
    profiles = yaml.safe_load((ROOT / "notebooks" / "profiles.yml").read_text(encoding="utf-8")) or {}
    assert set(profiles) <= {path.stem for path in (ROOT / "notebooks").glob("*.md")}
    assert all(set(sets) <= set(PROFILES) for sets in profiles.values())


@each_chapter
def test_text_follows_the_skeleton(chapter: Chapter) -> None:
    text = chapter.source.read_text(encoding="utf-8")
    assert re.search(r"^\([\w-]+\)=\n# \S", text, re.MULTILINE), "needs a label before its title"
    assert re.search(r"^## Summary", text, re.MULTILINE)
    if int(chapter.name[:2]) >= FIRST_APPENDIX:
        assert "{ref}`" in text, "an appendix names its chapter"
        return
    assert "## Exercises" in text
    exercises = len(re.findall(r"\{exercise(?:-start)?\}", text))
    solutions = len(re.findall(r"\{solution(?:-start)?\}", text))
    assert exercises >= 2 and solutions >= exercises


@each_chapter
def test_readers_predict_before_they_see(chapter: Chapter) -> None:
    text, number = chapter.source.read_text(encoding="utf-8"), int(chapter.name[:2])
    needed = 2 if 1 <= number <= 20 else 1 if number in (0, 21) else 0  # the others are questions all over
    assert text.count(":::{admonition} Predict first\n:class: seealso\n") >= needed


@each_chapter
def test_glue_keys_begin_with_the_chapter(chapter: Chapter) -> None:
    others = [key for other in CHAPTERS if other != chapter for key in glue_keys(other)]
    assert not glue_keys(chapter) & set(others), "keys are shared by the whole book"


@cache
def glue_keys(chapter: Chapter) -> frozenset[str]:
    """Keys of numbers in the prose that a chapter's code sets, as far as they are written out."""
    code = "\n".join(cell.source for cell in chapter.read().cells if cell.cell_type == "code" and "%pip" not in cell.source)
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) and node.args]
    named = [(getattr(call.func, "id", ""), getattr(call.args[0], "value", ""), call) for call in calls]
    keys = {first for name, first, _ in named if name == "glue" and first}
    for name, first, call in named:
        if name == "glue_numbers" and first:
            keys |= {f"{first}-{word.arg.replace('_', '-')}" for word in call.keywords if word.arg}
    return frozenset(keys)


@each_chapter
def test_code_on_a_page_fits_its_column(chapter: Chapter) -> None:
    for cell in [cell for cell in chapter.read().cells if cell.cell_type == "code"]:
        lines = [line for line in cell.source.splitlines() if line.strip()]
        assert max(map(len, lines)) <= WIDTH, f"longer than {WIDTH} characters; break it:\n{cell.source}"
        if not FOLDED & set(cell.metadata.get("tags", [])):
            assert len(lines) <= LINES, f"more than {LINES} lines of code; split them:\n{cell.source}"


def test_every_chapter_is_listed() -> None:
    written = {path.stem for path in (ROOT / "notebooks").glob("[0-9]*.md")}
    assert {chapter.name for chapter in CHAPTERS} == written
