"""Replicates of the paper's network trained together: same rows, other seeds, one batched product for all.

Each replicate draws what `networks.fit` draws for its seed: first weights, validation rows, the order of the
rows, dropout. Loss, optimiser, schedule, clipping and the epoch that is kept are those of `networks.fit`, too.
Only the batched matrix product may round the last digit differently, which a long training amplifies: the
same draws end in another network of the same kind. Where bits matter, `networks.fit` itself is the one to call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from insdel.errors import UserError
from insdel.own.devices import pick_device
from insdel_paper.networks import training
from insdel_paper.networks.training import MLP, Hyper, Recipe, Unit


class Stack:
    """Networks of one shape with their parameters stacked, each (replicates, …): (m, n) → (replicates, m)."""

    def __init__(self, networks: Sequence[MLP], device: torch.device) -> None:
        self.layers, self.dropout = len(networks[0].neurons), networks[0].dropout
        stacked, _ = torch.func.stack_module_state(list(networks))
        self.weights = {name: value.detach().to(device) for name, value in stacked.items()}

    def forward(self, z: Tensor, generators: Sequence[torch.Generator] = ()) -> Tensor:
        """Predict (replicates, m) for (replicates, m, n); with generators, one each, dropout is on."""
        for layer in range(0, 3 * self.layers, 3):
            slope = self.weights[f"layers.{layer + 1}.weight"][:, 0]
            # PReLU has a slope per channel, and channels are the second axis: here, the replicates
            z = nn.functional.prelu(self._linear(z, layer).transpose(0, 1), slope).transpose(0, 1)
            if generators:  # as nn.Dropout draws, replicate by replicate
                noise = torch.empty(z.shape)  # on the processor, so that every device drops the same units
                for part, generator in zip(noise, generators, strict=True):
                    part.bernoulli_(1 - self.dropout, generator=generator)
                z = z * noise.div_(1 - self.dropout).to(z.device)
        return self._linear(z, 3 * self.layers).squeeze(-1)

    def _linear(self, z: Tensor, layer: int) -> Tensor:
        weight, bias = (self.weights[f"layers.{layer}.{part}"] for part in ("weight", "bias"))
        return torch.baddbmm(bias[:, None], z, weight.mT)

    @torch.no_grad()
    def predict(self, x: ArrayLike | Tensor) -> Tensor:
        """Predictions of all replicates, (replicates, m), dropout off."""
        first = next(iter(self.weights.values()))
        rows = torch.as_tensor(x, dtype=torch.float32).to(first.device)
        return self.forward(rows.expand(len(first), *rows.shape))


def fit(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    hyper: str | Hyper,
    recipe: Recipe | None = None,
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    device: str | torch.device = "auto",
    threads: int = 1,
    **changes: Any,
) -> Stack:
    """Fit one network per seed to the same rows, all together  [section 6].

    Parameters
    ----------
    x : (m, n); y : (m,)
    hyper, recipe, device, threads, **changes : as for `networks.fit`
    seeds : one per replicate, what it decides for `networks.fit`

    Returns
    -------
    Stack that predicts in the unit of `y`
    """
    hyper, recipe = training.choose(hyper, recipe, **changes)
    x, y = training.checked_rows(x, y)
    if not seeds:
        raise UserError("a stack needs at least one seed; found none.")
    place = pick_device(device)
    with training.using_threads(threads):
        networks, parts, generators = [], [], [torch.Generator() for _ in seeds]
        for seed, generator in zip(seeds, generators, strict=True):
            with training.seeded(seed):  # in the order in which `networks.fit` draws
                network = MLP(x.shape[1], hyper.neurons, hyper.dropout)
                networks.append(training.draw_weights(network, recipe.first_weights))
                parts.append(training.holdout(len(x), recipe.validation))
                generator.set_state(torch.get_rng_state())
        learn, held = (torch.stack(rows) for rows in zip(*parts, strict=True))
        stack = Stack(networks, place)
        _train(stack, generators, learn, held, x.to(place), y.to(place), hyper, recipe)
    return stack


def _train(
    stack: Stack,
    generators: Sequence[torch.Generator],
    learn: Tensor,
    held: Tensor,
    x: Tensor,
    y: Tensor,
    hyper: Hyper,
    recipe: Recipe,
) -> None:
    """Train in place, and leave every replicate at the epoch that it keeps; learn, held : (replicates, rows)."""
    units = [[*Unit.of(y[rows], recipe.output_unit), Unit.of(y[rows], recipe.loss_unit).scale] for rows in learn]
    shift, scale, unit = torch.tensor(units, device=y.device).T[..., None]

    def loss(rows: Tensor, dropout: Sequence[torch.Generator] = ()) -> Tensor:
        prediction = shift + scale * stack.forward(x[rows], dropout)
        each = nn.functional.huber_loss(prediction / unit, y[rows] / unit, reduction="none", delta=hyper.huber)
        return each.mean(dim=1)

    weights = [value.requires_grad_(True) for value in stack.weights.values()]
    optimiser, scheduler = training.optimiser_for(weights, hyper, recipe, learn.shape[1])
    best = torch.full((len(learn),), math.inf, device=x.device)
    remaining = {name: value.detach().clone() for name, value in stack.weights.items()}
    for _ in range(recipe.epochs):
        orders = [rows[torch.randperm(len(rows), generator=g)] for rows, g in zip(learn, generators, strict=True)]
        for rows in torch.stack(orders).tensor_split(training.batch_count(learn.shape[1], recipe.batch), dim=1):
            optimiser.zero_grad()
            # the sum keeps the replicates apart: the gradient of each is that of its own loss
            loss(rows, generators if stack.dropout > 0 else ()).sum().backward()
            _clip([value.grad for value in weights if value.grad is not None], recipe.clip)
            optimiser.step()
            scheduler.step()
        with torch.no_grad():
            now = loss(held)
        better = now < best if recipe.keep_best else torch.ones_like(best, dtype=torch.bool)
        best[better] = now[better]
        for name, value in stack.weights.items():
            remaining[name][better] = value.detach()[better]
    if not torch.isfinite(best).all():
        raise UserError(
            "a training diverged: no epoch has a finite validation loss. Lower the learning rate or `clip`."
        )
    last = f"layers.{3 * stack.layers}"  # takes up the units, so that the stack predicts targets
    remaining[f"{last}.weight"].mul_(scale[:, :, None])
    remaining[f"{last}.bias"].mul_(scale).add_(shift)
    stack.weights = remaining


def _clip(gradients: Sequence[Tensor], largest: float) -> None:
    """Shorten the gradient of each replicate to a norm, as nn.utils.clip_grad_norm_ does for one network."""
    norms = torch.stack([torch.linalg.vector_norm(part.flatten(1), dim=1) for part in gradients], dim=1)
    factor = torch.clamp(largest / (torch.linalg.vector_norm(norms, dim=1) + 1e-6), max=1.0)
    for part in gradients:
        part.mul_(factor.view(-1, *[1] * (part.ndim - 1)))
