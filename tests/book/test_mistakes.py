"""A reader's mistake is told in one message, with exit code 2, and never with a traceback."""

from __future__ import annotations

import ast
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import ROOT, insdel

from insdel_book.run import MISTAKES

CELL = "\n```{{code-cell}} ipython3\n{}\n```\n"
FILES = {
    "conflict.csv": b"<<<<<<< HEAD\na,b\n1,2\n",
    "ragged.csv": b"a,b,c\n1,2\n3,4,5,6\n",
    "broken.png": b"\x89PNG\r\n\x1a\n and no more",
    "small.safetensors": (2**40).to_bytes(8, "little") + b"{}",
    "flats.csv": b"area,rooms,price\n" + b"".join(b"%d.5,%d,%d\n" % (30 + i, 1 + i % 4, 3 * i % 17) for i in range(40)),
}
COMMANDS = [
    ("run cern -p n_pairs 0", "n_pairs"),
    ("run cern -p n_pairs many", "not a whole number"),
    ("run cern -p policy best", "one of all, counterfactual, one_to_one, average"),
    ("run cern -p methods lime,lime", "each once"),
    ("run cern -p methods limes", "'limes' is none of"),
    ("run cern -p path nowhere.csv", "there is no file"),
    ("run cern -p path conflict.csv", "git conflict marker"),
    ("run cern -p scheduler tcp://127.0.0.1:1", "no scheduler answers"),
    ("run cern -p device cuda", "Choose auto or cpu"),
    ("run cern -p seed -1", "at least 0"),
    ("run cern -p seed 99999999999999999999", "too large"),
    ("run cern -p seed 1 -p seed 2", "given twice"),
    ("run cern -p sed 1", "Did you mean 'seed'"),
    ("run nothing", "there is no chapter 'nothing'"),
    ("run an", "may mean"),
    ("run images -p photo broken.png", "broken.png"),
    ("run images -p photo nowhere.png", "there is no file"),
    ("run images -p label albatros", "Did you mean albatross"),
    ("run images -p label 1000", "must be from 0 to 999"),
    ("run images -p network lite9", "lite0"),
    ("run own -p target price", "target needs csv"),
    ("run own -p csv flats.csv", "needs target"),
    ("run own -p csv flats.csv -p target prize", "the columns are: area, rooms, price"),
    ("run own -p csv flats.csv -p target price -p drop x", "has no column x"),
    ("run own -p model tree", "file.py:name"),
    ("run own -p n_rows 0", "at least 4; found '0'"),
    ("run bangalore -p path conflict.csv", "resolve the merge"),
    ("run own -p csv ragged.csv -p target a", "row 1 has 2"),
    ("run own -p csv conflict.csv -p target a", "single column"),
    ("run own -p model small.safetensors", "header too large. Is it complete?"),
    ("run own -p model nowhere.py:predict", "there is no file"),
    ("record nothing", "there is no run 'nothing'"),
    ("record bangalore -p nope 3", "has no parameter nope"),
    ("record bangalore -p pairs many", "whole number, at least 1"),
    ("record bangalore -p pairs 0", "whole number, at least 1"),
    ("record bangalore -p pairs true", "whole number, at least 1"),
    ("record bangalore -p source mars", "mars"),
    ("record bangalore --threads 0", "at least 1"),
    ("record bangalore --scheduler nowhere", "no scheduler answers at nowhere"),
    ("record cost -p budgets 64", "is written like"),
    ("record learning_curve -p sizes a,b", "is a list like"),
    ("record data_facts", "INSDEL_DATA"),
    ("record images_albatrosses", "INSDEL_DATA"),
    ("record roar_cern_genuine", "could not be done"),
    ("data fetch mars", "'mars'"),
    ("data cern", "insdel data fetch NAME"),
    ("claims --verdict perhaps", "--verdict must be one of"),
    ("claims --chapter perhaps", "--chapter must be one of"),
    ("book --chapters nothing", "there is no chapter 'nothing'"),
    ("book --jobs 0", "--jobs needs"),
]


@pytest.mark.parametrize(("text", "words"), COMMANDS, ids=[text for text, _ in COMMANDS])
def test_a_mistake_is_one_message(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., str]
) -> None:
    for name in ("INSDEL_DATA", "INSDEL_RESULTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    said = command(text, 2, ROOT if text.startswith("book") else tmp_path)
    assert words in said and "defect" not in said
    assert {path.name for path in tmp_path.iterdir()} <= {*FILES, "cache"}, "nothing is made before values are checked"


@pytest.mark.parametrize(("name", "words"), [("csv none.csv -p target price", "there is no file"), ("model small.safetensors", "too large")])
def test_mistakes_are_told_before_anything_large_is_loaded(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "small.safetensors").write_bytes(FILES["small.safetensors"])
    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = insdel(tmp_path, "run", "your_own", "-p", *name.split())
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (ROOT / "runs" / "your_own").exists()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - started < 2  # seconds of CPU time


def test_what_a_cell_refuses_is_told_without_the_cell(tiny_book: Path) -> None:
    path = tiny_book / "notebooks" / "01_add.md"
    cell = CELL.format("import insdel.errors\n\nraise insdel.errors.UserTypeError('count must be even. Choose another.')")
    path.write_text(path.read_text(encoding="utf-8") + cell, encoding="utf-8")
    done = insdel(tiny_book, "run", "add", "-p", "count", "3")
    assert done.returncode == 2 and "insdel: 01_add.md: count must be even. Choose another.\n" in done.stderr
    assert "Traceback" not in done.stderr and "raise" not in done.stderr
    assert not list((tiny_book / "runs").glob("*/*"))


def test_the_names_of_mistakes_are_known() -> None:
    """Classes that extend UserError, in all of the package: a kernel tells their names only."""
    names = {"UserError"}
    classes = [node for path in (ROOT / "src").rglob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))
               if isinstance(node, ast.ClassDef)]  # fmt: skip
    for _ in range(3):  # a class may extend one that extends it
        names |= {c.name for c in classes if {getattr(base, "id", "") for base in c.bases} & names}
    assert names == set(MISTAKES) - {"WeightsError"}


@pytest.mark.parametrize("command", ["sync", "run 02", "book"])
def test_a_chapter_that_cannot_be_read_is_named_with_its_line(tiny_book: Path, command: str) -> None:
    source = tiny_book / "notebooks" / "02_draw.md"
    source.write_text(source.read_text(encoding="utf-8") + "\n```{code-cell}\n---\na: b: c\n---\n1\n```\n")
    answer = insdel(tiny_book, *command.split())
    assert answer.returncode == 2 and "02_draw.md cannot be read as a notebook. Code cell" in answer.stderr
    assert "Traceback" not in answer.stderr
