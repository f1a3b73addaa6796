"""Long work tells: which cell of how many runs, and about how long it will take."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

EVERY = 30.0  # seconds between two lines in a log
BAR = 20  # characters


@dataclass
class Course:
    """How far one chapter is.

    last : when its cells began in the last run, and at the end its whole time, in seconds; empty if none is known
    """

    last: Sequence[float] = ()
    begun: float = field(default_factory=lambda: time.monotonic())
    cell: int = 0
    cells: int = 0
    reached: float = 0.0  # when the current cell began, in seconds since the start

    def enter(self, cell: int, cells: int) -> None:
        """The cell with this number, from 1, begins."""
        self.cell, self.cells, self.reached = cell, cells, time.monotonic() - self.begun

    def left(self) -> float | None:
        """About how many seconds are left, judged by the last run; None if nobody knows."""
        if not self.last:
            return None
        place = min(self.cell, len(self.last) - 1)
        pace = self.reached / self.last[place - 1] if place and self.last[place - 1] > 1 else 1.0
        return max(0.0, pace * self.last[-1] - (time.monotonic() - self.begun))

    def share(self) -> float:
        """The part of the cells that is done, 0 to 1."""
        return (self.cell - 1) / self.cells if self.cells else 0.0


class Progress:
    """Shows how far chapters are: one line that changes on a terminal, a line now and then in a log."""

    def __init__(self, say: Callable[[str], None], stream: TextIO | None = None, every: float = EVERY) -> None:
        self.say, self.stream, self.every = say, stream or sys.stderr, every
        self.live = self.stream.isatty()
        self.courses: dict[str, Course] = {}
        self.shown = time.monotonic()

    def begin(self, name: str, last: Sequence[float] = ()) -> None:
        """A chapter begins."""
        self.courses[name] = Course(last)

    def end(self, name: str, text: str) -> None:
        """A chapter is done; print the line that says so."""
        self.courses.pop(name, None)
        self.wipe()
        self.say(text)

    def wipe(self) -> None:
        """Take the changing line away."""
        if self.live:
            print("\r\x1b[K", end="", file=self.stream, flush=True)

    def tick(self) -> None:
        """Show how far everything is, if it is time to."""
        now = time.monotonic()
        if not self.courses or now - self.shown < (0.5 if self.live else self.every):
            return
        self.shown = now
        text = "; ".join(describe(name, course) for name, course in self.courses.items())
        if not self.live:
            self.say(text)
            return
        share = sum(course.share() for course in self.courses.values()) / len(self.courses)
        done = round(BAR * share)
        line = f"[{'#' * done}{'.' * (BAR - done)}] {text}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{line[:width]}", end="", file=self.stream, flush=True)


def describe(name: str, course: Course) -> str:
    """In words: the cell, the time so far, the time left."""
    so_far = say_time(time.monotonic() - course.begun)
    place = f"cell {course.cell} of {course.cells}" if course.cells else "starting"
    left = course.left()
    if left is None:
        return f"{name}: {place}, {so_far} so far"
    return f"{name}: {place}, {so_far} so far, " + (f"about {say_time(left)} left" if left else "longer than last time")


def say_time(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def last_course(folder: Path, name: str, profile: str) -> list[float]:
    """When the cells began in the newest run of a chapter in the cache, and its whole time; empty if there is none."""
    paths = sorted(folder.glob(f"{name}-*.ipynb"), key=lambda path: -path.stat().st_mtime)
    for path in paths[:3]:
        facts = run_facts(path)
        if facts.get("profile") == profile and "cells" in facts:
            return [*facts["cells"], float(facts["seconds"])]
    return []


def run_facts(path: Path) -> Mapping[str, Any]:
    """What an executed notebook tells of its run; nothing if it cannot be read."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["metadata"]["insdel"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
