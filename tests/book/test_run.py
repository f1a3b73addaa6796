"""What is taken out of an executed notebook, and what is put in."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
import pytest

from insdel_book.chapters import RECORD
from insdel_book.parameters import read_source
from insdel_book.run import ChapterError, clean, refuse_warnings, scrubber, set_values, take_records


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
