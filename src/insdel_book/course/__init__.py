"""The course: notebooks and slides, made from the content in the folder `course/` of a clone."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from insdel.errors import UserError
from insdel_book.clone import clone


def course_folder() -> Path:
    """Return the folder `course/` of the clone, with the exercises and the table of lectures."""
    folder = clone() / "course"
    if not folder.is_dir():
        raise UserError(f"the exercises are content of a clone, in course/; {folder.parent} has no such folder.")
    return folder


def load_course(name: str) -> ModuleType:
    """Import a module of the clone's folder `course/`: "exercises", or "notebooks" that are made from them."""
    root = str(course_folder().parent)
    if root not in sys.path:
        sys.path.append(root)
    return import_module(f"course.{name}")
