"""Six families of models for any table of numbers: three networks, two tree ensembles, a linear control."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from torch import Tensor, nn

from insdel_paper.networks import training

HYPER = training.Hyper((256, 128, 64), dropout=0.1, learning_rate=3e-3)
EPOCHS, BATCH, HELD = 40, 128, 0.1
WIDTH, TOKEN, HEADS = 64, 16, 2
Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Fitted:
    """A fitted model.

    f : what is explained, a torch module or a function of (m, n) arrays
    trees : the ensemble behind it, for tree-specific explanations
    """

    f: Any
    trees: Any = None


class Residual(nn.Module):
    """h + second(relu(first(norm(h)))): one block of a residual network."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.1),
                                    nn.Linear(2 * width, width))  # fmt: skip

    def forward(self, h: Tensor) -> Tensor:
        """(m, width) → (m, width)."""
        return h + self.branch(h)


class Tokens(nn.Module):
    """Each feature becomes a vector, and one more stands for the row: (m, n) → (m, n + 1, size)."""

    def __init__(self, n: int, size: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.randn(n, size) / size**0.5)
        self.shift = nn.Parameter(torch.randn(n, size) / size**0.5)
        self.row = nn.Parameter(torch.randn(1, size) / size**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors of all features, the row's first."""
        features = x[:, :, None] * self.slope + self.shift
        return torch.cat([self.row.expand(len(x), 1, -1), features], dim=1)


class Attention(nn.Module):
    """A block of a transformer: the tokens look at one another, then each is transformed by itself."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads, self.look, self.join = heads, nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.each = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))

    def forward(self, tokens: Tensor) -> Tensor:
        """(m, tokens, size) → the same shape."""
        m, count, size = tokens.shape
        parts = self.look(self.first(tokens)).view(m, count, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        weight = torch.softmax(query @ key.transpose(-1, -2) / (size // self.heads) ** 0.5, dim=-1)
        tokens = tokens + self.join((weight @ value).transpose(1, 2).reshape(m, count, size))
        return tokens + self.each(self.second(tokens))


class RowToken(nn.Module):
    """The row's vector: (m, tokens, size) → (m, size)."""

    def forward(self, tokens: Tensor) -> Tensor:
        """Take the first token."""
        return tokens[:, 0]


def resnet(n: int) -> nn.Sequential:
    """A residual network of two blocks."""
    return nn.Sequential(nn.Linear(n, WIDTH), Residual(WIDTH), Residual(WIDTH), nn.LayerNorm(WIDTH), nn.ReLU(),
                         nn.Linear(WIDTH, 1), nn.Flatten(0))  # fmt: skip


def transformer(n: int) -> nn.Sequential:
    """A small FT-Transformer: features as tokens, two blocks of attention."""
    return nn.Sequential(Tokens(n, TOKEN), Attention(TOKEN, HEADS), Attention(TOKEN, HEADS), RowToken(),
                         nn.LayerNorm(TOKEN), nn.ReLU(), nn.Linear(TOKEN, 1), nn.Flatten(0))  # fmt: skip


def train(
    build: Callable[[int], nn.Module], x: np.ndarray, y: np.ndarray, seed: int, loss: Loss = nn.functional.mse_loss
) -> nn.Module:
    """Fit a network by AdamW, to squared errors by default, and keep the epoch that is best on a tenth of the rows."""
    rows, truth = torch.as_tensor(x), torch.as_tensor(y)
    with training.seeded(seed):
        network = build(x.shape[1])
        taught, held = training.holdout(len(rows), HELD)
        optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=1e-4, fused=True)
        steps = EPOCHS * training.batch_count(len(taught), BATCH)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps, pct_start=0.1)
        best, kept = float("inf"), network.state_dict()
        for _ in range(EPOCHS):
            network.train()
            for part in training.batches(len(taught), BATCH):
                optimiser.zero_grad()
                loss(network(rows[taught[part]]), truth[taught[part]]).backward()
                optimiser.step()
                schedule.step()
            network.eval()
            with torch.no_grad():
                now = float(loss(network(rows[held]), truth[held]))
            if now < best:
                best, kept = now, copy.deepcopy(network.state_dict())
    network.load_state_dict(kept)
    return network.eval().requires_grad_(False)


def fit_mlp(x: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    """The book's network, smaller: PReLU layers with dropout, fitted by Huber's loss."""
    recipe = training.Recipe(epochs=EPOCHS, batch=BATCH)
    return Fitted(training.fit(x, y, HYPER, recipe, seed=seed, device="cpu", progress=False))


def fit_classifier(x: np.ndarray, y: np.ndarray, seed: int) -> training.MLP:
    """The same network, fitted by cross-entropy: its output is the logit of y = 1."""
    loss = nn.functional.binary_cross_entropy_with_logits
    network = train(lambda n: training.MLP(n, HYPER.neurons, HYPER.dropout), x, y, seed, loss)
    assert isinstance(network, training.MLP)
    return network


def fit_linear(x: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    """Least squares, as a torch module: an additive control, on which good methods tie."""
    design = np.column_stack([x, np.ones(len(x))]).astype(float)
    weights = np.linalg.lstsq(design, y.astype(float), rcond=None)[0]
    layer = nn.Linear(x.shape[1], 1)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weights[None, :-1]))
        layer.bias.fill_(float(weights[-1]))
    return Fitted(nn.Sequential(layer, nn.Flatten(0)).eval().requires_grad_(False))


def fit_trees(model: Any, x: np.ndarray, y: np.ndarray) -> Fitted:
    """A fitted tree ensemble of scikit-learn."""
    return Fitted(model.fit(x, y).predict, model)


FAMILIES: dict[str, Callable[[np.ndarray, np.ndarray, int], Fitted]] = {
    "MLP": fit_mlp,
    "ResNet": lambda x, y, seed: Fitted(train(resnet, x, y, seed)),
    "FT-Transformer": lambda x, y, seed: Fitted(train(transformer, x, y, seed)),
    "boosted trees": lambda x, y, seed: fit_trees(  # stopped early on a tenth of the rows
        HistGradientBoostingRegressor(learning_rate=0.08, max_iter=200, max_leaf_nodes=15, min_samples_leaf=10,
                                      early_stopping=True, validation_fraction=HELD, random_state=seed % 2**32), x, y),
    "random forest": lambda x, y, seed: fit_trees(  # looks at half the features at each split
        RandomForestRegressor(60, min_samples_leaf=4, max_features=0.5, random_state=seed % 2**32), x, y),
    "linear": fit_linear,
}  # fmt: skip
