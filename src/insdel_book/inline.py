"""Run a chapter's cells in this process: no kernel, no page, seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from insdel_book.chapters import Chapter, profile_values
from insdel_book.parameters import check_values


def run_cells(root: Path, chapter: Chapter, values: Mapping[str, Any], profile: str = "smoke") -> dict[str, Any]:
    """Return what the chapter's cells leave behind, with a profile and these values."""
    import matplotlib.pyplot as plt
    import pandas as pd

    parameters = chapter.parameters()
    names = {name: parameter.default for name, parameter in parameters.items()}
    names |= profile_values(root, chapter, profile) | check_values(parameters, values)
    code = [cell for cell in chapter.read().cells if cell.cell_type == "code"]
    names["__name__"] = "chapter"
    with plt.rc_context(), pd.option_context("display.max_colwidth", 50):  # what it sets is its own
        for cell in code[2:]:  # after those that install and set
            try:
                exec(compile(cell.source, chapter.source.name, "exec"), names)
            except Exception as error:
                error.add_note(f"in this cell of {chapter.name}:\n{cell.source}")
                raise
    plt.close("all")
    return names
