"""Better than chance, by how much? What all n! orders of a pair's features score, from its lattice alone.

A random order of n features walks up the players in a random order and stands still at each unchanged
feature. How often it stands still in each place does not depend on the order of the players, so the mean and the
standard deviation over all orders are exact: one pass over the 2ᵈ subsets. Tails are counted in random orders or, for
pairs with few features, found in the histogram of all n! orders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from insdel.errors import UserError
from insdel.lattice import Lattice, _layers, subset_sizes

WIDEST = 16  # features of a pair whose n! orders are counted in a histogram: its middle layer has 12,870 rows
CLOSE = 1e-9  # areas nearer than this share of the largest one count as equal: sums differ by rounding


class Moments(NamedTuple):
    """Mean and standard deviation of the ABC over all n! orders."""

    mean: float
    sd: float


def moments(lattice: Lattice, mode: str = "insertion") -> Moments:
    """Exact mean and standard deviation of the ABC over all n! orders  [section 3.4].

    Mode "both" is ABC + ABC′, where insertion follows the order and deletion its reverse.
    """
    values, unchanged, d = lattice.terms(mode), lattice.n - lattice.d, lattice.d
    centred = values - values.mean()  # a constant changes no variance, and rounding is smaller around 0
    # of random walks from each subset on, layer by layer from the full subset down: E Σ v, E (Σ v)² and E Σ v²
    total, square, squares = centred.copy(), centred**2, centred**2
    for subsets, ahead in _layers(d):
        here, on = centred[subsets], total[ahead].mean(axis=0)
        total[subsets] = here + on
        square[subsets] = here**2 + 2 * here * on + square[ahead].mean(axis=0)
        squares[subsets] = here**2 + squares[ahead].mean(axis=0)
    # The waiting times L_i at the d + 1 places share out the unchanged features, all ways equally likely. So
    # E (1 + L_i)² = a is the same for all i, and E (1 + L_i)(1 + L_k) = b for all i ≠ k.
    mean, pair = unchanged / (d + 1), unchanged * (unchanged - 1) / ((d + 1) * (d + 2))
    a, b = 1 + 3 * mean + 2 * pair, 1 + 2 * mean + pair
    variance = b * square[0] + (a - b) * squares[0] - ((1 + mean) * total[0]) ** 2
    return Moments(lattice.expected_abc(mode), float(np.sqrt(max(variance, 0.0))))


def sample(lattice: Lattice, orders: int, seed: int | list[int] = 0) -> dict[str, np.ndarray]:
    """ABC of uniformly random orders by look-up, mode → (orders,); the same orders for all three modes."""
    drawn = lattice.random_orders(orders, seed)
    ahead, back = (lattice.areas(part) for part in (drawn, drawn[:, ::-1]))
    return {"insertion": ahead, "deletion": -ahead, "both": ahead - back}


def tail(sampled: np.ndarray, areas: np.ndarray | float) -> np.ndarray:
    """Probability that a random order scores at least as much as each of `areas`, from sampled ones.

    (k + 1) / (m + 1), where k of the m sampled orders do: never 0, as one of all orders does.
    """
    areas = np.atleast_1d(np.asarray(areas, dtype=np.float64))
    slack = CLOSE * max(float(np.abs(sampled).max()), float(np.abs(areas).max()))
    beaten = np.searchsorted(np.sort(sampled), areas - slack, side="left")
    return (len(sampled) - beaten + 1) / (len(sampled) + 1)


class Histogram(NamedTuple):
    """Where all n! orders score: `areas` (bins,) rising in equal steps, and the `chances` (bins,) of each."""

    areas: np.ndarray
    chances: np.ndarray

    def tail(self, area: float) -> float:
        """Probability that a random order scores at least that much, up to the histogram's resolution."""
        step = self.areas[1] - self.areas[0]
        return float(self.chances[self.areas >= area - step / 2].sum())


def histogram(lattice: Lattice, mode: str = "insertion", bins: int = 1024) -> Histogram:
    """The ABC of all n! orders, counted without drawing any, for n ≤ 16.

    Every hybrid's value is rounded to a multiple of the step, so that a walk's total is a whole number of steps;
    then the distribution of the rest of a walk is carried from the full subset down, layer by layer. Rounding
    moves a total by about half the root of n steps. Tails reach down to 1 / n!, where random orders see nothing.
    """
    if lattice.n > WIDEST:
        raise UserError(
            f"the histogram of all orders needs pairs of at most {WIDEST} features, but this one has {lattice.n}. "
            "Use insdel.chance.sample to draw random orders instead."
        )
    n, subsets, players = lattice.n, np.arange(2**lattice.n), np.zeros(2**lattice.n, dtype=np.int64)
    for k, feature in enumerate(lattice.players):
        players |= (subsets >> feature & 1) << k
    values = lattice.terms(mode)[players]  # of all n features: the unchanged ones change nothing
    line, size = {"insertion": -1, "deletion": 1, "both": 0}[mode] * lattice.aul(), subset_sizes(n)
    lowest = np.full(n + 1, np.inf)
    np.minimum.at(lowest, size, values)  # of each layer
    start = float(lowest.sum())
    step = max(float(lattice.abc(lattice.best_order(mode), mode)) - line - start, CLOSE) / (bins - 1)
    steps, width = ((values - lowest[size]) / step).round().astype(np.int64), bins + n
    row = np.zeros(len(steps), dtype=np.int64)  # of each subset in its layer
    chances = np.zeros((1, width))  # of Σ steps over the rest of a walk
    chances[0, steps[-1]] = 1.0
    for subsets, ahead in _layers(n):
        mean = sum(chances[row[part]] for part in ahead) / len(ahead)
        chances = np.zeros_like(mean)
        for k, shift in enumerate(steps[subsets]):
            chances[k, shift:] = mean[k, : width - shift]
        row[subsets] = np.arange(len(subsets))
    return Histogram(start + line + step * np.arange(width), chances[0])


def normalised(areas: np.ndarray, mean: np.ndarray | float, best: np.ndarray | float) -> np.ndarray:
    """ABC on a scale on which 0 is the mean over all orders and 1 the best; NaN where all orders are alike."""
    room = np.asarray(best, dtype=np.float64) - np.asarray(mean, dtype=np.float64)
    flat = room <= CLOSE * np.maximum(np.abs(best), np.abs(mean))
    return (np.asarray(areas) - mean) / np.where(flat, np.nan, room)
