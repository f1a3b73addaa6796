"""Integrated gradients where some features take two values only: interpolate, or jump  [section 4].

Casting, the paper's choice (a), is plain `integrated_gradients`. The two others, (b) and (c), never
ask f about a binary feature between its two values, and cost 2ᵐ evaluations for m differing ones.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from insdel.arrays import float64, to_numpy, to_tensor
from insdel.attribution.differentiate import Gradient
from insdel.attribution.exact import shapley
from insdel.attribution.gradients import STEPS, line_integral, quadrature
from insdel.errors import UserError
from insdel.evaluate import Model, Pairs, in_batches, progress_off
from insdel.lattice import MAX_FEATURES, UNCHANGED


def _required(method: str, binary: np.ndarray | None) -> np.ndarray:
    if binary is None:
        raise UserError(
            f"{method} needs binary=..., the features that take two values only: indices, a mask, or x's column names."
        )
    return binary


def ig_jump(
    f: Model,
    pairs: Pairs,
    *,
    binary: np.ndarray | None = None,
    at: float = 0.5,
    steps: int = STEPS,
    rule: str = "riemann_middle",
    max_features: int = MAX_FEATURES,
    chunk: int | None = None,
    progress: bool | None = False,
) -> np.ndarray:
    """Gradients along a path on which all binary features jump at t = `at`, in every order  [section 4 (c)].

    The other features move in a straight line. Averaged over the m! orders of the jumps, a jump's
    share is the binary feature's Shapley value, the other features held where the path then is. So
    three complete parts add up: line, Shapley values, line; 2ᵐ evaluations and `steps` gradients.
    """
    binary = _required("ig_jump", binary)
    if not 0 <= at <= 1:
        raise UserError(f"ig_jump jumps at a time between 0 and 1, but at is {at}.")
    moving = _moving(pairs, binary)
    if not moving.any():
        return shapley(f, pairs, max_features, chunk, progress)
    gradient = Gradient("ig_jump", f, pairs)
    x, reference, fixed = gradient.x, gradient.reference, torch.as_tensor(binary, device=gradient.x.device)
    stop = x + at * (reference - x)
    before, after = torch.where(fixed, x, stop), torch.where(fixed, reference, stop)
    result = shapley(f, Pairs(before, after, pairs.template, single=False), max_features, chunk, progress)
    some = to_tensor(moving).to(x.device)
    for share, start, end in ((at, x, before), (1 - at, after, reference)):
        nodes = quadrature(rule, max(2, round(share * steps)))
        if share > 0:
            lines = line_integral(gradient, start[some], end[some], *nodes, chunk, progress)
            result[moving] += to_numpy(lines)
    return result


def _moving(pairs: Pairs, binary: np.ndarray) -> np.ndarray:
    """In which pairs a feature that is not binary differs, (pairs,) booleans."""
    return (pairs.differing() & ~binary).any(axis=1)


def ig_interpolated(
    f: Model,
    pairs: Pairs,
    *,
    binary: np.ndarray | None = None,
    steps: int = 32,
    rule: str = "gauss_legendre",
    max_features: int = MAX_FEATURES,
    chunk: int | None = None,
    progress: bool | None = False,
) -> np.ndarray:
    """Integrated gradients of g, f interpolated multilinearly in its binary features  [section 4 (b)].

    2ᵐ gradients per step for m differing binary features. Few steps do: the 2ᵐ corners smooth the
    integrand. Pairs in which only binary features differ get exact Shapley values, which is what the
    integral then is, from 2ᵐ evaluations without a gradient.
    """
    binary = _required("ig_interpolated", binary)
    moving = _moving(pairs, binary)
    result = np.zeros((len(pairs), pairs.n))
    if not moving.all():
        result[~moving] = shapley(f, pairs.some(np.flatnonzero(~moving)), max_features, chunk, progress)
    if moving.any():
        gradient = Gradient("ig_interpolated", f, pairs.some(np.flatnonzero(moving)))
        corners = _Corners(gradient, torch.as_tensor(binary, device=gradient.x.device), max_features)
        result[moving] = to_numpy(corners.integrate(*quadrature(rule, steps), chunk, progress))
    return result


class _Corners:
    """The 2ᵐ corners of every pair's differing binary features, at every node of the path."""

    def __init__(self, gradient: Gradient, binary: Tensor, max_features: int) -> None:
        self.gradient, self.change = gradient, gradient.reference - gradient.x
        self.flips = binary & (gradient.x != gradient.reference)
        self.m = self.flips.sum(dim=1)
        self.bit = torch.where(self.flips, self.flips.cumsum(dim=1) - 1, UNCHANGED)
        largest = int(self.m.max())
        if largest > max_features:
            raise UserError(
                f"ig_interpolated needs 2**{largest} gradients per step for {largest} differing binary features; the "
                f"limit is 2**{max_features}. Use ig_jump or integrated_gradients, or raise max_features."
            )

    def integrate(self, nodes: Tensor, weights: Tensor, chunk: int | None, progress: bool | None) -> Tensor:
        """(pairs, n): Σ over nodes of weight × gradient of g × change."""
        x = self.gradient.x
        result, size = float64(torch.zeros_like(x)), self.gradient.rows(chunk)
        start = torch.cat(list(in_batches(len(x), size, lambda first, last: self.gradient(x[first:last])[0])))
        end = (len(nodes) << self.m).cumsum(dim=0)
        begin, total = torch.nn.functional.pad(end, (1, 0))[:-1], int(end[-1])

        def work(first: int, last: int) -> int:
            rows = torch.arange(first, last, device=x.device)
            pair = torch.searchsorted(end, rows, right=True)
            node, subset = (rows - begin[pair]) >> self.m[pair], (rows - begin[pair]) & ((1 << self.m[pair]) - 1)
            t, weight = nodes.to(x.device)[node], weights.to(x.device)[node]
            result.index_add_(0, pair, weight[:, None] * self._share(pair, subset, t, start))
            return last - first

        with tqdm(total=total, unit=" gradients", unit_scale=True, delay=2, disable=progress_off(progress)) as bar:
            for count in in_batches(total, size, work):
                bar.update(count)
        return result

    def _share(self, pair: Tensor, subset: Tensor, t: Tensor, start: Tensor) -> Tensor:
        """(r, n): what each corner u adds to ∂g/∂x_j · (x′_j − x_j) at time t.

        With p_u = t^|u| (1−t)^(m−|u|): p_u ∂_j f(u) (x′_j − x_j) if j is not binary, and if it is,
        ±f(u) with j's own factor left out of p_u, as g is linear in x_j.
        """
        on = (subset[:, None] >> self.bit[pair] & 1).bool()
        flips, change = self.flips[pair], self.change[pair]
        moved = self.gradient.x[pair] + t.to(change.dtype)[:, None] * change
        corner = torch.where(on, self.gradient.reference[pair], self.gradient.x[pair])
        values, slope = self.gradient(torch.where(flips, corner, moved))
        s, m, t = on.sum(dim=1, keepdim=True), self.m[pair][:, None], t[:, None]
        gain = (values - start[pair])[:, None]  # against f(x): less to cancel
        jump = torch.where(on, t ** (s - 1) * (1 - t) ** (m - s), -(t**s) * (1 - t) ** (m - 1 - s)) * gain
        return torch.where(flips, jump, t**s * (1 - t) ** (m - s) * slope * float64(change))
