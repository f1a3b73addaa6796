"""Electron pairs at CERN: 16 features, invariant mass M in GeV [section 5.2]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .base import Dataset
from .physics import MUON_MASS, invariant_mass
from .validate import DataError, Problem, Table, read_table, refuse, wrong_cells

WHAT = "electron pairs in the CMS detector, 16 kinematic features, invariant mass"
ORIGIN = "CERN Open Data record 304 (events with two electrons from 2010), file dielectron.csv"
SAMPLE, FIRST = "dielectron_sample_19979.csv", "dielectron_first1000.csv"
FILES = ("dielectron.csv", SAMPLE, FIRST)  # the first that is there is taken
SHA256 = {
    SAMPLE: "48de4584dcc062303da23bfc1f467236d2c831c7988a89fe475027bbcf50a858",
    FIRST: "c9c2b0db32040a3b54e3fa4afc85498e8a75610289d2aa1520392316dcbafaf3",
}
FULL_ROWS, FULL_WITHOUT_M = 100_000, 85
TARGET = "M"
NAMES = tuple(f"{name}{i}" for i in (1, 2) for name in ("E", "px", "py", "pz", "pt", "eta", "phi", "Q"))
CHARGES = ("Q1", "Q2")
ALIASES = {name.lower(): name for name in (*NAMES, TARGET)}
ALIASES |= {f"{name}{i}": f"Q{i}" for i in (1, 2) for name in ("charge", "charge_", "c", "ch")}
# The masses in the file are rounded and the leptons of other files are heavier: only nonsense is refused.
TOLERANCE = 0.1


def read(path: Path, drop_duplicates: bool = False) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read `dielectron.csv` or any file with its columns, and count what was left out.

    Further columns are ignored; case, surrounding blanks (`px1 `) and the name of the charge may differ.

    Parameters
    ----------
    drop_duplicates : drop rows that repeat an earlier row

    Returns
    -------
    (rows, 17) DataFrame of the features and M, and the counts for the provenance
    """
    table = read_table(path, (*NAMES, TARGET), ALIASES, may_be_empty=(TARGET,))
    refuse(path, _problems(table))
    complete = table.cells[TARGET].notna().to_numpy()
    if not complete.any():
        raise DataError(path, [Problem(None, TARGET, "has no value in any row")])
    remaining = complete & ~table.repeated if drop_duplicates else complete
    return table.cells[remaining].reset_index(drop=True), _counts(table, complete, drop_duplicates)


def dataset(rows: pd.DataFrame, source: str, provenance: dict[str, Any]) -> Dataset:
    """Wrap rows with the columns `NAMES` and M; all 16 features get standardised, charges included."""
    target = rows[TARGET].rename("M (GeV)")
    return Dataset("cern", rows[list(NAMES)], target, NAMES, CHARGES, NAMES, source, provenance)


def _problems(table: Table) -> list[Problem]:
    """Charges, leptons and masses that cannot be."""
    values = table.cells
    problems = list(table.problems)
    for name in CHARGES:
        problems += wrong_cells(values[name], values[name].isin((-1, 1)).to_numpy(), "is no charge, +1 or -1")
    for i in (1, 2):
        energy, pt, eta, phi = (values[f"{name}{i}"] for name in ("E", "pt", "eta", "phi"))
        px, py, pz = (values[f"{name}{i}"] for name in ("px", "py", "pz"))
        across, momentum = np.hypot(px, py), np.sqrt(px**2 + py**2 + pz**2)
        aside = np.hypot(px - pt * np.cos(phi), py - pt * np.sin(phi))
        along = (pz - pt * np.sinh(eta.clip(-20, 20))).abs()
        for column, allowed, what in (
            (pt, pt > 0, "a transverse momentum is positive"),
            (phi, phi.abs() <= np.pi + 1e-3, "an angle φ lies between -π and π"),
            (pt, ~((pt - across).abs() > TOLERANCE * across), "pt² is not px² + py²"),
            (phi, ~(aside > 2 * TOLERANCE * across), "px and py point elsewhere"),
            (eta, ~(along > 2 * TOLERANCE * momentum), "pz is not pt sinh η"),
            (energy, ~(energy < (1 - TOLERANCE) * momentum), "the energy is below the momentum"),
        ):
            problems += wrong_cells(column, allowed.to_numpy(), f"is not physical: {what}")
    # M lies between that of massless leptons and that of muons
    mass, track = values[TARGET], {name: values[name].clip(-1e6, 1e6).to_numpy() for name in NAMES}
    with np.errstate(all="ignore"):  # rows already refused may overflow here
        least = (1 - TOLERANCE) * invariant_mass(track, 0.0)
        most = (1 + TOLERANCE) * invariant_mass(track, MUON_MASS)
    allowed = (mass > 0).to_numpy() & ~(mass.to_numpy() < least) & ~(mass.to_numpy() > most)
    wrong = "is not physical: it is not the mass that pt, η and φ of this row give"
    return problems + wrong_cells(mass, allowed, wrong)


def _counts(table: Table, complete: np.ndarray, drop_duplicates: bool) -> dict[str, Any]:
    repeated = int((complete & table.repeated).sum())
    missing = int((~complete).sum())
    whole = len(table.cells) == FULL_ROWS and missing == FULL_WITHOUT_M
    return {
        "rows_read": len(table.cells),
        "rows_dropped": {
            "M is missing": missing,
            "duplicate of an earlier row": repeated if drop_duplicates else 0,
        },
        "duplicates": repeated,
        "full_size": whole,
    }


def note(digest: str, counts: dict[str, Any]) -> str:
    """Say which file this is; no hash of the full file is on record, only its numbers of rows."""
    if digest == SHA256[SAMPLE]:
        return "a random 20 % of the full file: 19,979 of its 99,892 distinct rows with M, 13 runs; sha256 as on record"
    if digest == SHA256[FIRST]:
        return "the first 1,000 of 100,000 rows, all of run 147115: not a random sample; sha256 as on record"
    if counts["full_size"]:
        return "the full file by its 100,000 rows, 85 of them without M; its sha256 is not on record"
    return f"not a published file that is on record: {counts['rows_read']:,} rows"
