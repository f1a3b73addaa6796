"""A table of one's own: a CSV becomes a data frame of features; what was left out is noted, what is wrong is refused.

One column stays one feature, so that a walk from x to x′ changes it as a whole. All problems of a file are found before
one message names them.
"""

from __future__ import annotations

import codecs
import csv as csv_format
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError, listed

MOST_VALUES = 20  # text with more different values than this, and than half of the rows, is hardly a category
MARKS = (",", ";", "\t")
LOOKED_AT = 200  # lines by which the separator is chosen
ID = re.compile(r"(^|[_\W])(id|uuid|key|index|nr|no|number)$|[a-z]I[dD]$|^unnamed", re.IGNORECASE)
NUMBERS = {  # as text, by the decimal mark; the other mark may separate thousands
    ".": re.compile(r"[+-]?(?=[.\d])(\d+|\d{1,3}(,\d{3})+)?(\.\d+)?"),
    ",": re.compile(r"[+-]?(?=[,\d])(\d+|\d{1,3}(\.\d{3})+)?(,\d+)?"),
}
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}\.\d{1,2}\.\d{4}")


@dataclass(frozen=True)
class Table:
    """A table ready for a model.

    features : (rows, n) numbers, text and dates; the index counts rows from 1, the line below the header
    target : (rows,) what the model predicts, under its name
    what : in one line, where the rows come from
    notes : what was left out or taken for something, and why, a sentence each
    """

    features: pd.DataFrame
    target: pd.Series
    what: str
    notes: tuple[str, ...] = ()


class Problems(list[str]):
    """What is wrong, gathered until `refuse` says all of it in one message."""

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep the message of a mistake that the block finds, and go on."""
        try:
            yield
        except (UserError, FileNotFoundError) as error:
            self += str(error).removeprefix("found several problems:\n- ").split("\n- ")

    def refuse(self) -> None:
        """Raise one error if anything was found."""
        if self:
            several = "found several problems:\n- " + "\n- ".join(self)
            raise UserError(self[0] if len(self) == 1 else several)


def read(
    csv: str | Path,
    target: Any,
    *,
    drop: Sequence[Any] = (),
    keep: Sequence[Any] = (),
    categorical: Sequence[Any] = (),
    fitted: Sequence[str] | None = None,
) -> Table:
    """Read a CSV and decide which of its columns are features.

    Parameters
    ----------
    csv : path of a file with a header; separated by commas, semicolons or tabs
    target : the column that is predicted
    drop : columns to leave out
    keep : columns that are features although they look like ids or free text
    categorical : columns of numbers that are categories
    fitted : the columns that the model was fitted to, if it is known: these are the features, whatever they look like
    """
    path = Path(csv)
    frame, notes = read_file(path)
    present, problems = listed(list(frame.columns)), Problems()
    spaced = {name.replace(" ", "_"): name for name in frame}  # LightGBM writes names without spaces
    fitted = [name if name in frame else spaced.get(name, name) for name in fitted or ()]
    drop, keep, categorical = (list(map(str, names)) for names in (drop, keep, categorical))
    if target is None:
        problems.append(f"{path.name} needs target, the column that is predicted; the columns are: {present}.")
    named = [*([] if target is None else [str(target)]), *drop, *keep, *categorical]
    unknown = list(dict.fromkeys(name for name in named if name not in frame))
    if unknown:
        problems.append(f"{path.name} has no column {', '.join(unknown)}; the columns are: {present}.")
    if str(target) in drop:
        problems.append(f"{target} cannot be the target and dropped at once.")
    answer = frame.get(str(target), pd.Series(dtype=float))
    features = frame.drop(columns=[str(target), *drop], errors="ignore")
    lost = [name for name in fitted if name not in features]
    if lost:
        problems.append(f"the model was fitted to columns that are missing here: {listed(lost)}.")
    fitted = [name for name in fitted if name in features]
    features, more = select_features(features, {*keep, *categorical}, fitted, problems)
    if features.shape[1] < 2 and not lost:
        found = f"{path.name} has {listed(list(features.columns))}. {' '.join(more)}".strip()
        problems.append(f"a ranking needs at least two features, but {found}")
    if len(features) < 2:
        problems.append(f"{path.name} needs at least two rows; it has {len(features)}.")
    problems.refuse()
    features = features.astype({name: "category" for name in categorical if name in features})
    return Table(features, answer.rename(str(target)), f"{len(frame):,} rows of {path.name}", (*notes, *more))


def read_file(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read the file with the separator, the decimal mark and the encoding that fit it, or say where they do not."""
    if not path.is_file():
        raise FileNotFoundError(f"a table needs the path of a CSV file; found none at {path}. Check name and folder.")
    utf16 = path.read_bytes()[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "UTF-16" if utf16 else "utf-8-sig"
    try:
        try:
            text = path.read_text(encoding)
        except UnicodeDecodeError:
            encoding = "Windows-1252"
            text = path.read_text(encoding)
        notes = [] if encoding == "utf-8-sig" else [f"{path.name} is not in UTF-8 and was read as {encoding}."]
        mark, names = _layout(path, text)
        options: dict[str, Any] = {"sep": mark, "names": names, "skiprows": 1, "skipinitialspace": True}
        options |= {"index_col": False, "low_memory": False}
        frame = pd.read_csv(io.StringIO(text), **options)
    except (UnicodeDecodeError, csv_format.Error, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UserError(f"{path.name} needs to be a CSV with a header; reading failed: {error}") from error
    notes += _read_commas(path, frame, mark)
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    blank = [name for name in frame if name.startswith("Unnamed: ") and frame[name].isna().all()]
    return frame.drop(columns=blank), notes


def _read_commas(path: Path, frame: pd.DataFrame, separator: str) -> list[str]:
    """Turn columns of text such as 1,5 or 8,250 into numbers, in place, and say what their commas were taken for."""
    text = {name: frame[name].dropna().astype(str).str.strip() for name in frame if is_text(frame[name])}
    point, comma = ([name for name, part in text.items() if len(part) and part.str.fullmatch(form).all()]
                    for form in NUMBERS.values())  # fmt: skip
    commas = [name for name in comma if name not in point]
    points = [name for name, part in frame.select_dtypes("float").items() if (part % 1 > 0).any()]
    points += [name for name in point if name not in comma]
    if commas and points:
        found = f"found commas in {listed(commas)} and points in {listed(points)}"
        raise UserError(f"the numbers of {path.name} need one decimal mark; {found}. Write points throughout.")
    decimal = bool(commas) or (separator != "," and not points)
    for name in comma if decimal else point:
        plain = text[name].str.replace("." if decimal else ",", "").str.replace(",", ".")
        frame[name] = pd.to_numeric(plain).reindex(frame.index)
    what, read = ("decimal marks", comma) if decimal else ("separators of thousands", point)
    return [f"The commas in {listed(read)} were read as {what}."] if read else []


def _layout(path: Path, text: str) -> tuple[str, list[str]]:
    """The separator, and the names of the columns; every row must have as many fields as the header."""
    lines = text.split("\n")[:LOOKED_AT]

    def evenness(mark: str) -> tuple[float, int]:
        """How well a separator fits the first lines: the share of rows as wide as the header, and its width."""
        widths = [len(row) for row in csv_format.reader(lines, delimiter=mark, skipinitialspace=True) if row] or [0]
        return (float(np.mean([width == widths[0] for width in widths])) if widths[0] > 1 else 0.0, widths[0])

    mark = max(MARKS, key=evenness)
    rows = csv_format.reader(io.StringIO(text), delimiter=mark, skipinitialspace=True)
    header = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(next(rows, []), start=1)]
    wrong = [(number, len(row)) for number, row in enumerate(rows, start=1) if row and len(row) != len(header)]
    problems = Problems()
    if len(header) < 2:
        found = "a single column" if header else "nothing"
        raise UserError(f"{path.name} needs columns separated by commas, semicolons or tabs; found {found}.")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        problems.append(f"every column of {path.name} needs a name of its own; found {listed(twice)} twice.")
    if wrong:
        found = ", ".join(f"row {number} has {count}" for number, count in wrong[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        problems.append(
            f"each row of {path.name} needs the {len(header)} fields of its header; {found}{more} (row 1 is the line "
            "below the header). Is there a separator inside a value? Quote it."
        )
    problems.refuse()
    return mark, header


def is_text(column: pd.Series) -> bool:
    """Whether a column holds text, as it was read."""
    return isinstance(column.dtype, pd.StringDtype) or column.dtype == object


def select_features(
    frame: pd.DataFrame, kept: set[str], fitted: Sequence[str], problems: Problems
) -> tuple[pd.DataFrame, list[str]]:
    """Columns that are features, dates as dates, and a note for each one that is not."""
    notes, parts = [], {}
    if fitted:
        others = [name for name in frame if name not in set(fitted)]
        notes = [f"Left out, as the model was not fitted to it: {listed(others)}."] if others else []
        frame = frame[list(fitted)]
    for name in frame:
        column = frame[name].replace([np.inf, -np.inf], np.nan)
        reason = "" if fitted or name in kept else _reason(column)
        if reason:
            notes.append(f"Left out: {name}, which {reason}.")
            continue
        if is_text(column):
            known = column.dropna().astype(str)
            other = known[pd.to_numeric(known, errors="coerce").isna()]
            if len(known) and known.str.fullmatch(DATE).all():
                column = pd.to_datetime(column, format="mixed", dayfirst=bool(known.str.contains(r"\d\.\d").any()))
                notes.append(f"{name} was read as a date.")
            elif 0 < len(other) < len(known) / 2:  # a few texts among numbers make all of it text
                more = f" (and {len(other) - 1} more)" if len(other) > 1 else ""
                problems.append(
                    f"{name} has numbers in most rows, but {other.iloc[0]!r} in row {other.index[0]}{more}; row 1 "
                    "is the line below the header. Make it a number, or leave it empty."
                )
        parts[name] = column
    constant = [str(name) for name, column in parts.items() if column.nunique() < 2]
    if constant:
        notes.append(f"The same in every row, so no test can tell what it does: {listed(constant)}.")
    return pd.DataFrame(parts, index=frame.index), notes


def _reason(column: pd.Series) -> str:
    """Why a column is no feature; empty if it is one."""
    known, rows = column.dropna(), len(column)
    if not len(known):
        return "has no value in any row"
    if pd.api.types.is_integer_dtype(column) and column.is_unique and rows > 2:
        steps = column.diff().iloc[1:]
        if ID.search(str(column.name)) or (steps == steps.iloc[0]).all():
            return "numbers the rows (to keep it, name it with keep)"
    if is_text(column) and not known.astype(str).str.fullmatch(DATE).all():
        different = known.nunique()
        numbers = pd.to_numeric(known, errors="coerce").notna().mean()
        if different > max(MOST_VALUES, rows / 2) and numbers <= 0.5:
            kind = "an id or free text" if different < rows else "an id"
            return f"has {different} different texts in {rows} rows, as {kind} has (to keep it, name it with keep)"
    return ""
