"""How little can I spend? The area that a method reaches, against the model evaluations it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from insdel.attribution import METHODS, explain
from insdel.attribution.registry import find
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


class Counter:
    """Counts the points that f is asked about."""

    def __init__(self) -> None:
        self.points = 0

    @contextmanager
    def watch(self, f: Model) -> Iterator[Model]:
        """Return f, counted while the context lasts."""
        if isinstance(f, torch.nn.Module):  # must stay a module: attributions look for its device and layers
            # outputs, not inputs: DeepLIFT adds the reference to its batch on the way in
            hook = f.register_forward_hook(lambda _, __, outputs: self._count(outputs))
            try:
                yield f
            finally:
                hook.remove()
        else:
            yield self._counted(f)

    def _counted(self, f: Model) -> Model:
        def counted(points: Any) -> Any:
            self._count(points)
            return f(points)

        return counted

    def _count(self, batch: Any) -> None:
        self.points += len(batch)


def budget_option(method: str) -> str:
    """Name of the option that says how much the method spends."""
    options = find(method, METHODS).options
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

    Parameters
    ----------
    x, reference : (n,) or (pairs, n)
    budgets : method → its samples, steps or permutations to try (default: `BUDGETS`); a method for
        which there are none, such as ``{"occlusion": ()}``, runs once as it is
    seed : of the methods that draw
    options : method → further options, such as ``{"ig_jump": {"binary": [0, 1]}}``
    checkpoint : folder for finished budgets; a run that was killed continues from there
    progress : show a bar (default: on terminals)
    pairs : who is paired with whom, as for `insdel.summary`; without it standard errors are naive

    Returns
    -------
    A row per method, budget and mode: `evaluations` per pair (points that f was asked about; a
    gradient counts as one and costs two or three), `seconds` for all pairs, `abc_per_feature` with its
    standard error `se`, and `shortfall`: how much less than the largest budget of the first method,
    pair by pair, with its standard error `shortfall_se`
    """
    plan = _plan(budgets or BUDGETS, seed, options or {})
    store = Store(checkpoint, lambda: identity(f, Pairs.of(x, reference), plan=plan, code=[__file__]))
    tables = store.chunks(
        len(plan), 1, lambda part: _spend(plan[part.start], f, x, reference), unit=" budgets", progress=progress
    )
    first = max((k for k, item in enumerate(plan) if item.method == plan[0].method), key=lambda k: plan[k].budget or 0)
    ends = PairIds.of(pairs)
    parts = zip(plan, tables, strict=True)
    return pd.DataFrame([row for item, table in parts for row in _rows(item, table, tables[first], ends)])


@dataclass(frozen=True)
class Item:
    """One method at one budget (None: it has none), with all its options."""

    method: str
    budget: int | None
    options: dict[str, Any]


def _plan(budgets: Mapping[str, Sequence[int]], seed: int, options: Mapping[str, Mapping[str, Any]]) -> list[Item]:
    """All methods at all their budgets; misuse is refused before anything runs."""
    plan = []
    for method, sizes in budgets.items():
        common = dict(options.get(method, {}))
        if "seed" in find(method, METHODS).options:
            common["seed"] = seed
        for size in sizes:
            plan.append(Item(method, int(size), common | {budget_option(method): int(size)}))
        if not len(sizes):
            plan.append(Item(method, None, common))
    return plan


def _spend(item: Item, f: Model, x: Points, reference: Points) -> pd.DataFrame:
    """Run one method once: a row per pair with its ABC / n per mode, and what the run cost."""
    pairs, counter = Pairs.of(x, reference), Counter()
    with counter.watch(f) as counted:
        start = read_clock()
        attributions = explain(item.method, counted, x, reference, **item.options)
        seconds = read_clock() - start
    table = pd.DataFrame({"evaluations": counter.points / len(pairs), "seconds": seconds}, index=range(len(pairs)))
    for mode in MODES:
        walk = curve(f, x, reference, order(attributions, mode))
        table[mode] = np.atleast_1d(torch.as_tensor(abc(walk, mode, per_feature=True)).cpu().numpy())
    return table


def _rows(item: Item, found: pd.DataFrame, best: pd.DataFrame, ends: PairIds) -> Iterator[dict[str, Any]]:
    """Rows of one method and budget, one per mode; `best` is what it falls short of."""
    spent = found[["evaluations", "seconds"]].iloc[0].to_dict()
    for mode in MODES:
        (area, se), (gap, gap_se) = mean(found[mode], ends), mean(best[mode] - found[mode], ends)
        yield {
            "method": item.method, "budget": item.budget, **spent, "mode": mode,
            "abc_per_feature": area, "se": se, "shortfall": gap, "shortfall_se": gap_se,
        }  # fmt: skip


def smallest_budget(table: pd.DataFrame, share: float = 0.01) -> pd.DataFrame:
    """The fewest evaluations per pair after which a method stays within `share` of the exact ABC.

    Parameters
    ----------
    table : from `cost_accuracy`
    share : of the mean ABC that the first method reaches with its largest budget

    Returns
    -------
    (methods, modes): evaluations from which on, at this and all larger budgets, the mean shortfall is no more
    than that; missing where even the largest budget falls short by more
    """
    goal = share * (table["abc_per_feature"] + table["shortfall"]).abs()
    ordered = table.assign(short=table["shortfall"] > goal).sort_values("evaluations", kind="stable")
    result = pd.DataFrame(np.nan, index=table["method"].unique(), columns=list(MODES))
    for (method, mode), rows in ordered.groupby(["method", "mode"]):
        settled = ~rows["short"][::-1].cummax()[::-1]  # from here to the largest budget
        result.loc[method, mode] = rows["evaluations"][settled].min()
    return result


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
