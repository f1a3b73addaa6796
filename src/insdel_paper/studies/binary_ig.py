"""Which binary IG? Casting, interpolating and jumping on the same pairs: values, orders, areas, cost  [section 4]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import rankdata
from torch import Tensor

from insdel.attribution import explain, feature_mask
from insdel.curves import MODES, order
from insdel.errors import UserError
from insdel.evaluate import Model, Pairs, predict
from insdel.identity import identity
from insdel.lattice import lattices, subset_sizes
from insdel.own.devices import read_clock
from insdel.seeds import pair_seeds
from insdel.stats import PairIds, mean, ratio
from insdel.store import Store
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.experiments import HOUSES, prepare

TITLES = {
    "casting": "Casting",
    "interpolating": "Interpolating",
    "jumping": "Jumping",
    "sampled": "Kernel SHAP, sampled",
    "exact": "Kernel SHAP, exact",
}
AREAS = ("mean", "se", "gain", "gain_se", "percent", "percent_se")  # columns
BEND_NODES = (0.1, 0.3, 0.5, 0.7, 0.9)  # where on the line casting and interpolating are compared


@dataclass(frozen=True)
class Plan:
    """How much each method spends.

    steps : gradients on the path of casting and of jumping, as in the paper
    nodes : points on the path of interpolating; each costs 2ᵐ gradients for m differing binary features
    samples : of Kernel SHAP; 1000 is what 500 gradients cost if a gradient counts as two evaluations
    largest : pairs that differ in more features than this are left out: interpolating gets too dear
    seed : of the samples
    """

    steps: int = 500
    nodes: int = 6
    samples: int = 1000
    largest: int = 16
    seed: int = 0

    def methods(self, binary: np.ndarray, pairs: np.ndarray | None = None) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return name → method and options for `explain`.

        binary : an (n,) mask
        pairs : the numbers of the pairs, by which each draws samples of its own (default: 0, 1, …)
        """
        seed = self.seed if pairs is None else pair_seeds(self.seed, pairs)
        return {
            "casting": ("integrated_gradients", {"steps": self.steps}),
            "interpolating": ("ig_interpolated", {"binary": binary, "steps": self.nodes}),
            "jumping": ("ig_jump", {"binary": binary, "steps": self.steps}),
            "sampled": ("kernel_shap", {"samples": self.samples, "seed": seed}),
            "exact": ("kernel_shap", {}),
        }


class Counted(torch.nn.Module):
    """A model that counts the points it is asked about, with a gradient and without."""

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.f, self.gradients, self.predictions = f, 0, 0

    def forward(self, z: Tensor) -> Tensor:
        """Return f(z), (m, n) → (m,)."""
        self.gradients += len(z) * z.requires_grad
        self.predictions += len(z) * (not z.requires_grad)
        return self.f(z)


def study(
    f: Model,
    x: np.ndarray,
    reference: np.ndarray,
    binary: Any,
    plan: Plan | None = None,
    *,
    chunk: int = 8,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Explain every pair by every method, and compare with exact Shapley values  [section 4].

    f : a torch module or function
    x, reference : (pairs, n)
    binary : features that take two values only: indices, or an (n,) mask
    chunk : pairs that are worked on together; also what a checkpoint holds
    checkpoint : folder for finished chunks; a run that was killed continues from there

    Returns a row per pair and method: pair, method, differing, flips (binary features among them), error Σ|A − φ| and
    the part of it that binary features have, size Σ|φ|, rank_correlation and agreeing (over differing features:
    Spearman's, and the share of pairs of features in the same order), same_order, insertion and deletion (ABC / n),
    gradients, predictions and seconds (per pair, a mean over the pairs that are worked on together), and bend (see
    `bend`). Pairs that differ in more than `plan.largest` features have no rows
    """
    plan = plan or Plan()
    mask = feature_mask(binary, x.shape[1])
    remaining = np.flatnonzero((x != reference).sum(axis=1) <= plan.largest)
    if not len(remaining):
        raise UserError(f"no pair differs in {plan.largest} features or fewer. Raise largest, or choose other pairs.")
    known = {"binary": mask, **asdict(plan), "chunk": chunk, "code": [__file__]}
    store = Store(checkpoint, lambda: identity(f, Pairs.of(x, reference), **known))

    def compare(part: slice) -> pd.DataFrame:
        pairs = remaining[part]
        return _chunk(f, x[pairs], reference[pairs], mask, plan, pairs)

    return pd.concat(store.chunks(len(remaining), chunk, compare, progress=progress), ignore_index=True)


def _chunk(
    f: Model, x: np.ndarray, reference: np.ndarray, mask: np.ndarray, plan: Plan, pairs: np.ndarray
) -> pd.DataFrame:
    """Rows of the pairs with these numbers."""
    shared = list(lattices(f, x, reference, progress=False))
    exact = np.stack([np.asarray(lattice.shapley()) for lattice in shared])
    differing, bends, parts = x != reference, bend(f, x, reference, mask), []
    for name, (method, options) in plan.methods(mask, pairs).items():
        counted, start = Counted(f), read_clock()
        found = np.asarray(explain(method, counted, x, reference, **options))
        seconds, error = (read_clock() - start) / len(x), np.abs(found - exact)
        ends = [(a[own], b[own]) for a, b, own in zip(found, exact, differing, strict=True)]
        areas = {}
        for mode in MODES:
            walked = zip(shared, np.asarray(order(found, mode)), strict=True)
            areas[mode] = [float(lattice.abc(row, mode)) / lattice.n for lattice, row in walked]
        parts.append(pd.DataFrame({
            "pair": pairs, "method": name, "differing": differing.sum(axis=1), "flips": (differing & mask).sum(axis=1),
            "error": error.sum(axis=1), "error_binary": error[:, mask].sum(axis=1), "size": np.abs(exact).sum(axis=1),
            "rank_correlation": [rank_correlation(*both) for both in ends],
            "agreeing": [agreeing(*both) for both in ends],
            "same_order": (np.asarray(order(found)) == np.asarray(order(exact))).all(axis=1), **areas,
            "seconds": seconds, "bend": bends,
            "gradients": counted.gradients / len(x), "predictions": counted.predictions / len(x),
        }))  # fmt: skip
    return pd.concat(parts).sort_values("pair", kind="stable", ignore_index=True)


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation of two (d,) attributions; NaN where one of them is constant or d is 1."""
    ranks = rankdata(a), rankdata(b)
    if min(np.ptp(rank) for rank in ranks) == 0:
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])


def agreeing(a: np.ndarray, b: np.ndarray) -> float:
    """Share of the d (d − 1) / 2 pairs of features that both (d,) attributions rank the same way."""
    first, second = np.triu_indices(len(a), 1)
    if not len(first):
        return float("nan")
    return float((np.sign(a[first] - a[second]) == np.sign(b[first] - b[second])).mean())


def line(
    f: Model, x: np.ndarray, reference: np.ndarray, binary: Any, times: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """What casting and interpolating see on the straight line: f itself, and g  [section 4 (a), (b)].

    g(t) is the mean of f over corners in which each differing binary feature is that of x′ with probability t,
    the other features being where the line is at t.

    x, reference : (pairs, n); times : (k,) in [0, 1]; returns f and g, (pairs, k) each
    """
    t = np.asarray(times, dtype=x.dtype)
    mask = feature_mask(binary, x.shape[1])
    moved = x[:, None] + t[:, None] * (reference - x)[:, None]
    corners = [np.where(mask, end[:, None], moved).reshape(-1, x.shape[1]) for end in (x, reference)]
    between = []
    for lattice, at in zip(lattices(f, *corners, progress=False), np.tile(t, len(x)).tolist(), strict=True):
        size = subset_sizes(lattice.d)
        between.append(float((np.asarray(lattice.values) * at**size * (1 - at) ** (lattice.d - size)).sum()))
    cast = np.asarray(predict(f, moved.reshape(-1, x.shape[1])))
    return cast.reshape(len(x), len(t)), np.reshape(between, (len(x), len(t)))


def bend(f: Model, x: np.ndarray, reference: np.ndarray, binary: Any) -> np.ndarray:
    """Mean |f − g| along the line, (pairs,): how far f, asked about impossible points, is from g."""
    cast, between = line(f, x, reference, binary, BEND_NODES)
    return np.asarray(np.abs(cast - between).mean(axis=1))


def values_and_orders(table: pd.DataFrame, pairs: Any = None) -> pd.DataFrame:
    """How near to exact Shapley values the methods come.

    table : from `study`
    pairs : who is paired with whom, as for `insdel.summary`; without it standard errors are naive

    Returns a DataFrame by method: distance and its se (Σ|A − φ| in % of Σ|φ|), binary (the part of the distance that
    the binary features have, %), rank_correlation, agreeing (%), same_order (%)
    """
    rows = {}
    for method, part in table.groupby("method", sort=False):
        distance, se = ratio(part["error"], part["size"], PairIds.of(pairs, part["pair"]))
        means, binary = part[["agreeing", "same_order"]].mean(), part["error_binary"].sum() / part["size"].sum()
        rows[method] = {"distance": 100 * distance, "se": 100 * se, "binary": 100 * binary,
                        "rank_correlation": part["rank_correlation"].mean(), **100 * means}  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index")


def areas(table: pd.DataFrame, beside: str = "casting", pairs: Any = None) -> pd.DataFrame:
    """Mean ABC / n of every method and test, and how much more than that of `beside` it is on the same pairs.

    pairs : who is paired with whom, as for `insdel.summary`; without it standard errors are naive

    Returns a DataFrame by mode and method: mean, se, gain and gain_se (paired), percent and percent_se (of the mean of
    `beside`)
    """
    rows = {}
    for mode, method in product(MODES, table["method"].unique()):
        wide = table.pivot_table(index="pair", columns="method", values=mode)
        ends, gap = PairIds.of(pairs, wide.index), wide[method] - wide[beside]
        share = 100 * np.array(ratio(gap, wide[beside], ends))
        rows[mode, method] = dict(zip(AREAS, (*mean(wide[method], ends), *mean(gap, ends), *share), strict=True))
    return pd.DataFrame.from_dict(rows, orient="index")


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """Mean gradients, predictions and milliseconds per pair, by method; `evaluations` counts a gradient twice."""
    mean = table.groupby("method", sort=False)[["gradients", "predictions", "seconds"]].mean()
    return mean.assign(evaluations=2 * mean["gradients"] + mean["predictions"], ms=1000 * mean.pop("seconds"))


@record("binary_ig", "casting, interpolating and jumping, houses", ("methods",), **HOUSES, **asdict(Plan()))
def compare_on_houses(
    context: RunContext, *, source: str, pairs: int | None, epochs: int | None, **plan: Any
) -> Recording:
    """The study on pairs of houses; plan : fields of `Plan`."""
    experiment = prepare("bangalore", source=source, n_pairs=pairs, epochs=epochs)
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    table = study(experiment.model, x, reference, experiment.binary, Plan(**plan), checkpoint=context.folder / "chunks")
    studied = int(table["pair"].nunique())
    return Recording({"methods": table}, {**experiment.facts, "pairs": studied, "left_out": len(x) - studied})
