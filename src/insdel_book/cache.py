"""What an executed chapter depends on, as one hash: text, parameters, the modules it uses, data, results, versions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from insdel_book.chapters import Chapter
from insdel_book.imports import Graph
from insdel_paper import data


def folder_hash(folder: Path) -> str:
    """Return a hash of the names and contents of all files under a folder; "none" if it does not exist."""
    if not folder.is_dir():
        return "none"
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            total.update(str(path.relative_to(folder)).encode())
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def package_graph() -> Graph:
    """The import graph of these very packages."""
    return Graph(Path(__file__).resolve().parents[1])


def surroundings(root: Path) -> dict[str, str]:
    """Return the hashes of all that is common to the chapters: change one and every chapter runs again."""
    named = os.environ.get("INSDEL_DATA")
    downloaded = [str(entry["sha256"]) for entry in data.available()]
    installed = sorted(f"{dist.name} {dist.version}" for dist in distributions())
    return {
        "data": " ".join([folder_hash(Path(named)) if named else "none", *downloaded]),
        "results": folder_hash(root / "results"),
        "versions": "\n".join([platform.python_version(), platform.machine(), *installed]),
    }


def chapter_key(chapter: Chapter, values: Mapping[str, Any], common: Mapping[str, str], graph: Graph) -> str:
    """Return the hash under which the executed chapter is kept."""
    text = chapter.source.read_text(encoding="utf-8")
    parts = [chapter.name, text, values, common, graph.hash(graph.of_chapter(text))]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
