"""The claims of the paper: place, statement, and a check that derives the verdict from sympy or from `results/`.

`claims.yml` holds the statements, each with the rules that check it; the rules are functions of the modules here, by
name. `insdel claims` prints the findings, `check` judges a run of your own. `stated.json` holds the verdicts that the
book states, `numbers.json` the numbers behind them; a test derives every one anew.
"""

from __future__ import annotations

from insdel_paper.claims.catalogue import (
    CLAIMS,
    FINDINGS,
    all_claims,
    check,
    derive,
    disagreements,
    numbers_behind,
    over_runs,
    state,
    stated,
)
from insdel_paper.claims.verdict import CANNOT, HOLDS, NOT, PART, UNDECIDED, VERDICTS, Claim, Figure, Finding

__all__ = [
    "CANNOT", "CLAIMS", "FINDINGS", "HOLDS", "NOT", "PART", "UNDECIDED", "VERDICTS", "Claim", "Figure", "Finding",
    "all_claims", "check", "derive", "disagreements", "numbers_behind", "over_runs", "state", "stated",
]  # fmt: skip
