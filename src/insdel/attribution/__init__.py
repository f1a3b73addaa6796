"""One call for every attribution method: `explain`. `METHODS` names them.

The attribution A_j is the effect of changing x_j to x′_j, so all methods share one sign: the
libraries' scores, which say what x's own value adds compared with x′, come with a minus.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from insdel.arrays import Array, Points, is_tensor, to_numpy
from insdel.attribution.coalitions import Task
from insdel.attribution.kernel import Estimate as Estimate
from insdel.attribution.kernel import estimate_shapley as estimate_shapley
from insdel.errors import UserError, UserTypeError, require, require_integer
from insdel.evaluate import Groups, Model, Pairs, as_array, ends
from insdel.seeds import Seed, pair_seeds

COMMON = {"chunk": None, "progress": False}  # options of all methods: rows per model call, and a bar


@dataclass(frozen=True)
class Method:
    """An attribution method.

    title : its name in tables and figures
    needs_gradient : whether f must be differentiable by torch
    where : module and function in this package, such as "orders.random": (task, **options) → (pairs, n)
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
    def options(self) -> dict[str, Any]:
        """Its options and their defaults."""
        parameters = inspect.signature(self.run).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY} | COMMON


METHODS = {
    "kernel_shap": Method("Kernel SHAP", False, "kernel.kernel_shap"),
    "integrated_gradients": Method("Integrated Gradients", True, "gradients.integrated_gradients"),
    "deeplift": Method("DeepLIFT", True, "deeplift.deeplift"),
    "vanilla_grad": Method("Vanilla Grad", True, "gradients.vanilla_grad"),
    "input_x_gradient": Method("Input × Gradient", True, "gradients.input_x_gradient"),
    "lime": Method("LIME", False, "lime.lime"),
    "random": Method("Random", False, "orders.random"),
    # beyond the paper
    "lime_tabular": Method("LIME (tabular)", False, "lime.lime_tabular"),
    "occlusion": Method("Occlusion", False, "orders.occlusion"),
    "two_sided": Method("Two-sided occlusion", False, "orders.two_sided"),
    "gradient_shap": Method("Expected gradients", True, "gradients.gradient_shap"),
    "shapley_sampling": Method("Shapley sampling", False, "orders.shapley_sampling"),
    "banzhaf": Method("Banzhaf", False, "kernel.banzhaf"),
    "ig_interpolated": Method("IG, binary features interpolated", True, "binary.ig_interpolated"),
    "ig_jump": Method("IG, binary features jump", True, "binary.ig_jump"),
    "greedy": Method("Greedy", False, "orders.greedy"),
}
COUNTS = ("samples", "steps", "permutations", "max_features", "chunk")  # options that count something


def nearest(name: str, known: list[str]) -> str:
    """A question for the nearest of the known names, if one is near."""
    close = get_close_matches(str(name), known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def find(method: str) -> Method:
    """Return the method of that name."""
    if method not in METHODS:
        known = list(METHODS)
        raise UserError(f"unknown method {method!r}.{nearest(method, known)} Known methods: {', '.join(known)}.")
    return METHODS[method]


def check_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse options that the method does not have, and counts that are not whole; return the others."""
    defaults = find(name).options
    for option in options:
        if option not in defaults:
            hint = nearest(option, list(defaults))
            raise UserTypeError(f"{name} has no option {option!r}.{hint} Its options: {', '.join(defaults)}.")
    counts = {k: v for k, v in options.items() if k in COUNTS and (v is not None or defaults[k] is not None)}
    return {**options, **{option: require_integer(option, value) for option, value in counts.items()}}


def feature_mask(chosen: Any, n: int, columns: Sequence[Any] = ()) -> np.ndarray:
    """Return features given by index, by name (where columns have names) or by a mask as (n,) booleans."""
    values = to_numpy(chosen) if is_tensor(chosen) else np.asarray(list(chosen))
    if values.dtype == bool and values.shape == (n,):
        return values
    if values.dtype.kind in "UO" and len(values):
        names = list(map(str, columns))
        unknown = [str(v) for v in values if str(v) not in names]
        if unknown:
            known = f"the columns {', '.join(names)}" if names else "no column names"
            raise UserError(f"binary names {', '.join(unknown)}, but x has {known}. Pass indices or a mask.")
        values = np.array([names.index(str(v)) for v in values])
    if len(values) and (values.dtype.kind not in "iu" or values.min() < -n or values.max() >= n):
        raise UserError(f"binary must hold indices below n = {n}, or be a mask of {n} booleans; found {list(values)}.")
    return np.isin(np.arange(n), values % n)


def explain(
    method: str,
    f: Model,
    x: Points,
    reference: Points | None = None,
    *,
    groups: Groups | None = None,
    background: Points | None = None,
    **options: Any,
) -> Array:
    """Attribute the change from f(x) to f(x′) to the features, by one of `METHODS`.

    Parameters
    ----------
    method : a name in `METHODS`
    f : maps an (m, n) batch to m numbers; a torch module or function if the method needs gradients
    x, reference : (n,) or (pairs, n); data frames are paired by the names of their columns
    groups : columns that change together, {label: [columns]}; each group is one feature of the result
    background : (rows, n) instead of the reference: f is averaged over hybrids with each of them
    **options : those of the method, `METHODS[method].options`; `chunk` (rows per model call) and
        `progress` (show a bar) are common to all; with `seed=s`, pair i draws its random numbers by (s, i)

    Returns
    -------
    (n,) or (pairs, n) float64: A_j, the effect of changing x_j to x′_j. `insdel.order` ranks them.
    """
    if background is not None and "background" in find(method).options and reference is not None:
        options, background = {**options, "background": background}, None  # lime_tabular: how features are distributed
    pairs = Pairs.of(x, reference, groups, background)
    return pairs.restore(explain_pairs(method, f, pairs, **options))


def explain_pairs(method: str, f: Model, pairs: Pairs, **options: Any) -> np.ndarray:
    """A_j of every pair, (pairs, n); gradients by column, then summed by group and averaged over a background."""
    choice = find(method)
    options = check_options(method, options)
    if options.get("binary") is not None:
        names = () if pairs.columns is None else pairs.columns.names
        options["binary"] = feature_mask(options["binary"], int(pairs.x.shape[1]), names)
    common = {name: options.pop(name) for name in COMMON if name in options}
    if pairs.plain or not (choice.needs_gradient or "binary" in choice.options):  # else it works on columns alone
        return to_numpy(choice.run(Task(f, pairs, **common), **options))
    rows = 1 if pairs.background is None else len(pairs.background)
    if "seed" in options:
        options["seed"] = np.repeat(pair_seeds(options["seed"], len(pairs)), rows, axis=0)
    values = to_numpy(choice.run(Task(f, pairs.every_reference().by_column(), **common), **options))
    return pairs.by_player(values.reshape(len(pairs), rows, -1).mean(axis=1))


def seeded(method: str, options: Mapping[str, Any], seed: Seed, pairs: Sequence[int] | np.ndarray) -> dict[str, Any]:
    """Options with a seed of its own for each of the pairs with these numbers, if the method draws at all."""
    if "seed" not in find(method).options:
        return dict(options)
    return {**options, "seed": pair_seeds(options.get("seed", seed), pairs)}


def completeness(f: Model, x: Points, reference: Points, attributions: Points) -> Array:
    """Σ_j A_j − (f(x′) − f(x)), per pair: 0 for a method that divides up the whole change; (pairs,)."""
    pairs = Pairs.of(x, reference)
    start, end = ends(f, pairs)
    shares = to_numpy(as_array(attributions, "attributions"))
    if shares.size != len(pairs) * pairs.n:
        raise UserError(f"attributions must have shape ({len(pairs)}, {pairs.n}); found {shares.shape}.")
    return pairs.restore(shares.reshape(-1, pairs.n).sum(axis=1) - (end - start))
