"""Recorded runs as claims use them: loaded once, and with the command that makes one that is missing."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from insdel_paper import results
from insdel_paper.claims.verdict import MissingRecordError
from insdel_paper.records.registry import command


def load(name: str, part: str | None = None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table of a record, the main one by default, and its provenance; `MissingRecordError` if there is none."""
    if not results.exists(name, part):
        raise MissingRecordError(name, command(name))
    folder = results.folder()
    return _read(folder, (folder / name / results.ABOUT).stat().st_mtime_ns, name, part)


@lru_cache(maxsize=64)
def _read(folder: Path, changed: int, name: str, part: str | None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a table once for each state of its record."""
    return results.load(name, part)


def table(name: str, part: str | None = None) -> pd.DataFrame:
    """A table of a record, the main one by default."""
    return load(name, part)[0]


def about(name: str) -> dict[str, Any]:
    """A record's provenance."""
    return load(name)[1]


def there(*names: str) -> list[str]:
    """Those of the records that are here; `MissingRecordError` about the first if none is."""
    result = [name for name in names if results.exists(name)]
    if not result:
        raise MissingRecordError(names[0], command(names[0]))
    return result
