"""Random numbers that belong to a pair, so that neither its neighbours nor the size of a chunk change them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from insdel.errors import UserError

Seed = int | ArrayLike  # one number for all pairs, or a row of numbers for each


def pair_seeds(seed: Seed, pairs: int | Sequence[int] | np.ndarray) -> np.ndarray:
    """What seeds each pair, (pairs, k) whole numbers; for a single `seed` the rows (seed, number of the pair).

    Parameters
    ----------
    seed : a whole number of at least 0, or already a row of them for each pair
    pairs : how many pairs there are, or the number of each in the table that they are part of
    """
    numbers = np.arange(pairs) if isinstance(pairs, int) else np.asarray(pairs, dtype=np.int64)
    given = check_seed(seed)
    if given.ndim == 1:
        raise UserError(f"seed must be one number, or a row of them for each pair; found {seed!r}.")
    if given.ndim == 0:
        return np.stack([np.full(len(numbers), given), numbers], axis=1)
    if len(given) != len(numbers):
        raise UserError(f"seed has {len(given)} rows for {len(numbers)} pairs: one for each is needed.")
    return given


def check_seed(seed: Seed) -> np.ndarray:
    """Return seeds as an array of whole numbers, or say what they must be."""
    given = np.asarray(seed)
    if given.dtype.kind not in "iu" or (given < 0).any() or given.ndim > 2:
        raise UserError(f"seed must be a whole number of at least 0 and below 2⁶⁴, or rows of them; found {seed!r}.")
    return given


def generators(seed: Seed, pairs: int | Sequence[int] | np.ndarray) -> list[np.random.Generator]:
    """One random generator for each pair: pair i of a table has that of SeedSequence([seed, i])."""
    return [np.random.default_rng(row.tolist()) for row in pair_seeds(seed, pairs)]
