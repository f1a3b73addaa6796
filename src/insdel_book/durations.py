"""How long each profile of the book takes: from this machine's own builds, else from a recorded one.

`python -m insdel_book.durations` writes what this machine's builds took to the record `build_times`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from insdel_book.chapters import PROFILES, Chapter, find_root, list_chapters, profile_values
from insdel_book.progress import run_facts
from insdel_paper import results

RECORD = "build_times"
LOOKED_AT = 12  # newest runs of a chapter that are opened


def measured(root: Path) -> pd.DataFrame:
    """What executed chapters in `build/cache` took, with the very parameters of a profile.

    Returns
    -------
    DataFrame: profile, chapter, seconds; the newest run of each
    """
    rows = [
        {"profile": profile, "chapter": chapter.name, "seconds": seconds}
        for chapter in list_chapters(root)
        for profile, seconds in _newest(root, chapter).items()
    ]
    return pd.DataFrame(rows, columns=["profile", "chapter", "seconds"])


def _newest(root: Path, chapter: Chapter) -> dict[str, float]:
    """Profile → seconds of the newest run of a chapter that had just the profile's parameters."""
    runs = list(_runs(root, chapter.name))
    if not runs:
        return {}
    defaults = {name: parameter.default for name, parameter in chapter.parameters().items()}
    wanted = {profile: defaults | profile_values(root, chapter, profile) for profile in PROFILES}
    result: dict[str, float] = {}
    for facts in runs:
        profile = facts["profile"]
        if facts["parameters"] == wanted.get(profile):
            result.setdefault(profile, float(facts["seconds"]))
    return result


def _runs(root: Path, name: str) -> Iterator[Mapping[str, Any]]:
    """The facts of a chapter's newest runs, newest first."""
    paths = sorted((root / "build" / "cache").glob(f"{name}-*.ipynb"), key=lambda path: -path.stat().st_mtime)
    for path in paths[:LOOKED_AT]:
        facts = run_facts(path)
        if facts.get("profile"):
            yield facts


def recorded() -> tuple[pd.DataFrame, str]:
    """The recorded times and the machine that they were taken on; an empty table if there is no sound record."""
    try:
        table, about = results.load(RECORD)
    except (FileNotFoundError, results.DamagedRecordError):
        return pd.DataFrame(columns=["profile", "chapter", "seconds"]), ""
    return table, str(about["hardware"])


def full_size_runs() -> float:
    """Seconds of all recorded full-size runs together: what `make paper` takes before it builds the book."""
    total = 0.0
    for name in results.names():
        if name != RECORD:
            with suppress(results.DamagedRecordError):  # `insdel doctor` names those
                total += float(results.about(name)["seconds"])
    return total


def say(seconds: float) -> str:
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
