"""Attributions that users bring: their sign, columns and rows matched, summed over groups, checked against f."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from insdel.arrays import to_numpy
from insdel.errors import UserError, require_one_of
from insdel.evaluate import Pairs, aligned, as_array

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
        if self.values.shape[1] == self.values.shape[2] and np.allclose(self.values, self.values.transpose(0, 2, 1)):
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
        values, base = self.values, self.base
        width, players = pairs.x.shape[1], pairs.n
        if values.shape[-1] not in {width, players}:
            raise UserError(f"{label} needs {width} columns, those of x; found the shape {values.shape}.")
        if self.names is not None:
            columns = None if pairs.columns is None else pairs.columns.names
            frame = pd.DataFrame(np.atleast_2d(values), columns=self.names)
            known = columns if values.shape[-1] == width else pairs.names
            values = np.asarray(aligned(frame, known, label)).reshape(values.shape)
        if values.ndim == 2:
            place: Any = slice(None)
            index = rows if self.index is None else self.index
            counts, x_counts = (part.equals(pd.RangeIndex(len(part))) for part in (index, rows))  # 0, …, m − 1
            named = not index.equals(rows) and not (counts and (x_counts or not rows.is_unique))
            if named and index.is_unique and rows.isin(index).all():
                place = index.get_indexer(rows)
            elif len(values) != len(pairs):
                raise UserError(f"{label} needs a row for each of the {len(pairs)} pairs; found {len(values)} rows.")
            elif named and not counts and not x_counts:
                raise UserError(f"{label} must have the rows of x, by their index; {index[:3].tolist()}… are others.")
            values, base = values[place], None if base is None else np.broadcast_to(base, len(self.values))[place]
        summed = values if values.shape[-1] == players else pairs.by_player(values)
        return replace(self, values=np.broadcast_to(summed, (len(pairs), players)), base=base, index=None)


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
    require_one_of("ranking", ranking, ("signed", "absolute"))
    explanation = is_explanation(values)
    if sign is None and ranking == "signed" and not explanation:
        raise UserError(f"attributions need a sign, since the wrong one turns every ranking round. {CHANGED_BY}.")
    if sign not in (None, "shap", "change"):
        raise UserError(f"sign must be 'shap' or 'change', but it is {sign!r}. {CHANGED_BY}.")
    names, index, base = None, None, None
    if explanation:
        names = list(values.feature_names) if values.feature_names is not None else None
        one_row = ranking == "signed" if np.ndim(values.values) == 1 else np.ndim(values.data) == 1
        if values.base_values is not None:
            base = np.asarray(values.base_values, dtype=np.float64)[None if one_row else ...]
        values, sign = np.asarray(values.values)[None] if one_row else values.values, sign or "shap"
    elif isinstance(values, Mapping):
        names, values = list(values), list(values.values())
    elif isinstance(values, pd.Series):
        names = None if values.index.equals(pd.RangeIndex(len(values))) else list(values.index)
    elif isinstance(values, pd.DataFrame):
        names, index = list(values.columns), values.index
    texts = [str(name) for name in names or ()]
    doubled = next((text for text in texts if texts.count(text) > 1), None)
    if doubled is not None:
        raise UserError(f"the columns of attributions need different names, but {doubled!r} occurs twice.")
    array = to_numpy(as_array(values, "attributions")).astype(np.float64)
    if array.ndim == 3 and isinstance(values, list | tuple):  # as older shap has it: an array for each class
        array = np.moveaxis(array, 0, 2)
    if array.ndim == 0 or array.ndim > 3:
        raise UserError(f"attributions must have shape (pairs, n) or (n,); found {array.shape}.")
    signed = np.abs(array) if ranking == "absolute" else -array if sign == "shap" else array
    return Attributions(signed, ranking, names, index, base if ranking == "signed" else None)


def is_explanation(values: Any) -> bool:
    """Whether this is a `shap.Explanation`, or looks like one."""
    return all(hasattr(values, name) for name in ("values", "base_values", "feature_names"))


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
