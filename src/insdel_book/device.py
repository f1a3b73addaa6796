"""`insdel device`: run short checks on a real GPU, compare with the processor, and print a report to send in.

The tests have a pretended CUDA device only; this is how somebody with a real one can see whether it holds there.
"""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import insdel
from insdel import evaluate, policies
from insdel.cluster import packed, unpacked
from insdel.comparison import PAPER_METHODS
from insdel.errors import UserError
from insdel_book.cache import SRC
from insdel_book.chapters import find_chapter, list_chapters, run_cells
from insdel_book.course import clone
from insdel_paper import networks, provenance
from insdel_paper.networks import Hyper, Recipe, read_clock, stacked
from insdel_paper.studies import images

CHAPTER = "spend"
FEATURES, PAIRS, BINARY = 12, 16, [10, 11]
RECIPE = Recipe(epochs=3, batch=64)
ROUNDING, SAMPLING, TRAINING = 1e-4, 1e-3, 1e-2  # largest differences that are allowed, as shares of the numbers
VERDICTS = ("ok", "DIFFERS", "FAILED", "skipped")
HEAD = f"{'':<8}{'':<34}{'apart':>9}{'allowed':>9}{'again':>9}{'CPU s':>9}{'device s':>9}{'ratio':>8}"
LEGEND = "apart, allowed: difference between the devices, share of the largest number; again: two calls on the device"


class Absent(Exception):
    """Something that a check needs is not here; the text says what."""


class DeviceCheck(NamedTuple):
    """Numbers to compute on both devices, and the largest difference that is allowed, as a share of the largest."""

    what: str
    work: Callable[[torch.device], Any]
    allowed: float = ROUNDING


def report(device: str, log: Callable[[str], None]) -> bool:
    """Print every line of the report as soon as it is known; return whether all checks agree.

    device : "cuda"; "cpu" compares the processor with itself and shows the form of the report
    """
    place = torch.device(device)
    if place.type == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no GPU that torch can use here; insdel device --device cpu shows the report's form.")
    log("\n".join([f"insdel device report: {place.type} against the processor", *facts(place), "", HEAD]))
    verdicts = []
    runs: Any = [(one.what, partial(compare, one)) for one in checks()]
    for name, run in [*runs, (f"chapter {CHAPTER}, smoke profile", run_chapter)]:
        try:
            verdict, text = run(place)
        except Absent as reason:
            verdict, text = "skipped", str(reason)
        except Exception as error:  # in one line: what, and the last place in these packages; no folders of the machine
            frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(SRC)]
            where = "".join(f" ({Path(f.filename).name}, line {f.lineno}, {f.name})" for f in frames[-1:])
            verdict, text = "FAILED", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{where}"
        verdicts.append(verdict)
        log(f"{verdict:<8}{name:<34}{text}")
    log(f"\n{LEGEND}\n{len(verdicts)} checks: " + ", ".join(f"{verdicts.count(word)} {word}" for word in VERDICTS))
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


def compare(check: DeviceCheck, device: torch.device) -> tuple[str, str]:
    """Do a check on both devices, twice each; only the second time is timed, as the first loads code."""

    def apart(a: np.ndarray, b: np.ndarray) -> float:  # largest difference, as a share of the largest number
        return float(np.abs(a - b).max() / (np.abs(a).max() or 1.0))

    results, seconds = [], []
    for place in (torch.device("cpu"), device):
        for _ in range(2):
            start = read_clock()
            results.append(np.asarray(torch.as_tensor(check.work(place)).cpu(), dtype=float))
            seconds.append(read_clock() - start)
    (_, on_cpu, first, second), (_, cpu, _, other) = results, seconds
    far, again = apart(on_cpu, second), apart(second, first)
    text = f"{far:>9.1e}{check.allowed:>9.0e}{again:>9.1e}{cpu:>9.3f}{other:>9.3f}"
    return "ok" if far <= check.allowed else "DIFFERS", text + (f"{cpu / other:>8.1f}" if other else "")


def run_chapter(device: torch.device) -> tuple[str, str]:
    """Run a chapter in the smoke profile, in this process."""
    try:
        root = clone()
        chapter = find_chapter(list_chapters(root), CHAPTER)
    except UserError:
        raise Absent("there is no clone here; run it in one") from None
    wanted = {"device": device.type, "evidence": "live"}
    start = read_clock()
    with contextlib.redirect_stdout(io.StringIO()):
        run_cells(root, chapter, {name: value for name, value in wanted.items() if name in chapter.parameters()})
    return "ok", f"all cells, {read_clock() - start:.1f} s"


def checks() -> list[DeviceCheck]:
    """Small calls of everything that runs on a GPU, from small to large."""
    methods = [*PAPER_METHODS, "best"]
    sampled = ("lime", "lime_tabular", "gradient_shap")
    options: dict[str, dict[str, Any]] = {
        "lime_tabular": {"background": pairs()[1], "samples": 200}, "ig_jump": {"binary": BINARY},
        "ig_interpolated": {"binary": BINARY}, "input_x_gradient": {"binary": BINARY},
        "gradient_shap": {"deviation": 0.1, "samples": 20}, "integrated_gradients": {"steps": 64},
    }  # fmt: skip
    along = np.tile(np.arange(FEATURES), (PAIRS, 1))  # the order of the features' numbers

    def attribute(name: str, device: torch.device) -> Any:
        return insdel.explain(name, network(device), *on(device), **options.get(name, {}))

    return [
        DeviceCheck("predictions", lambda device: evaluate.predict(network(device), on(device)[0])),
        DeviceCheck("2^16 predictions, events' network", lambda device: evaluate.predict(
            network(device, 16, networks.PAPER["cern"].neurons), torch.from_numpy(draw(2, 2**16, 16)).to(device))),
        DeviceCheck("curves", lambda device: insdel.curve(network(device), *on(device), along)),
        DeviceCheck("lattice of one pair", lattice),
        *(DeviceCheck(f"explain: {name}", partial(attribute, name), SAMPLING if name in sampled else ROUNDING)
          for name in insdel.METHODS),
        DeviceCheck("compare", lambda device: insdel.compare(
            network(device), *on(device), methods, progress=False).table["abc"].to_numpy(), SAMPLING),
        DeviceCheck("counterfactual policy", lambda device: policies.counterfactual(
            network(device), on(device)[0], at_least=2).reference_index, 0.0),
        DeviceCheck("network packed for a cluster", lambda device: evaluate.predict(
            unpacked(packed(network(device))), pairs()[0])),
        DeviceCheck("training without dropout", lambda device: evaluate.predict(fit(0.0, device), ROWS), TRAINING),
        DeviceCheck("replicates trained together", lambda device: stacked.fit(
            ROWS, TARGETS, Hyper((16, 8), 0.1, 5e-3), RECIPE, seeds=(0, 1), device=device).predict(ROWS), TRAINING),
        DeviceCheck("random numbers of the caller", random_numbers, 0.0),
        DeviceCheck("picture: probabilities", partial(picture, "probabilities"), TRAINING),
        DeviceCheck("picture: layer map", partial(picture, "map"), TRAINING),
    ]  # fmt: skip


def draw(seed: int, *size: int) -> np.ndarray:
    """Normal random numbers, the same on every machine."""
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def pairs() -> np.ndarray:
    """Points and references, (2, pairs, features); the last two features are 0 or 1."""
    points = draw(0, 2, PAIRS, FEATURES)
    points[..., BINARY] = points[..., BINARY] > 0
    return points


def on(device: torch.device) -> torch.Tensor:
    """The pairs as a tensor of a device."""
    return torch.from_numpy(pairs()).to(device)


def network(device: torch.device, features: int = FEATURES, neurons: tuple[int, ...] = (64, 48)) -> networks.MLP:
    """A network with first weights, the same on every device."""
    with networks.training.seeded(0):
        return networks.MLP(features, neurons, 0.1).eval().requires_grad_(False).to(device)


def lattice(device: torch.device) -> Any:
    """Shapley values and the expected curve of one pair."""
    one = insdel.Lattice.evaluate(network(device), *on(device)[:, 0])
    return torch.cat([one.shapley(), one.expected_curve()])


def fit(dropout: float, device: torch.device) -> networks.MLP:
    """A network that was fitted for three epochs."""
    return networks.fit(ROWS, TARGETS, Hyper((16, 8), dropout, 5e-3), RECIPE, device=device, progress=False)


def random_numbers(device: torch.device) -> Any:
    """1 if a training with dropout changes the random numbers of its caller, else 0."""
    state = torch.cuda.get_rng_state if device.type == "cuda" else torch.get_rng_state
    before = state()
    fit(0.1, device)
    return [float(not torch.equal(before, state()))]


def picture(part: str, device: torch.device) -> Any:
    """Probabilities of a photo's first classes, or the paper's saliency map of it, small."""
    try:
        classifier = images.load("lite0", device)
        image = images.open_photo("cat").square(classifier.preprocessing).to(device)
    except OSError as error:
        raise Absent(str(error)) from None
    if part == "probabilities":
        with torch.no_grad():
            return classifier(image[None])[0]
    return images.saliency_map("layer", classifier, 285, image, images.Settings(baselines=1, steps=2)).scores


ROWS = draw(1, 400, FEATURES)  # to learn from
TARGETS = ROWS[:, 0] * ROWS[:, 1] + ROWS[:, 2]
