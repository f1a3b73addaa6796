"""How little can I spend? The area that a method reaches, against the model evaluations it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from insdel.attribution import METHODS, explain, find
from insdel.curves import MODES, abc, curve, order
from insdel.errors import UserError
from insdel.evaluate import Model, Pairs, Points
from insdel.identity import identity
from insdel.own.devices import read_clock
from insdel.stats import PairIds, mean
from insdel.store import Store
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.experiments import EVENTS, prepare

BUDGETS: dict[str, tuple[int, ...]] = {
    "kernel_shap": (*(2**k for k in range(6, 13)), 2**16),  # the last is exact for 16 features
    "integrated_gradients": (5, 10, 20, 50, 100, 200, 500),
    "lime": (25, 50, 100, 250, 500, 1000, 2500, 5000),
}
ONE_PRICE: dict[str, tuple[int, ...]] = dict.fromkeys(
    ("random", "vanilla_grad", "input_x_gradient", "deeplift", "occlusion", "greedy"), ()
)  # methods whose cost is what it is
BUDGET_OPTIONS = ("samples", "steps", "permutations")  # how methods call what they spend


@contextmanager
def counting(f: Model) -> Iterator[tuple[Model, list[int]]]:
    """Return f and a list, which while the context lasts gets the number of points of each call of f."""
    asked: list[int] = []
    if not isinstance(f, torch.nn.Module):

        def counted(points: Any) -> Any:
            asked.append(len(points))
            return f(points)

        yield counted, asked
        return
    # it must stay a module: attributions look for its device and layers. Outputs are counted, not inputs, as DeepLIFT
    # adds the reference to its batch on the way in
    hook = f.register_forward_hook(lambda _, __, outputs: asked.append(len(outputs)))
    try:
        yield f, asked
    finally:
        hook.remove()


def budget_option(method: str) -> str:
    """Name of the option that says how much the method spends."""
    options = find(method).options
    result = [option for option in BUDGET_OPTIONS if option in options]
    if not result:
        able = [name for name, m in METHODS.items() if any(option in m.options for option in BUDGET_OPTIONS)]
        raise UserError(f"{method} has no budget to vary. Methods that have one: {', '.join(able)}.")
    return result[0]


def cost_accuracy(
    f: Model,
    x: Points,
    reference: Points,
    *,
    budgets: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
    pairs: Any = None,
) -> pd.DataFrame:
    """ABC reached and model evaluations spent, for methods at growing budgets  [section 5].

    x, reference : (n,) or (pairs, n)
    budgets : method → its samples, steps or permutations to try (default: `BUDGETS`); a method for
        which there are none, such as ``{"occlusion": ()}``, runs once as it is
    seed : of the methods that draw
    options : method → further options, such as ``{"ig_jump": {"binary": [0, 1]}}``
    checkpoint : folder for finished budgets; a run that was killed continues from there
    progress : show a bar (default: on terminals)
    pairs : who is paired with whom, as for `insdel.summary`; without it standard errors are naive

    Returns a row per method, budget and mode: `evaluations` per pair (points that f was asked about; a gradient counts
    as one and costs two or three), `seconds` for all pairs, `abc_per_feature` with its standard error `se`, and
    `shortfall`: how much less than the largest budget of the first method, pair by pair, with its standard error
    `shortfall_se`
    """
    plan: list[tuple[str, int | None, dict[str, Any]]] = []  # budget None: it has none; misuse is refused at once
    for method, sizes in (budgets or BUDGETS).items():
        common = dict((options or {}).get(method, {}))
        if "seed" in find(method).options:
            common["seed"] = seed
        plan += [(method, int(size), common | {budget_option(method): int(size)}) for size in sizes]
        plan += [] if len(sizes) else [(method, None, common)]

    def spend(part: slice) -> pd.DataFrame:
        """Run one method once: a row per pair with its ABC / n per mode, and what the run cost."""
        method, _, chosen = plan[part.start]
        with counting(f) as (counted, asked):
            start = read_clock()
            attributions = explain(method, counted, x, reference, **chosen)
            seconds = read_clock() - start
        walks = {mode: curve(f, x, reference, order(attributions, mode)) for mode in MODES}
        areas = {mode: abc(walk, mode, per_feature=True) for mode, walk in walks.items()}
        table = pd.DataFrame({mode: np.atleast_1d(torch.as_tensor(area).cpu().numpy()) for mode, area in areas.items()})
        return table.assign(evaluations=sum(asked) / len(table), seconds=seconds)

    store = Store(checkpoint, lambda: identity(f, Pairs.of(x, reference), plan=plan, code=[__file__]))
    tables = store.chunks(len(plan), 1, spend, unit=" budgets", progress=progress)
    first = max((k for k, item in enumerate(plan) if item[0] == plan[0][0]), key=lambda k: plan[k][1] or 0)
    ends, rows = PairIds.of(pairs, range(len(tables[first]))), []
    for ((method, budget, _), found), mode in product(zip(plan, tables, strict=True), MODES):
        (area, se), (gap, gap_se) = mean(found[mode], ends), mean(tables[first][mode] - found[mode], ends)
        rows.append({
            "method": method, "budget": budget, **found[["evaluations", "seconds"]].iloc[0], "mode": mode,
            "abc_per_feature": area, "se": se, "shortfall": gap, "shortfall_se": gap_se,
        })  # fmt: skip
    return pd.DataFrame(rows)


def smallest_budget(table: pd.DataFrame, share: float = 0.01) -> pd.DataFrame:
    """The fewest evaluations per pair after which a method stays within `share` of the exact ABC.

    table : from `cost_accuracy`
    share : of the mean ABC that the first method reaches with its largest budget

    Returns (methods, modes): evaluations from which on, at this and all larger budgets, the mean shortfall is no more
    than that; missing where even the largest budget falls short by more
    """
    goal = share * (table["abc_per_feature"] + table["shortfall"]).abs()
    ordered = table.assign(short=table["shortfall"] > goal).sort_values("evaluations", kind="stable")
    # from here to the largest budget
    settled = ~ordered[::-1].groupby(["method", "mode"])["short"].cummax()[::-1]
    least = ordered[settled].pivot_table("evaluations", "method", "mode", aggfunc="min")
    return least.reindex(index=table["method"].unique(), columns=list(MODES)).rename_axis(index=None, columns=None)


@record(
    "cost", "ABC reached against evaluations spent, genuine events", ("budgets",),
    source="real", **{**EVENTS, "pairs": 200}, budgets=BUDGETS | ONE_PRICE,
)  # fmt: skip
def measure_cost(context: RunContext, *, pairs: int, budgets: Mapping[str, Sequence[int]], **size: Any) -> Recording:
    """Methods at growing budgets, on counterfactual pairs of events."""
    experiment = prepare("cern", n_pairs=pairs, **size)
    found = experiment.pairs
    table = cost_accuracy(
        experiment.model, found.x, found.reference, budgets=budgets, pairs=found, checkpoint=context.folder / "budgets"
    )
    return Recording({"budgets": table}, experiment.facts)
