"""Where the clone is: the folder with the chapters, the course and the records."""

from __future__ import annotations

from pathlib import Path

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
