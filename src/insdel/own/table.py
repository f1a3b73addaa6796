"""A table of the reader's own: a CSV becomes numbers that a model and the tests can use, or an error says why not.

One column stays one feature, so that a walk from x to x′ changes it as a whole. Columns of text with few values
get codes 0, 1, … in alphabetical order; columns that cannot be a feature are refused by name.
"""

from __future__ import annotations

import csv as csv_format
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError

TASKS = ("auto", "regression", "classification")
MOST_VALUES = 20  # a text column with more different values is hardly a category
FEWEST_ROWS = 20  # a fifth is set aside, and pairs are looked for in it
MARKS = (",", ";", "\t")
LOOKED_AT = 200  # lines by which the separator is chosen
SHOWN = 20  # names that a message lists
SNAP = 1e-9  # rounding noise of standardising and back, in units of the column's width


@dataclass(frozen=True)
class Table:
    """A table ready for a model.

    features : (rows, n) numbers; text columns as codes
    target : (rows,) numbers, or class names
    name : of the target
    binary : the columns with two values
    codes : text column → its values; a value's code is its place
    classes : of the target, sorted; empty for regression
    positive : the class whose probability is explained; empty for regression
    what : in one line, where the rows come from
    notes : what was done to them, a sentence each
    """

    features: pd.DataFrame
    target: np.ndarray
    name: str
    binary: tuple[str, ...]
    codes: dict[str, tuple[str, ...]]
    classes: tuple[str, ...]
    positive: str
    what: str
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return list(self.features.columns)

    @property
    def outcome(self) -> np.ndarray:
        """(rows,) what f should predict: the number, or 1 for the explained class and 0 for all others."""
        return (self.target == self.positive).astype(float) if self.classes else self.target

    @property
    def output(self) -> str:
        """What f predicts, in words."""
        return f"probability of {self.name} = {self.positive}" if self.classes else f"predicted {self.name}"

    def describe(self) -> pd.DataFrame:
        """One row per feature: what kind it is, how many values it has, and its range."""
        rows = self.features.agg(["nunique", "min", "max"]).T.rename(columns={"nunique": "values"})
        rows.insert(0, "kind", [self._kind(name) for name in self.names])
        return rows.astype({"values": int}).rename_axis("feature")

    def _kind(self, name: str) -> str:
        if name in self.codes:
            return "text: " + ", ".join(f"{value} = {code}" for code, value in enumerate(self.codes[name]))
        count = self.features[name].nunique()
        return "number" if count > 2 else "two values" if count == 2 else "constant: never differs"

    def value(self, name: str, number: float) -> str:
        """A feature's number as a person would write it."""
        if name in self.codes and float(number).is_integer():
            return self.codes[name][int(number)]
        return f"{number:.4g}"


def read(
    csv: str | Path,
    target: Any,
    *,
    drop: Sequence[Any] = (),
    keep: Sequence[Any] = (),
    task: str = "auto",
    positive: Any = None,
) -> Table:
    """Read a CSV, check its columns and make numbers of them.

    Parameters
    ----------
    csv : path of a file with a header; separated by commas, semicolons or tabs
    target : the column that is predicted
    drop : columns to leave out
    keep : columns of whole numbers that are features although all their values differ
    task : "regression", "classification", or "auto": classes where the target is text or has two values
    positive : the class whose probability is explained; by default the last one
    """
    frame = _read_file(Path(csv))
    features, answer = _choose_columns(frame, target, drop)
    return build(features, answer, f"{len(frame):,} rows of {Path(csv).name}", keep=keep, task=task, positive=positive)


def example(task: str = "auto", positive: Any = None) -> Table:
    """Real rows that come with scikit-learn: diabetes patients (regression) or breast tumours (classification)."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    if task == "classification":
        result = load_breast_cancer(as_frame=True)
        answer = result.target.map(dict(enumerate(result.target_names))).rename("diagnosis")
        what = "569 tumours (real rows: the breast cancer table that comes with scikit-learn)"
    else:
        result = load_diabetes(as_frame=True, scaled=False)
        answer = result.target.rename("progression")
        what = "442 patients (real rows: the diabetes table that comes with scikit-learn)"
    return build(result.data, answer, what, keep=list(result.data.columns), task=task, positive=positive)


def build(
    features: pd.DataFrame,
    answer: pd.Series,
    what: str,
    *,
    keep: Sequence[Any] = (),
    task: str = "auto",
    positive: Any = None,
) -> Table:
    """Check the columns of a data frame and make a table of it; arguments as for `read`."""
    if task not in TASKS:
        raise UserError(f"task must be one of {', '.join(TASKS)}; found {task!r}.")
    for name in _long_texts(features):
        _refuse_nearly_numbers(features[name].dropna())
    features, answer, notes = _complete_rows(features, answer)
    _refuse_ids(features, {str(name) for name in keep})
    coded, codes, text = _coded(features)
    target, classes = _answers(answer, task)
    choice = _positive(classes, positive)
    binary = tuple(name for name in coded if coded[name].nunique() == 2)
    return Table(coded, target, str(answer.name), binary, codes, classes, choice, what, (*notes, *text))


def _read_file(path: Path) -> pd.DataFrame:
    """Read the file with the separator and the decimal mark that fit it, or say in which row they do not."""
    if not path.is_file():
        raise FileNotFoundError(f"csv needs the path of a file; found none at {path}. Check its name and folder.")
    try:
        mark, names = _layout(path)
        options: dict[str, Any] = {"sep": mark, "names": names, "skiprows": 1, "skipinitialspace": True}
        options |= {"index_col": False, "encoding": "utf-8-sig", "skip_blank_lines": True, "low_memory": False}
        frame = pd.read_csv(path, **options)
        return pd.read_csv(path, decimal=",", **options) if _has_decimal_commas(frame) else frame
    except (UnicodeDecodeError, csv_format.Error, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UserError(f"{path.name} needs to be a CSV with a header, in UTF-8; reading failed: {error}") from error


def _layout(path: Path) -> tuple[str, list[str]]:
    """The separator, and the names of the columns; every row must have as many fields as the header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [line for line, _ in zip(file, range(LOOKED_AT), strict=False)]
    mark = max(MARKS, key=lambda mark: _evenness(lines, mark))
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv_format.reader(file, delimiter=mark, skipinitialspace=True)
        header = [name.strip() for name in next(rows, [])]
        _check_header(path, header)
        wrong = [(number, len(row)) for number, row in enumerate(rows, start=1) if row and len(row) != len(header)]
    if wrong:
        result = ", ".join(f"row {number} has {count}" for number, count in wrong[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        needed = f"each row of {path.name} needs the {len(header)} fields of its header"
        advice = "(row 1 is the line below the header). Is there a separator inside a value? Quote it."
        raise UserError(f"{needed}; {result}{more} {advice}")
    return mark, header


def _evenness(lines: list[str], mark: str) -> tuple[float, int]:
    """How well a separator fits the first lines: the share of rows as wide as the header, and its width."""
    rows = [row for row in csv_format.reader(lines, delimiter=mark, skipinitialspace=True) if row]
    width = len(rows[0]) if rows else 0
    return (sum(len(row) == width for row in rows) / len(rows), width) if width > 1 else (0.0, width)


def _check_header(path: Path, names: list[str]) -> None:
    """Refuse a header with a single name, with a name twice, or with a gap."""
    if len(names) < 2:
        result = "a single column" if names else "nothing"
        raise UserError(f"{path.name} needs columns separated by commas, semicolons or tabs; found {result}.")
    gaps = [number for number, name in enumerate(names, start=1) if not name]
    if gaps:
        raise UserError(f"every column of {path.name} needs a name; column {gaps[0]} of {len(names)} has none.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"every column of {path.name} needs a name of its own; found {_shown(twice)} more than once.")


def _has_decimal_commas(frame: pd.DataFrame) -> bool:
    """Whether the numbers of a column are written like 1,5 throughout."""
    texts = (frame[name].dropna().astype(str) for name in frame if _is_text(frame[name]))
    return any(len(text) and bool(text.str.fullmatch(r"\s*-?\d*,?\d+").all()) for text in texts)


def _shown(names: Sequence[str]) -> str:
    """Names in a message; of many the first."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _choose_columns(frame: pd.DataFrame, target: Any, drop: Sequence[Any]) -> tuple[pd.DataFrame, pd.Series]:
    """Part the table into features and target."""
    names, present = [str(name) for name in drop], _shown(list(frame.columns))
    if target is None:
        raise UserError(f"a CSV needs target, the column that is predicted; the columns are: {present}.")
    wrong = [name for name in [str(target), *names] if name not in frame.columns]
    if wrong:
        raise UserError(f"there is no column {', '.join(wrong)}; the columns are: {present}.")
    if str(target) in names:
        raise UserError(f"{target} cannot be the target and dropped at once.")
    features = frame.drop(columns=[str(target), *names])
    if features.shape[1] < 2:
        raise UserError(f"an order needs two features at least; found {', '.join(features.columns) or 'none'}.")
    return features, frame[str(target)]


def _complete_rows(features: pd.DataFrame, answer: pd.Series) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Leave out rows with a missing or infinite value, and say in which columns they were."""
    table = pd.concat([features, answer], axis=1).replace([np.inf, -np.inf], np.nan)
    missing = table.isna().sum()
    gaps = ", ".join(f"{name} ({count})" for name, count in missing[missing > 0].items())
    whole = table.notna().all(axis=1).to_numpy()
    remaining, rows = int(whole.sum()), len(table)
    if remaining < max(FEWEST_ROWS, rows / 2):
        result = f"of {rows} rows {remaining} are complete" + (f"; values are missing in {gaps}" if gaps else "")
        raise UserError(f"at least half of the rows, and {FEWEST_ROWS}, must be complete; {result}. "
                         "Drop these columns or fill the gaps.")  # fmt: skip
    left_out = f"{rows - remaining} of {rows} rows are left out: values are missing in {gaps}."
    notes = [left_out] if remaining < rows else []
    return features[whole].reset_index(drop=True), answer[whole].reset_index(drop=True), notes


def _is_text(column: pd.Series) -> bool:
    return not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def _long_texts(features: pd.DataFrame) -> list[str]:
    """Columns of text with more values than a category has."""
    return [name for name in features if _is_text(features[name]) and features[name].nunique() > MOST_VALUES]


def _refuse_nearly_numbers(column: pd.Series) -> None:
    """Refuse a column of numbers among which a few texts stand: they make all of it text."""
    other = column[pd.to_numeric(column, errors="coerce").isna()]
    if 0 < len(other) < len(column) / 2:
        more = f" (and {len(other) - 1} more)" if len(other) > 1 else ""
        raise UserError(
            f"{column.name} has numbers in most rows, but {other.iloc[0]!r} in row {other.index[0] + 1}{more}; row 1 "
            "is the line below the header. Make it a number, or leave it empty."
        )


def _refuse_ids(features: pd.DataFrame, keep: set[str]) -> None:
    """Refuse columns that number or name the rows, and text that is no category."""
    alike = [name for name in features if features[name].is_unique]
    numbers = [name for name in alike if pd.api.types.is_integer_dtype(features[name]) and name not in keep]
    texts = [name for name in alike if _is_text(features[name])]
    if numbers or texts:
        advice = f" (or keep {', '.join(numbers)}, if that is a quantity)" if numbers else ""
        raise UserError(
            f"a feature must repeat, but every row has its own {' and '.join([*texts, *numbers])}: "
            f"that looks like an id. Drop it{advice}."
        )
    many = _long_texts(features)
    if many:
        seen = "; ".join(f"{n}: {features[n].nunique()} values such as {features[n].iloc[0]!r}" for n in many)
        raise UserError(f"a text column needs at most {MOST_VALUES} different values; found {seen}. "
                         "Drop it, or make it a number (a date, say, days since).")  # fmt: skip


def _coded(features: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]], list[str]]:
    """Numbers for text: codes in alphabetical order."""
    coded, codes = features.copy(), {}
    for name in features:
        if _is_text(features[name]):
            column = features[name].astype(str)
            codes[name] = tuple(sorted(column.unique()))
            coded[name] = column.map({value: code for code, value in enumerate(codes[name])})
    notes = [f"Text as codes, in alphabetical order: {', '.join(codes)}."] if codes else []
    return coded.astype(float), codes, notes


def label(value: Any) -> str:
    """The name of a class: 1.0, 1 and "1" are the same."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return str(int(value)) if number and float(value).is_integer() else str(value)


def _as_number(text: str) -> str:
    """The class that text such as 1.0 means, where classes are numbers."""
    try:
        return label(float(text))
    except ValueError:
        return text


def _answers(answer: pd.Series, task: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The target as numbers, or as class names together with the classes."""
    two, text = answer.nunique() == 2, _is_text(answer) or pd.api.types.is_bool_dtype(answer)
    if answer.nunique() < 2:
        raise UserError(f"the target {answer.name} must vary; all its values are {answer.iloc[0]}.")
    if task == "classification" or (task == "auto" and (text or two)):
        labels = np.array([label(value) for value in answer], dtype=object)
        classes = tuple(dict.fromkeys(label(value) for value in sorted(answer.unique())))
        if len(classes) > MOST_VALUES:
            result = f"{answer.name} has {len(classes)} different values, such as {classes[0]!r}"
            advice = "Is it a number with a comma or a unit?" if text else "Set task=regression."
            raise UserError(f"classification needs at most {MOST_VALUES} classes; {result}. {advice}")
        return labels, classes
    if text:
        raise UserError(f"regression needs numbers, but {answer.name} is text such as {answer.iloc[0]!r}.")
    return answer.to_numpy(float), ()


def _positive(classes: tuple[str, ...], positive: Any) -> str:
    """The class whose probability is explained."""
    if not classes:
        return ""
    choice = classes[-1] if positive is None else label(positive)
    if choice not in classes:
        choice = _as_number(choice)
    if choice not in classes:
        raise UserError(f"positive must be one of the classes {', '.join(classes)}; found {label(positive)!r}.")
    return choice


@dataclass(frozen=True)
class Scale:
    """Standardised points z and columns c: c = center + width · z; columns with two values become 0 and 1.

    center, width : (n,)
    """

    center: np.ndarray
    width: np.ndarray

    @classmethod
    def of(cls, features: pd.DataFrame, binary: Sequence[str], train: np.ndarray) -> Scale:
        """Mean and standard deviation of the rows `train`; lower value and distance for columns with two values."""
        two, learnt = features.columns.isin(list(binary)), features.iloc[train]
        center = np.where(two, features.min(), learnt.mean())
        width = np.where(two, features.max() - features.min(), learnt.std(ddof=0))
        return cls(center, np.where(width > 0, width, 1.0))

    def points(self, columns: pd.DataFrame | np.ndarray) -> np.ndarray:
        """(m, n) standardised."""
        return (np.asarray(columns, float) - self.center) / self.width

    def columns(self, points: Any) -> Any:
        """(m, n) as they stand in the table; in arrays, whole numbers come back whole (a model may count on it)."""
        if hasattr(points, "new_tensor"):  # a tensor: torch takes seconds to import, and a table needs none
            center, width = (points.new_tensor(part) for part in (self.center, self.width))
            return center + width * points
        exact = self.center + self.width * np.asarray(points, float)
        whole = np.round(exact)
        return np.where(np.abs(exact - whole) <= SNAP * (self.width + np.abs(self.center)), whole, exact)


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows set aside, standardised by the former.

    x_train, x_test : (m, n); y_train, y_test : (m,)
    train, test : (m,) their numbers in the table
    """

    scale: Scale
    train: np.ndarray
    test: np.ndarray
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def split(table: Table, share: float = 0.2, seed: int = 0) -> Split:
    """Set a random share of the rows aside."""
    if not 0 < share < 1:
        raise UserError(f"share needs a number between 0 and 1; found {share}.")
    order = np.random.default_rng(seed).permutation(len(table.features))
    count = int(np.ceil(share * len(order)))
    train, test = order[count:], order[:count]
    scale = Scale.of(table.features, table.binary, train)
    points, outcome = scale.points(table.features), table.outcome
    return Split(scale, train, test, points[train], outcome[train], points[test], outcome[test])
