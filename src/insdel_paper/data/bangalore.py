"""Houses in Bangalore: 38 features, price [section 5.1]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from .base import Dataset
from .validate import Problem, read_table

WHAT = "house prices in Bangalore, 38 features, 36 of them 0/1"
ORIGIN = "Kaggle ruchi798/housing-prices-in-metropolitan-areas-of-india, file Bangalore.csv"
FILES = ("Bangalore.csv",)
SHA256 = {"Bangalore.csv": "5da9b9ef86d3cd4e1c2cb05d344ca3cbf242beb15c9a25a868a2d857ecc6a78d"}
UNIT = 1e7
MISSING = 9
TARGET = "Price"
CONTINUOUS = ("Area", "No. of Bedrooms")
AMENITIES: tuple[str, ...] = tuple(
    yaml.safe_load(Path(__file__).with_name("amenities.yml").read_text(encoding="utf-8"))
)
NAMES = CONTINUOUS + AMENITIES  # the order of the file, less Price and Location


def read(path: Path, drop_duplicates: bool = False) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read the file, keep the complete rows, and count what was left out.

    drop_duplicates : drop rows that repeat an earlier row; otherwise they leak between the halves of a split

    Returns
    -------
    (rows, 39) DataFrame of the features and Price, and the counts for the provenance
    """
    table = read_table(path, (TARGET, *NAMES))
    cells, missing = table.cells, f"{MISSING} (missing)"
    for name in AMENITIES:
        table.check(name, cells[name].isin((0, 1, MISSING)), f"is none of 0, 1, {missing}")
    for name in (TARGET, *CONTINUOUS):
        table.check(name, (cells[name] > 0) & (cells[name] % 1 == 0), "is not a positive whole number")
    complete = (cells[list(AMENITIES)] != MISSING).all(axis=1)
    none = Problem(None, None, f"has no complete row: each has a {missing}")
    rows, counts = table.complete_rows(complete, f"an amenity is {missing}", none, drop_duplicates)
    counts["duplicates_apart_from_location"] = int(cells[complete].duplicated().sum())
    return rows.astype(np.int64), counts


def dataset(rows: pd.DataFrame, source: str, provenance: dict[str, Any]) -> Dataset:
    """Wrap rows with the columns `NAMES` and Price (in INR)."""
    target = (rows[TARGET] / UNIT).rename("price (10⁷ INR)")
    return Dataset("bangalore", rows[list(NAMES)], target, NAMES, AMENITIES, CONTINUOUS, source, provenance)


def note(digest: str, counts: dict[str, Any]) -> str:
    """Say whether this is the published file."""
    if digest == SHA256["Bangalore.csv"]:
        return "the published file: its sha256 is the one on record"
    return f"not the published file of 6,207 rows: other sha256, {counts['rows_read']:,} rows"
