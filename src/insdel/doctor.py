"""`insdel doctor`: is all there that the book needs, and if not, what to do."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

BOOK_PACKAGES = ("jupyter-book", "jupytext", "papermill", "ipykernel", "sphinx-proof", "sphinx-exercise")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Finding(NamedTuple):
    """One thing that was looked at; `remedy` is empty if all is well."""

    what: str
    found: str
    remedy: str = ""
    needed: bool = True


def examine(root: Path) -> Iterator[Finding]:
    """Look at Python, the packages, the device, the data, the disk and the browser."""
    fits = sys.version_info >= (3, 11)
    yield Finding("Python", platform.python_version(), "" if fits else "install Python 3.11 or newer")
    yield from _packages()
    yield _device()
    yield _data()
    free = shutil.disk_usage(root).free / 2**30
    yield Finding("disk", f"{free:.1f} GiB free", "" if free > 2 else "make room: a build needs up to 2 GiB")
    browser = find_browser()
    remedy = "" if browser else "only the browser tests need one: install Chromium"
    yield Finding("browser", browser or "none", remedy, needed=False)


def _packages() -> Iterator[Finding]:
    """Look for the packages of the book, and for torch in the pinned release."""
    for name in BOOK_PACKAGES:
        try:
            yield Finding(name, version(name))
        except PackageNotFoundError:
            yield Finding(name, "missing", 'pip install "insdel[book]"')
    pin = next((line.split("==")[1] for line in requires("insdel") or [] if line.startswith("torch==")), "")
    found = version("torch").split("+")[0]
    remedy = "" if found == pin else f"pip install torch=={pin}: other releases change results slightly"
    yield Finding("torch", found, remedy, needed=False)


def _device() -> Finding:
    """Name the device that models run on."""
    import torch

    return Finding("device", torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU")


def _data() -> Finding:
    """Look for the real data that INSDEL_DATA points to."""
    folder = os.environ.get("INSDEL_DATA")
    if not folder:
        advice = "chapters simulate the data, and say so; to use real files, set INSDEL_DATA to their folder"
        return Finding("real data", "INSDEL_DATA is not set", advice, needed=False)
    if not Path(folder).is_dir():
        return Finding("real data", "INSDEL_DATA names no folder", "set it to a folder, or unset it")
    from insdel import datasets

    found = [entry["name"] for entry in datasets.available() if entry["found"]]
    remedy = "" if found else "put the files there that `insdel data` names, or unset INSDEL_DATA"
    return Finding("real data", ", ".join(found) or "no known file in INSDEL_DATA", remedy, needed=False)


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
