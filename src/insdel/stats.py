"""Tables of a comparison in a few numbers: means, standard errors, paired differences, wins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

REFERENCES = ("best", "expected")  # rows that no attribution method can win against


def summary(
    table: pd.DataFrame,
    value: str = "abc_per_feature",
    differences: Sequence[tuple[str, str]] = (("kernel_shap", "integrated_gradients"),),
    *,
    bootstrap: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Mean, standard error, bootstrap interval and share of wins per mode and method, and paired differences.

    Parameters
    ----------
    table : from `compare`
    value : the column to summarise
    differences : pairs of methods; "a − b" is added where the table has both

    Returns
    -------
    DataFrame: mode, method, mean, se, low, high, pairs, wins. `wins` is the share of pairs in which no other
    attribution method has a larger value ("best" and "expected" do not take part); missing for differences
    """
    parts = []
    for mode, rows in table.groupby("mode", sort=False):
        wide = rows.pivot_table(index="pair", columns="method", values=value)[list(dict.fromkeys(rows["method"]))]
        rivals = wide.drop(columns=list(REFERENCES), errors="ignore")
        wins = rivals.eq(rivals.max(axis=1), axis=0).mean()
        for a, b in differences:
            if a in wide and b in wide:
                wide[f"{a} − {b}"] = wide[a] - wide[b]
        parts.append(_describe(wide, bootstrap, level, seed).assign(mode=mode, wins=wins))
    columns = ["mode", "method", "mean", "se", "low", "high", "pairs", "wins"]
    return pd.concat(parts).reset_index(names="method")[columns]


def _describe(wide: pd.DataFrame, bootstrap: int, level: float, seed: int) -> pd.DataFrame:
    """Mean, standard error and percentile bootstrap interval of every column; pairs are drawn together."""
    values, m = wide.to_numpy(), len(wide)
    weights = np.random.default_rng(seed).multinomial(m, np.full(m, 1 / m), size=bootstrap) / m
    low, high = np.quantile(weights @ values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    se = values.std(axis=0, ddof=1) / np.sqrt(m) if m > 1 else np.full(values.shape[1], np.nan)
    columns = {"mean": values.mean(axis=0), "se": se, "low": low, "high": high, "pairs": m}
    return pd.DataFrame(columns, index=wide.columns.to_list())
