"""Electron pairs at CERN: 16 features, invariant mass M in GeV [section 5.2]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .base import Dataset
from .physics import MUON_MASS, invariant_mass
from .validate import CheckedTable, Problem, read_table

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
LEPTON = ("E", "px", "py", "pz", "pt", "eta", "phi")
NAMES = tuple(f"{name}{i}" for i in (1, 2) for name in (*LEPTON, "Q"))
CHARGES = ("Q1", "Q2")
ALIASES = {name.lower(): name for name in (*NAMES, TARGET)}
ALIASES |= {f"{name}{i}": f"Q{i}" for i in (1, 2) for name in ("charge", "charge_", "c", "ch")}
# The masses in the file are rounded and the leptons of other files are heavier: only nonsense is refused.
TOLERANCE = 0.1


def read(path: Path, drop_duplicates: bool = False) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read `dielectron.csv` or any file with its columns, and count what was left out.

    Further columns are ignored; case, surrounding blanks (`px1 `) and the name of the charge may differ.

    Returns
    -------
    (rows, 17) DataFrame of the features and M, and the counts for the provenance
    """
    table = read_table(path, (*NAMES, TARGET), ALIASES, may_be_empty=(TARGET,))
    _check_physics(table)
    none = Problem(None, TARGET, "has no value in any row")
    rows, counts = table.complete_rows(table.cells[TARGET].notna(), "M is missing", none, drop_duplicates)
    size = counts["rows_read"], counts["rows_dropped"]["M is missing"]
    return rows, counts | {"full_size": size == (FULL_ROWS, FULL_WITHOUT_M)}


def dataset(rows: pd.DataFrame, source: str, provenance: dict[str, Any]) -> Dataset:
    """Wrap rows with the columns `NAMES` and M; all 16 features get standardised, charges included."""
    target = rows[TARGET].rename("M (GeV)")
    return Dataset("cern", rows[list(NAMES)], target, NAMES, CHARGES, NAMES, source, provenance)


def _check_physics(table: CheckedTable) -> None:
    """Note charges, leptons and masses that cannot be."""
    values = table.cells
    for name in CHARGES:
        table.check(name, values[name].isin((-1, 1)), "is no charge, +1 or -1")
    for i in (1, 2):
        energy, px, py, pz, pt, eta, phi = (values[f"{name}{i}"] for name in LEPTON)
        across, momentum = np.hypot(px, py), np.sqrt(px**2 + py**2 + pz**2)
        aside = np.hypot(px - pt * np.cos(phi), py - pt * np.sin(phi))
        along = (pz - pt * np.sinh(eta.clip(-20, 20))).abs()
        for column, allowed, what in (
            ("pt", pt > 0, "a transverse momentum is positive"),
            ("phi", phi.abs() <= np.pi + 1e-3, "an angle φ lies between -π and π"),
            ("pt", ~((pt - across).abs() > TOLERANCE * across), "pt² is not px² + py²"),
            ("phi", ~(aside > 2 * TOLERANCE * across), "px and py point elsewhere"),
            ("eta", ~(along > 2 * TOLERANCE * momentum), "pz is not pt sinh η"),
            ("E", ~(energy < (1 - TOLERANCE) * momentum), "the energy is below the momentum"),
        ):
            table.check(f"{column}{i}", allowed, f"is not physical: {what}")
    # M lies between that of massless leptons and that of muons
    mass, track = values[TARGET], values[list(NAMES)].clip(-1e6, 1e6)
    with np.errstate(all="ignore"):  # rows already refused may overflow here
        least = (1 - TOLERANCE) * invariant_mass(track, 0.0)
        most = (1 + TOLERANCE) * invariant_mass(track, MUON_MASS)
    allowed = (mass > 0) & ~(mass < least) & ~(mass > most)
    table.check(TARGET, allowed, "is not physical: it is not the mass that pt, η and φ of this row give")


def note(digest: str, counts: dict[str, Any]) -> str:
    """Say which file this is; no hash of the full file is on record, only its numbers of rows."""
    if digest == SHA256[SAMPLE]:
        return "a random 20 % of the full file: 19,979 of its 99,892 distinct rows with M, 13 runs; sha256 as on record"
    if digest == SHA256[FIRST]:
        return "the first 1,000 of 100,000 rows, all of run 147115: not a random sample; sha256 as on record"
    if counts["full_size"]:
        return "the full file by its 100,000 rows, 85 of them without M; its sha256 is not on record"
    return f"not a published file that is on record: {counts['rows_read']:,} rows"
