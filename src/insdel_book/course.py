"""Where the clone is, the folder with the chapters, the course and the records; and its exercises."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from insdel.errors import UserError


def find_root(start: Path | None = None) -> Path:
    """Return the repository's folder: the nearest one at or above `start` with a `_toc.yml`."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "_toc.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise UserError(
        f"the book's sources are needed (a folder with _toc.yml and notebooks/), but neither {start} nor a "
        "folder above it has them. Go into a clone of the repository and try again."
    )


def clone() -> Path:
    """The clone around the current folder; elsewhere the one that this package was installed from (`make setup`)."""
    try:
        return find_root()
    except UserError:
        home = Path(__file__).resolve().parents[2]
        if not (home / "_toc.yml").is_file():
            raise
        return home


def load_course(name: str) -> ModuleType:
    """Import a module of the clone's folder `course/`: "exercises", or "notebooks" that are made from them."""
    root = clone()
    if not (root / "course").is_dir():
        raise UserError(f"the exercises are content of a clone, in course/; {root} has no such folder.")
    if str(root) not in sys.path:
        sys.path.append(str(root))
    return import_module(f"course.{name}")
