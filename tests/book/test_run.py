"""What is taken out of an executed notebook and what is put in; how far long work is."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import nbformat
import pytest

from insdel_book import jobs
from insdel_book.chapters import RECORD, list_chapters, record
from insdel_book.parameters import read_source
from insdel_book.run import ChapterError, clean, execute, refuse_warnings, scrubber, set_values, take_records


def code(source: str, *outputs: dict, tags: tuple[str, ...] = (), **metadata: object):
    nodes = [nbformat.from_dict(output) for output in outputs]
    return nbformat.v4.new_code_cell(source, outputs=nodes, metadata={"tags": list(tags), **metadata})


def stream(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def display(data: dict, **metadata: object) -> dict:
    return {"output_type": "display_data", "data": data, "metadata": metadata}


def test_machine_paths_are_taken_out(tmp_path: Path) -> None:
    scrub = scrubber(tmp_path / "repo")
    assert scrub(f"{tmp_path}/repo/notebooks/a.md") == "./notebooks/a.md"
    assert scrub(f"{Path.home()}/x") == "~/x"
    assert scrub(f"{tempfile.gettempdir()}/ipykernel_12/345.py:3: UserWarning") == "cell:3: UserWarning"
    assert scrub("<root></root> a/rooted") == "<root></root> a/rooted"


def test_glued_numbers_lose_their_type() -> None:
    glued = display({"application/papermill.record/text/plain": "np.float64(0.25)"}, scrapbook={"name": "a"})
    shown = display({"text/plain": "np.float64(0.25)"})
    notebook = nbformat.v4.new_notebook(cells=[code("1", glued, shown)])
    clean(notebook, str)
    texts = [text for output in notebook.cells[0].outputs for text in output.data.values()]
    assert texts == ["0.25", "np.float64(0.25)"]


def test_records_are_collected_and_not_shown() -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[code("1", stream("a"), display({RECORD: {"data": "real"}})), code("2", display({RECORD: {"note": 1}}))]
    )
    assert take_records(notebook) == {"data": "real", "note": 1}
    assert [len(cell.outputs) for cell in notebook.cells] == [1, 0]


def test_recorded_runs_are_named_beside_the_data_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data[RECORD]))
    for facts in ({"data": "simulated", "evidence": "recorded"}, {"data": "simulated"}, {"note": "none"}):
        record(**facts)
    both = {"data": "simulated (this page's run), real (recorded runs)"}
    assert shown == [both, {"data": "simulated"}, {"note": "none"}]


def test_the_page_shows_the_values_that_were_used() -> None:
    source = 'a = 1  # first; at least 0\nb = ["x"]  # second; columns'
    notebook = nbformat.v4.new_notebook(cells=[code(source, tags=("parameters",)), code("a")])
    set_values(notebook, read_source(source), {"a": 7, "b": ["x"]})
    assert [cell.source for cell in notebook.cells] == ['a = 7  # first; at least 0\nb = ["x"]  # second; columns', "a"]


def test_a_cell_that_warns_is_refused_unless_it_may() -> None:
    allowed = code("2", stream("w", "stderr"), tags=("remove-stderr",))
    quiet = nbformat.v4.new_notebook(cells=[code("1", stream("x")), allowed])
    refuse_warnings("01_a", quiet)
    quiet.cells.append(code("3", stream("UserWarning: odd", "stderr")))
    with pytest.raises(ChapterError, match="01_a.md, code cell 3 warned:\nUserWarning: odd"):
        refuse_warnings("01_a", quiet)


# --- long work shows how far it is: which cell of how many, and the time left

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


@pytest.mark.parametrize(("at_once", "each"), [(None, 4), (1, 8), (5, 4)])
def test_chapters_that_run_at_a_time_share_the_cores(
    tiny_book: Path, monkeypatch: pytest.MonkeyPatch, at_once: int | None, each: int
) -> None:
    threads: list[int] = []
    monkeypatch.setattr(jobs.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(jobs.Job, "run", lambda job, count: threads.append(count) or 1.0)
    todo = [jobs.Job(chapter, {}, "quick", tiny_book / "x.ipynb") for chapter in list_chapters(tiny_book)]
    jobs.run_jobs(todo, at_once, lambda _: None)
    assert threads == [each, each]


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
