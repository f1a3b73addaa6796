"""Read a CSV file of numbers, or say in one error everything that is wrong with it."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError

SHOWN = 20
CONFLICT = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}


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
class CheckedTable:
    """The numbers of a file, with the row numbers of the file as index, and what was wrong on the way.

    Attributes
    ----------
    cells : (rows, required columns) DataFrame of floats; NaN where a cell is empty or wrong
    repeated : (rows,) bool, whether the whole line, all columns included, stood in the file before
    """

    path: Path
    cells: pd.DataFrame
    repeated: np.ndarray
    problems: list[Problem]

    def check(self, name: str, allowed: pd.Series | np.ndarray, what: str) -> None:
        """Note the cells of a column where `allowed`, (rows,), is False; cells without a number are left out."""
        bad = self.cells[name][~np.asarray(allowed)].dropna()
        self.problems.extend(Problem(int(row), name, f"{value:g} {what}") for row, value in bad.items())

    def complete_rows(
        self, complete: pd.Series, missing: str, none: Problem, drop_duplicates: bool
    ) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The complete rows, and the counts for the provenance.

        missing, none : what incomplete rows are called; the problem where no row is complete

        Raises
        ------
        DataError : all problems, in the order of the file
        """
        if self.problems:
            raise DataError(self.path, sorted(self.problems, key=lambda p: (p.row or 0, p.column or "")))
        if not complete.any():
            raise DataError(self.path, [none])
        repeated = complete & self.repeated
        rows = self.cells[complete & ~repeated if drop_duplicates else complete].reset_index(drop=True)
        dropped = {missing: int((~complete).sum()), "duplicate of an earlier row": int(complete.sum()) - len(rows)}
        return rows, {"rows_read": len(self.cells), "rows_dropped": dropped, "duplicates": int(repeated.sum())}


def read_table(
    path: Path,
    required: Sequence[str],
    aliases: Mapping[str, str] | None = None,
    may_be_empty: Collection[str] = (),
) -> CheckedTable:
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
    reader = csv.reader(lines)
    header = [(aliases or {}).get(name.strip().lower(), name.strip()) for name in next(reader)]
    problems = _header_problems(header, required)
    problems += [Problem(number, None, f"git conflict marker {line[:7]!r}: resolve the merge")
                 for number, line in enumerate(lines) if line.startswith(CONFLICT)]  # fmt: skip
    if problems:
        raise DataError(path, problems)
    rows: dict[int, list[str]] = {}
    for row in reader:
        if len(row) == len(header):
            rows[reader.line_num - 1] = row
        elif row:
            last = reader.line_num == len(lines) and len(row) < len(header)
            why = ": the file breaks off here (truncated)" if last else ""
            problems.append(Problem(reader.line_num - 1, None, f"has {len(row)} of {len(header)} fields{why}"))
    if not rows:
        raise DataError(path, problems or [Problem(None, None, "has a header but no rows")])
    repeated = pd.Series([",".join(row) for row in rows.values()]).duplicated().to_numpy()
    texts = pd.DataFrame(rows.values(), index=list(rows), columns=header, dtype=object)[list(required)]
    cells = texts.apply(pd.to_numeric, errors="coerce").astype(float)
    for name in required:
        for row, cell in texts[name][~np.isfinite(cells[name])].str.strip().items():
            what = "a number" if np.isnan(cells.loc[row, name]) else "finite"
            if cell.lower() not in MISSING:
                problems.append(Problem(row, name, f"{cell[:40]!r} is not {what}"))
            elif name not in may_be_empty:
                problems.append(Problem(row, name, "is empty"))
    return CheckedTable(path, cells.replace([np.inf, -np.inf], np.nan), repeated, problems)


def _lines(path: Path) -> list[str]:
    """Lines of a text file, or what it is instead of one."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(path, [Problem(None, None, f"is not UTF-8 text ({error.reason})")]) from None
    what = "" if text.strip() else "is empty"
    if text.startswith("version https://git-lfs"):
        what = "is a Git LFS pointer, not the data: run `git lfs pull`"
    elif "\0" in text:
        what = "holds NUL bytes: binary, compressed, or broken off"
    if what:
        raise DataError(path, [Problem(None, None, what)])
    return text.splitlines()


def _header_problems(header: Sequence[str], required: Sequence[str]) -> list[Problem]:
    """What is wrong with the names of the columns."""
    for separator, called in SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            return [Problem(None, None, f"is separated by {called}; commas are needed")]
    twice = sorted({name for name in header if name and header.count(name) > 1})
    problems = [Problem(None, name, f"stands {header.count(name)} times in the header") for name in twice]
    return problems + [Problem(None, name, "is missing from the header") for name in required if name not in header]
