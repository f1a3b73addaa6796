"""Long work shows how far it is: which cell of how many, and the time left."""

from __future__ import annotations

import json
import time
from pathlib import Path

import nbformat
import pytest

from insdel_book import jobs
from insdel_book.chapters import list_chapters
from insdel_book.run import execute


def test_in_a_log_a_line_now_and_then(tiny_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(job: jobs.Job, threads: int) -> float:
        job.on_cell_start(2, 3)
        time.sleep(1.5)
        return 1.5

    monkeypatch.setattr(jobs.Job, "run", run)
    monkeypatch.setattr(jobs, "EVERY", 0.3)
    monkeypatch.setattr(jobs, "last_times", lambda *_: [0.0, 0.75, 1.5])  # the second cell began halfway
    lines: list[str] = []
    jobs.run_jobs([jobs.Job(list_chapters(tiny_book)[0], {}, "quick", tiny_book / "x.ipynb")], 1, lines.append)
    assert lines[-1] == "01_add: 1.5 s (1 of 1)"
    assert lines[0].startswith(" 50 %, 00:00 so far, about 00:00 left, 01_add: cell 2 of 3")


def test_the_last_run_is_found_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    facts = {"profile": "quick", "cells": [0.1, 2.0], "seconds": 5.0}
    nbformat.write(nbformat.v4.new_notebook(metadata={"insdel": facts}), tmp_path / "01_add-1.ipynb")
    (tmp_path / "01_add-2.ipynb").write_text("{")
    assert jobs.last_times(tmp_path, "01_add", "quick") == [0.1, 2.0, 5.0]
    assert jobs.last_times(tmp_path, "01_add", "paper") == [10.0] == jobs.last_times(tmp_path, "02_draw", "quick")


def test_a_chapter_tells_its_cells(tiny_book: Path) -> None:
    places: list[tuple[int, int]] = []
    here = Path.cwd()

    def note(*place: int) -> None:
        assert Path.cwd() == here, "chapters run in threads, which share the folder that the process is in"
        places.append(place)

    notebook = execute(list_chapters(tiny_book)[0], {"count": 2}, "smoke", note)
    assert "working in ./notebooks" in json.dumps(notebook.cells)
    # five cells, and the one that names the modules
    assert places == [(number, 6) for number in range(1, 7)]
    assert len(notebook.metadata.insdel.cells) == 6 and "sys.modules" not in json.dumps(notebook.cells)
