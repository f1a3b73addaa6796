"""Attributions that users bring: their sign, columns and rows matched, summed over groups, checked against f."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError, UserTypeError
from insdel.evaluate import Pairs, aligned

SIGNS = ("shap", "change")
RANKINGS = ("signed", "absolute")
CHANGED_BY = (
    'sign="shap": what x\'s own value adds compared with the reference, as shap, captum and lime return it; '
    'sign="change": the effect of changing x_j to x′_j, as insdel.explain returns it'
)
NEARLY = 0.02  # share of the change that may be missing where attributions are said to add up to it


@dataclass(frozen=True, eq=False)
class Attributions:
    """What a user brings for all rows, (rows, n), or as one ranking, (n,), in the paper's sign.

    names, index : of columns and rows, where they have any
    base : (rows,) what an explainer took for f at the reference; None if unknown
    ranking : "signed", or "absolute" for importances without a direction: both tests then take the largest first
    values : may have a third axis, of outputs, from which `for_class` chooses
    """

    values: np.ndarray
    ranking: str = "signed"
    names: list[Any] | None = None
    index: pd.Index | None = None
    base: np.ndarray | None = None

    def for_class(self, chosen: np.ndarray | int | None) -> Attributions:
        """Return the values of one class, or of one class for each row, where there are several."""
        if self.values.ndim < 3:
            return self
        if _symmetric(self.values):
            raise UserError(
                "these look like interaction values, (rows, n, n). Sum them over the last axis to get SHAP values: "
                "values.sum(axis=2)."
            )
        if chosen is None:
            raise UserError(
                f"these attributions have shape {self.values.shape}, one set for each of several outputs. "
                "Pass f=insdel.proba(classifier, k), whose k is taken, or select one: values[:, :, k]."
            )
        rows, count = np.arange(len(self.values)), self.values.shape[2]
        if np.max(chosen) >= count:
            raise UserError(f"class {np.max(chosen)} is needed, but these attributions are for {count} outputs.")
        picked = np.broadcast_to(np.asarray(chosen), rows.shape)
        base = self.base[rows, picked] if self.base is not None and self.base.ndim == 2 else self.base
        return replace(self, values=self.values[rows, :, picked], base=base)

    def matched(self, pairs: Pairs, rows: pd.Index, label: str) -> Attributions:
        """Return values (pairs, n) and base (pairs,) in the order of the pairs, or say what does not fit."""
        columns = pairs.columns.names if pairs.columns else pairs.by_column().names
        values, base = self.values, self.base
        width, players = pairs.x.shape[1], pairs.n
        if self.names is not None and values.shape[-1] == width:
            frame = pd.DataFrame(np.atleast_2d(values), columns=self.names)
            known = columns if pairs.group is None or columns is not None else None
            values = np.asarray(aligned(frame, known, label)).reshape(values.shape)
        if values.shape[-1] not in {width, players}:
            raise UserError(f"{label} needs {width} columns, those of x; found the shape {values.shape}.")
        if values.shape[-1] == players != width and self.names is not None:
            frame = pd.DataFrame(np.atleast_2d(values), columns=self.names)
            values = np.asarray(aligned(frame, pairs.names, label)).reshape(values.shape)
        if values.ndim == 2:
            place = self._rows(rows, len(pairs), label)
            values, base = values[place], None if base is None else np.broadcast_to(base, len(self.values))[place]
        summed = values if values.shape[-1] == players else pairs.by_player(values)
        return replace(self, values=np.broadcast_to(summed, (len(pairs), players)), base=base, index=None)

    def _rows(self, rows: pd.Index, count: int, label: str) -> Any:
        """Which row of the values belongs to each pair."""
        if self.index is not None and self.index.equals(rows):
            return slice(None)
        counted = self.index is None or self.index.equals(pd.RangeIndex(len(self.values)))
        if not counted and self.index is not None and self.index.is_unique and set(rows) <= set(self.index):
            return self.index.get_indexer(rows)
        if len(self.values) != count:
            raise UserError(f"{label} needs a row for each of the {count} pairs; found {len(self.values)} rows.")
        if not counted and self.index is not None and not isinstance(rows, pd.RangeIndex):
            raise UserError(f"{label} must have the rows of x, by their index; {self.index[:3].tolist()}… are others.")
        return slice(None)


def attributions(values: Any, sign: str | None = None, ranking: str = "signed") -> Attributions:
    """Bring attributions of one's own to `insdel.compare`.

    Parameters
    ----------
    values : (pairs, n), or (n,) as one ranking for all pairs: an array, tensor, data frame or series (columns and rows
        are matched by name), a dictionary from names to numbers, or a `shap.Explanation`, whose sign is known
    sign : "shap", what x's own value adds compared with the reference, as shap, captum and lime say it; "change", the
        effect of changing x_j to x′_j, as `insdel.explain` says it. Not needed for absolute rankings
    ranking : "signed", or "absolute" for importances that know no direction: both tests take the largest first
    """
    if ranking not in RANKINGS:
        raise UserError(f"ranking must be 'signed' or 'absolute', but it is {ranking!r}.")
    explanation = is_explanation(values)
    if sign is None and ranking == "signed" and not explanation:
        raise UserError(f"attributions need a sign, since the wrong one turns every ranking round. {CHANGED_BY}.")
    if sign is not None and sign not in SIGNS:
        raise UserError(f"sign must be 'shap' or 'change', but it is {sign!r}. {CHANGED_BY}.")
    names, index, base = None, None, None
    if explanation:
        names = list(values.feature_names) if values.feature_names is not None else None
        base, one_row = _base(values.base_values), np.ndim(values.values) == 1 or np.ndim(values.data) == 1
        values, sign = np.asarray(values.values)[None] if one_row else values.values, sign or "shap"
        base = base[None] if one_row and base is not None else base
    elif isinstance(values, Mapping):
        names, values = list(values), list(values.values())
    elif isinstance(values, pd.Series):
        names = None if values.index.equals(pd.RangeIndex(len(values))) else list(values.index)
    elif isinstance(values, pd.DataFrame):
        names, index = list(values.columns), values.index
    if names is not None and len(set(map(str, names))) != len(names):
        names = None
    array = _numbers(values)
    if array.ndim == 3 and isinstance(values, list | tuple):  # as older shap has it: an array for each class
        array = np.moveaxis(array, 0, 2)
    if array.ndim == 0 or array.ndim > 3:
        raise UserError(f"attributions must have shape (pairs, n) or (n,); found {array.shape}.")
    signed = np.abs(array) if ranking == "absolute" else -array if sign == "shap" else array
    return Attributions(signed, ranking, names, index, base if ranking == "signed" else None)


def is_explanation(values: Any) -> bool:
    """Whether this is a `shap.Explanation`, or looks like one."""
    return all(hasattr(values, name) for name in ("values", "base_values", "feature_names"))


def _base(values: Any) -> np.ndarray | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _symmetric(values: np.ndarray) -> bool:
    return values.shape[1] == values.shape[2] and np.allclose(values, values.transpose(0, 2, 1))


def _numbers(values: Any) -> np.ndarray:
    values = values.detach().cpu() if hasattr(values, "detach") else values
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise UserTypeError(f"attributions must be numbers, (pairs, n) or (n,); found {kind}.") from error
    if not np.isfinite(array).all():
        raise UserError("attributions must be finite, but NaN or infinity is among them. Fill or drop these rows.")
    return array


def check_against(label: str, given: Attributions, start: np.ndarray, end: np.ndarray) -> None:
    """Warn where attributions add up to the opposite of f(x′) − f(x), or were made against another reference.

    start, end : (pairs,) f(x) and f(x′)
    """
    if given.ranking == "absolute":
        return
    total, change = given.values.sum(axis=1), end - start
    size = np.abs(change).sum()
    if size > 0 and np.abs(total + change).sum() < NEARLY * size:
        warnings.warn(
            f"{label}: the attributions add up to f(x) − f(x′), the opposite of what their sign says. {CHANGED_BY}.",
            stacklevel=4,
        )
    if given.base is not None and given.base.ndim == 1:
        gap = np.abs(given.base - end)
        if gap.mean() > NEARLY * max(size / len(change), np.abs(end).mean() * 1e-6):
            worst = int(gap.argmax())
            warnings.warn(
                f"{label}: explanation and test use different references. The explanation starts from "
                f"{given.base[worst]:.6g}, but f(x′) is {end[worst]:.6g}. Explain against the reference of the test "
                "(shap: masker=reference), or test with background=… of the explainer.",
                stacklevel=4,
            )
