"""Run a chapter's cells in this process: no kernel, no page, seconds."""

from __future__ import annotations

from conftest import ROOT

from insdel_book import inline
from insdel_book.chapters import Chapter


def run_cells(chapter: Chapter, **values: object) -> dict:
    """What the chapter's cells leave behind, with the smoke profile and these values."""
    return inline.run_cells(ROOT, chapter, values)
