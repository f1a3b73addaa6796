"""How good can an order be? Every method's ABC beside the best and the mean of all n! orders, pair by pair.

All of it follows from the lattice of a pair, evaluated once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau
from torch import Tensor
from tqdm import tqdm

from insdel import chance
from insdel.arrays import float64, to_tensor
from insdel.attribution import explain
from insdel.comparison import EXACT, PAPER_METHODS, Plan
from insdel.curves import order
from insdel.evaluate import Model, Pairs, progress_off
from insdel.identity import identity
from insdel.lattice import LATTICE_MODES, MAX_FEATURES, Lattice, lattices, subset_sizes
from insdel.store import Store
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.experiments import EVENTS, HOUSES, POLICIES, prepare
from insdel_paper.studies.outcome import ends_table

METHODS = (*PAPER_METHODS, "banzhaf", "occlusion", "greedy")
BEST = {f"best_{mode}": mode for mode in LATTICE_MODES}  # rankings that are best in one mode, scored in all
LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
CHUNK = 32  # pairs per checkpoint
PARTS = ("areas", "pairs", "orders")


@dataclass(frozen=True)
class Found:
    """Tables of a study; areas are ABC / n, as the paper prints them.

    areas : pair, method, mode, abc_per_feature; best, expected, sd over all orders; tail_probability, that a
        random order does at least as well; optimal, whether no order does better
    pairs : pair, differing, f_x, f_reference, and the measures of `interactions`
    orders : pair, mode, level, abc_per_feature: quantiles over random orders
    """

    areas: pd.DataFrame
    pairs: pd.DataFrame
    orders: pd.DataFrame


def study(
    f: Model,
    x: np.ndarray,
    reference: np.ndarray,
    methods: Sequence[str] = METHODS,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    orders: int = 20_000,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: bool | None = None,
) -> Found:
    """Put the methods' orders beside all orders, for every pair that differs in at most 20 features.

    Parameters
    ----------
    x, reference : (pairs, n)
    methods : names in `insdel.METHODS`; Kernel SHAP is always among them
    options : per method
    orders : random orders per pair, for tails and quantiles
    checkpoint : folder for finished chunks; a run that was killed continues from there
    """
    plan = Plan(tuple(dict.fromkeys(["kernel_shap", *methods])), options=dict(options or {}), seed=seed)
    starts, own = range(0, len(x), CHUNK), (__file__, str(chance.__file__))
    known = identity(f, Pairs.of(x, reference), **vars(plan), orders=orders, code=own) if checkpoint else {}
    stores = [Store(checkpoint and checkpoint / part, lambda: known) for part in PARTS]
    for first in tqdm(starts, unit=f" × {CHUNK} pairs", disable=progress_off(progress)):
        if not all(store.has(first) for store in stores):
            tables = _chunk(f, x[first : first + CHUNK], reference[first : first + CHUNK], first, plan, orders)
            for store, table in zip(stores, tables, strict=True):
                store.put(first, table)
    return Found(*(pd.concat([store.get(first) for first in starts], ignore_index=True) for store in stores))


def _chunk(
    f: Model, x: np.ndarray, reference: np.ndarray, first: int, plan: Plan, orders: int
) -> tuple[pd.DataFrame, ...]:
    """The three tables of the pairs `first`, `first` + 1, …; pairs with too many differing features are left out."""
    x, reference = (to_tensor(points).cpu().numpy() for points in (x, reference))
    small = np.flatnonzero((x != reference).sum(axis=1) <= MAX_FEATURES)
    x, reference, rows = x[small], reference[small], []
    shared = list(lattices(f, x, reference, progress=False)) if len(small) else []
    scores = {method: _attributions(method, f, x, reference, first + small, plan, shared) for method in plan.methods}
    for k, lattice in enumerate(shared):
        own = {method: result[k] for method, result in scores.items()}
        rows.append(_pair(lattice, own, first + int(small[k]), [plan.seed, first + int(small[k])], orders))
    return tuple(pd.DataFrame([line for row in rows for line in row[part]]) for part in range(len(PARTS)))


def _attributions(
    method: str, f: Model, x: np.ndarray, reference: np.ndarray, pairs: np.ndarray, plan: Plan, shared: list[Lattice]
) -> np.ndarray:
    """Attributions of a method for the pairs with these numbers, (pairs, n): from the lattice where they follow."""
    if plan.exact(method) or not shared:
        return np.array([np.asarray(getattr(lattice, EXACT[method])()) for lattice in shared])
    return np.asarray(explain(method, f, x, reference, **plan.method_options(method, pairs)))


Rows = list[dict[str, Any]]


def _pair(lattice: Lattice, scores: dict[str, np.ndarray], pair: int, seed: list[int], orders: int) -> tuple[Rows, ...]:
    """Rows of one pair for the three tables."""
    best = {mode: np.asarray(lattice.best_order(mode)) for mode in LATTICE_MODES}
    rankings = {name: best[mode][::-1] if mode == "deletion" else best[mode] for name, mode in BEST.items()}
    walks = {method: (np.asarray(order(A)), np.asarray(order(A, "deletion"))) for method, A in scores.items()}
    walks |= {name: (ranking, ranking[::-1]) for name, ranking in rankings.items()}
    sampled, n = chance.sample(lattice, orders, seed), lattice.n
    up = np.array([float(lattice.abc(insertion)) for insertion, _ in walks.values()])
    down = np.array([float(lattice.abc(deletion, "deletion")) for _, deletion in walks.values()])
    largest = (n + 1) * float(np.abs(np.asarray(lattice.values)).max())  # area of any walk: rounding is relative to it
    areas = []
    for mode, result in {"insertion": up, "deletion": down, "both": up + down}.items():
        top, (mean, sd) = float(lattice.abc(best[mode], mode)), chance.moments(lattice, mode)
        tails, optimal = chance.tail(sampled[mode], result), result >= top - chance.CLOSE * largest
        for k, method in enumerate(walks):
            areas.append({"pair": pair, "method": method, "mode": mode, "abc_per_feature": result[k] / n,
                          "best": top / n, "expected": mean / n, "sd": sd / n, "tail_probability": tails[k],
                          "optimal": bool(optimal[k])})  # fmt: skip
    places = [np.argsort(rankings[f"best_{mode}"])[list(lattice.players)] for mode in ("insertion", "deletion")]
    agree = float(kendalltau(*places).statistic) if lattice.d > 1 else float("nan")
    ends = dict(zip(("f_x", "f_reference"), np.asarray(lattice.values)[[0, -1]].tolist(), strict=True))
    facts = {"pair": pair, "differing": lattice.d, **ends, **interactions(lattice), "agreement": agree}
    quantiles = [{"pair": pair, "mode": mode, "level": level, "abc_per_feature": value / n}
                 for mode in LATTICE_MODES
                 for level, value in zip(LEVELS, np.quantile(sampled[mode], LEVELS), strict=True)]  # fmt: skip
    return areas, [facts], quantiles


def interactions(lattice: Lattice) -> dict[str, float]:
    """How the features of a pair interact, in a few numbers.

    main, pairwise, odd, even : shares of the variance of f over all hybrids, each as likely as the other, that
        are due to single features, to two, to an odd number from three on, to an even number from four on
    dividends : Σ |Δ_u| over |u| ≥ 2, as a share of that over |u| ≥ 1  [section 3.3]
    turned, turned_both : how far comparisons of two features turn round with their company, from 0 to ½:
        for the values themselves, and for the part of them that ABC + ABC′ sees
    term : what interactions add to ABC − ABC′ of Shapley's ranking  [Theorem 1], as ABC / n
    """
    values, d = float64(to_tensor(lattice.values)).cpu(), lattice.d
    share = np.append(spectrum(values), np.zeros(3))
    size, delta = to_tensor(subset_sizes(d)), to_tensor(lattice.dividends()).cpu().abs()
    single, several = float(delta[size == 1].sum()), float(delta[size > 1].sum())
    whole = single + several
    return {
        "main": share[1], "pairwise": share[2], "odd": share[3::2].sum(), "even": share[4::2].sum(),
        "dividends": several / whole if whole else float("nan"),
        "turned": turned(values), "turned_both": turned(values - values.flip(0)),
        "term": interaction_term(lattice, to_tensor(order(lattice.shapley())).cpu().numpy()) / lattice.n,
    }  # fmt: skip


def spectrum(values: Tensor) -> np.ndarray:
    """Shares of the variance of (2ᵈ,) values by the number of features that act together, (d + 1,); [0] is 0.

    The Walsh transform writes f as a sum of products of ±1, one sign per feature of a set; products of different sets
    are uncorrelated over the hybrids, so the squares of their factors add up to the variance.
    """
    waves, d = values.clone(), (len(values) - 1).bit_length()
    for k in range(d):
        halves = waves.view(-1, 2, 2**k)
        halves[:, 0], halves[:, 1] = halves[:, 0] + halves[:, 1], halves[:, 0] - halves[:, 1]
    power = torch.zeros(d + 1, dtype=torch.float64).index_add_(0, to_tensor(subset_sizes(d)), waves**2)
    power[0] = 0.0
    return (power / power.sum()).numpy()


def turned(values: Tensor) -> float:
    """Share of the comparisons f(S + j) − f(S + k) that go against the Shapley values of j and k.

    Each counts with its size and with the weight that φ_j − φ_k gives to S. 0: all comparisons of two features
    agree, so Shapley's order is the best; ½: they cancel.
    """
    d = (len(values) - 1).bit_length()
    if d < 2:
        return 0.0
    weights = torch.tensor([factorial(s) * factorial(d - 2 - s) / factorial(d - 1) for s in range(d - 1)])
    weight, cube = weights.double()[to_tensor(subset_sizes(d - 2))], values.reshape((2,) * d)
    against = total = 0.0
    for j in range(d):
        for k in range(j):
            gap = (cube.select(j, 1).select(k, 0) - cube.select(j, 0).select(k, 1)).flatten()
            size = float(weight @ gap.abs())
            total, against = total + size, against + (size - abs(float(weight @ gap))) / 2
    return against / total if total else 0.0


def interaction_term(lattice: Lattice, ranking: np.ndarray) -> float:
    """−Σ_{|u| ≥ 2} Δ_u (⌈u⌉ − ⌊u⌋): what Theorem 1 says ABC − ABC′ of a ranking must be  [section 3.3].

    ⌈u⌉ and ⌊u⌋ are the last and the first place of a member of u in the ranking. Single features drop out.
    """
    places = np.argsort(ranking)[list(lattice.players)] + 1.0
    last, first = np.zeros(1), np.full(1, np.inf)
    for place in places:
        last, first = np.append(last, np.maximum(last, place)), np.append(first, np.minimum(first, place))
    return -float((to_tensor(lattice.dividends()).cpu().numpy()[1:] * (last - first)[1:]).sum())


def with_ends(found: Found, ends: pd.DataFrame) -> Found:
    """The same study with the columns row and reference_row in its table of pairs; ends : has them, and pair."""
    pairs = found.pairs.drop(columns=["row", "reference_row"], errors="ignore")
    joined = pairs.merge(ends[["pair", "row", "reference_row"]], how="left", on="pair", validate="one_to_one")
    if joined["row"].isna().any():
        raise ValueError(f"{int(joined['row'].isna().sum())} of {len(pairs)} pairs have no rows among those given.")
    return Found(found.areas, joined, found.orders)


def study_policy(name: str, policy: str, context: RunContext, *, pairs: int, orders: int, **size: Any) -> Recording:
    """Put the methods' orders beside all orders, for the pairs of one experiment and policy."""
    experiment = prepare(name, policy=policy, n_pairs=pairs, **size)
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    options: dict[str, Any] = {"options": experiment.options, "checkpoint": context.folder}
    result = with_ends(study(experiment.model, x, reference, orders=orders, **options), ends_table(experiment.pairs))
    facts = {
        **experiment.facts,
        "parameters": {"name": name, "policy": policy, "methods": METHODS, "levels": LEVELS},
        "pairs": len(result.pairs),
        "skipped": len(x) - len(result.pairs),
        "skipped_are": f"pairs that differ in more than {MAX_FEATURES} features",
        "evaluations": int((2.0 ** result.pairs["differing"]).sum()),
        "evaluations_are": "hybrids in the lattices; gradients and LIME's samples come on top",
    }
    areas, quantiles = (
        table.astype(dict.fromkeys(table.columns[table.dtypes == np.float64], np.float32))  # half the space
        for table in (result.areas, result.orders)
    )
    return Recording({"areas": areas, "pairs": result.pairs, "orders": quantiles}, facts)


SIZE = {"pairs": 400, "orders": 20_000}  # pairs at most; random orders per pair
record("best_order_bangalore", "methods beside all orders, houses", PARTS, **{**HOUSES, **SIZE})(
    partial(study_policy, "bangalore", "counterfactual")
)
for _policy in POLICIES:
    record(
        f"best_order_cern_{_policy}", f"methods beside all orders, genuine events, policy {_policy}", PARTS,
        source="real", **{**EVENTS, **SIZE},
    )(partial(study_policy, "cern", _policy))  # fmt: skip
