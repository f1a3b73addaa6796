"""Recorded full-size runs: small tidy tables in `results/`, each with where it comes from.

A record is two files: NAME.parquet, the table, and NAME.json, its provenance: command, parameters,
hashes of the package and the data, versions, hardware, wall time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from insdel.store import replace, write_parquet


def folder() -> Path:
    """Where records are: INSDEL_RESULTS, else `results/` of the repository this package runs from, else here."""
    if os.environ.get("INSDEL_RESULTS"):
        return Path(os.environ["INSDEL_RESULTS"])
    repository = Path(__file__).resolve().parents[3]
    return (repository if (repository / "pyproject.toml").is_file() else Path.cwd()) / "results"


def names() -> list[str]:
    """Names of all records."""
    return sorted(path.stem for path in folder().glob("*.json") if path.with_suffix(".parquet").is_file())


def exists(name: str) -> bool:
    """Whether there is a record of that name."""
    return name in names()


def load(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a record's table and its provenance."""
    if not exists(name):
        raise FileNotFoundError(
            f"there is no record {name!r} in {folder().name}/; there are: {', '.join(names()) or 'none'}. "
            "`make paper` writes them; in a clone of the repository they are in results/."
        )
    provenance = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    return pd.read_parquet(folder() / f"{name}.parquet"), provenance


def save(name: str, table: pd.DataFrame, provenance: Mapping[str, Any]) -> Path:
    """Write a record; the hash of the package, the date, versions and hardware are added.

    Parameters
    ----------
    provenance : what only the caller knows: command, parameters, data (source and sha256), seconds
    """
    from insdel.paper.provenance import hardware, versions

    facts = {
        **provenance,
        "rows": len(table),
        "package": package_hash(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "versions": versions(),
        "hardware": hardware(),
    }
    folder().mkdir(parents=True, exist_ok=True)
    target = folder() / f"{name}.parquet"
    write_parquet(table, target)
    replace(target.with_suffix(".json"), json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    return target


def package_hash() -> str:
    """Hash of the package's source files."""
    total, root = hashlib.sha256(), Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        total.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return total.hexdigest()[:16]
