"""How little can I spend? The area that a method reaches, against the model evaluations it asks for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm.auto import tqdm

from insdel.attribution import METHODS, explain
from insdel.attribution.registry import find
from insdel.curves import MODES, abc, curve, order
from insdel.evaluate import Model, Pairs, Points, progress_off

BUDGETS: dict[str, tuple[int, ...]] = {
    "kernel_shap": tuple(2**k for k in range(6, 17)),
    "integrated_gradients": (5, 10, 20, 50, 100, 200, 500),
    "lime": (25, 50, 100, 250, 500, 1000, 2500, 5000),
}
BUDGET_OPTIONS = ("samples", "steps", "permutations")  # how methods call what they spend


class Counter:
    """Counts the points that f is asked about."""

    def __init__(self) -> None:
        self.points = 0

    @contextmanager
    def watch(self, f: Model) -> Iterator[Model]:
        """Return f, counted while the context lasts."""
        if isinstance(f, torch.nn.Module):  # must stay a module: attributions look for its device and layers
            hook = f.register_forward_pre_hook(lambda _, inputs: (self._add(inputs[0]),))
            try:
                yield f
            finally:
                hook.remove()
        else:
            yield lambda points: f(self._add(points))

    def _add(self, points: Any) -> Any:
        self.points += len(points)
        return points


def budget_option(method: str) -> str:
    """Name of the option that says how much the method spends."""
    options = find(method, METHODS).options
    found = [option for option in BUDGET_OPTIONS if option in options]
    if not found:
        able = [name for name, m in METHODS.items() if any(option in m.options for option in BUDGET_OPTIONS)]
        raise ValueError(f"{method} has no budget to vary. Methods that have one: {', '.join(able)}.")
    return found[0]


def cost_accuracy(
    f: Model,
    x: Points,
    reference: Points,
    *,
    budgets: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """ABC reached and model evaluations spent, for methods at growing budgets  [section 5].

    Parameters
    ----------
    x, reference : (n,) or (pairs, n)
    budgets : method → its samples, steps or permutations to try (default: `BUDGETS`)
    seed : of the methods that draw
    options : method → further options, such as ``{"ig_jump": {"binary": [0, 1]}}``
    progress : show a bar (default: on terminals)

    Returns
    -------
    A row per method, budget and mode: `evaluations` per pair (points that f was asked about; a
    gradient counts as one and costs about three), `seconds` for all pairs, `abc_per_feature` with its
    standard error `se`, and `shortfall`: how much less than the largest budget of the first method,
    pair by pair, with its standard error `shortfall_se`
    """
    plan = [(method, int(budget)) for method, sizes in (budgets or BUDGETS).items() for budget in sizes]
    names = {method: budget_option(method) for method in dict(plan)}
    rows, areas = [], {}
    for method, budget in tqdm(plan, unit=" budgets", disable=progress_off(progress)):
        chosen = dict((options or {}).get(method, {})) | {names[method]: budget}
        chosen |= {"seed": seed} if "seed" in METHODS[method].options else {}
        spent, found = _spend(method, f, x, reference, chosen)
        for mode, area in found.items():
            areas[method, budget, mode] = area
            rows.append({"method": method, "budget": budget, **spent, "mode": mode, "abc_per_feature": area.mean(),
                         "se": standard_error(area)})  # fmt: skip
    table = pd.DataFrame(rows)
    first = (plan[0][0], max(budget for method, budget in plan if method == plan[0][0]))
    gaps = [areas[*first, r["mode"]] - areas[r["method"], r["budget"], r["mode"]] for r in rows]
    return table.assign(shortfall=[gap.mean() for gap in gaps], shortfall_se=[standard_error(gap) for gap in gaps])


def _spend(
    method: str, f: Model, x: Points, reference: Points, options: Mapping[str, Any]
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Run one method once: what it cost, and its ABC / n per mode, (pairs,)."""
    pairs, counter = Pairs.of(x, reference), Counter()
    with counter.watch(f) as counted:
        start = time.perf_counter()
        attributions = explain(method, counted, x, reference, **options)
        seconds = time.perf_counter() - start
    areas = {}
    for mode in MODES:
        walk = curve(f, x, reference, order(attributions, mode))
        areas[mode] = np.atleast_1d(torch.as_tensor(abc(walk, mode, per_feature=True)).cpu().numpy())
    return {"evaluations": counter.points / len(pairs), "seconds": seconds}, areas


def standard_error(values: np.ndarray) -> float:
    """Standard error of the mean of (pairs,) values; NaN for a single one."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
