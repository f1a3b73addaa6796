"""One call for every attribution method: `explain`. `METHODS` names them.

The attribution A_j is the effect of changing x_j to x′_j, so all methods share one sign: the
libraries' scores, which say what x's own value adds compared with x′, come with a minus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from insdel.arrays import Array, Points, to_numpy
from insdel.attribution.kernel import Estimate as Estimate
from insdel.attribution.kernel import estimate_shapley as estimate_shapley
from insdel.attribution.registry import Method, check_options, find, resolve
from insdel.errors import UserError
from insdel.evaluate import (
    Groups,
    Model,
    Pairs,
    as_array,
    ends,
)
from insdel.seeds import Seed, pair_seeds

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
    "banzhaf": Method("Banzhaf", False, "exact.banzhaf"),
    "ig_interpolated": Method("IG, binary features interpolated", True, "binary.ig_interpolated"),
    "ig_jump": Method("IG, binary features jump", True, "binary.ig_jump"),
    "greedy": Method("Greedy", False, "orders.greedy"),
}


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
        `progress` (show a bar) are common to most; with `seed=s`, pair i draws its random numbers by (s, i)

    Returns
    -------
    (n,) or (pairs, n) float64: A_j, the effect of changing x_j to x′_j. `insdel.order` ranks them.
    """
    if background is not None and "background" in find(method, METHODS).options and reference is not None:
        options, background = {**options, "background": background}, None  # lime_tabular: how features are distributed
    pairs = Pairs.of(x, reference, groups, background)
    return pairs.restore(explain_pairs(method, f, pairs, **resolve(options, x, int(pairs.x.shape[1]))))


def explain_pairs(method: str, f: Model, pairs: Pairs, **options: Any) -> np.ndarray:
    """A_j of every pair, (pairs, n); gradients by column, then summed by group and averaged over a background."""
    choice = find(method, METHODS)
    options = check_options(method, choice, options)
    if pairs.plain or not choice.by_column:
        return to_numpy(choice.run(f, pairs, **options))
    rows = 1 if pairs.background is None else len(pairs.background)
    if "seed" in options:
        options["seed"] = np.repeat(pair_seeds(options["seed"], len(pairs)), rows, axis=0)
    values = to_numpy(choice.run(f, pairs.every_reference().by_column(), **options))
    return pairs.by_player(values.reshape(len(pairs), rows, -1).mean(axis=1))


def seeded(
    method: str, options: Mapping[str, Any], seed: Seed, pairs: Sequence[int] | np.ndarray
) -> dict[str, Any]:
    """Options with a seed of its own for each of the pairs with these numbers, if the method draws at all."""
    if "seed" not in find(method, METHODS).options:
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
