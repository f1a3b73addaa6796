"""The claims of the paper: place, statement, and a check that derives the verdict from sympy or from `results/`.

`insdel claims` prints them. `stated.json` holds the verdicts that the book states, `numbers.json` the
numbers behind them; a test derives every one anew.
"""

from __future__ import annotations

from insdel_paper.claims import bangalore, cern, cost, data, images, overall, roar, theory
from insdel_paper.claims.stated import derive, disagreements, state, stated
from insdel_paper.claims.verdict import CANNOT, FINDINGS, HOLDS, NOT, PART, UNDECIDED, VERDICTS, Claim, Figure, Finding

CLAIMS: list[Claim] = [
    *overall.CLAIMS,
    *theory.CLAIMS,
    *data.CLAIMS,
    *bangalore.CLAIMS,
    *cern.CLAIMS,
    *images.CLAIMS,
    *roar.CLAIMS,
    *cost.CLAIMS,
]


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
    "derive",
    "disagreements",
    "state",
    "stated",
]
