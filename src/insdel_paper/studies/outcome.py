"""All that the tables and figures of one experiment need, from a run of now or from a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel import policies
from insdel.comparison import compare
from insdel.evaluate import predict
from insdel.lattice import MAX_FEATURES
from insdel.stats import REFERENCES
from insdel_paper import results
from insdel_paper.studies import charges, pair_curves
from insdel_paper.studies.experiments import Experiment
from insdel_paper.studies.tables import told

SAMPLES = 120_000  # of Kernel SHAP, as many as the paper draws; exact for up to 16 differing features
ALL_HYBRIDS = ("banzhaf", "ig_jump", "ig_interpolated", *REFERENCES)  # these cannot be sampled
NEEDED = ("kernel_shap", "integrated_gradients", "random")  # without these there are no figures


@dataclass(frozen=True)
class Evidence:
    """Tables of one experiment.

    table : from `compare`
    pairs : per pair: pair, row, reference_row, differing, f_x, f_reference
    curves : from `pair_curves.curves`
    charges : from `charges.table`, for CERN; else None
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
    checkpoint: Path | None = None,
    scheduler: Any = None,
    seed: int = 0,
) -> Evidence:
    """Compare the methods on the experiment's pairs, and gather what the figures need.

    Parameters
    ----------
    methods : as for `compare`; those in `NEEDED` are added
    options : of methods, beside those that the experiment itself asks for
    charged : for CERN: look at the charges in that many pairs only
    """
    names, given, remark = affordable(experiment, tuple(dict.fromkeys([*methods, *NEEDED])), options or {})
    merged = {name: {**experiment.options.get(name, {}), **given.get(name, {})} for name in names}
    settings: dict[str, Any] = {"options": {name: choice for name, choice in merged.items() if choice}, "seed": seed}
    x, reference = experiment.pairs.x, experiment.pairs.reference
    storage = {"checkpoint": checkpoint, "scheduler": scheduler}
    table = compare(experiment.model, x, reference, names, score=False, **storage, **settings).table
    return gather(experiment, table, given.get("kernel_shap"), charged=charged, remark=remark, seed=seed)


def gather(
    experiment: Experiment,
    table: pd.DataFrame,
    kernel: Mapping[str, Any] | None = None,
    *,
    charged: int | None = None,
    remark: str = "",
    seed: int = 0,
) -> Evidence:
    """What the figures need beside the table of `compare`: facts about pairs, curves of a few, for CERN the charges.

    kernel : options that Kernel SHAP had; exact by default
    """
    looked = charges.table(experiment, charged) if experiment.dataset.name == "cern" else None
    drawn = pair_curves.curves(experiment, table, seed, kernel)
    pairs = f"{len(experiment.pairs):,} pairs"
    about = f"this page's own run: {pairs}, {experiment.source}, R² {experiment.r2:.3f}{remark}"
    return Evidence(table, pairs_table(experiment), drawn, looked, about)


def affordable(
    experiment: Experiment, methods: tuple[str, ...], options: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[str, ...], dict[str, Mapping[str, Any]], str]:
    """Methods and options that the pairs allow, and a remark where that is less than was asked for.

    Where a pair differs in more features than a lattice can have, Kernel SHAP is sampled as in the paper,
    and what needs all hybrids (the best order, the mean over all orders, …) is left out.
    """
    most = int(experiment.pairs.differing.max())
    options = {**_own_options(experiment, methods), **options}
    options = {name: given for name, given in options.items() if name in methods}  # nobody has to name them all
    if most <= MAX_FEATURES:
        return methods, dict(options), ""
    remaining = tuple(name for name in methods if name not in ALL_HYBRIDS)
    sampled = {**options, "kernel_shap": {"samples": SAMPLES, **options.get("kernel_shap", {})}}
    gone = ", ".join(name for name in methods if name in ALL_HYBRIDS)
    remark = f"; a pair differs in {most} features: Kernel SHAP from {SAMPLES:,} samples"
    remark += f", no {gone}" if gone else ""
    return remaining, {name: given for name, given in sampled.items() if name in remaining}, remark


def _own_options(experiment: Experiment, methods: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
    """What methods cannot do without: rows to draw like, and which features take two values."""
    options: dict[str, Mapping[str, Any]] = {}
    for name in methods:
        if name == "lime_tabular":
            options[name] = {"background": experiment.split.x_train}
        if name in ("ig_jump", "ig_interpolated"):
            options[name] = {"binary": [experiment.split.names.index(one) for one in experiment.split.binary]}
    return options


def recorded(name: str) -> Evidence | None:
    """The record of that name; None if there is none."""
    if not results.exists(name):
        return None
    table, about = results.load(name)
    pairs, curves = (results.load(name, part)[0] for part in ("pairs", "curves"))
    looked = results.load(name, "charges")[0] if results.exists(name, "charges") else None
    return Evidence(table, pairs, curves, looked, told(about))


def pairs_table(experiment: Experiment) -> pd.DataFrame:
    """Per pair: rows among the inspected points, number of differing features, and both predictions.

    `reference_row` is −1 where the reference is no row (the average policy).
    """
    pairs = experiment.pairs
    ends = [np.asarray(predict(experiment.model, points)) for points in (pairs.x, pairs.reference)]
    return ends_table(pairs).assign(differing=pairs.differing, f_x=ends[0], f_reference=ends[1])


def ends_table(pairs: policies.Pairs) -> pd.DataFrame:
    """Per pair: pair, row, reference_row; the last is −1 where the reference is no row (the average policy)."""
    partner = np.full(len(pairs), -1) if pairs.reference_index is None else pairs.reference_index
    return pd.DataFrame({"pair": np.arange(len(pairs)), "row": pairs.index, "reference_row": partner})
