"""Recorded runs as claims use them: loaded once, and with the command that makes one that is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, TypeVar

import pandas as pd

from insdel_paper import results
from insdel_paper.claims.verdict import MissingRecordError
from insdel_paper.records.registry import command

Made = TypeVar("Made")
_ASKED: list[list[str]] = []  # names of the records that were asked for, by each `noted`


@contextmanager
def noted() -> Iterator[list[str]]:
    """The names of the records that are asked for meanwhile."""
    _ASKED.append([])
    try:
        yield _ASKED[-1]
    finally:
        _ASKED.pop()


def kept(make: Callable[..., Made]) -> Callable[..., Made]:
    """Keep what a function makes of the record that its first argument names, while its files stay the same."""
    remembered = lru_cache(maxsize=64)(lambda state, *given: make(*given))

    @wraps(make)
    def asked(name: str, *given: Any) -> Made:
        existing(name)
        for names in _ASKED:
            names.append(name)
        folder = results.folder()
        return remembered((folder, (folder / name / results.ABOUT).stat().st_mtime_ns), name, *given)

    return asked


@kept
def load(name: str, part: str | None = None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table of a record, the main one by default, and its provenance; `MissingRecordError` if there is none."""
    if not results.exists(name, part):
        raise MissingRecordError(name, command(name))
    return results.load(name, part)


def table(name: str, part: str | None = None) -> pd.DataFrame:
    """A table of a record, the main one by default."""
    return load(name, part)[0]


def about(name: str) -> dict[str, Any]:
    """A record's provenance."""
    return load(name)[1]


def existing(*names: str) -> list[str]:
    """Those of the records that are here; `MissingRecordError` about the first if none is."""
    result = [name for name in names if results.exists(name)]
    if not result:
        raise MissingRecordError(names[0], command(names[0]))
    return result
