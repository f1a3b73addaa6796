"""What a mistake of the caller raises: one message that says what is needed, what was found and what to do."""

from __future__ import annotations

import operator
from importlib import import_module
from typing import Any


class UserError(ValueError):
    """Something that was passed in cannot be used; the message says what can."""


class UserTypeError(UserError, TypeError):
    """The same for things of the wrong kind, such as a model that cannot be called."""


def require(package: str, purpose: str) -> Any:
    """Import a package that not everyone has, or say what it is needed for and how to get it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise UserError(
            f"{purpose} needs {error.name}, which is not installed: pip install 'insdel[methods]'."
        ) from error


class RunError(RuntimeError):
    """What ran on the caller's behalf failed (a chapter, a page, a solution); the message says where and why."""


def whole(name: str, value: Any) -> int:
    """Return a whole number as Python's own, NumPy's included; refuse anything else, 50.0 too."""
    try:
        return operator.index(value)
    except TypeError:
        raise UserError(f"{name} must be a whole number, but it is {value!r}.") from None
