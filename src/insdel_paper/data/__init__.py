"""Where x comes from: the real file if there is one, else a download, else a simulator, and it says which.

`load` returns a `Dataset` with raw features; `split` holds out rows, and standardises by the training rows.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from insdel.errors import UserError, require_one_of
from insdel_paper.provenance import sha256

from . import files
from .base import Dataset, Split, split
from .files import FetchError, fetch
from .validate import DataError, Problem

__all__ = ["DataError", "Dataset", "FetchError", "Problem", "Split", "available", "fetch", "load", "split"]
NAMES = tuple(files.MODULES)


def load(
    name: str,
    source: str = "auto",
    path: str | Path | None = None,
    *,
    drop_duplicates: bool = False,
    n: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Load "bangalore" or "cern".

    Parameters
    ----------
    source : "auto" takes the first of: `path`, INSDEL_DATA, the cache, a download, the simulator (announced);
        "real" does the same but never simulates; "simulated" always does
    path : a file, or a folder that holds one
    drop_duplicates : drop rows that repeat an earlier one (334 of the 1,951 complete Bangalore rows)
    n, seed : how many rows to draw, and which, if they are simulated; a real file is read whole

    Raises
    ------
    DataError : the file is damaged; lists everything that is wrong, with row and column
    FileNotFoundError, FetchError : no real file, with source="real"; says how to get it
    """
    require_one_of("name", name, NAMES)
    require_one_of("source", source, ("auto", "real", "simulated"))
    if source == "simulated" and path is not None:
        raise UserError(f"source='simulated' reads no file, found path={str(path)!r}. Leave one out.")
    if source == "simulated":
        return _simulated(name, drop_duplicates, n, seed)
    try:
        result = files.given(name, path) if path is not None else files.find(name) or files.fetch_quickly(name)
    except FetchError as error:
        if source == "real":
            raise
        _announce(f"insdel: using SIMULATED {name} data; {error}")
        return _simulated(name, drop_duplicates, n, seed)
    module, digest = files.MODULES[name], sha256(result)
    rows, counts = module.read(result, drop_duplicates)
    provenance = {"origin": module.ORIGIN, "file": result.name, "sha256": digest, "note": module.note(digest, counts)}
    return module.dataset(rows, "real", provenance | counts | {"options": {"drop_duplicates": drop_duplicates}})


def available() -> list[dict[str, Any]]:
    """What `load` would use now, without a download: one dict per dataset.

    Keys: name, what, found (path or None), source ("real", or "simulated" if nothing is found),
    sha256, sha_ok (None where no hash is on record), get (how to get the file).
    """
    table = []
    for name, module in files.MODULES.items():
        path = files.find(name)
        digest, known = (sha256(path), module.SHA256.get(path.name)) if path else (None, None)
        table.append({
            "name": name, "what": module.WHAT, "found": str(path) if path else None,
            "source": "real" if path else "simulated", "sha256": digest,
            "sha_ok": None if known is None else digest == known, "get": files.HOW[name],
        })  # fmt: skip
    return table


@cache
def _announce(text: str) -> None:
    """Print a line, once per process."""
    print(text, file=sys.stderr)


def _simulated(name: str, drop_duplicates: bool, n: int | None, seed: int) -> Dataset:
    simulator = import_module(f"{__name__}.simulate_{name}")
    rows = simulator.simulate(simulator.ROWS if n is None else n, seed)
    repeated = rows.duplicated()
    remaining = rows[~repeated].reset_index(drop=True) if drop_duplicates else rows
    provenance = {
        "origin": simulator.ORIGIN,
        "file": None,
        "sha256": None,
        "note": "simulated rows: no row of the real file is among them",
        "rows_read": len(rows),
        "rows_dropped": {"duplicate of an earlier row": len(rows) - len(remaining)},
        "duplicates": int(repeated.sum()),
        "options": {"drop_duplicates": drop_duplicates, "n": n, "seed": seed},
    }
    return files.MODULES[name].dataset(remaining, "simulated", provenance)
