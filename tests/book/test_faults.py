"""Whatever is broken, killed or full: one clear sentence, at once, and nothing is lost or left behind."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat
import psutil
import pytest
from bs4 import BeautifulSoup
from conftest import insdel
from markdown_it import MarkdownIt

from insdel.errors import UserError
from insdel_book import build, jobs, space
from insdel_book.chapters import list_chapters
from insdel_book.doctor import examine
from insdel_book.pages import code, plain, status_page
from insdel_book.run import ChapterError, execute, limits

CELL = "\n```{{code-cell}} ipython3\n{}\n```\n"


def add_cell(book: Path, source: str) -> None:
    """Put a cell at the end of the tiny book's first chapter."""
    path = book / "notebooks" / "01_add.md"
    path.write_text(path.read_text(encoding="utf-8") + CELL.format(source), encoding="utf-8")


# --- folders: never over somebody's work, never half of it

def test_two_runs_in_one_second_get_a_folder_each(tmp_path: Path) -> None:
    places = []
    for _ in range(3):
        places.append(space.fresh_folder(tmp_path / "walk" / "20260101-120000"))
    assert len(set(places)) == 3 and all(folder.is_dir() for folder in places)


@pytest.mark.parametrize("name", ["html", "01_add.ipynb"])
def test_a_folder_with_a_run_or_a_notebook_is_refused_before_anything_runs(
    tiny_book: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., str], name: str
) -> None:
    (tiny_book / "mine").mkdir()
    (tiny_book / "mine" / name).write_text("mine")
    monkeypatch.setattr(build, "run_one", lambda *_: pytest.fail("it ran"))
    assert "never overwritten" in command("run add -o mine", 2, tiny_book)
    assert "a folder is needed" in command(f"run add -o mine/{name}", 2)
    assert (tiny_book / "mine" / name).read_text() == "mine"


def test_a_failed_run_leaves_nothing_that_refuses_the_next(tiny_book: Path) -> None:
    add_cell(tiny_book, "1 / 0")
    (tiny_book / "mine").mkdir()
    (tiny_book / "mine" / "notes.txt").touch()
    for place in ("mine", "new"):
        assert insdel(tiny_book, "run", "add", "-o", place).returncode == 1
    assert [path.name for path in (tiny_book / "mine").iterdir()] == ["notes.txt"]
    assert not (tiny_book / "new").exists()


def test_leftovers_of_killed_runs_are_removed_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for name in (f"run-{dead.pid}-x", "run-old", f"run-{os.getppid()}-y"):
        (tmp_path / name).mkdir()
    with space.scratch(tmp_path) as mine:
        assert mine.name.startswith(f"run-{os.getpid()}-")
        assert {path.name for path in tmp_path.iterdir()} == {mine.name, f"run-{os.getppid()}-y"}
    assert not mine.exists()


# --- the disk

@pytest.mark.parametrize("text", ["book", "run add"])
def test_what_the_machine_lacks_is_told_before_anything_runs(
    tiny_book: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., str], text: str
) -> None:
    with monkeypatch.context() as short:
        short.setattr(resource, "getrlimit", lambda what: (60 if what == resource.RLIMIT_NOFILE else -1, -1))
        assert "open files are limited to 60 (ulimit -n); a chapter needs 100" in command(text, 1, tiny_book)
    with monkeypatch.context() as full:
        usage = namedtuple("usage", "total used free")
        full.setattr(shutil, "disk_usage", lambda _: usage(2**30, 2**30 - 2**20, 2**20))
        assert f"needs {0.5 if text == 'book' else 0.2} GiB; it has 0.00" in command(text, 1)
    shutil.rmtree(tiny_book / "build")
    (tiny_book / "build").touch()  # a file where a folder should be: root may write anywhere else
    assert "cannot write to" in command(text, 1)
    assert not (tiny_book / "runs").exists()


def test_the_systems_own_reason_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remarks = "a.md: WARNING: undefined label: 'x'\nOSError: [Errno 28] No space left on device: 'y.html'\n"
    done = subprocess.CompletedProcess([], 1, "", remarks)
    monkeypatch.setattr(build.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(build.BuildError) as error:
        build.typeset(tmp_path, True)
    assert str(error.value).startswith("OSError: [Errno 28] No space left on device")


# --- two at once

def test_the_second_build_is_told_who_builds(tmp_path: Path) -> None:
    refused = pytest.raises(UserError, match=f"process {os.getpid()}, since .* builds there")
    with space.only_one(tmp_path), refused, space.only_one(tmp_path):
        pass
    with space.only_one(tmp_path):  # free again
        pass


# --- chapters that end too early, workers that are killed

@pytest.mark.parametrize(
    ("end", "words"),
    [("import sys\nsys.exit(0)", r"code cell 6 failed:[\s\S]*SystemExit: 0"),
     ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "the kernel died in code cell 6 .* enough memory"),
     ("import numpy as np\nnp.ones((1 << 35,))", r"code cell 6 failed:[\s\S]*MemoryError: [\s\S]*enough memory")],
)  # fmt: skip
def test_a_chapter_that_ends_the_kernel_is_an_error(tiny_book: Path, end: str, words: str) -> None:
    add_cell(tiny_book, end)
    add_cell(tiny_book, "1 + 1")
    with pytest.raises(ChapterError, match=words):
        execute(list_chapters(tiny_book)[0], {}, "smoke")


def wait_for(what: Callable[[], bool], seconds: float = 120) -> bool:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.2)
    return what()


@contextmanager
def started_build(book: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A build in the middle of a chapter that sleeps, and the processes that it started; none outlives the test."""
    add_cell(book, "import time\nfrom pathlib import Path\nPath('sleeping').touch()\ntime.sleep(600)")
    command = [sys.executable, "-m", "insdel_book.cli", "book", "--chapters", "add"]
    parent = subprocess.Popen(command, cwd=book, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True)  # fmt: skip
    children: list[psutil.Process] = []
    try:
        assert wait_for((book / "notebooks" / "sleeping").exists)
        children += psutil.Process(parent.pid).children(recursive=True)
        yield parent, children
    finally:
        for process in [parent, *children]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        parent.communicate()


def ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == "zombie"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_kernels_end_with_the_build(tiny_book: Path, number: signal.Signals) -> None:
    with started_build(tiny_book) as (parent, children):
        [kernel] = [child for child in children if "ipykernel" in " ".join(child.cmdline())]
        if number == signal.SIGINT:
            kernel.suspend()  # it does not answer
        parent.send_signal(number)
        _, errors = parent.communicate(timeout=120)  # nobody keeps its output open
        assert wait_for(lambda: all(map(ended, children)))
    if number != signal.SIGKILL:
        assert parent.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
        assert "kept" in errors and "Traceback" not in errors


def test_what_limits_there_are_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (2**30 if what == resource.RLIMIT_AS else -1, -1))
    assert "memory (ulimit -v, bytes) 1073741824" in limits()


# --- text of users on pages

EVIL = "data <img src=x onerror=alert(7)>.csv"


def test_no_text_of_a_user_is_taken_for_html_or_markdown() -> None:
    facts = {"profile": "quick", "seconds": 1.0, "date": "2026-01-01", "versions": {}, "hardware": "x",
             "parameters": {"csv": EVIL, "tick": "`<b>x</b>`", "pipe": "a|b", "many": "``` {code}"},
             "recorded": {"data": EVIL, "note": f"rows of {EVIL} **bold** {{ref}}`x`"}}  # fmt: skip
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(status_page({"21_your_own": facts}))
    page = BeautifulSoup(html, "html.parser")
    assert not page.find_all(["img", "b", "strong", "script"])
    assert page.get_text().count("<img src=x onerror=alert(7)>") == 3 and "`<b>x</b>`" in page.get_text()


@pytest.mark.parametrize("text", ["a", "`", "``a``", "<b>", "a\nb", "\\", "*a* _b_", "{x}`y`"])
def test_any_text_can_be_shown(text: str) -> None:
    for shown in (code(text), plain(text)):
        html = MarkdownIt("commonmark", {"html": True}).renderInline(shown)
        assert BeautifulSoup(html, "html.parser").get_text() == " ".join(text.split())


KINDS = ["$low$", "<b>high</b>", "`t`"]
ROWS = "\n".join(f"{i % 17},{KINDS[i % 3]},{i % 2},{i * i % 23},{i % 17 + i % 2}" for i in range(60))
HEADER = 'a$b$c,<i>kind</i>,"x_1 `**z**`",$\\frac,price #1\n'


def test_names_and_values_of_a_table_are_shown_as_they_are(tmp_path: Path) -> None:
    """From the command line to the page: the target keeps its name, dollars break no figure, no tag becomes one."""
    (tmp_path / EVIL).write_text(HEADER + ROWS)
    done = insdel(tmp_path, "run", "own", "--profile", "smoke", "-p", "csv", EVIL, "-p", "target", "price #1", "-o", "out")
    assert done.returncode == 0, done.stderr
    page = BeautifulSoup(Path(done.stdout.splitlines()[-1]).read_text(encoding="utf-8"), "html.parser")
    assert not page.find_all(src="x") and not page.find_all(onerror=True)
    assert not [tag for tag in page.find_all(["b", "i", "strong"]) if tag.get_text() in ("high", "kind", "z")]
    text = page.get_text()
    assert all(part in text for part in ("<i>kind</i>", "price #1", "a$b$c"))


# --- many features on two threads

SOLVE = """
import numpy as np, torch
import insdel
torch.set_num_threads(2)
x, r = np.zeros((3, {d})), np.ones((3, {d}))
w = np.random.default_rng(0).normal(size={d})
a = insdel.explain("kernel_shap", lambda z: z @ w, x, r, samples=2 * {d} + 2)
assert np.allclose(a, w, atol=1e-6), abs(a - w).max()
"""


@pytest.mark.parametrize("d", [150, 400])
def test_sampled_kernel_shap_of_many_features_neither_hangs_nor_fails_on_two_threads(d: int) -> None:
    done = subprocess.run([sys.executable, "-c", SOLVE.format(d=d)], timeout=300, capture_output=True, text=True,
                          env=os.environ | {"OMP_NUM_THREADS": "2"}, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


# --- damaged files in the cache

def test_a_damaged_chapter_in_the_cache_runs_again(tiny_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_jobs(jobs, *_):
        for job in jobs:
            nbformat.write(nbformat.v4.new_notebook(metadata={"insdel": {"modules": [], "code": ""}}), job.path)

    monkeypatch.setattr(build, "run_jobs", run_jobs)
    chapters = list_chapters(tiny_book)
    said: list[str] = []
    paths = build.run_chapters(tiny_book, chapters, {c.name: {} for c in chapters}, "quick", log=said.append)
    first, second = paths.values()
    first.write_bytes(first.read_bytes()[:40])
    second.write_text("{}")
    assert len([f for f in examine(tiny_book) if f.what == "cache" and "2 damaged" in f.found and f.remedy]) == 1
    build.run_chapters(tiny_book, chapters, {c.name: {} for c in chapters}, "quick", log=said.append)
    assert sum("damaged: dropped" in line for line in said) == 2
    assert all("insdel" in nbformat.read(path, as_version=4).metadata for path in paths.values())


def test_an_interruption_is_noted_and_not_raised() -> None:
    with jobs.interrupt_flag() as interrupted:
        signal.raise_signal(signal.SIGINT)  # as an exception it would be lost while Python clears up after an object
        assert interrupted.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
