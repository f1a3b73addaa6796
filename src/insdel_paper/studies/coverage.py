"""Do intervals cover the truth as often as they say? Pairs drawn again and again from a population that is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

import insdel
from insdel import policies
from insdel.stats import naive_error, standard_error

FEATURES = 6
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def response(z: np.ndarray) -> np.ndarray:
    """A function of six standard normal features, some of which interact, (m, 6) → (m,)."""
    return np.asarray(np.exp(z[:, 0] / 2) + np.tanh(z[:, 1] + z[:, 2]) + z[:, 3] * z[:, 4] / 2 + z[:, 0] * z[:, 5] / 2)


def samples(count: int = 100, points: int = 200, seed: int = 0) -> pd.DataFrame:
    """Carry out a small experiment many times, each time with new points.

    Parameters
    ----------
    count : how often
    points : drawn each time, and paired by the counterfactual policy (all features differ)

    Returns
    -------
    A row per experiment: mean ABC / n of Kernel SHAP in insertion, its standard error, the naive one, references (how
    many different x′ there were) and most (pairs that have the same x′)
    """
    rng, rows = np.random.default_rng(seed), []
    for _ in range(count):
        pairs = policies.counterfactual(response, rng.normal(size=(points, FEATURES)), all_differ=True)
        order = insdel.order(insdel.explain("kernel_shap", response, pairs.x, pairs.reference))
        curve = insdel.curve(response, pairs.x, pairs.reference, order)
        values = np.asarray(insdel.abc(curve, per_feature=True))
        known = standard_error(values, pairs.index, pairs.reference_index)
        shared = np.unique(np.asarray(pairs.reference_index), return_counts=True)[1]
        numbers = {"mean": values.mean(), "standard error": known, "naive error": naive_error(values)}
        rows.append({**numbers, "references": len(shared), "most": shared.max()})
    return pd.DataFrame(rows)


def covered(found: pd.DataFrame, levels: tuple[float, ...] = LEVELS) -> pd.DataFrame:
    """In which share of the experiments the interval around the mean holds the truth, by level and kind of error.

    found : from `samples`; the mean over all experiments stands for the truth
    """
    off = (found["mean"] - found["mean"].mean()).abs()
    kinds = ("standard error", "naive error")
    rows = {level: {kind: (off < norm.ppf((1 + level) / 2) * found[kind]).mean() for kind in kinds} for level in levels}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("level")
