"""How close the simulators come to the real files, as a table that a page or a test can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

from insdel.errors import UserError

from . import bangalore, cern, simulate_bangalore, simulate_cern
from .files import data_folder
from .physics import identities

HALVES = 2024  # seed that divides the sample of genuine events
MASS_LIST = "dielectron_invariant_mass.csv"
LIMITS = {
    "M, distance to the full list": 0.02,
    "features, largest distance to genuine rows": 0.02,
    "features, largest difference of a correlation": 0.03,
    "classifier, genuine against simulated (AUC)": 0.56,
    "identities of the kinematics, largest residual": 1e-5,
    "amenities, largest difference of a share": 0.03,
    "bedrooms, largest difference of a share": 0.03,
    "amenities, largest difference of a correlation": 0.1,
    "price, largest relative difference of a quantile": 0.1,
    "area, largest relative difference of a quantile": 0.1,
}
SHARES = np.array([0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])


def simulator_report(name: str, n: int | None = None, seed: int = 0) -> pd.DataFrame:
    """Compare n simulated rows with the real ones.

    Parameters
    ----------
    name : "bangalore" or "cern"; the real files must be in the folder that INSDEL_DATA names
    n : rows to draw; as many as the full file has, if None

    Returns
    -------
    DataFrame: check, limit, measured, ok, worst (the column or pair that `measured` belongs to), and for events
    `genuine`: the same measure for the half that was fitted, itself genuine, against the half that judges
    """
    if name not in ("bangalore", "cern"):
        raise UserError(f"name must be one of bangalore, cern; found {name!r}")
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("the comparison needs the real files: set INSDEL_DATA to their folder")
    if name == "cern":
        measured = _against_judged(simulate_cern.simulate(n or simulate_cern.ROWS, seed), folder)
    else:
        measured = _bangalore(folder, simulate_bangalore.simulate(n or simulate_bangalore.ROWS, seed))
    table = pd.DataFrame([(check, LIMITS[check], *result) for check, result in measured.items()])
    table.columns = pd.Index(["check", "limit", "measured", "worst"])
    table = table.assign(ok=table["measured"] <= table["limit"])[["check", "limit", "measured", "ok", "worst"]]
    if name == "bangalore":
        return table
    # the same measures for the half that was fitted: what chance, and six digits, do to genuine events
    genuine = _against_judged(halves(cern.read(folder / cern.SAMPLE)[0])[0], folder)
    return table.assign(genuine=table["check"].map({check: value for check, (value, _) in genuine.items()}))


def distances(simulated: pd.DataFrame, genuine: pd.DataFrame) -> pd.Series:
    """Kolmogorov–Smirnov distance per column of `genuine`."""
    tests = {name: ks_2samp(simulated[name], genuine[name], method="asymp") for name in genuine}
    return pd.Series({name: float(test.statistic) for name, test in tests.items()})


def correlation_differences(simulated: pd.DataFrame, genuine: pd.DataFrame) -> pd.Series:
    """Absolute difference of every pair's correlation; constant columns are left out."""
    names = [name for name in genuine if genuine[name].std() > 0]
    off = np.abs(np.corrcoef(simulated[names].T) - np.corrcoef(genuine[names].T))
    first, second = np.triu_indices(len(names), 1)
    pairs = [f"{names[i]}, {names[j]}" for i, j in zip(first, second, strict=True)]
    return pd.Series(off[first, second], index=pairs)


def halves(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The random half of the sample that the simulator of events is fitted to, and the half that judges it."""
    order = np.random.default_rng(HALVES).permutation(len(rows))
    fitted, judged = order[: len(rows) // 2], order[len(rows) // 2 :]
    return rows.iloc[fitted].reset_index(drop=True), rows.iloc[judged].reset_index(drop=True)


def classifier_auc(simulated: pd.DataFrame, genuine: pd.DataFrame, seed: int = 0) -> float:
    """Cross-validated AUC of gradient boosting that tells the two tables apart: 0.5 means it cannot."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    rows = pd.concat([genuine, simulated[list(genuine)]], ignore_index=True)
    label = np.repeat([0, 1], [len(genuine), len(simulated)])
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = GradientBoostingClassifier(random_state=seed)
    return float(cross_val_score(model, rows, label, scoring="roc_auc", cv=folds).mean())


def _against_judged(events: pd.DataFrame, folder: Path) -> dict[str, tuple[float, str]]:
    """Measures of events, simulated or genuine, (m, 17), against the half that judges, and their worst columns."""
    judged = halves(cern.read(folder / cern.SAMPLE)[0])[1][list(cern.NAMES)]
    residuals = {name: result.max() for name, result in identities(simulate_cern.track_arrays(events)).items()}
    values = [
        _largest(distances(events, pd.read_csv(folder / MASS_LIST))),
        _largest(distances(events, judged)),
        _largest(correlation_differences(events, judged)),
        (classifier_auc(events.iloc[: len(judged)], judged), "all features"),
        _largest(pd.Series(residuals)),
    ]
    return dict(zip(list(LIMITS)[:5], values, strict=True))


def _bangalore(folder: Path, simulated: pd.DataFrame) -> dict[str, tuple[float, str]]:
    """Measures of simulated houses, (m, 39), against the real file, and their worst columns."""
    genuine, _ = bangalore.read(folder / "Bangalore.csv")
    area, bedrooms = bangalore.CONTINUOUS
    amenities = list(bangalore.AMENITIES)
    rooms = [table[bedrooms].value_counts(normalize=True) for table in (simulated, genuine)]
    values = [
        _largest((simulated[amenities].mean() - genuine[amenities].mean()).abs()),
        _largest(rooms[0].sub(rooms[1], fill_value=0).abs()),
        _largest(correlation_differences(simulated[amenities], genuine[amenities])),
        _largest(_quantile_differences(simulated[bangalore.TARGET], genuine[bangalore.TARGET])),
        _largest(_quantile_differences(simulated[area], genuine[area])),
    ]
    return dict(zip(list(LIMITS)[5:], values, strict=True))


def _quantile_differences(simulated: pd.Series, genuine: pd.Series) -> pd.Series:
    return (simulated.quantile(SHARES) / genuine.quantile(SHARES) - 1).abs()


def _largest(values: pd.Series) -> tuple[float, str]:
    return float(values.max()), str(values.idxmax())
