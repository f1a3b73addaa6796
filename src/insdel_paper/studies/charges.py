"""Does the CERN network look at the charges? Physics says that the invariant mass does not  [section 5.2]."""

from __future__ import annotations

from typing import Any

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
    pair, both = np.arange(len(shared)), " and ".join(CHARGES)
    # all that differs of the charges, taken from x′
    subsets = [sum(1 << k for k, player in enumerate(lat.players) if player in charged) for lat in shared]
    values = [np.asarray(lat.values) for lat in shared]
    flips = [float(one[subset] - one[0]) for one, subset in zip(values, subsets, strict=True)]
    parts: list[dict[str, Any]] = [
        {"pair": pair, "method": "model", "quantity": "flip", "feature": both, "value": flips}
    ]
    for method in METHODS:
        exact = method == "kernel_shap"
        result = [lat.shapley() for lat in shared] if exact else explain(method, experiment.model, x, reference)
        attributions = np.asarray(result)
        each = {"pair": np.repeat(pair, len(names)), "feature": names * len(shared), "value": attributions.ravel()}
        parts.append({"method": method, "quantity": "attribution", **each})
        blind = attributions.copy()
        blind[:, charged] = 0
        for mode in MODES:
            gain = (_areas(shared, attributions, mode) - _areas(shared, blind, mode)) / len(names)
            parts.append({"pair": pair, "method": method, "quantity": mode, "feature": both, "value": gain})
    columns = ["pair", "method", "quantity", "feature", "value"]
    return pd.concat([pd.DataFrame(part)[columns] for part in parts], ignore_index=True)


def _areas(shared: list[Lattice], attributions: np.ndarray, mode: str) -> np.ndarray:
    """ABC of the orders that (pairs, n) attributions give."""
    orders = np.asarray(order(attributions, mode))
    walks = [np.asarray(lattice.curve(row)) for lattice, row in zip(shared, orders, strict=True)]
    return np.asarray(abc(np.stack(walks), mode))
