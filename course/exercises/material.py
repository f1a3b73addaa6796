"""Functions and points on which answers are tried: the house, random games, smooth functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import insdel
from insdel.examples import house, price

SEED = 20
Pair = tuple[Callable[..., Any], np.ndarray, np.ndarray]


def bent(z: np.ndarray) -> np.ndarray:
    """A function of four features that interact, (m, 4) → (m,)."""
    return np.tanh(z[:, 0] * z[:, 1]) + z[:, 2] ** 2 - z[:, 3] * z[:, 0]


def pairs() -> list[Pair]:
    """The house, and two random pairs of points for `bent`."""
    _, x, reference, _ = house()
    points = np.random.default_rng(SEED).normal(size=(4, 4)).round(1)
    return [(price, x, reference), (bent, points[0], points[1]), (bent, points[2], points[3])]


def house_values() -> np.ndarray:
    """Prices of the 2³ hybrids of the house, (8,)."""
    f, x, reference, _ = house()
    return np.asarray(insdel.Lattice.evaluate(f, x, reference).values)


def tables() -> list[np.ndarray]:
    """Predictions at all hybrids: of the house, (8,), and of two random games, (8,) and (16,)."""
    rng = np.random.default_rng(SEED + 1)
    return [house_values(), rng.integers(-9, 10, 8).astype(float), rng.integers(-9, 10, 16).astype(float)]


def lattice(values: np.ndarray) -> insdel.Lattice:
    """The lattice of a table of 2ⁿ predictions in which all features differ."""
    n = len(values).bit_length() - 1
    return insdel.Lattice(np.asarray(values, dtype=float), tuple(range(n)), n)


def dividend_tables() -> list[np.ndarray]:
    """The parts Δ_u of the three tables of predictions."""
    return [np.asarray(lattice(values).dividends()) for values in tables()]


def from_parts(dividends: np.ndarray) -> np.ndarray:
    """Predictions from parts, (2ⁿ,) → (2ⁿ,): one sweep of additions per feature."""
    values = np.array(dividends, dtype=float)
    for k in range(len(values).bit_length() - 1):
        halves = values.reshape(-1, 2, 2**k)
        halves[:, 1] += halves[:, 0]
    return values


class Slope:
    """The gradient of a torch function at NumPy points, (m, n) → (m, n)."""

    def __init__(self, f: Callable[[torch.Tensor], torch.Tensor], name: str) -> None:
        self.f, self.__name__ = f, name

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Gradient at each row."""
        z = torch.tensor(np.atleast_2d(points), dtype=torch.float64, requires_grad=True)
        return np.asarray(torch.autograd.grad(self.f(z).sum(), z)[0])


def hill(z: torch.Tensor) -> torch.Tensor:
    """A smooth function of three features, (m, 3) → (m,)."""
    return torch.exp(z[:, 0] / 2) * z[:, 1] + torch.sin(z[:, 2])


def product(z: torch.Tensor) -> torch.Tensor:
    """The product of all features, (m, n) → (m,)."""
    return z.prod(dim=1)


def slopes() -> list[tuple[Slope, np.ndarray, np.ndarray]]:
    """Gradients, each with a pair of points."""
    rng = np.random.default_rng(SEED + 2)
    x, reference = rng.normal(size=(2, 2, 3)).round(1)
    rise = Slope(product, "product_gradient")
    return [
        (rise, np.array([1.0, 2.0]), np.array([3.0, 1.0])),
        (Slope(hill, "hill_gradient"), x[0], reference[0]),
        (Slope(hill, "hill_gradient"), x[1], reference[1]),
    ]
