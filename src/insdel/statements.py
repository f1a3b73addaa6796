"""Comparisons as statements: which of two is larger, in standard errors, and how methods are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from insdel.attribution import METHODS
from insdel.stats import Ends, holm, mean

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


def statements(
    table: pd.DataFrame, claims: Mapping[str, tuple[Side, Side]], pairs: Any = None, level: float = 2.0
) -> pd.DataFrame:
    """For each claim "the first is larger than the second": the paired difference, and what it says.

    pairs : who is paired with whom, as for `insdel.summary`; without it standard errors are naive

    Returns
    -------
    DataFrame by statement: difference, se, in standard errors, verdict ("holds" or "the opposite" beyond
    `level` standard errors, else "undecided"), together (whether that also stands if all statements of the table are
    judged at once: Holm's correction, 5 % for the whole table)
    """
    rows = {text: paired(table, a, b, pairs) for text, (a, b) in claims.items()}
    result = pd.DataFrame.from_dict(rows, orient="index").rename_axis("statement")
    margin = result["in standard errors"]
    result["verdict"] = np.select([margin > level, margin < -level], ["holds", "the opposite"], "undecided")
    return result.assign(together=holm(margin))
