"""Run a chapter's cells in this process: no kernel, no page, seconds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from conftest import ROOT

from insdel.book.chapters import Chapter, profile_values
from insdel.book.parameters import check_values


def run_cells(chapter: Chapter, **values: object) -> dict:
    """What the chapter's cells leave behind, with the smoke profile and these values."""
    parameters = chapter.parameters()
    chosen = {name: parameter.default for name, parameter in parameters.items()}
    chosen |= profile_values(ROOT, chapter, "smoke") | check_values(parameters, values)
    code = [cell for cell in chapter.read().cells if cell.cell_type == "code"]
    names: dict = {**chosen, "__name__": "chapter"}
    with plt.rc_context(), pd.option_context("display.max_colwidth", 50):  # what it sets is its own
        for cell in code[2:]:  # after those that install and set
            try:
                exec(compile(cell.source, chapter.source.name, "exec"), names)
            except Exception as error:
                error.add_note(f"in this cell of {chapter.name}:\n{cell.source}")
                raise
    plt.close("all")
    return names
