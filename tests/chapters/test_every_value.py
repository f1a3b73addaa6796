"""Every parameter of every chapter, at the ends of its range and at an odd value, every cell to the end.

There are hundreds of cases. An ordinary run takes one part in fifty, `make test-all` takes them all. The parts take turns by
the time of the commit, six hours each: in two weeks of work all are run, and a repair meets the cases that asked for it.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import ROOT, samples
from running import run_cells

from insdel_book.chapters import Chapter, list_chapters
from insdel_paper.data import tables

PARTS = 50
SLOW = {  # in range, but hours of work even at smoke sizes; what is tried instead
    ("images", "step"): {1: 5000, 3: 4999},
    ("images", "network"): {"b0": None},  # its weights are a download
    ("many_tables", "table"): dict.fromkeys(tables.NAMES, "diabetes"),  # the others come with an extra
}
ABSENT = ["real", "cuda"]  # what a machine may not have


def cases() -> list[tuple[Chapter, str, object]]:
    """(chapter, parameter, value), all of them."""
    found = []
    for chapter in list_chapters(ROOT):
        for name, parameter in chapter.parameters().items():
            instead = SLOW.get((chapter.name[3:], name), {})
            for value in samples(parameter.range.json_schema()):
                value = instead.get(value, value) if isinstance(value, str | int) else value
                if value not in ABSENT and (value is not None or parameter.default is None):
                    found.append((chapter, name, value))
    return found


CASES = cases()
ASK = ["git", "log", "-1", "--format=%ct"]  # seconds; one commit always runs the same cases
TIME = subprocess.run(ASK, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
TURN = int(TIME or "0") // (6 * 3600) % PARTS
CHOSEN = CASES if os.environ.get("INSDEL_ALL") else CASES[TURN::PARTS]


def values_of(chapter: Chapter, name: str, value: object) -> dict[str, object]:
    """What is set: tables and figures show the run itself, as for anybody who changes a parameter."""
    live = {"evidence": "live"} if "evidence" in chapter.parameters() else {}
    return {**live, name: value}


SEEDED = [chapter for chapter in list_chapters(ROOT) if any("seed" in name for name in chapter.parameters())]


@pytest.mark.parametrize("chapter", SEEDED if os.environ.get("INSDEL_ALL") else SEEDED[TURN % len(SEEDED)::len(SEEDED)],
                         ids=lambda chapter: chapter.name)  # fmt: skip
def test_the_chapter_runs_with_large_seeds(chapter: Chapter) -> None:
    """Dates and times make seeds of many digits; scikit-learn takes less than 2³² and torch less than 2⁶⁴."""
    seeds = {name: 2**40 for name, p in chapter.parameters().items() if "seed" in name and isinstance(p.default, int)}
    run_cells(chapter, **values_of(chapter, "seed", 2**40) | seeds)


@pytest.mark.parametrize(("chapter", "name", "value"), CHOSEN, ids=lambda part: getattr(part, "name", str(part)[:40]))
def test_the_chapter_runs(chapter: Chapter, name: str, value: object) -> None:
    run_cells(chapter, **values_of(chapter, name, value))
