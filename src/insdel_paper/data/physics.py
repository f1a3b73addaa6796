"""Relativistic kinematics of a lepton pair, in GeV [section 5.2]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd

ELECTRON_MASS = 0.000511
MUON_MASS = 0.105658
Tracks: TypeAlias = Mapping[str, np.ndarray] | pd.DataFrame  # columns such as pt1 and pt2, each (events,)


def leptons(tracks: Tracks, *names: str) -> list[np.ndarray]:
    """These columns of both leptons, (2, events) each."""
    return [np.stack([tracks[f"{name}1"], tracks[f"{name}2"]]) for name in names]


def invariant_mass(track: Tracks, mass: float = ELECTRON_MASS) -> np.ndarray:
    """Invariant mass M of two leptons from pt, η and φ.

    M² = 2m² + 2(E₁E₂ − p₁·p₂), arranged so that nothing cancels: with E₁E₂ − |p₁||p₂| written as
    m²(p₁² + p₂² + m²) / (E₁E₂ + |p₁||p₂|), and the rest as p_t1 p_t2 · (…) of positive terms.

    track : pt1, eta1, phi1, pt2, eta2, phi2; mass : of either lepton
    """
    pt, eta, phi = leptons(track, "pt", "eta", "phi")
    momentum = pt * np.cosh(eta)
    energy = np.sqrt(momentum**2 + mass**2)
    product = momentum[0] * momentum[1]
    slower = mass**2 * (momentum[0] ** 2 + momentum[1] ** 2 + mass**2) / (energy[0] * energy[1] + product)
    # cosh Δη − cos Δφ = 2 sinh²(Δη/2) + 2 sin²(Δφ/2)
    apart = 2 * np.sinh((eta[0] - eta[1]) / 2) ** 2 + 2 * np.sin((phi[0] - phi[1]) / 2) ** 2
    return np.sqrt(2 * mass**2 + 2 * slower + 2 * pt[0] * pt[1] * apart)


def mass_of_momenta(rows: Tracks) -> np.ndarray:
    """Invariant mass from energies and Cartesian momenta, (events,); 0 where they belong to no mass at all."""
    energy, px, py, pz = (both[0] + both[1] for both in leptons(rows, "E", "px", "py", "pz"))
    return np.sqrt(np.maximum(energy**2 - px**2 - py**2 - pz**2, 0))


def momenta(pt: np.ndarray, eta: np.ndarray, phi: np.ndarray, mass: float = ELECTRON_MASS) -> dict[str, np.ndarray]:
    """E, px, py, pz, pt, eta, phi of a lepton, (events,): p_x = p_t cos φ, p_y = p_t sin φ, p_z = p_t sinh η."""
    energy = np.sqrt((pt * np.cosh(eta)) ** 2 + mass**2)
    px, py, pz = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
    return {"E": energy, "px": px, "py": py, "pz": pz, "pt": pt, "eta": eta, "phi": phi}


def identities(rows: Tracks, mass: float = ELECTRON_MASS) -> dict[str, np.ndarray]:
    """Residuals of the relations between the 16 features and M, relative to the size of the terms.

    Returns
    -------
    pt² = px² + py², E² = p² + m², η and φ from the momenta, M from the four-momenta: each (events,)
    """
    energy, px, py, pz, pt, eta, phi = leptons(rows, "E", "px", "py", "pz", "pt", "eta", "phi")
    momentum = np.sqrt(px**2 + py**2 + pz**2)
    residuals = {
        "pt": np.abs(pt**2 - px**2 - py**2) / pt**2,
        "E": np.abs(energy**2 - momentum**2 - mass**2) / energy**2,
        "eta": np.abs(eta - np.arcsinh(pz / np.hypot(px, py))),
        "phi": np.abs(np.angle(np.exp(1j * (phi - np.arctan2(py, px))))),
    }
    of_mass = np.abs(invariant_mass(rows, mass) / np.asarray(rows["M"]) - 1)
    return {name: both.max(axis=0) for name, both in residuals.items()} | {"M": of_mass}
