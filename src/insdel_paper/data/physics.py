"""Relativistic kinematics of a lepton pair, in GeV [section 5.2]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

ELECTRON_MASS = 0.000511
MUON_MASS = 0.105658


def invariant_mass(track: Mapping[str, np.ndarray], mass: float = ELECTRON_MASS) -> np.ndarray:
    """Invariant mass M of two leptons from pt, η and φ.

    M² = 2m² + 2(E₁E₂ − p₁·p₂), arranged so that nothing cancels: with E₁E₂ − |p₁||p₂| written as
    m²(p₁² + p₂² + m²) / (E₁E₂ + |p₁||p₂|), and the rest as p_t1 p_t2 · (…) of positive terms.

    Parameters
    ----------
    track : (events,) arrays pt1, eta1, phi1, pt2, eta2, phi2
    mass : of either lepton

    Returns
    -------
    (events,)
    """
    pt, eta, phi = (np.stack([track[f"{name}1"], track[f"{name}2"]]) for name in ("pt", "eta", "phi"))
    momentum = pt * np.cosh(eta)
    energy = np.sqrt(momentum**2 + mass**2)
    product = momentum[0] * momentum[1]
    slower = mass**2 * (momentum[0] ** 2 + momentum[1] ** 2 + mass**2) / (energy[0] * energy[1] + product)
    # cosh Δη − cos Δφ = 2 sinh²(Δη/2) + 2 sin²(Δφ/2)
    apart = 2 * np.sinh((eta[0] - eta[1]) / 2) ** 2 + 2 * np.sin((phi[0] - phi[1]) / 2) ** 2
    return np.sqrt(2 * mass**2 + 2 * slower + 2 * pt[0] * pt[1] * apart)


def mass_of_momenta(rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Invariant mass from energies and Cartesian momenta, (events,); 0 where they belong to no mass at all."""
    total = {axis: np.asarray(rows[f"{axis}1"]) + np.asarray(rows[f"{axis}2"]) for axis in ("E", "px", "py", "pz")}
    squared = total["E"] ** 2 - total["px"] ** 2 - total["py"] ** 2 - total["pz"] ** 2
    return np.sqrt(np.maximum(squared, 0))


def momenta(pt: np.ndarray, eta: np.ndarray, phi: np.ndarray, mass: float = ELECTRON_MASS) -> dict[str, np.ndarray]:
    """Energy and Cartesian momentum of a lepton: p_x = p_t cos φ, p_y = p_t sin φ, p_z = p_t sinh η.

    Returns
    -------
    E, px, py, pz, pt, eta, phi, each (events,)
    """
    energy = np.sqrt((pt * np.cosh(eta)) ** 2 + mass**2)
    px, py, pz = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
    return {"E": energy, "px": px, "py": py, "pz": pz, "pt": pt, "eta": eta, "phi": phi}


def identities(rows: Mapping[str, np.ndarray], mass: float = ELECTRON_MASS) -> dict[str, np.ndarray]:
    """Residuals of the relations between the 16 features and M, relative to the size of the terms.

    Returns
    -------
    pt² = px² + py², E² = p² + m², η and φ from the momenta, M from the four-momenta: each (events,)
    """
    result: dict[str, list[np.ndarray]] = {"pt": [], "E": [], "eta": [], "phi": []}
    for i in (1, 2):
        energy, px, py, pz, pt, eta, phi = (
            np.asarray(rows[f"{name}{i}"]) for name in ("E", "px", "py", "pz", "pt", "eta", "phi")
        )
        momentum = np.sqrt(px**2 + py**2 + pz**2)
        result["pt"].append(np.abs(pt**2 - px**2 - py**2) / pt**2)
        result["E"].append(np.abs(energy**2 - momentum**2 - mass**2) / energy**2)
        result["eta"].append(np.abs(eta - np.arcsinh(pz / np.hypot(px, py))))
        result["phi"].append(np.abs(np.angle(np.exp(1j * (phi - np.arctan2(py, px))))))
    residuals = {name: np.maximum(*both) for name, both in result.items()}
    residuals["M"] = np.abs(invariant_mass(rows, mass) / np.asarray(rows["M"]) - 1)
    return residuals
