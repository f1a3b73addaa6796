"""How close the simulators come to the real files, as a table that a page or a test can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from scipy.stats import ks_2samp

from insdel.errors import require_one_of

from . import bangalore, cern, simulate_bangalore, simulate_cern
from .files import data_folder
from .physics import identities

HALVES = 2024  # seed that divides the sample of genuine events
MASS_LIST = "dielectron_invariant_mass.csv"
_LIMITS = yaml.safe_load(Path(__file__).with_name("limits.yml").read_text(encoding="utf-8"))
LIMITS: dict[str, float] = _LIMITS["cern"] | _LIMITS["bangalore"]
SHARES = np.array([0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
Measures = list[tuple[float, str]]  # each with the column or pair that is worst


def simulator_report(name: str, n: int | None = None, seed: int = 0) -> pd.DataFrame:
    """Compare n simulated rows, as many as the full file has if None, with the real ones in INSDEL_DATA.

    Returns
    -------
    DataFrame: check, limit, measured, ok, worst (the column or pair that `measured` belongs to), and for events
    `genuine`: the same measure for the half that was fitted, itself genuine, against the half that judges
    """
    require_one_of("name", name, ("bangalore", "cern"))
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("the comparison needs the real files: set INSDEL_DATA to their folder")
    if name == "bangalore":
        houses = simulate_bangalore.simulate(n or simulate_bangalore.ROWS, seed)
        return _judged(_compare_houses(houses, bangalore.read(folder / "Bangalore.csv")[0]), _LIMITS[name])
    fitted, judged = halves(cern.read(folder / cern.SAMPLE)[0])
    masses = pd.read_csv(folder / MASS_LIST)
    events = simulate_cern.simulate(n or simulate_cern.ROWS, seed)
    # and the half that was fitted: what chance, and six digits, do to genuine events
    ours, genuine = (_compare_events(rows, judged[list(cern.NAMES)], masses) for rows in (events, fitted))
    return _judged(ours, _LIMITS[name]).assign(genuine=[value for value, _ in genuine])


def _judged(measures: Measures, limits: dict[str, float]) -> pd.DataFrame:
    """A row per measure, with its limit."""
    table = pd.DataFrame(measures, columns=["measured", "worst"]).assign(check=list(limits), limit=limits.values())
    return table.assign(ok=table["measured"] <= table["limit"])[["check", "limit", "measured", "ok", "worst"]]


def distances(simulated: pd.DataFrame, genuine: pd.DataFrame) -> pd.Series:
    """Kolmogorov–Smirnov distance per column of `genuine`."""
    return pd.Series({n: float(ks_2samp(simulated[n], genuine[n], method="asymp").statistic) for n in genuine})


def correlation_differences(simulated: pd.DataFrame, genuine: pd.DataFrame) -> pd.Series:
    """Absolute difference of every pair's correlation; constant columns are left out."""
    names = genuine.columns[genuine.std() > 0]
    off = np.abs(np.corrcoef(simulated[names].T) - np.corrcoef(genuine[names].T))
    first, second = np.triu_indices(len(names), 1)
    return pd.Series(off[first, second], index=names[first] + ", " + names[second])


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
    folds = StratifiedKFold(5, shuffle=True, random_state=seed % 2**32)
    model = GradientBoostingClassifier(random_state=seed % 2**32)
    return float(cross_val_score(model, rows, label, scoring="roc_auc", cv=folds).mean())


def _compare_events(events: pd.DataFrame, judged: pd.DataFrame, masses: pd.DataFrame) -> Measures:
    """Measures of events, simulated or genuine, (m, 17), against the half that judges."""
    residuals = {name: result.max() for name, result in identities(events).items()}
    return [
        _largest(distances(events, masses)),
        _largest(distances(events, judged)),
        _largest(correlation_differences(events, judged)),
        (classifier_auc(events.iloc[: len(judged)], judged), "all features"),
        _largest(pd.Series(residuals)),
    ]


def _compare_houses(simulated: pd.DataFrame, genuine: pd.DataFrame) -> Measures:
    """Measures of simulated houses, (m, 39), against the complete real ones."""
    area, bedrooms = bangalore.CONTINUOUS
    amenities = list(bangalore.AMENITIES)
    rooms = [table[bedrooms].value_counts(normalize=True) for table in (simulated, genuine)]
    quantiles = (simulated.quantile(SHARES) / genuine.quantile(SHARES) - 1).abs()
    return [
        _largest((simulated[amenities].mean() - genuine[amenities].mean()).abs()),
        _largest(rooms[0].sub(rooms[1], fill_value=0).abs()),
        _largest(correlation_differences(simulated[amenities], genuine[amenities])),
        _largest(quantiles[bangalore.TARGET]),
        _largest(quantiles[area]),
    ]


def _largest(values: pd.Series) -> tuple[float, str]:
    """The largest value, and the column or pair that it belongs to."""
    return float(values.max()), str(values.idxmax())
