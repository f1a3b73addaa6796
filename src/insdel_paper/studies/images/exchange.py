"""Is the paper's albatross table printed with its columns exchanged?  [appendix A.1, Table 5]

The statistics and their limits were chosen before the study of all photos was run. Four photos had been
looked at by then; that is where the question comes from.

The photo of the paper is one of CUB's albatrosses, so under either reading the printed table should look
like the tables of those photos.

1. The gain of a table is the mean over its four references of insertion minus deletion AUC. Its p-value is
   its rank among the photos that the network calls albatross, the printed table counted with them: one-sided
   (this low or lower) as printed, two-sided for the columns exchanged.
2. How many photos have deletion above insertion in all four rows, as the printed table has?
3. Strangeness: the distance of a table (root mean square of eight differences) to the nearest other one.
   Its p-value is the share of tables, the printed one included, that are at least as far from their nearest.

Each is computed for both ways to prepare a photo. The verdict is "exchanged" where 1 and 3 both have a
p-value below 0.05 as printed and none below 0.05 exchanged, with both preparations; anything else is open.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from insdel.errors import UserError
from insdel_paper import printed as paper

LIMIT = 0.05
MODES = ("deletion", "insertion")
READINGS = ("as printed", "exchanged")


def printed(reading: str = "as printed") -> pd.DataFrame:
    """The paper's table: one row per reference, columns deletion and insertion, in either reading."""
    table = paper.table("albatross").set_index("reference")[list(MODES)]
    if reading not in READINGS:
        raise UserError(f"reading must be one of {', '.join(READINGS)}, but it is {reading!r}.")
    return table if reading == "as printed" else table.set_axis(MODES[::-1], axis=1)[list(MODES)]


def tables(areas: pd.DataFrame) -> pd.DataFrame:
    """One row per photo: the eight AUCs, columns (reference, mode) in the paper's order.

    areas : photo, reference, mode, auc, of one preparation
    """
    wide = areas.pivot_table(index="photo", columns=["reference", "mode"], values="auc")
    return wide[[(reference, mode) for reference in printed().index for mode in MODES]]


def eight(table: pd.DataFrame) -> np.ndarray:
    """A table as the eight numbers in the order of `tables`."""
    return table[list(MODES)].to_numpy(dtype=float).reshape(-1)


def gain(numbers: np.ndarray) -> np.ndarray:
    """Mean over the references of insertion minus deletion AUC: (..., 8) → (...)."""
    return np.asarray(numbers[..., 1::2] - numbers[..., 0::2]).mean(axis=-1)


def reversed_rows(numbers: np.ndarray) -> np.ndarray:
    """In how many of the four rows deletion lies above insertion: (..., 8) → (...)."""
    return np.asarray(numbers[..., 0::2] > numbers[..., 1::2]).sum(axis=-1)


def distance(numbers: np.ndarray, table: pd.DataFrame) -> np.ndarray:
    """Root mean square of the eight differences: (..., 8) → (...)."""
    return np.sqrt(((numbers - eight(table)) ** 2).mean(axis=-1))


def gain_p(numbers: np.ndarray, reading: str) -> float:
    """Rank of the paper's gain among the photos' as a p-value; one-sided as printed, else two-sided."""
    own, others = gain(eight(printed(reading))), gain(numbers)
    low, high = ((1 + int(count)) / (1 + len(others)) for count in ((others <= own).sum(), (others >= own).sum()))
    return low if reading == "as printed" else min(1.0, 2 * min(low, high))


def strangeness_p(numbers: np.ndarray, reading: str) -> float:
    """Share of all tables, the paper's included, that are at least as far from their nearest neighbour."""
    every = np.vstack([numbers, eight(printed(reading))])
    apart = np.sqrt(((every[:, None] - every[None]) ** 2).mean(axis=-1))
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1)
    return float((nearest >= nearest[-1]).mean())


def verdict(areas: pd.DataFrame) -> pd.DataFrame:
    """The statistics, one row per preparation and reading.

    areas : photo, preparation, reference, mode, auc
    """
    rows = []
    for preparation, part in areas.groupby("preparation", sort=False):
        numbers = tables(part).to_numpy(dtype=float)
        for reading in READINGS:
            rows.append({
                "preparation": preparation, "reading": reading, "photos": len(numbers),
                "gain": float(gain(eight(printed(reading)))), "gain_p": gain_p(numbers, reading),
                "strangeness_p": strangeness_p(numbers, reading),
                "nearest": float(distance(numbers, printed(reading)).min()),
                "reversed_in_all": int((reversed_rows(numbers) == 4).sum()),
            })  # fmt: skip
    return pd.DataFrame(rows)


def is_refuted(found: pd.DataFrame) -> bool:
    """Whether the table as printed is unlike those of the photos: the first half of the rule."""
    as_printed = found.loc[found["reading"] == "as printed", ["gain_p", "strangeness_p"]]
    return bool((as_printed < LIMIT).all(axis=None))


def is_exchanged(found: pd.DataFrame) -> bool:
    """Whether the statistics of `verdict` say so, by the rule above."""
    smaller = found[["gain_p", "strangeness_p"]] < LIMIT
    as_printed = found["reading"] == "as printed"
    return bool(smaller[as_printed].all(axis=None) and not smaller[~as_printed].any(axis=None))
