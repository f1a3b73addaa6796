"""All full-size runs by name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from insdel.errors import UserError
from insdel_paper import results
from insdel_paper.records import run as running
from insdel_paper.records.run import FullRun, Log

# the studies that declare runs, in the order of `insdel record --list`
STUDIES = (
    "data_facts", "comparisons", "best_order", "binary_ig", "manifold", "cost", "asymmetry", "forensics",
    "roar.tasks", "images.albatrosses", "trees", "breadth.run",
)  # fmt: skip
for _study in STUDIES:
    import_module(f"insdel_paper.studies.{_study}")
RUNS: dict[str, FullRun] = running.RUNS
# made by other programs
ELSEWHERE = {
    "bench": "make bench",
    "tree_times": "make bench",
    "scale": "python benchmarks/scale.py costs",
    "scale_cluster": "python benchmarks/scale.py cluster",
    "estimators": "make race",
}


def find(name: str) -> FullRun:
    """Return the run of that name."""
    if name not in RUNS:
        raise UserError(f"there is no run {name!r}. The runs are: {', '.join(RUNS)}.")
    return RUNS[name]


def command(name: str) -> str:
    """What makes a record."""
    if name not in {*RUNS, *ELSEWHERE}:
        raise UserError(f"no command is known that records {name!r}. Known records: {', '.join([*RUNS, *ELSEWHERE])}.")
    return ELSEWHERE.get(name) or RUNS[name].command()


def describe_runs() -> list[str]:
    """One line per run: what it is, what it writes, its parameters at full size, when it was recorded."""
    lines = []
    for run in RUNS.values():
        texts = {name: "full" if value is None else str(value) for name, value in run.parameters.items()}
        size = ", ".join(f"{name} {text if len(text) < 40 else text[:36] + ' …'}" for name, text in texts.items())
        state = "not recorded"
        if results.exists(run.name):
            about = results.about(run.name)
            state = f"recorded {about['date']}, {about['seconds'] / 60:.1f} min"
        lines.append(f"{run.name}: {run.what} ({state})\n    tables {', '.join(run.tables)}; {size or 'no parameters'}")
    return lines


def carry_out(
    names: Iterable[str], changes: Mapping[str, Any], *, threads: int = 1, scheduler: Any = None, log: Log = print
) -> int:
    """Carry out runs one after the other ("all": every one); return how many could not be done.

    A run that cannot be done (such as a missing file) goes to stderr at once and again at the end; the others are done.
    """
    wanted = [run for name in names for run in (RUNS.values() if name == "all" else [find(name)])]
    home = results.folder().resolve().parent
    problems = []
    for run in wanted:
        try:
            path = running.carry_out(run, changes, threads=threads, scheduler=scheduler, log=log).resolve()
            # without the names of this machine's folders
            shown = path.relative_to(home) if path.is_relative_to(home) else path.name
            log(f"written: {shown}: {', '.join(run.tables)}")
        except (UserError, OSError) as error:
            problems.append(f"{run.name} could not be done: {error}")
            print(problems[-1], file=sys.stderr, flush=True)
    if problems and len(wanted) > 1:
        print(f"{len(problems)} of {len(wanted)} runs could not be done:", *problems, sep="\n", file=sys.stderr)
    return len(problems)
