"""The how-to page: it fits a screen, and every snippet on it runs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import ROOT

import insdel
from insdel_book.chapters import find_chapter, list_chapters
from insdel_book.cli import parser, user_values
from insdel_book.parameters import check_values

PAGE = (ROOT / "book" / "howto.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_it_fits_a_screen() -> None:
    assert len(PAGE.splitlines()) <= 65 and max(map(len, PAGE.splitlines())) <= 130


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    """What the snippets leave behind, run one after the other as a reader would."""
    there: dict = {}
    here = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("reader"))
    for snippet in SNIPPETS:
        exec(compile(snippet, "howto.md", "exec"), there)
    plt.close("all")
    yield there
    os.chdir(here)


def test_the_snippets_run_and_say_what_they_claim(names: dict, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SNIPPETS) == 3
    assert names["X"].shape == (442, 10)
    assert names["A"].shape == (20, 10)
    best, mine = (insdel.abc(names["pair"].curve(order)) for order in
                  (names["pair"].best_order(), insdel.order(names["A"][0])))  # fmt: skip
    assert best >= mine >= names["pair"].expected_abc()
    ours = insdel.explain("kernel_shap", names["f"], names["x"], names["reference"])
    np.testing.assert_allclose(ours[0], names["pair"].shapley())
    assert set(names["c"].table["method"]) == {"LIME", "ours", "gain"} and Path("build/report.html").is_file()


def test_the_table_of_advice_works(names: dict) -> None:
    f, x, reference = names["f"], names["x"][:2], names["reference"]
    for text in re.findall(r"`options=(\{.*?\}\})`", PAGE):
        options = eval(text)
        [method] = options
        if insdel.METHODS[method].needs_gradient:
            insdel.explain(method, lambda z: (z**2).sum(1), x, reference, **options[method])
        else:
            insdel.compare(f, x, reference, [method], options=options)
    assert "checkpoint" in insdel.compare.__kwdefaults__ and "scheduler" in insdel.compare.__kwdefaults__


def test_commands_exist_and_their_parameters_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(text)[1:] for text in re.findall(r"`(insdel [^`]+)`", PAGE)]
    assert {command[0] for command in commands} == {"report"}
    for command in commands:
        options = parser().parse_args(command)
        if command[0] == "run":
            chapter = find_chapter(list_chapters(ROOT), options.chapter)
            values = user_values(options)
            for name in values.values():
                (tmp_path / name.partition(":")[0]).touch()  # the page's own files
            check_values(chapter.parameters(), values)
