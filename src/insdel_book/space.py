"""Room to work in: folders that can be written to, a lock that says who builds, nothing left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from insdel.errors import UserError

ROOM = {"run": 0.2, "book": 0.5}  # GiB that a run or a book needs at least, pages with their copies of MathJax
FILES = 100  # open files that a chapter, its kernel and the lines between them need (70 were enough, 60 were not)


def check_room(folder: Path, what: str) -> None:
    """Refuse a "run" or a "book" if a folder cannot be written to, the disk nearly full, or few files may be open."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror}. Name another folder, or free this one.") from None
    free = shutil.disk_usage(folder).free / 2**30
    if free < ROOM[what]:
        raise OSError(f"the disk of {folder} needs {ROOM[what]} GiB; it has {free:.2f}. Make room first.")
    limit = soft_limits().get("open files (ulimit -n)", FILES)
    if limit < FILES:  # no kernel starts, and is silent about it for a minute
        raise OSError(f"open files are limited to {limit} (ulimit -n); a chapter needs {FILES}. Run: ulimit -n 1024")


def soft_limits() -> dict[str, int]:
    """The limits that this process has; none on Windows."""
    try:
        import resource
    except ImportError:
        return {}
    limits = {"memory (ulimit -v, bytes)": resource.RLIMIT_AS, "open files (ulimit -n)": resource.RLIMIT_NOFILE,
              "processes (ulimit -u)": resource.RLIMIT_NPROC}  # fmt: skip
    held = {name: resource.getrlimit(limit)[0] for name, limit in limits.items()}
    return {name: value for name, value in held.items() if value != resource.RLIM_INFINITY}


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the lock of a build folder; refuse, and say who builds, if another process has it."""
    note = folder / "lock.txt"
    try:
        with FileLock(folder / "lock", blocking=False):
            note.write_text(f"process {os.getpid()}, since {datetime.now():%H:%M:%S},", encoding="utf-8")
            yield
    except Timeout:
        who = note.read_text(encoding="utf-8") if note.is_file() else "another process"
        raise UserError(f"{folder} is in use: {who} builds there. Wait, or stop it.") from None


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder for one run, gone afterwards; those of runs that were killed are removed too."""
    for left in folder.glob("run-*"):
        number = left.name.split("-")[1]
        if not number.isdigit() or not psutil.pid_exists(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f"run-{os.getpid()}-") as name:
        yield Path(name)


def fresh_folder(default: Path) -> Path:
    """Make a folder that is new, with -2, -3, … if need be: two runs in one second get a folder each."""
    for number in count(1):
        folder = default if number == 1 else default.with_name(f"{default.name}-{number}")
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            break
    return folder
