"""Order the features, walk from x to x′ in that order, and measure the area under the walk.

Section 3.1 of the paper. All functions take one pair, (n,), or many, (pairs, n), as arrays or
tensors, and return what they were given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from insdel.arrays import Array, Points, beside, is_tensor, like, to_numpy
from insdel.errors import UserError, UserTypeError, require_one_of
from insdel.evaluate import Groups, Model, Pairs, all_values, as_array

MODES = ("insertion", "deletion")


def check_mode(mode: str, allowed: tuple[str, ...] = MODES) -> str:
    """Return `mode` if it is one of the allowed ones."""
    return require_one_of("mode", mode, allowed)


def order(attributions: Points, mode: str = "insertion") -> Array:
    """Sort the features by their attributions; ties keep feature order.

    Parameters
    ----------
    attributions : (..., n), the effect of changing x_j to x′_j
    mode : "insertion" (largest first) or "deletion" (smallest first)

    Returns
    -------
    (..., n) feature indices
    """
    check_mode(mode)
    values = as_array(attributions, "attributions")
    if values.ndim == 0:
        raise UserError("attributions must have shape (..., n), but it is a single number.")
    numbers = to_numpy(values)
    if mode == "deletion":
        return like(numbers.argsort(axis=-1, kind="stable"), values)
    backwards = numbers[..., ::-1].argsort(axis=-1, kind="stable")[..., ::-1]
    return like(numbers.shape[-1] - 1 - backwards, values)


def check_order(order: Points, n: int) -> np.ndarray:
    """Return the order(s) as (orders, n) integers, each row a permutation of 0 … n−1."""
    array = to_numpy(order)
    if array.dtype.kind not in "iu":
        raise UserTypeError(f"order must hold feature indices, but its type is {array.dtype}. Use insdel.order(...).")
    if array.ndim not in (1, 2) or array.shape[-1] != n:
        raise UserError(f"order must have shape ({n},) or (pairs, {n}), but its shape is {array.shape}.")
    rows = array.reshape(-1, n).astype(np.int64)
    wrong = (np.sort(rows, axis=1) != np.arange(n)).any(axis=1)
    if wrong.any():
        first = int(wrong.argmax())
        raise UserError(
            f"order must be a permutation of 0, …, {n - 1}, but row {first} is {rows[first].tolist()}: "
            "every feature is needed exactly once, counted from 0."
        )
    return rows


def curve(
    f: Model,
    x: Points,
    reference: Points | None,
    order: Points,
    groups: Groups | None = None,
    *,
    background: Points | None = None,
    chunk: int | None = None,
    progress: bool | None = False,
) -> Array:
    """Predictions while the features of `reference` replace those of `x`, one by one.

    Parameters
    ----------
    x, reference : (n,) or (pairs, n)
    order : (n,) or (pairs, n), the feature changed at each step
    groups : columns that change together, {label: [columns]}; a group is one step, and one number in `order`
    background : (rows, n) instead of the reference: f is averaged over hybrids with each of them
    chunk : hybrids per model call (default: what suits the device)

    Returns
    -------
    (n + 1,) or (pairs, n + 1), the paper's f(x̃⁽⁰⁾), …, f(x̃⁽ⁿ⁾)  [section 3.1]
    """
    pairs = Pairs.of(x, reference, groups, background)
    result = pair_curves(f, pairs, check_order(order, pairs.n), chunk, progress)
    single = pairs.single and np.ndim(order) == 1
    return like(result[0] if single else result, pairs.template)


def pair_curves(
    f: Model, pairs: Pairs, orders: np.ndarray, chunk: int | None = None, progress: bool | None = False
) -> np.ndarray:
    """Curves of (orders, n) orders, one for each pair, or one for all; (pairs, n + 1)."""
    n = pairs.n
    count = max(len(pairs), len(orders))
    if {len(pairs), len(orders)} - {1, count}:
        raise UserError(f"{len(orders)} orders do not fit {len(pairs)} pairs: give one per pair, or one for all.")
    position = orders.argsort(axis=1)  # at which step feature j changes

    def select(rows: Any) -> tuple[Any, Any]:
        walk, step = rows // (n + 1), rows % (n + 1)
        changed = beside(position, rows)[walk % len(orders)] < step[:, None]
        return walk % len(pairs), changed

    return all_values(f, pairs, count * (n + 1), select, chunk, progress).reshape(count, n + 1)


def _as_curve(curve: Points) -> Any:
    values: Any = as_array(curve, "curve")
    if values.ndim == 0 or values.shape[-1] < 2:
        raise UserError(f"a curve needs n + 1 ≥ 2 points, but its shape is {tuple(values.shape)}.")
    if is_tensor(values):
        return values.double() if values.device.type != "mps" else values
    return values.astype(np.float64)


def auc(curve: Points) -> Array:
    """Area under the curve, the sum over its n + 1 points; (..., n + 1) → (...)  [eq. 1]."""
    return _as_curve(curve).sum(-1)


def aul(curve: Points) -> Array:
    """Area under the straight line between the curve's end points; (..., n + 1) → (...)  [eq. 2]."""
    values = _as_curve(curve)
    return (values[..., 0] + values[..., -1]) * (values.shape[-1] / 2)


def abc(curve: Points, mode: str = "insertion", per_feature: bool = False) -> Array:
    """Signed area between curve and straight line, so that larger is better; (..., n + 1) → (...)  [eq. 2].

    Insertion: AUC − AUL. Deletion: AUL − AUC. `per_feature=True` divides by n, which is what the
    tables of the paper print.
    """
    sign = 1.0 if check_mode(mode) == "insertion" else -1.0
    values = _as_curve(curve)
    return (auc(values) - aul(values)) * (sign / (values.shape[-1] - 1 if per_feature else 1))


def auc_trapezoid(curve: Points) -> Array:
    """Area under the curve drawn with line segments: AUC − (f(x) + f(x′)) / 2; (..., n + 1) → (...)."""
    values = _as_curve(curve)
    return values.sum(-1) - (values[..., 0] + values[..., -1]) / 2


def auc_unit(curve: Points) -> Array:
    """Area of the line segments over the unit interval, as Petsiuk et al. count it: trapezoid / n."""
    return auc_trapezoid(curve) / (_as_curve(curve).shape[-1] - 1)
