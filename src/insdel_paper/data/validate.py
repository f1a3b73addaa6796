"""Read a CSV file of numbers, or say in one error everything that is wrong with it."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from insdel.errors import UserError

SHOWN = 20
CONFLICT = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a file; row 1 is the line below the header, None means the whole file."""

    row: int | None
    column: str | None
    what: str

    def __str__(self) -> str:
        """`row 17, column 'Area': …`."""
        place = [f"row {self.row}"] if self.row is not None else []
        place += [f"column {self.column!r}"] if self.column is not None else []
        return f"{', '.join(place) or 'file'}: {self.what}"


class DataError(UserError):
    """A data file that cannot be used; `problems` holds all of what is wrong."""

    def __init__(self, path: Path | str, problems: Sequence[Problem]) -> None:
        """Word the message: the first `SHOWN` problems, and how many there are."""
        self.problems = tuple(problems)
        lines = [f"{path} cannot be used, {len(problems)} problem(s) (row 1 is the line below the header):"]
        lines += [f"  {problem}" for problem in problems[:SHOWN]]
        if len(problems) > SHOWN:
            lines.append(f"  … and {len(problems) - SHOWN} more (the exception's .problems has all)")
        lines.append("Correct the file, or load an unchanged copy (`insdel data` says where to get one).")
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class Table:
    """The numbers of a file, with the row numbers of the file as index, and what was wrong on the way.

    Attributes
    ----------
    cells : (rows, required columns) DataFrame of floats; NaN where a cell is empty or wrong
    repeated : (rows,) bool, whether the whole line, all columns included, stood in the file before
    """

    cells: pd.DataFrame
    repeated: np.ndarray
    problems: list[Problem]


def read_table(
    path: Path,
    required: Sequence[str],
    aliases: Mapping[str, str] | None = None,
    may_be_empty: Collection[str] = (),
) -> Table:
    """Read the required columns of a comma-separated file as numbers; further columns are ignored.

    Parameters
    ----------
    aliases : other names of required columns, in lower case
    may_be_empty : columns where an empty cell means a missing value, not a mistake

    Raises
    ------
    DataError : nothing can be read (no such columns, no rows, conflict markers, …)
    """
    lines = _lines(path)
    where, problems = _columns(next(csv.reader(lines[:1])), required, aliases or {})
    problems += [Problem(number, None, f"git conflict marker {line[:7]!r}: resolve the merge")
                 for number, line in enumerate(lines) if line.startswith(CONFLICT)]  # fmt: skip
    if problems:
        raise DataError(path, problems)
    index, rows, problems = _rows(lines)
    if not rows:
        raise DataError(path, problems or [Problem(None, None, "has a header but no rows")])
    seen = pd.Series([",".join(row) for row in rows]).duplicated().to_numpy()
    columns = list(zip(*rows, strict=True))
    values = {}
    for name in required:
        values[name], wrong = _numbers(columns[where[name]], index, name, name in may_be_empty)
        problems += wrong
    return Table(pd.DataFrame(values, index=index), seen, problems)


def refuse(path: Path, problems: Iterable[Problem]) -> None:
    """Raise one `DataError` with all problems, in the order of the file; do nothing if there are none."""
    result = sorted(problems, key=lambda p: (p.row or 0, p.column or ""))
    if result:
        raise DataError(path, result)


def wrong_cells(values: pd.Series, allowed: np.ndarray, what: str) -> list[Problem]:
    """List the cells of one column where `allowed` is False; cells without a number are left out."""
    bad = ~allowed & values.notna().to_numpy()
    return [Problem(int(row), str(values.name), f"{value:g} {what}") for row, value in values[bad].items()]


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(path, [Problem(None, None, f"is not UTF-8 text ({error.reason})")]) from None
    if not text.strip():
        raise DataError(path, [Problem(None, None, "is empty")])
    if text.startswith("version https://git-lfs"):
        raise DataError(path, [Problem(None, None, "is a Git LFS pointer, not the data: run `git lfs pull`")])
    if "\0" in text:
        raise DataError(path, [Problem(None, None, "holds NUL bytes: binary, compressed, or broken off")])
    return text.splitlines()


def _columns(
    header: Sequence[str], required: Sequence[str], aliases: Mapping[str, str]
) -> tuple[dict[str, int], list[Problem]]:
    """Place of every required column, or what is wrong with the header."""
    names = [aliases.get(name.strip().lower(), name.strip()) for name in header]
    for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"), (" ", "blanks")):
        if len(names) == 1 and separator in header[0].strip():
            return {}, [Problem(None, None, f"is separated by {called}; commas are needed")]
    named = [name for name in names if name]
    twice = sorted({name for name in named if named.count(name) > 1})
    problems = [Problem(None, name, f"stands {names.count(name)} times in the header") for name in twice]
    problems += [Problem(None, name, "is missing from the header") for name in required if name not in names]
    return {name: place for place, name in enumerate(names)}, problems


def _rows(lines: Sequence[str]) -> tuple[np.ndarray, list[list[str]], list[Problem]]:
    """Rows with as many fields as the header, their numbers, and the others as problems."""
    reader = csv.reader(lines)
    width = len(next(reader))
    index: list[int] = []
    rows: list[list[str]] = []
    problems = []
    for row in reader:
        if len(row) == width:
            index.append(reader.line_num - 1)
            rows.append(row)
        elif row:
            last = reader.line_num == len(lines) and len(row) < width
            why = ": the file breaks off here (truncated)" if last else ""
            problems.append(Problem(reader.line_num - 1, None, f"has {len(row)} of {width} fields{why}"))
    return np.array(index, dtype=int), rows, problems


def _numbers(
    cells: Sequence[str], index: np.ndarray, name: str, may_be_empty: bool
) -> tuple[np.ndarray, list[Problem]]:
    """One column as floats, and its cells that are not numbers."""
    values = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(float, copy=True)
    problems = []
    for place in np.flatnonzero(~np.isfinite(values)):
        cell = cells[int(place)].strip()
        if cell.lower() in MISSING:
            what = None if may_be_empty else "is empty"
        else:
            what = f"{cell[:40]!r} is not a number" if np.isnan(values[place]) else f"{cell!r} is not finite"
        values[place] = np.nan
        if what:
            problems.append(Problem(int(index[place]), name, what))
    return values, problems
