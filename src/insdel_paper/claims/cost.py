"""Rules about what the methods cost  [abstract, sections 1 and 5]: timed and counted on our machine."""

from __future__ import annotations

import re

import numpy as np

import insdel_paper as paper
from insdel import stats
from insdel_paper.claims import records
from insdel_paper.claims.runs import IG, KS
from insdel_paper.claims.verdict import LIMITS, Answer, Figure, above, rule

GRADIENT = 3.0  # evaluations that a gradient costs: two to three


def seconds(task: str, who: str) -> float:
    """Seconds per pair of a task in the benchmark that begins with these words."""
    table = records.table("bench")
    rows = table[table["task"].str.startswith(task) & (table["who"] == who)]
    pairs = re.search(r"(\d+) pairs", str(rows["task"].iloc[0]))
    return float(rows["seconds"].iloc[0]) / (int(pairs[1]) if pairs else 1)


@rule()
def faster() -> Answer:
    """Time of exact Kernel SHAP over that of IG with 500 steps, per pair of CERN events."""
    ig = seconds("IG, 500 steps", "insdel")
    yield Figure("IG with 500 points, seconds per pair", ig)
    for who in ("insdel", "shap KernelExplainer"):
        times = seconds("exact Shapley values, n = 16", who) / ig
        yield above(f"time of exact Kernel SHAP ({who}) over that of IG", times, None, LIMITS["much faster"])


@rule()
def faster_on_houses() -> Answer:
    """Evaluations per pair of houses: the paper's samples, the exact values, IG's gradients."""
    pairs = records.table("bangalore", "pairs")
    exact, se = stats.mean(2.0 ** pairs["differing"], stats.PairIds.of(pairs))
    ig, limit = GRADIENT * paper.size("points of the sum of IG"), LIMITS["much faster"]
    samples = paper.size("Bangalore: samples of Kernel SHAP")
    yield Figure("exact Kernel SHAP, evaluations per pair", exact, se, samples)
    yield above("paper's Kernel SHAP over IG, evaluations", samples / ig, None, limit)
    yield above("exact Kernel SHAP over IG, evaluations", exact / ig, se / ig, limit)


@rule()
def exponential() -> Answer:
    """Doublings of the time per further feature, fitted to 12 to 20 features: smaller lattices take no time."""
    table = records.table("bench").query("task == 'cost of one lattice'")
    times = dict(zip(table["who"].str.extract(r"(\d+)")[0].astype(int), table["seconds"], strict=True))
    yield from (Figure(f"seconds, {n} features", float(time)) for n, time in times.items())
    large = {n: np.log2(time) for n, time in times.items() if n >= 12}
    slope = float(np.polyfit(list(large), list(large.values()), 1)[0])
    yield above("doublings of the time per feature, from 12 on", slope, None, LIMITS["almost every"])


@rule()
def sampling() -> Answer:
    """Sampled Kernel SHAP at a tenth of the evaluations falls short of the exact ABC by at most 2 %."""
    yield f"{records.about('cost')['data']['what']}; 16 features differ."
    table = records.table("cost")
    rows = table[(table["method"] == KS) & (table["evaluations"] <= table["evaluations"].max() / 10)]
    for mode, part in rows.groupby("mode", sort=False):
        last = part.sort_values("evaluations").iloc[-1]
        whole = float(last["abc_per_feature"] + last["shortfall"])
        text = f"{mode}: share of the exact ABC that {last['evaluations']:,.0f} evaluations reach"
        share, se = float(last["abc_per_feature"]) / whole, float(last["shortfall_se"]) / abs(whole)
        yield above(text, share, se, 1 - LIMITS["tie"])


@rule()
def same_price() -> Answer:
    """IG against the largest Kernel SHAP that may spend no more than IG does."""
    table = records.table("cost").sort_values("evaluations")
    for mode in records.table("cost")["mode"].unique():
        ig = table[(table["method"] == IG) & (table["mode"] == mode)].iloc[-1]
        cheap = table[(table["method"] == KS) & (table["mode"] == mode)]
        rival = cheap[cheap["evaluations"] <= GRADIENT * ig["evaluations"]].iloc[-1]
        gap, se = rival["shortfall"] - ig["shortfall"], float(np.hypot(rival["shortfall_se"], ig["shortfall_se"]))
        yield above(f"{mode}: IG's mean ABC / n minus that of Kernel SHAP at the same price (GeV)", float(gap), se)


@rule()
def roar_cost() -> Answer:
    """Recorded wall time of ROAR with two methods over that of both tests with all methods, on the houses."""
    roar, both = (float(records.about(name)["seconds"]) for name in ("roar_bangalore", "bangalore"))
    yield Figure("insertion and deletion tests, all methods, seconds", both)
    yield above("ROAR over that", roar / both, None, LIMITS["much larger"])
