"""Replicates of the paper's network trained together: same rows, other seeds, one batched product for all.

Each replicate draws what `networks.fit` draws for its seed: first weights, validation rows, the order of the
rows, dropout. Loss, optimiser, schedule, clipping and the epoch that is kept are those of `networks.fit`, too.
Only the batched matrix product may round the last digit differently, which a long training amplifies: the
same draws end in another network of the same kind. Where bits matter, `networks.fit` itself is the one to call.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from insdel.errors import UserError
from insdel.own import mlp
from insdel.own.devices import pick_device, read_clock
from insdel.own.mlp import MLP, Hyper, Recipe, Unit


class Stack:
    """Networks of one shape with their parameters stacked, each (replicates, …): (m, n) → (replicates, m)."""

    def __init__(self, networks: Sequence[MLP]) -> None:
        self.features, self.neurons, self.dropout = networks[0].features, networks[0].neurons, networks[0].dropout
        states = [network.state_dict() for network in networks]
        self.weights = {name: torch.stack([state[name] for state in states]) for name in states[0]}

    def __len__(self) -> int:
        return len(next(iter(self.weights.values())))

    def forward(self, z: Tensor, generators: Sequence[torch.Generator] = ()) -> Tensor:
        """Predict (replicates, m) for (replicates, m, n); with generators, one each, dropout is on."""
        for layer in range(0, 3 * len(self.neurons), 3):
            slope = self.weights[f"layers.{layer + 1}.weight"][:, 0]
            # PReLU has a slope per channel, and channels are the second axis: here, the replicates
            z = nn.functional.prelu(self._linear(z, layer).transpose(0, 1), slope).transpose(0, 1)
            if generators:  # as nn.Dropout draws, replicate by replicate
                noise = torch.empty(z.shape)  # on the processor, so that every device drops the same units
                for part, generator in zip(noise, generators, strict=True):
                    part.bernoulli_(1 - self.dropout, generator=generator)
                z = z * noise.div_(1 - self.dropout).to(z.device)
        return self._linear(z, 3 * len(self.neurons)).squeeze(-1)

    def _linear(self, z: Tensor, layer: int) -> Tensor:
        weight, bias = (self.weights[f"layers.{layer}.{part}"] for part in ("weight", "bias"))
        return torch.baddbmm(bias[:, None], z, weight.mT)

    @torch.no_grad()
    def predict(self, x: ArrayLike | Tensor) -> Tensor:
        """Predictions of all replicates, (replicates, m), dropout off."""
        place = next(iter(self.weights.values())).device
        rows = torch.as_tensor(x, dtype=torch.float32).to(place)
        return self.forward(rows.expand(len(self), *rows.shape))

    def networks(self) -> list[MLP]:
        """The replicates one by one, in eval mode, weights frozen."""
        result = []
        for k in range(len(self)):
            network = MLP(self.features, self.neurons, self.dropout)
            network.load_state_dict({name: value[k].detach() for name, value in self.weights.items()})
            result.append(network.eval().requires_grad_(False))
        return result


@dataclass(frozen=True)
class Draws:
    """What the seeds decide: generators in mid-stream, rows to learn from and to hold out, (replicates, …)."""

    generators: list[torch.Generator]
    learn: Tensor
    held: Tensor


@dataclass(frozen=True)
class Loss:
    """Huber's loss of every replicate, (replicates,), in its own units; each unit is (replicates, 1)."""

    shift: Tensor
    scale: Tensor
    measure: Tensor
    delta: float

    def __call__(self, output: Tensor, y: Tensor) -> Tensor:
        """Loss of (replicates, m) outputs of the last layer against (replicates, m) targets."""
        prediction = self.shift + self.scale * output
        values = nn.functional.huber_loss(
            prediction / self.measure, y / self.measure, reduction="none", delta=self.delta
        )
        return values.mean(dim=1)


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
    hyper, recipe = mlp.choose(hyper, recipe, **changes)
    x, y = (torch.as_tensor(values, dtype=torch.float32) for values in (x, y))
    mlp.training_config(x, y, hyper, recipe, 0, "cpu", threads)  # refuses what cannot be trained on
    if not seeds:
        raise UserError("a stack needs at least one seed; found none.")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        stack, draws = _begin(x, hyper, recipe, seeds)
        place = pick_device(device)
        stack.weights = {name: value.to(place) for name, value in stack.weights.items()}
        return _train(stack, draws, x.to(place), y.to(place), hyper, recipe)
    finally:
        torch.set_num_threads(before)


def _begin(x: Tensor, hyper: Hyper, recipe: Recipe, seeds: Sequence[int]) -> tuple[Stack, Draws]:
    """First weights and the division of the rows, drawn in the order in which `networks.fit` draws them."""
    networks, generators, parts = [], [], []
    for seed in seeds:
        with mlp.seeded(seed):
            networks.append(mlp.draw_weights(MLP(x.shape[1], hyper.neurons, hyper.dropout), recipe.first_weights))
            parts.append(mlp.holdout(len(x), recipe.validation))
            generators.append(torch.Generator())
            generators[-1].set_state(torch.get_rng_state())
    learn, held = (torch.stack(rows) for rows in zip(*parts, strict=True))
    return Stack(networks), Draws(generators, learn, held)


def _train(stack: Stack, draws: Draws, x: Tensor, y: Tensor, hyper: Hyper, recipe: Recipe) -> Stack:
    """Train in place, and leave every replicate at the epoch that it keeps."""
    loss = _loss(y[draws.learn], hyper, recipe)
    for value in stack.weights.values():
        value.requires_grad_(True)
    optimiser, scheduler = mlp.optimiser_for(stack.weights.values(), hyper, recipe, draws.learn.shape[1])
    best = torch.full((len(stack),), math.inf, device=x.device)
    remaining = {name: value.detach().clone() for name, value in stack.weights.items()}
    for _ in range(recipe.epochs):
        _epoch(stack, loss, draws, x, y, recipe, optimiser, scheduler)
        with torch.no_grad():
            held = loss(stack.forward(x[draws.held]), y[draws.held])
        better = held < best if recipe.keep_best else torch.ones_like(best, dtype=torch.bool)
        best[better] = held[better]
        for name, value in stack.weights.items():
            remaining[name][better] = value.detach()[better]
    if not torch.isfinite(best).all():
        raise UserError(
            "a training diverged: no epoch has a finite validation loss. Lower the learning rate or `clip`."
        )
    last = 3 * len(hyper.neurons)  # takes up the units, so that the stack predicts targets
    remaining[f"layers.{last}.weight"].mul_(loss.scale[:, :, None])
    remaining[f"layers.{last}.bias"].mul_(loss.scale).add_(loss.shift)
    stack.weights = remaining
    return stack


def _loss(y: Tensor, hyper: Hyper, recipe: Recipe) -> Loss:
    """The loss in the units of the rows that each replicate learns from; y is (replicates, m)."""
    output = [Unit.of(rows, recipe.output_unit) for rows in y]
    measure = [Unit.of(rows, recipe.loss_unit).scale for rows in y]
    shift, scale = [unit.shift for unit in output], [unit.scale for unit in output]
    units = [torch.tensor(column, device=y.device)[:, None] for column in (shift, scale, measure)]
    return Loss(units[0], units[1], units[2], hyper.huber)


def _epoch(
    stack: Stack,
    loss: Loss,
    draws: Draws,
    x: Tensor,
    y: Tensor,
    recipe: Recipe,
    optimiser: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LambdaLR,
) -> None:
    """Go once over the rows, every replicate in its own order."""
    m = draws.learn.shape[1]
    orders = [rows[torch.randperm(m, generator=g)] for rows, g in zip(draws.learn, draws.generators, strict=True)]
    dropout = draws.generators if stack.dropout > 0 else ()
    for rows in torch.stack(orders).tensor_split(mlp.batch_count(m, recipe.batch), dim=1):
        optimiser.zero_grad()
        # the sum keeps the replicates apart: the gradient of each is that of its own loss
        loss(stack.forward(x[rows], dropout), y[rows]).sum().backward()
        _clip([value.grad for value in stack.weights.values()], recipe.clip)
        optimiser.step()
        scheduler.step()


def _clip(gradients: Sequence[Tensor | None], largest: float) -> None:
    """Shorten the gradient of each replicate to a norm, as nn.utils.clip_grad_norm_ does for one network."""
    present = [gradient for gradient in gradients if gradient is not None]
    norms = torch.stack([torch.linalg.vector_norm(part.flatten(1), dim=1) for part in present], dim=1)
    factor = torch.clamp(largest / (torch.linalg.vector_norm(norms, dim=1) + 1e-6), max=1.0)
    for part in present:
        part.mul_(factor.view(-1, *[1] * (part.ndim - 1)))


def joint_versus_single(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    hyper: str | Hyper = "bangalore",
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    repeats: int = 3,
    device: str | torch.device = "auto",
    **changes: Any,
) -> dict[str, float]:
    """Time the replicates together and one at a time, in turn on one device, and print the ratio of the medians.

    Returns
    -------
    joint, single : seconds; ratio : single / joint, how many times faster together
    """
    times: dict[str, list[float]] = {"joint": [], "single": []}
    for _ in range(repeats):
        start = read_clock()
        fit(x, y, hyper, seeds=seeds, device=device, **changes)
        middle = read_clock()
        for seed in seeds:
            mlp.fit(x, y, hyper, seed=seed, device=device, progress=False, **changes)
        times["joint"].append(middle - start)
        times["single"].append(read_clock() - middle)
    result = {name: statistics.median(spent) for name, spent in times.items()}
    result["ratio"] = result["single"] / result["joint"]
    print(
        f"{len(seeds)} replicates: {result['joint']:.2f} s together, {result['single']:.2f} s one at a time, "
        f"{result['ratio']:.2f} times faster together"
    )
    return result
