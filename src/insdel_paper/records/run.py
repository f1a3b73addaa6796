"""A full-size run: what it is, and how it is carried out, resumed and recorded."""

from __future__ import annotations

import json
import sys
import threading
import time
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
from insdel.store import replace
from insdel_paper import networks, results

Log = Callable[[str], None]
LOG_SECONDS = 60.0  # between two lines of a log


@dataclass(frozen=True)
class RunContext:
    """Where and how a run works.

    folder : for finished parts; a run that was killed continues from there
    threads : of this process; changing it alters rounding
    scheduler : of a Dask cluster, as for `compare`
    log : gets lines about progress
    """

    folder: Path
    threads: int = 1
    scheduler: Any = None
    log: Log = print


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


Work = Callable[..., Recording]  # gets a RunContext, and the parameters by name


@dataclass(frozen=True)
class FullRun:
    """A full-size run.

    name : of the record
    what : one line about it
    tables : names of the tables that it writes
    parameters : all that a trial may change, at full size
    work : the study's function
    """

    name: str
    what: str
    tables: tuple[str, ...]
    parameters: Mapping[str, Any]
    work: Work

    def changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with some of them changed; refuse those that the run does not have."""
        unknown = [name for name in changes if name not in self.parameters]
        if unknown:
            known = ", ".join(f"{name} ({value})" for name, value in self.parameters.items()) or "none"
            raise UserError(
                f"{self.name} has no parameter {', '.join(unknown)}. Its parameters, at full size: {known}."
            )
        return {**self.parameters, **{name: self._value(name, value) for name, value in changes.items()}}

    def _value(self, name: str, value: Any) -> Any:
        """A changed value: text from the command line becomes a number where the full-size value is one, or none."""
        full = self.parameters[name]
        if not isinstance(value, str) or isinstance(full, str):
            return value
        try:
            read = json.loads(value)
        except json.JSONDecodeError:
            read = value
        needed = ""
        if isinstance(full, tuple):
            read = tuple(read) if isinstance(read, list) else tuple(value.split(","))
            if any(isinstance(item, str) for item in read) != any(isinstance(item, str) for item in full):
                needed = f"a list like {full}"
        elif isinstance(full, Mapping) and not isinstance(read, Mapping):
            needed = f"written like {json.dumps(full)}"
        elif full is None or isinstance(full, int):
            least = 0 if name == "seed" else 1
            whole = isinstance(read, int) and not isinstance(read, bool) and read >= least
            if not (whole or (read is None and full is None)):
                needed = f"a whole number, at least {least}, at full size {full}"
        if needed:
            raise UserError(f"{name} of {self.name} is {needed}; found {value!r}.")
        return read

    def command(self, parameters: Mapping[str, Any] | None = None) -> str:
        """What one types to make this record, or a trial with other parameters."""
        changes = {k: v for k, v in (parameters or {}).items() if v != self.parameters[k]}
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in changes.items()}
        return " ".join(["insdel record", self.name, *(f"-p {name} {text}" for name, text in texts.items())])

    def folder(self, parameters: Mapping[str, Any] | None = None) -> Path:
        """Where an unfinished run keeps finished parts; every trial has a folder of its own."""
        changed = dict(parameters or self.parameters)
        trial = changed != dict(self.parameters)
        mark = f"-{short_hash(json.dumps(changed, sort_keys=True).encode())}" if trial else ""
        return build() / "records" / f"{self.name}{mark}"


RUNS: dict[str, FullRun] = {}


def record(name: str, what: str, tables: tuple[str, ...], /, **full_size: Any) -> Callable[[Work], Work]:
    """Declare a study's function as a full-size run; it gets a `RunContext`, and the parameters by name.

    name, what, tables : as in `FullRun`; full_size : the parameters, and their values at full size
    """

    def register(work: Work) -> Work:
        RUNS[name] = FullRun(name, what, tables, full_size, work)
        return work

    return register


def carry_out(
    run: FullRun, changes: Mapping[str, Any] | None = None, *, threads: int = 1, scheduler: Any = None, log: Log = print
) -> Path:
    """Carry out a run, write its record and return the folder of it.

    With other parameters than those of full size it is a trial, and is written to `build/trials/`; `results/` holds
    full-size runs only.

    changes : parameters of a trial; threads, scheduler, log : as in `RunContext`
    """
    if threads < 1:
        raise UserError(f"threads needs a whole number of at least 1; found {threads}.")
    parameters = run.changed(changes or {})
    trial, command = parameters != dict(run.parameters), run.command(parameters)
    clock = Clock(run.folder(parameters))
    torch.set_num_threads(threads)
    log(f"{run.name}: {run.what}{', a trial' if trial else ''}")
    with _watched(command, clock, log):
        recording = run.work(RunContext(clock.folder, threads, scheduler, log), **parameters)
    if tuple(recording.tables) != run.tables:
        raise RuntimeError(f"{run.name} should write the tables {run.tables}, but wrote {tuple(recording.tables)}.")
    stated = {**parameters, **recording.facts.get("parameters", {}), "threads": threads}
    seconds = round(clock.seconds(), 1)
    facts = {"command": command, **recording.facts, "parameters": stated, "seconds": seconds}
    return _write(run.name, recording, facts, trial)


def build() -> Path:
    """Folder `build/` beside `results/`."""
    return results.folder().resolve().parent / "build"


def trials() -> Path:
    """Folder of trials, laid out like `results/`: the last one of each run."""
    return build() / "trials"


def _write(name: str, recording: Recording, facts: dict[str, Any], trial: bool) -> Path:
    """Write to `results/`, or a trial to `build/trials/`; there also a run that found less than the record holds."""
    network = None if recording.network is None else partial(networks.save, recording.network)
    files = results.about(name)["files"] if results.exists(name) and not trial else {}
    rows = {table: files.get(f"{table}.parquet", {}).get("rows", 0) for table in recording.tables}
    less = "; ".join(f"{table} has {len(result):,} rows, recorded are {rows[table]:,}"
                     for table, result in recording.tables.items() if len(result) < rows[table])  # fmt: skip
    into = trials() if trial or less else results.folder()
    path = results.save(name, recording.tables, facts, network=network, into=into)
    if less:
        raise UserError(
            f"{name} was not recorded, as a smaller run never takes the place of a larger: {less}. It is kept in "
            f"build/trials/{name}. Are the same data here? To replace the record, remove results/{name} first."
        )
    return path


class Clock:
    """How long a run worked that may have been killed and started again; it keeps what is finished in a folder.

    Each start is written down. A start that was cut off worked until its last file was finished: the time
    of that file says when. So nothing needs to be written on the way, and a kill loses no count.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        note = folder / "starts.json"
        before = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else []
        self.starts: list[float] = [*before, time.time()]
        replace(note, json.dumps(self.starts))

    def finished(self) -> list[float]:
        """When each of the finished files was written, in order."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".json")
        return sorted(path.stat().st_mtime for path in files if not path.name.startswith("."))

    def seconds(self) -> float:
        """Seconds of work until now, over all starts."""
        finished = self.finished()
        total = time.time() - self.starts[-1]
        for start, following in zip(self.starts[:-1], self.starts[1:], strict=True):
            total += max((end - start for end in finished if start <= end < following), default=0.0)
        return total


@contextmanager
def _watched(command: str, clock: Clock, log: Log) -> Iterator[None]:
    """Log progress now and then, where no bar is shown; if the run is stopped, what is kept and how to continue."""
    over = threading.Event()

    def report() -> None:
        while not over.wait(LOG_SECONDS):
            log(f"  {len(clock.finished()):,} parts finished, {clock.seconds() / 60:.0f} minutes of work")

    if not sys.stderr.isatty():
        threading.Thread(target=report, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        remaining = len(clock.finished())
        log(f"stopped: {remaining:,} finished parts are in build/records/{clock.folder.name}; to continue: {command}")
        raise
    finally:
        over.set()
