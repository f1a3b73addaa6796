"""Networks for the reader's own table: fitted like those of the paper, saved and loaded with their units."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from insdel.errors import UserError
from insdel.own import devices, mlp
from insdel.own.table import Split, Table


class OnColumns(nn.Module):
    """A torch module that takes the table's columns, as a module of standardised points: differentiable throughout.

    inner : module of columns, shift + stretch · points
    link : turns its outputs into probabilities
    column : the output that counts, if there are several
    """

    shift: Tensor
    stretch: Tensor

    def __init__(
        self, inner: nn.Module, shift: np.ndarray, stretch: np.ndarray, link: nn.Module | None = None, column: int = 0
    ) -> None:
        super().__init__()
        weight = next((p for p in inner.parameters() if p.is_floating_point()), torch.zeros(0, dtype=torch.float64))
        self.inner, self.link, self.column = inner, link or nn.Identity(), column
        for key, value in {"shift": shift, "stretch": stretch}.items():
            self.register_buffer(key, torch.as_tensor(value, dtype=weight.dtype, device=weight.device))

    def forward(self, points: Tensor) -> Tensor:
        """Predict (m,) numbers for (m, n) points."""
        output = self.link(self.inner(self.shift + self.stretch * points))
        return output if output.ndim == 1 else output[:, self.column]


def fit(
    table: Table, split: Split, neurons: Sequence[int], epochs: int, seed: int, device: str = "auto"
) -> mlp.MLP:
    """Fit a network to the training rows: by Huber's loss to numbers, by cross-entropy to one class against others."""
    hyper = mlp.Hyper(tuple(neurons), dropout=0.05, learning_rate=3e-3)
    recipe = mlp.Recipe(
        epochs=epochs, batch=32 if len(split.x_train) < 5000 else 256, output_unit="deviation", loss_unit="deviation"
    )
    if table.classes:
        return fit_classifier(split.x_train, split.y_train, hyper, recipe, seed, device)
    return mlp.fit(split.x_train, split.y_train, hyper, recipe, seed=seed, device=device, progress=False)


def function(network: mlp.MLP, table: Table) -> nn.Module:
    """What is explained: the network itself, or the probability that it gives."""
    return nn.Sequential(*network.layers, nn.Sigmoid()).eval() if table.classes else network


def fit_classifier(
    x: np.ndarray, y: np.ndarray, hyper: mlp.Hyper, recipe: mlp.Recipe, seed: int, device: str = "auto"
) -> mlp.MLP:
    """Fit a network whose sigmoid is the probability of y = 1; the epoch with the least validation loss is kept.

    x : (m, n); y : (m,) zeros and ones
    """
    place = devices.pick_device(device)
    rows, truth = (torch.as_tensor(part, dtype=torch.float32, device=place) for part in (x, y))
    with mlp.seeded(seed, place):
        network = mlp.MLP(rows.shape[1], hyper.neurons, hyper.dropout).to(place)
        train, held = mlp.holdout(len(rows), recipe.validation)
        _descend(network, mlp.Data(rows[train], truth[train], rows[held], truth[held]), hyper, recipe)
    network.config = mlp.training_config(x, y, hyper, recipe, seed, device)
    return network.eval().requires_grad_(False)


def _descend(network: mlp.MLP, data: mlp.Data, hyper: mlp.Hyper, recipe: mlp.Recipe) -> None:
    """Train in place by cross-entropy."""
    loss = nn.functional.binary_cross_entropy_with_logits
    optimiser = torch.optim.Adam(network.parameters(), lr=hyper.learning_rate)
    steps = recipe.epochs * mlp.batch_count(len(data.x), recipe.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: mlp.rate(step, steps, recipe))
    best, remaining = float("inf"), network.state_dict()
    for _ in range(recipe.epochs):
        network.train()
        for part in mlp.batches(len(data.x), recipe.batch):
            optimiser.zero_grad()
            loss(network(data.x[part]), data.y[part]).backward()
            nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
            optimiser.step()
            schedule.step()
        network.eval()
        with torch.no_grad():
            held = float(loss(network(data.x_held), data.y_held))
        if held < best:
            best, remaining = held, copy.deepcopy(network.state_dict())
    network.load_state_dict(remaining)


def save(network: mlp.MLP | None, table: Table, split: Split, path: str | Path) -> Path:
    """Write a network that was fitted here, with what it has to know about its inputs and its output."""
    if network is None:
        raise UserError("only a network that was fitted here can be saved; found none. Set model to network.")
    inputs = {"names": table.names, "center": split.scale.center.tolist(), "width": split.scale.width.tolist()}
    network.config = {**network.config, "inputs": inputs, "class": table.positive}
    return mlp.save(network, path)


def fitted_to(network: mlp.MLP, table: Table, split: Split, name: str) -> nn.Module:
    """A network that `save` wrote, as a function of points that this split standardises."""
    inputs, known = network.config["inputs"], network.config["class"]
    if inputs["names"] != table.names:
        raise UserError(f"{name} learned from {', '.join(inputs['names'])}; the table has {', '.join(table.names)}.")
    if known != table.positive:
        asked = table.positive or "a number"
        raise UserError(f"{name} predicts {known or 'a number'}; asked is {asked}. Set task or positive.")
    f, scale = function(network, table), split.scale
    center, width = (np.array(inputs[key]) for key in ("center", "width"))
    if np.array_equal(center, scale.center) and np.array_equal(width, scale.width):
        return f
    return OnColumns(f, (scale.center - center) / width, scale.width / width)
