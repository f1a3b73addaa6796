"""Twins of the chapters: from each `.md` the output-free `.ipynb` that Colab, Binder and papermill open."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

from insdel_book.chapters import Chapter

INSTALL = '%pip install -q "..[book]"'
# Colab has no clone: the records that chapters show come with one, at the commit that the notebook is from
FETCH = """\
!git clone -q {address} insdel-book && git -C insdel-book checkout -q {commit}
    %pip install -q "./insdel-book[book]"
import os

if os.path.isdir("insdel-book/notebooks"):
    os.chdir("insdel-book/notebooks")"""
SOURCES = ("src", "results", "pyproject.toml")  # what a chapter runs and shows
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def repository_address(root: Path) -> str | None:
    """Return the address of the repository on GitHub, if any: INSDEL_REPOSITORY, else origin; a fork names itself."""
    text = os.environ.get("INSDEL_REPOSITORY", "").strip() or _git(root, "remote", "get-url", "origin")
    if re.fullmatch(r"[\w.-]+/[\w.-]+", text):
        return f"https://github.com/{text}"
    match = re.search(r"github\.com[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?/?$", text)
    return f"https://github.com/{match[1]}/{match[2]}" if match else None


def _git(root: Path, *words: str) -> str:
    """What git answers; empty if the folder is no clone, or git is not here."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return ""
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False).stdout.strip()


def last_commit(root: Path) -> str:
    """Return the commit that last changed what chapters run and show; "HEAD" if the folder is no clone."""
    return _git(root, "log", "-1", "--format=%H", "--", *SOURCES) or "HEAD"


def fill_address(notebook: Any, address: str | None, commit: str = "HEAD") -> Any:
    """Let the first cell clone the repository at a commit and install from there (Colab has no clone beside it)."""
    if address:
        for cell in notebook.cells:
            cell.source = cell.source.replace(INSTALL, FETCH.format(address=address, commit=commit))
    return notebook


def twin(chapter: Chapter, address: str | None = None, commit: str = "HEAD") -> Any:
    """Return the chapter as an output-free notebook whose cell ids depend on the text alone."""
    notebook = fill_address(chapter.read(), address, commit)
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] += 1
        cell.id = f"{digest}-{seen[digest]}"
    return notebook


def sync(root: Path, chapters: Iterable[Chapter]) -> list[Path]:
    """Write the `.ipynb` of every chapter that has changed, and return those files."""
    address, commit, changed = repository_address(root), last_commit(root), []
    for chapter in chapters:
        path, text = chapter.source.with_suffix(".ipynb"), nbformat.writes(twin(chapter, address, commit)) + "\n"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
