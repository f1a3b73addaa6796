"""Do intervals cover the truth as often as they say? Pairs drawn again and again from a population that is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import norm

import insdel
from insdel import policies
from insdel.stats import naive_error, standard_error

FEATURES, DRAWS = 6, 99
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
Response = Callable[[np.ndarray], np.ndarray]


def light_tailed(z: np.ndarray) -> np.ndarray:
    """A function of six standard normal features, some of which interact, (m, 6) → (m,)."""
    return np.asarray(np.exp(z[:, 0] / 2) + np.tanh(z[:, 1] + z[:, 2]) + z[:, 3] * z[:, 4] / 2 + z[:, 0] * z[:, 5] / 2)


def skewed(z: np.ndarray) -> np.ndarray:
    """The same with a lognormal part, so that a few pairs carry the mean, as on the houses, (m, 6) → (m,)."""
    return light_tailed(z) - np.exp(z[:, 0] / 2) + np.exp(z[:, 0] + z[:, 1] / 2)


POPULATIONS: dict[str, Response] = {"few large values": light_tailed, "many large values": skewed}


def samples(count: int = 100, points: int = 200, seed: int = 0, response: Response = light_tailed) -> pd.DataFrame:
    """Carry out a small experiment many times, each time with new points.

    count : how often
    points : drawn each time, and paired by the counterfactual policy (all features differ)

    Returns a row per experiment: mean ABC / n of Kernel SHAP in insertion, its standard error, the naive one, (DRAWS,)
    studentised means of the bootstrap, references (how many different x′ there were) and most (pairs that have the same
    x′)
    """
    rng, drawing, rows = np.random.default_rng(seed), np.random.default_rng([seed, 1]), []
    for _ in range(count):
        pairs = policies.counterfactual(response, rng.normal(size=(points, FEATURES)), all_differ=True)
        order = insdel.order(insdel.explain("kernel_shap", response, pairs.x, pairs.reference))
        curve = insdel.curve(response, pairs.x, pairs.reference, order)
        values = np.asarray(insdel.abc(curve, per_feature=True))
        ends = np.asarray(pairs.index), np.asarray(pairs.reference_index)
        shared = np.unique(ends[1], return_counts=True)[1]
        rows.append({
            "mean": values.mean(), "standard error": standard_error(values, *ends), "naive error": naive_error(values),
            "studentised": studentised(values, *ends, drawing), "references": len(shared), "most": shared.max(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def studentised(
    values: np.ndarray, x_id: np.ndarray, reference_id: np.ndarray, rng: np.random.Generator, draws: int = DRAWS
) -> np.ndarray:
    """Bootstrap over points: how far each drawn mean is from the mean, in its own standard error, (draws,) sorted.

    Points are drawn with replacement. A point drawn twice is two points, so a pair comes as often as its two points
    were drawn, multiplied, each time with ends of its own.

    values : (m,); x_id, reference_id : (m,) numbers of the points, from 0
    """
    points = 1 + max(x_id.max(), reference_id.max())
    result: list[float] = []
    while len(result) < draws:
        count = np.bincount(rng.integers(points, size=points), minlength=points)
        times = count[x_id] * count[reference_id]
        pair = np.repeat(np.arange(len(values)), times)
        copy = np.arange(len(pair)) - np.repeat(np.cumsum(times) - times, times)
        second = count[reference_id[pair]]
        ends = x_id[pair] + points * (copy // second), reference_id[pair] + points * (copy % second)
        error = standard_error(values[pair], *ends) if len(pair) > 1 else 0.0
        if error > 0:
            result.append((values[pair].mean() - values.mean()) / error)
    return np.sort(result)


def covered(found: pd.DataFrame, levels: tuple[float, ...] = LEVELS) -> pd.DataFrame:
    """In which share of the experiments the interval around the mean holds the truth, by level and kind of interval.

    found : from `samples`; the mean over all experiments stands for the truth
    """
    off = found["mean"] - found["mean"].mean()
    kinds, drawn, rows = ("standard error", "naive error"), np.vstack(found["studentised"]), {}
    for level in levels:
        rows[level] = {kind: (off.abs() < norm.ppf((1 + level) / 2) * found[kind]).mean() for kind in kinds}
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=1)
        distance = off / found["standard error"]
        rows[level]["studentised"] = ((distance > low) & (distance < high)).mean()
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("level")
