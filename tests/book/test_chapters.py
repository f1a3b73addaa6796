"""Chapters and their parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from insdel_book.chapters import Chapter, find_chapter, list_chapters, profile_values
from insdel_book.course import clone, find_root

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


def test_the_clone_around_the_folder_comes_first_and_elsewhere_that_of_the_package(
    tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., str]
) -> None:
    monkeypatch.chdir(tiny_book / "book")
    assert clone() == tiny_book
    assert "csv = None" in command("run your_own --list", folder=tmp_path) and clone() == ROOT
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
