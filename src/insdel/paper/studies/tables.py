"""The experiments' tables as the chapters show them: beside the paper's, and as statements in standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from insdel import paper
from insdel.attribution import METHODS
from insdel.paper import results
from insdel.stats import summary

Side = tuple[str, str]  # method and mode
REFERENCES = {"best": "best of all orders", "expected": "mean of all orders"}
POLICIES = {"one_to_one": "one-to-one"}
CORRELATED = ("kernel_shap", "integrated_gradients")


def title(method: str) -> str:
    """The name of a method or a policy as the paper prints it; a difference "a − b" has the short one of IG."""
    names = {name: known.title for name, known in METHODS.items()} | REFERENCES | POLICIES
    if " − " in method:
        names |= {"integrated_gradients": "IG"}
    return " − ".join(names.get(part, part) for part in method.split(" − "))


def beside_paper(table: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Mean ABC / n and standard error of every method, beside the printed ones.

    Parameters
    ----------
    table : from `compare`
    printed : rows of `paper.table` for one policy

    Returns
    -------
    DataFrame by test and method: mean, se, paper, paper se, apart. `apart` is the difference of the means in
    combined standard errors, (mean − paper) / √(se² + paper se²); missing where the paper prints nothing
    """
    ours = summary(table, differences=[CORRELATED], bootstrap=0)[["mode", "method", "mean", "se"]]
    theirs = printed[["mode", "method", "mean", "se"]].rename(columns={"mean": "paper", "se": "paper se"})
    both = ours.merge(theirs, how="left", on=["mode", "method"])
    both["apart"] = (both["mean"] - both["paper"]) / np.hypot(both["se"], both["paper se"])
    both["method"] = both["method"].map(title)
    return both.rename(columns={"mode": "test"}).set_index(["test", "method"])


def plus_minus(mean: float, se: float, digits: int = 2) -> str:
    """Return "mean ± se" with spaces at which no line breaks."""
    return f"{mean:.{digits}f}\u00a0±\u00a0{se:.{digits}f}"


def compact(shown: pd.DataFrame, digits: int = 2) -> pd.DataFrame:
    """The same table with "mean ± se" in one cell, for several experiments side by side.

    shown : from `beside_paper`
    """
    def cell(mean: float, se: float) -> str:
        return "" if np.isnan(mean) else plus_minus(mean, se, digits)

    ours = [cell(*row) for row in shown[["mean", "se"]].to_numpy()]
    theirs = [cell(*row) for row in shown[["paper", "paper se"]].to_numpy()]
    apart = ["" if np.isnan(value) else f"{value:+.1f}" for value in shown["apart"]]
    return pd.DataFrame({"ours": ours, "paper": theirs, "apart": apart}, index=shown.index)


def several(found: Mapping[str, pd.DataFrame], printed: pd.DataFrame, digits: int = 2) -> pd.DataFrame:
    """Several runs of one experiment and the printed numbers, a column each, and how far they are apart.

    Parameters
    ----------
    found : name of a run → its table, from `compare`; how far "live" is apart is left out if there are others
    printed : rows of `paper.table` for one policy

    Returns
    -------
    DataFrame by test and method, cells "mean ± se"; empty where a run, or the paper, has no such method
    """
    parts = {name: compact(beside_paper(table, printed), digits) for name, table in found.items()}
    columns = {name: part["ours"] for name, part in parts.items()}
    columns["paper"] = pd.concat([part["paper"] for part in parts.values()]).groupby(level=[0, 1], sort=False).first()
    judged = [name for name in parts if name != "live"] or ["live"]
    columns |= {f"apart: {name}" if judged[1:] else "apart": parts[name]["apart"] for name in judged}
    return pd.concat(columns, axis=1, sort=False).fillna("").loc[columns["paper"].index]


def printed(name: str, policy: str | None = None) -> pd.DataFrame:
    """Return the printed table of an experiment and policy: "bangalore", or "cern" with one of its three policies."""
    if name == "bangalore":
        return paper.table("bangalore")
    if policy == "counterfactual":
        return paper.table("cern_counterfactual")
    return paper.table("cern_policies").query("policy == @policy")


def wide(table: pd.DataFrame, value: str = "abc_per_feature") -> pd.DataFrame:
    """One row per pair, one column per (method, mode)."""
    return table.pivot_table(index="pair", columns=["method", "mode"], values=value)


def paired(table: pd.DataFrame, a: Side, b: Side) -> dict[str, float]:
    """Mean of the paired difference a − b of ABC / n, its standard error, and the mean in standard errors.

    a, b : (method, mode), for instance ("kernel_shap", "insertion")
    """
    columns = wide(table)
    difference = columns[a] - columns[b]
    mean, se = float(difference.mean()), float(difference.sem())
    ratio = mean / se if se else float(np.copysign(np.inf, mean)) if mean else 0.0
    return {"difference": mean, "se": se, "in standard errors": ratio}


def statements(table: pd.DataFrame, claims: Mapping[str, tuple[Side, Side]], level: float = 2.0) -> pd.DataFrame:
    """For each claim "the first is larger than the second": the paired difference, and what it says.

    Returns
    -------
    DataFrame by statement: difference, se, in standard errors, verdict ("holds" or "the opposite" beyond
    `level` standard errors, else "undecided")
    """
    rows = {text: paired(table, a, b) for text, (a, b) in claims.items()}
    found = pd.DataFrame.from_dict(rows, orient="index").rename_axis("statement")
    ratio = found["in standard errors"]
    found["verdict"] = np.select([ratio > level, ratio < -level], ["holds", "the opposite"], "undecided")
    return found


def correlations(table: pd.DataFrame, differing: pd.Series) -> dict[str, float]:
    """A row of Table 4: mean number of differing features, correlation of insertion and deletion ABC."""
    columns = wide(table)
    found = {m: columns[m, "insertion"].corr(columns[m, "deletion"]) for m in CORRELATED if m in columns}
    return {"differing": float(differing.mean()), **{method: float(value) for method, value in found.items()}}


def record(name: str) -> tuple[pd.DataFrame, str] | None:
    """A recorded table and one line about it; None if there is no such record."""
    if not results.exists(name):
        return None
    table, about = results.load(name)
    return table, told(about)


def told(about: Mapping[str, Any]) -> str:
    """One line about a record: how many pairs, which data, when, how long."""
    minutes, parts = about["seconds"] / 60, about["hardware"].split(", ")
    machine = parts[0].split(" (")[0] if parts[-1] == "no GPU" else parts[-1]
    return (
        f"recorded run of {about['date']}: {about['pairs']:,} pairs, {about['data']['what']}, "
        f"R² {about['r2']:.3f}, {minutes:.1f} minutes on {machine}"
    )
