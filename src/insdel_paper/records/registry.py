"""All full-size runs by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from insdel.errors import UserError
from insdel_paper import results
from insdel_paper.records import (
    albatrosses,
    asymmetry,
    best_order,
    binary_ig,
    comparisons,
    cost,
    data_facts,
    forensics,
    manifold,
    roar,
    trees,
)
from insdel_paper.records.run import Run, Say, record

ROOMS = (
    data_facts, comparisons, best_order, binary_ig, manifold, cost, asymmetry, forensics, roar, albatrosses, trees
)  # fmt: skip
RUNS: dict[str, Run] = {run.name: run for room in ROOMS for run in room.RUNS}
# made by other programs
ELSEWHERE = {
    "bench": "make bench",
    "tree_times": "make bench",
    "scale": "python benchmarks/scale.py",
    "estimators": "make race",
}


def find(name: str) -> Run:
    """Return the run of that name."""
    if name not in RUNS:
        raise UserError(f"there is no run {name!r}. The runs are: {', '.join(RUNS)}.")
    return RUNS[name]


def command(name: str) -> str:
    """What makes a record."""
    if name not in {*RUNS, *ELSEWHERE}:
        raise UserError(f"no command is known that records {name!r}. Known records: {', '.join([*RUNS, *ELSEWHERE])}.")
    return ELSEWHERE.get(name) or RUNS[name].command()


def listed() -> list[str]:
    """One line per run: what it is, what it writes, its parameters at full size, when it was recorded."""
    lines = []
    for run in RUNS.values():
        size = ", ".join(f"{name} {_short(value)}" for name, value in run.parameters.items())
        state = "not recorded"
        if results.exists(run.name):
            about = results.about(run.name)
            state = f"recorded {about['date']}, {about['seconds'] / 60:.1f} min"
        lines.append(f"{run.name}: {run.what} ({state})\n    tables {', '.join(run.tables)}; {size or 'no parameters'}")
    return lines


def _short(value: Any) -> str:
    text = "full" if value is None else str(value)
    return text if len(text) < 40 else f"{text[:36]} …"


def carry_out(
    names: Iterable[str], changes: Mapping[str, Any], *, threads: int = 1, scheduler: Any = None, say: Say = print
) -> int:
    """Carry out runs one after the other ("all": every one); return how many could not be done.

    What cannot be done (a file is missing, say) is told at once and again at the end; the others are done.
    """
    wanted = [run for name in names for run in (RUNS.values() if name == "all" else [find(name)])]
    problems = []
    for run in wanted:
        try:
            path = record(run, changes, threads=threads, scheduler=scheduler, say=say)
            say(f"written: {_shown(path)}: {', '.join(run.tables)}")
        except (UserError, OSError) as error:
            problems.append(f"{run.name} could not be done: {error}")
            say(problems[-1])
    if problems[:1] and len(wanted) > 1:
        say(f"{len(problems)} of {len(wanted)} runs could not be done:\n" + "\n".join(problems))
    return len(problems)


def _shown(path: Path) -> str:
    """A folder as seen from beside `results/`, without the names of this machine's folders."""
    home = results.folder().resolve().parent
    return str(path.resolve().relative_to(home)) if path.resolve().is_relative_to(home) else path.name
