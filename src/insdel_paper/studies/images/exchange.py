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

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from insdel.errors import require_one_of
from insdel_paper import printed as paper

LIMIT = 0.05
KEY = ["photo", "preparation"]
MODES = ("deletion", "insertion")
READINGS = ("as printed", "exchanged")


def printed(reading: str = "as printed") -> pd.DataFrame:
    """The paper's table: one row per reference, columns deletion and insertion, in either reading."""
    require_one_of("reading", reading, READINGS)
    table = paper.table("albatross").set_index("reference")[list(MODES)]
    return table if reading == "as printed" else table.set_axis(MODES[::-1], axis=1)[list(MODES)]


def tables(areas: pd.DataFrame, index: Sequence[str] = KEY) -> pd.DataFrame:
    """One row per photo and preparation: the eight AUCs, columns (reference, mode) in the paper's order.

    areas : the columns of `index`, reference, mode, auc
    """
    wide = areas.pivot_table(index=list(index), columns=["reference", "mode"], values="auc", sort=False)
    return wide[list(product(printed().index, MODES))]


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
    """The statistics, one row per preparation and reading, of the areas that `tables` takes."""
    rows = []
    for preparation, part in tables(areas).groupby(level="preparation", sort=False):
        numbers = part.to_numpy(dtype=float)
        rows += [{
            "preparation": preparation, "reading": reading, "photos": len(numbers),
            "gain": float(gain(eight(printed(reading)))), "gain_p": gain_p(numbers, reading),
            "strangeness_p": strangeness_p(numbers, reading),
            "nearest": float(distance(numbers, printed(reading)).min()),
            "reversed_in_all": int((reversed_rows(numbers) == 4).sum()),
        } for reading in READINGS]  # fmt: skip
    return pd.DataFrame(rows)


def is_refuted(found: pd.DataFrame) -> bool:
    """Whether the table as printed is unlike those of the photos: the first half of the rule."""
    return bool((found.loc[found["reading"] == "as printed", ["gain_p", "strangeness_p"]] < LIMIT).all(axis=None))


def is_exchanged(found: pd.DataFrame) -> bool:
    """Whether the statistics of `verdict` say so, by the rule above."""
    exchanged = found.loc[found["reading"] == "exchanged", ["gain_p", "strangeness_p"]]
    return is_refuted(found) and not (exchanged < LIMIT).any(axis=None)


def nearest(areas: pd.DataFrame, count: int = 10) -> pd.DataFrame:
    """The tables that are nearest to the paper's in either reading, nearest first.

    Returns
    -------
    photo, preparation, the distance to each reading, gain, reversed (rows with deletion above insertion)
    """
    wide = tables(areas)
    numbers = wide.to_numpy(dtype=float)
    apart = pd.DataFrame({reading: distance(numbers, printed(reading)) for reading in READINGS}, index=wide.index)
    best = apart.min(axis=1).sort_values(kind="stable").index
    table = apart.assign(gain=gain(numbers), reversed=reversed_rows(numbers))
    return table.loc[best].head(count).reset_index()


def short(photo: str) -> str:
    """A photo's name without what all of them share."""
    return photo.replace("_Albatross_", " ").replace("Black_Footed", "Black-footed")


def with_short_names(table: pd.DataFrame) -> pd.DataFrame:
    """Rows by photo and preparation → rows by "photo, preparation"."""
    return table.set_axis([f"{short(photo)}, {preparation}" for photo, preparation in table.index])


def both_tests(wide: pd.DataFrame) -> pd.DataFrame:
    """Columns (reference, mode) → one column per reference: "deletion / insertion"."""
    cells = wide.map("{:.3f}".format)
    return pd.DataFrame({name: cells[name, "deletion"] + " / " + cells[name, "insertion"] for name in printed().index})


def nearest_table(areas: pd.DataFrame) -> pd.DataFrame:
    """The paper's table in both readings, then the photos, beginning with the nearest."""
    ranked = nearest(areas, len(areas)).set_index(KEY)
    wide = tables(areas).loc[ranked.index]
    ours = both_tests(wide)
    for reading in READINGS:
        ours[f"distance, {reading}"] = ranked[reading].map("{:.3f}".format)
    theirs = pd.DataFrame({f"the paper, {reading}": eight(printed(reading)) for reading in READINGS}, wide.columns).T
    return pd.concat([both_tests(theirs), with_short_names(ours)]).fillna("")


def change_table(changes: pd.DataFrame) -> pd.DataFrame:
    """Means over the photos after each change, and the largest change of any number of any photo.

    changes : photo, what, value, reference, mode, auc; the first rows are the usual settings
    """
    way = ["what", "value"]
    wide = tables(changes, [*way, "photo"])
    usual = wide.xs(wide.index[0][:2], level=way).loc[wide.index.get_level_values("photo")]
    moved = (wide - usual.to_numpy()).abs().groupby(level=way, sort=False)
    return both_tests(wide.groupby(level=way, sort=False).mean()).assign(**{
        "mean change": moved.mean().mean(axis=1).map("{:.3f}".format),
        "largest change": moved.max().max(axis=1).map("{:.3f}".format),
    })  # fmt: skip
