"""Interventional Shapley values of small tree models, by other packages and from the model's own predictions.

Every model has eight features, so a `Lattice` of 2⁸ predictions per pair is the answer that a package has to meet.
All data are simulated; the numbers of most tables have one decimal, as measurements often have.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import insdel

FEATURES = 8
ROWS = 400
TOLERANCE = 1e-4  # of the largest change of a prediction: beyond all rounding to float32


class Case(NamedTuple):
    """A model fitted to rows, the rows that pairs are made of, and the raw prediction that is explained."""

    model: Any
    rows: np.ndarray
    predict: Callable[[Any], np.ndarray]


def simulated(seed: int = 0, count: int = ROWS, decimals: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows with so many decimals, (count, 8), and a target with interactions, (count,)."""
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(count, FEATURES)), decimals)
    return rows, rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) + rows[:, 3] * (rows[:, 4] > 0) + rows[:, 5]


def with_gaps(rows: np.ndarray, value: float = np.nan, seed: int = 1) -> np.ndarray:
    """Rows with a fifth of their numbers replaced."""
    return np.where(np.random.default_rng(seed).random(rows.shape) < 0.2, value, rows)


def _sklearn(seed: int) -> Iterator[tuple[str, Case]]:
    from sklearn import ensemble

    rows, target = simulated(seed)
    gaps = with_gaps(rows)
    for label, model, points in (
        ("scikit-learn forest", ensemble.RandomForestRegressor(30, random_state=seed), rows),
        ("scikit-learn GradientBoosting", ensemble.GradientBoostingRegressor(random_state=seed), rows),
        ("scikit-learn HistGradientBoosting", ensemble.HistGradientBoostingRegressor(max_iter=50), rows),
        ("scikit-learn HistGradientBoosting, NaN", ensemble.HistGradientBoostingRegressor(max_iter=50), gaps),
    ):
        yield label, Case(model.fit(points, target), points, model.predict)
    rows, target = simulated(seed, 4000, 2)
    many, gaps = ensemble.HistGradientBoostingRegressor(max_iter=100), with_gaps(rows)
    yield "scikit-learn HistGradientBoosting, two decimals, NaN", Case(many.fit(gaps, target), gaps, many.predict)


def _xgboost(seed: int) -> Iterator[tuple[str, Case]]:
    import xgboost

    rows, target = simulated(seed)
    gaps, zeros, classes = with_gaps(rows), with_gaps(rows, 0.0), np.digitize(target, [-1, 1])
    fixed = {"n_estimators": 50, "max_depth": 4, "n_jobs": 1}
    regressor, classifier = xgboost.XGBRegressor, xgboost.XGBClassifier
    for label, model, points, y in (
        ("XGBoost", regressor(**fixed), rows, target),
        ("XGBoost, NaN", regressor(**fixed), gaps, target),
        ("XGBoost, DART", regressor(booster="dart", rate_drop=0.3, **fixed), rows, target),
        ("XGBoost, missing=0", regressor(missing=0.0, **fixed), zeros, target),
        ("XGBoost, three classes", classifier(**fixed), rows, classes),
    ):
        model.fit(points, y)

        def predict(x: Any, model: Any = model) -> np.ndarray:
            margins = np.asarray(model.predict(x, output_margin=True), dtype=np.float64)
            return margins if margins.ndim == 1 else margins[:, 0]

        yield label, Case(model, points, predict)


def _lightgbm(seed: int) -> Iterator[tuple[str, Case]]:
    import lightgbm

    rows, target = simulated(seed)
    gaps, zeros, codes = with_gaps(rows), with_gaps(rows, 0.0), rows.copy()
    codes[:, 0] = np.random.default_rng(2).integers(0, 6, ROWS)
    fixed = {"n_estimators": 50, "num_leaves": 12, "n_jobs": 1, "verbose": -1}
    by_category = target + 2 * np.isin(codes[:, 0], [0, 3, 4]) * codes[:, 1]
    for label, options, fitted, points, y, fit in (
        ("LightGBM", {}, rows, rows, target, {}),
        ("LightGBM, NaN", {}, gaps, gaps, target, {}),
        ("LightGBM, NaN not met in training", {}, rows, gaps, target, {}),
        ("LightGBM, zero_as_missing", {"zero_as_missing": True}, zeros, zeros, target, {}),
        ("LightGBM, DART", {"boosting_type": "dart"}, rows, rows, target, {}),
        ("LightGBM, categories", {"min_data_per_group": 5}, codes, codes, by_category, {"categorical_feature": [0]}),
    ):
        model = lightgbm.LGBMRegressor(**fixed, **options).fit(fitted, y, **fit)
        yield label, Case(model, points, model.predict)


def cases(seed: int = 0) -> Iterator[tuple[str, Case]]:
    """Fitted models, label by label."""
    for part in (_sklearn, _xgboost, _lightgbm):
        yield from part(seed)


def by_shap(case: Case, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """shap's interventional values of one pair, (8,), in this book's sign."""
    import shap

    explainer = shap.TreeExplainer(case.model, reference[None], feature_perturbation="interventional")
    values = np.asarray(explainer.shap_values(x[None], check_additivity=False))[0]
    return -(values if values.ndim == 1 else values[:, 0])


def by_trees(case: Case, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The closed form's values of one pair, (8,)."""
    return insdel.Trees.of(case.model).game(x, reference).shapley()


PACKAGES = {"shap": by_shap, "insdel": by_trees}


def judge(case: Case, pairs: int, package: Callable[..., np.ndarray]) -> dict[str, Any]:
    """How many of the pairs a package gets wrong, and the largest error as a share of the largest |A_j| of its pair."""
    wrong, largest = 0, 0.0
    for x, reference in zip(case.rows[:pairs], case.rows[pairs : 2 * pairs], strict=True):
        right = insdel.Lattice.evaluate(case.predict, x, reference, progress=False).shapley()
        try:
            found = package(case, x, reference)
        except Exception as error:
            return {"wrong": None, "largest_error": np.nan, "raised": type(error).__name__}
        gap = float(np.abs(found - right).max() / np.abs(right).max())
        wrong, largest = wrong + (gap > TOLERANCE), max(largest, gap)
    return {"wrong": wrong, "largest_error": largest, "raised": ""}


def package_errors(pairs: int = 30, seed: int = 0) -> pd.DataFrame:
    """Pairs that each package gets wrong, model by model: case, package, pairs, wrong, largest_error, raised."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for label, case in cases(seed):
            for name, package in PACKAGES.items():
                rows.append({"case": label, "package": name, "pairs": pairs, **judge(case, pairs, package)})
    return pd.DataFrame(rows)
