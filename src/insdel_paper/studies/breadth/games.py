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
from insdel.errors import UserError
from insdel_paper import data

FILE = Path(data.__file__).parent / "games.npz"
MODES = ("insertion", "deletion")


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
        names = list(dict.fromkeys([*self.areas, *other.areas]))
        unknown = [np.full((len(part.cell), 2), np.nan) for part in (self, other)]
        both = list(zip((self, other), unknown, strict=True))
        parts = [[part.areas.get(name, gap) for part, gap in both] for name in names]
        return Games(
            pd.concat([self.cells, other.cells], ignore_index=True),
            np.concatenate([self.cell, other.cell + len(self.cells)]),
            [*self.lattices, *other.lattices],
            np.concatenate([self.scale, other.scale]),
            {name: np.concatenate(part) for name, part in zip(names, parts, strict=True)},
        )


def areas_of(lattice: Lattice, attributions: Any) -> list[float]:
    """ABC of the order that the attributions (d,) give, insertion and deletion."""
    return [float(lattice.abc(np.asarray(insdel.order(np.asarray(attributions), mode)), mode)) for mode in MODES]


def scale_of(lattice: Lattice) -> list[tuple[float, float]]:
    """Chance and the best area, insertion and deletion."""
    return [(lattice.expected_abc(mode), float(lattice.abc(lattice.best_order(mode), mode))) for mode in MODES]


def gather(cells: pd.DataFrame, parts: Sequence[dict[str, Any]]) -> Games:
    """Games from what `cells.frozen` kept, one part per cell."""
    lattices: list[Lattice] = []
    names = list(dict.fromkeys(str(name) for part in parts for name in part["methods"]))
    rows: dict[str, list[list[float]]] = {name: [] for name in names}
    for part in parts:
        said = dict(zip(map(str, part["methods"]), part["said"], strict=True))
        values, places = np.split(part["values"], np.cumsum(2 ** part["d"].astype(int))[:-1]), np.cumsum(part["d"])[:-1]
        own = [Lattice(v.astype(float), tuple(range(d)), int(d)) for v, d in zip(values, part["d"], strict=True)]
        lattices += own
        for name in names:
            vectors = np.split(said[name], places) if name in said else [None] * len(own)
            rows[name] += [[np.nan] * 2 if v is None else areas_of(g, v) for g, v in zip(own, vectors, strict=True)]
    cell = np.repeat(np.arange(len(parts)), [len(part["d"]) for part in parts])
    scale = np.array([scale_of(lattice) for lattice in lattices])
    return Games(cells, cell, lattices, scale, {name: np.array(part) for name, part in rows.items()})


def freeze(folder: Path, file: Path = FILE) -> Games:
    """Gather the games that a run kept in a folder and write them to one file."""
    paths = sorted(folder.glob("games-*.npz"))
    if not paths:
        raise UserError(f"no games in {folder.name}/; found none. Carry out `insdel record breadth` first.")
    labels = [tuple(path.stem.split("-", 2)[1:2]) + tuple(path.stem.split("-", 2)[2].rsplit("-", 1)) for path in paths]
    games = gather(pd.DataFrame(labels, columns=["table", "family", "policy"]), [dict(np.load(path)) for path in paths])
    np.savez_compressed(
        file, cells=games.cells.to_numpy(dtype=str), cell=games.cell.astype(np.int16),
        d=np.array([lattice.d for lattice in games.lattices], dtype=np.int8),
        values=np.concatenate([np.asarray(lattice.values) for lattice in games.lattices]).astype(np.float32),
        scale=games.scale, methods=np.array(list(games.areas)),
        areas=np.array(list(games.areas.values()), dtype=np.float32))  # fmt: skip
    return games


def load(file: Path = FILE) -> Games:
    """Read frozen games."""
    if not file.is_file():
        raise UserError(f"the benchmark needs its games, {file.name}; found none. Install insdel again.")
    with np.load(file) as stored:
        d, values = stored["d"].astype(int), stored["values"].astype(float)
        parts = np.split(values, np.cumsum(2**d)[:-1])
        lattices = [Lattice(part, tuple(range(k)), int(k)) for part, k in zip(parts, d, strict=True)]
        cells = pd.DataFrame(stored["cells"], columns=["table", "family", "policy"])
        areas = dict(zip(map(str, stored["methods"]), stored["areas"].astype(float), strict=True))
        return Games(cells, stored["cell"].astype(int), lattices, stored["scale"], areas)
