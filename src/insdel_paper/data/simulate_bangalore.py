"""Simulated houses: latent classes for the amenities, then bedrooms, area and price.

1. Each house belongs to one of 30 classes; given the class, amenities are independent coin flips. The
   probabilities are fitted so that the amenities' correlations over all houses are the real ones.
2. Bedrooms given the class; log area given class and bedrooms; log price linear in log area, its square,
   bedrooms and amenities, plus noise.
3. Area and price get the skew of the real ones: the values of step 2 decide the order, the quantiles of
   the real file the size.

Classes and quantiles are drawn in strata, so that 1,951 houses show the fitted shares with little noise.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from insdel.errors import require_integer
from insdel.seeds import check_seed

from .bangalore import AMENITIES, NAMES, TARGET

ORIGIN = "simulator fitted to the 1,951 complete rows of Kaggle's Bangalore.csv"
ROWS = 1951  # as many as the real file has complete
PRICE_STEP = 1000  # INR


def simulate(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Draw n houses; the same seed gives the same houses.

    Returns
    -------
    (n, 39) DataFrame of whole numbers: the 38 features, and Price in INR
    """
    check_seed(seed)
    require_integer("n", n, 1)
    rng = np.random.default_rng(seed)
    fitted = parameters()
    weights = np.array(fitted["weights"])
    bounds = np.cumsum(weights / weights.sum())
    kind = np.minimum(np.searchsorted(bounds, _strata(rng, n, 1)[:, 0]), len(bounds) - 1)
    amenities = (_strata(rng, n, len(AMENITIES)) < np.array(fitted["amenities"])[kind]).astype(float)
    chance = np.cumsum(np.array(fitted["bedrooms"])[kind], axis=1)
    bedrooms = 1 + (rng.random(n)[:, None] > chance[:, :-1]).sum(axis=1)
    log_area = np.array(fitted["area_mean"])[kind] + fitted["area_bedroom"] * bedrooms
    log_area += np.array(fitted["area_sd"])[kind] * rng.standard_normal(n)
    area = np.round(_with_quantiles(log_area, fitted["area_quantiles"], rng))
    log_price = price_terms(area, bedrooms, amenities) @ np.array(fitted["price"])
    price = _with_quantiles(log_price + fitted["price_sd"] * rng.standard_normal(n), fitted["price_quantiles"], rng)
    price = PRICE_STEP * np.round(price / PRICE_STEP)
    table = np.column_stack([area, bedrooms, amenities, price]).astype(np.int64)
    return pd.DataFrame(table, columns=[*NAMES, TARGET])


def price_terms(area: np.ndarray, bedrooms: np.ndarray, amenities: np.ndarray) -> np.ndarray:
    """Terms that log price is linear in, (houses, 4 + amenities)."""
    log_area = np.log(area)
    return np.column_stack([np.ones(len(area)), log_area, log_area**2, bedrooms, amenities])


@cache
def parameters() -> dict[str, Any]:
    """Fitted parameters, as `tools/fit_simulators.py` writes them."""
    return json.loads(files(__package__).joinpath("bangalore.json").read_text(encoding="utf-8"))


def _strata(rng: np.random.Generator, n: int, columns: int) -> np.ndarray:
    """Uniform numbers, one in each n-th part of [0, 1] in every column, (n, columns)."""
    places = rng.permuted(np.tile(np.arange(n)[:, None], (1, columns)), axis=0)
    return (places + rng.random((n, columns))) / n


def _with_quantiles(score: np.ndarray, quantiles: list[list[float]], rng: np.random.Generator) -> np.ndarray:
    """Values with the given quantiles (shares, log values), in the order of the scores."""
    share = (rankdata(score, method="ordinal") - rng.random(len(score))) / len(score)
    shares, logs = quantiles
    return np.exp(np.interp(share, shares, logs))
