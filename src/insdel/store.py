"""Finished chunks of a table, kept so that a run that was killed goes on, and never mixes with another."""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from insdel.errors import UserError
from insdel.evaluate import progress_off
from insdel.identity import differences

ABOUT = b"insdel"  # the entry of a chunk's file that says what it belongs to


class Store:
    """Finished chunks, in memory or, one parquet file each, in a folder that belongs to one comparison.

    Every file says itself what comparison it is part of (see `insdel.identity`); `comparison.json` says it to people.
    """

    def __init__(self, folder: str | Path | None, identity: Callable[[], dict[str, Any]]) -> None:
        self.tables: dict[int, pd.DataFrame] = {}
        self.folder = Path(folder) if folder is not None else None
        self.identity: dict[str, Any] = {}
        if self.folder is None:
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(f"a checkpoint needs a folder, but {self.folder} is a file. Name another.")
        if importlib.util.find_spec("pyarrow") is None:
            raise UserError("a checkpoint is written as parquet, which needs pyarrow: pip install pyarrow.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.identity = identity()
        note = self.folder / "comparison.json"
        for path in [*sorted(self.folder.glob("pairs_*.parquet")), note]:
            text = _about(path)
            if text is None:
                continue
            result = f"{path.name} does not say of what"
            if text:
                result = "; ".join(differences(json.loads(text), self.identity))
            if result:
                raise UserError(
                    f"the checkpoint folder {self.folder.name!r} holds another comparison: {result}. "
                    "Pass another folder, or delete this one to start again."
                )
        if not note.is_file():
            replace(note, json.dumps(self.identity, indent=1))

    def _path(self, first: int) -> Path:
        return (self.folder or Path()) / f"pairs_{first:07d}.parquet"

    def has(self, first: int) -> bool:
        """Whether the chunk that begins at this pair is finished."""
        return first in self.tables or (self.folder is not None and self._path(first).is_file())

    def put(self, first: int, table: pd.DataFrame) -> None:
        """Keep a finished chunk."""
        if self.folder is None:
            self.tables[first] = table
        else:
            write_parquet(table, self._path(first), json.dumps(self.identity))

    def get(self, first: int) -> pd.DataFrame:
        """Return a finished chunk."""
        return self.tables[first] if self.folder is None else pd.read_parquet(self._path(first))

    def chunks(
        self, total: int, size: int, work: Callable[[slice], pd.DataFrame], *,
        unit: str = " chunks", progress: bool | None = None,
    ) -> list[pd.DataFrame]:  # fmt: skip
        """Work through `total` items, `size` at a time, and return the table of every chunk; finished ones are kept.

        work : gets the slice of a chunk, returns its table
        progress : show a bar (default: on terminals)
        """
        starts = range(0, total, size)
        for first in tqdm(starts, unit=unit, disable=progress_off(progress)):
            if not self.has(first):
                self.put(first, work(slice(first, min(first + size, total))))
        return [self.get(first) for first in starts]


def _about(path: Path) -> str | None:
    """What a file says that it belongs to, "" if nothing; None without it: a damaged one is removed with a warning."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        return None
    try:
        if path.suffix == ".json":
            text = path.read_text(encoding="utf-8")
            json.loads(text)
            return text
        return (pq.read_table(path).schema.metadata or {}).get(ABOUT, b"").decode()
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        warnings.warn(f"{path.name} is damaged ({error}); it is computed again.", stacklevel=4)
        path.unlink()
        return None


def write_parquet(table: pd.DataFrame, path: Path, about: str | None = None) -> None:
    """Write a table so that a reader finds all of it or nothing; `about` says what it is, inside the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = pa.Table.from_pandas(table, preserve_index=False)
    if about is not None:
        content = content.replace_schema_metadata({**(content.schema.metadata or {}), ABOUT: about.encode()})
    with atomic(path) as partial:
        pq.write_table(content, partial, compression="zstd")


def replace(path: Path, text: str) -> None:
    """Write a text file so that a reader finds all of it or nothing."""
    with atomic(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Where to write a file, so that a reader of `path` finds all of it, or what was there before."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
