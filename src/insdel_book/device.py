"""`insdel device`: run short checks on a real GPU, compare with the processor, and print a report to send in.

The tests have a pretended CUDA device only; this is how somebody with a real one can see whether it holds there.
"""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from insdel.errors import UserError
from insdel_book.cache import SRC
from insdel_book.chapters import find_chapter, list_chapters
from insdel_book.clone import clone
from insdel_book.device_checks import Absent, Check, checks
from insdel_book.inline import run_cells
from insdel_paper import provenance
from insdel_paper.networks import read_clock

CHAPTER = "spend"
VERDICTS = ("ok", "DIFFERS", "FAILED", "skipped")
HEAD = f"{'':<8}{'':<34}{'apart':>9}{'allowed':>9}{'again':>9}{'CPU s':>9}{'device s':>9}{'ratio':>8}"
LEGEND = "apart, allowed: difference between the devices, share of the largest number; again: two calls on the device"


def report(device: str, log: Callable[[str], None]) -> bool:
    """Print every line of the report as soon as it is known; return whether all checks agree.

    device : "cuda"; "cpu" compares the processor with itself and shows the form of the report
    """
    place = torch.device(device)
    if place.type == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no GPU that torch can use here; insdel device --device cpu shows the report's form.")
    log("\n".join([f"insdel device report: {place.type} against the processor", *facts(place), "", HEAD]))
    verdicts = []
    for name, run in [*((check.what, lambda c=check: compare(c, place)) for check in checks()),
                      (f"chapter {CHAPTER}, smoke profile", lambda: run_chapter(place))]:  # fmt: skip
        try:
            verdict, text = run()
        except Absent as reason:
            verdict, text = "skipped", str(reason)
        except Exception as error:
            verdict, text = "FAILED", describe(error)
        verdicts.append(verdict)
        log(f"{verdict:<8}{name:<34}{text}")
    log(f"\n{LEGEND}")
    log(f"{len(verdicts)} checks: " + ", ".join(f"{verdicts.count(word)} {word}" for word in VERDICTS))
    return not {"DIFFERS", "FAILED"} & set(verdicts)


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


def compare(check: Check, device: torch.device) -> tuple[str, str]:
    """Do a check on both devices, twice each; only the second time is timed, as the first loads code."""
    first, second, seconds = [], [], []
    for place in (torch.device("cpu"), device):
        first.append(numbers(check.work(place)))
        start = read_clock()
        values = check.work(place)
        seconds.append(read_clock() - start)
        second.append(numbers(values))
    apart, again = distance(*second), distance(second[1], first[1])
    text = f"{apart:>9.1e}{check.allowed:>9.0e}{again:>9.1e}{seconds[0]:>9.3f}{seconds[1]:>9.3f}"
    text += f"{seconds[0] / seconds[1]:>8.1f}" if seconds[1] else ""
    return "ok" if apart <= check.allowed else "DIFFERS", text


def numbers(values: Any) -> np.ndarray:
    """Whatever a check returned, as an array on the processor."""
    return np.asarray(values.cpu() if isinstance(values, torch.Tensor) else values, dtype=float)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, as a share of the largest number."""
    return float(np.abs(a - b).max(initial=0.0)) / (float(np.abs(a).max(initial=0.0)) or 1.0)


def describe(error: Exception) -> str:
    """An error in one line: what, and the last place in these packages; no folders of the machine."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(SRC)]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno}, {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{where}"


def run_chapter(device: torch.device) -> tuple[str, str]:
    """Run a chapter in the smoke profile, in this process."""
    try:
        root = clone()
        chapter = find_chapter(list_chapters(root), CHAPTER)
    except UserError:
        raise Absent("there is no clone here; run it in one") from None
    wanted = {"device": device.type, "evidence": "live"}
    values = {name: value for name, value in wanted.items() if name in chapter.parameters()}
    start = read_clock()
    with contextlib.redirect_stdout(io.StringIO()):
        run_cells(root, chapter, values)
    return "ok", f"all cells, {read_clock() - start:.1f} s"
