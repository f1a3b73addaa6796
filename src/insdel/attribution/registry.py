"""What a method is, and how its name and options are checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from insdel.arrays import is_tensor, to_numpy
from insdel.errors import UserError, UserTypeError, require, require_integer
from insdel.evaluate import aligned, feature_names


@dataclass(frozen=True)
class Method:
    """An attribution method.

    title : its name in tables and figures
    needs_gradient : whether f must be differentiable by torch
    where : module and function in this package, such as "orders.random": (f, pairs, **options) → (pairs, n)
    """

    title: str
    needs_gradient: bool
    where: str

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The function; torch is imported for those that differentiate only."""
        module, name = self.where.split(".")
        if self.needs_gradient:
            require("torch", f"{self.title} differentiates f and")
        function: Callable[..., Any] = getattr(import_module(f"insdel.attribution.{module}"), name)
        return function

    @property
    def by_column(self) -> bool:
        """Whether it works on columns and single references, so that groups and backgrounds are formed afterwards."""
        return self.needs_gradient or "binary" in self.options

    @property
    def description(self) -> str:
        """What it computes, in one line."""
        return (inspect.getdoc(self.run) or "").split("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """Its options and their defaults."""
        parameters = inspect.signature(self.run).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def nearest(name: str, known: list[str]) -> str:
    """A question for the nearest of the known names, if one is near."""
    close = get_close_matches(str(name), known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def find(method: str, methods: Mapping[str, Method]) -> Method:
    """Return the method of that name."""
    if method not in methods:
        known = list(methods)
        raise UserError(f"unknown method {method!r}.{nearest(method, known)} Known methods: {', '.join(known)}.")
    return methods[method]


WHOLE = ("samples", "steps", "permutations", "max_features", "chunk")  # options that count something


def check_options(name: str, method: Method, options: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse options that the method does not have, and counts that are not whole; return the others."""
    known = list(method.options)
    for option in options:
        if option not in known:
            hint = nearest(option, known)
            raise UserTypeError(f"{name} has no option {option!r}.{hint} Its options: {', '.join(known)}.")
    counts = {k: v for k, v in options.items() if k in WHOLE and (v is not None or method.options[k] is not None)}
    return {**options, **{option: require_integer(option, value) for option, value in counts.items()}}


def resolve(options: Mapping[str, Any], x: Any, n: int) -> dict[str, Any]:
    """Return options with features and columns that are named as in the data frame x by their places."""
    choice = dict(options)
    if choice.get("background") is not None:
        choice["background"] = aligned(choice["background"], feature_names(x), "background")
    if choice.get("binary") is not None:
        choice["binary"] = feature_mask(choice["binary"], x, n)
    return choice


def feature_mask(chosen: Any, x: Any, n: int) -> np.ndarray:
    """Return features given by index, by name (if x is a data frame) or by a mask as (n,) booleans."""
    values = to_numpy(chosen) if is_tensor(chosen) else np.asarray(list(chosen))
    if values.dtype == bool and values.shape == (n,):
        return values
    names = [str(name) for name in getattr(x, "columns", [])]
    if values.dtype.kind in "UO" and len(values):
        unknown = [str(v) for v in values if str(v) not in names]
        if unknown:
            raise UserError(f"binary names {', '.join(unknown)}, but x has {_columns(names)}. Pass indices or a mask.")
        values = np.array([names.index(str(v)) for v in values])
    if len(values) and (values.dtype.kind not in "iu" or values.min() < -n or values.max() >= n):
        raise UserError(f"binary must hold indices below n = {n}, or be a mask of {n} booleans; found {list(values)}.")
    mask = np.zeros(n, dtype=bool)
    mask[values.astype(np.int64)] = True
    return mask


def _columns(names: list[str]) -> str:
    return f"the columns {', '.join(names)}" if names else "no column names"
