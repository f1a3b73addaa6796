"""Data frames as matrices of numbers, and back: f gets the columns that the user passed, with their names and types.

Numbers stand as they are. Categories, text, dates and whole numbers beyond 2⁵³ stand as codes of their distinct values;
a missing value has the code NaN. A hybrid of two rows is then a hybrid of two rows of numbers, whatever they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError, UserTypeError, listed

NAMES = ("feature_names_in_", "feature_name_", "feature_names_", "feature_names", "feature_name")  # of fitted columns
EXACT_INTEGERS = 2**53  # float64 holds all whole numbers up to here


@dataclass(frozen=True, eq=False)
class Columns:
    """The way back from (m, c) numbers to a data frame.

    names, dtypes : of the c columns
    labels : for each column the distinct values that its codes stand for; None where numbers stand as they are
    order : the columns in the order in which f, a method of a fitted model, was fitted to them; None: as they stand
    """

    names: list[Any]
    dtypes: list[Any]
    labels: list[Any]
    order: list[int] | None = None

    @property
    def coded(self) -> np.ndarray:
        """(c,) booleans: which columns hold codes rather than numbers."""
        return np.array([part is not None for part in self.labels], dtype=bool)

    def frame(self, numbers: np.ndarray) -> pd.DataFrame:
        """Return (m, c) numbers as the data frame that they stand for."""
        places = self.order or range(len(self.names))
        if all(self.labels[j] is None and self.dtypes[j] == np.float64 for j in places):
            return pd.DataFrame(numbers[:, list(places)], columns=[self.names[j] for j in places])
        parts = {j: self._column(j, numbers[:, j]) for j in places}
        frame = pd.DataFrame(dict(enumerate(parts.values())))
        return frame.set_axis([self.names[j] for j in parts], axis=1)

    def _column(self, j: int, numbers: np.ndarray) -> Any:
        dtype, labels = self.dtypes[j], self.labels[j]
        if labels is None:
            return numbers.astype(dtype)
        codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
        if isinstance(dtype, pd.CategoricalDtype):
            return pd.Categorical.from_codes(codes, dtype=dtype)
        filled = bool((codes < 0).any())
        if isinstance(labels, pd.api.extensions.ExtensionArray):  # text in Arrow's storage knows no other way
            return pd.Series(labels.take(codes, allow_fill=filled), dtype=dtype)
        return pd.Series(pd.api.extensions.take(labels, codes, allow_fill=filled), dtype=dtype)


def as_frame(values: Any, names: Sequence[Any] | None) -> pd.DataFrame:
    """Return a series as a frame of one row, arrays as frames with these names, frames as they are."""
    if isinstance(values, pd.DataFrame):
        return values
    if isinstance(values, pd.Series):
        return values.to_frame().T.infer_objects()
    rows = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    return pd.DataFrame(rows.reshape(-1, rows.shape[-1]), columns=names)


def encode(*frames: pd.DataFrame) -> tuple[Columns, list[np.ndarray]]:
    """Return frames with the same columns, in the same order, as float64 matrices, and the way back."""
    names = list(frames[0].columns)
    if len(set(names)) != len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise UserError(f"the columns of a data frame need different names, but {doubled!r} occurs twice.")
    dtypes, labels, numbers = [], [], []
    for j, name in enumerate(names):
        parts = [frame.iloc[:, j] for frame in frames]
        dtype = _common_type(name, parts)
        column = pd.concat([part.astype(dtype) for part in parts], ignore_index=True)
        codes, distinct = _codes(name, column)
        dtypes.append(dtype)
        labels.append(distinct)
        numbers.append(codes)
    matrix = np.stack(numbers, axis=1) if numbers else np.zeros((sum(map(len, frames)), 0))
    cuts = np.cumsum([len(frame) for frame in frames])[:-1]
    return Columns(names, dtypes, labels), np.split(matrix, cuts)


def _common_type(name: Any, parts: list[pd.Series]) -> Any:
    """Return one type for a column of several frames, or say why there is none."""
    types = [part.dtype for part in parts]
    if all(kind == types[0] for kind in types):
        return types[0]
    category = next((kind for kind in types if isinstance(kind, pd.CategoricalDtype)), None)
    if category is not None:
        values = pd.concat([part.astype(object) for part in parts]).dropna()
        strange = values[~values.isin(category.categories)]
        if len(strange):
            raise UserError(
                f"column {name!r} needs the same categories in all data frames, but {strange.iloc[0]!r} is not among "
                f"{listed(category.categories)}. Give both frames one categorical type."
            )
        return category
    if all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in types):
        return np.result_type(*types)
    return np.dtype(object)


def _codes(name: Any, column: pd.Series) -> tuple[np.ndarray, Any]:
    """Return a column as float64 and, if its values are not plain numbers, what the codes stand for."""
    dtype = column.dtype
    plain = isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8
    if plain and (dtype.kind not in "iu" or not len(column) or int(column.abs().max()) <= EXACT_INTEGERS):
        numbers = column.to_numpy().astype(np.float64)
        if np.isinf(numbers).any():
            raise UserError(f"column {name!r} holds infinity; only NaN may mark a missing value. Drop these rows.")
        return numbers, None
    if isinstance(dtype, pd.CategoricalDtype):
        codes, distinct = column.cat.codes.to_numpy(), dtype.categories
    else:
        try:
            codes, distinct = pd.factorize(column)
        except TypeError as error:
            raise UserTypeError(f"column {name!r} holds values that cannot be compared: {error}.") from error
        distinct = distinct.array if isinstance(distinct, pd.Index) else distinct
    return np.where(codes < 0, np.nan, codes).astype(np.float64), distinct


def fitted_names(f: Any) -> list[str] | None:
    """Names of the columns that f, or the model whose method f is, was fitted to; None if nobody can tell."""
    f = getattr(f, "func", f)  # functools.partial
    for holder, attribute in product((getattr(f, "__self__", None), f), NAMES):
        with suppress(Exception):  # a property of a model that is not fitted may raise anything
            found: Any = getattr(holder, attribute, None)
            found = found() if attribute == "feature_name" else found  # a method, of LightGBM's boosters
            if isinstance(found, list | tuple | np.ndarray) and len(found) and not _counted(list(map(str, found))):
                return [str(name) for name in found]
    return None


def _counted(names: list[str]) -> bool:
    """Whether names only count, as libraries give them to the columns of arrays: 0, f0, Column_0, x0."""
    return any([f"{start}{k}" for k in range(len(names))] == names for start in ("", "f", "x", "Column_"))


def fitted_order(f: Any, names: Sequence[Any]) -> list[int] | None:
    """Where the columns that f was fitted to stand among `names`; None if that is the order in which they stand."""
    fitted = fitted_names(f)
    if fitted is None:
        return None
    wanted, present = ([str(name).replace(" ", "_") for name in part] for part in (fitted, names))
    if wanted == present or len(set(present)) != len(present):
        return None
    if set(wanted) != set(present):
        if len(wanted) != len(present) or _counted(present):
            return None
        missing = [name for name in fitted if str(name).replace(" ", "_") not in present]
        raise UserError(
            f"f was fitted to the columns {listed(fitted)}, but x has {listed(names)}. "
            f"Rename or select columns; missing: {listed(missing)}."
        )
    return [present.index(name) for name in wanted]
