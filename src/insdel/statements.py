"""Paired differences of two methods in standard errors, and how methods are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from insdel.attribution import METHODS
from insdel.stats import Ends, mean

Side = tuple[str, str]  # method and mode
REFERENCES = {"best": "best of all orders", "expected": "mean of all orders"}
POLICIES = {"one_to_one": "one-to-one"}


def title(method: str) -> str:
    """The name of a method or a policy as the paper prints it; a difference "a − b" has the short one of IG.

    LIME's says how many samples it had, captum's default as in the paper: with more of them it is another method.
    """
    names = {name: known.title for name, known in METHODS.items()} | REFERENCES | POLICIES
    names["lime"] += f" ({METHODS['lime'].options['samples']} samples)"
    if " − " in method:
        names |= {"integrated_gradients": "IG"}
    return " − ".join(names.get(part, part) for part in method.split(" − "))


def wide(table: pd.DataFrame, value: str = "abc_per_feature") -> pd.DataFrame:
    """One row per pair, one column per (method, mode)."""
    return table.pivot_table(index="pair", columns=["method", "mode"], values=value)


def paired(table: pd.DataFrame, a: Side, b: Side, pairs: Any = None) -> dict[str, float]:
    """Mean of the paired difference a − b of ABC / n, its standard error, and the mean in standard errors.

    Parameters
    ----------
    a, b : (method, mode), for instance ("kernel_shap", "insertion")
    pairs : who is paired with whom, as for `insdel.summary`; without it the standard error is naive
    """
    columns = wide(table)
    value, se = mean(columns[a] - columns[b], Ends.of(pairs, columns.index))
    margin = value / se if se else float(np.copysign(np.inf, value)) if value else 0.0
    return {"difference": value, "se": se, "in standard errors": margin}
