"""Attributions that need all 2ᵈ hybrids of a pair: exact Shapley (Kernel SHAP) and Banzhaf values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from insdel.arrays import Array, to_numpy
from insdel.evaluate import Model, Pairs
from insdel.lattice import MAX_FEATURES, Lattice, pair_lattices


def from_lattices(
    value: Callable[[Lattice], Array],
    f: Model,
    pairs: Pairs,
    max_features: int,
    chunk: int | None,
    progress: bool | None,
) -> np.ndarray:
    """Apply `value`, Lattice → (n,), to the lattice of every pair; (pairs, n)."""
    result = pair_lattices(f, pairs, max_features=max_features, chunk=chunk, progress=progress)
    return np.stack([to_numpy(value(lattice)) for lattice in result])


def banzhaf(
    f: Model,
    pairs: Pairs,
    *,
    max_features: int = MAX_FEATURES,
    chunk: int | None = None,
    progress: bool | None = False,
) -> np.ndarray:
    """Mean of f(S + j) − f(S) over all subsets S of the differing features, each counted alike.

    Unlike Shapley values these do not add up to f(x′) − f(x).
    """
    return from_lattices(Lattice.banzhaf, f, pairs, max_features, chunk, progress)


def shapley(f: Model, pairs: Pairs, max_features: int, chunk: int | None, progress: bool | None) -> np.ndarray:
    """Exact Shapley values of the change from x to x′, (pairs, n)."""
    return from_lattices(Lattice.shapley, f, pairs, max_features, chunk, progress)
