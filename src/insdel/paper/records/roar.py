"""The full-size runs of remove and retrain, as a command: `python -m insdel.paper.records.roar NAME|all`.

A run may be killed at any moment; started again, it goes on after its last finished cell and ends in the
same table. At its end it writes the record `roar_NAME` into `results/`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from insdel.paper import results
from insdel.paper.data import Dataset, Split
from insdel.paper.records.clock import Clock
from insdel.paper.studies.roar import removal, tasks
from insdel.paper.studies.roar.removal import Plan
from insdel.paper.studies.roar.tasks import TASKS, Size


def record(name: str, size: Size | None = None, source: str | None = None, threads: int = 1) -> Path:
    """Carry out one of `TASKS`, write its record and return its path.

    Parameters
    ----------
    size : smaller numbers, for a trial; full size by default
    source : of the rows, another than the task's
    threads : cores of the attributions and the trainings
    """
    size = size or Size()
    plan = tasks.plan(name, size, threads)
    dataset, split = tasks.load(name, size, source)
    clock = Clock(work(name, size, source))
    torch.set_num_threads(threads)
    print(told(name, dataset, split, plan), flush=True)
    table = removal.run(split, plan, checkpoint=clock.folder / "cells", report=lambda line: print(line, flush=True))
    facts = {**_facts(name, size, source, plan, dataset, split), "seconds": round(clock.seconds(), 1)}
    facts["r2"] = float(table.query("input == 'features' and fraction == 0")["r2"].mean())
    return results.save(f"roar_{name}", slim(table), facts)


def told(name: str, dataset: Dataset, split: Split, plan: Plan) -> str:
    """One line about what begins: rows, columns, sizes of the attributions, trainings."""
    exact = tasks.exact_share(split, plan)
    part = "" if exact is None else f", exact for {100 * exact:.0f} % of the rows"
    return (
        f"{name}: {len(dataset.features):,} {dataset.source} rows × {len(split.names)} features; "
        f"Kernel SHAP from {plan.samples:,} samples{part}; integrated gradients in {plan.ig_steps} steps; "
        f"{len(removal.cells(plan))} cells of {plan.replicates} trainings, {plan.recipe.epochs} epochs each"
    )


def work(name: str, size: Size, source: str | None) -> Path:
    """Folder in which an unfinished run keeps its cells; a trial has one of its own."""
    trial = "".join(f"_{key}{value}" for key, value in smaller(size, source).items())
    return results.folder().resolve().parent / "build" / "records" / f"roar_{name}{trial}"


def smaller(size: Size, source: str | None) -> dict[str, Any]:
    """Return what a trial sets."""
    chosen = {**asdict(size), "source": source}
    return {key: value for key, value in chosen.items() if value is not None}


def slim(table: pd.DataFrame) -> pd.DataFrame:
    """The same table in less space."""
    return table.astype({"removed": "int16", "replicate": "int16"})


def _facts(
    name: str, size: Size, source: str | None, plan: Plan, dataset: Dataset, split: Split
) -> dict[str, Any]:
    """Provenance: command, parameters, data."""
    words = [word for key, value in smaller(size, source).items() for word in (f"--{key}", str(value))]
    about = f"{len(dataset.features):,} {dataset.source} rows × {len(split.names)} features"
    return {
        "command": " ".join(["python -m insdel.paper.records.roar", name, *words]),
        "parameters": asdict(plan),
        "title": tasks.find(name).title,
        "data": {"what": about, "source": dataset.source, **dataset.provenance},
        "features": list(split.names),
        "explained_by_the_others": float(tasks.redundancy(split).median()),
        "exact_kernel_shap": tasks.exact_share(split, plan),
        "trainings": len(removal.cells(plan)) * plan.replicates,
        "seconds_are": "data, attributions and trainings, over all starts",
    }


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="python -m insdel.paper.records.roar", description="Record remove and retrain.")
    top.add_argument("task", choices=[*TASKS, "all"])
    top.add_argument("--threads", type=int, default=1, help="threads of this process; another number rounds otherwise")
    top.add_argument("--source", choices=["real", "simulated"], help="another source of the rows than the task's")
    for option in asdict(Size()):
        top.add_argument(f"--{option}", type=int, help="smaller, for a trial")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out what the command line asks for; 0 all well, 2 misuse or data that is missing."""
    options = parser().parse_args(arguments)
    size = Size(**{key: getattr(options, key) for key in asdict(Size())})
    try:
        for name in TASKS if options.task == "all" else [options.task]:
            path = record(name, size, options.source, options.threads)
            print(f"written: {path.parent.name}/{path.name}", flush=True)
    except (ValueError, FileNotFoundError, OSError) as error:
        print(f"insdel.paper.records.roar: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
