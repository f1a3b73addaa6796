"""What a search found: its nearest candidates, and their numbers beside the printed ones."""

from __future__ import annotations

import pandas as pd

from insdel_paper.studies.forensics.candidates import SPACE
from insdel_paper.studies.forensics.reading import KEYS, print_of_paper


def leaders(candidates: pd.DataFrame, name: str = "cern", count: int = 5) -> pd.DataFrame:
    """The nearest candidates, a column each: what was chosen, how well it predicts, how near it comes; as text.

    candidates : as `table` gives it, the nearest first
    """
    measures = [column for column in ("r2", "steers", "judges", "correlations") if column in candidates]
    table = candidates.head(count).set_index("candidate")[[*SPACE[name], *measures]].astype(object)
    numbers = table[measures].map("{:.3f}".format)
    return table.assign(**{column: numbers[column] for column in measures}).astype(str).T


def beside_paper(numbers: pd.DataFrame, name: str = "cern", by: str = "candidate") -> pd.DataFrame:
    """Fingerprints beside the print: rows (role, policy, mode, method), a column for the paper and per candidate.

    Parameters
    ----------
    numbers : as `fingerprints`, `nearest` or, with by="change", `variants` give it

    Returns
    -------
    DataFrame; the role is "steers", "judges", or "not printed" for raw features
    """
    wide = numbers.pivot_table(index=KEYS, columns=by, values="value", sort=False)
    paper = print_of_paper(name).set_index(KEYS).reindex(wide.index)
    wide.insert(0, "paper", paper["value"])
    role = paper["steers"].map({True: "steers", False: "judges"}).fillna("not printed").rename("role")
    return wide.set_index(role, append=True).reorder_levels(["role", *KEYS]).sort_index()
