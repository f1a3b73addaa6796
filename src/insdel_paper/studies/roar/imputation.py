"""Fill removed features by draws that nobody can tell from genuine ones, so that the mask cannot be read off.

Mean and mode in place of a removed feature tell a network which features were removed, and which ones those are
tells the target. A draw from the feature's distribution given the features that were kept does not (Rong, Leemann,
Borisov, Kasneci and Kasneci 2022 do this for images). The distribution is a Gaussian copula of the training rows;
what follows exactly from kept features, as momenta do from energies and angles, is computed instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtr, ndtri

from insdel_paper.data import Split

RIDGE = 1e-3  # added to the diagonal of the correlations: columns that follow from others make them singular
ROWS = 4096  # rows that are drawn at a time


@dataclass(frozen=True)
class Copula:
    """Gaussian copula: every feature has its own distribution, their normal scores are jointly normal.

    columns : (m, n) training values, each column sorted
    correlation : (n, n) of the normal scores
    """

    columns: np.ndarray
    correlation: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, seed: int = 0) -> Copula:
        """Fit to (m, n) training rows; ties, such as 0 and 1, get normal scores drawn within their share."""
        columns = np.sort(x, axis=0)
        z = normal_scores(x, columns, np.random.default_rng([seed, 0]))
        correlation = np.corrcoef(z.T) + RIDGE * np.eye(x.shape[1])
        return cls(columns, correlation / (1 + RIDGE))

    def draw(self, x: np.ndarray, mask: np.ndarray, seed: int = 0) -> np.ndarray:
        """Rows (k, n) with the features that `mask` marks drawn given the others; the others stay as they are."""
        rng = np.random.default_rng([seed, 1])
        slices = [slice(start, start + ROWS) for start in range(0, len(x), ROWS)]
        return np.concatenate([self._draw(x[part], mask[part], rng) for part in slices]).astype(x.dtype)

    def _draw(self, x: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A draw of all scores, moved by what the kept ones are off: that is a draw given them."""
        root = np.linalg.cholesky(self.correlation)
        free = rng.normal(size=x.shape) @ root.T
        remaining = ~mask
        off = np.where(remaining, normal_scores(x, self.columns, rng) - free, 0.0)
        # one system per row: the correlations of its kept features, and ones on the diagonal for the others
        both = remaining[:, :, None] & remaining[:, None, :]
        systems = self.correlation * both + np.eye(x.shape[1]) * mask[:, :, None]
        factors = torch.linalg.cholesky(torch.from_numpy(systems))
        weights = torch.cholesky_solve(torch.from_numpy(off)[:, :, None], factors)[:, :, 0].numpy()
        # training values at the quantiles of the drawn scores
        last = len(self.columns) - 1
        place = np.minimum((ndtr(free + weights @ self.correlation) * len(self.columns)).astype(int), last)
        return np.where(mask, np.take_along_axis(self.columns, place, axis=0), x)


def normal_scores(x: np.ndarray, columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal quantile of each value's rank among the sorted training values; ties are drawn within their ranks."""
    ranks = np.empty(x.shape)
    for j in range(x.shape[1]):
        low = np.searchsorted(columns[:, j], x[:, j], "left")
        high = np.searchsorted(columns[:, j], x[:, j], "right")
        ranks[:, j] = low + rng.random(len(x)) * (high - low)
    return np.asarray(ndtri((ranks + 0.5) / (len(columns) + 1)))


Fill = Callable[[np.ndarray, np.ndarray, int], np.ndarray]  # rows (m, n), mask (m, n), seed → rows


def filler(split: Split, seed: int = 0) -> Fill:
    """What fills removed features: draws from the copula of the training rows; for events also the laws of physics."""
    copula = Copula.of(split.x_train, seed)
    if not set(RULES_NEED) <= set(split.names):
        return copula.draw
    return lambda x, mask, draw_seed: copula.draw(*deduce(x, mask, split), draw_seed)


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=np.abs(bottom) > 1e-6)


# What follows from what, for one electron (its mass is nothing beside its momentum): feature ← features, how.
RULES: list[tuple[str, tuple[str, ...], Callable[..., np.ndarray]]] = [
    ("px", ("pt", "phi"), lambda pt, phi: pt * np.cos(phi)),
    ("py", ("pt", "phi"), lambda pt, phi: pt * np.sin(phi)),
    ("pt", ("px", "py"), np.hypot),
    ("phi", ("px", "py"), lambda px, py: np.arctan2(py, px)),
    ("pt", ("px", "phi"), lambda px, phi: _ratio(px, np.cos(phi))),
    ("pt", ("py", "phi"), lambda py, phi: _ratio(py, np.sin(phi))),
    ("pz", ("pt", "eta"), lambda pt, eta: pt * np.sinh(eta)),
    ("pt", ("pz", "eta"), lambda pz, eta: _ratio(pz, np.sinh(eta))),
    ("eta", ("pt", "pz"), lambda pt, pz: np.arcsinh(_ratio(pz, pt))),
    ("E", ("pt", "eta"), lambda pt, eta: pt * np.cosh(eta)),
    ("pt", ("E", "eta"), lambda energy, eta: energy / np.cosh(eta)),
    ("pt", ("E", "pz"), lambda energy, pz: np.sqrt(np.maximum(energy**2 - pz**2, 0))),
]
RULES_NEED = tuple(f"{name}{i}" for i in (1, 2) for name in ("E", "px", "py", "pz", "pt", "eta", "phi"))


def deduce(x: np.ndarray, mask: np.ndarray, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Compute what follows exactly from the kept features of each event.

    Parameters
    ----------
    x : (m, n) standardised rows; mask : (m, n), the removed features

    Returns
    -------
    (m, n) rows in which the removed features that follow from others are filled, and (m, n) what is still missing
    """
    raw = x.astype(np.float64) * split.scale + split.mean
    left = mask.copy()
    column = {name: j for j, name in enumerate(split.names)}
    for _ in range(3):  # what a rule gives may be what another one needs; no chain is longer
        for target, needs, rule in RULES:
            for i in (1, 2):
                j, others = column[f"{target}{i}"], [column[f"{name}{i}"] for name in needs]
                rows = left[:, j] & ~left[:, others].any(axis=1)
                value = rule(*(raw[rows, k] for k in others))
                good = np.isfinite(value)
                at = np.flatnonzero(rows)[good]
                raw[at, j] = value[good]
                left[at, j] = False
    filled = ((raw - split.mean) / split.scale).astype(x.dtype)
    return np.where(mask & ~left, filled, x), left
