"""The few pairs of a comparison that are worth a picture, and their curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from insdel.attribution import explain
from insdel.curves import MODES, curve, order
from insdel_paper.studies.experiments import Experiment

COMPARED = ("kernel_shap", "integrated_gradients")
RANDOM_ORDERS = 20  # as many as the paper draws


def choose(table: pd.DataFrame, seed: int = 0) -> dict[str, int]:
    """Which pairs to draw.

    table : from `compare`, with Kernel SHAP and IG in both modes

    Returns
    -------
    {"example": drawn at random, "insertion" and "deletion": where Kernel SHAP and IG differ most in that
    test, "asymmetric": where Kernel SHAP's insertion and deletion ABC differ most}
    """
    rows = table.loc[table["method"].isin(COMPARED)].astype({"method": str, "mode": str})
    wide = rows.pivot_table(index="pair", columns=["mode", "method"], values="abc")
    gap = {mode: (wide[mode, "kernel_shap"] - wide[mode, "integrated_gradients"]).abs() for mode in MODES}
    skew = (wide["insertion", "kernel_shap"] - wide["deletion", "kernel_shap"]).abs()
    drawn = np.random.default_rng(seed).choice(wide.index.to_numpy())
    widest = {mode: int(difference.idxmax()) for mode, difference in gap.items()}
    return {"example": int(drawn), **widest, "asymmetric": int(skew.idxmax())}


def curves(
    experiment: Experiment, table: pd.DataFrame, seed: int = 0, kernel: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Curves of the pairs that `choose` names, for Kernel SHAP, IG and 20 random orders.

    kernel : options of Kernel SHAP; exact by default

    Returns
    -------
    DataFrame: what, pair, method, mode ("both" for random orders), line (0, 1, … for random orders), step, value
    """
    choice = choose(table, seed)
    drawn = {pair: _pair_curves(experiment, pair, seed, kernel or {}) for pair in set(choice.values())}
    parts = [drawn[pair].assign(what=what) for what, pair in choice.items()]
    columns = ["what", "pair", "method", "mode", "line", "step", "value"]
    return pd.concat(parts, ignore_index=True)[columns]


def _pair_curves(experiment: Experiment, pair: int, seed: int, kernel: Mapping[str, Any]) -> pd.DataFrame:
    """Curves of one pair: both methods in both tests, then random orders."""
    f, x, reference = experiment.model, experiment.pairs.x[pair], experiment.pairs.reference[pair]
    parts = []
    for method in COMPARED:
        ranking = np.asarray(explain(method, f, x, reference, **(kernel if method == "kernel_shap" else {})))
        for mode in MODES:
            walk = np.asarray(curve(f, x, reference, order(ranking, mode)))
            parts.append(_rows(walk[None], pair=pair, method=method, mode=mode))
    orders = np.random.default_rng([seed, pair]).permuted(np.tile(np.arange(len(x)), (RANDOM_ORDERS, 1)), axis=1)
    walks = np.asarray(curve(f, np.tile(x, (RANDOM_ORDERS, 1)), reference, orders))
    return pd.concat([*parts, _rows(walks, pair=pair, method="random", mode="both")])


def _rows(walks: np.ndarray, **facts: str | int) -> pd.DataFrame:
    """(lines, n + 1) values as rows of a tidy table."""
    lines, steps = np.indices(walks.shape)
    return pd.DataFrame({**facts, "line": lines.ravel(), "step": steps.ravel(), "value": walks.ravel()})
