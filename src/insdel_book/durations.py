"""How long each profile of the book takes: from this machine's own builds, else from a recorded one.

`python -m insdel_book.durations` writes what this machine's builds took to the record `build_times`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pandas as pd

from insdel_book.cache import run_facts
from insdel_book.chapters import PROFILES, find_root
from insdel_paper import results

RECORD = "build_times"
COLUMNS = ["profile", "chapter", "seconds"]


def measured(root: Path) -> pd.DataFrame:
    """What the newest run of each chapter in `build/cache` took with each profile, without values of a reader's own.

    Returns
    -------
    DataFrame: profile, chapter, seconds
    """
    paths = sorted((root / "build" / "cache").glob("*.ipynb"), key=lambda path: path.stat().st_mtime)
    facts = [(path.stem.rpartition("-")[0], run_facts(path) or {}) for path in paths]
    newest = {(f["profile"], name): float(f["seconds"]) for name, f in facts if f.get("profile") in PROFILES}
    return pd.DataFrame([(*key, seconds) for key, seconds in newest.items()], columns=COLUMNS)


def recorded() -> tuple[pd.DataFrame, str]:
    """The recorded times and the machine that they were taken on; an empty table if there is no sound record."""
    try:
        table, about = results.load(RECORD)
    except (FileNotFoundError, results.DamagedRecordError):
        return pd.DataFrame(columns=COLUMNS), ""
    return table, str(about["hardware"])


def full_size_runs() -> float:
    """Seconds of all recorded full-size runs together: what `make paper` takes before it builds the book."""
    total = 0.0
    for name in results.names():
        if name != RECORD:
            with suppress(results.DamagedRecordError):  # `insdel doctor` names those
                total += float(results.about(name)["seconds"])
    return total


def in_words(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def main() -> int:
    """Write the times of this machine's builds to the record."""
    table = measured(find_root())
    if table.empty:
        print("nothing to record: no chapter was run here. `insdel book --profile smoke` runs them all.")
        return 1
    chapters = {profile: len(rows) for profile, rows in table.groupby("profile")}
    facts = {"command": "python -m insdel_book.durations", "parameters": {"chapters": chapters},
             "data": "none: the times of executed chapters", "seconds": float(table["seconds"].sum())}  # fmt: skip
    results.save(RECORD, {"chapters": table}, facts)
    print("; ".join(f"{profile}: {count} chapters" for profile, count in chapters.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
