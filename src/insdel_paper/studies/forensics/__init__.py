"""Which training prints the paper's tables? The printed numbers as a fingerprint of the authors' networks.

The appendix prints sizes, dropout, rate and Huber's δ, and leaves the rest open. `SPACE` lists what is open and
what is tried for each. Candidates are trained, explained at a low price (Kernel SHAP from samples) and compared
with the printed tables. Fixed in advance, and never looked at in the search:

* `STEERS`, the rows of Kernel SHAP and of random orders, lead the search;
* `JUDGES`, all other rows and the correlations of Table 4, are kept to judge what it finds.
"""

from __future__ import annotations

from insdel_paper.studies.forensics.candidates import SPACE, candidate, fingerprints, nearest, search, table, train
from insdel_paper.studies.forensics.reading import JUDGES, STEERS, Reading, distances, print_of_paper
from insdel_paper.studies.forensics.rows import FULL_ROWS, Rows, events, houses
from insdel_paper.studies.forensics.tables import beside_paper, leaders

__all__ = [
    "FULL_ROWS", "JUDGES", "SPACE", "STEERS", "Reading", "Rows", "beside_paper", "candidate", "distances",
    "events", "fingerprints", "houses", "leaders", "nearest", "print_of_paper", "search",
    "table", "train",
]  # fmt: skip
