"""The claims of the paper: place, statement, and a check that derives the verdict from sympy or from `results/`.

`claims.yml` holds the statements; `RULES` of each module says how one is checked. `insdel claims` prints the findings,
`check` judges a run of your own. `stated.json` holds the verdicts that the book states, `numbers.json` the numbers
behind them; a test derives every one anew.
"""

from __future__ import annotations

from insdel_paper.claims.catalogue import CLAIMS, FINDINGS, check, over_runs
from insdel_paper.claims.stated import derive, disagreements, state, stated
from insdel_paper.claims.verdict import CANNOT, HOLDS, NOT, PART, UNDECIDED, VERDICTS, Claim, Figure, Finding


def all_claims() -> list[Claim]:
    """Return every claim of the paper, each with its place, its statement and a check on recorded results."""
    return list(CLAIMS)


__all__ = [
    "CANNOT",
    "CLAIMS",
    "FINDINGS",
    "HOLDS",
    "NOT",
    "PART",
    "UNDECIDED",
    "VERDICTS",
    "Claim",
    "Figure",
    "Finding",
    "all_claims",
    "check",
    "derive",
    "disagreements",
    "over_runs",
    "state",
    "stated",
]
