"""Lattices and line integrals of networks whose activations are piecewise linear: cheaper, and still exact.

Between hybrids the first layer's inputs change by adding one vector per feature. So over a sub-cube
of the lattice, on which only a few features are free, most of its units keep their sign. A unit that
does is linear there, and what it passes on to the second layer is a constant plus one vector per free
feature: it leaves the product of the two layers, the largest of the paper's networks. To make the
sub-cubes calm, the features with the largest effect are those that are fixed.

On the line from x to x′ the inputs of the first layer's units are linear in t, so on a piece of it
most units keep their sign, and the others change it once. Those that keep it need no product with the
second layer at every point: forwards they fold into an affine function of t, backwards only the sum of
what comes back counts. Those that change it need that sum up to where they do. The result is that of
plain differentiation, but for rounding.

A network is folded only if every layer that is taken apart is exactly torch's own: a subclass, a layer with a
hook, a parametrisation or a `forward` of its own may compute anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from threading import Barrier

import torch
from torch import Tensor, nn

from insdel.arrays import float64
from insdel.evaluate import Model, eval_mode, one_per_point
from insdel.modules import Output

FREE = 8  # free features of a sub-cube: fewer leave more signs alone, more make larger products
WORTHWHILE = 11  # differing features from which on folding pays
ROWS = 2**10  # hybrids that pass the later layers together: small enough for the processor's cache
PIECE = 2**8  # nodes on a piece of a line: fewer leave more signs alone, more make larger products
LINE_ROWS = 2**11  # points of lines that pass the later layers together
METHOD = "as_sequential"  # by which a module tells its layers
CHANGES = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "parametrizations"
)  # fmt: skip
GLOBAL_CHANGES = (
    "_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks"
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fold:
    """A network Linear → piecewise linear activation → Linear → anything, in eval mode.

    weight, bias : (h, n) and (h,), the first layer
    slope : (h,) of its activation below zero; above zero it is 1
    weight2, bias2 : (h, k) and (k,), the second layer, transposed
    rest : what follows, (m, k) → (m,)
    """

    f: nn.Module
    weight: Tensor
    bias: Tensor
    slope: Tensor
    weight2: Tensor
    bias2: Tensor
    rest: nn.Sequential

    @classmethod
    def of(cls, f: Model) -> Fold | None:
        """Take a network apart, or return None for one that is built or watched in any other way.

        f is an `nn.Sequential`, or a module whose method `as_sequential` gives one that computes the same,
        or one output of such a module (`insdel.output`).
        """
        chain = _chain(f) if isinstance(f, nn.Module) else None
        if chain is None or not isinstance(f, nn.Module) or _changed(f) or _changed(chain):
            return None
        layers = [m for m in chain if type(m) not in (nn.Dropout, nn.Identity)]
        first, activation, second = layers[:3] if len(layers) >= 3 else (None, None, None)
        slope = _slope(activation)
        if slope is None or type(first) is not nn.Linear or type(second) is not nn.Linear:
            return None
        weight, weight2 = first.weight.detach(), second.weight.detach().T.contiguous()
        bias = torch.zeros_like(weight[:, 0]) if first.bias is None else first.bias.detach()
        bias2 = torch.zeros_like(weight2[0]) if second.bias is None else second.bias.detach()
        rest = nn.Sequential(*map(_leaky, layers[3:]))
        return cls(f, weight, bias, slope.to(weight).expand(len(weight)), weight2, bias2, rest)

    def pays(self, d: int) -> bool:
        """Whether folding is faster than plain evaluation for d differing features."""
        return d >= WORTHWHILE and self.weight.device.type == "cpu"

    def values(self, x: Tensor, reference: Tensor, players: list[int]) -> Tensor:
        """f on all hybrids of x and reference, each (n,), as `Lattice.values` has them; (2ᵈ,)."""
        steps = (self.weight[:, players] * (reference - x)[players]).T
        order = steps.abs().sum(dim=1).argsort()  # the calmest first: they are the free ones
        start = nn.functional.linear(x, self.weight, self.bias)
        values = torch.cat(self._sub_cubes(start, steps[order[:FREE]], steps[order[FREE:]]))
        axes = (len(players) - 1 - order.argsort()).flip(0)  # axis 0 is the highest bit
        return values.reshape([2] * len(players)).permute(axes.tolist()).reshape(-1)

    def _sub_cubes(self, start: Tensor, free: Tensor, fixed: Tensor) -> list[Tensor]:
        """Values on the sub-cubes, one after the other, in batches."""
        low, high = free.clamp(max=0).sum(dim=0), free.clamp(min=0).sum(dim=0)
        corners = start + _subsets(len(fixed)).to(start) @ fixed  # (sub-cubes, h): inputs with no free feature changed
        subsets = _subsets(len(free)).to(start)
        moves = (subsets @ free).T.contiguous()  # (h, subsets): what the free features add, the same in all sub-cubes
        affine = torch.cat([subsets.T, subsets.new_ones(1, len(subsets))])
        rest = nn.Sequential(*map(_in_place, self.rest))  # a twentieth less time

        def values(batch: Tensor) -> Tensor:
            varies = (batch + low < 0) & (batch + high > 0)
            slope = torch.where(batch + low >= 0, 1.0, self.slope).masked_fill_(varies, 0)
            folded = torch.cat([slope[:, None] * free, (slope * batch)[:, None]], dim=1) @ self.weight2
            folded[:, -1] += self.bias2  # (sub-cubes, free + 1, k): a vector per free feature, and the constant
            inner = []
            for corner, vectors, changing in zip(batch, folded, varies, strict=True):
                units = torch.nonzero(changing)[:, 0]
                inputs = moves[units] + corner[units, None]
                active = nn.functional.prelu(inputs[None], self.slope[units])[0] if len(units) else inputs
                inner.append(torch.cat([active, affine]).T @ torch.cat([self.weight2[units], vectors]))
            return one_per_point(rest(torch.cat(inner)), len(batch) << len(free))

        return in_threads(values, corners.split(max(1, ROWS >> len(free))), self.threads)

    @property
    def threads(self) -> int:
        """How many may work at a time: one, if a later layer is not torch's and may keep notes of what passes."""
        known = (type(layer).__module__.startswith(("torch.nn.", "insdel.")) for layer in self.rest.modules())
        return torch.get_num_threads() if all(known) else 1


def in_threads(work: Callable[[Tensor], Tensor], parts: Sequence[Tensor], threads: int) -> list[Tensor]:
    """work(part) for each part, without gradients, by so many threads, of which each computes alone.

    Torch itself would split every product among its threads, which meet after each. Where another process takes a
    core, all wait there for the one that was put aside, hundreds of times a lattice. These threads never meet.
    """
    threads = min(threads, len(parts))
    if threads < 2:
        return [work(part) for part in parts]
    ready = Barrier(threads + 1)

    def alone() -> None:
        torch.get_num_threads()  # a thread takes over torch's number at its first call, not later
        torch.set_num_threads(1)
        ready.wait()

    def without_gradients(part: Tensor) -> Tensor:
        with torch.no_grad():  # torch knows it thread by thread
            return work(part)

    before, pool = torch.get_num_threads(), ThreadPoolExecutor(threads, initializer=alone)
    try:
        results = [pool.submit(without_gradients, part) for part in parts]
        ready.wait()
        torch.set_num_threads(before)  # what threads that are born later take over
        return [result.result() for result in results]
    finally:
        pool.shutdown(cancel_futures=True)


def _chain(f: nn.Module) -> nn.Sequential | None:
    """The layers of f, one after the other, or None if it does not tell them."""
    if type(f) is nn.Sequential:
        return f
    if type(f) is Output:
        inner = _chain(f.model)
        return None if inner is None else nn.Sequential(*inner, f.selection)
    lines = type(f).__mro__
    forward, text = (next((k for k, c in enumerate(lines) if name in vars(c)), None) for name in ("forward", METHOD))
    if forward is None or text is None or text > forward:  # a subclass has a forward that its parent does not know of
        return None
    chain = getattr(f, METHOD)()
    return chain if type(chain) is nn.Sequential else None


def _changed(f: nn.Module) -> bool:
    """Whether hooks, parametrisations or a `forward` or `__call__` set on an instance may change what f computes."""
    shared = vars(nn.modules.module)
    if any(shared.get(name) for name in GLOBAL_CHANGES):
        return True
    return any("forward" in vars(m) or any(getattr(m, name, None) for name in CHANGES) for m in f.modules())


def _slope(activation: nn.Module | None) -> Tensor | None:
    """Slope below zero of an activation that is linear on either side of zero, else None."""
    if type(activation) is nn.PReLU:
        return activation.weight.detach()
    if type(activation) is nn.ReLU:
        return torch.zeros(1)
    if type(activation) is nn.LeakyReLU:
        return torch.tensor([activation.negative_slope], dtype=torch.float64)
    return None


def _leaky(layer: nn.Module) -> nn.Module:
    """Return the same function; for a PReLU with one slope by a layer that is faster to differentiate."""
    if type(layer) is nn.PReLU and layer.num_parameters == 1:
        return nn.LeakyReLU(layer.weight.item())
    return layer


def _in_place(layer: nn.Module) -> nn.Module:
    """Return the same function; if it is a LeakyReLU, by one that writes over what it reads."""
    return nn.LeakyReLU(layer.negative_slope, inplace=True) if type(layer) is nn.LeakyReLU else layer


@lru_cache(maxsize=8)
def _subsets(d: int) -> Tensor:
    """All subsets of d players as rows of zeros and ones, (2ᵈ, d); bit k is column k."""
    return (torch.arange(2**d)[:, None] >> torch.arange(d) & 1).float()


def mean_gradient(
    fold: Fold, start: Tensor, end: Tensor, nodes: Tensor, weights: Tensor, done: Callable[[int], object]
) -> Tensor:
    """Σ_i weight_i ∇f(start + t_i (end − start)), (pairs, n), for (k,) increasing nodes t and their weights.

    `done` is told after every batch how many points it had.
    """
    total = float64(torch.zeros_like(start))
    for t, w in zip(nodes.to(start)[:, None].split(PIECE), weights.to(start)[:, None].split(PIECE), strict=True):
        for some in torch.arange(len(start)).split(max(1, LINE_ROWS // len(t))):
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
            (back,) = torch.autograd.grad(one_per_point(self.fold.rest(z), len(z)).sum(), z)
        back = back.view(len(self.units), len(weights), -1)  # (lines, k, units of the second layer)
        total = (weights.T @ back)[:, 0]
        result = self.slope * (total @ self.fold.weight2.T)
        for p, units in enumerate(self.units):
            positive = self.inputs[p] > 0
            before = ((positive == positive[0]) * weights).T @ back[p]  # the sum over the nodes before the change
            signal = self.first[p, units, None] * before + self.last[p, units, None] * (total[p] - before)
            result[p, units] = (signal * self.fold.weight2[units]).sum(dim=1)
        return float64(result @ self.fold.weight)
