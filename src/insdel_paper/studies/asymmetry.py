"""Why does insertion score higher than deletion? The same pairs, with one thing changed at a time  [section 5.2].

The paper's reason is that masses are positive and skewed. If that is it, the gap should go when predictions are
clipped where masses end, or when the network learns a target without floor and skewness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata
from torch import nn

from insdel import policies, stats
from insdel.attribution import explain
from insdel.curves import MODES, abc, curve, order
from insdel.evaluate import Model
from insdel_paper.data import Split
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.experiments import POLICIES, fitted, prepare

LOWEST, HIGHEST = 2.0, 110.0  # GeV: only such masses were recorded


def normal_scores(y: np.ndarray) -> np.ndarray:
    """A symmetric target with the same order: the normal quantile of each value's rank, (m,)."""
    return np.asarray(ndtri(rankdata(y) / (len(y) + 1)), dtype=np.float32)


def variants(split: Split, model: nn.Module, seed: int = 0, **recipe: Any) -> dict[str, Model]:
    """The model as it is, with a floor, with floor and ceiling, and networks for two other targets of the same rows."""
    others = {"log M": np.log(split.y_train), "normal scores of M": normal_scores(split.y_train)}
    splits = {name: replace(split, y_train=target.astype(np.float32)) for name, target in others.items()}
    return {
        "as it is": model,
        "clipped at 0": nn.Sequential(model, nn.Hardtanh(0.0, math.inf)),
        f"clipped to [{LOWEST:.0f}, {HIGHEST:.0f}] GeV": nn.Sequential(model, nn.Hardtanh(LOWEST, HIGHEST)),
        **{f"network for {name}": fitted("cern", part, seed, **recipe) for name, part in splits.items()},
    }


def asymmetry(
    models: Mapping[str, Model], pairs: Mapping[str, policies.PolicyPairs], samples: int = 1024
) -> pd.DataFrame:
    """Insertion, deletion and their ratio, for every variant of the model on the same pairs.

    models : of `variants`
    pairs : policy → its pairs

    Returns a DataFrame by policy and model: insertion, deletion, their standard errors by points, ratio deletion /
    insertion and its standard error. Units are those of the model
    """
    rows = []
    for (policy, ours), (name, f) in product(pairs.items(), models.items()):
        attributions = explain("kernel_shap", f, ours.x, ours.reference, samples=samples, seed=0)
        ends, areas = stats.PairIds.of(ours), {}
        row: dict[str, Any] = {"policy": policy, "model": name}
        for mode in MODES:
            walk = curve(f, ours.x, ours.reference, order(attributions, mode))
            areas[mode] = np.asarray(abc(walk, mode, per_feature=True))
            row[mode], row[f"{mode} se"] = stats.mean(areas[mode], ends)
        row["ratio"], row["ratio se"] = stats.ratio(areas["deletion"], areas["insertion"], ends)
        rows.append(row)
    return pd.DataFrame(rows).set_index(["policy", "model"])


@record(
    "asymmetry", "insertion and deletion with clipped predictions and other targets, genuine events", ("ratios",),
    source="real", rows=None, epochs=None, pairs=400, samples=512,
)  # fmt: skip
def measure_asymmetry(context: RunContext, *, pairs: int, samples: int, **size: Any) -> Recording:
    """The pairs of all policies, with one thing changed at a time."""
    prepared = {policy: prepare("cern", policy=policy, n_pairs=pairs, **size) for policy in POLICIES}
    first = prepared["counterfactual"]
    context.log("  fitting networks for log M and for the normal scores of M")
    models = variants(first.split, first.model, **first.model.config["recipe"])
    table = asymmetry(models, {policy: one.pairs for policy, one in prepared.items()}, samples)
    return Recording({"ratios": table.reset_index()}, first.facts)
