"""Room to work in: folders that can be written to, a lock that says who builds, nothing left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from insdel.errors import UserError

ROOM = {"run": 0.2, "book": 0.5}  # GiB that a run or a book needs at least, pages with their copies of MathJax
FILES = 100  # open files that a chapter, its kernel and the lines between them need (70 were enough, 60 were not)
OLD = 7 * 24 * 3600.0  # seconds after which a leftover is one, even if its process number is in use again


def check_room(folder: Path, what: str) -> None:
    """Refuse before anything runs if a folder cannot be written to, the disk is nearly full, or few files may be open.

    what : "run" or "book"
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror}. Name another folder, or free this one.") from None
    free = shutil.disk_usage(folder).free / 2**30
    if free < ROOM[what]:
        raise OSError(f"the disk of {folder} needs {ROOM[what]} GiB; it has {free:.2f}. Make room first.")
    _check_open_files()


def _check_open_files() -> None:
    """Refuse a limit of open files with which no kernel starts: it would only be silent for a minute."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit != resource.RLIM_INFINITY and limit < FILES:
        raise OSError(f"open files are limited to {limit} (ulimit -n); a chapter needs {FILES}. Run: ulimit -n 1024")


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the lock of a build folder; refuse, and say who builds, if another process has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with (folder / "lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            who = file.read().strip() or "another process"
            raise UserError(f"{folder} is in use: {who} builds there. Wait for its end, or end it.") from None
        file.truncate(0)
        file.write(f"process {os.getpid()}, since {datetime.now():%H:%M:%S},")
        file.flush()
        yield


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder for one run, gone afterwards; those of runs that were killed are removed too."""
    for left in folder.glob("run-*"):
        if not _in_use(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f"run-{os.getpid()}-") as name:
        yield Path(name)


def _in_use(left: Path) -> bool:
    """Whether the process that a folder is named after still lives."""
    number = left.name.split("-")[1]
    if not number.isdigit() or time.time() - left.stat().st_mtime > OLD:
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def fresh_folder(place: Path | None, default: Path, holds: str) -> Iterator[Path]:
    """Make the folder of a run; if the run fails, take it away again as far as it was made here.

    Parameters
    ----------
    place : what the user named; a folder that holds a run or a notebook called `holds` is refused
    default : tried with -2, -3, … until it is new: two runs in one second get a folder each
    """
    if place is not None:
        taken = [name for name in ("html", holds) if (place / name).exists()]
        if taken:
            raise UserError(f"{place} holds {taken[0]} already; runs are never overwritten. Name another with -o.")
    folder, made = _claim(place, default)
    try:
        yield folder
    except BaseException:
        if made:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            shutil.rmtree(folder / "html", ignore_errors=True)
            with suppress(OSError):
                (folder / holds).unlink(missing_ok=True)
        raise


def _claim(place: Path | None, default: Path) -> tuple[Path, bool]:
    """A folder that is there now, and whether it was made here."""
    try:
        if place is not None:
            made = not place.exists()
            place.mkdir(parents=True, exist_ok=True)
            return place, made
        default.parent.mkdir(parents=True, exist_ok=True)
        for number in range(1, 1000):
            folder = default if number == 1 else default.with_name(f"{default.name}-{number}")
            with suppress(FileExistsError):
                folder.mkdir()
                return folder, True
    except OSError as error:
        wanted = place or default
        raise OSError(f"cannot make the folder {wanted}: {error.strerror}. Name another with -o.") from None
    raise OSError(f"there are a thousand runs beside {default}. Name another folder with -o.")
