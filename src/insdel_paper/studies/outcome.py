"""All that the tables and figures of one experiment need, from a run of now or from a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from insdel.attribution import explain
from insdel.comparison import compare
from insdel.curves import MODES, abc, curve, order
from insdel.evaluate import predict
from insdel.lattice import MAX_FEATURES
from insdel.stats import REFERENCES
from insdel_paper import results
from insdel_paper.data.cern import CHARGES
from insdel_paper.studies.experiments import Experiment
from insdel_paper.studies.tables import CORRELATED, describe_record, wide

SAMPLES = 120_000  # of Kernel SHAP, as many as the paper draws; exact for up to 16 differing features
ALL_HYBRIDS = ("banzhaf", "ig_jump", "ig_interpolated", *REFERENCES)  # these cannot be sampled
NEEDED = ("kernel_shap", "integrated_gradients", "random")  # without these there are no figures
CHARGED = ("kernel_shap", "integrated_gradients", "deeplift")  # the methods that are asked about the charges
RANDOM_ORDERS = 20  # curves to draw, as many as in the paper


@dataclass(frozen=True)
class Outcome:
    """Tables of one experiment.

    table : from `compare`
    pairs : per pair: pair, row, reference_row, differing, f_x, f_reference
    curves : from `pair_curves`
    charges : from `charges`, for CERN; else None
    about : one line: which data, how many pairs, from when
    """

    table: pd.DataFrame
    pairs: pd.DataFrame
    curves: pd.DataFrame
    charges: pd.DataFrame | None
    about: str

    @property
    def rises(self) -> np.ndarray:
        """(pairs,): whether f(x′) > f(x)."""
        return (self.pairs["f_reference"] > self.pairs["f_x"]).to_numpy()


def live(
    experiment: Experiment,
    methods: Sequence[str],
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    charged: int | None = None,
    seed: int = 0,
    **storage: Any,
) -> Outcome:
    """Compare the methods on the experiment's pairs, and gather what the figures need.

    methods : as for `compare`; those in `NEEDED` are added
    options : of methods, beside those that the experiment itself asks for
    charged : for CERN: look at the charges in that many pairs only
    storage : checkpoint and scheduler, as for `compare`
    """
    names, given, remark = affordable(experiment, tuple(dict.fromkeys([*methods, *NEEDED])), options or {})
    merged = {name: {**experiment.options.get(name, {}), **given.get(name, {})} for name in names}
    chosen = {name: choice for name, choice in merged.items() if choice}
    x, reference = experiment.pairs.x, experiment.pairs.reference
    result = compare(experiment.model, x, reference, names, score=False, options=chosen, seed=seed, **storage)
    return gather(experiment, result.table, given.get("kernel_shap"), charged=charged, remark=remark, seed=seed)


def gather(
    experiment: Experiment,
    table: pd.DataFrame,
    kernel: Mapping[str, Any] | None = None,
    *,
    charged: int | None = None,
    remark: str = "",
    seed: int = 0,
) -> Outcome:
    """What the figures need beside the table of `compare`: facts about pairs, curves of a few, for CERN the charges.

    kernel : options that Kernel SHAP had; exact by default
    """
    pairs = experiment.pairs
    f_x, f_reference = (np.asarray(predict(experiment.model, points)) for points in (pairs.x, pairs.reference))
    facts = experiment.ends.assign(differing=pairs.differing, f_x=f_x, f_reference=f_reference)
    looked = charges(experiment, charged) if experiment.dataset.name == "cern" else None
    drawn = pair_curves(experiment, table, seed, kernel)
    about = f"this page's own run: {len(pairs):,} pairs, {experiment.source}, R² {experiment.r2:.3f}{remark}"
    return Outcome(table, facts, drawn, looked, about)


def affordable(
    experiment: Experiment, methods: tuple[str, ...], options: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[str, ...], dict[str, Mapping[str, Any]], str]:
    """Methods and options that the pairs allow, and a remark where that is less than was asked for.

    Where a pair differs in more features than a lattice can have, Kernel SHAP is sampled as in the paper,
    and what needs all hybrids (the best order, the mean over all orders, …) is left out.
    """
    most, remark = int(experiment.pairs.differing.max()), ""
    binary = {name: {"binary": experiment.binary} for name in ("ig_jump", "ig_interpolated")}
    options = {"lime_tabular": {"background": experiment.split.x_train}, **binary, **options}
    if most > MAX_FEATURES:
        gone = ", ".join(name for name in methods if name in ALL_HYBRIDS)
        methods = tuple(name for name in methods if name not in ALL_HYBRIDS)
        options["kernel_shap"] = {"samples": SAMPLES, **options.get("kernel_shap", {})}
        remark = f"; a pair differs in {most} features: Kernel SHAP from {SAMPLES:,} samples"
        remark += f", no {gone}" if gone else ""
    return methods, {name: given for name, given in options.items() if name in methods}, remark


def recorded(name: str) -> Outcome | None:
    """The record of that name; None if there is none."""
    if not results.exists(name):
        return None
    table, pairs, curves = (results.load(name, part)[0] for part in ("areas", "pairs", "curves"))
    looked = results.load(name, "charges")[0] if results.exists(name, "charges") else None
    return Outcome(table, pairs, curves, looked, describe_record(results.about(name)))


def drawn_pairs(table: pd.DataFrame, seed: int = 0) -> dict[str, int]:
    """Which few pairs are worth a picture.

    table : from `compare`, with Kernel SHAP and IG in both modes

    Returns {"example": drawn at random, "insertion" and "deletion": where Kernel SHAP and IG differ most in that test,
    "asymmetric": where Kernel SHAP's insertion and deletion ABC differ most}
    """
    areas = wide(table[table["method"].isin(CORRELATED)].astype({"method": str, "mode": str}), "abc")
    shap, gradients = (areas[method] for method in CORRELATED)
    drawn = {"example": int(np.random.default_rng(seed).choice(areas.index.to_numpy()))}
    drawn |= {mode: int((shap[mode] - gradients[mode]).abs().idxmax()) for mode in MODES}
    return {**drawn, "asymmetric": int((shap["insertion"] - shap["deletion"]).abs().idxmax())}


def pair_curves(
    experiment: Experiment, table: pd.DataFrame, seed: int = 0, kernel: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Curves of the pairs that `drawn_pairs` names, for Kernel SHAP, IG and 20 random orders.

    kernel : options of Kernel SHAP; exact by default

    Returns a DataFrame: what, pair, method, mode ("both" for random orders), line (0, 1, … for random orders), step,
    value
    """
    options, parts = {"kernel_shap": kernel or {}}, []
    for what, pair in drawn_pairs(table, seed).items():
        x, reference = experiment.pairs.x[pair], experiment.pairs.reference[pair]
        orders: dict[tuple[str, str], np.ndarray] = {}
        for method in CORRELATED:
            ranking = np.asarray(explain(method, experiment.model, x, reference, **options.get(method, {})))
            orders |= {(method, mode): np.asarray(order(ranking, mode))[None] for mode in MODES}
        same = np.tile(np.arange(len(x)), (RANDOM_ORDERS, 1))
        orders["random", "both"] = np.random.default_rng([seed, pair]).permuted(same, axis=1)
        for (method, mode), some in orders.items():
            walks = np.asarray(curve(experiment.model, np.tile(x, (len(some), 1)), reference, some))
            line, step = (axis.ravel() for axis in np.indices(walks.shape))
            columns = {"what": what, "pair": pair, "method": method, "mode": mode, "line": line, "step": step}
            parts.append(pd.DataFrame({**columns, "value": walks.ravel()}))
    return pd.concat(parts, ignore_index=True)


def charges(experiment: Experiment, pairs: int | None = None) -> pd.DataFrame:
    """Does the network look at the charges? The invariant mass does not  [section 5.2].

    pairs : look at the first pairs only

    Returns a DataFrame: pair, method, quantity, feature, value. Quantities: "attribution", A_j of each feature;
    "insertion" and "deletion" (feature "Q1 and Q2"): ABC / n of the method's order, minus that of the order in which
    both charges count as irrelevant (A = 0). Method "model" holds "flip": the change of f(x) when the charges of x
    alone are replaced by those of x′
    """
    x, reference, names = experiment.pairs.x[:pairs], experiment.pairs.reference[:pairs], list(experiment.split.names)
    f, charged, both = experiment.model, [names.index(name) for name in CHARGES], " and ".join(CHARGES)
    flipped = np.array(x)
    flipped[:, charged] = reference[:, charged]
    flips = np.asarray(predict(f, flipped), np.float64) - np.asarray(predict(f, x))

    def areas(attributions: np.ndarray, mode: str) -> np.ndarray:
        walk = np.asarray(curve(f, x, reference, np.asarray(order(attributions, mode))))
        return np.asarray(abc(walk, mode, per_feature=True))

    pair = np.arange(len(x))
    flip = {"pair": pair, "method": "model", "quantity": "flip", "feature": both, "value": flips}
    parts: list[dict[str, Any]] = [flip]
    for method in CHARGED:
        attributions = np.asarray(explain(method, f, x, reference))
        parts.append({"pair": np.repeat(pair, len(names)), "method": method, "quantity": "attribution",
                      "feature": names * len(x), "value": attributions.ravel()})  # fmt: skip
        blind = attributions.copy()
        blind[:, charged] = 0
        for mode in MODES:
            gain = areas(attributions, mode) - areas(blind, mode)
            parts.append({"pair": pair, "method": method, "quantity": mode, "feature": both, "value": gain})
    return pd.concat(map(pd.DataFrame, parts), ignore_index=True)
