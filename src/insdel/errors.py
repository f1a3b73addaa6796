"""What a mistake of the caller raises: one message that says what is needed, what was found and what to do."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any

SHOWN = 20  # names that a message lists


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


def listed(names: Sequence[Any]) -> str:
    """Names in a message; of many the first."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more or "none"


class RunError(RuntimeError):
    """What ran on the caller's behalf failed (a chapter, a page, a solution); the message says where and why."""


def require_integer(name: str, value: Any, least: int | None = None) -> int:
    """Return a whole number, NumPy's too, as Python's own; refuse anything else, 50.0 too, and less than `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise UserError(f"{name} must be a whole number, but it is {value!r}.") from None
    if least is not None and number < least:
        raise UserError(f"{name} must be at least {least}, but it is {number}.")
    return number


def require_one_of(name: str, value: str, allowed: Collection[str]) -> str:
    """Return `value` if it is one of the allowed ones."""
    if value not in allowed:
        raise UserError(f"{name} must be one of {', '.join(allowed)}; found {value!r}.")
    return value
