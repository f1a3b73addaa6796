"""`insdel doctor`: check that the book has all it needs, and say what to do if not."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
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


class Diagnosis(NamedTuple):
    """One thing that was looked at; `remedy` is empty if all is well."""

    what: str
    found: str
    remedy: str = ""
    needed: bool = True


def examine(root: Path) -> Iterator[Diagnosis]:
    """Look at Python, the packages, the device, data, records, the disk, the time that profiles take, the browser."""
    remedy = "" if sys.version_info >= (3, 11) else "install Python 3.11 or newer"
    yield Diagnosis("Python", platform.python_version(), remedy)
    for name in BOOK_PACKAGES:
        yield Diagnosis(name, _version(name), 'pip install "insdel[book]"' if name in missing_packages() else "")
    remedy = "" if _version("torch") == TORCH else f"pip install torch=={TORCH}: other releases change results slightly"
    yield Diagnosis("torch", _version("torch"), remedy, needed=False)
    yield _lock(root)
    import torch

    cpu = f"CPU, {torch.get_num_threads()} threads; no page needs a GPU"
    gpu = torch.cuda.is_available() and f"{torch.cuda.get_device_name()}; insdel device compares it with the processor"
    yield Diagnosis("device", gpu or cpu)
    yield from _data()
    yield from _records()
    free = shutil.disk_usage(root).free / 2**30
    short = [profile for profile, size in NEEDED_GIB.items() if free < size]
    found = f"{free:.1f} GiB free; needed in GiB: " + ", ".join(f"{name} {size:g}" for name, size in NEEDED_GIB.items())
    remedy = f"make room for {', '.join(short)}, or remove build/" if short else ""
    yield Diagnosis("disk", found, remedy, needed="quick" in short)
    if not missing_packages():  # else chapters cannot be read, and nothing was built
        yield from _cache(root)
    remedy = "" if find_browser() else "only the browser tests need one: install Chromium"
    yield Diagnosis("browser", find_browser() or "none", remedy, needed=False)


def _version(name: str) -> str:
    """The installed version of a package, without the build that only some machines have ("+cpu")."""
    try:
        return version(name).split("+")[0]
    except PackageNotFoundError:
        return MISSING


def _lock(root: Path) -> Diagnosis:
    """Compare what is installed with `requirements.lock`, the versions that recorded numbers were made with."""
    path = root / "requirements.lock"
    if not path.is_file():
        return Diagnosis("versions", "no requirements.lock here to compare with", "run it in a clone", needed=False)
    locked = dict(re.findall(r"^([^#\s=]+)==(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
    differ = {name: found for name in locked if (found := _version(name)) != locked[name]}
    other = [f"{name} {found} (lock: {locked[name]})" for name, found in differ.items() if found != MISSING]
    parts = {"other versions": other, "missing": [name for name, found in differ.items() if found == MISSING]}
    wrong = [f"; {what}: {', '.join(names)}" for what, names in parts.items() if names]
    text = f"{len(locked) - len(differ)} of {len(locked)} as in requirements.lock{''.join(wrong)}"
    remedy = "make setup, or pip install -r requirements.lock, for the numbers of the book to the last digit"
    return Diagnosis("versions", text, remedy if wrong else "", needed=False)


def _data() -> Iterator[Diagnosis]:
    """Look for the real file of each data set."""
    from insdel_paper import data

    folder = os.environ.get("INSDEL_DATA")
    if folder and not Path(folder).is_dir():
        yield Diagnosis("real data", "INSDEL_DATA names no folder", "set it to a folder, or unset it")
        return
    if not folder:
        advice = "chapters simulate the data, and say so; to use real files, set INSDEL_DATA to their folder"
        yield Diagnosis("real data", "INSDEL_DATA is not set", advice, needed=False)
    for entry in data.available():
        wrong = "not the published file: compare its size, or fetch it again" if entry["sha_ok"] is False else ""
        real = f"real: {entry['found']}", wrong
        found, remedy = real if entry["found"] else ("no real file: simulated", entry["get"])
        yield Diagnosis(f"data, {entry['name']}", found, remedy, needed=False)


def _records() -> Iterator[Diagnosis]:
    """Read every file of every recorded run."""
    from insdel_paper import results

    names, files = results.names(), []
    for name in names:
        try:
            files.append(results.check(name))
        except results.DamagedRecordError as error:
            yield Diagnosis(f"record, {name}", error.problem, error.remedy)
    if stray := sorted({path.name for path in results.folder().glob("*")} - {*names}):
        remedy = "records are folders with an about.json: remove what is none"
        yield Diagnosis(f"{results.folder().name}/", f"no record: {', '.join(stray)}", remedy, needed=False)
    remedy = "" if names else "they come with a clone of the repository; pages show what runs live without them"
    yield Diagnosis("records", f"{len(files)} of {len(names)} sound, {sum(files)} files", remedy, needed=False)


def _cache(root: Path) -> Iterator[Diagnosis]:
    """Read every executed chapter in the cache: how long profiles take; a damaged chapter is run again."""
    from insdel_book.cache import run_facts
    from insdel_paper import results

    paths = sorted((root / "build" / "cache").glob("*.ipynb"), key=lambda path: path.stat().st_mtime)
    facts = {path: run_facts(path) for path in paths}
    damaged = [path.name for path, fact in facts.items() if fact is None]
    result = f"{len(paths)} executed chapters" + (f", {len(damaged)} damaged: {', '.join(damaged)}" if damaged else "")
    yield Diagnosis("cache", result, "insdel book runs these again" if damaged else "", needed=False)
    recorded = 0.0
    with suppress(results.DamagedRecordError):  # named above
        recorded = sum(float(results.about(name)["seconds"]) for name in results.names())
    for profile in PROFILES:
        runs = {path.stem.rpartition("-")[0]: f for path, f in facts.items() if f and f["profile"] == profile}
        seconds = in_words(sum(float(fact["seconds"]) for fact in runs.values()))
        result = f"{seconds} for {len(runs)} of {len(list_chapters(root))} chapters" if runs else "not known yet"
        if profile == "paper" and recorded:
            result += f"; {in_words(recorded)} for the recorded full-size runs"
        remedy = "" if runs or profile == "paper" else f"insdel book --profile {profile} finds out"
        yield Diagnosis(f"time, {profile}", result, remedy, needed=False)


def in_words(seconds: float) -> str:
    """A duration in words."""
    minutes = f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
    return minutes if seconds >= 90 else f"{seconds:.0f} s"


def find_browser() -> str | None:
    """Return the command of an installed Chromium-like browser."""
    return next(filter(shutil.which, BROWSERS), None)


def report(root: Path) -> tuple[list[str], bool]:
    """Return the lines to print, and whether all that is needed is there."""
    findings = list(examine(root))
    lines = [f"{'OK  ' if not f.remedy else '!!  ' if f.needed else '--  '}{f.what}: {f.found}"
             + (f"  →  {f.remedy}" if f.remedy else "") for f in findings]  # fmt: skip
    return lines, not any(finding.remedy and finding.needed for finding in findings)


def missing_packages() -> list[str]:
    """Those packages that are not installed, of all that run chapters, build pages and make slides."""
    return [name for name in BOOK_PACKAGES if _version(name) == MISSING]
