"""Simulated electron pairs: a small mixture fitted to genuine events, thinned to the masses of the full file.

1. (p_t of the harder and of the softer electron, both η, Δφ) come from a Gaussian mixture in coordinates
   without bounds, fitted to 1,000 genuine events and their mirror images.
2. Each event is kept with a probability that depends on M, so that M follows the full file while the rest
   given M stays that of the genuine events; and on whether both electrons are hard, because the peak of
   the Z, which the mixture smears, consists of such pairs.
3. The symmetries of the detector and the beams are drawn: angle around the beam, sense of Δφ, ±z,
   evenly spread over events of similar momentum.
   Electrons 1 and 2 are *not* exchangeable in the file: number 1 is more often in the barrel, so which
   of them is the harder one is drawn with a probability that depends on where both are.
4. The 16 features and M follow by relativistic kinematics.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from .cern import NAMES, TARGET
from .physics import invariant_mass, momenta

ORIGIN = "simulator fitted to 1,000 genuine events of run 147115 and to the M of all 99,892 distinct events"
ROWS = 99_915  # as many as the full file has with M
ETA_BOUND = 2.65  # just outside what the detector measures
BARREL = 1.5
LOW_MASS, HARD_PAIR = 4.0, 15.0  # GeV: below, J/ψ and photon pairs; above (softer p_t), Z: mostly opposite charges
LEAST, MOST = 2.0, 110.0


def simulate(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Draw n events; the same seed gives the same events.

    Returns
    -------
    (n, 17) DataFrame: the 16 features and M, 2 < M < 110
    """
    if n < 1:
        raise ValueError(f"n must be at least 1 event, found {n}")
    rng = np.random.default_rng(seed)
    kept: list[np.ndarray] = []
    while sum(len(part) for part in kept) < n:
        kept.append(_thin(draw_pairs(rng, min(max(16 * n, 1000), 500_000)), rng))
    pairs = np.concatenate(kept)[:n]
    track = _orient(pairs, rng)
    rows = pd.DataFrame({f"{name}{i}": column for i in (1, 2) for name, column in track[i - 1].items()})
    rows["Q1"], rows["Q2"] = _charges(pairs, rng)
    rows[TARGET] = invariant_mass(track_arrays(rows))
    return rows[[*NAMES, TARGET]]


def to_unbounded(pairs: np.ndarray) -> np.ndarray:
    """Coordinates in which the mixture lives: log p_t twice, logit of both η and of Δφ.

    Parameters
    ----------
    pairs : (events, 5 or 6): p_t of the harder and of the softer electron, their η, |Δφ|
    """
    eta = (pairs[:, 2:4] / ETA_BOUND + 1) / 2
    turn = np.clip(pairs[:, 4] / np.pi, 1e-3, 1 - 1e-3)
    share = np.column_stack([eta, turn])
    return np.column_stack([np.log(pairs[:, :2]), np.log(share / (1 - share))])


def from_unbounded(z: np.ndarray) -> np.ndarray:
    """Inverse of `to_unbounded`, (events, 5)."""
    share = 1 / (1 + np.exp(-z[:, 2:]))
    return np.column_stack([np.exp(z[:, :2]), ETA_BOUND * (2 * share[:, :2] - 1), np.pi * share[:, 2]])


def pair_mass(pairs: np.ndarray) -> np.ndarray:
    """M of (events, 5) pairs."""
    track = dict(zip(("pt1", "pt2", "eta1", "eta2", "phi1"), pairs.T, strict=True))
    return invariant_mass({**track, "phi2": np.zeros(len(pairs))})


def draw_pairs(rng: np.random.Generator, n: int, fitted: dict[str, Any] | None = None) -> np.ndarray:
    """Draw n times from the mixture and keep what is an event: harder before softer, 2 < M < 110.

    Returns
    -------
    (events, 6): p_t of the harder and of the softer electron, their η, |Δφ|, M
    """
    fitted = parameters() if fitted is None else fitted
    weights, means, factors = (np.array(fitted[name]) for name in ("weights", "means", "factors"))
    counts = rng.multinomial(n, weights / weights.sum())
    parts = zip(counts, means, factors, strict=True)
    z = np.concatenate([mean + rng.standard_normal((count, 5)) @ factor.T for count, mean, factor in parts])
    pairs = from_unbounded(rng.permutation(z))
    pairs = pairs[pairs[:, 0] >= pairs[:, 1]]
    pairs = np.column_stack([pairs, pair_mass(pairs)])
    return pairs[(pairs[:, 5] > LEAST) & (pairs[:, 5] < MOST)]


@cache
def parameters() -> dict[str, Any]:
    """Fitted parameters, as `python -m insdel.paper.data.fit` writes them."""
    return json.loads(files(__package__).joinpath("cern.json").read_text(encoding="utf-8"))


def track_arrays(rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """Columns of a table as arrays, for the functions of `physics`."""
    return {str(name): rows[name].to_numpy(float) for name in rows}


def _thin(pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Keep pairs so that M gets the distribution of the full file."""
    place = np.searchsorted(parameters()["mass_edges"], pairs[:, 5]) - 1
    keep = np.array(parameters()["keep"])
    hard = (pairs[:, 1] > HARD_PAIR).astype(int)
    return pairs[rng.random(len(pairs)) < keep[np.clip(place, 0, len(keep) - 1), hard]]


def _orient(pairs: np.ndarray, rng: np.random.Generator) -> list[dict[str, np.ndarray]]:
    """Number the electrons, rotate and mirror; the kinematics of either, (events,) arrays."""
    inside = (np.abs(pairs[:, 2:4]) < BARREL).astype(int)
    first = rng.random(len(pairs)) < np.array(parameters()["harder_first"])[inside[:, 0], inside[:, 1]]
    along = np.abs(pairs[:, 0] * np.sinh(pairs[:, 2]))
    forward = _even_turns(np.lexsort((along, first)), 2, rng) < 0.5
    up = np.where(forward == (pairs[:, 2] > 0), 1.0, -1.0)
    phi = 2 * np.pi * _even_turns(np.lexsort((pairs[:, 0], first)), 8, rng) - np.pi
    other = np.angle(np.exp(1j * (phi + rng.choice((-1.0, 1.0), len(pairs)) * pairs[:, 4])))
    columns = (pairs[:, :2], up[:, None] * pairs[:, 2:4], np.column_stack([phi, other]))
    numbered = []
    for chosen in (first, ~first):
        pt, eta, angle = (np.where(chosen, column[:, 0], column[:, 1]) for column in columns)
        numbered.append(momenta(pt, eta, angle))
    return numbered


def _even_turns(order: np.ndarray, block: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers in [0, 1), evenly spaced within each block of neighbours in `order`, (events,).

    Few events of large momentum dominate a correlation; spread evenly they leave it where the symmetry has it.
    """
    start = np.repeat(rng.random(len(order) // block + 1), block)[: len(order)]
    turns = np.empty(len(order))
    turns[order] = (start + np.arange(len(order)) % block / block) % 1
    return turns


def _charges(pairs: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    opposite = rng.random(len(pairs)) < np.array(parameters()["opposite"])[charge_class(pairs)]
    first = rng.choice((-1.0, 1.0), len(pairs))
    return first, np.where(opposite, -first, first)


def charge_class(pairs: np.ndarray) -> np.ndarray:
    """0: neither, 1: low mass, 2: both electrons hard; the share of opposite charges differs, (events,)."""
    return np.where(pairs[:, 1] > HARD_PAIR, 2, np.where(pairs[:, 5] < LOW_MASS, 1, 0))
