"""The claims of the paper: place, statement, and a check that derives the verdict from sympy or from `results/`.

`insdel claims` prints them. `stated.json` holds the verdicts that the book states; a test derives every one anew.
"""

from __future__ import annotations

from insdel.claims import bangalore, cern, cost, data, images, overall, roar, theory
from insdel.claims.stated import derive, disagreements, state, stated
from insdel.claims.verdict import CANNOT, HOLDS, NOT, PART, VERDICTS, Claim, Figure, Finding

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

__all__ = [
    "CANNOT",
    "CLAIMS",
    "HOLDS",
    "NOT",
    "PART",
    "VERDICTS",
    "Claim",
    "Figure",
    "Finding",
    "derive",
    "disagreements",
    "state",
    "stated",
]
