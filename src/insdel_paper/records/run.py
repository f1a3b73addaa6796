"""A full-size run: what it is, and how it is carried out, resumed and recorded."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from insdel.errors import UserError
from insdel.identity import short_hash
from insdel_paper import networks, results
from insdel_paper.records.clock import Clock
from insdel_paper.studies.experiments import Experiment

Say = Callable[[str], None]
EVERY = 60.0  # seconds between two lines of a log


@dataclass(frozen=True)
class Desk:
    """Where and how a run works.

    folder : for what is finished; a run that was killed goes on from there
    threads : of this process; another number rounds otherwise
    scheduler : of a Dask cluster, as for `compare`
    say : gets lines about how it goes
    """

    folder: Path
    threads: int = 1
    scheduler: Any = None
    say: Say = print


@dataclass(frozen=True)
class Recording:
    """What a run has found.

    tables : name → table, the main one first
    facts : provenance that only the run knows; its "parameters" are added to those of the run
    network : the fitted one, where it is worth keeping
    """

    tables: dict[str, pd.DataFrame]
    facts: dict[str, Any] = field(default_factory=dict)
    network: networks.MLP | None = None


@dataclass(frozen=True)
class Run:
    """A full-size run.

    name : of the record
    what : one line about it
    parameters : all that a trial may change, at full size
    tables : names of the tables that it writes
    carry_out : gets parameters and a desk, returns the recording
    """

    name: str
    what: str
    parameters: Mapping[str, Any]
    tables: tuple[str, ...]
    carry_out: Callable[[Mapping[str, Any], Desk], Recording]

    def changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with some of them changed; refuse those that the run does not have."""
        unknown = [name for name in changes if name not in self.parameters]
        if unknown:
            known = ", ".join(f"{name} ({value})" for name, value in self.parameters.items()) or "none"
            raise UserError(
                f"{self.name} has no parameter {', '.join(unknown)}. Its parameters, at full size: {known}."
            )
        return {**self.parameters, **{name: _value(self, name, value) for name, value in changes.items()}}

    def command(self, parameters: Mapping[str, Any] | None = None) -> str:
        """What one types to make this record, or a trial with other parameters."""
        changes = {k: v for k, v in (parameters or {}).items() if v != self.parameters[k]}
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in changes.items()}
        words = [f"-p {name} {text}" for name, text in texts.items()]
        return " ".join(["insdel record", self.name, *words])


def _value(run: Run, name: str, value: Any) -> Any:
    """A changed value: text from the command line becomes a number where the full-size value is one, or none."""
    full = run.parameters[name]
    if not isinstance(value, str) or isinstance(full, str):
        return value
    try:
        read = json.loads(value)
    except json.JSONDecodeError:
        read = value
    if isinstance(full, tuple):
        items = tuple(read) if isinstance(read, list) else tuple(value.split(","))
        if any(isinstance(item, str) for item in items) != any(isinstance(item, str) for item in full):
            raise UserError(f"{name} of {run.name} is a list like {full}; found {value!r}.")
        return items
    if isinstance(full, Mapping) and not isinstance(read, Mapping):
        raise UserError(f"{name} of {run.name} is written like {json.dumps(full)}; found {value!r}.")
    if full is None or isinstance(full, int):
        least = 0 if name == "seed" else 1
        whole = isinstance(read, int) and not isinstance(read, bool) and read >= least
        if not (whole or (read is None and full is None)):
            what = f"a whole number, at least {least}"
            raise UserError(f"{name} of {run.name} is {what}, at full size {full}; found {value!r}.")
    return read


def record(
    run: Run, changes: Mapping[str, Any] | None = None, *, threads: int = 1, scheduler: Any = None, say: Say = print
) -> Path:
    """Carry out a run, write its record and return the folder of it.

    With other parameters than those of full size it is a trial, and is written to `build/trials/`; `results/` holds
    full-size runs only.

    Parameters
    ----------
    changes : parameters of a trial
    threads : of this process; another number rounds otherwise
    scheduler : of a Dask cluster, as for `compare`
    """
    if threads < 1:
        raise UserError(f"threads needs a whole number of at least 1; found {threads}.")
    parameters = run.changed(changes or {})
    trial = parameters != dict(run.parameters)
    clock = Clock(work(run, parameters))
    torch.set_num_threads(threads)
    say(f"{run.name}: {run.what}{', a trial' if trial else ''}")
    with _watched(run.command(parameters), clock, say):
        recording = run.carry_out(parameters, Desk(clock.folder, threads, scheduler, say))
    if tuple(recording.tables) != run.tables:
        raise RuntimeError(f"{run.name} is to write the tables {run.tables}, but wrote {tuple(recording.tables)}.")
    facts = {
        "command": run.command(parameters),
        **recording.facts,
        "parameters": {**parameters, **recording.facts.get("parameters", {}), "threads": threads},
        "seconds": round(clock.seconds(), 1),
    }
    return _write(run, recording, facts, trial)


def work(run: Run, parameters: Mapping[str, Any] | None = None) -> Path:
    """Folder in which an unfinished run keeps what is finished; every trial has one of its own."""
    changed = dict(parameters or run.parameters)
    trial = changed != dict(run.parameters)
    mark = f"-{short_hash(json.dumps(changed, sort_keys=True).encode())}" if trial else ""
    return build() / "records" / f"{run.name}{mark}"


def build() -> Path:
    """Folder `build/` beside `results/`."""
    return results.folder().resolve().parent / "build"


def trials() -> Path:
    """Folder of trials, laid out like `results/`: the last one of each run."""
    return build() / "trials"


def _write(run: Run, recording: Recording, facts: dict[str, Any], trial: bool) -> Path:
    """Write to `results/`, or a trial to `build/trials/`; there also a run that found less than the record holds."""
    network = None if recording.network is None else partial(networks.save, recording.network)
    less = "" if trial else _less(run.name, recording.tables)
    into = trials() if trial or less else results.folder()
    path = results.save(run.name, recording.tables, facts, network=network, into=into)
    if less:
        raise UserError(
            f"{run.name} was not recorded, as a smaller run never takes the place of a larger: {less}. It is kept in "
            f"build/trials/{run.name}. Are the same data here? To replace the record, remove results/{run.name} first."
        )
    return path


def _less(name: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """Tell which table has fewer rows than the recorded one; empty if none has."""
    if not results.exists(name):
        return ""
    rows = {file.removesuffix(".parquet"): facts.get("rows", 0) for file, facts in results.about(name)["files"].items()}
    fewer = [f"{table} has {len(result):,} rows, recorded are {rows[table]:,}"
             for table, result in tables.items() if len(result) < rows.get(table, 0)]  # fmt: skip
    return "; ".join(fewer)


@contextmanager
def _watched(command: str, clock: Clock, say: Say) -> Iterator[None]:
    """Say now and then how far a run is, where no bar is shown; if it is stopped, what is kept and how to go on."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(EVERY):
            say(f"  {len(clock.finished()):,} parts finished, {clock.seconds() / 60:.0f} minutes of work")

    if not sys.stderr.isatty():
        threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        remaining = len(clock.finished())
        say(f"stopped: {remaining:,} finished parts are kept in build/records/{clock.folder.name}; to go on: {command}")
        raise
    finally:
        over.set()


def experiment_facts(experiment: Experiment) -> dict[str, Any]:
    """Provenance that every run on an experiment has."""
    return {
        "data": {"what": experiment.source, "source": experiment.dataset.source, **experiment.dataset.provenance},
        "trained_on": experiment.trained_on,
        "network": networks.fingerprint(experiment.model.config),
        "features": list(experiment.split.names),
        "r2": experiment.r2,
        "pairs": len(experiment.pairs),
        "without_reference": len(experiment.pairs.without),
        "seconds_are": "data, training and comparison, over all starts",
    }


def training(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Changes to a training that a trial asks for."""
    return {} if parameters["epochs"] is None else {"epochs": parameters["epochs"]}
