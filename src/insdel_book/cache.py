"""When an executed chapter may be shown again: text, parameters, code, data, results and versions are the same."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import nbformat

from insdel_book.chapters import Chapter
from insdel_paper import data

SRC = Path(__file__).resolve().parents[1]


def folder_hash(folder: Path) -> str:
    """Return a hash of the names and contents of all files under a folder."""
    return _hash(path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _hash(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.parent.name}/{path.name}".encode())
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def chapter_key(chapter: Chapter, values: Mapping[str, Any], root: Path) -> str:
    """Return the hash under which the executed chapter is kept; `code_hash` has the rest of what it depends on."""
    named = os.environ.get("INSDEL_DATA")
    common = [
        folder_hash(Path(named)) if named else "", *(str(entry["sha256"]) for entry in data.available()),
        folder_hash(root / "results"), platform.python_version(), platform.machine(),
        *sorted(f"{package.name} {package.version}" for package in distributions()),
    ]  # fmt: skip
    parts = [chapter.name, chapter.source.read_text(encoding="utf-8"), values, common]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def code_hash(root: Path, modules: Iterable[str], since: float | None = None) -> str:
    """Return a hash of the files of modules, of this package or `course/`, that a chapter's kernel had in the end.

    since : a time; the hash is empty, so that the chapter runs again, if a file was changed later
    """
    files = []
    for stem in (base / name.replace(".", "/") for base in (SRC, root) for name in sorted(modules)):
        files += [path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()]
        if (stem / "__init__.py").is_file():  # data files stand beside it
            files += sorted(path for path in stem.iterdir() if path.is_file() and path.suffix not in (".py", ".pyc"))
    if since is not None and any(path.stat().st_mtime > since for path in files):
        return ""
    return _hash(files)


def run_facts(path: Path) -> dict[str, Any] | None:
    """Return what an executed notebook notes about its run; None if it is damaged."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        return dict(notebook.metadata["insdel"])
    except Exception:  # whatever a foreign or truncated file makes of its reader
        return None
