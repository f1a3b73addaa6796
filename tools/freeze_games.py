"""The benchmark's games from a run of the breadth study: `python tools/freeze_games.py build/records/breadth/parts`.

Writes `games.npz` beside the data of the package; `insdel_paper.studies.breadth.games` says what is in it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from insdel import Lattice
from insdel.errors import UserError
from insdel_paper.studies.breadth.games import CELL, FILE, areas_of, lattices_of, scale_of


def freeze(folder: Path, file: Path = FILE) -> None:
    """Gather the games that a run kept in a folder (`cells.frozen`, a file per cell) and write them to one file."""
    parts = {path.stem.removeprefix("games-"): dict(np.load(path)) for path in sorted(folder.glob("games-*.npz"))}
    if not parts:
        raise UserError(f"{folder} must hold the games of a run; found none. Carry out `insdel record breadth` first.")
    labels = [(label.split("-", 1)[0], *label.split("-", 1)[1].rsplit("-", 1)) for label in parts]
    lattices: list[Lattice] = []
    rows: dict[str, list[list[float]]] = {str(name): [] for part in parts.values() for name in part["methods"]}
    for part in parts.values():
        said = dict(zip(map(str, part["methods"]), part["said"], strict=True))
        own, places = lattices_of(part["values"], part["d"]), np.cumsum(part["d"])[:-1]
        lattices += own
        for name, areas in rows.items():
            vectors = np.split(said[name], places) if name in said else [None] * len(own)
            areas += [[np.nan] * 2 if v is None else areas_of(g, v) for g, v in zip(own, vectors, strict=True)]
    cell = np.repeat(np.arange(len(parts)), [len(part["d"]) for part in parts.values()])
    cells, scale = pd.DataFrame(labels, columns=CELL), np.array([scale_of(lattice) for lattice in lattices])
    np.savez_compressed(
        file, cells=cells.to_numpy(dtype=str), cell=cell.astype(np.int16), scale=scale,
        d=np.array([lattice.d for lattice in lattices], dtype=np.int8),
        values=np.concatenate([np.asarray(lattice.values) for lattice in lattices]).astype(np.float32),
        methods=np.array(list(rows)), areas=np.array(list(rows.values()), dtype=np.float32))  # fmt: skip


if __name__ == "__main__":
    freeze(Path(sys.argv[1]))
