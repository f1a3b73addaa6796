"""How open and how long each chapter is: `python tools/page_table.py` prints a line per chapter.

Lines are lines of code that are neither blank nor a comment; imports, the parameter cell and the two cells that every
chapter begins with are not counted. Hidden are folded and removed cells: those that draw a figure, those that only put
numbers into sentences (glue), and the rest.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from insdel_book.chapters import Chapter, list_chapters

ROOT = Path(__file__).resolve().parents[1]
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
SKELETON = ("# Colab and the like", "from insdel_book.parameters import")
COLUMNS = ("chapter", "visible", "figures", "glue", "other hidden", "longest line", "minutes")


def code_lines(source: str) -> list[str]:
    """Lines of a cell that are neither blank nor a comment nor an import."""
    source = re.sub(r"^(from \S+ )?import (\([^)]*\)|.*)$", "", source, flags=re.MULTILINE)
    return [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def kind(cell: Any) -> str:
    """Which column the lines of a code cell belong to; "" for the cells of the skeleton."""
    tags = set(cell.metadata.get("tags", []))
    if "parameters" in tags or cell.source.startswith(SKELETON):
        return ""
    if not tags & HIDDEN:
        return "visible"
    if "figure" in cell.metadata.get("mystnb", {}):
        return "figures"
    return "glue" if "remove-cell" in tags and "glue(" in cell.source else "other hidden"


def row(chapter: Chapter) -> list[str]:
    """One chapter's line of the table."""
    cells = chapter.read().cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    lines = {name: sum(len(code_lines(cell.source)) for cell in code if kind(cell) == name) for name in COLUMNS[1:5]}
    longest = max(len(line) for cell in code for line in cell.source.splitlines())
    minutes = round(words / 200 + lines["visible"] / 20)
    return [chapter.name, *map(str, lines.values()), str(longest), str(minutes)]


def main() -> None:
    """Print the table, in Markdown."""
    rows = [list(COLUMNS), ["---", *["---:"] * (len(COLUMNS) - 1)], *map(row, list_chapters(ROOT))]
    print("\n".join(f"| {' | '.join(line)} |" for line in rows))


if __name__ == "__main__":
    main()
