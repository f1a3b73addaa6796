"""Speed as ratios, side by side with shap, shapiq and captum, in one run on one network and the same pairs.

`make bench` runs all of it on a quiet machine and records it as results/bench; `--quick` is a rehearsal. Every race
is run five times with the contestants in turn, and what counts is the median of the five ratios: one noisy minute
decides nothing. How good estimates are at equal budgets is raced by benchmarks/estimators.py.

Quantus walks curves, too, and is raced where it can be imported. It brings OpenCV, so it is not among the pinned
packages; to have it: pip install --no-deps --target build/quantus quantus opencv-python-headless cachetools

Not raced: the authors' package (cohortintgrad) is not on PyPI ("one pair at a time" does for curves what its loop
does); Xplique 2.0.2 asks for TensorFlow, and for older versions of scikit-learn and scipy than are pinned here.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import captum.attr
import numpy as np
import pandas as pd
import shap
import shapiq
import torch

import insdel
import insdel.comparison
import insdel_paper
from insdel.evaluate import predict
from insdel_paper import data as datasets
from insdel_paper import networks, results
from insdel_paper.networks import stacked
from insdel_paper.studies.experiments import prepare

ROOT = Path(__file__).resolve().parents[1]
Work = Callable[[], np.ndarray | None]
PLAIN = 2**12  # rows per call of the network itself
EXTRA = ROOT / "build" / "quantus"  # where Quantus may be


def seconds(work: Work) -> float:
    """Wall time of a piece of work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def matrix_products(model: torch.nn.Module, rows: int, chunk: int = 4096) -> Work:
    """The limit: the network's own matrix products for that many rows, and nothing else."""
    layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
    chunk = min(chunk, rows)
    inputs = [torch.randn(chunk, layer.in_features) for layer in layers]

    def work() -> None:
        with torch.no_grad():
            for _ in range(rows // chunk):
                for layer, rows_in in zip(layers, inputs, strict=True):
                    torch.nn.functional.linear(rows_in, layer.weight, layer.bias)

    return work


def exact_shapley(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray) -> dict[str, Work]:
    """Exact Shapley values of some pairs, (pairs, n): this package, its peers (turned to our sign), and the limit."""
    n = x.shape[1]
    f = lambda z: np.asarray(predict(model, np.asarray(z, dtype=np.float32)))  # noqa: E731

    def insdel_with(chunk: int | None) -> np.ndarray:
        found = insdel.lattices(model, x, reference, chunk=chunk, progress=False)
        return np.stack([np.asarray(lattice.shapley()) for lattice in found])

    def exact(point: np.ndarray, other: np.ndarray) -> np.ndarray:
        explainer = shap.explainers.ExactExplainer(f, shap.maskers.Independent(other[None]))
        return -explainer(point[None], silent=True).values[0]

    def kernel(point: np.ndarray, other: np.ndarray) -> np.ndarray:
        return -shap.KernelExplainer(f, other[None]).shap_values(point, nsamples=2**n, l1_reg=False, silent=True)

    def by_shapiq(point: np.ndarray, other: np.ndarray) -> np.ndarray:
        game = lambda masks: f(np.where(masks, other, point))  # noqa: E731
        return shapiq.ExactComputer(game, n_players=n)("SV", order=1).get_n_order_values(1)

    def each(peer: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Work:
        return lambda: np.stack([peer(*pair) for pair in zip(x, reference, strict=True)])

    return {
        "insdel": lambda: insdel_with(None),
        "insdel, not folded": lambda: insdel_with(PLAIN),
        "shap ExactExplainer": each(exact),
        "shap KernelExplainer": each(kernel),
        "shapiq ExactComputer": each(by_shapiq),
        "matrix products alone": matrix_products(model, int((2 ** (x != reference).sum(axis=1)).sum())),
    }


@contextmanager
def another_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that takes a core for itself for as long as the context lasts."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield busy
    finally:
        busy.kill()
        busy.wait()


def beside_another(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray, repeats: int) -> list[dict]:
    """Race exact Shapley values while one core is taken, and this package's one thread while none is."""
    work = exact_shapley(model, x, reference)
    threads = torch.get_num_threads()

    with another_process() as busy:

        def undisturbed() -> np.ndarray | None:
            busy.send_signal(signal.SIGSTOP)
            torch.set_num_threads(1)
            try:
                return work["insdel"]()
            finally:
                torch.set_num_threads(threads)
                busy.send_signal(signal.SIGCONT)

        among = {who: work[who] for who in ("insdel", "shap ExactExplainer", "matrix products alone")}
        among[ALONE] = undisturbed
        return race(f"one core busy: exact Shapley values, n = 16, {len(x)} pairs", among, repeats)


def sampled_shapley(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray) -> dict[str, Work]:
    """Shapley values of one pair, (n,): exact, and captum's estimate from as many samples as there are subsets."""

    def by_captum() -> np.ndarray:
        kernel = captum.attr.KernelShap(model)
        points = [torch.from_numpy(p[None]) for p in (x, reference)]
        samples = {"n_samples": 2 ** len(x), "perturbations_per_eval": 4096}
        return -kernel.attribute(points[0], baselines=points[1], **samples).numpy()[0]

    return {
        "insdel": lambda: np.asarray(insdel.Lattice.evaluate(model, x, reference, progress=False).shapley()),
        "captum KernelShap": by_captum,
    }


def estimated_shapley(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray, budget: int) -> dict[str, Work]:
    """Shapley values of many pairs, (pairs, n), from the same number of evaluations each; estimates differ."""
    f = lambda z: np.asarray(predict(model, np.asarray(z, dtype=np.float32)))  # noqa: E731

    def by_shap(point: np.ndarray, other: np.ndarray) -> np.ndarray:
        explainer = shap.KernelExplainer(f, other[None])
        return -explainer.shap_values(point, nsamples=budget - 2, l1_reg=False, silent=True)

    def by_shapiq(point: np.ndarray, other: np.ndarray, name: str, **options: int) -> np.ndarray:
        game = lambda masks: f(np.where(np.atleast_2d(masks), other, point))  # noqa: E731
        approximator = getattr(shapiq.approximator, name)(n=len(point), random_state=0, **options)
        return approximator.approximate(budget, game).get_n_order_values(1)

    def each(peer: Callable[..., np.ndarray], *name: str, **options: int) -> Work:
        return lambda: np.stack([peer(*pair, *name, **options) for pair in zip(x, reference, strict=True)])

    return {
        "insdel": lambda: insdel.explain("kernel_shap", model, x, reference, samples=budget),
        "shap KernelExplainer, sampled": each(by_shap),
        "shapiq KernelSHAP": each(by_shapiq, "KernelSHAP"),
        "shapiq kADDSHAP, order 2": each(by_shapiq, "kADDSHAP", max_order=2),
        "shapiq kADDSHAP, order 3": each(by_shapiq, "kADDSHAP", max_order=3),
        "matrix products alone": matrix_products(model, budget * len(x)),
    }


def comparison(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray) -> dict[str, Work]:
    """A table of the paper's seven methods, the best order and the mean over orders, in both modes."""
    methods = [*insdel.comparison.PAPER_METHODS, "best", "expected"]
    options = {"score": False, "progress": False}
    return {"insdel": lambda: insdel.compare(model, x, reference, methods, **options).table["abc"].to_numpy()}


def integrated_gradients(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray, steps: int) -> dict[str, Work]:
    """IG of many pairs, (pairs, n): all together, and captum pair by pair."""
    start, end = torch.from_numpy(x), torch.from_numpy(reference)
    ig = captum.attr.IntegratedGradients(model)

    def by_captum() -> np.ndarray:
        settings = {"n_steps": steps, "method": "riemann_middle"}
        found = [ig.attribute(a[None], baselines=b[None], **settings) for a, b in zip(start, end, strict=True)]
        return -torch.cat(found).numpy()

    return {
        "insdel": lambda: np.asarray(insdel.explain("integrated_gradients", model, start, end, steps=steps)),
        "captum, pair by pair": by_captum,
    }


def curves(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray) -> dict[str, Work]:
    """Curves of random orders of many pairs, (pairs, n + 1): all together, and one pair at a time, step by step."""
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(x.shape[1]), (len(x), 1)), axis=1)

    def one_at_a_time() -> np.ndarray:
        walks = []
        for point, other, order in zip(x, reference, orders, strict=True):
            hybrid, walk = point.copy(), [float(model(torch.from_numpy(point[None])))]
            for j in order:
                hybrid[j] = other[j]
                walk.append(float(model(torch.from_numpy(hybrid[None]))))
            walks.append(walk)
        return np.array(walks)

    contestants: dict[str, Work] = {
        "insdel": lambda: insdel.curve(model, x, reference, orders),
        "one pair at a time": one_at_a_time,
    }
    sys.path += [str(EXTRA)] * (str(EXTRA) not in sys.path)  # last: nothing in it replaces a pinned package
    if importlib.util.find_spec("quantus"):
        contestants["Quantus PixelFlipping"] = pixel_flipping(model, x, reference, orders)
    return contestants


class Shifted(torch.nn.Module):
    """A network of x − x′, for libraries that replace features by zero."""

    def __init__(self, model: torch.nn.Module, reference: np.ndarray) -> None:
        super().__init__()
        self.model, self.reference = model, torch.from_numpy(reference)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Return the predictions for (pairs, 1, n) differences, (pairs, 1)."""
        return self.model(z[:, 0] + self.reference)[:, None]


def pixel_flipping(model: torch.nn.Module, x: np.ndarray, reference: np.ndarray, orders: np.ndarray) -> Work:
    """Curves by Quantus, all pairs in one batch; it leaves out the start."""
    import quantus

    settings = {"features_in_step": 1, "normalise": False, "perturb_baseline": 0.0, "disable_warnings": True}
    scores = -np.argsort(orders, axis=1).astype(np.float64)[:, None]  # it sorts again, largest first
    batch = {"x_batch": (x - reference)[:, None], "y_batch": np.zeros(len(x), dtype=int), "a_batch": scores}
    options = {"batch_size": len(x), "softmax": False, "channel_first": True}

    def work() -> np.ndarray:
        metric = quantus.PixelFlipping(return_auc_per_sample=False, abs=False, **settings)
        walk = metric(model=Shifted(model, reference).eval(), **batch, **options)
        return np.column_stack([np.asarray(predict(model, x)), np.array(walk)])

    return work


def trainings(rows: int, epochs: int, replicates: int = 5) -> dict[str, Work]:
    """Replicates of the paper's network for (simulated) houses: trained together, and one after the other.

    They draw the same numbers; rounding apart they are the same networks (tests/paper/test_stacked.py), so nothing is
    compared here.
    """
    split = datasets.split(datasets.load("bangalore", "simulated", n=rows))
    data = split.x_train, split.y_train, "bangalore"

    def together() -> None:
        stacked.fit(*data, seeds=range(replicates), epochs=epochs)

    def one_by_one() -> None:
        for seed in range(replicates):
            networks.fit(*data, seed=seed, device="cpu", progress=False, epochs=epochs)

    return {"insdel, together": together, "one training at a time": one_by_one}


def race(title: str, contestants: dict[str, Work], repeats: int, tolerance: float = 1e-4) -> list[dict]:
    """Time the contestants in turn; their values must agree with the first one's to `tolerance` of its largest.

    Returns
    -------
    A row each: the median of its `seconds` and their `spread` (slowest / fastest); `ratio`, the median over rounds
    of its time in units of the first one's in the same round, with the smallest and the largest such ratio
    """
    values = {name: work() for name, work in contestants.items()}  # it warms up, too
    times = np.array([[seconds(work) for work in contestants.values()] for _ in range(repeats)])
    ratios = times / times[:, :1]  # what slows the machine down for a while slows a whole round
    rows = []
    for k, name in enumerate(contestants):
        gap = difference(values[name], next(iter(values.values())))
        samples = name == "captum KernelShap"  # it estimates, even with as many samples as there are subsets
        rows.append({
            "task": title, "who": name, "seconds": float(np.median(times[:, k])),
            "spread": float(times[:, k].max() / times[:, k].min()), "gap": gap,
            "ratio": float(np.median(ratios[:, k])), "least": float(ratios[:, k].min()),
            "most": float(ratios[:, k].max()), "agrees": bool(samples or np.isnan(gap) or gap <= tolerance),
        })  # fmt: skip
    return rows


def difference(value: np.ndarray | None, first: np.ndarray | None) -> float:
    """Largest difference, as a share of the largest value; NaN for work that has no value."""
    return np.nan if value is None or first is None else float(np.abs(value - first).max() / np.abs(first).max())


def growth(sizes: list[int]) -> list[dict]:
    """How the cost of one exact lattice grows with the number of differing features."""
    rows = []
    for n in sizes:
        torch.manual_seed(0)
        model = insdel_paper.networks.MLP(n, insdel_paper.networks.PAPER["cern"].neurons).eval().requires_grad_(False)
        work = lambda n=n, model=model: insdel.Lattice.evaluate(model, np.zeros(n), np.ones(n)).values  # noqa: E731
        work()
        best = min(seconds(work) for _ in range(2))
        rows.append({"task": "cost of one lattice", "who": f"{n} features", "seconds": best})
    return rows


ALONE = "insdel, one thread, undisturbed"

MEMORY = """
import re, sys, time, numpy as np, torch, insdel
from insdel_paper.networks.training import MLP, PAPER
torch.manual_seed(0)
model = MLP(16, PAPER["cern"].neurons).eval().requires_grad_(False)
def mebibytes(what):  # not getrusage: its peak is inherited from the process that started this one
    return int(re.search(what + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024
idle = mebibytes("VmRSS")
pairs, differing, threads = map(int, sys.argv[1:])
torch.set_num_threads(threads)
rng = np.random.default_rng(0)
x, reference = rng.normal(size=(2, pairs, 16)).astype("float32")
reference[:, differing:] = x[:, differing:]
def work(x, reference):
    for lattice in insdel.lattices(model, x, reference, progress=False):
        lattice.shapley()
    if differing == 16:  # the lattice alone
        return
    insdel.curve(model, x, reference, np.arange(16))
    insdel.explain("integrated_gradients", model, x, reference, steps=50)
if differing < 16:
    work(x[:1], reference[:1])
start = time.perf_counter()
work(x, reference)
print(time.perf_counter() - start, mebibytes("VmHWM") - idle)
"""


def memory(pairs: list[int], threads: list[int]) -> list[dict]:
    """Time, and peak memory over the idle process, of lattices (2¹⁰ hybrids), curves and IG of many pairs.

    Then of one lattice of 2¹⁶ hybrids by several threads. Each in a process of its own, as a peak never falls. Linux
    only.
    """
    if not Path("/proc/self/status").is_file():
        print("no peak memory: this system does not tell it in /proc/self/status", file=sys.stderr)
        return []
    rows = []
    asked = [("peak memory", f"{count} pairs", (count, 10, 1)) for count in pairs]
    asked += [("peak memory of one lattice, n = 16", f"{count} threads", (1, 16, count)) for count in threads]
    for task, who, numbers in asked:
        command = [sys.executable, "-c", MEMORY, *map(str, numbers)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        spent, peak = map(float, run.stdout.split())
        rows.append({"task": task, "who": who, "seconds": spent, "mebibytes": peak})
    return rows


def bench(quick: bool) -> pd.DataFrame:
    """Run everything and return one table."""
    n_pairs, few, repeats = (50, 2, 1) if quick else (2000, 4, 5)
    e = prepare("cern", source="simulated", rows=20_000, n_pairs=n_pairs, epochs=2 if quick else 10)
    x, reference = e.pairs.x, e.pairs.reference
    many = min(len(x), 400)
    often = 1 if quick else 10
    rows = race(f"exact Shapley values, n = 16, {few} pairs", exact_shapley(e.model, x[:few], reference[:few]), often)
    rows += beside_another(e.model, x[:few], reference[:few], often)
    rows += race("Shapley values, n = 16, one pair", sampled_shapley(e.model, x[0], reference[0]), repeats)
    ig = integrated_gradients(e.model, x[:many], reference[:many], 500)
    rows += race(f"IG, 500 steps, {many} pairs", ig, repeats)
    rows += race(f"curves, {len(x)} pairs", curves(e.model, x, reference), repeats)
    for budget in (128,) if quick else (128, 512, 2048):
        sampled = estimated_shapley(e.model, x[:32], reference[:32], budget)
        rows += race(f"Shapley values from {budget} evaluations, 32 pairs", sampled, repeats, tolerance=np.inf)
    table = comparison(e.model, x[: 4 * few], reference[: 4 * few])
    rows += race(f"{TABLE}, {4 * few} pairs", table, repeats)
    houses, epochs = (400, 1) if quick else (1951, 10)
    rows += race(f"5 trainings, {houses} houses, {epochs} epochs", trainings(houses, epochs), repeats)
    rows += growth([8, 10, 12] if quick else [8, 10, 12, 14, 16, 18, 20])
    rows += memory(*(([1, 50], [1, 2]) if quick else ([1, 10, 100, 2000], [1, 2, 4])))
    return pd.DataFrame(rows).astype({"agrees": "boolean"})


# What the package set out to reach: the beginning of a task, who, and the least time in units of insdel's.
BARS: dict[str, dict[str, float]] = {
    "one core busy": {"shap ExactExplainer": 2.5, ALONE: 0.5},
    "exact": {
        "shap ExactExplainer": 3, "shap KernelExplainer": 3, "shapiq ExactComputer": 3,
        "matrix products alone": 1 / 0.55,
    },
    "IG": {"captum, pair by pair": 3},
    "curves": {"one pair at a time": 20},
    "5 trainings": {"one training at a time": 1},
    "Shapley values from": {"shap KernelExplainer, sampled": 1},
}  # fmt: skip
MOST_MEMORY = 1536  # MiB
TABLE = "a table of nine rows"


def verdict(row: Any) -> str:
    """Whether a row of the table meets its bar; empty where there is none."""
    if pd.notna(row.mebibytes):
        return "" if row.mebibytes <= MOST_MEMORY else f"  MISSED: at most {MOST_MEMORY} MiB"
    bars = next((bars for start, bars in BARS.items() if row.task.startswith(start)), {})
    low = bars.get(row.who, -np.inf)
    return f"  MISSED: at least {low:.2f} × in every round" if row.least < low else ""


def show(table: pd.DataFrame) -> None:
    """Print the table, ratios first, and which bars are missed."""
    for task, rows in table.groupby("task", sort=False):
        print(f"\n{task}")
        for row in rows.itertuples():
            ratio = f"{row.ratio:8.2f} ×" if pd.notna(row.ratio) else " " * 10
            spread = f"  [{row.least:.2f}, {row.most:.2f}]" if pd.notna(row.spread) else ""
            gap = f"  gap {row.gap:.1e}" if pd.notna(row.gap) else ""
            peak = f"{row.mebibytes:8.0f} MiB" if pd.notna(row.mebibytes) else ""
            print(f"  {row.who:24s}{ratio}{row.seconds:10.4f} s{peak}{spread}{gap}{verdict(row)}")
        if str(task).startswith(TABLE):
            pairs = int(str(task).split()[-2])
            each = rows["seconds"].iloc[0] / pairs
            print(f"  {each:.2f} s per pair: 2,000 pairs in {2000 * each / 60:.0f} minutes")


def main() -> None:
    """Run, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rehearsal in small; nothing is recorded")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", module="captum|shap")
    start = time.perf_counter()
    table = bench(arguments.quick)
    show(table)
    wrong = table[table["agrees"].eq(False).fillna(False)]
    if len(wrong):
        raise SystemExit(f"values disagree: {', '.join(wrong['who'])}")
    (ROOT / "build").mkdir(exist_ok=True)
    table.to_json(ROOT / "build" / "bench.json", orient="records", indent=1)
    if not arguments.quick:
        spent = round(time.perf_counter() - start, 1)
        parameters = {"rows": 20_000, "epochs": 10, "threads": torch.get_num_threads()}
        facts = {"command": "make bench", "parameters": parameters, "data": "simulated", "seconds": spent}
        results.save("bench", {"times": table}, facts)


if __name__ == "__main__":
    main()
