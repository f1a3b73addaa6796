"""Chapters and their parameters."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import yaml

from insdel.book.chapters import (
    Chapter,
    check_values,
    find_chapter,
    find_root,
    list_chapters,
    profile_values,
    read_parameters,
)


def notebook(source: str):
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1"), cell])


PARAMETERS = read_parameters(notebook("""count = 3  # how many
rate = 0.5  # how fast
words = ["a"]  # which ones
sizes = [1.0]  # how large
loud = False  # or not
name = "x"  # its name
limit = None  # if any"""))


def test_parameters_are_read_with_their_comments() -> None:
    assert list(PARAMETERS) == ["count", "rate", "words", "sizes", "loud", "name", "limit"]
    assert PARAMETERS["rate"].default == 0.5 and PARAMETERS["rate"].comment == "how fast"
    assert PARAMETERS["words"].kind == "list of str" and PARAMETERS["limit"].kind == "anything"
    assert read_parameters(nbformat.v4.new_notebook()) == {}


@pytest.mark.parametrize("source", ["a = f(1)", "import os", "a = b = 1", "a, b = 1, 2", "a = [\n1,\n]"])
def test_parameter_cells_hold_plain_literals_only(source: str) -> None:
    with pytest.raises(ValueError, match="name = literal"):
        read_parameters(notebook(source))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "12", 12), ("count", "1e3", 1000), ("rate", "2", 2.0), ("rate", "1e-3", 0.001), ("rate", 2, 2.0),
        ("words", "b,c", ["b", "c"]), ("words", "[on, 1]", ["on", "1"]), ("words", "b", ["b"]),
        ("sizes", "1,2.5,1e-2", [1.0, 2.5, 0.01]), ("sizes", [3], [3.0]), ("loud", "true", True),
        ("name", "12", "12"), ("limit", "7", 7), ("limit", "none", "none"), ("limit", None, None),
    ],
)  # fmt: skip
def test_text_is_read_as_the_type_of_the_default(name: str, text: object, value: object) -> None:
    fitted = check_values(PARAMETERS, {name: text})[name]
    assert fitted == value and type(fitted) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("count", "1.5"), ("count", "many"), ("count", "true"), ("rate", "fast"), ("loud", "1"), ("sizes", "1,big"),
     ("words", 3), ("name", 3), ("count", "[1]")],
)  # fmt: skip
def test_wrong_types_are_refused_with_what_was_expected(name: str, text: object) -> None:
    with pytest.raises(ValueError, match=PARAMETERS[name].kind) as error:
        check_values(PARAMETERS, {name: text})
    assert name in str(error.value) and PARAMETERS[name].comment in str(error.value)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="Did you mean 'count'") as error:
        check_values(PARAMETERS, {"coutn": 1})
    assert all(f"# {parameter.comment}" in str(error.value) for parameter in PARAMETERS.values())


NAMES = ("01_walk", "04_shapley_is_not_best", "05_when_shapley_is_best", "12_cern", "13_images")
CHAPTERS = [Chapter(name, Path(f"{name}.md")) for name in NAMES]


@pytest.mark.parametrize(
    ("text", "name"),
    [("01", "01_walk"), ("1", "01_walk"), ("walk", "01_walk"), ("notebooks/01_walk.md", "01_walk"), ("wlak", "01_walk"),
     ("01_walk.ipynb", "01_walk"), ("CERN", "12_cern"), ("image", "13_images"), ("13", "13_images"),
     ("not-best", "04_shapley_is_not_best")],
)  # fmt: skip
def test_chapters_go_by_number_name_or_part(text: str, name: str) -> None:
    assert find_chapter(CHAPTERS, text).name == name


@pytest.mark.parametrize("text", ["shapley", "7", "zzz", ""])
def test_unclear_chapters_are_refused_with_the_list(text: str) -> None:
    with pytest.raises(ValueError, match="The chapters are: 01_walk"):
        find_chapter(CHAPTERS, text)


def test_contents_come_from_the_table_of_contents(tiny_book: Path) -> None:
    assert [chapter.name for chapter in list_chapters(tiny_book)] == ["01_add", "02_draw"]
    assert find_root(tiny_book / "notebooks") == tiny_book
    (tiny_book / "notebooks" / "02_draw.md").unlink()
    with pytest.raises(ValueError, match=r"02_draw\.md"):
        list_chapters(tiny_book)


def test_outside_a_clone_the_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"_toc\.yml"):
        find_root(tmp_path)


def test_profiles_set_known_parameters_only(tiny_book: Path) -> None:
    chapter = list_chapters(tiny_book)[0]
    assert profile_values(tiny_book, chapter, "smoke") == {"count": 2}
    assert profile_values(tiny_book, chapter, "quick") == {}
    with pytest.raises(ValueError, match="smoke, quick, paper"):
        profile_values(tiny_book, chapter, "huge")
    profiles = yaml.safe_dump({"01_add": {"smoke": {"cuont": 2}}})
    (tiny_book / "notebooks" / "profiles.yml").write_text(profiles, encoding="utf-8")
    with pytest.raises(ValueError, match=r"profiles\.yml, 01_add, smoke: .*\n?.*'count'"):
        profile_values(tiny_book, chapter, "smoke")
