"""Finished chunks of a comparison, kept so that a run that was killed goes on, and never mixes with another."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from insdel.errors import UserError
from insdel.evaluate import Model, Points, predict


class Store:
    """Finished chunks, in memory or, one parquet file each, in a folder that belongs to one comparison."""

    def __init__(self, folder: str | Path | None, identity: Callable[[], dict[str, Any]]) -> None:
        self.tables: dict[int, pd.DataFrame] = {}
        self.folder = Path(folder) if folder is not None else None
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._claim(identity())

    def _claim(self, identity: dict[str, Any]) -> None:
        """Write down what the folder's chunks are, or refuse to mix them with something else."""
        assert self.folder is not None
        note = self.folder / "comparison.json"
        if not note.is_file():
            replace(note, json.dumps(identity, indent=1))
            return
        before = json.loads(note.read_text(encoding="utf-8"))
        changed = [key for key in identity if identity[key] != before.get(key)]
        if changed:
            details = "; ".join(f"{key} was {before.get(key)}, is {identity[key]}" for key in changed)
            raise UserError(
                f"the checkpoint folder {self.folder.name!r} holds another comparison: {details}. "
                "Pass another folder, or delete this one to begin anew."
            )

    def _path(self, first: int) -> Path:
        assert self.folder is not None
        return self.folder / f"pairs_{first:07d}.parquet"

    def has(self, first: int) -> bool:
        """Whether the chunk that begins at this pair is finished."""
        return first in self.tables or (self.folder is not None and self._path(first).is_file())

    def put(self, first: int, table: pd.DataFrame) -> None:
        """Keep a finished chunk."""
        if self.folder is None:
            self.tables[first] = table
        else:
            write_parquet(table, self._path(first))

    def get(self, first: int) -> pd.DataFrame:
        """Return a finished chunk."""
        return self.tables[first] if self.folder is None else pd.read_parquet(self._path(first))


def write_parquet(table: pd.DataFrame, path: Path) -> None:
    """Write a table so that a reader finds all of it or nothing."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    table.to_parquet(partial, index=False, compression="zstd")
    os.replace(partial, path)


def replace(path: Path, text: str) -> None:
    """Write a text file so that a reader finds all of it or nothing."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def model_hash(f: Model, x: Points, reference: Points) -> str:
    """A module by its weights, any other function by what it predicts at the points."""
    if isinstance(f, torch.nn.Module):
        return short_hash(b"".join(k.encode() + v.cpu().numpy().tobytes() for k, v in f.state_dict().items()))
    return short_hash(b"".join(np.asarray(predict(f, points)).tobytes() for points in (x, reference)))


def short_hash(content: bytes) -> str:
    """Sixteen hexadecimal digits that tell contents apart."""
    return hashlib.sha256(content).hexdigest()[:16]


def code_hash() -> str:
    """Hash of the files that the numbers depend on."""
    root = Path(__file__).resolve().parent
    core = ("evaluate.py", "curves.py", "fold.py", "lattice.py", "seeds.py", "comparison.py")
    files = [root / name for name in core]
    return short_hash(b"".join(path.read_bytes() for path in [*files, *sorted((root / "attribution").glob("*.py"))]))
