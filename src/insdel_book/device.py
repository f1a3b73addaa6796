"""`insdel device`: run short checks on a real GPU, compare with the processor, and print a report to send in.

The tests know a pretended CUDA device only; this is how somebody with a real one can tell whether it holds there.
"""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from insdel.errors import UserError
from insdel_book.chapters import clone, find_chapter, list_chapters
from insdel_book.device_checks import Absent, Check, checks
from insdel_book.imports import PACKAGES
from insdel_book.inline import run_cells
from insdel_paper import provenance
from insdel_paper.networks import read_clock

CHAPTER = "spend"
VERDICTS = ("ok", "DIFFERS", "FAILED", "skipped")


@dataclass(frozen=True)
class Outcome:
    """What a check gave.

    apart : largest difference between the devices, as a share of the largest number
    again : the same between two calls on the device: sums in any order show here
    seconds : on the processor, on the device
    problem, absent : why there are no numbers; empty if there are
    """

    check: Check
    apart: float = float("nan")
    again: float = float("nan")
    seconds: tuple[float, float] = (float("nan"), float("nan"))
    problem: str = ""
    absent: str = ""

    @property
    def verdict(self) -> str:
        """One word."""
        if self.problem or self.absent:
            return "FAILED" if self.problem else "skipped"
        return "ok" if self.apart <= self.check.allowed else "DIFFERS"

    def __str__(self) -> str:
        head = f"{self.verdict:<8}{self.check.what:<34}"
        if self.problem or self.absent:
            return head + (self.problem or self.absent)
        here, there = self.seconds
        return f"{head}{self.apart:>9.1e}{self.check.allowed:>9.0e}{self.again:>9.1e}{here:>9.3f}{there:>9.3f}" + (
            f"{here / there:>8.1f}" if there else ""
        )


HEAD = f"{'':<8}{'':<34}{'apart':>9}{'allowed':>9}{'again':>9}{'CPU s':>9}{'device s':>9}{'ratio':>8}"


# --- how it is compared


def numbers(values: object) -> np.ndarray:
    """Whatever a check returned, as an array on the processor."""
    return np.asarray(values.cpu() if isinstance(values, torch.Tensor) else values, dtype=float)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, as a share of the largest number."""
    size = float(np.abs(a).max(initial=0.0)) or 1.0
    return float(np.abs(a - b).max(initial=0.0)) / size


def carry_out(check: Check, device: torch.device) -> Outcome:
    """Do a check on both devices, twice each; only the second time is timed, as the first loads code."""
    results, seconds = {}, []
    try:
        for place in (torch.device("cpu"), device):
            first = numbers(check.work(place))
            start = read_clock()
            values = check.work(place)
            seconds.append(read_clock() - start)
            results[place.type] = numbers(values), first
    except Absent as reason:
        return Outcome(check, absent=str(reason))
    except Exception as error:
        return Outcome(check, problem=describe(error))
    there, first = results[device.type]
    return Outcome(check, distance(results["cpu"][0], there), distance(there, first), (seconds[0], seconds[1]))


def describe(error: Exception) -> str:
    """An error in one line: what, and the last place in this package; no folders of the machine."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not PACKAGES.isdisjoint(Path(f.filename).parts)]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno}, {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{where}"


def run_chapter(device: torch.device) -> str:
    """One line about a chapter in the smoke profile, run in this process."""
    title = f"chapter {CHAPTER}, smoke profile"
    try:
        root = clone()
        chapter = find_chapter(list_chapters(root), CHAPTER)
    except UserError:
        return f"skipped {title:<34}there is no clone here; run it in one"
    wanted = {"device": device.type, "evidence": "live"}
    values = {name: value for name, value in wanted.items() if name in chapter.parameters()}
    start = read_clock()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run_cells(root, chapter, values)
    except Exception as error:
        return f"FAILED  {title:<34}{describe(error)}"
    return f"ok      {title:<34}all cells, {read_clock() - start:.1f} s"


# --- the report


def facts(device: torch.device) -> Iterator[str]:
    """What the device is, and what decides how it rounds."""
    yield f"hardware: {provenance.hardware()}"
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info()
        yield f"GPU memory: {free / 2**30:.1f} of {total / 2**30:.1f} GiB free; CUDA {torch.version.cuda}"
    yield f"versions: {', '.join(f'{name} {text}' for name, text in provenance.versions().items())}"
    state = {True: "on", False: "off"}
    products, convolutions = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    yield f"TF32: matrix products {state[products]}, convolutions {state[convolutions]}"
    yield f"deterministic algorithms: {state[torch.are_deterministic_algorithms_enabled()]}"


def report(device: str, say: Callable[[str], None]) -> bool:
    """Say every line of the report as soon as it is known; return whether all checks agree.

    device : "cuda"; "cpu" compares the processor with itself and shows the form of the report
    """
    place = torch.device(device)
    if place.type == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no GPU that torch can use here; insdel device --device cpu shows the report's form.")
    say(f"insdel device report: {place.type} against the processor")
    for line in facts(place):
        say(line)
    say(f"\n{HEAD}")
    verdicts = []
    for check in checks():
        outcome = carry_out(check, place)
        verdicts.append(outcome.verdict)
        say(str(outcome))
    line = run_chapter(place)
    verdicts.append(line.split()[0])
    say(f"{line}\n")
    say("apart, allowed: difference between the devices, share of the largest number; again: two calls on the device")
    say(f"{len(verdicts)} checks: " + ", ".join(f"{verdicts.count(word)} {word}" for word in VERDICTS))
    return not {"DIFFERS", "FAILED"} & set(verdicts)
