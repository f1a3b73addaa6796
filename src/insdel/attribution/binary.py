"""Integrated gradients where some features take two values only: interpolate, or jump  [section 4].

Casting, the paper's choice (a), is plain `integrated_gradients`. The two others, (b) and (c), never
ask f about a binary feature between its two values, and cost 2ᵐ evaluations for m differing ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from insdel.arrays import float64, to_numpy, to_tensor
from insdel.attribution.coalitions import Task
from insdel.attribution.gradients import STEPS, Gradient, line_integral, quadrature
from insdel.attribution.kernel import shapley
from insdel.errors import UserError
from insdel.evaluate import Pairs
from insdel.lattice import MAX_FEATURES, UNCHANGED


def _split(method: str, pairs: Pairs, binary: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The mask of binary features, (n,), and in which pairs another feature differs, (pairs,)."""
    if binary is None:
        raise UserError(
            f"{method} needs binary=..., the features that take two values only: indices, a mask, or x's column names."
        )
    return binary, (pairs.differing() & ~binary).any(axis=1)


def ig_jump(
    task: Task,
    *,
    binary: np.ndarray | None = None,
    at: float = 0.5,
    steps: int = STEPS,
    rule: str = "riemann_middle",
    max_features: int = MAX_FEATURES,
) -> np.ndarray:
    """Gradients along a path on which all binary features jump at t = `at`, in every order  [section 4 (c)].

    The other features move in a straight line. Averaged over the m! orders of the jumps, a jump's
    share is the binary feature's Shapley value, the other features held where the path then is. So
    three complete parts add up: line, Shapley values, line; 2ᵐ evaluations and `steps` gradients.
    """
    binary, moving = _split("ig_jump", task.pairs, binary)
    if not 0 <= at <= 1:
        raise UserError(f"ig_jump jumps at a time between 0 and 1, but at is {at}.")
    if not moving.any():
        return shapley(task, max_features)
    gradient = Gradient("ig_jump", task)
    x, reference, fixed = gradient.x, gradient.reference, torch.as_tensor(binary, device=gradient.x.device)
    stop = x + at * (reference - x)
    before, after = torch.where(fixed, x, stop), torch.where(fixed, reference, stop)
    jumps = Pairs(before, after, task.pairs.template, single=False)
    result = shapley(replace(task, pairs=jumps), max_features)
    some = to_tensor(moving).to(x.device)
    for share, start, end in ((at, x, before), (1 - at, after, reference)):
        nodes = quadrature(rule, max(2, round(share * steps)))
        if share > 0:
            result[moving] += to_numpy(line_integral(gradient, start[some], end[some], *nodes))
    return result


def ig_interpolated(
    task: Task,
    *,
    binary: np.ndarray | None = None,
    steps: int = 32,
    rule: str = "gauss_legendre",
    max_features: int = MAX_FEATURES,
) -> np.ndarray:
    """Integrated gradients of g, f interpolated multilinearly in its binary features  [section 4 (b)].

    2ᵐ gradients per step for m differing binary features. Few steps do: the 2ᵐ corners smooth the
    integrand. Pairs in which only binary features differ get exact Shapley values, which is what the
    integral then is, from 2ᵐ evaluations without a gradient. In the others, with p_u = t^|u| (1−t)^(m−|u|), corner u
    adds p_u ∂_j f(u) (x′_j − x_j) at node t if j is not binary, and if it is, ±f(u) with j's own factor left out of
    p_u, as g is linear in x_j.
    """
    binary, moving = _split("ig_interpolated", task.pairs, binary)
    result = np.zeros((len(task.pairs), task.pairs.n))
    if not moving.all():
        result[~moving] = shapley(task.subset(np.flatnonzero(~moving)), max_features)
    if not moving.any():
        return result
    gradient = Gradient("ig_interpolated", task.subset(np.flatnonzero(moving)))
    x, reference = gradient.x, gradient.reference
    nodes, weights = (part.to(x.device) for part in quadrature(rule, steps))
    change, flips = reference - x, torch.as_tensor(binary, device=x.device) & (x != reference)
    bit, m = torch.where(flips, flips.cumsum(dim=1) - 1, UNCHANGED), flips.sum(dim=1)
    largest = int(m.max())
    if largest > max_features:
        raise UserError(
            f"ig_interpolated needs 2**{largest} gradients per step for {largest} differing binary features; the "
            f"limit is 2**{max_features}. Use ig_jump or integrated_gradients, or raise max_features."
        )
    total, at_x = float64(torch.zeros_like(x)), gradient.at_x()[0]
    end = (len(nodes) << m).cumsum(dim=0)
    begin = end - (len(nodes) << m)

    def add(rows: Tensor) -> None:
        pair = torch.searchsorted(end, rows, right=True)
        count, place = m[pair][:, None], rows - begin[pair]
        node, subset = place >> count[:, 0], place & ((1 << count[:, 0]) - 1)
        on, flip, t = (subset[:, None] >> bit[pair] & 1).bool(), flips[pair], nodes[node][:, None]
        moved = x[pair] + t.to(x.dtype) * change[pair]
        values, slope = gradient(torch.where(flip, torch.where(on, reference[pair], x[pair]), moved))
        s, gain = on.sum(dim=1, keepdim=True), (values - at_x[pair])[:, None]  # against f(x): less to cancel
        jump = torch.where(on, t ** (s - 1) * (1 - t) ** (count - s), -(t**s) * (1 - t) ** (count - 1 - s)) * gain
        share = torch.where(flip, jump, t**s * (1 - t) ** (count - s) * slope * float64(change[pair]))
        total.index_add_(0, pair, weights[node][:, None] * share)

    gradient.each(int(end[-1]), add)
    result[moving] = to_numpy(total)
    return result
