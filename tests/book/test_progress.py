"""Long work tells: which cell of how many, and the time left."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from insdel_book import progress as p
from insdel_book.chapters import list_chapters
from insdel_book.run import execute


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(p.time, "monotonic", lambda: now[0])
    return now


def test_in_a_log_a_line_now_and_then(clock: list[float]) -> None:
    said: list[str] = []
    progress = p.Progress(said.append, io.StringIO(), every=30)
    progress.begin("12_cern", [0.0, 10.0, 60.0, 100.0])
    for second in range(0, 100):
        clock[0] = float(second)
        if second == 20:
            progress.courses["12_cern"].enter(2, 3)
        progress.tick()
    # the second cell began after 20 s, last time after 10: twice as slow, so 200 s in all
    assert said == [
        "12_cern: cell 2 of 3, 30 s so far, about 3 min left",
        "12_cern: cell 2 of 3, 60 s so far, about 2 min left",
        "12_cern: cell 2 of 3, 2 min so far, about 2 min left",
    ]
    progress.end("12_cern", "12_cern: done")
    assert said[-1] == "12_cern: done" and not progress.courses


def test_on_a_terminal_a_bar(clock: list[float]) -> None:
    stream = Terminal()
    progress = p.Progress(lambda _: None, stream)
    progress.begin("01_walk")
    progress.courses["01_walk"].enter(6, 10)
    clock[0] = 1.0
    progress.tick()
    shown = stream.getvalue()
    assert "[##########..........] 01_walk: cell 6 of 10, 1 s so far" in shown and "\n" not in shown


def test_nobody_knows_how_long_a_first_run_takes_and_a_slow_one_says_so(clock: list[float]) -> None:
    assert p.Course().left() is None
    clock[0] = 50.0
    course = p.Course([0.0, 20.0], begun=0.0)
    assert course.left() == 0 and p.describe("a", course).endswith("longer than last time")


def test_the_last_run_is_found_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    facts = {"profile": "quick", "cells": [0.1, 2.0], "seconds": 5.0}
    (tmp_path / "01_add-1.ipynb").write_text(json.dumps({"metadata": {"insdel": facts}}))
    (tmp_path / "01_add-2.ipynb").write_text("{")
    assert p.last_course(tmp_path, "01_add", "quick") == [0.1, 2.0, 5.0]
    assert p.last_course(tmp_path, "01_add", "paper") == [] == p.last_course(tmp_path, "02_draw", "quick")


def test_a_chapter_tells_its_cells(tiny_book: Path) -> None:
    told: list[tuple[int, int]] = []
    notebook = execute(list_chapters(tiny_book)[0], {"count": 2}, "smoke", lambda *place: told.append(place))
    assert told == [(number, 6) for number in range(1, 7)]  # five cells and the one that papermill puts in
    assert len(notebook.metadata.insdel.cells) == 6
