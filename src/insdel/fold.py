"""The lattice of a network whose activations are piecewise linear, at half the price and still exact.

Between hybrids the first layer's inputs change by adding one vector per feature. So over a sub-cube
of the lattice, on which only a few features are free, most of its units keep their sign. A unit that
does is linear there, and what it passes on to the second layer is a constant plus one vector per free
feature: it leaves the product of the two layers, the largest of the paper's networks. To make the
sub-cubes calm, the features with the largest effect are those that are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn

from insdel.evaluate import Model

FREE = 8  # free features of a sub-cube: fewer leave more signs alone, more make larger products
WORTHWHILE = 11  # differing features from which on folding pays
ROWS = 2**10  # hybrids that pass the later layers together: small enough for the processor's cache


@dataclass(frozen=True)
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
        """Take a network apart, or return None for one that is built differently or that hooks watch.

        f is an `nn.Sequential`, or a module whose method `as_sequential` gives one that computes the same.
        """
        chain = f if type(f) is nn.Sequential else getattr(f, "as_sequential", lambda: None)()
        if chain is None or not isinstance(f, nn.Module):
            return None
        if any(m._forward_hooks or m._forward_pre_hooks for m in f.modules()):
            return None
        layers = [m for m in chain if not isinstance(m, nn.Dropout | nn.Identity)]
        first, activation, second = layers[:3] if len(layers) >= 3 else (None, None, None)
        slope = _slope(activation)
        if slope is None or not isinstance(first, nn.Linear) or not isinstance(second, nn.Linear):
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
        values = torch.cat(list(self._sub_cubes(start, steps[order[:FREE]], steps[order[FREE:]])))
        axes = (len(players) - 1 - order.argsort()).flip(0)  # axis 0 is the highest bit
        return values.reshape([2] * len(players)).permute(axes.tolist()).reshape(-1)

    def _sub_cubes(self, start: Tensor, free: Tensor, fixed: Tensor) -> Iterator[Tensor]:
        """Values on the sub-cubes, one after the other, in batches."""
        low, high = free.clamp(max=0).sum(dim=0), free.clamp(min=0).sum(dim=0)
        corners = start + _subsets(len(fixed)).to(start) @ fixed  # (sub-cubes, h): inputs with no free feature changed
        varies = (corners + low < 0) & (corners + high > 0)
        slope = torch.where(corners + low >= 0, 1.0, self.slope).masked_fill_(varies, 0)
        folded = torch.cat([slope[:, None] * free, (slope * corners)[:, None]], dim=1) @ self.weight2
        folded[:, -1] += self.bias2  # (sub-cubes, free + 1, k): a vector per free feature, and the constant
        subsets = _subsets(len(free)).to(start)
        moves = (subsets @ free).T.contiguous()  # (h, subsets): what the free features add, the same in all sub-cubes
        affine = torch.cat([subsets.T, subsets.new_ones(1, len(subsets))])
        for batch in torch.arange(len(corners)).split(max(1, ROWS >> len(free))):
            inner = []
            for s in batch.tolist():
                units = torch.nonzero(varies[s])[:, 0]
                inputs = moves[units] + corners[s, units, None]
                active = nn.functional.prelu(inputs[None], self.slope[units])[0] if len(units) else inputs
                inner.append(torch.cat([active, affine]).T @ torch.cat([self.weight2[units], folded[s]]))
            yield self.rest(torch.cat(inner)).reshape(-1)


def _slope(activation: nn.Module | None) -> Tensor | None:
    """Slope below zero of an activation that is linear on either side of zero, else None."""
    if isinstance(activation, nn.PReLU):
        return activation.weight.detach()
    if isinstance(activation, nn.ReLU):
        return torch.zeros(1)
    if isinstance(activation, nn.LeakyReLU):
        return torch.tensor([activation.negative_slope], dtype=torch.float64)
    return None


def _leaky(layer: nn.Module) -> nn.Module:
    """Return the same function; for a PReLU with one slope by a layer that is faster to differentiate."""
    if isinstance(layer, nn.PReLU) and layer.num_parameters == 1:
        return nn.LeakyReLU(layer.weight.item())
    return layer


@lru_cache(maxsize=8)
def _subsets(d: int) -> Tensor:
    """All subsets of d players as rows of zeros and ones, (2ᵈ, d); bit k is column k."""
    return (torch.arange(2**d)[:, None] >> torch.arange(d) & 1).float()
