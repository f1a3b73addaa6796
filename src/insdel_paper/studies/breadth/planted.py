"""Planted truth: does a higher area mean nearer to what made the target?

Simulated rows, a known function and noise; a model is fitted as for any table. The truth of a pair is what each
feature's change adds to the known function: for a sum of functions of one feature each nothing is to be disputed; with
interactions it is the exact Shapley value, which favours Kernel SHAP by definition.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from insdel import Lattice, lattices
from insdel.trees import TreeGame
from insdel_paper.studies.breadth.cells import areas, attributed, games_of, pairs, scored
from insdel_paper.studies.breadth.models import FAMILIES
from insdel_paper.studies.breadth.protocol import Size, methods

N, ROWS, NOISE, MIXED = 10, 1200, 0.3, 0.5  # features, rows, deviation of the noise, correlation with a common factor
MODELS = ("MLP", "ResNet", "boosted trees", "random forest")
ORDERS = ("insertion", "deletion", "both")


def additive(x: np.ndarray) -> np.ndarray:
    """A sum of functions of one feature each: lines, a bend, a wave, a step; two features do nothing."""
    return (x[:, 0] - 0.8 * x[:, 1] + 0.6 * np.abs(x[:, 2]) + np.sin(2 * x[:, 3]) + 0.7 * np.tanh(2 * x[:, 4])
            - 0.5 * x[:, 5] ** 2 + 0.4 * (x[:, 6] > 0) + 0.3 * x[:, 7])  # fmt: skip


def interacting(x: np.ndarray) -> np.ndarray:
    """The same with products of two and of three features."""
    return additive(x) + x[:, 0] * x[:, 1] + 0.8 * x[:, 2] * x[:, 3] - 0.8 * x[:, 4] * x[:, 5] * x[:, 6]


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"additive": additive, "interacting": interacting}


def sample(function: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, (rows, n), and the noisy target in units of its deviation, (rows,)."""
    generator = np.random.default_rng([seed, len(function)])
    common = generator.standard_normal((ROWS, 1))
    x = (np.sqrt(1 - MIXED) * generator.standard_normal((ROWS, N)) + np.sqrt(MIXED) * common).astype(np.float32)
    clean = FUNCTIONS[function](x)
    target = clean + NOISE * clean.std() * generator.standard_normal(ROWS)
    return x, (target / target.std()).astype(np.float32)


def agreement(function: str, seed: int, size: Size = Size(), models: tuple[str, ...] = MODELS) -> pd.DataFrame:  # noqa: B008
    """How far each method's order, and the best orders, agree with the truth.

    Returns a DataFrame: function, seed, family, method, agreement (mean of Kendall's τ over the pairs), score
    """
    x, y = sample(function, seed)
    half = ROWS * 2 // 3
    parts = []
    for family in models:
        fitted = FAMILIES[family](x[:half], y[:half], seed)
        chosen = pairs(fitted, x[half:], "one_to_one", seed, size)
        ends = np.asarray(chosen.x), np.asarray(chosen.reference)
        truth = [np.asarray(game.shapley()) for game in lattices(FUNCTIONS[function], *ends, progress=False)]
        games = games_of(fitted, chosen)
        values = attributed(fitted, chosen, methods(family), games, seed)
        scores = scored(areas(fitted, chosen, values, games, seed), chosen).set_index("method")["score"]
        values |= {f"best {mode}": np.stack([ranks(game, mode) for game in games]) for mode in ORDERS}
        table = pd.DataFrame({"method": list(values), "agreement": [
            float(np.mean([kendalltau(said, true).statistic for said, true in zip(part, truth, strict=True)]))
            for part in values.values()
        ]})  # fmt: skip
        parts.append(table.assign(score=table["method"].map(scores), function=function, seed=seed, family=family))
    return pd.concat(parts, ignore_index=True)


def ranks(game: Lattice | TreeGame, mode: str) -> np.ndarray:
    """The best order as numbers that a method could have said: the first to come has the largest, (n,)."""
    order = np.asarray(game.best_order(mode))
    result = np.empty(game.n)
    result[order] = np.arange(game.n) if mode == "deletion" else -np.arange(game.n)
    return result
