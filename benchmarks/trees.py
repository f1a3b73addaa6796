"""Trees in closed form, side by side with the model itself, shap's interventional TreeExplainer and Woodelf.

`make bench` runs it after bench.py and records it as results/tree_times; `--quick` is a rehearsal. Times are of the
processor, the smallest of some repeats; `gap` is the largest difference of the Shapley values of a pair from those of
insdel, as a share of the largest.

Woodelf is made for backgrounds of many rows; here it gets one, as all others do, and up to 300 trees. It is raced where
it can be imported; to have it: pip install --no-deps --target build/woodelf woodelf_explainer treelite
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import shap

import insdel
from insdel_paper import results
from insdel_paper.studies import trees as study

ROOT = Path(__file__).resolve().parents[1]
SIZES = ((10, 100, 4), (30, 300, 6), (100, 1000, 6), (500, 1000, 8))  # features, trees, depth
ORDERS = 1000
MOST_FOR_WOODELF = 300  # trees


def measured(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Smallest processor time of a piece of work, and what it returns."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        value = work()
        times.append(time.process_time() - start)
    return min(times), value


def by_shap(model: Any, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """shap's values of one pair, in this book's sign: each reference needs an explainer of its own."""
    explainer = shap.TreeExplainer(model, reference[None], feature_perturbation="interventional")
    return -explainer.shap_values(x[None], check_additivity=False)[0]


def by_woodelf(model: Any, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Woodelf's values of one pair, in this book's sign."""
    from woodelf import WoodelfExplainer

    rows, background = (pd.DataFrame(point[None], columns=[f"f{j}" for j in range(len(x))]) for point in (x, reference))
    with redirect_stderr(StringIO()), redirect_stdout(StringIO()):  # it prints bars and times
        return -np.asarray(WoodelfExplainer(model, background).shap_values(rows))[0]


def tasks(model: Any, x: np.ndarray, reference: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Pieces of work about one pair."""
    trees = insdel.Trees.of(model)
    game = trees.game(x, reference)
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(len(x)), (ORDERS, 1)), axis=1)

    def by_model() -> np.ndarray:
        steps = np.tri(len(x) + 1, len(x), -1, dtype=bool)
        walks = [model.predict(np.where(steps[:, place], reference, x)) for place in np.argsort(orders, axis=1)]
        return np.array(walks)

    work = {
        "read the model": lambda: insdel.Trees.of(model),
        "game": lambda: trees.game(x, reference),
        "Shapley values": game.shapley,
        "exact sd": game.moments,
        "curves of 1,000 orders": lambda: game.curve(orders),
        "best order": game.search,
        "curves by the model": by_model,
        "shap": lambda: by_shap(model, x, reference),
    }
    sys.path += [str(ROOT / "build" / "woodelf")] * (str(ROOT / "build" / "woodelf") not in sys.path)
    if importlib.util.find_spec("woodelf") and len(trees.ensemble.trees) <= MOST_FOR_WOODELF:
        work["Woodelf"] = lambda: by_woodelf(model, x, reference)
    return work


def rows_of(features: int, trees: int, depth: int, repeats: int) -> list[dict[str, Any]]:
    """Times of one size: features, trees, depth, task, seconds, gap."""
    points, target = study.simulated(features)
    model = study.boosted("xgboost", points, target, trees, depth)
    work = tasks(model, points[0], points[1])
    values = work["Shapley values"]()
    rows = []
    for task, piece in work.items():
        long = task in ("curves by the model", "best order", "exact sd", "Woodelf")
        seconds, found = measured(piece, 1 if long else repeats)
        peer = task in ("shap", "Woodelf")
        gap = float(np.abs(found - values).max() / np.abs(values).max()) if peer else np.nan
        size = {"features": features, "trees": trees, "depth": depth}
        rows.append({**size, "task": task, "seconds": seconds, "gap": gap})
    return rows


def main() -> None:
    """Run, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rehearsal in small; nothing is recorded")
    quick = parser.parse_args().quick
    start = time.perf_counter()
    table = pd.DataFrame([row for size in SIZES[: 2 if quick else None] for row in rows_of(*size, 1 if quick else 3)])
    shown = table.pivot_table("seconds", "task", "features", sort=False) * 1000
    print("milliseconds\n", shown.round(2).to_string())
    print(table.dropna(subset="gap").to_string(index=False))
    if not quick:
        facts = {"command": "make bench", "parameters": {"sizes": [list(size) for size in SIZES], "orders": ORDERS}}
        results.save("tree_times", {"times": table},
                     {**facts, "data": "simulated", "seconds": round(time.perf_counter() - start, 1)})  # fmt: skip


if __name__ == "__main__":
    main()
