"""Why does insertion score higher than deletion? The same pairs, with one thing changed at a time  [section 5.2].

The paper's reason is that masses are positive and skewed. If that is it, the gap should go when predictions are
clipped where masses end, or when the network learns a target without floor and skewness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.special import ndtri
from scipy.stats import rankdata
from torch import Tensor, nn

from insdel import policies, stats
from insdel.attribution import explain
from insdel.curves import MODES, abc, curve, order
from insdel.evaluate import Model
from insdel_paper.data import Split
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.experiments import POLICIES, fitted, prepare

LOWEST, HIGHEST = 2.0, 110.0  # GeV: only such masses were recorded
ACTUAL = "as it is"


class Clipped(nn.Module):
    """A model whose predictions end at a floor, and at a ceiling if there is one."""

    def __init__(self, model: nn.Module, low: float, high: float | None = None) -> None:
        super().__init__()
        self.model, self.low, self.high = model, low, high

    def forward(self, z: Tensor) -> Tensor:
        """Predict (m,) for (m, n)."""
        return torch.clamp(self.model(z), self.low, self.high)


def normal_scores(y: np.ndarray) -> np.ndarray:
    """A symmetric target with the same order: the normal quantile of each value's rank, (m,)."""
    return np.asarray(ndtri(rankdata(y) / (len(y) + 1)), dtype=np.float32)


def variants(split: Split, model: nn.Module, seed: int = 0, **recipe: Any) -> dict[str, Model]:
    """The model as it is, with a floor, with floor and ceiling, and networks for two other targets of the same rows."""

    def network(target: np.ndarray) -> Model:
        return fitted("cern", replaced(split, target), seed, **recipe)

    return {
        ACTUAL: model,
        "clipped at 0": Clipped(model, 0.0),
        f"clipped to [{LOWEST:.0f}, {HIGHEST:.0f}] GeV": Clipped(model, LOWEST, HIGHEST),
        "network for log M": network(np.log(split.y_train)),
        "network for normal scores of M": network(normal_scores(split.y_train)),
    }


def replaced(split: Split, target: np.ndarray) -> Split:
    """The same training rows with another target."""
    return replace(split, y_train=target.astype(np.float32))


def areas(f: Model, pairs: policies.Pairs, samples: int = 1024, seed: int = 0) -> dict[str, np.ndarray]:
    """ABC per feature of f's own Kernel SHAP in both tests, (pairs,) each."""
    attributions = explain("kernel_shap", f, pairs.x, pairs.reference, samples=samples, seed=seed)
    walks = {mode: curve(f, pairs.x, pairs.reference, order(attributions, mode)) for mode in MODES}
    return {mode: np.asarray(abc(walk, mode, per_feature=True)) for mode, walk in walks.items()}


def asymmetry(models: Mapping[str, Model], pairs: Mapping[str, policies.Pairs], samples: int = 1024) -> pd.DataFrame:
    """Insertion, deletion and their ratio, for every variant of the model on the same pairs.

    Parameters
    ----------
    models : of `variants`
    pairs : policy → its pairs

    Returns
    -------
    DataFrame by policy and model: insertion, deletion, their standard errors by points, ratio deletion / insertion
    and its standard error. Units are those of the model
    """
    rows = []
    for policy, ours in pairs.items():
        ends = stats.PairIds.of(ours)
        for name, f in models.items():
            result = areas(f, ours, samples)
            row: dict[str, Any] = {"policy": policy, "model": name}
            for mode in MODES:
                row[mode], row[f"{mode} se"] = stats.mean(result[mode], ends)
            row["ratio"], row["ratio se"] = stats.ratio(result["deletion"], result["insertion"], ends)
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
