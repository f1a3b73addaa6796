"""Processes that run chapters, several at a time; they end with their parent, however that ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from insdel.errors import UserError
from insdel_book.chapters import Chapter
from insdel_book.progress import Progress, last_course
from insdel_book.run import ChapterError, execute, limits, set_environment

Say = Callable[[str], None]
TICK = 0.5  # seconds between two looks at the clock
PATIENCE = 10.0  # seconds that a worker has to end by itself


@dataclass(frozen=True)
class Job:
    """One chapter to run, and where its executed notebook goes."""

    chapter: Chapter
    values: Mapping[str, Any]
    profile: str
    path: Path


@dataclass
class Worker:
    """A process, the line to it, and what it does now."""

    process: Any
    line: Connection
    job: Job | None = None


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(jobs: list[Job], at_once: int | None, say: Say) -> None:
    """Run chapters in processes of their own, as many as there are cores; stop at the first that fails."""
    if not jobs:
        return
    count = max(1, min(at_once or cores(), len(jobs)))
    started, progress, waiting = time.perf_counter(), Progress(say), list(jobs)
    with tempfile.TemporaryDirectory() as settings, _crew(count, settings) as crew, _interrupts() as interrupted:
        for worker in crew:
            _hand_out(worker, waiting, progress)
        while any(worker.job for worker in crew):
            for ready in wait([worker.line for worker in crew if worker.job], TICK):
                worker = next(worker for worker in crew if worker.line is ready)
                if _hear(worker, progress, len(jobs) - len(waiting) - sum(bool(w.job) for w in crew) + 1, len(jobs)):
                    _hand_out(worker, waiting, progress)
            progress.tick()
            if interrupted.is_set():
                raise KeyboardInterrupt
    progress.wipe()
    if len(jobs) > 1:
        say(f"{len(jobs)} chapters in {time.perf_counter() - started:.1f} s, {count} at a time")


def _hand_out(worker: Worker, waiting: list[Job], progress: Progress) -> None:
    """Give a worker the next chapter, if there is one."""
    worker.job = waiting.pop(0) if waiting else None
    if worker.job:
        job = worker.job
        progress.begin(job.chapter.name, last_course(job.path.parent, job.chapter.name, job.profile))
        worker.line.send(job)


def _hear(worker: Worker, progress: Progress, done: int, count: int) -> bool:
    """Take one message of a worker; whether its chapter is done."""
    assert worker.job is not None
    name = worker.job.chapter.name
    try:
        kind, *text = worker.line.recv()
    except EOFError:
        worker.process.join(5)
        raise ChapterError(
            f"{name}: the process that ran it ended (exit code {worker.process.exitcode}; -9 means that the system "
            f"killed it, often for want of memory); {limits()}"
        ) from None
    if kind == "cell":
        progress.courses[name].enter(*text)
        return False
    if kind in ("failed", "refused"):
        progress.wipe()
        raise (UserError if kind == "refused" else ChapterError)(text[0])
    progress.end(name, f"{name}: {text[0]:.1f} s ({done} of {count})")
    return True


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Remember Ctrl-C: what it raises is lost if it comes while Python clears up after an object."""
    interrupted, before = threading.Event(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield interrupted
        return

    def remember(number: int, frame: Any) -> None:
        interrupted.set()
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _crew(count: int, settings: str) -> Iterator[list[Worker]]:
    """Start workers, and end them all, with the kernels that they started, whatever happens."""
    spawn = multiprocessing.get_context("spawn")
    crew: list[Worker] = []
    try:
        for _ in range(count):
            mine, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(theirs, max(1, cores() // count), settings), daemon=False)
            process.start()
            theirs.close()
            crew.append(Worker(process, mine))
        yield crew
    finally:
        for worker in crew:
            worker.process.terminate()
        for worker in crew:
            worker.process.join(PATIENCE)
            worker.process.kill()


def _work(line: Connection, threads: int, settings: str) -> None:
    """What a worker does: run chapters one after the other, and tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its workers
    signal.signal(signal.SIGTERM, lambda *_: end_with_children())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    set_environment(threads, settings)
    # not in the main thread: nbclient would take the signals for itself
    runner = threading.Thread(target=_run_all, args=(line,), daemon=True)
    runner.start()
    runner.join()


def _run_all(line: Connection) -> None:
    """Run the chapters that come over the line."""
    while True:
        job: Job = line.recv()
        try:
            line.send(("done", run_to_file(job, lambda *place: line.send(("cell", *place)))))
        except UserError as error:
            line.send(("refused", f"{error}"))
        except (ChapterError, OSError) as error:
            line.send(("failed", f"{error}"))
        except BaseException:
            report = f"{job.chapter.name}: a defect of insdel, please report it:\n{traceback.format_exc()}"
            line.send(("failed", report))


def _end_with_parent() -> None:
    """Wait for the end of the parent, and end too: a worker must not live on after SIGKILL of `insdel book`."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        end_with_children()


def end_with_children() -> None:
    """End this process and all that it started, kernels above all."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
    os._exit(1)


def run_to_file(job: Job, tell: Callable[[int, int], None] | None = None) -> float:
    """Run one chapter in this process, write the executed notebook and return the seconds it took."""
    import nbformat

    notebook = execute(job.chapter, job.values, job.profile, tell)
    part = job.path.with_suffix(f".{os.getpid()}.part")
    try:
        nbformat.write(notebook, part)
        part.replace(job.path)  # a half-written notebook must never pass for a cached one
    except OSError as error:
        raise OSError(f"{job.chapter.name} ran, but could not be kept: {error.strerror} ({job.path.parent}).") from None
    finally:
        part.unlink(missing_ok=True)
    return float(notebook.metadata["insdel"]["seconds"])
