"""Run chapters, several at a time, each in a kernel of its own, and show how far they are."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
from tqdm import tqdm

from insdel.store import replace
from insdel_book.cache import run_facts
from insdel_book.chapters import Chapter
from insdel_book.run import execute

Log = Callable[[str], None]
TICK = 0.5  # seconds between two looks at the clock
EVERY = 30.0  # seconds between two lines in a log
STATE = "{elapsed} so far, about {remaining} left{postfix}"


@dataclass(eq=False)
class Job:
    """One chapter to run, where its executed notebook goes, and how far it is."""

    chapter: Chapter
    values: Mapping[str, Any]
    profile: str
    path: Path
    last: Sequence[float] = (10.0,)  # when its code cells began in the last run, and its whole time, in seconds
    cell: int = 0
    cells: int = 0
    reached: float = 0.0  # how far it is, in seconds of the last run

    def on_cell_start(self, cell: int, cells: int) -> None:
        """Note the number of the cell that begins, from 1."""
        self.cell, self.cells = cell, cells
        self.reached = self.last[cell - 1] if cell < len(self.last) else 0.0

    def run(self, threads: int) -> float:
        """Run the chapter, write the executed notebook and return the seconds it took."""
        notebook = execute(self.chapter, self.values, self.profile, self.on_cell_start, threads)
        try:
            replace(self.path, nbformat.writes(notebook))  # a half-written notebook must never pass for a cached one
        except OSError as error:
            place = f"{error.strerror} ({self.path.parent})"
            raise OSError(f"{self.chapter.name} ran, but cannot be kept: {place}.") from None
        return float(notebook.metadata["insdel"]["seconds"])


def last_times(folder: Path, name: str, profile: str) -> list[float]:
    """When the cells began in the newest run of a chapter in the cache, and its whole time; [10.0] if there is none."""
    for path in sorted(folder.glob(f"{name}-*.ipynb"), key=lambda path: -path.stat().st_mtime)[:3]:
        facts = run_facts(path) or {}
        if facts.get("profile") == profile:
            return [*facts["cells"], float(facts["seconds"])]
    return [10.0]


def run_jobs(jobs: list[Job], at_once: int | None, log: Log) -> None:
    """Run chapters, as many at a time as there are cores; stop at the first that fails."""
    if not jobs:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count, started = max(1, min(at_once or cores, len(jobs))), time.monotonic()
    for job in jobs:
        job.last = last_times(job.path.parent, job.chapter.name, job.profile)
    with interrupt_flag() as interrupted, stopped_kernels(count) as pool:
        total, shown = sum(job.last[-1] for job in jobs), started
        running = {pool.submit(job.run, max(1, cores // count)): job for job in jobs}
        with tqdm(total=total, disable=None, bar_format=f"{{l_bar}}{{bar}}| {STATE}") as bar:
            while running:
                for future in wait(running, TICK, FIRST_COMPLETED).done:
                    job, seconds = running.pop(future), future.result()
                    bar.clear()
                    log(f"{job.chapter.name}: {seconds:.1f} s ({len(jobs) - len(running)} of {len(jobs)})")
                bar.n = total - sum(job.last[-1] - job.reached for job in running.values())
                places = "; ".join(f"{j.chapter.name}: cell {j.cell} of {j.cells}" for j in running.values() if j.cells)
                bar.set_postfix_str(places)
                if running and bar.disable and time.monotonic() - shown > EVERY:
                    shown = time.monotonic()
                    line = "{percentage:3.0f} %, " + STATE
                    log(tqdm.format_meter(bar.n, total, shown - started, postfix=places, bar_format=line))
                if interrupted.is_set():
                    raise KeyboardInterrupt
    if len(jobs) > 1:
        log(f"{len(jobs)} chapters in {time.monotonic() - started:.1f} s, {count} at a time")


@contextmanager
def interrupt_flag() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets: an exception would be lost if it came while Python clears up after an object."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = signal.signal(signal.SIGINT, lambda *_: flag.set())
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stopped_kernels(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for kernels; whatever happens, no kernel that they started lives on.

    After SIGKILL of this process kernels end by themselves, as ipykernel looks for its parent every second.
    """
    before = set(psutil.Process().children())
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        closing = threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True})
        closing.start()
        while closing.is_alive():
            for child in set(psutil.Process().children(recursive=True)) - before:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
            closing.join(TICK)
