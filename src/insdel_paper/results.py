"""Recorded full-size runs, one folder each in `results/`.

results/NAME/TABLE.parquet        its tables: small and tidy
results/NAME/network.safetensors  the fitted network, where there is one
results/NAME/about.json           where they come from: command, parameters, data, code, versions, hardware, time;
                                  and which files there are, with their hashes
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from insdel.errors import UserError
from insdel_paper.provenance import hardware, sha256, versions

ABOUT, NETWORK = "about.json", "network.safetensors"
Result = TypeVar("Result")


class DamagedRecordError(UserError):
    """A file of a record is missing, or is not the one that was recorded."""

    def __init__(self, name: str, problem: str) -> None:
        self.problem = problem
        self.remedy = f"`git checkout -- results/{name}` brings it back, `insdel record {name}` makes it again"
        super().__init__(f"the record {name!r} is damaged: {problem}. In a clone, {self.remedy}.")


def folder() -> Path:
    """Where records are: INSDEL_RESULTS, else `results/` of the clone around the current folder or this package."""
    if os.environ.get("INSDEL_RESULTS"):
        return Path(os.environ["INSDEL_RESULTS"])
    here = Path.cwd()
    for place in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (place / "_toc.yml").is_file() and (place / "results").is_dir():
            return place / "results"
    return here / "results"


def names() -> list[str]:
    """Names of all records."""
    return sorted(path.parent.name for path in folder().glob(f"*/{ABOUT}") if not path.parent.name.startswith("."))


def exists(name: str, table: str | None = None) -> bool:
    """Whether there is a record of that name, with that table if one is named."""
    return (folder() / name / ABOUT).is_file() and (table is None or table in tables(name))


def about(name: str) -> dict[str, Any]:
    """Where a record comes from."""
    path = folder() / name / ABOUT
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no record {name!r} in {folder().name}/; there are: {', '.join(names()) or 'none'}. "
            "`insdel record --list` says how each is made. They come with a clone of the repository: run in it, "
            "or let INSDEL_RESULTS name its folder results/."
        )
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return dict(facts, files=dict(facts["files"]))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedRecordError(name, f"{ABOUT} cannot be read ({type(error).__name__}: {error})") from error


def tables(name: str) -> list[str]:
    """Names of a record's tables, the main one first."""
    return [file.removesuffix(".parquet") for file in about(name)["files"] if file.endswith(".parquet")]


def load(name: str, table: str | None = None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table of a record, the main one by default, and where it comes from."""
    facts, listed = about(name), tables(name)
    if table is not None and table not in listed:
        raise FileNotFoundError(f"the record {name!r} has no table {table!r}; it has: {', '.join(listed)}.")
    if not listed:
        raise DamagedRecordError(name, f"{ABOUT} lists no table")
    path = sound(name, f"{table or listed[0]}.parquet")
    return pd.read_parquet(path), facts


def shown(name: str, live: Result, evidence: str, read: Callable[[str], Result]) -> Result:
    """What a page shows of a run: its record, where that is wanted and there is one, else the page's own run.

    Parameters
    ----------
    name : of the record
    live : what the page has found by itself; None if nothing
    evidence : "recorded" or "live"
    read : gets the name, returns the record in the form of `live`
    """
    if evidence not in ("recorded", "live"):
        raise UserError(f"evidence must be recorded or live; found {evidence!r}.")
    return read(name) if evidence == "recorded" and exists(name) else live


def network(name: str) -> Path:
    """Return the file of the fitted network that a record was made with."""
    if NETWORK not in about(name)["files"]:
        raise FileNotFoundError(f"the record {name!r} has no network of its own.")
    return sound(name, NETWORK)


def sound(name: str, file: str) -> Path:
    """Return the path of a record's file, after a look whether it is the one that was recorded."""
    path, facts = folder() / name / file, about(name)["files"][file]
    if not path.is_file():
        raise DamagedRecordError(name, f"{file} is missing")
    if sha256(path) != facts["sha256"]:
        raise DamagedRecordError(name, f"{file} is not the file that {ABOUT} describes ({path.stat().st_size:,} bytes)")
    return path


def check(name: str) -> int:
    """Look at every file of a record and return how many there are; `DamagedRecordError` about the first bad one."""
    files = about(name)["files"]
    for file, facts in files.items():
        path = sound(name, file)
        if "rows" in facts and len(pd.read_parquet(path)) != facts["rows"]:
            raise DamagedRecordError(name, f"{file} does not have the {facts['rows']:,} rows that {ABOUT} states")
    return len(files)


def save(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    facts: Mapping[str, Any],
    *,
    network: Callable[[Path], object] | None = None,
    into: Path | None = None,
) -> Path:
    """Write a record, all of it or nothing, and return its folder.

    The hash of the package, the date, versions and hardware are added to the facts.

    Parameters
    ----------
    tables : name → table, the main one first
    facts : what only the caller knows: command, parameters, data (source and sha256), seconds
    network : writes the fitted network to the path that it gets
    into : another folder than `results/`, for a trial
    """
    place = into or folder()
    partial = place / f".{name}.{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for table, rows in tables.items():
        rows.to_parquet(partial / f"{table}.parquet", index=False, compression="zstd")
    if network is not None:
        network(partial / NETWORK)
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    own = {"package": package_hash(), "date": date, "versions": versions(), "hardware": hardware()}
    files: dict[str, dict[str, Any]] = {f"{table}.parquet": {"rows": len(rows)} for table, rows in tables.items()}
    files |= {NETWORK: {}} if network is not None else {}
    for file in files:
        files[file]["sha256"] = sha256(partial / file)
    text = json.dumps({**facts, **own, "files": files}, indent=1, ensure_ascii=False)
    (partial / ABOUT).write_text(text + "\n", encoding="utf-8")
    target, before = place / name, partial.with_name(f"{partial.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    if target.exists():
        target.rename(before)
    partial.rename(target)
    shutil.rmtree(before, ignore_errors=True)
    return target


def package_hash() -> str:
    """Hash of the source files of the library and of this package."""
    total, root = hashlib.sha256(), Path(__file__).resolve().parents[1]
    for path in sorted(path for name in ("insdel", "insdel_paper") for path in (root / name).rglob("*.py")):
        total.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return total.hexdigest()[:16]
