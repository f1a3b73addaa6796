"""Frozen games: the values of all hybrids of some pairs, without rows and without models, and who scores what on them.

`games.npz`, arrays: cells (table, family, policy), cell and d of every game, values (float32, the 2ᵈ values of one game
after the other; bit k of the place says that player k comes from the reference), scale (chance and best of both tests),
methods, areas (their ABC of both tests, NaN where a method does not fit the model).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import insdel
from insdel import Lattice
from insdel.curves import MODES
from insdel.errors import UserError
from insdel_paper import data

FILE = Path(data.__file__).parent / "games.npz"
CELL = ["table", "family", "policy"]


@dataclass(frozen=True, eq=False)
class Games:
    """Games of many cells.

    cells : table, family, policy; one row per cell
    cell : (games,) row of each game's cell
    lattices : the games
    scale : (games, 2, 2) chance and best area, insertion and deletion
    areas : method → (games, 2) areas of its order; NaN where it does not fit the model
    """

    cells: pd.DataFrame
    cell: np.ndarray
    lattices: Sequence[Lattice]
    scale: np.ndarray
    areas: dict[str, np.ndarray]

    def scores(self, areas: np.ndarray) -> pd.DataFrame:
        """Σ (ABC − chance) / Σ (best − chance) per cell, mean of both tests; cells with NaN are left out."""
        above, room = areas - self.scale[..., 0], self.scale[..., 1] - self.scale[..., 0]
        sums = np.zeros((len(self.cells), 2, 2))
        np.add.at(sums, self.cell, np.stack([above, room], axis=-1))
        result = self.cells.assign(score=(sums[..., 0] / sums[..., 1]).mean(axis=1))
        return result.dropna(subset="score").reset_index(drop=True)

    def joined(self, other: Games) -> Games:
        """These games and others; methods that only one of them knows are NaN on the other's."""
        missing = [np.full((len(games.cell), 2), np.nan) for games in (self, other)]
        areas = {name: np.concatenate([self.areas.get(name, missing[0]), other.areas.get(name, missing[1])])
                 for name in self.areas | other.areas}  # fmt: skip
        return Games(
            pd.concat([self.cells, other.cells], ignore_index=True),
            np.concatenate([self.cell, other.cell + len(self.cells)]),
            [*self.lattices, *other.lattices],
            np.concatenate([self.scale, other.scale]),
            areas,
        )


def areas_of(lattice: Lattice, attributions: Any) -> list[float]:
    """ABC of the order that the attributions (d,) give, insertion and deletion."""
    return [float(lattice.abc(np.asarray(insdel.order(np.asarray(attributions), mode)), mode)) for mode in MODES]


def scale_of(lattice: Lattice) -> list[tuple[float, float]]:
    """Chance and the best area, insertion and deletion."""
    return [(lattice.expected_abc(mode), float(lattice.abc(lattice.best_order(mode), mode))) for mode in MODES]


def lattices_of(values: np.ndarray, d: np.ndarray) -> list[Lattice]:
    """Games whose 2ᵈ values stand one after the other; d : (games,)."""
    parts = np.split(values.astype(float), np.cumsum(2 ** d.astype(int))[:-1])
    return [Lattice(part, tuple(range(k)), int(k)) for part, k in zip(parts, d, strict=True)]


def load(file: Path = FILE) -> Games:
    """Read frozen games."""
    if not file.is_file():
        raise UserError(f"the benchmark needs its games, {file.name}; found none. Install insdel again.")
    with np.load(file) as stored:
        areas = dict(zip(map(str, stored["methods"]), stored["areas"].astype(float), strict=True))
        cells, own = pd.DataFrame(stored["cells"], columns=CELL), lattices_of(stored["values"], stored["d"])
        return Games(cells, stored["cell"].astype(int), own, stored["scale"], areas)
