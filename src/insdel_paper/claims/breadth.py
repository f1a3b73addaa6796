"""Rules about the paper's general statements on many tables: the table is the unit  [abstract, sections 5.1 and 7].

What counts was fixed with the study (`studies.breadth.protocol`): a method is ahead if its score, a share of the way
from chance to the best order, is higher by more than what the protocol calls practically equal. "Nearly as good" has
the limit that it has everywhere: to be practically equal is more than the paper claims.
"""

from __future__ import annotations

import numpy as np

from insdel import stats
from insdel_paper.claims import records
from insdel_paper.claims.runs import IG, KS, LIME, METHOD
from insdel_paper.claims.verdict import LIMITS, Answer, Figure, above, rule
from insdel_paper.studies.breadth import analysis
from insdel_paper.studies.breadth.protocol import COMPARISONS, NETWORKS

FAMILIES = {(a, b): families for a, b, families in COMPARISONS}  # other couples: networks, as the paper's


@rule()
def ahead_on_tables(of: list[str], than: list[str]) -> Answer:
    """Score of each of the first less that of each of the second: mean over tables, and its error over tables."""
    cells = records.table("breadth")
    for first in of:
        for second in than:
            a, b = (METHOD[name].replace(LIME, "lime_25") for name in (first, second))
            gaps = analysis.differences(cells, a, b, FAMILIES.get((a, b), NETWORKS))
            text = f"score, {first} minus {second}, {len(gaps)} tables"
            yield above(text, *stats.mean(gaps), LIMITS["ahead"], df=len(gaps) - 1)


@rule()
def nearly_on_tables(scores: list[str]) -> Answer:
    """Mean score of IG over that of KS, for each kind of network; scores : of a test, or "score" of both."""
    cells = records.table("breadth")
    for name in scores:
        for family in NETWORKS:
            wide = analysis.wide(cells.assign(score=cells[name]), [family])[[KS, IG]].dropna()
            means = wide.groupby("table").mean()
            said = "both tests" if name == "score" else name
            text = f"IG over KS, {said}, {family}, {len(means)} tables"
            share = stats.ratio(means[IG], means[KS])
            yield above(text, *share, 1 - LIMITS["close"], df=len(means) - 1)


@rule()
def cheaper_on_tables() -> Answer:
    """Evaluations of exact KS over those of IG, and of KS from 128 samples: geometric mean over tables."""
    cells = records.table("breadth").query("family in @NETWORKS")
    spent = cells.pivot_table(index="table", columns="method", values="evaluations").dropna(subset=[KS, IG])
    for method, name in ((KS, "exact KS"), (f"{KS}_128", "128-sample KS")):
        factor = np.log10(spent[method] / spent[IG])
        text = f"log10 of evaluations, {name} over IG, {len(factor)} tables"
        if method == KS:
            yield above(text, *stats.mean(factor), float(np.log10(LIMITS["much faster"])), df=len(factor) - 1)
        else:
            yield Figure(text, *stats.mean(factor))
