"""What the methods cost  [abstract, sections 1 and 5]: timed and counted on our machine."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

import insdel_paper as paper
from insdel import stats
from insdel_paper.claims import records
from insdel_paper.claims.verdict import LIMITS, Figure, Finding, Rule, above, judge


def seconds(task: str, who: str) -> float:
    """Seconds per pair of a task in the benchmark that begins with these words."""
    table = records.table("bench")
    rows = table[table["task"].str.startswith(task) & (table["who"] == who)]
    pairs = re.search(r"(\d+) pairs", str(rows["task"].iloc[0]))
    return float(rows["seconds"].iloc[0]) / (int(pairs[1]) if pairs else 1)


def lattice_growth() -> pd.DataFrame:
    """Seconds of one exact lattice by the number of features."""
    table = records.table("bench")
    rows = table[table["task"] == "cost of one lattice"]
    return pd.DataFrame({"n": rows["who"].str.extract(r"(\d+)")[0].astype(int), "seconds": rows["seconds"]})


def _beside(table: pd.DataFrame, mode: str, ig: pd.Series) -> Figure:
    """IG's ABC over that of the largest Kernel SHAP that costs no more."""
    rivals = table[(table["method"] == "kernel_shap") & (table["mode"] == mode)]
    cheap = rivals[rivals["evaluations"] <= 3 * ig["evaluations"]].sort_values("evaluations").iloc[-1]
    gap = float(cheap["shortfall"] - ig["shortfall"])
    se = float(np.hypot(cheap["shortfall_se"], ig["shortfall_se"]))
    return above(f"{mode}: IG's mean ABC / n minus that of Kernel SHAP at the same price (GeV)", gap, se)


def faster() -> Finding:
    """Time of exact Kernel SHAP over that of IG with 500 steps, per pair of CERN events."""
    ig = seconds("IG, 500 steps", "insdel")
    figures = [Figure("IG with 500 points, seconds per pair", ig)]
    for who in ("insdel", "shap KernelExplainer"):
        ratio = seconds("exact Shapley values, n = 16", who) / ig
        figures.append(above(f"time of exact Kernel SHAP ({who}) over that of IG", ratio, None, LIMITS["much faster"]))
    return judge(figures, "Timed side by side, 16 features that differ.", ["bench"])


def houses_faster() -> Finding:
    """Evaluations per pair of houses: the paper's samples, the exact values, IG's gradients."""
    pairs = records.table("bangalore", "pairs")
    exact = (2.0 ** pairs["differing"]).to_numpy()
    gradient = 3.0  # a gradient costs two to three evaluations
    ig = gradient * paper.size("points of the sum of IG")
    samples = paper.size("Bangalore: samples of Kernel SHAP")
    se = stats.mean(exact, stats.PairIds.of(pairs))[1]
    figures = [
        Figure("exact Kernel SHAP, evaluations per pair", float(exact.mean()), se, samples),
        above("paper's Kernel SHAP over IG, evaluations", samples / ig, None, LIMITS["much faster"]),
        above("exact Kernel SHAP over IG, evaluations", float(exact.mean()) / ig, se / ig, LIMITS["much faster"]),
    ]
    because = (
        "With the paper's 120,000 samples, yes. But the pairs differ in about 12 features only, so that exact values "
        "take fewer evaluations than the samples did."
    )
    return judge(figures, because, ["bangalore"])


def exponential() -> Finding:
    """Doublings of the time per further feature, fitted to 8 to 20 features."""
    result = lattice_growth()
    large = result[result["n"] >= 12]  # smaller lattices are over before the clock ticks
    slope = float(np.polyfit(large["n"], np.log2(large["seconds"]), 1)[0])
    figures = [Figure(f"seconds, {int(n)} features", float(s)) for n, s in result.to_numpy()]
    figures.append(above("doublings of the time per feature, from 12 on", slope, None, LIMITS["almost every"]))
    return judge(figures, "One lattice of the CERN network.", ["bench"])


def sampling() -> Finding:
    """Sampled Kernel SHAP at a tenth of the evaluations falls short of the exact ABC by at most 2 %."""
    table = records.table("cost")
    rows = table[(table["method"] == "kernel_shap") & (table["evaluations"] <= table["evaluations"].max() / 10)]
    figures = []
    for mode, part in rows.groupby("mode", sort=False):
        last = part.sort_values("evaluations").iloc[-1]
        whole = float(last["abc_per_feature"] + last["shortfall"])
        value, se = float(last["abc_per_feature"]) / whole, float(last["shortfall_se"]) / abs(whole)
        text = f"{mode}: share of the exact ABC that {last['evaluations']:,.0f} evaluations reach"
        figures.append(above(text, value, se, 1 - LIMITS["tie"]))
    because = f"{records.about('cost')['data']['what']}; 16 features differ."
    return judge(figures, because, ["cost"])


def same_price() -> Finding:
    """IG against Kernel SHAP that may spend no more than IG does."""
    table = records.table("cost")
    ig = table[table["method"] == "integrated_gradients"]
    figures = []
    for mode, part in ig.groupby("mode", sort=False):
        best = part.sort_values("evaluations").iloc[-1]
        figures.append(_beside(table, mode, best))
    because = (
        "The paper compares IG with exact Kernel SHAP only. A gradient is counted as three evaluations; a negative "
        "number means that Kernel SHAP, sampled at that price, is ahead."
    )
    return judge(figures, because, ["cost"])


def roar_cost() -> Finding:
    """Recorded wall time of ROAR with two methods over that of both tests with all methods, on the houses."""
    times = {name: float(records.about(name)["seconds"]) for name in ("roar_bangalore", "bangalore")}
    figures = [
        Figure("insertion and deletion tests, all methods, seconds", times["bangalore"]),
        above("ROAR over that", times["roar_bangalore"] / times["bangalore"], None, LIMITS["much larger"]),
    ]
    because = "Houses, training included. Our networks of a cell are trained together, which makes ROAR cheaper."
    return judge(figures, because, times)


RULES: dict[str, Rule] = {
    "cost-ig-faster": faster,
    "cost-ig-faster-houses": houses_faster,
    "cost-exponential": exponential,
    "cost-sampling": sampling,
    "cost-roar": roar_cost,
}
OWN: dict[str, Rule] = {"cost-same-price": same_price}  # a question of this book
