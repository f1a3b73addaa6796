"""Houses in Bangalore: 38 features, price [section 5.1]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .base import Dataset
from .validate import DataError, Problem, Table, read_table, refuse, wrong_cells

WHAT = "house prices in Bangalore, 38 features, 36 of them 0/1"
ORIGIN = "Kaggle ruchi798/housing-prices-in-metropolitan-areas-of-india, file Bangalore.csv"
FILES = ("Bangalore.csv",)
SHA256 = {"Bangalore.csv": "5da9b9ef86d3cd4e1c2cb05d344ca3cbf242beb15c9a25a868a2d857ecc6a78d"}
UNIT = 1e7
MISSING = 9
TARGET = "Price"
CONTINUOUS = ("Area", "No. of Bedrooms")
AMENITIES = (
    "Resale", "MaintenanceStaff", "Gymnasium", "SwimmingPool", "LandscapedGardens", "JoggingTrack",
    "RainWaterHarvesting", "IndoorGames", "ShoppingMall", "Intercom", "SportsFacility", "ATM",
    "ClubHouse", "School", "24X7Security", "PowerBackup", "CarParking", "StaffQuarter", "Cafeteria",
    "MultipurposeRoom", "Hospital", "WashingMachine", "Gasconnection", "AC", "Wifi", "Children'splayarea",
    "LiftAvailable", "BED", "VaastuCompliant", "Microwave", "GolfCourse", "TV", "DiningTable", "Sofa",
    "Wardrobe", "Refrigerator",
)
NAMES = CONTINUOUS + AMENITIES  # the order of the file, less Price and Location


def read(path: Path, drop_duplicates: bool = False) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read the file, keep the complete rows, and count what was left out.

    Parameters
    ----------
    drop_duplicates : drop rows that repeat an earlier row; otherwise they leak between the halves of a split

    Returns
    -------
    (rows, 39) DataFrame of the features and Price, and the counts for the provenance
    """
    table = read_table(path, (TARGET, *NAMES))
    refuse(path, _problems(table))
    complete = (table.cells[list(AMENITIES)] != MISSING).all(axis=1).to_numpy()
    if not complete.any():
        raise DataError(path, [Problem(None, None, f"has no complete row: each has a {MISSING} (missing)")])
    remaining = complete & ~table.repeated if drop_duplicates else complete
    rows = table.cells[remaining].reset_index(drop=True).astype(np.int64)
    return rows, _counts(table, complete, drop_duplicates)


def dataset(rows: pd.DataFrame, source: str, provenance: dict[str, Any]) -> Dataset:
    """Wrap rows with the columns `NAMES` and Price (in INR)."""
    target = (rows[TARGET] / UNIT).rename("price (10⁷ INR)")
    return Dataset("bangalore", rows[list(NAMES)], target, NAMES, AMENITIES, CONTINUOUS, source, provenance)


def _problems(table: Table) -> list[Problem]:
    cells = table.cells
    problems = list(table.problems)
    for name in AMENITIES:
        allowed = cells[name].isin((0, 1, MISSING)).to_numpy()
        problems += wrong_cells(cells[name], allowed, f"is none of 0, 1, {MISSING} (missing)")
    for name in (TARGET, *CONTINUOUS):
        whole = (cells[name] > 0).to_numpy() & (cells[name] % 1 == 0).to_numpy()
        problems += wrong_cells(cells[name], whole, "is not a positive whole number")
    return problems


def _counts(table: Table, complete: np.ndarray, drop_duplicates: bool) -> dict[str, Any]:
    seen = table.cells[complete].duplicated()
    repeated = int((complete & table.repeated).sum())
    return {
        "rows_read": len(table.cells),
        "rows_dropped": {
            f"an amenity is {MISSING} (missing)": int((~complete).sum()),
            "duplicate of an earlier row": repeated if drop_duplicates else 0,
        },
        "duplicates": repeated,
        "duplicates_apart_from_location": int(seen.sum()),
    }


def note(digest: str, counts: dict[str, Any]) -> str:
    """Say whether this is the published file."""
    if digest == SHA256["Bangalore.csv"]:
        return "the published file: its sha256 is the one on record"
    return f"not the published file of 6,207 rows: other sha256, {counts['rows_read']:,} rows"
