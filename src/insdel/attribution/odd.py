"""Shapley values from few evaluations: Bayesian regression on the odd functions of the cube.

Write a subset S of d players as z ∈ {−1, 1}ᵈ with z_j = −1 where j is in S. Every game is a sum of
parities, f(S) = Σ_u c_u Π_{j∈u} z_j, and a parity shares −2 c_u equally among the members of u if |u| is
odd, and nothing if it is even (checked in `insdel.paper.theory.parity`). So only g(S) = (f(S) − f(Sᶜ)) / 2
matters, in which the even parities cancel: each S is evaluated together with its complement.

A priori the odd coefficients are independent with variance Π_{j∈u} ρ_j. With ρ_j = tanh b_j that is the
covariance K(z, z′) ∝ sinh(Σ_j b_j z_j z′_j). Nothing is assumed about the terms of first order: they are
fitted as they are, so games with interactions of two players at most come out exactly. The b are those
that make the evaluations most likely: one number for all features, or one for each.

Near it: OddSHAP (Fumagalli and others, 2026) regresses on odd parities that a tree picks; ShaplEIG (Rundel and
others, 2026) has a Gaussian process with a product kernel over all parities and chooses its subsets one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np
import torch
from torch import Tensor

from insdel.attribution.coalitions import draw_subsets
from insdel.evaluate import CHUNK_ELEMENTS

# Measured on the paper's two networks (see the chapter on cost): more of any of these takes longer and gains little.
STRENGTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0)  # Σ b_j to choose from where all b_j are equal
STEPS, RATE, SPREAD = 6, 0.8, 1.0  # how b_j of their own are found: steps, their size, prior sd of log b_j
LEARN_FROM = 64  # subsets beyond d that the b_j are found from
CHOOSE_FROM = 512  # subsets that choose among STRENGTHS
LARGEST_OWN = 512  # subsets up to which a pair gets b_j of its own: the cost of a factorisation grows with their cube
LARGEST = isqrt(CHUNK_ELEMENTS)  # subsets whose covariances fill one chunk
JITTER = 1e-9  # of the prior variance: rounding of f, and what keeps a factorisation from failing
NODES = 32  # of the integral over t that divides parities by their size: exact for d ≤ 32, to rounding beyond


def odd_subsets(d: int, samples: int, seed: int) -> Tensor:
    """One subset of each complementary pair, (m, d), the empty one first; 2m ≤ samples.

    Sizes s as often as s (d − s): measured, the middle ones tell most about what single players leave open,
    unlike Kernel SHAP's own weights 1 / s (d − s).
    """
    return draw_subsets(d, (samples - 2) // 2, {s: s * (d - s) for s in range(1, d)}, seed)


@dataclass(frozen=True)
class Fit:
    """What is known about Shapley values after q factorisations, each for r pairs.

    values, variance : (q, d, r)
    fitness : (q, r) log likelihood of the evaluations, first-order terms and scale integrated out, + a constant
    """

    values: Tensor
    variance: Tensor
    fitness: Tensor


def covariance(b: Tensor, z: Tensor, others: Tensor) -> Tensor:
    """Prior covariance of g, as a share of its variance: (q, d), (m, d), (k, d) → (q, m, k)."""
    return torch.sinh((z * b[:, None]) @ others.T) / torch.sinh(b.sum(dim=1))[:, None, None]


def with_values(b: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Prior covariance of g with the Shapley values, (q, m, d), and their prior variance, (q, d).

    A parity of k players gives each of them 1 / k = ∫ tᵏ⁻¹ dt of it, so both are integrals of products over
    players: 1 / k, and 1 / k² = ∫ tᵏ⁻¹ (−log t) dt, by Gauss and Legendre.
    """
    t, weights, log_weights = quadrature()
    rho = torch.tanh(b)
    r = rho[:, :, None] * t  # (q, d, nodes)
    scale = torch.log1p(-(r**2)).sum(dim=1) / 2 - torch.log1p(-(rho**2)).sum(dim=1, keepdim=True) / 2
    size = (scale - torch.log(torch.sinh(b.sum(dim=1, keepdim=True)))).exp()[:, None]
    exponent = torch.atanh(r)

    def integrals(z: Tensor, weights: Tensor) -> Tensor:
        inner, share = z @ exponent, weights / (1 - r**2)
        even, odd = torch.cosh(inner) * size, torch.sinh(inner) * size
        return 2 * rho[:, None] * (z * (even @ share.mT) - odd @ (share * r).mT)

    nobody = torch.ones(1, z.shape[1], dtype=z.dtype, device=z.device)
    return -integrals(z, weights), 2 * integrals(nobody, log_weights)[:, 0]


def quadrature() -> tuple[Tensor, Tensor, Tensor]:
    """Nodes t in (0, 1) and the weights of ∫ p(t) dt and of ∫ p(t) (−log t) dt."""
    x, weights = np.polynomial.legendre.leggauss(NODES)
    n = np.arange(1, NODES)
    moments = np.concatenate([[1.0], (-1.0) ** n * (2 * n + 1) / (n * (n + 1))])  # −log t by Legendre polynomials
    log_weights = weights / 2 * (np.polynomial.legendre.legvander(x, NODES - 1) @ moments)
    return torch.from_numpy((x + 1) / 2), torch.from_numpy(weights / 2), torch.from_numpy(log_weights)


@dataclass(frozen=True)
class Whitened:
    """Evaluations y and first-order terms z after division by the Cholesky factor L of their covariance.

    lower : (q, m, m)
    z : (q, m, d) and its own factor `lower_z`, (q, d, d)
    slope : (q, d, r), the fitted first-order terms
    rest : (q, m, r), y without them
    """

    lower: Tensor
    z: Tensor
    lower_z: Tensor
    slope: Tensor
    rest: Tensor

    @classmethod
    def of(cls, b: Tensor, y: Tensor, z: Tensor) -> Whitened:
        """Factorise q covariances for b, (q, d), and evaluations y, (q, m, r), of subsets z, (m, d)."""
        lower = factor(covariance(b, z, z))
        both = torch.linalg.solve_triangular(lower, torch.cat([y, z.expand(len(b), -1, -1)], dim=2), upper=False)
        y, z = both.split([y.shape[2], z.shape[1]], dim=2)
        lower_z = factor(z.mT @ z)
        slope = torch.cholesky_solve(z.mT @ y, lower_z)
        return cls(lower, z, lower_z, slope, y - z @ slope)

    @property
    def scale(self) -> Tensor:
        """Prior variance of g that the evaluations speak for, (q, r)."""
        return (self.rest**2).sum(dim=1).clamp(min=torch.finfo(self.rest.dtype).tiny) / self.free

    @property
    def free(self) -> int:
        """Evaluations beyond the d that the first-order terms take."""
        return self.z.shape[1] - self.z.shape[2]

    def fitness(self) -> Tensor:
        """Restricted log likelihood, (q, r), but for a constant."""
        roots = [lower.diagonal(dim1=1, dim2=2).log().sum(dim=1) for lower in (self.lower, self.lower_z)]
        return -(roots[0] + roots[1])[:, None] - self.free / 2 * self.scale.log()


def factor(matrix: Tensor) -> Tensor:
    """Cholesky factors of (q, m, m) covariances, with as little jitter as it takes."""
    jitter = JITTER * matrix.diagonal(dim1=1, dim2=2).mean(dim=1)[:, None]
    while True:
        matrix.diagonal(dim1=1, dim2=2).add_(jitter)
        lower, failed = torch.linalg.cholesky_ex(matrix)
        if not failed.any():
            return lower
        jitter = 100 * jitter


def fit(b: Tensor, y: Tensor, z: Tensor) -> Fit:
    """Shapley values given b, (q, d), from the evaluations y, (q, m, r), of the subsets z, (m, d)."""
    white = Whitened.of(b, y, z)
    cross, prior = with_values(b, z)
    cross = torch.linalg.solve_triangular(white.lower, cross, upper=False)
    values = cross.mT @ white.rest - 2 * white.slope
    # what the unknown slopes add: the values move by −2 − (K⁻¹ cross)ᵀ z with each of them
    moved = -2 * torch.eye(z.shape[1], dtype=z.dtype) - white.z.mT @ cross
    open_ended = torch.linalg.solve_triangular(white.lower_z, moved, upper=False)
    variance = prior - (cross**2).sum(dim=1) + (open_ended**2).sum(dim=1)
    heavier = white.free / max(white.free - 2, 1)  # Student's tails: the scale is estimated, too
    return Fit(values, heavier * variance.clamp(min=0)[:, :, None] * white.scale[:, None], white.fitness())


def gradient(b: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Derivative of the fitness with respect to b, (q, d), for evaluations y, (q, m, 1)."""
    white = Whitened.of(b, y, z)
    inverse = torch.cholesky_inverse(white.lower)
    projected = inverse @ z
    inverse = inverse - projected @ torch.cholesky_solve(projected.mT, white.lower_z)
    pull = inverse @ y
    weight = pull @ pull.mT / white.scale[:, None] - inverse
    slope = torch.cosh((z * b[:, None]) @ z.T) / torch.sinh(b.sum(dim=1))[:, None, None]
    return (((weight * slope) @ z) * z).sum(dim=1) / 2


def own_strengths(start: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """b for each pair and feature, (q, d), from evaluations y, (q, m); it begins at one b for all features, (q,).

    Adam's steps up the fitness, with a prior on log b that draws a pair's features together.
    """
    log_b = start.log()[:, None].repeat(1, z.shape[1])
    mean, square = torch.zeros_like(log_b), torch.zeros_like(log_b)
    for step in range(1, STEPS + 1):
        up = gradient(log_b.exp(), y[:, :, None], z) * log_b.exp() - _apart(log_b) / SPREAD**2
        mean, square = 0.8 * mean + 0.2 * up, 0.9 * square + 0.1 * up**2
        rate = RATE * (1 - step / (2 * STEPS))
        log_b = log_b + rate * (mean / (1 - 0.8**step)) / ((square / (1 - 0.9**step)).sqrt() + 0.1)
        log_b = log_b.clamp(min=np.log(0.3 / z.shape[1]) - 3, max=np.log(1.5))
    return log_b.exp()


def _apart(log_b: Tensor) -> Tensor:
    return log_b - log_b.mean(dim=1, keepdim=True)


@dataclass(frozen=True)
class Odd:
    """The regression for pairs that share their subsets.

    y : (pairs, m) half-differences (f(S) − f(Sᶜ)) / 2 in units of their largest, `unit`, (pairs, 1)
    z : (m, d) the subsets as ±1, the empty one first: its y fixes the sum of the values
    strength : (pairs,) the b that suits a pair best if all its features have the same
    """

    y: Tensor
    unit: Tensor
    z: Tensor
    strength: Tensor

    @classmethod
    def fit(cls, y: Tensor, masks: Tensor) -> Odd:
        """Choose the strengths for half-differences y, (pairs, m), of subsets, (m, d)."""
        z, unit = as_signs(masks), y.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(y.dtype).tiny)
        return cls(y / unit, unit, z, best_strength(y / unit, z))

    def values_and_errors(self, own: bool = True) -> tuple[Tensor, Tensor]:
        """Shapley values and their standard errors, (pairs, d) each, under the b that make y most likely.

        own : try b for each feature, too, unless there are so many subsets that it would take too long
        """
        result = _shared(self.strength, self.y, self.z)
        if own and len(self.z) <= LARGEST_OWN:
            result = torch.cat([_better(*parts, self.z) for parts in _blocks(result, self.strength, self.y)])
        values, variance = result[:, :-1].chunk(2, dim=1)
        left = -2 * self.y[:, :1] - values.sum(dim=1, keepdim=True)  # what the jitter took away
        return self.unit * (values + left / self.z.shape[1]), self.unit * variance.sqrt()

    def predict(self, masks: Tensor) -> Tensor:
        """Half-differences of other subsets, (pairs, k), with the same b for all features of a pair."""
        result = torch.empty(len(self.y), len(masks), dtype=self.z.dtype)
        for b in self.strength.unique():
            mine, same = self.strength == b, b.expand(1, self.z.shape[1])
            white = Whitened.of(same, self.y[mine].T[None], self.z)
            pull = torch.linalg.solve_triangular(white.lower.mT, white.rest, upper=True)[0]
            parts = [covariance(same, z, self.z)[0] @ pull + z @ white.slope[0]
                     for z in as_signs(masks).split(max(1, CHUNK_ELEMENTS // len(self.z)))]  # fmt: skip
            result[mine] = torch.cat(parts).T
        return self.unit * result


def as_signs(masks: Tensor) -> Tensor:
    """Write subsets as z: −1 where a player is in, else 1."""
    return 1 - 2 * masks.to(torch.float64)


def best_strength(y: Tensor, z: Tensor) -> Tensor:
    """The b, (pairs,), that suits the evaluations y, (pairs, m), best if all features of a pair have the same."""
    few, choices = min(len(z), CHOOSE_FROM), torch.tensor(STRENGTHS, dtype=z.dtype) / z.shape[1]
    fitness = [Whitened.of(b.expand(1, z.shape[1]), y.T[None, :few], z[:few]).fitness()[0] for b in choices]
    return choices[torch.stack(fitness).argmax(dim=0)]


def _shared(strength: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Values, variances and fitness, (pairs, 2d + 1): one factorisation for all pairs of the same strength."""
    result = torch.zeros(len(y), 2 * z.shape[1] + 1, dtype=z.dtype)
    for b in strength.unique():
        answer = fit(b.expand(1, z.shape[1]), y[strength == b].T[None], z)
        result[strength == b] = torch.cat([answer.values[0], answer.variance[0], answer.fitness]).T
    return result


def _blocks(found: Tensor, strength: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Cut the pairs into blocks whose covariances fit in memory."""
    block = max(1, CHUNK_ELEMENTS // (4 * y.shape[1] ** 2))
    return zip(found.split(block), strength.split(block), y.split(block), strict=True)


def _better(found: Tensor, strength: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Replace rows of `found` by a fit with b for each feature, where that makes the evaluations likelier."""
    m, d = z.shape
    few = min(m, d + LEARN_FROM)
    b = own_strengths(strength, y[:, :few], z[:few])
    own = fit(b, y[:, :, None], z)
    learned = 1 + d / (few - d)  # d numbers were fitted to the same evaluations
    penalty = (_apart(b.log()) ** 2).sum(dim=1, keepdim=True) / (2 * SPREAD**2)
    rows = torch.cat([own.values[:, :, 0], learned * own.variance[:, :, 0], own.fitness - penalty], dim=1)
    return torch.where(rows[:, -1:] > found[:, -1:], rows, found)
