"""How costs grow with pairs, features and background rows, and what a cluster of two workers makes of two cores.

`python benchmarks/scale.py costs` and `… cluster` record results/scale and results/scale_cluster, without a word both;
`--quick` is a rehearsal. Costs are seconds of the processor's time on one thread, so that others may be at work beside
it; what is measured already is kept in build/scale. The cluster needs a quiet machine. All data are simulated.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import GradientBoostingRegressor

import insdel
from insdel_paper import results
from insdel_paper.networks.training import MLP, PAPER

ROOT = Path(__file__).resolve().parents[1]
Work = Callable[[], object]
LEAST = 0.2  # seconds of work that are measured at once: repeated until there are as many
SAMPLES = 2048
# of workers: by default Dask has their C library return every freed block, which costs them 1.7 times the time
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(2**27), "MALLOC_MMAP_THRESHOLD_": str(2**27)}


def points(rows: int, n: int, seed: int = 0) -> np.ndarray:
    """Simulated points, (rows, n)."""
    return np.random.default_rng([seed, n]).normal(size=(rows, n)).astype(np.float32)


def network(n: int) -> MLP:
    """An untrained network of n features: what it costs does not depend on its weights."""
    torch.manual_seed(0)
    return MLP(n, (64, 32)).eval().requires_grad_(False)


@lru_cache(maxsize=1)
def trees(n: int) -> insdel.Trees:
    """A hundred trees of depth four, fitted to a product and a sum of the features."""
    x = points(1000, n, seed=1)
    target = x[:, 0] * x[:, 1] + x @ np.linspace(1, 0, n)
    return insdel.Trees.of(GradientBoostingRegressor(max_depth=4, max_features="sqrt", random_state=0).fit(x, target))


def exact(pairs: int, n: int) -> Work:
    """Shapley values of a network from all hybrids."""
    f, x, reference = network(n), points(pairs, n), points(pairs, n, 1)
    return lambda: insdel.explain("kernel_shap", f, x, reference)


def by_trees(pairs: int, n: int) -> Work:
    """Shapley values of a tree ensemble in closed form."""
    ensemble, x, reference = trees(n), points(pairs, n), points(pairs, n, 1)
    return lambda: [ensemble.game(*pair).shapley() for pair in zip(x, reference, strict=True)]


def sampled(pairs: int, n: int) -> Work:
    """Shapley values of a network, estimated."""
    f, x, reference = network(n), points(pairs, n), points(pairs, n, 1)
    return lambda: insdel.explain("kernel_shap", f, x, reference, samples=SAMPLES)


def own(pairs: int, n: int, background: int = 0) -> Work:
    """Both tests of attributions that exist already, without the scale from chance to best."""
    f, x = network(n), points(pairs, n)
    ends = {"background": points(background, n, 1)} if background else {"reference": points(pairs, n, 1)}
    given = {"own": insdel.attributions(points(pairs, n, 2), sign="change")}
    return lambda: insdel.compare(f, x, methods=given, score=False, progress=False, chunk=1024, **ends)


def averaged(background: int) -> Work:
    """Shapley values of eight features from all hybrids with each row of a background."""
    f, x, rows = network(8), points(10, 8), points(background, 8, 1)
    return lambda: [lattice.shapley() for lattice in insdel.lattices(f, x, background=rows, progress=False)]


ROWS = (1, 3, 10, 30, 100, 300, 1000)
PAIRS = (10, 30, 100, 300, 1000, 3000, 10_000)
CASES: dict[tuple[str, str], tuple[Callable[[int], Work], tuple[int, ...]]] = {
    ("pairs", "exact, network of 10 features"): (lambda m: exact(m, 10), PAIRS),
    ("pairs", "exact, trees of 30 features"): (lambda m: by_trees(m, 30), PAIRS[:5]),
    ("pairs", f"{SAMPLES:,} samples, 30 features"): (lambda m: sampled(m, 30), PAIRS[:4]),
    ("pairs", "own attributions, 30 features"): (lambda m: own(m, 30), PAIRS),
    ("features", "exact, network"): (lambda n: exact(1, n), (4, 6, 8, 10, 12, 14, 16, 18, 20)),
    ("features", "exact, trees"): (lambda n: by_trees(10, n), (4, 10, 30, 100, 300, 1000)),
    ("features", f"{SAMPLES:,} samples, network"): (lambda n: sampled(4, n), (12, 20, 30, 100, 300, 1000)),
    ("features", "own attributions, network"): (lambda n: own(100, n), (4, 10, 30, 100, 300, 1000)),
    ("rows of background", "exact, network of 8 features"): (averaged, ROWS),
    ("rows of background", "own attributions, 30 features"): (lambda m: own(10, 30, m), ROWS),
}


def cost(work: Work) -> float:
    """Seconds of the processor that a piece of work takes, once it is warm."""
    work()
    start, times = time.process_time(), 0
    while time.process_time() - start < LEAST:
        work()
        times += 1
    return (time.process_time() - start) / times


def costs(most: float, known: dict[str, float], keep: Callable[[str, float], None]) -> pd.DataFrame:
    """Measure every case at every size, up to `most`; what is known is not measured again."""
    rows = []
    for (axis, who), (make, sizes) in CASES.items():
        for size in sizes:
            if size > most:
                continue
            name = f"{axis}, {who}, {size}"
            if name not in known:
                known[name] = cost(make(size))
                keep(name, known[name])
            rows.append({"axis": axis, "who": who, "size": size, "seconds": known[name]})
    return pd.DataFrame(rows)


def cluster(pairs: int, rounds: int) -> pd.DataFrame:
    """Seconds of `compare` in this process with two threads, by two workers of one, and if one of them is killed."""
    from distributed import Client, LocalCluster

    torch.manual_seed(0)
    f = MLP(16, PAPER["cern"].neurons).eval().requires_grad_(False)
    x, reference = points(pairs, 16), points(pairs, 16, 1)
    rows, tables = [], []
    local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    torch.set_num_threads(2)
    os.environ |= KEEP_MEMORY
    with LocalCluster(**local) as workers, Client(workers) as client:
        for number, (who, others) in enumerate(_turns(client, rounds)):
            start = time.perf_counter()
            killer = threading.Timer(rows[0]["seconds"] / 2 if rows else 1.0, _kill, [client])
            if who == "one worker killed":
                killer.start()
            methods, options = ["kernel_shap", "best"], {"chunk": 2, "progress": False, "scheduler": others}
            tables.append(insdel.compare(f, x, reference, methods, **options).table)
            rows.append({"round": number // 3, "who": who, "seconds": time.perf_counter() - start})
            killer.cancel()
            pd.testing.assert_frame_equal(tables[-1], tables[0], atol=1e-4, rtol=1e-4)
            print(rows[-1], flush=True)
    return pd.DataFrame(rows).assign(pairs=pairs)


def _turns(client: Any, rounds: int) -> Iterator[tuple[str, Any]]:
    """Who works, in turn; workers are there before the clock runs."""
    for _ in range(rounds):
        for who, others in (("one process", None), ("two workers", client), ("one worker killed", client)):
            client.wait_for_workers(2)
            yield who, others


def _kill(client: Any) -> None:
    os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)


def costs_kept(most: float) -> tuple[pd.DataFrame, float]:
    """Costs up to a size, and the seconds since the first was measured; build/scale keeps what is measured."""
    file = ROOT / "build" / "scale" / f"{most}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    known = dict(map(json.loads, file.read_text().splitlines())) if file.is_file() else {}

    def keep(name: str, seconds: float) -> None:
        with file.open("a") as lines:
            lines.write(json.dumps([name, seconds]) + "\n")

    torch.set_num_threads(1)
    if "begun" not in known:
        known["begun"] = time.time()
        keep("begun", known["begun"])
    return costs(most, known, keep), time.time() - known["begun"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", choices=["costs", "cluster"], default=["costs", "cluster"])
    parser.add_argument("--quick", action="store_true", help="a rehearsal in small; nothing is recorded")
    parser.add_argument("--pairs", type=int, default=1200, help="how many pairs the cluster works on")
    parser.add_argument("--rounds", type=int, default=1, help="how often it and one process take turns")
    given = parser.parse_args(arguments)
    if "costs" in given.what:
        table, spent = costs_kept(30 if given.quick else 10_000)
        _show("scale", "costs", table, {}, spent, given.quick)
    if "cluster" in given.what:
        start, size = time.time(), {"pairs": given.pairs, "rounds": given.rounds}
        table = cluster(4, 1) if given.quick else cluster(**size)
        _show("scale_cluster", "cluster", table, size, time.time() - start, given.quick)


def _show(record: str, name: str, table: pd.DataFrame, size: dict[str, int], seconds: float, quick: bool) -> None:
    print(table.to_string())
    if not quick:
        facts = {"command": f"python benchmarks/scale.py {name}", "parameters": size, "data": "simulated"}
        results.save(record, {name: table}, {**facts, "seconds": round(seconds, 1)})


if __name__ == "__main__":
    main()
