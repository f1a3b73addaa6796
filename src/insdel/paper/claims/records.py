"""Recorded runs as claims use them: loaded once, and with the command that makes one that is missing."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pandas as pd

from insdel.paper import results
from insdel.paper.claims.verdict import MissingRecordError
from insdel.paper.records.runs import NAMES, words

COMMANDS = {
    "data_facts": "python -m insdel.paper.studies.data_facts",
    "cern_accuracy": "python -m insdel.paper.studies.data_facts accuracy",
    "bench": "make bench",
    "spend": "python -m insdel.paper.studies.cost",
    "images_albatross": "python -m insdel.paper.studies.images.study images_albatross PHOTO --network b0 --label albatross",
    **{name: " ".join(["python -m insdel.paper.records.runs", *words(name)]) for name in NAMES},
}


def command(name: str) -> str:
    """What records a run; of a record's parts (…_pairs, …_curves), what records the whole."""
    if name.startswith("roar_"):
        return f"python -m insdel.paper.records.roar {name.removeprefix('roar_')}"
    whole = [known for known in COMMANDS if name == known or name.startswith(f"{known}_")]
    if not whole:
        raise ValueError(f"no command is known that records {name!r}. Known records: {', '.join(COMMANDS)}, roar_….")
    return COMMANDS[max(whole, key=len)]


def load(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A record's table and provenance; `MissingRecordError` if there is none."""
    if not results.exists(name):
        raise MissingRecordError(name, command(name))
    path = results.folder() / f"{name}.parquet"
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: str, changed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a record once for each state of its file."""
    return results.load(path.rsplit("/", 1)[-1].removesuffix(".parquet"))


def table(name: str) -> pd.DataFrame:
    """A record's table."""
    return load(name)[0]


def about(name: str) -> dict[str, Any]:
    """A record's provenance."""
    return load(name)[1]


def there(*names: str) -> list[str]:
    """Those of the records that are here; `MissingRecordError` about the first if none is."""
    found = [name for name in names if results.exists(name)]
    if not found:
        raise MissingRecordError(names[0], command(names[0]))
    return found
