"""`insdel doctor`: check that the book has all it needs, and say what to do if not."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from insdel_book.chapters import PROFILES, list_chapters

TORCH = "2.13.0"  # with which the records were made
BOOK_PACKAGES = ("jupyter-book", "jupytext", "papermill", "ipykernel", "sphinx-proof", "sphinx-exercise",
                 "sphinx-revealjs")  # fmt: skip
MISSING = "missing"
# what a build leaves in build/ (pages with their copies of MathJax, executed notebooks) and, at full size, checkpoints
NEEDED_GIB = {"smoke": 1, "quick": 1, "paper": 2}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Finding(NamedTuple):
    """One thing that was looked at; `remedy` is empty if all is well."""

    what: str
    found: str
    remedy: str = ""
    needed: bool = True


def examine(root: Path) -> Iterator[Finding]:
    """Look at Python, the packages, the device, data, records, the disk, the time that profiles take, the browser."""
    fits = sys.version_info >= (3, 11)
    yield Finding("Python", platform.python_version(), "" if fits else "install Python 3.11 or newer")
    for name in BOOK_PACKAGES:
        result = _version(name)
        yield Finding(name, result, "" if result != MISSING else 'pip install "insdel[book]"')
    result = _version("torch")
    remedy = "" if result == TORCH else f"pip install torch=={TORCH}: other releases change results slightly"
    yield Finding("torch", result, remedy, needed=False)
    yield _lock(root)
    yield _device()
    yield from _data()
    yield from _records()
    yield _disk(root)
    if has_book_extra():  # else chapters cannot be read, and nothing was built
        yield from _cache(root)
    browser = find_browser()
    remedy = "" if browser else "only the browser tests need one: install Chromium"
    yield Finding("browser", browser or "none", remedy, needed=False)


def _version(name: str) -> str:
    """The installed version of a package, without the build that only some machines have ("+cpu")."""
    try:
        return version(name).split("+")[0]
    except PackageNotFoundError:
        return MISSING


def _lock(root: Path) -> Finding:
    """Compare what is installed with `requirements.lock`, the versions that recorded numbers were made with."""
    path = root / "requirements.lock"
    if not path.is_file():
        return Finding("versions", "no requirements.lock here to compare with", "run it in a clone", needed=False)
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    locked = dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))
    other = [f"{name} {result} (lock: {wanted})" for name, wanted in locked.items()
             if (result := _version(name)) not in (wanted, MISSING)]  # fmt: skip
    gone = [name for name in locked if _version(name) == MISSING]
    result = f"{len(locked) - len(other) - len(gone)} of {len(locked)} as in requirements.lock"
    parts = [f"other versions: {', '.join(other)}" if other else "", f"missing: {', '.join(gone)}" if gone else ""]
    text = "; ".join([result, *filter(None, parts)])
    remedy = "make setup, or pip install -r requirements.lock, for the numbers of the book to the last digit"
    return Finding("versions", text, remedy if other or gone else "", needed=False)


def _device() -> Finding:
    """Name the device that models run on."""
    import torch

    if not torch.cuda.is_available():
        return Finding("device", f"CPU, {torch.get_num_threads()} threads; no page needs a GPU")
    return Finding("device", f"{torch.cuda.get_device_name()}; insdel device compares it with the processor")


def _data() -> Iterator[Finding]:
    """Look for the real file of each data set."""
    folder = os.environ.get("INSDEL_DATA")
    if folder and not Path(folder).is_dir():
        yield Finding("real data", "INSDEL_DATA names no folder", "set it to a folder, or unset it")
        return
    advice = "chapters simulate the data, and say so; to use real files, set INSDEL_DATA to their folder"
    if not folder:
        yield Finding("real data", "INSDEL_DATA is not set", advice, needed=False)
    from insdel_paper import data

    for entry in data.available():
        if not entry["found"]:
            yield Finding(f"data, {entry['name']}", "no real file: simulated", entry["get"], needed=False)
            continue
        strange = "not the published file: compare its size, or fetch it again" if entry["sha_ok"] is False else ""
        yield Finding(f"data, {entry['name']}", f"real: {entry['found']}", strange, needed=False)


def _records() -> Iterator[Finding]:
    """Read every file of every recorded run."""
    from insdel_paper import results

    names, files, damaged = results.names(), 0, []
    for name in names:
        try:
            files += results.check(name)
        except results.DamagedRecordError as error:
            damaged.append(name)
            yield Finding(f"record, {name}", error.problem, error.remedy)
    stray = sorted(path.name for path in results.folder().glob("*") if path.name not in names)
    if stray:
        remedy = "records are folders with an about.json: remove what is none"
        yield Finding(f"{results.folder().name}/", f"no record: {', '.join(stray)}", remedy, needed=False)
    result = f"{len(names) - len(damaged)} of {len(names)} sound, {files} files"
    remedy = "" if names else "they come with a clone of the repository; pages show what runs live without them"
    yield Finding("records", result, remedy, needed=False)


def _disk(root: Path) -> Finding:
    """Compare the free disk with what a build leaves behind."""
    free = shutil.disk_usage(root).free / 2**30
    needed = ", ".join(f"{profile} {size:g}" for profile, size in NEEDED_GIB.items())
    result = f"{free:.1f} GiB free; needed in GiB: {needed}"
    short = [profile for profile, size in NEEDED_GIB.items() if free < size]
    remedy = f"make room for {', '.join(short)}, or remove build/" if short else ""
    return Finding("disk", result, remedy, needed="quick" in short)


def _cache(root: Path) -> Iterator[Finding]:
    """Read every executed chapter in the cache: how long profiles take; a damaged chapter is run again."""
    from insdel_book.cache import run_facts
    from insdel_paper import results

    paths = sorted((root / "build" / "cache").glob("*.ipynb"), key=lambda path: path.stat().st_mtime)
    facts = {path: run_facts(path) for path in paths}
    damaged = [path.name for path, fact in facts.items() if fact is None]
    result = f"{len(paths)} executed chapters" + (f", {len(damaged)} damaged: {', '.join(damaged)}" if damaged else "")
    yield Finding("cache", result, "insdel book runs these again" if damaged else "", needed=False)
    runs = [(path.stem.rpartition("-")[0], fact) for path, fact in facts.items() if fact]
    count = len(list_chapters(root))
    for profile in PROFILES:
        newest = {name: float(fact["seconds"]) for name, fact in runs if fact["profile"] == profile}
        result = "not known yet"
        if newest:
            result = f"{in_words(sum(newest.values()))} for {len(newest)} of {count} chapters"
        if profile == "paper" and results.names():
            with suppress(results.DamagedRecordError):  # named above
                result += f"; {in_words(sum(float(results.about(name)['seconds']) for name in results.names()))}"
                result += " for the recorded full-size runs"
        remedy = "" if newest or profile == "paper" else f"insdel book --profile {profile} finds out"
        yield Finding(f"time, {profile}", result, remedy, needed=False)


def in_words(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def find_browser() -> str | None:
    """Return the command of an installed Chromium-like browser."""
    return next((name for name in BROWSERS if shutil.which(name)), None)


def report(root: Path) -> tuple[list[str], bool]:
    """Return the lines to print, and whether all that is needed is there."""
    findings = list(examine(root))
    lines = [f"{'OK  ' if not f.remedy else '!!  ' if f.needed else '--  '}{f.what}: {f.found}"
             + (f"  →  {f.remedy}" if f.remedy else "") for f in findings]  # fmt: skip
    return lines, not any(finding.remedy and finding.needed for finding in findings)


def has_book_extra() -> bool:
    """Whether the packages that run chapters and build pages are installed."""
    return all(find_spec(name) is not None for name in ("papermill", "jupytext", "jupyter_book", "ipykernel"))
