"""Parameters: what they may be, in words; what is refused, and how."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, samples
from pydantic import ValidationError

from insdel.errors import UserError
from insdel_book.chapters import list_chapters
from insdel_book.parameters import Parameter, cell_source, check_values, read_source
from insdel_book.ranges import parse, reason
from insdel_book.run import set_values
from insdel_book.twins import sync

SOURCE = """count = 3  # how many; 1 to 5
rate = 0.5  # how fast; between 0.0 and 1.0
words = ["a"]  # which ones; some of a, b, c
sizes = [1.0]  # how large; each above 0.0
loud = False  # or not; true or false
name = "x"  # its name; any text
column = None  # a column, (if any); None or a column
drop = []  # left out; columns
limit = None  # if any (none: no limit); None or at least 2"""
PARAMETERS = read_source(SOURCE)


def notebook(source: str):
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1"), cell])


def test_parameters_are_read_with_meaning_and_range() -> None:
    assert list(PARAMETERS) == ["count", "rate", "words", "sizes", "loud", "name", "column", "drop", "limit"]
    assert PARAMETERS["rate"].default == 0.5 and PARAMETERS["rate"].meaning == "how fast"
    assert PARAMETERS["limit"].meaning == "if any (none: no limit)" and PARAMETERS["limit"].may_be == "None or at least 2"


def test_a_long_comment_stands_above_and_a_long_list_on_several_lines() -> None:
    source = "# what is compared,\n# in this order; some of a, b\nnames = [\n    'a',\n    'b',\n]\nseed = 0  # of all; at least 0"
    read = read_source(source)
    assert read["names"].may_be == "some of a, b" and read["names"].meaning == "what is compared, in this order"
    both = notebook(source)
    set_values(both, read, {"names": ["b"], "seed": 7})
    shown = both.cells[1]
    assert shown.source.splitlines()[2:] == ["names = ['b']", "seed = 7  # of all; at least 0"]
    assert "hide-input" in shown.metadata["tags"]
    assert shown.metadata["mystnb"]["code_prompt_show"] == "Parameters: names, seed"


def test_a_comment_behind_the_parameter_before_is_that_ones() -> None:
    source = "count = 3  # how many; 1 to 5\n# a rather long\n# story; at least 1\nrate = 2"
    assert [p.comment for p in read_source(source).values()] == ["how many; 1 to 5", "a rather long story; at least 1"]
    for chapter in list_chapters(ROOT):
        comments = [p.comment for p in chapter.parameters().values()]
        assert not [c for c, after in pairwise(comments) if c in after], chapter.name


@pytest.mark.parametrize("source", ["a = f(1)  # x; at least 1", "import os", "a = b = 1  # x; at least 1",
                                    "a, b = 1, 2", "a = [\n1,\n]", "a = 1", "a = 1  # how many; a lot"])  # fmt: skip
def test_parameter_cells_hold_plain_literals_with_a_range_only(source: str) -> None:
    with pytest.raises(ValueError, match="name = literal"):
        read_source(source)


def test_the_cell_is_found_without_reading_the_whole_notebook() -> None:
    for chapter in list_chapters(ROOT):
        cell = next(cell for cell in chapter.read().cells if "parameters" in cell.metadata.get("tags", []))
        assert cell_source(chapter.source.read_text(encoding="utf-8")) == cell.source


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "5", 5), ("count", "1e0", 1), ("count", 2.0, 2), ("rate", "0.25", 0.25), ("rate", "1e-3", 0.001),
        ("words", "b,c", ["b", "c"]), ("words", '["b"]', ["b"]), ("words", "[b, a]", ["b", "a"]), ("words", ["c"], ["c"]),
        ("sizes", "1,2.5,1e-2", [1.0, 2.5, 0.01]), ("sizes", [3], [3.0]), ("loud", "true", True), ("loud", False, False),
        ("name", "12", "12"), ("limit", "7", 7), ("limit", "None", None), ("limit", None, None),
        # text stays text: YAML made 8, True, a date and another column of these
        ("column", "price #1", "price #1"), ("column", "yes", "yes"), ("column", "no", "no"), ("column", "010", "010"),
        ("column", "2026-01-01", "2026-01-01"), ("column", "a: b", "a: b"), ("drop", "no,010", ["no", "010"]),
        ("drop", "price #1,{a}", ["price #1", "{a}"]), ("drop", '"a, b",c', ["a, b", "c"]), ("drop", "", []),
    ],
)  # fmt: skip
def test_the_range_decides_the_type(name: str, text: object, value: object) -> None:
    fitted = check_values(PARAMETERS, {name: text})[name]
    assert fitted == value and type(fitted) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("count", "0"), ("count", "6"), ("count", "1.5"), ("count", "many"), ("count", True), ("count", "nan"),
     ("count", "[1]"), ("rate", "0"), ("rate", 1.0), ("rate", "inf"), ("loud", "1"), ("sizes", "1,big"), ("sizes", "0"),
     ("sizes", []), ("words", "d"), ("words", []), ("words", "a,a"), ("words", 3), ("name", 3), ("column", True),
     ("limit", "1"), ("limit", "none")],
)  # fmt: skip
def test_what_lies_outside_is_refused_with_what_may_be(name: str, value: object) -> None:
    with pytest.raises(UserError) as error:
        check_values(PARAMETERS, {name: value})
    message = str(error.value)
    assert all(part in message for part in (name, PARAMETERS[name].meaning, PARAMETERS[name].may_be, repr(value)))


def test_large_seeds_keep_their_digits() -> None:
    seed = parse("at least 0")
    assert seed.validate_python("9007199254740993") == 9007199254740993
    assert seed.validate_python(str(2**62)) == 2**62
    for large in (str(2**63), 2**64, "1e30"):
        with pytest.raises(ValidationError) as refusal:
            seed.validate_python(large)
        assert reason(refusal.value) == "too large: at most 4611686018427387904"


def test_files_are_meant_from_the_current_folder_and_must_be_there(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("hash #1.csv", "mine.py", "my.safetensors"):
        (tmp_path / name).touch()
    assert parse("None or a file").validate_python("hash #1.csv") == str(tmp_path / "hash #1.csv")
    assert parse("a new file").validate_python("search.db") == str(tmp_path / "search.db")
    model = parse("one of network, forest or file.py:name or module:name or a .safetensors file")
    assert model.validate_python("mine.py:f") == f"{tmp_path / 'mine.py'}:f"
    assert model.validate_python("my.safetensors") == str(tmp_path / "my.safetensors")
    assert model.validate_python("sklearn.svm:SVR") == "sklearn.svm:SVR" and model.validate_python("forest") == "forest"
    for text, value in (("None or a file", "none.csv"), ("a new file", "no/where.db"), ("a file", ".")):
        with pytest.raises(ValidationError, match="there is no"):
            parse(text).validate_python(value)
    for value in ("other.py:f", "mine.py:", "model.pkl", "no.safetensors", "nothing"):
        with pytest.raises(ValidationError):
            model.validate_python(value)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="Did you mean 'count'") as error:
        check_values(PARAMETERS, {"coutn": 1})
    assert all(f"# {parameter.comment}" in str(error.value) for parameter in PARAMETERS.values())


@pytest.mark.parametrize("parameter", PARAMETERS.values(), ids=str)
def test_samples_lie_in_the_range(parameter: Parameter) -> None:
    for value in samples(parameter.range.json_schema()):
        assert parameter.fit(value) == value


def test_samples_hold_both_ends_and_an_odd_value() -> None:
    some = {"2 to 5": [2, 5, 4], "at least 1": [1, 3], "0.0 to 1.0": [0.0, 1.0, 0.37], "None or a file": [None],
            "some of a, b, c": [["a"], ["c"], ["a", "b", "c"], ["c", "b"]], "each 1 to 2": [[1], [2], [2, 1]]}  # fmt: skip
    assert {text: samples(parse(text).json_schema()) for text in some} == some


@pytest.mark.parametrize(
    ("count", "code", "words"),
    [("4", 0, "total 3.0"), ("-4", 1, "parameter 'count' (how many numbers are added) may be at least 0; found -4")],
)
def test_papermill_runs_the_notebooks_and_its_users_get_the_same_check(
    tiny_book: Path, tmp_path: Path, count: str, code: int, words: str
) -> None:
    sync(tiny_book, list_chapters(tiny_book))
    output = tmp_path / "out.ipynb"
    command = [sys.executable, "-m", "papermill", "notebooks/01_add.ipynb", str(output), "-p", "count", count]
    done = subprocess.run(command, cwd=tiny_book, capture_output=True, text=True, check=False)
    assert done.returncode == code and words in done.stderr + output.read_text(encoding="utf-8"), done.stderr
