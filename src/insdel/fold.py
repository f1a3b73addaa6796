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

FREE = 8  # free features of a sub-cube: fewer leave more signs alone, more make larger products
WORTHWHILE = 11  # differing features from which on folding pays
ROWS = 2**10  # hybrids that pass the later layers together: small enough for the processor's cache
PIECE = 2**8  # nodes on a piece of a line: fewer leave more signs alone, more make larger products
LINE_ROWS = 2**11  # points of lines that pass the later layers together
METHOD = "as_sequential"  # by which a module tells its layers
HOOKS = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")


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

        f is an `nn.Sequential`, of layers or of further ones (as `insdel.output` gives), or a module whose method
        `as_sequential` gives one that computes the same.
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
        rest = nn.Sequential(*map(_as_leaky, layers[3:]))
        return cls(f, weight, bias, slope.to(weight).expand(len(weight)), weight2, bias2, rest)

    def pays(self, d: int) -> bool:
        """Whether folding is faster than plain evaluation for d differing features."""
        return d >= WORTHWHILE and self.weight.device.type == "cpu"

    def values(self, x: Tensor, reference: Tensor, players: list[int]) -> Tensor:
        """f on all hybrids of x and reference, each (n,), as `Lattice.values` has them; (2ᵈ,)."""
        steps = (self.weight[:, players] * (reference - x)[players]).T
        order = steps.abs().sum(dim=1).argsort()  # the calmest first: they are the free ones
        free, fixed = steps[order[:FREE]], steps[order[FREE:]]
        low, high = free.clamp(max=0).sum(dim=0), free.clamp(min=0).sum(dim=0)
        corners = nn.functional.linear(x, self.weight, self.bias) + _subsets(len(fixed)).to(steps) @ fixed
        subsets = _subsets(len(free)).to(steps)
        moves = (subsets @ free).T.contiguous()  # (h, subsets): what the free features add, the same in all sub-cubes
        affine = torch.cat([subsets.T, subsets.new_ones(1, len(subsets))])
        rest = nn.Sequential(*(_as_leaky(layer, in_place=True) for layer in self.rest))  # a twentieth less time

        def sub_cubes(batch: Tensor) -> Tensor:
            """Values on some sub-cubes, by the inputs of the first layer's units with no free feature changed."""
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

        known = (type(layer).__module__.startswith(("torch.nn.", "insdel.")) for layer in self.rest.modules())
        threads = torch.get_num_threads() if all(known) else 1  # other layers may keep notes of what passes
        values = torch.cat(in_threads(sub_cubes, corners.split(max(1, ROWS >> len(free))), threads))
        axes = (len(players) - 1 - order.argsort()).flip(0)  # axis 0 is the highest bit
        return values.reshape([2] * len(players)).permute(axes.tolist()).reshape(-1)


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
        return nn.Sequential(*(layer for part in f for layer in _chain(part) or [part]))
    lines = type(f).__mro__
    forward, text = (next((k for k, c in enumerate(lines) if name in vars(c)), None) for name in ("forward", METHOD))
    if forward is None or text is None or text > forward:  # a subclass has a forward that its parent does not know of
        return None
    chain = getattr(f, METHOD)()
    return chain if type(chain) is nn.Sequential else None


def _changed(f: nn.Module) -> bool:
    """Whether hooks, parametrisations or a `forward` set on an instance may change what f computes."""
    if any(getattr(nn.modules.module, f"_global_{name}", None) for name in HOOKS):
        return True
    own = ("parametrizations", *(f"_{name}" for name in HOOKS))
    return any("forward" in vars(m) or any(getattr(m, name, None) for name in own) for m in f.modules())


def _slope(activation: nn.Module | None) -> Tensor | None:
    """Slope below zero of an activation that is linear on either side of zero, else None."""
    if type(activation) is nn.PReLU:
        return activation.weight.detach()
    slope = {nn.ReLU: 0.0, nn.LeakyReLU: getattr(activation, "negative_slope", None)}.get(type(activation))
    return None if slope is None else torch.tensor([slope], dtype=torch.float64)


def _as_leaky(layer: nn.Module, in_place: bool = False) -> nn.Module:
    """Return the same function; of a PReLU with one slope by a LeakyReLU, which is faster to differentiate."""
    if type(layer) is nn.PReLU and layer.num_parameters == 1:
        return nn.LeakyReLU(layer.weight.item(), in_place)
    return nn.LeakyReLU(layer.negative_slope, in_place) if type(layer) is nn.LeakyReLU else layer


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
            total[some] += _on_piece(fold, start[some], end[some], t, w)
            done(len(some) * len(t))
    return total


def _on_piece(fold: Fold, start: Tensor, end: Tensor, t: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum of the gradients along the same piece of some lines, (lines, n); times and weights (k, 1) each."""
    begin = nn.functional.linear(start, fold.weight, fold.bias)  # (lines, h) inputs of the first layer's units
    move = nn.functional.linear(end - start, fold.weight)
    first, last = (begin + time * move > 0 for time in (t[0], t[-1]))
    changes = first != last
    first, last = (torch.where(positive, 1.0, fold.slope) for positive in (first, last))
    slope = first.masked_fill(changes, 0)
    constant = (slope * begin) @ fold.weight2 + fold.bias2
    affine = torch.stack([constant, (slope * move) @ fold.weight2], dim=1)
    basis, changing, rows = torch.cat([torch.ones_like(t), t], dim=1), [], []
    for p, units in enumerate(torch.nonzero(row)[:, 0] for row in changes):
        inputs = begin[p, units] + t * move[p, units]  # (k, units)
        active = nn.functional.prelu(inputs, fold.slope[units]) if len(units) else inputs
        rows.append(torch.cat([active, basis], dim=1) @ torch.cat([fold.weight2[units], affine[p]]))
        changing.append((units, inputs > 0))
    z = torch.cat(rows).requires_grad_(True)  # (lines · k, units of the second layer)
    with torch.enable_grad(), eval_mode(fold.f):
        (back,) = torch.autograd.grad(one_per_point(fold.rest(z), len(z)).sum(), z)
    back = back.view(len(start), len(t), -1)
    total = (weights.T @ back)[:, 0]
    result = slope * (total @ fold.weight2.T)
    for p, (units, positive) in enumerate(changing):
        before = ((positive == positive[0]) * weights).T @ back[p]  # the sum over the nodes before the change
        signal = first[p, units, None] * before + last[p, units, None] * (total[p] - before)
        result[p, units] = (signal * fold.weight2[units]).sum(dim=1)
    return float64(result @ fold.weight)
