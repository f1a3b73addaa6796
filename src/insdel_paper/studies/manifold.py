"""How far off the data are the hybrids? Their distance along a walk, and what the walk earns there  [section 5.2]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

from insdel import policies
from insdel.attribution import explain
from insdel.comparison import Chunk, Settings
from insdel.curves import MODES, abc, curve, order
from insdel.evaluate import Pairs
from insdel.identity import identity
from insdel.lattice import lattices
from insdel.stats import PairIds, mean, ratio
from insdel.store import Store
from insdel_paper.data.cern import NAMES
from insdel_paper.data.physics import invariant_mass, mass_of_momenta, momenta
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.experiments import EVENTS, HOUSES, POLICIES, Experiment, prepare

METHODS = ("kernel_shap", "integrated_gradients", "random", "best")
LEVEL = 0.99  # share of rows held out that count as on the manifold
SMALL = {"value": np.float32, "step": np.int8, "feature": np.int8}


def nearest(points: np.ndarray, rows: np.ndarray, place: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Number of the row nearest to each point, and its Euclidean distance; (m, n), (rows, n) → (m,) each.

    place : 1 for the row that is second nearest: of a row itself, its nearest neighbour
    """
    search = NearestNeighbors(n_neighbors=place + 1, algorithm="brute").fit(rows)
    row = search.kneighbors(points, return_distance=False)[:, place]
    # who is nearest follows from a matrix product, which rounds; how near is computed without it
    return row, np.linalg.norm(np.asarray(points, dtype=float) - rows[row], axis=1)


def momentum_gap(features: np.ndarray) -> np.ndarray:
    """GeV between the two four-momenta that an event states; 0 for every event that exists.

    One stands in E, px, py, pz, the other follows from pt, η, φ; the electron with the larger gap counts.

    features : (m, 16) in the units of the file, in the order of `NAMES`; → (m,)
    """
    columns = dict(zip(NAMES, np.asarray(features, dtype=float).T, strict=True))
    gaps = []
    for i in (1, 2):
        meant = momenta(*(columns[f"{name}{i}"] for name in ("pt", "eta", "phi")))
        aside = [columns[f"{name}{i}"] - meant[name] for name in ("E", "px", "py", "pz")]
        gaps.append(np.linalg.norm(aside, axis=0))
    return np.maximum(*gaps)


def amenities_apart(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """In how many 0/1 features a point differs from the row that is most like it; (m, k), (rows, k) → (m,)."""
    a, b = (np.asarray(part, dtype=np.float32) for part in (points, np.unique(rows, axis=0)))
    return np.asarray((a @ (1 - b).T + (1 - a) @ b.T).min(axis=1))


@dataclass(frozen=True)
class Ruler:
    """How far from the data a point is.

    rows : (rows, n) that the network was fitted to, each once
    violation : (m, n) → (m,), what is impossible about a point: GeV (`momentum_gap`) or `amenities_apart`
    """

    rows: np.ndarray
    violation: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, experiment: Experiment) -> Ruler:
        """Make the ruler of an experiment."""
        split = experiment.split
        rows = np.unique(split.x_train, axis=0)
        if experiment.dataset.name == "cern":
            return cls(rows, lambda points: momentum_gap(points * split.scale + split.mean))
        binary = experiment.binary
        return cls(rows, lambda points: amenities_apart(points[:, binary], rows[:, binary]))

    def measure(self, points: np.ndarray) -> pd.DataFrame:
        """Measure (m, n) points.

        Returns a DataFrame, m rows: distance to the nearest row of the data; relative, the same in units of that row's
        own distance to its nearest neighbour; violation
        """
        different, place = np.unique(points, axis=0, return_inverse=True)
        row, distance = nearest(different, self.rows)
        known, again = np.unique(row, return_inverse=True)
        spacing = nearest(self.rows[known], self.rows, 1)[1]
        columns = {"distance": distance, "relative": distance / spacing[again], "violation": self.violation(different)}
        return pd.DataFrame(columns).iloc[place.ravel()].reset_index(drop=True).astype(np.float32)


def limit(real: pd.DataFrame, column: str = "relative", level: float = LEVEL) -> float:
    """What a share `level` of rows held out does not exceed: beyond it a point is off.

    real : of rows that the network was not fitted to, from `Ruler.measure`
    """
    return float(real[column].quantile(level))


def hybrids(x: np.ndarray, reference: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """All points of the walks; (pairs, n) each → (pairs, n + 1, n), from x to x′  [section 3.1]."""
    place = np.argsort(orders, axis=1)[:, None]
    return np.where(place < np.arange(x.shape[1] + 1)[:, None], reference[:, None], x[:, None])


def walks(
    experiment: Experiment,
    ruler: Ruler,
    methods: Sequence[str] = METHODS,
    *,
    seed: int = 0,
    chunk: int = 8,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Walk from x to x′ in the order of every method, and measure every point on the way.

    methods : names in `insdel.METHODS`, and "best": the best of all orders
    seed : of random orders
    chunk : pairs that are worked on together; also what a checkpoint holds
    checkpoint : folder for finished chunks; a run that was killed continues from there

    Returns a row per pair, method, mode and step (0, …, n): feature (changed at this step, −1 at step 0), value f, and
    the columns of `Ruler.measure`
    """
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    store = _store(experiment, checkpoint, methods=methods, seed=seed, chunk=chunk)
    options = {name: given for name, given in experiment.options.items() if name in methods}
    settings = Settings({name: name for name in methods}, options=options, seed=seed)

    def walk(part: slice) -> pd.DataFrame:
        shared = list(lattices(experiment.model, x[part], reference[part], progress=False))
        pairs, numbers = Pairs.of(x[part], reference[part]), np.arange(part.start, part.stop)
        chosen = Chunk(experiment.model, pairs, numbers, settings)
        pair, step = (axis.ravel() for axis in np.indices((len(shared), x.shape[1] + 1)))
        tables = []
        for method in methods:
            for mode, orders in zip(MODES, chosen.orders(method, shared), strict=True):
                curves = [np.asarray(lattice.curve(row)) for lattice, row in zip(shared, orders, strict=True)]
                feature = np.pad(orders, ((0, 0), (1, 0)), constant_values=-1).ravel()
                columns = {"pair": pair + part.start, "step": step, "feature": feature, "value": np.concatenate(curves)}
                points = hybrids(x[part], reference[part], orders).reshape(-1, x.shape[1])
                tables.append(pd.DataFrame(columns).join(ruler.measure(points)).assign(method=method, mode=mode))
        return pd.concat(tables, ignore_index=True).astype(SMALL)

    return pd.concat(store.chunks(len(x), chunk, walk, progress=progress), ignore_index=True)


def _store(experiment: Experiment, folder: str | Path | None, **facts: Any) -> Store:
    """Finished parts of a table that the experiment's pairs and these facts decide."""
    pairs, known = experiment.pairs, {"rows": experiment.split.x_train, "options": experiment.options, **facts}
    ends = Pairs.of(pairs.x, pairs.reference)
    return Store(folder, lambda: identity(experiment.model, ends, **known, code=[__file__]))


def with_masses(steps: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The walks of events with the two masses that the features of every point state, in GeV.

    steps : from `walks` of this experiment

    Returns the same rows with the columns "M from E and p" and "M from pt, η, φ"
    """
    n = experiment.x_test.shape[1]
    pair, orders = (steps[name].to_numpy().reshape(-1, n + 1) for name in ("pair", "feature"))
    x, reference = (np.asarray(part)[pair[:, 0]] for part in (experiment.pairs.x, experiment.pairs.reference))
    points = hybrids(x, reference, orders[:, 1:]).reshape(-1, n) * experiment.split.scale + experiment.split.mean
    track = dict(zip(NAMES, points.T, strict=True))
    return steps.assign(**{"M from E and p": mass_of_momenta(track), "M from pt, η, φ": invariant_mass(track)})


def judged(steps: pd.DataFrame, real: pd.DataFrame, column: str = "relative", level: float = LEVEL) -> pd.DataFrame:
    """The points between the ends, each with what it adds to its walk's ABC / n, and whether it is off.

    steps : from `walks`; with a column policy where there are several
    real, column, level : as for `limit`: a point beyond it is off

    Returns the same rows less both ends (which add nothing), with the columns excess (they add up to ABC / n) and off
    """
    n = int(steps["step"].max())
    walk = steps.groupby([*_keys(steps), "pair"], sort=False, observed=True)["value"]
    start, end = walk.transform("first").astype(float), walk.transform("last").astype(float)
    share = steps["step"] / n
    line = (1 - share) * start + share * end
    sign = np.where(steps["mode"] == "insertion", 1.0, -1.0)
    added = steps.assign(excess=sign * (steps["value"] - line) / n, off=steps[column] > limit(real, column, level))
    return added[(steps["step"] > 0) & (steps["step"] < n)]


def _keys(steps: pd.DataFrame) -> list[str]:
    return [*(["policy"] if "policy" in steps else []), "method", "mode"]


def _ends(pairs: pd.DataFrame | None, policy: Any, numbers: Any) -> PairIds:
    """The ends of some pairs of one policy, from a table that may have a column policy."""
    if pairs is not None and "policy" in pairs:
        pairs = pairs[pairs["policy"] == policy]
    return PairIds.of(pairs, numbers)


def off_manifold_share(inner: pd.DataFrame, pairs: pd.DataFrame | None = None) -> pd.DataFrame:
    """How much of each method's walks, and of its ABC, is off the manifold.

    inner : from `judged`
    pairs : who is paired with whom: pair, row, reference_row, and policy where there are several; without it
        standard errors are naive

    Returns a DataFrame by (policy,) method and mode: off and off_se (share of the points), abc and abc_se (ABC / n),
    abc_off (the part of it that points off the manifold add), share and share_se (abc_off / abc), even (what the share
    would be if all points of a walk added the same), far (share of the walks that are off somewhere), relative and
    violation (medians)
    """
    rows = {}
    for key, part in inner.groupby(_keys(inner), sort=False, observed=True):
        walked, outside = part.groupby("pair"), part["excess"].where(part["off"], 0.0).groupby(part["pair"]).sum()
        off, area = walked["off"].mean(), walked["excess"].sum()
        ends = _ends(pairs, key[0], off.index)
        (points, points_se), (abc_mean, abc_se) = mean(off, ends), mean(area, ends)
        share, share_se = ratio(outside, area, ends)
        rows[key] = {
            "off": points, "off_se": points_se, "abc": abc_mean, "abc_se": abc_se,
            "abc_off": outside.mean(), "share": share, "share_se": share_se,
            "even": (off * area).sum() / area.sum(), "far": (off > 0).mean(),
            "relative": part["relative"].median(), "violation": part["violation"].median(),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(_keys(inner))


def ranking(inner: pd.DataFrame, a: str, b: str, pairs: pd.DataFrame | None = None) -> pd.DataFrame:
    """Mean difference a − b in ABC / n, with all points, and with those on the manifold alone.

    inner : from `judged`
    pairs : as for `off_manifold_share`

    Returns a DataFrame by (policy and) mode: all, all_se, on, on_se
    """
    rows = {}
    for key, part in inner.groupby([name for name in _keys(inner) if name != "method"], sort=False, observed=True):
        result: dict[str, float] = {}
        for name, counted in (("all", part["excess"]), ("on", part["excess"].where(~part["off"], 0.0))):
            areas = counted.groupby([part["method"].astype(str), part["pair"]]).sum()
            gap = areas[a] - areas[b]
            value, se = mean(gap, _ends(pairs, key[0], gap.index))
            result |= {name: value, f"{name}_se": se}
        rows[key] = result
    return pd.DataFrame.from_dict(rows, orient="index")


def profile(steps: pd.DataFrame, column: str = "relative") -> pd.DataFrame:
    """Quartiles over pairs of a column at every step; DataFrame: (policy,) method, mode, step, low, median, high."""
    groups = steps.groupby([*_keys(steps), "step"], sort=False, observed=True)[column]
    quartiles = {"low": 0.25, "median": 0.5, "high": 0.75}
    return pd.DataFrame({name: groups.quantile(q) for name, q in quartiles.items()}).reset_index()


def tail(
    experiment: Experiment,
    ruler: Ruler,
    *,
    pairings: int = 10,
    samples: int = 512,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Pair the inspected points at random, again and again: how extreme does an ABC get?

    pairings : how often all points are paired; pairing 0 is that of the one-to-one policy
    samples : of Kernel SHAP

    Returns a row per pairing and pair (one direction: Kernel SHAP gives both the same areas): pairing, row,
    reference_row, f_x, f_reference, insertion, deletion (ABC / n), and the largest values on the insertion walk: peak
    (of f), distance, relative, violation
    """

    def pairing(part: slice) -> pd.DataFrame:
        f, number = experiment.model, part.start
        drawn = policies.one_to_one(experiment.x_test, number)
        assert drawn.reference_index is not None  # one-to-one references are rows
        once = drawn.index < drawn.reference_index
        x, reference = np.asarray(drawn.x)[once], np.asarray(drawn.reference)[once]
        result = explain("kernel_shap", f, x, reference, samples=samples, seed=number)
        orders = {mode: np.asarray(order(result, mode)) for mode in MODES}
        curves = {mode: np.asarray(curve(f, x, reference, orders[mode])) for mode in MODES}
        points = hybrids(x, reference, orders["insertion"])
        measured = ruler.measure(points.reshape(-1, x.shape[1]))
        farthest = measured.groupby(np.repeat(np.arange(len(x)), points.shape[1])).max()
        return pd.DataFrame({
            "pairing": number, "row": drawn.index[once], "reference_row": drawn.reference_index[once],
            "f_x": curves["insertion"][:, 0], "f_reference": curves["insertion"][:, -1],
            **{mode: np.asarray(abc(walk, mode, per_feature=True)) for mode, walk in curves.items()},
            "peak": curves["insertion"].max(axis=1),
        }).join(farthest)  # fmt: skip

    store = _store(experiment, checkpoint, tail=samples)
    return pd.concat(store.chunks(pairings, 1, pairing, unit=" pairings", progress=progress), ignore_index=True)


def chosen_pairs(experiment: Experiment, rows: Sequence[int], references: Sequence[int]) -> Experiment:
    """The same experiment with other pairs: inspected points by number."""
    index, partner = np.asarray(rows), np.asarray(references)
    x, reference = experiment.x_test[index], experiment.x_test[partner]
    pairs = policies.PolicyPairs(x, reference, index, partner, (x != reference).sum(axis=1), {})
    return replace(experiment, pairs=pairs, policy="one_to_one")


def extremes(found: pd.DataFrame) -> pd.DataFrame:
    """Rows of `tail` with the largest insertion ABC: of pairing 0, the paper's setting, and of all pairings."""
    first = found[found["pairing"] == 0]
    best = found.loc[[first["insertion"].idxmax(), found["insertion"].idxmax()]]
    return best.assign(what=["of one pairing", "of all pairings"]).reset_index(drop=True)


def measure_walks(
    name: str, policies: Sequence[str], context: RunContext, *, pairs: int | None, **size: Any
) -> Recording:
    """Walks between the points of an experiment, under one policy or several."""
    prepared = {policy: prepare(name, policy=policy, n_pairs=pairs, **size) for policy in policies}
    last = prepared[policies[-1]]
    ruler = Ruler.of(last)
    parts = [walks(one, ruler, checkpoint=context.folder / policy).assign(policy=policy)
             for policy, one in prepared.items()]  # fmt: skip
    steps = pd.concat(parts, ignore_index=True)
    steps = steps if len(policies) > 1 else steps.drop(columns="policy")
    return _recording({"walks": steps, "real": ruler.measure(last.x_test)}, last)


record("manifold_bangalore", "how far hybrids are from the data, houses", ("walks", "real"), **HOUSES)(
    partial(measure_walks, "bangalore", ("counterfactual",))
)
record(
    "manifold_cern", "how far hybrids are from the data, genuine events", ("walks", "real"),
    source="real", **{**EVENTS, "pairs": 100},
)(partial(measure_walks, "cern", POLICIES))  # fmt: skip


@record(
    "manifold_extreme", "the pair with the most extreme ABC, genuine events", ("pairings", "walks"),
    source="real", rows=EVENTS["rows"], epochs=None, pairings=10,
)  # fmt: skip
def measure_extremes(context: RunContext, *, pairings: int, **size: Any) -> Recording:
    """The largest of all areas, over many pairings, and its walks."""
    experiment = prepare("cern", policy="one_to_one", **size)
    ruler = Ruler.of(experiment)
    result = tail(experiment, ruler, pairings=pairings, checkpoint=context.folder / "pairings")
    few = extremes(result)
    extreme = chosen_pairs(experiment, few["row"].tolist(), few["reference_row"].tolist())
    steps = with_masses(walks(extreme, ruler, checkpoint=context.folder / "walks"), extreme)
    steps = steps.assign(what=few["what"].to_numpy()[steps["pair"]])
    return _recording({"pairings": result, "walks": steps}, experiment, pairs=len(result))


def _recording(tables: dict[str, pd.DataFrame], experiment: Experiment, **facts: Any) -> Recording:
    """The tables, walks in less space: words as categories, pairs as small numbers."""
    steps = tables["walks"]
    words = {name: "category" for name in ("policy", "method", "mode", "what") if name in steps}
    small = {**tables, "walks": steps.astype({**words, "pair": np.int16})}
    return Recording(small, {**experiment.facts, "parameters": {"methods": METHODS}, **facts})
