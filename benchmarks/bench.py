"""Speed as ratios, side by side with shap, shapiq and captum, in one run on one network and the same pairs.

`make bench` runs all of it on a quiet machine and records it as results/bench; `--quick` is a rehearsal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import captum.attr
import numpy as np
import pandas as pd
import shap
import shapiq
import torch

import insdel
from insdel import results
from insdel.evaluate import predict
from insdel.experiments import Experiment, prepare

ROOT = Path(__file__).resolve().parents[1]
Work = Callable[[], np.ndarray | None]


def seconds(work: Work, repeats: int) -> list[float]:
    """Wall times of a piece of work, after one run to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def matrix_products(model: torch.nn.Module, rows: int, chunk: int = 4096) -> Work:
    """The limit: the network's own matrix products for that many rows, and nothing else."""
    layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
    inputs = [torch.randn(chunk, layer.in_features) for layer in layers]

    def work() -> None:
        with torch.no_grad():
            for _ in range(rows // chunk):
                for layer, rows_in in zip(layers, inputs, strict=True):
                    torch.nn.functional.linear(rows_in, layer.weight, layer.bias)

    return work


def exact_shapley(e: Experiment, pair: int) -> dict[str, Work]:
    """Exact Shapley values of one pair: this package, its peers, and the limit; scores of peers turned to our sign."""
    model, x, reference = e.model, e.pairs.x[pair], e.pairs.reference[pair]
    f = lambda z: np.asarray(predict(model, np.asarray(z, dtype=np.float32)))  # noqa: E731
    n = len(x)

    def by_shapiq() -> np.ndarray:
        game = lambda masks: f(np.where(masks, reference, x))  # noqa: E731
        return shapiq.ExactComputer(game, n_players=n)("SV", order=1).get_n_order_values(1)

    def by_captum() -> np.ndarray:
        kernel = captum.attr.KernelShap(model)
        points = [torch.from_numpy(p[None]) for p in (x, reference)]
        return -kernel.attribute(points[0], baselines=points[1], n_samples=2**n, perturbations_per_eval=4096).numpy()[0]

    background = reference[None]
    masker = shap.maskers.Independent(background)
    return {
        "insdel": lambda: np.asarray(insdel.Lattice.evaluate(model, x, reference, progress=False).shapley()),
        "shap ExactExplainer": lambda: -shap.explainers.ExactExplainer(f, masker)(x[None], silent=True).values[0],
        "shap KernelExplainer": lambda: -shap.KernelExplainer(f, background).shap_values(
            x, nsamples=2**n, l1_reg=False, silent=True
        ),
        "shapiq ExactComputer": by_shapiq,
        "captum KernelShap": by_captum,
        "matrix products alone": matrix_products(model, 2**n),
    }


def integrated_gradients(e: Experiment, pairs: int) -> dict[str, Work]:
    """500-step IG of many pairs: all together, and captum pair by pair."""
    x, reference = (torch.from_numpy(part[:pairs]) for part in (e.pairs.x, e.pairs.reference))
    ig = captum.attr.IntegratedGradients(e.model)

    def by_captum() -> np.ndarray:
        settings = {"n_steps": 500, "method": "riemann_middle"}
        found = [ig.attribute(a[None], baselines=b[None], **settings) for a, b in zip(x, reference, strict=True)]
        return -torch.cat(found).numpy()

    return {
        "insdel": lambda: np.asarray(insdel.explain("integrated_gradients", e.model, x, reference)),
        "captum, pair by pair": by_captum,
    }


def curves(e: Experiment, pairs: int) -> dict[str, Work]:
    """Insertion curves of many pairs: all together, and one pair at a time, step by step."""
    x, reference = e.pairs.x[:pairs], e.pairs.reference[:pairs]
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(x.shape[1]), (len(x), 1)), axis=1)

    def one_at_a_time() -> np.ndarray:
        walks = []
        for point, other, order in zip(x, reference, orders, strict=True):
            hybrid, walk = point.copy(), [float(e.model(torch.from_numpy(point[None])))]
            for j in order:
                hybrid[j] = other[j]
                walk.append(float(e.model(torch.from_numpy(hybrid[None]))))
            walks.append(walk)
        return np.array(walks)

    return {
        "insdel": lambda: insdel.curve(e.model, x, reference, orders),
        "one pair at a time": one_at_a_time,
    }


def race(title: str, contestants: dict[str, Work], repeats: int, tolerance: float = 1e-4) -> list[dict]:
    """Time the contestants in turn; their values must agree to `tolerance` of the largest one."""
    rows: list[dict] = []
    first: np.ndarray | None = None
    for name, work in contestants.items():
        value = work()
        gap = np.nan
        if value is not None:
            first = value if first is None else first
            gap = float(np.abs(value - first).max() / np.abs(first).max())
        times = seconds(work, repeats)
        rows.append({"task": title, "who": name, "seconds": min(times), "spread": max(times) / min(times), "gap": gap})
    mine = rows[0]["seconds"]
    for row in rows:
        row["ratio"] = row["seconds"] / mine
        samples = row["who"] == "captum KernelShap"  # it estimates, even with as many samples as there are subsets
        row["agrees"] = samples or np.isnan(row["gap"]) or row["gap"] <= tolerance
    return rows


def growth(sizes: list[int]) -> list[dict]:
    """How the cost of one exact lattice grows with the number of differing features."""
    rows = []
    for n in sizes:
        torch.manual_seed(0)
        model = insdel.models.MLP(n, insdel.models.PAPER["cern"].neurons).eval().requires_grad_(False)
        work = lambda n=n, model=model: insdel.Lattice.evaluate(model, np.zeros(n), np.ones(n)).values  # noqa: E731
        rows.append({"task": "cost of one lattice", "who": f"{n} features", "seconds": min(seconds(work, 2))})
    return rows


MEMORY = """
import resource, sys, numpy as np, torch, insdel
from insdel.models import MLP, PAPER
torch.manual_seed(0)
model = MLP(16, PAPER["cern"].neurons).eval().requires_grad_(False)
idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pairs = int(sys.argv[1])
rng = np.random.default_rng(0)
x, reference = rng.normal(size=(2, pairs, 16)).astype("float32")
reference[:, 10:] = x[:, 10:]
for lattice in insdel.lattices(model, x, reference, progress=False):
    lattice.shapley()
insdel.curve(model, x, reference, np.arange(16))
insdel.explain("integrated_gradients", model, x, reference, steps=50)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle)
"""


def memory(pairs: list[int]) -> list[dict]:
    """Peak memory over the idle process, in a process of its own: lattices, curves and IG of many pairs."""
    rows = []
    for count in pairs:
        run = subprocess.run([sys.executable, "-c", MEMORY, str(count)], capture_output=True, text=True, check=True)
        rows.append({"task": "peak memory", "who": f"{count} pairs", "mebibytes": int(run.stdout) / 1024})
    return rows


def bench(quick: bool) -> pd.DataFrame:
    """Run everything and return one table."""
    n_pairs = 50 if quick else 2000
    e = prepare("cern", source="simulated", rows=20_000, n_pairs=n_pairs, epochs=2 if quick else 10)
    repeats = 1 if quick else 5
    rows = race("exact Shapley values, n = 16, one pair", exact_shapley(e, 0), repeats)
    rows += race(f"IG, 500 steps, {min(n_pairs, 1000)} pairs", integrated_gradients(e, 1000), 1 if quick else 3)
    rows += race(f"curves, {n_pairs} pairs", curves(e, n_pairs), 1 if quick else 3)
    rows += growth([8, 10, 12] if quick else [8, 10, 12, 14, 16, 18, 20])
    rows += memory([1, 50] if quick else [1, 10, 100, 2000])
    return pd.DataFrame(rows)


def show(table: pd.DataFrame) -> None:
    """Print the table, ratios first."""
    for task, rows in table.groupby("task", sort=False):
        print(f"\n{task}")
        for row in rows.itertuples():
            ratio = f"{row.ratio:8.2f} ×" if pd.notna(row.ratio) else " " * 10
            value = f"{row.seconds:10.4f} s" if pd.notna(row.seconds) else f"{row.mebibytes:8.0f} MiB"
            spread = f"  (slowest / fastest repeat {row.spread:.2f})" if pd.notna(row.spread) else ""
            gap = f"  gap {row.gap:.1e}" if pd.notna(row.gap) else ""
            print(f"  {row.who:24s}{ratio}{value}{spread}{gap}")


def main() -> None:
    """Run, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rehearsal in small; nothing is recorded")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", module="captum|shap")
    start = time.perf_counter()
    table = bench(arguments.quick)
    show(table)
    wrong = table[table["agrees"].eq(False)]
    if len(wrong):
        raise SystemExit(f"values disagree: {', '.join(wrong['who'])}")
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench.json").write_text(json.dumps(table.to_dict("records"), indent=1))
    if not arguments.quick:
        facts = {"command": "make bench", "parameters": {}, "data": "simulated", "seconds": time.perf_counter() - start}
        results.save("bench", table, facts)


if __name__ == "__main__":
    main()
