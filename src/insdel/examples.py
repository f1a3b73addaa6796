"""Small examples that the chapters share: a house with three features, and games made to order.

Both work with arrays and with tensors, and both are multilinear in the features, so everything about
them can be worked out by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from insdel.errors import UserError


class Example(NamedTuple):
    """A function with a pair of points: `f, x, reference, names = house()`.

    f : maps (m, n) to (m,)
    x, reference : (n,) each
    names : n words, one per feature
    """

    f: Callable[[Any], Any]
    x: np.ndarray
    reference: np.ndarray
    names: tuple[str, ...]


def price(houses: Any) -> Any:
    """Price in thousands of houses with columns area (m²), garden (m²) and metro (km), (m, 3) → (m,).

    A base of 50, plus a price per m² that falls with the distance to the metro times the useful space:
    the area, and a part of the garden that is larger the smaller the house is.
    """
    area, garden, metro = houses[:, 0], houses[:, 1], houses[:, 2]
    space = area + garden / 4 * (1 - area / 200)
    return 50 + (4 - metro) * space


def house() -> Example:
    """The house of Part I, priced at 250, and the house that it is compared with, priced at 380.

    Its interactions, in the order area, garden, metro: Δ_∅ = 250; Δ₁ = −40, Δ₂ = 50, Δ₃ = 100;
    Δ₁₂ = 10, Δ₁₃ = −20, Δ₂₃ = 25; Δ₁₂₃ = 5.
    """
    x, reference = np.array([100.0, 0.0, 2.0]), np.array([80.0, 200.0, 1.0])
    return Example(price, x, reference, ("area", "garden", "metro"))


def game(dividends: Mapping[Iterable[int], float], n: int | None = None) -> Example:
    """A function whose interactions Δ_u between x = 0 and x′ = 1 are the given ones  [section 3.3].

    f(z) = Σ_u Δ_u Π_{j ∈ u} z_j, which at the corners of the unit cube is any game one likes.

    Parameters
    ----------
    dividends : {u: Δ_u}; u holds features counted from 1 as in the paper, such as (1, 3), and () is Δ_∅.
        Sets that are left out have Δ_u = 0.
    n : number of features (default: the largest one that is named)

    Returns
    -------
    Example with x = 0 and x′ = 1, (n,) each; feature j of the paper is index j − 1.
    """
    terms = [(sorted(set(u)), delta) for u, delta in dividends.items()]
    members = [j for u, _ in terms for j in u]
    largest = max(members, default=0)
    n = largest if n is None else n
    if n < 1 or largest > n or min(members, default=1) < 1:
        raise UserError(
            f"a game needs features from 1, …, n with n ≥ 1; found n = {n}, features {sorted(set(members))}. "
            "Count features from 1, and pass n if the last ones are in no set."
        )

    def f(z: Any) -> Any:
        none = 0 * z[:, 0]  # of the kind of z; math.prod stays in it, too
        return sum((delta * math.prod((z[:, j - 1] for j in u), start=none + 1) for u, delta in terms), start=none)

    return Example(f, np.zeros(n), np.ones(n), tuple(str(j) for j in range(1, n + 1)))
