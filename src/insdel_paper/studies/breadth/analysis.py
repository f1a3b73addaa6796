"""What the cells of the breadth study say to the questions of `protocol`; the unit is the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr, wilcoxon

from insdel.stats import holm_adjusted
from insdel_paper.studies.breadth.protocol import COMPARISONS, NETWORKS, SMALLEST, TREES

CELL = ["table", "family", "policy", "seed"]
GOOD = ("kernel_shap", "kernel_shap_128", "two_sided", "lime_500", "lime_25", "occlusion", "integrated_gradients",
        "deeplift", "treeshap")  # fmt: skip
DRAWS = 4000  # of the bootstrap over tables


def wide(cells: pd.DataFrame, families: Sequence[str] = NETWORKS + TREES) -> pd.DataFrame:
    """Scores, a row per cell of these families and a column per method.

    On networks of many features Kernel SHAP is the one with 1024 samples.
    """
    rows = cells[cells["family"].isin(families)].replace({"method": {"kernel_shap_1024": "kernel_shap"}})
    return rows.pivot_table(index=CELL, columns="method", values="score")


def differences(cells: pd.DataFrame, a: str, b: str, families: Sequence[str]) -> pd.Series:
    """Score of a less that of b, the mean over the cells of each table, (tables,)."""
    scores = wide(cells, families)
    return (scores[a] - scores[b]).dropna().groupby("table").mean()


def tests(cells: pd.DataFrame) -> pd.DataFrame:
    """The protocol's comparisons: a, b, tables, ahead (tables in which a is), median, low, high (95 % bootstrap over
    tables), mean, se, p, adjusted (Holm), worst (the table where a does worst against b), verdict.
    """
    rows = []
    for a, b, families in COMPARISONS:
        gaps = differences(cells, a, b, families)
        draws = np.random.default_rng(0).choice(gaps.to_numpy(), (DRAWS, len(gaps)))
        low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
        rows.append({
            "a": a, "b": b, "tables": len(gaps), "ahead": int((gaps > 0).sum()), "median": float(gaps.median()),
            "low": low, "high": high, "mean": gaps.mean(), "se": gaps.std() / len(gaps) ** 0.5,
            "p": float(wilcoxon(gaps).pvalue), "worst": f"{gaps.idxmin()} ({gaps.min():+.3f})",
        })  # fmt: skip
    result = pd.DataFrame(rows)
    result["adjusted"] = holm_adjusted(result["p"].to_numpy())
    result["verdict"] = [verdict(median, p) for median, p in zip(result["median"], result["adjusted"], strict=True)]
    return result


def verdict(median: float, adjusted: float) -> str:
    """What a median difference and its adjusted p-value say, as fixed in the protocol."""
    if adjusted > 0.05:
        return "not shown"
    if abs(median) < SMALLEST:
        return "practically equal"
    return "ahead" if median > 0 else "behind"


def interactions(cells: pd.DataFrame, a: str = "kernel_shap", b: str = "integrated_gradients") -> dict[str, float]:
    """How the share that is not additive goes with the gap a − b and with a's score, within tables, on networks.

    gap, score : mean over tables of Spearman's correlation over a table's cells; gap_p, score_p : signed-rank
    """
    shares = cells.drop_duplicates(CELL).set_index(CELL)["not_additive"]
    rows = wide(cells, NETWORKS).join(shares).dropna(subset=[a, b, "not_additive"])
    result: dict[str, float] = {}
    for name, values in {"gap": rows[a] - rows[b], "score": rows[a]}.items():
        both = pd.DataFrame({"share": rows["not_additive"], "value": values})
        parts = [part for _, part in both.groupby("table") if len(part) > 2]
        found = [spearmanr(part["share"], part["value"]).statistic for part in parts]
        result |= {name: float(np.mean(found)), f"{name}_p": float(wilcoxon(found).pvalue), "tables": len(found)}
    return result


def variation(cells: pd.DataFrame, a: str = "kernel_shap", b: str = "integrated_gradients") -> dict[str, float]:
    """Standard deviation of the gap a − b between tables, between seeds of a cell, and its error over pairs.

    tables : of the tables' means, the seeds' share taken off (method of moments); pairs : root mean square of the
    cells' standard errors
    """
    scores = wide(cells, NETWORKS)
    gaps = (scores[a] - scores[b]).dropna()
    seeds = gaps.groupby(["table", "family", "policy"]).var().mean()
    by_table = gaps.groupby("table").agg(["mean", "count"])
    between = by_table["mean"].var() - (seeds / by_table["count"]).mean()
    near = cells[cells["family"].isin(NETWORKS) & (cells["method"] == b)]["behind_se"]
    return {"tables": max(between, 0.0) ** 0.5, "seeds": seeds**0.5, "pairs": float((near**2).mean() ** 0.5)}


def nearer(planted: pd.DataFrame) -> pd.DataFrame:
    """Of two good methods on one model, how often is the one with the higher score nearer to the planted truth?

    By function: share, couples
    """
    rows = []
    for (function, _, _), part in planted[planted["method"].isin(GOOD)].groupby(["function", "seed", "family"]):
        score, truth = (part[name].to_numpy() for name in ("score", "agreement"))
        first, second = np.triu_indices(len(part), 1)
        signs = np.sign(score[first] - score[second]) * np.sign(truth[first] - truth[second])
        rows.append({"function": function, "right": (signs > 0).sum(), "couples": (signs != 0).sum()})
    total = pd.DataFrame(rows).groupby("function").sum()
    return total.assign(share=total["right"] / total["couples"])[["share", "couples"]]
