"""Code on a page fits its column: 78 characters, 25 lines in a cell that is not folded."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import ROOT

from insdel_book.chapters import Chapter, list_chapters

WIDTH, LINES = 78, 25
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell", "parameters"}
each_chapter = pytest.mark.parametrize("chapter", list_chapters(ROOT), ids=lambda chapter: chapter.name)


def code_cells(chapter: Chapter) -> list[Any]:
    return [cell for cell in chapter.read().cells if cell.cell_type == "code"]


@each_chapter
def test_code_lines_fit_the_column(chapter: Chapter) -> None:
    long = [line for cell in code_cells(chapter) for line in cell.source.splitlines() if len(line) > WIDTH]
    assert not long, f"longer than {WIDTH} characters; break them"


@each_chapter
def test_visible_cells_are_short(chapter: Chapter) -> None:
    visible = [cell for cell in code_cells(chapter) if not FOLDED & set(cell.metadata.get("tags", []))]
    sizes = {cell.source[:60]: sum(bool(line.strip()) for line in cell.source.splitlines()) for cell in visible}
    long = {start: size for start, size in sizes.items() if size > LINES}
    assert not long, f"more than {LINES} lines of code; split them"
