"""Simulated events: one feature after the other is drawn, given those before it.

1. Five coordinates decide an event up to a rotation: M, both η, the angle Δφ between the electrons, and
   log(p_t1 / p_t2). M comes from its quantiles. For each of the others a small network says, given those
   before it, how likely each of 64 equally frequent classes is; the value is drawn within its class.
2. Both p_t follow from M² = 2 p_t1 p_t2 (cosh Δη − cos Δφ). Small errors of the angles add up in them. An event
   is therefore kept with a probability, the product of eight curves: one for M, the others for both p_t, both E,
   the smaller, the larger and the mean p_t. They make each of these as frequent as in genuine events.
3. The angle around the beam and the sense of Δφ are drawn evenly, the charges by a last network.
4. The 16 features follow by relativistic kinematics.

The networks were fitted to one half of a random sample of genuine events (`tools/fit_simulators.py`); the
other half judges them (`check`). What is stored are weights, quantiles and curves, no rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri, softmax

from insdel.errors import require_integer
from insdel.seeds import check_seed

from .cern import NAMES, TARGET
from .physics import invariant_mass, momenta

ORIGIN = "third simulator, fitted to 9,989 genuine events, one half of a random sample of the full file"
ROWS = 99_915  # as many as the full file has with M
CLASSES, WAVES = 64, 16  # classes of a coordinate; cosines that make up their log probabilities
PT_LEAST, PT_MOST = 0.4, 160.0  # GeV, just outside what the genuine events have
EDGE = 0.002  # shares are kept that far from 0 and 1, where normal scores are infinite
AT_ONCE = 20_000
FILE = "cern.safetensors"
Fitted = Mapping[str, np.ndarray]


def simulate(n: int = ROWS, seed: int = 0, fitted: Fitted | None = None) -> pd.DataFrame:
    """Draw n events; the same seed gives the same events.

    Parameters
    ----------
    fitted : weights, quantiles and curves; those of the package by default

    Returns
    -------
    (n, 17) DataFrame: the 16 features and M, 2 < M < 110
    """
    check_seed(seed)
    require_integer("n", n, 1)
    rng, fitted = np.random.default_rng(seed), parameters() if fitted is None else fitted
    remaining: list[np.ndarray] = []
    while sum(len(part) for part in remaining) < n:
        remaining.append(_draw(fitted, min(AT_ONCE, 3 * n + 8), rng))
    event, charges = np.split(np.concatenate(remaining)[:n], [5], axis=1)
    phi = rng.uniform(-np.pi, np.pi, n)
    other = np.angle(np.exp(1j * (phi + rng.choice((-1.0, 1.0), n) * event[:, 3])))
    tracks: dict[str, np.ndarray] = {}
    for i, pt, angle in zip((1, 2), transverse(event), (phi, other), strict=True):
        tracks |= {f"{name}{i}": column for name, column in momenta(pt, event[:, i], angle).items()}
    rows = pd.DataFrame(tracks).assign(Q1=charges[:, 0], Q2=charges[:, 1])
    rows[TARGET] = invariant_mass(rows)
    return rows[[*NAMES, TARGET]]


def coordinates(rows: pd.DataFrame) -> np.ndarray:
    """M, η₁, η₂, |Δφ| and log(p_t1 / p_t2) of events, (events, 5)."""
    turn = np.abs(np.angle(np.exp(1j * (rows["phi2"] - rows["phi1"]).to_numpy())))
    return np.column_stack([rows[TARGET], rows["eta1"], rows["eta2"], turn, np.log(rows["pt1"] / rows["pt2"])])


def transverse(event: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both p_t, (events,) each, from the (events, 5) coordinates: M² = 2 p_t1 p_t2 (cosh Δη − cos Δφ)."""
    middle, half = np.exp(log_middle(event)), event[:, 4] / 2
    return middle * np.exp(half), middle * np.exp(-half)


def log_middle(event: np.ndarray) -> np.ndarray:
    """log √(p_t1 p_t2), from M, both η and Δφ."""
    apart = np.sinh((event[:, 1] - event[:, 2]) / 2) ** 2 + np.sin(event[:, 3] / 2) ** 2
    return np.log(event[:, 0] / 2) - np.log(apart) / 2


def inputs(event: np.ndarray, share: np.ndarray) -> np.ndarray:
    """What a network sees of the first k coordinates, k = 1 … 5: normal scores, and what follows from them."""
    known = share.shape[1]
    log_mass = np.log(event[:, 0])
    seen = [ndtri(share.clip(EDGE, 1 - EDGE)), log_mass[:, None] - 2.8]
    if known >= 2:
        seen.append(np.abs(event[:, 1:2]) - 1.2)
    if known >= 3:
        gap = np.abs(event[:, 1:2] - event[:, 2:3])
        seen += [np.abs(event[:, 2:3]) - 1.2, gap - 1.7, log_mass[:, None] - np.log(2 * np.cosh(gap / 2)) - 2.0]
    if known >= 4:
        seen.append(log_middle(event)[:, None] - 2.3)
    return np.concatenate(seen, axis=1)


def waves() -> np.ndarray:
    """Cosines over the classes, (CLASSES, WAVES): what they add up to is smooth from class to class."""
    middle = (np.arange(CLASSES) + 0.5) / CLASSES
    return np.cos(np.pi * np.outer(middle, np.arange(1, WAVES + 1)))


@cache
def parameters() -> Fitted:
    """Fitted weights and quantiles, as `tools/fit_simulators.py` writes them."""
    from safetensors.numpy import load_file

    with as_file(files(__package__).joinpath(FILE)) as path:
        return {name: value.astype(float) for name, value in load_file(path).items()}


def _draw(fitted: Fitted, n: int, rng: np.random.Generator) -> np.ndarray:
    """Coordinates and charges of at most n events, (events, 7)."""
    grid = np.linspace(0, 1, len(fitted["quantiles"]))
    share, event = np.empty((n, 5)), np.empty((n, 5))
    for k, knots in enumerate(fitted["quantiles"].T):
        if k:
            known = share[:, :k]
            chance = softmax(_network(fitted, k, inputs(event, known)) @ waves().T, axis=1)
            share[:, k] = (_choose(chance, rng) + rng.random(n)) / CLASSES
        else:
            share[:, k] = rng.random(n)
        event[:, k] = np.interp(share[:, k], grid, knots)
    charge = _choose(softmax(_network(fitted, 5, inputs(event, share)), axis=1), rng)
    both = np.column_stack([event, charge // 2 * 2.0 - 1, charge % 2 * 2.0 - 1])
    soft, hard = np.minimum(*transverse(event)), np.maximum(*transverse(event))
    curves = zip(sizes(event).T, fitted["knots"].T, fitted["heights"].T, strict=True)
    keep = np.exp(sum(np.interp(*curve) for curve in curves))
    return both[(soft > PT_LEAST) & (hard < PT_MOST) & (rng.random(n) < keep)]


def sizes(event: np.ndarray) -> np.ndarray:
    """M, and the logarithms of both p_t, both E, the smaller, the larger and the mean p_t, (events, 8)."""
    pt = np.log(np.column_stack(transverse(event)))
    energy = pt + np.log(np.cosh(event[:, 1:3]))
    return np.column_stack([event[:, 0], pt, energy, pt.min(axis=1), pt.max(axis=1), pt.mean(axis=1)])


def _network(fitted: Fitted, k: int, seen: np.ndarray) -> np.ndarray:
    """Outputs of the network that draws coordinate k; number 5 draws the charges."""
    for layer in range(3):
        seen = seen @ fitted[f"{k}.{layer}.weight"].T + fitted[f"{k}.{layer}.bias"]
        seen = seen * expit(seen) if layer < 2 else seen
    return seen


def _choose(chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One class per row, (events,), by its chances, (events, classes)."""
    below = chance.cumsum(axis=1) < rng.random(len(chance))[:, None]
    return below.sum(axis=1).clip(max=chance.shape[1] - 1)
