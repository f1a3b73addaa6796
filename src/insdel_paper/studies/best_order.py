"""How good can an order be? Every method's ABC beside the best and the mean of all n! orders, pair by pair.

All of it follows from the lattice of a pair, evaluated once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from insdel.arrays import float64, to_numpy, to_tensor
from insdel.comparison import PAPER_METHODS, Chunk, Settings
from insdel.curves import order
from insdel.evaluate import Model, Pairs, progress_off
from insdel.identity import identity
from insdel.lattice import LATTICE_MODES, MAX_FEATURES, Lattice, lattices, subset_sizes
from insdel.stats import PairIds, mean, plus_minus, ratio
from insdel.store import Store
from insdel_paper import results
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies import tables
from insdel_paper.studies.experiments import EVENTS, HOUSES, POLICIES, Experiment, prepare

METHODS = (*PAPER_METHODS, "banzhaf", "occlusion", "greedy")
BEST = {f"best_{mode}": mode for mode in LATTICE_MODES}  # rankings that are best in one mode, scored in all
LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
CHUNK = 32  # pairs per checkpoint
PARTS = ("areas", "pairs", "orders")
# what a chapter calls a run → what its record is called after "best_order_"
RUNS = {place: name for name, place in tables.PLACES.items()}
TITLES = {name: f"best for {'insertion + deletion' if mode == 'both' else mode}" for name, mode in BEST.items()}


@dataclass(frozen=True)
class Found:
    """Tables of a study; areas are ABC / n, as the paper prints them.

    areas : pair, method, mode, abc_per_feature; best, expected, sd over all orders; tail_probability, that a
        random order does at least as well; optimal, whether no order does better
    pairs : pair, differing, f_x, f_reference, and the measures of `interactions`
    orders : pair, mode, level, abc_per_feature: quantiles over random orders
    about : one line for pages: which data, how many pairs, from when
    """

    areas: pd.DataFrame
    pairs: pd.DataFrame
    orders: pd.DataFrame
    about: str = ""

    def with_ends(self, ends: pd.DataFrame) -> Found:
        """The same study with the columns row and reference_row in its table of pairs; ends : has them, and pair."""
        known = ends[["pair", "row", "reference_row"]]
        return replace(self, pairs=self.pairs.merge(known, "left", "pair", validate="one_to_one"))


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

    x, reference : (pairs, n)
    methods : names in `insdel.METHODS`; Kernel SHAP is always among them
    options : per method
    orders : random orders per pair, for tails and quantiles
    checkpoint : folder for finished chunks; a run that was killed continues from there
    """
    settings = Settings({name: name for name in ("kernel_shap", *methods)}, options=options or {}, seed=seed)
    starts, own = range(0, len(x), CHUNK), (__file__, str(chance.__file__))
    known = identity(f, Pairs.of(x, reference), **vars(settings), orders=orders, code=own) if checkpoint else {}
    stores = [Store(checkpoint and checkpoint / part, lambda: known) for part in PARTS]
    for first in tqdm(starts, unit=f" × {CHUNK} pairs", disable=progress_off(progress)):
        if not all(store.has(first) for store in stores):
            tables = _chunk(f, x[first : first + CHUNK], reference[first : first + CHUNK], first, settings, orders)
            for store, table in zip(stores, tables, strict=True):
                store.put(first, table)
    return Found(*(pd.concat([store.get(first) for first in starts], ignore_index=True) for store in stores))


def study_experiment(experiment: Experiment, **given: Any) -> Found:
    """Study an experiment's pairs; given : to `study`."""
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    return study(experiment.model, x, reference, options=experiment.options, **given).with_ends(experiment.ends)


def _chunk(
    f: Model, x: np.ndarray, reference: np.ndarray, first: int, settings: Settings, orders: int
) -> Sequence[pd.DataFrame]:
    """The three tables of the pairs `first`, `first` + 1, …; pairs with too many differing features are left out."""
    x, reference = to_numpy(x), to_numpy(reference)  # a model on a GPU gets them there
    small = np.flatnonzero((x != reference).sum(axis=1) <= MAX_FEATURES)
    if not len(small):
        return [pd.DataFrame()] * len(PARTS)
    x, reference, numbers = x[small], reference[small], first + small
    shared = list(lattices(f, x, reference, progress=False))
    chunk = Chunk(f, Pairs.of(x, reference), numbers, settings)
    found = {method: chunk.orders(method, shared) for method in settings.methods}
    parts = []
    for k, (lattice, pair) in enumerate(zip(shared, map(int, numbers), strict=True)):
        walks = {method: (insertion[k], deletion[k]) for method, (insertion, deletion) in found.items()}
        parts.append(_pair(lattice, walks, pair, [settings.seed, pair], orders))
    return [pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True)]


def _pair(
    lattice: Lattice, walks: dict[str, tuple[np.ndarray, np.ndarray]], pair: int, seed: list[int], orders: int
) -> tuple[pd.DataFrame, ...]:
    """The three tables of one pair; walks : method → (n,) orders of insertion and of deletion."""
    best = {mode: np.asarray(lattice.best_order(mode)) for mode in LATTICE_MODES}
    rankings = {name: best[mode][::-1] if mode == "deletion" else best[mode] for name, mode in BEST.items()}
    walks |= {name: (ranking, ranking[::-1]) for name, ranking in rankings.items()}
    sampled, n, areas, quantiles = chance.sample(lattice, orders, seed), lattice.n, [], []
    up = np.array([float(lattice.abc(insertion)) for insertion, _ in walks.values()])
    down = np.array([float(lattice.abc(deletion, "deletion")) for _, deletion in walks.values()])
    largest = (n + 1) * float(np.abs(np.asarray(lattice.values)).max())  # area of any walk: rounding is relative to it
    for mode, result in {"insertion": up, "deletion": down, "both": up + down}.items():
        top, (expected, sd) = float(lattice.abc(best[mode], mode)), chance.moments(lattice, mode)
        areas.append(pd.DataFrame({
            "pair": pair, "method": list(walks), "mode": mode, "abc_per_feature": result / n, "best": top / n,
            "expected": expected / n, "sd": sd / n, "tail_probability": chance.tail(sampled[mode], result),
            "optimal": result >= top - chance.CLOSE * largest,
        }))  # fmt: skip
        values = np.quantile(sampled[mode], LEVELS) / n
        quantiles.append(pd.DataFrame({"pair": pair, "mode": mode, "level": LEVELS, "abc_per_feature": values}))
    places = [np.argsort(rankings[f"best_{mode}"])[list(lattice.players)] for mode in ("insertion", "deletion")]
    agree = float(kendalltau(*places).statistic) if lattice.d > 1 else float("nan")
    f_x, f_reference = np.asarray(lattice.values)[[0, -1]].tolist()
    facts = {"pair": pair, "differing": lattice.d, "f_x": f_x, "f_reference": f_reference, **interactions(lattice)}
    return pd.concat(areas), pd.DataFrame([{**facts, "agreement": agree}]), pd.concat(quantiles)


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


def live(experiment: Experiment, orders: int, seed: int = 0) -> Found:
    """Study an experiment's pairs now."""
    result = study_experiment(experiment, orders=orders, seed=seed, progress=False)
    line = f"this page's own run: {len(result.pairs):,} pairs, {experiment.source}, R² {experiment.r2:.3f}"
    return replace(result, about=line)


def together(own: Mapping[str, Found], evidence: str) -> dict[str, Found]:
    """The runs to show, in the order of `RUNS`: recorded ones if wanted and there, else the page's own."""
    found = {run: results.shown(f"best_order_{name}", own.get(run), evidence, recorded) for run, name in RUNS.items()}
    return {run: result for run, result in found.items() if result is not None}


def recorded(name: str) -> Found:
    """A record."""
    areas, pairs, orders = (results.load(name, table)[0] for table in PARTS)
    result = Found(areas, pairs, orders, tables.describe_record(results.about(name)))
    whole = tables.recorded_pairs(name.removeprefix("best_order_"))  # the first pairs of that run; it knows their rows
    return result if "row" in result.pairs or whole is None else result.with_ends(whole)


def sources(shown: Mapping[str, Found]) -> str:
    """Where the runs come from, and how to record those that are not, as a Markdown list."""
    lines = [f"- **{run}**: {one.about}" for run, one in shown.items()]
    missing = {run: name for run, name in RUNS.items() if not results.exists(f"best_order_{name}")}
    lines += [f"- {run}: not recorded here; `insdel record best_order_{name}` does it" for run, name in missing.items()]
    return "\n".join(lines)


def title(method: str) -> str:
    """The name of a method or of a best ranking, for tables and figures."""
    return TITLES.get(method) or tables.title(method)


def average(values: pd.Series, pairs: pd.DataFrame, digits: int = 3) -> str:
    """ "mean ± se" of a value per pair; values : indexed by pair."""
    return plus_minus(*mean(values, PairIds.of(pairs, values.index)), digits)


def scientific(value: float) -> str:
    """A very large or very small number as "2.1 × 10¹³"."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}\u00a0×\u00a010" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def shares(areas: pd.DataFrame, pairs: pd.DataFrame | None = None) -> pd.DataFrame:
    """How much of the best possible ABC each method reaches, by (mode, method).

    pairs : who is paired with whom (`Found.pairs`); without it standard errors are naive

    Returns
    -------
    share, share_se : mean ABC in percent of the mean of the best
    regret, regret_se : mean of best − ABC, per feature
    optimal : percent of the pairs in which no order does better
    """
    rows = {}
    for key, part in areas.groupby(["mode", "method"], sort=False):
        ends = PairIds.of(pairs, part["pair"])
        share, share_se = ratio(part["abc_per_feature"], part["best"], ends)
        regret, regret_se = mean(part["best"] - part["abc_per_feature"], ends)
        rows[key] = {"share": 100 * share, "share_se": 100 * share_se, "regret": regret, "regret_se": regret_se,
                     "optimal": 100 * part["optimal"].mean()}  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["mode", "method"])


def standings(areas: pd.DataFrame) -> pd.DataFrame:
    """The same table with two columns more, per pair: z, in standard deviations of all orders, and normalised."""
    z = (areas["abc_per_feature"] - areas["expected"]) / areas["sd"].where(areas["sd"] > 0)
    scale = chance.normalised(*(areas[name].to_numpy() for name in ("abc_per_feature", "expected", "best")))
    return areas.assign(z=z, normalised=scale)


def hard_pairs(found: Found, method: str = "kernel_shap", mode: str = "insertion") -> pd.DataFrame:
    """The pairs table with what a method loses in each: 0 is the best order, 1 no better than chance.

    `interacting` is the share of the variance over hybrids that single features do not explain.
    """
    areas = standings(found.areas).query("method == @method and mode == @mode").set_index("pair")
    pairs = found.pairs.set_index("pair")
    return pairs.assign(lost=1 - areas["normalised"], interacting=1 - pairs["main"])


def differences(found: Found, method: str = "kernel_shap") -> pd.DataFrame:
    """Per pair: ABC − ABC′ of a method; shift, the mean of that over all orders; and what Theorem 1 says for Shapley.

    Columns: difference, shift, term, agreement
    """
    own = found.areas.query("method == @method").pivot_table(["abc_per_feature", "expected"], "pair", "mode")
    gap = own["abc_per_feature", "insertion"] - own["abc_per_feature", "deletion"]
    both = pd.DataFrame({"difference": gap, "shift": 2 * own["expected", "insertion"]})
    return both.join(found.pairs.set_index("pair")[["term", "agreement"]])


def study_policy(name: str, policy: str, context: RunContext, *, pairs: int, orders: int, **size: Any) -> Recording:
    """Put the methods' orders beside all orders, for the pairs of one experiment and policy."""
    experiment = prepare(name, policy=policy, n_pairs=pairs, **size)
    result = study_experiment(experiment, orders=orders, checkpoint=context.folder)
    facts = {
        **experiment.facts,
        "parameters": {"name": name, "policy": policy, "methods": METHODS, "levels": LEVELS},
        "pairs": len(result.pairs),
        "skipped": len(experiment.pairs) - len(result.pairs),
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
