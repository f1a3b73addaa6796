"""What the paper states about the data files, counted  [sections 5.1, 5.2], and by mass how far its network is off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import skew as skewness

from insdel.stats import naive_error
from insdel_paper.data import bangalore, cern
from insdel_paper.data.check import MASS_LIST
from insdel_paper.data.files import data_folder
from insdel_paper.data.physics import identities, mass_of_momenta
from insdel_paper.data.validate import read_table
from insdel_paper.provenance import sha256
from insdel_paper.records.run import Recording, RunContext, record

BANGALORE, CERN = "Bangalore.csv", cern.SAMPLE
MASS_BANDS = (2, 20, 40, 60, 80, 90, 100, 110)  # GeV


def as_rows(dataset: str, facts: Mapping[str, Any], rows: int) -> pd.DataFrame:
    """One row per fact: dataset, fact, value, se, rows (how many it was computed from); of an array its mean."""
    return pd.DataFrame([
        {"dataset": dataset, "fact": fact, "value": float(np.mean(value)),
         "se": naive_error(value) if np.ndim(value) else math.nan, "rows": np.size(value) if np.ndim(value) else rows}
        for fact, value in facts.items()
    ])  # fmt: skip


def houses(path: Path) -> pd.DataFrame:
    """Counts of the Bangalore file  [section 5.1]."""
    cells = read_table(path, (bangalore.TARGET, *bangalore.NAMES)).cells
    missing = (cells[list(bangalore.AMENITIES)] == bangalore.MISSING).mean(axis=1).to_numpy()
    complete = cells[missing == 0]
    header = pd.read_csv(path, nrows=0).columns
    facts = {
        "records": len(cells),
        "complete rows": len(complete),
        "a fifth of the complete rows, rounded up": math.ceil(len(complete) / 5),
        "columns beside the price": sum(name.strip() != bangalore.TARGET for name in header),
        "features": len(bangalore.NAMES),
        "features with at most two values": int((complete[list(bangalore.NAMES)].nunique() <= 2).sum()),
        "share of records that miss more than 90 % of the amenities": float((missing > 0.9).mean()),
        "duplicates among the complete rows": bangalore.read(path)[1]["duplicates"],
        "skewness of the price": skewness(complete[bangalore.TARGET].to_numpy(float)),
    }
    table = as_rows("bangalore", facts, len(complete))
    return table.assign(rows=table["rows"].where(~table["fact"].str.contains("record"), len(cells)))


def events(path: Path) -> pd.DataFrame:
    """Physics of the genuine CERN rows that are available  [section 5.2]."""
    rows, _ = cern.read(path)
    columns = {name: rows[name].to_numpy(float) for name in rows}
    px, pt, phi = (np.concatenate([columns[f"{name}{i}"] for i in (1, 2)]) for name in ("px", "pt", "phi"))
    differing = {name: differing_share(columns[name]) for name in cern.NAMES}
    facts = {
        "features": len(cern.NAMES),
        **{f"largest residual: {name}": off.max() for name, off in identities(columns).items()},
        # √((E₁ + E₂)² − |p₁ + p₂|²) from the columns as they are
        "mean residual of the mass formula": np.abs(mass_of_momenta(columns) / columns["M"] - 1),
        # p_x = p_t cos φ, and the printed p_t = p_x cos φ, relative to p_t, both electrons
        "mean residual of px = pt cos φ": np.abs(px - pt * np.cos(phi)) / pt,
        "mean residual of pt = px cos φ": np.abs(pt - px * np.cos(phi)) / pt,
        **{f"mean of {name}": columns[name] for name in cern.CHARGES},
        "features that differ in a random pair": sum(differing.values()),
        "charges that differ in a random pair": sum(differing[q] for q in cern.CHARGES),
    }
    return as_rows("cern", facts, len(rows))


def differing_share(values: np.ndarray) -> float:
    """Share of all pairs of two different rows that differ in this column, counted exactly."""
    _, counts = np.unique(values, return_counts=True)
    m = len(values)
    return 1 - float((counts * (counts - 1)).sum()) / (m * (m - 1))


def masses(path: Path) -> pd.DataFrame:
    """The list of all masses of the full CERN file, one per distinct complete row  [section 5.2]."""
    mass = pd.read_csv(path).iloc[:, -1].to_numpy(float)
    distinct, complete = len(mass), cern.FULL_ROWS - cern.FULL_WITHOUT_M
    facts = {
        "distinct complete rows": distinct,
        "least mass (GeV)": mass.min(),
        "largest mass (GeV)": mass.max(),
        "skewness of the mass": skewness(mass),
        "100,000 rows less 85 without M, less a fifth": complete - math.ceil(complete / 5),
        "distinct complete rows less a fifth, rounded up": distinct - math.ceil(distinct / 5),
    }
    return as_rows("cern", facts, distinct)


def collect(folder: Path) -> pd.DataFrame:
    """All facts of the files in a folder: dataset, fact, value, se (missing where it was counted), rows."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"the facts need the real files {', '.join(FILES)}; missing: {', '.join(missing)}. "
            "Put them into the folder that INSDEL_DATA names."
        )
    return pd.concat([read(folder / name) for name, read in FILES.items()], ignore_index=True)


def accuracy(true: np.ndarray, predicted: np.ndarray) -> pd.DataFrame:
    """Mean of prediction − truth by bands of the true mass: low, high (GeV), events, error, se.

    true, predicted : (events,)
    """
    bands = pd.cut(true, list(MASS_BANDS))
    result = pd.Series(predicted - true).groupby(bands, observed=True).agg(events="size", error="mean", se="sem")
    ends = {end: [getattr(band, side) for band in result.index] for end, side in (("low", "left"), ("high", "right"))}
    return pd.DataFrame({**ends, **result.reset_index(drop=True)})


FILES = {BANGALORE: houses, CERN: events, MASS_LIST: masses}


@record("data_facts", "what the paper states about the data files", ("facts",))
def count_facts(context: RunContext) -> Recording:
    """All facts of the files in the folder that INSDEL_DATA names."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("the facts need the real files: set INSDEL_DATA to their folder.")
    tables = {"facts": collect(folder)}
    return Recording(tables, {"data": {"source": "real", "sha256": {name: sha256(folder / name) for name in FILES}}})
