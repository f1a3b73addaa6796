"""The full-size runs behind the experiments' chapters, as a command: `python -m insdel.paper.records.runs NAME`.

A run may be killed at any moment; started again, it goes on from its last finished chunk. At its end it
writes these records into `results/`:

NAME         the table of `compare`, one row per pair, method and mode
NAME_pairs   per pair: which rows, how many features differ, f(x), f(x′)
NAME_curves  the curves of the few pairs that the chapters draw
NAME_charges (CERN) what every feature, and the place of the charges in the order, contributes
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from insdel.comparison import PAPER_METHODS
from insdel.paper import networks, results
from insdel.paper.records.clock import Clock
from insdel.paper.studies import outcome, variation
from insdel.paper.studies.experiments import POLICIES, Experiment, prepare

METHODS = (*PAPER_METHODS, "best", "expected")
CERN_ROWS = 100_000
NAMES = (
    "bangalore",
    "bangalore_variation",
    *(f"cern_{policy}" for policy in POLICIES),
    *(f"cern_genuine_{policy}" for policy in POLICIES),
)


@dataclass(frozen=True)
class Size:
    """What a trial makes smaller; None is full size.

    pairs : pairs that are compared
    rows : CERN events that are simulated
    epochs : passes of each training
    splits, trainings : runs of the variation study
    charged : pairs for which the part of the charges is measured
    """

    pairs: int | None = None
    rows: int | None = None
    epochs: int | None = None
    splits: int = variation.SPLITS
    trainings: int = variation.TRAININGS
    charged: int = 200


def record(name: str, size: Size | None = None, scheduler: Any = None) -> Path:
    """Carry out one of the runs in `NAMES`, write its records and return the path of the first.

    Parameters
    ----------
    size : smaller numbers, for a trial; full size by default
    scheduler : of a Dask cluster, as for `compare`
    """
    size = size or Size()
    if name not in NAMES:
        raise ValueError(f"there is no run {name!r}. The runs are: {', '.join(NAMES)}.")
    if name == "bangalore_variation":
        return _record_variation(name, size, scheduler)
    return _record_experiment(name, size, scheduler)


def settings(name: str, size: Size | None = None) -> dict[str, Any]:
    """What `experiments.prepare` gets for a run: all that decides data, network and pairs."""
    size = size or Size()
    changes: dict[str, Any] = {} if size.epochs is None else {"epochs": size.epochs}
    if name == "bangalore":
        return {"name": "bangalore", "source": "real", "n_pairs": size.pairs, **changes}
    policy = name.removeprefix("cern_").removeprefix("genuine_")
    source = "real" if name.startswith("cern_genuine_") else "simulated"
    rows = size.rows or CERN_ROWS
    return {"name": "cern", "source": source, "policy": policy, "n_pairs": size.pairs, "rows": rows, **changes}


def work(name: str, size: Size | None = None) -> Path:
    """Folder in which an unfinished run keeps its chunks; a trial has one of its own."""
    trial = "".join(f"_{key}{value}" for key, value in smaller(size or Size()).items())
    return results.folder().resolve().parent / "build" / "records" / f"{name}{trial}"


def smaller(size: Size) -> dict[str, Any]:
    """Return the numbers that a trial sets."""
    return {key: value for key, value in asdict(size).items() if value != getattr(Size(), key)}


def _record_experiment(name: str, size: Size, scheduler: Any) -> Path:
    clock = Clock(work(name, size))
    experiment = prepare(**settings(name, size))
    kept: dict[str, Any] = {"checkpoint": clock.folder / f"{name}_chunks", "scheduler": scheduler}
    found = outcome.live(experiment, METHODS, charged=size.charged, **kept)
    facts = {
        **_facts(name, size, experiment, clock),
        "parameters": {**settings(name, size), "methods": METHODS, "threads": torch.get_num_threads()},
        "evaluations": int((2.0**experiment.pairs.differing).sum()),
    }
    if found.charges is not None:
        results.save(f"{name}_charges", found.charges, facts)
    results.save(f"{name}_curves", found.curves, facts)
    results.save(f"{name}_pairs", found.pairs, facts)
    networks.save(experiment.model, results.folder() / network(name))
    return results.save(name, slim(found.table), facts)


def network(name: str) -> str:
    """File name of the fitted network that a record was made with."""
    return f"{'cern_genuine' if name.startswith('cern_genuine_') else name.split('_')[0]}_network.safetensors"


def _facts(name: str, size: Size, experiment: Experiment, clock: Clock) -> dict[str, Any]:
    """Provenance that all runs have."""
    return {
        "command": " ".join(["python -m insdel.paper.records.runs", *words(name), *flags(smaller(size))]),
        "data": {"what": experiment.source, "source": experiment.dataset.source, **experiment.dataset.provenance},
        "trained_on": experiment.trained_on,
        "network": networks.fingerprint(experiment.model.config),
        "r2": experiment.r2,
        "pairs": len(experiment.pairs),
        "without_reference": len(experiment.pairs.without),
        "seconds": round(clock.seconds(), 1),
        "seconds_are": "data, training and comparison, over all starts",
        "evaluations_are": "hybrids in the lattices; gradients and LIME's samples come on top",
    }


def words(name: str) -> list[str]:
    """Return the words of the command line that mean a run."""
    if not name.startswith("cern_"):
        return [name]
    genuine = name.startswith("cern_genuine_")
    policy = name.removeprefix("cern_").removeprefix("genuine_")
    return ["cern", policy, *(["genuine"] if genuine else [])]


def flags(small: dict[str, Any]) -> list[str]:
    """Return the options of the command line that make a run smaller."""
    return [word for key, value in small.items() for word in (f"--{key}", str(value))]


def slim(table: pd.DataFrame) -> pd.DataFrame:
    """The same table in half the space: areas in single precision."""
    return table.astype({**dict.fromkeys(("auc", "abc", "abc_per_feature"), np.float32), "pair": np.int32})


def _record_variation(name: str, size: Size, scheduler: Any) -> Path:
    clock, planned = Clock(work(name, size)), variation.runs(size.splits, size.trainings)
    changes: dict[str, Any] = {} if size.epochs is None else {"epochs": size.epochs}
    tables, facts, first = [], [], None
    for run in planned:
        experiment = run.prepare(n_pairs=size.pairs, **changes)
        first = first or experiment
        tables.append(run.table(experiment, clock.folder / run.label, scheduler))
        facts.append(run.facts(experiment))
        print(f"{run.label}: R² {experiment.r2:.3f}, {len(facts)} of {len(planned)} runs", flush=True)
    runs = pd.DataFrame(facts)
    about = {
        **_facts(name, size, first or experiment, clock),
        "parameters": {**asdict(size), "methods": variation.METHODS, "threads": torch.get_num_threads()},
        "runs": len(runs),
        "evaluations": int(runs["evaluations"].sum()),
    }
    results.save(f"{name}_runs", runs, about)
    return results.save(name, slim(pd.concat(tables, ignore_index=True)).drop(columns=["auc", "abc"]), about)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="python -m insdel.paper.records.runs", description="Record a full-size run in results/.")
    top.add_argument("experiment", choices=["bangalore", "bangalore_variation", "cern", "all"])
    top.add_argument("policy", nargs="?", choices=POLICIES, help="for cern: which x′ goes with which x")
    top.add_argument("events", nargs="?", choices=["genuine"], help="for cern: x and x′ from the real file")
    top.add_argument("--scheduler", help="address of a Dask scheduler, tcp://…")
    top.add_argument("--threads", type=int, help="threads of this process")
    for option in asdict(Size()):
        top.add_argument(f"--{option}", type=int, default=getattr(Size(), option), help="smaller, for a trial")
    return top


def chosen(options: argparse.Namespace) -> list[str]:
    """Return the names of the runs that the command line asks for."""
    if options.experiment == "all":
        return list(NAMES)
    if (options.experiment == "cern") != (options.policy is not None):
        raise ValueError(f"cern needs a policy, one of {', '.join(POLICIES)}; other experiments have none.")
    parts = [options.experiment, options.events, options.policy]
    return ["_".join(part for part in parts if part)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out what the command line asks for; 0 all well, 2 misuse or data that is missing."""
    options = parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        for name in chosen(options):
            size = Size(**{key: getattr(options, key) for key in asdict(Size())})
            path = record(name, size, options.scheduler)
            print(f"written: {path.parent.name}/{path.name} and what belongs to it", flush=True)
    except (ValueError, FileNotFoundError, OSError) as error:
        print(f"insdel.paper.records.runs: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
