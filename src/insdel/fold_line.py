"""Gradients along a straight line through a network whose activations are piecewise linear.

On the line from x to x′ the inputs of the first layer's units are linear in t, so on a piece of it
most units keep their sign, and the others change it once. Those that keep it need no product with the
second layer at every point: forwards they fold into an affine function of t, backwards only the sum of
what comes back counts. Those that change it need that sum up to where they do. The result is that of
plain differentiation, but for rounding; the largest product of the paper's networks is almost gone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from insdel.evaluate import eval_mode, float64
from insdel.fold import Fold

PIECE = 2**8  # nodes on a piece of a line: fewer leave more signs alone, more make larger products
ROWS = 2**11  # points that pass the later layers together


def mean_gradient(
    fold: Fold, start: Tensor, end: Tensor, nodes: Tensor, weights: Tensor, done: Callable[[int], object]
) -> Tensor:
    """Σ_i weight_i ∇f(start + t_i (end − start)), (pairs, n), for (k,) increasing nodes t and their weights.

    `done` is told after every batch how many points it had.
    """
    total = float64(torch.zeros_like(start))
    for t, w in zip(nodes.to(start)[:, None].split(PIECE), weights.to(start)[:, None].split(PIECE), strict=True):
        for some in torch.arange(len(start)).split(max(1, ROWS // len(t))):
            total[some] += _Lines(fold, start[some], end[some], t).gradient(w)
            done(len(some) * len(t))
    return total


class _Lines:
    """The same piece of some lines, with (k, 1) times t, and the units of the first layer along it."""

    def __init__(self, fold: Fold, start: Tensor, end: Tensor, t: Tensor) -> None:
        self.fold, self.t = fold, t
        self.begin = nn.functional.linear(start, fold.weight, fold.bias)  # (lines, h)
        self.move = nn.functional.linear(end - start, fold.weight)
        first, last = (self.begin + end * self.move > 0 for end in (t[0], t[-1]))
        self.first, self.last = (torch.where(positive, 1.0, fold.slope) for positive in (first, last))
        self.slope = self.first.masked_fill(first != last, 0)
        self.units = [torch.nonzero(row)[:, 0] for row in first != last]
        self.inputs = [self.begin[p, u] + t * self.move[p, u] for p, u in enumerate(self.units)]  # (k, units) each

    def second_layer(self) -> Tensor:
        """Inputs of the second layer's units, (lines · k, units)."""
        constant = (self.slope * self.begin) @ self.fold.weight2 + self.fold.bias2
        affine = torch.stack([constant, (self.slope * self.move) @ self.fold.weight2], dim=1)
        basis, rows = torch.cat([torch.ones_like(self.t), self.t], dim=1), []
        for p, (units, inputs) in enumerate(zip(self.units, self.inputs, strict=True)):
            active = nn.functional.prelu(inputs, self.fold.slope[units]) if len(units) else inputs
            rows.append(torch.cat([active, basis], dim=1) @ torch.cat([self.fold.weight2[units], affine[p]]))
        return torch.cat(rows)

    def gradient(self, weights: Tensor) -> Tensor:
        """Weighted sum of the gradients along each line, (lines, n)."""
        z = self.second_layer().requires_grad_(True)
        with torch.enable_grad(), eval_mode(self.fold.f):
            (back,) = torch.autograd.grad(self.fold.rest(z).sum(), z)
        back = back.view(len(self.units), len(weights), -1)  # (lines, k, units of the second layer)
        total = (weights.T @ back)[:, 0]
        result = self.slope * (total @ self.fold.weight2.T)
        for p, units in enumerate(self.units):
            positive = self.inputs[p] > 0
            before = ((positive == positive[0]) * weights).T @ back[p]  # the sum over the nodes before the change
            signal = self.first[p, units, None] * before + self.last[p, units, None] * (total[p] - before)
            result[p, units] = (signal * self.fold.weight2[units]).sum(dim=1)
        return float64(result @ self.fold.weight)
