"""Does the CERN network look at the charges? Physics says that the invariant mass does not  [section 5.2]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from insdel.attribution import explain
from insdel.curves import MODES, abc, order
from insdel.lattice import Lattice, lattices
from insdel_paper.data.cern import CHARGES
from insdel_paper.studies.experiments import Experiment

METHODS = ("kernel_shap", "integrated_gradients", "deeplift")


def table(experiment: Experiment, pairs: int | None = None) -> pd.DataFrame:
    """What each feature gets, and what the place of the charges in the order is worth.

    Parameters
    ----------
    pairs : look at the first pairs only

    Returns
    -------
    DataFrame: pair, method, quantity, feature, value. Quantities: "attribution", A_j of each feature;
    "insertion" and "deletion" (feature "Q1 and Q2"): ABC / n of the method's order, minus that of the order
    in which both charges count as irrelevant (A = 0). Method "model" holds "flip": the change of f(x) when
    the charges of x alone are replaced by those of x′
    """
    x, reference = experiment.pairs.x[:pairs], experiment.pairs.reference[:pairs]
    names = list(experiment.split.names)
    charged = [names.index(name) for name in CHARGES]
    shared = list(lattices(experiment.model, x, reference, progress=False))
    parts = [_flips(shared, charged)]
    for method in METHODS:
        exact = method == "kernel_shap"
        result = [lat.shapley() for lat in shared] if exact else explain(method, experiment.model, x, reference)
        parts += list(_parts(method, np.asarray(result), shared, names, charged))
    return pd.concat(parts, ignore_index=True)


def _parts(
    method: str, attributions: np.ndarray, shared: list[Lattice], names: list[str], charged: list[int]
) -> Iterator[pd.DataFrame]:
    """Attributions of all features, then the gain of knowing the charges' place, in both tests."""
    pair = np.repeat(np.arange(len(shared)), len(names))
    columns = {"method": method, "quantity": "attribution", "feature": names * len(shared)}
    yield pd.DataFrame({"pair": pair, **columns, "value": attributions.ravel()})
    blind = attributions.copy()
    blind[:, charged] = 0
    for mode in MODES:
        gain = _areas(shared, attributions, mode) - _areas(shared, blind, mode)
        facts = {"method": method, "quantity": mode, "feature": " and ".join(CHARGES)}
        yield pd.DataFrame({"pair": np.arange(len(shared)), **facts, "value": gain / len(names)})


def _areas(shared: list[Lattice], attributions: np.ndarray, mode: str) -> np.ndarray:
    """ABC of the orders that (pairs, n) attributions give."""
    orders = np.asarray(order(attributions, mode))
    walks = [np.asarray(lattice.curve(row)) for lattice, row in zip(shared, orders, strict=True)]
    return np.asarray(abc(np.stack(walks), mode))


def _flips(shared: list[Lattice], charged: list[int]) -> pd.DataFrame:
    """Change of f(x) when only the charges that differ are taken from x′."""
    change = []
    for lattice in shared:
        values = np.asarray(lattice.values)
        subset = sum(1 << k for k, player in enumerate(lattice.players) if player in charged)
        change.append(values[subset] - values[0])
    facts = {"method": "model", "quantity": "flip", "feature": " and ".join(CHARGES)}
    return pd.DataFrame({"pair": np.arange(len(shared)), **facts, "value": change})
