"""The experiments' tables as the chapters show them: beside the paper's, with standard errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

import insdel_paper as paper
from insdel.attribution import METHODS
from insdel.curves import MODES
from insdel.stats import PairIds, correlation, mean, plus_minus, summary
from insdel_paper import results

CORRELATED = ("kernel_shap", "integrated_gradients")
Side = tuple[str, str]  # method and mode
PLACES = {
    "bangalore": "houses",
    "cern_counterfactual": "events, counterfactual",
    "cern_one_to_one": "events, one-to-one",
    "cern_average": "events, average",
}
OTHER_NAMES = {"best": "best of all orders", "expected": "mean of all orders", "one_to_one": "one-to-one"}


def title(method: str) -> str:
    """The name of a method or a policy as the paper prints it; a difference "a − b" has the short one of IG.

    LIME's says how many samples it had, captum's default as in the paper: with more of them it is another method.
    """
    names = {name: known.title for name, known in METHODS.items()} | OTHER_NAMES
    names["lime"] += f" ({METHODS['lime'].options['samples']} samples)"
    if " − " in method:
        names |= {"integrated_gradients": "IG"}
    return " − ".join(names.get(part, part) for part in method.split(" − "))


def wide(table: pd.DataFrame, value: str = "abc_per_feature") -> pd.DataFrame:
    """One row per pair, one column per (method, mode)."""
    return table.pivot_table(index="pair", columns=["method", "mode"], values=value)


def paired(table: pd.DataFrame, a: Side, b: Side, pairs: Any = None) -> dict[str, float]:
    """Mean of the paired difference a − b of ABC / n, its standard error, and the mean in standard errors.

    a, b : (method, mode), for instance ("kernel_shap", "insertion")
    pairs : who is paired with whom, as for `insdel.summary`; without it the standard error is naive
    """
    columns = wide(table)
    value, se = mean(columns[a] - columns[b], PairIds.of(pairs, columns.index))
    margin = value / se if se else float(np.copysign(np.inf, value)) if value else 0.0
    return {"difference": value, "se": se, "in standard errors": margin}


def _means(table: pd.DataFrame, pairs: Any = None) -> pd.DataFrame:
    """Summary of every method, and of Kernel SHAP − IG where the table has both: the paper prints that."""
    couple = [CORRELATED] if set(CORRELATED) <= set(table["method"]) else []
    return summary(table, pairs, couple, bootstrap=0)


def beside_paper(table: pd.DataFrame, printed: pd.DataFrame, pairs: Any = None) -> pd.DataFrame:
    """Mean ABC / n and standard error of every method, beside the printed ones.

    table : from `compare`
    printed : rows of `paper.table` for one policy
    pairs : who is paired with whom, as for `insdel.summary`; without it the standard errors are naive

    Returns a DataFrame by test and method: mean, se, paper, paper se, apart. `apart` is the difference of the means in
    combined standard errors, (mean − paper) / √(se² + paper se²); missing where the paper prints nothing
    """
    theirs = printed[["mode", "method", "mean", "se"]].rename(columns={"mean": "paper", "se": "paper se"})
    both = _means(table, pairs)[["mode", "method", "mean", "se"]].merge(theirs, how="left", on=["mode", "method"])
    both["apart"] = (both["mean"] - both["paper"]) / np.hypot(both["se"], both["paper se"])
    both["method"] = both["method"].map(title)
    return both.rename(columns={"mode": "test"}).set_index(["test", "method"])


def compact(shown: pd.DataFrame, digits: int = 2) -> pd.DataFrame:
    """The table of `beside_paper` with "mean ± se" in one cell, for several experiments side by side."""
    ours = [plus_minus(value, se, digits) for value, se in shown[["mean", "se"]].to_numpy()]
    theirs = [plus_minus(value, se, digits) for value, se in shown[["paper", "paper se"]].to_numpy()]
    apart = ["" if np.isnan(value) else f"{value:+.1f}" for value in shown["apart"]]
    return pd.DataFrame({"ours": ours, "paper": theirs, "apart": apart}, index=shown.index)


def both_errors(table: pd.DataFrame, printed: pd.DataFrame, pairs: Any) -> pd.DataFrame:
    """What shared points do to a table: errors that take the pairs for independent, and errors that know points.

    Returns a DataFrame by test and method: mean, median, naive se, se, factor (se / naive se), paper, paper se
    """
    shown, naive = beside_paper(table, printed, pairs), _means(table)[["median", "se"]].to_numpy().T
    shown = shown.assign(**{"median": naive[0], "naive se": naive[1], "factor": shown["se"] / naive[1]})
    return shown[["mean", "median", "naive se", "se", "factor", "paper", "paper se"]]


def several(
    found: Mapping[str, pd.DataFrame],
    printed: pd.DataFrame,
    digits: int = 2,
    pairs: Mapping[str, pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Several runs of one experiment and the printed numbers, a column each, and how far they are apart.

    found : name of a run → its table, from `compare`; how far "live" is apart is left out if there are others
    printed : rows of `paper.table` for one policy
    pairs : name of a run → who is paired with whom; standard errors of runs that are not in it are naive

    Returns a DataFrame by test and method, cells "mean ± se"; empty where a run, or the paper, has no such method
    """

    parts = {
        name: compact(beside_paper(table, printed, (pairs or {}).get(name)), digits) for name, table in found.items()
    }
    columns = {name: part["ours"] for name, part in parts.items()}
    theirs = pd.concat([part["paper"] for part in parts.values()])
    columns["paper"] = theirs.groupby(level=[0, 1], sort=False).first()
    judged = [name for name in parts if name != "live"] or ["live"]
    columns |= {f"apart: {name}" if judged[1:] else "apart": parts[name]["apart"] for name in judged}
    return pd.concat(columns, axis=1, sort=False).fillna("").loc[columns["paper"].index]


def printed(name: str, policy: str | None = None) -> pd.DataFrame:
    """Return the printed table of an experiment and policy: "bangalore", or "cern" with one of its three policies."""
    if name == "bangalore" or policy == "counterfactual":
        return paper.table(name if name == "bangalore" else "cern_counterfactual")
    return paper.table("cern_policies").query("policy == @policy")


def correlations(one: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, float]:
    """A row of Table 4: mean number of differing features, correlation of insertion and deletion ABC with its error.

    one : from `compare`
    pairs : per pair: pair, row, reference_row, differing

    Returns differing, and for each of `CORRELATED` the correlation and "METHOD se", by the jackknife over points
    """
    columns, result = wide(one), {"differing": float(pairs["differing"].mean())}
    ends = PairIds.of(pairs, columns.index)
    for method in CORRELATED:
        if method in columns:
            value, se = correlation(columns[method, "insertion"], columns[method, "deletion"], ends)
            result |= {method: value, f"{method} se": se}
    return result


def record(name: str) -> tuple[pd.DataFrame, str] | None:
    """A recorded table and one line about it; None if there is no such record."""
    return (results.load(name)[0], describe_record(results.about(name))) if results.exists(name) else None


def recorded_pairs(name: str) -> pd.DataFrame | None:
    """Who is paired with whom in a recorded run: pair, row, reference_row and more; None if that is not recorded."""
    return results.load(name, "pairs")[0] if results.exists(name, "pairs") else None


def newest(name: str) -> str:
    """The record of the same run on genuine events, if there is one."""
    genuine = name.replace("cern_", "cern_genuine_")
    return genuine if results.exists(genuine) else name


def leads(names: Iterable[str]) -> pd.DataFrame:
    """How far Kernel SHAP is ahead of integrated gradients: mean ABC / n of both, a row per record and test.

    Returns a DataFrame by what is compared: mode, KS, IG, difference, difference_se, best, chance; lead and se are
    the difference and its error in percent of KS
    """
    rows = []
    for name in map(newest, names):
        means = _means(results.load(name)[0], recorded_pairs(name)).set_index(["mode", "method"])
        for mode in MODES:
            mean, gap = means["mean"][mode], means.loc[(mode, " − ".join(CORRELATED))]
            shap, gradients = mean[list(CORRELATED)]
            rows.append({
                "what": PLACES[name.replace("genuine_", "")], "mode": mode, "KS": shap, "IG": gradients,
                "difference": gap["mean"], "difference_se": gap["se"], "best": mean.get("best"),
                "chance": mean["random"], "lead": gap["mean"] * (100 / shap), "se": gap["se"] * (100 / shap),
            })  # fmt: skip
    return pd.DataFrame(rows).set_index("what")


def describe_record(about: Mapping[str, Any]) -> str:
    """One line about a record: how many pairs, which data, when, how long."""
    minutes, parts = about["seconds"] / 60, about["hardware"].split(", ")
    machine = parts[0].split(" (")[0] if parts[-1] == "no GPU" else parts[-1]
    return (
        f"recorded run of {about['date']}: {about['pairs']:,} pairs, {about['data']['what']}, "
        f"R² {about['r2']:.3f}, {minutes:.1f} minutes on {machine}"
    )
