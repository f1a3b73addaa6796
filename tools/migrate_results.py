"""Move records of the old flat layout (results/NAME_TABLE.parquet, .json) into a folder per run.

`python tools/migrate_results.py [FOLDER]` moves what is there and leaves the rest alone: run it as often as you like.
The tables are moved as they are; each is read before and after, and must be the same.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from insdel_paper import results

NAMES = {"beyond_": "best_order_", "spend": "cost"}  # records that were called after their modules
MAIN = {  # name of a run's first table, by how the run's name begins
    "bench": "times", "binary_ig": "methods", "build_times": "chapters", "cern_accuracy": "bands", "cost": "budgets",
    "data_facts": "facts", "manifold_extreme": "pairings", "manifold": "walks", "roar": "losses",
}  # fmt: skip
OTHERS = ("pairs", "curves", "charges", "orders", "runs", "real", "walks", "photos")
COMMON = ("command", "package", "date", "seconds")


def target(flat: str, flats: set[str]) -> tuple[str, str]:
    """Run and table that a flat record becomes."""
    run, _, last = flat.rpartition("_")
    part = last in OTHERS and run in flats
    run = run if part else flat
    for old, new in NAMES.items():
        run = run.replace(old, new, 1) if run.startswith(old) else run
    kind = next((kind for kind in MAIN if run.startswith(kind)), None)
    return run, last if part else MAIN[kind] if kind else "areas"


def command(run: str, before: str) -> str:
    """What makes the run now."""
    return before if run in ("bench", "build_times") else f"insdel record {run}"


def migrate(folder: Path) -> list[str]:
    """Move every flat record of a folder; return a line per run."""
    flats = {path.stem for path in folder.glob("*.json") if path.with_suffix(".parquet").is_file()}
    runs: dict[str, dict[str, str]] = {}
    for flat in sorted(flats, key=lambda name: (len(name), name)):  # a main table comes before its parts
        run, table = target(flat, flats)
        runs.setdefault(run, {})[table] = flat
    networks = {path: results_network(path) for path in folder.glob("*_network.safetensors")}
    said = [move(folder, run, parts, networks) for run, parts in sorted(runs.items())]
    for path in networks:
        path.unlink()
    return said


def results_network(path: Path) -> str:
    """Fingerprint of a stored network, as provenance names it."""
    from insdel_paper import networks

    return networks.fingerprint(networks.load(path).config)


def move(folder: Path, run: str, parts: dict[str, str], networks: dict[Path, str]) -> str:
    """Move the tables of one run, merge their provenance and compare."""
    before = {table: pd.read_parquet(folder / f"{flat}.parquet") for table, flat in parts.items()}
    facts = {table: json.loads((folder / f"{flat}.json").read_text(encoding="utf-8")) for table, flat in parts.items()}
    main = next(iter(parts))
    for table, other in facts.items():
        assert all(other.get(key) == facts[main].get(key) for key in COMMON), f"{run}: {table} is from another run"
        assert other.pop("rows") == len(before[table]), f"{run}: {table}"
    place = folder / run
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for table, flat in parts.items():
        (folder / f"{flat}.parquet").rename(place / f"{table}.parquet")
        (folder / f"{flat}.json").unlink()
    fitted = [path for path, known in networks.items() if known == facts[main].get("network") and owns_network(run)]
    for path in fitted[:1]:
        shutil.copy(path, place / results.NETWORK)
    results.write_about(place, merged(run, facts[main]), {f"{t}.parquet": len(rows) for t, rows in before.items()})
    for table, rows in before.items():
        pd.testing.assert_frame_equal(pd.read_parquet(place / f"{table}.parquet"), rows, check_exact=True)
    return f"{run}: {', '.join(parts)}{' and its network' if fitted else ''}, the same before and after"


def owns_network(run: str) -> bool:
    """Whether the run's network is stored: that of the paper's experiments."""
    return run == "bangalore" or run.startswith("cern_")


def merged(run: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Provenance of a run, with the command of today, and the one of then."""
    before = facts["command"]
    now = command(run, before)
    return {**facts, "command": now} if now == before else {**facts, "command": now, "command_then": before}


if __name__ == "__main__":
    print("\n".join(migrate(Path(sys.argv[1]) if sys.argv[1:] else results.folder())) or "nothing to move")
