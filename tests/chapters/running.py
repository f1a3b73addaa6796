"""Run a chapter's cells in this process: no kernel, no page, seconds."""

from __future__ import annotations

from conftest import ROOT

from insdel_book import chapters


def run_cells(chapter: chapters.Chapter, **values: object) -> dict:
    """What the chapter's cells leave behind, with the smoke profile and these values."""
    return chapters.run_cells(ROOT, chapter, values)
