"""A dataset as the rest of the package sees it, and its division into training and held-out rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError


@dataclass(frozen=True)
class Dataset:
    """Features, target, and where they come from.

    Attributes
    ----------
    features : (rows, n) DataFrame, in the units of the file, not standardised
    target : (rows,) Series in the paper's unit (Bangalore: price / 10⁷ INR; CERN: M in GeV)
    names : the n feature names
    binary : the names among them that take two values only (0/1 amenities; charges ±1)
    standardise : the names that `split` centres and scales
    source : "real" or "simulated"
    provenance : origin, sha256, rows read, rows dropped and why, duplicates, options
    """

    name: str
    features: pd.DataFrame
    target: pd.Series
    names: tuple[str, ...]
    binary: tuple[str, ...]
    standardise: tuple[str, ...]
    source: str
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        """One line: a notebook should not print all rows."""
        rows, n = self.features.shape
        return f"Dataset({self.name!r}, {self.source}, {rows:,} rows × {n} features, → {self.target.name})"


@dataclass(frozen=True)
class Split:
    """Training and held-out rows, the continuous columns standardised with *training* statistics.

    Attributes
    ----------
    x_train, x_test : (rows, n) float32
    y_train, y_test : (rows,) float32, in the paper's unit
    train, test : positions of these rows in the dataset
    mean, scale : (n,) what was subtracted, and divided by; 0 and 1 for columns left alone
    names, binary : as in the dataset
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    train: np.ndarray
    test: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    names: tuple[str, ...]
    binary: tuple[str, ...]

    def transform(self, features: pd.DataFrame) -> np.ndarray:
        """Standardise other rows, a DataFrame with the columns `names`: (rows, n) → (rows, n) float32."""
        values = features[list(self.names)].to_numpy(float)
        return ((values - self.mean) / self.scale).astype(np.float32)


def split(dataset: Dataset, test: float = 0.2, seed: int = 0) -> Split:
    """Hold out a random share of the rows, and standardise with the statistics of the others.

    Bangalore: Area and No. of Bedrooms are standardised; CERN: all 16 columns [section 5].

    Parameters
    ----------
    test : share held out, rounded up (0.2 of 1,951 rows: 391)
    seed : decides which rows
    """
    rows = len(dataset.features)
    held_out = math.ceil(round(rows * test, 6))  # 0.2 · 5 must not become 2 through rounding
    if not 0 < held_out < rows:
        raise UserError(
            f"test must leave rows on either side; test={test} of {rows} rows holds out {held_out}. "
            "Pass a share between 0 and 1."
        )
    shuffled = np.random.default_rng(seed).permutation(rows)
    tested, trained = shuffled[:held_out], shuffled[held_out:]
    values, y = dataset.features.to_numpy(float), dataset.target.to_numpy(np.float32)
    chosen, spread = np.isin(dataset.names, dataset.standardise), values[trained].std(axis=0)
    mean = np.where(chosen, values[trained].mean(axis=0), 0.0)
    scale = np.where(chosen & (spread > 0), spread, 1.0)
    x = ((values - mean) / scale).astype(np.float32)
    halves = (x[trained], y[trained], x[tested], y[tested], trained, tested)
    return Split(*halves, mean, scale, dataset.names, dataset.binary)
