"""Shapley values from few evaluations: Bayesian regression on the odd functions of the cube.

Write a subset S of d players as z ∈ {−1, 1}ᵈ with z_j = −1 where j is in S. Every game is a sum of
parities, f(S) = Σ_u c_u Π_{j∈u} z_j, and a parity shares −2 c_u equally among the members of u if |u| is
odd, and nothing if it is even (checked in `insdel_paper.theory.parity`). So only g(S) = (f(S) − f(Sᶜ)) / 2
matters, in which the even parities cancel: each S is evaluated together with its complement.

A priori the odd coefficients are independent with variance Π_{j∈u} ρ_j. With ρ_j = tanh b_j that is the
covariance K(z, z′) ∝ sinh(Σ_j b_j z_j z′_j). One such term falls off by the same factor from every order to the
next; real games have a longer tail, so a second, rough one with equal b_j is added. Nothing is assumed about the
terms of first order: they are fitted as they are, so games with interactions of two players at most come out
exactly. The b_j and the share of the rough term are those that make a pair's evaluations most likely.

Near it: OddSHAP (Fumagalli and others, 2026) regresses on odd parities that a tree picks; ShaplEIG (Rundel and
others, 2026) has a Gaussian process with a product kernel over all parities and chooses its subsets one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from insdel.attribution.coalitions import draw_subsets
from insdel.evaluate import CHUNK_ELEMENTS

# Measured on the paper's two networks (see the chapter on cost): more of any of these takes longer and gains little.
STRENGTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0)  # Σ b_j to begin with
CHOOSE_FROM = 128  # subsets beyond d that choose among them
LEARN_FROM = ((64, 4), (256, 2), (512, 1))  # subsets beyond d, and steps taken on them, that the prior is found from
SPREAD = 1.0  # sd of log b_j among the features of a pair
ROUGH = 12.0  # Σ b_j of the rough term
USUAL, USUAL_SPREAD = 3e-3, 2.0  # its usual share, and the sd of the logarithm of it
CACHED = 2**16  # numbers in covariances that are factorised together
LARGEST = 2048  # subsets that are fitted: the cost of a factorisation grows with their cube
JITTER = {torch.float64: 1e-9, torch.float32: 1e-6}  # of the prior variance: what keeps a factorisation from failing
TRIES = 8  # sizes of it, each 100 times the one before: the last exceeds the variances themselves
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


@dataclass(frozen=True)
class Prior:
    """What q pairs, or groups of pairs, are taken to be like.

    b : (q, d) how much each feature takes part in interactions
    rough : (q, 1) variance of the rough term over that of the other one
    """

    b: Tensor
    rough: Tensor

    @classmethod
    def alike(cls, strength: Tensor, d: int) -> Prior:
        """Give all d features the same b, (q,)."""
        b = strength[:, None]
        return cls(b.repeat(1, d), torch.full_like(b, USUAL))

    def split(self, size: int) -> list[Prior]:
        """Cut the q priors into parts of `size`."""
        return [Prior(*part) for part in zip(self.b.split(size), self.rough.split(size), strict=True)]

    @property
    def rough_b(self) -> Tensor:
        """Strengths of the rough term, (1, d)."""
        return torch.full_like(self.b[:1], ROUGH / self.b.shape[1])

    def covariance(self, z: Tensor, others: Tensor) -> Tensor:
        """Prior covariance of g: (m, d), (k, d) → (q, m, k)."""
        smooth, rough = covariance(self.b, z, others), covariance(self.rough_b, z, others)
        return smooth.addcmul_(self.rough[:, :, None], rough)

    def with_values(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Prior covariance of g with the Shapley values, (q, m, d), and their prior variance, (q, d)."""
        (cross, prior), (rough_cross, rough_prior) = (with_values(b, z) for b in (self.b, self.rough_b))
        return cross + self.rough[:, :, None] * rough_cross, prior + self.rough * rough_prior


def covariance(b: Tensor, z: Tensor, others: Tensor) -> Tensor:
    """Prior covariance of g, as a share of its variance: (q, d), (m, d), (k, d) → (q, m, k)."""
    inner = (z * b[:, None]) @ others.T  # in place from here on: these are the largest arrays there are
    return inner.sinh_().div_(torch.sinh(b.sum(dim=1))[:, None, None])


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
    def of(cls, prior: Prior, y: Tensor, z: Tensor) -> Whitened:
        """Factorise q covariances for evaluations y, (q, m, r), of subsets z, (m, d)."""
        lower = factor(prior.covariance(z, z))
        both = torch.linalg.solve_triangular(lower, torch.cat([y, z.expand(len(lower), -1, -1)], dim=2), upper=False)
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
    jitter = JITTER[matrix.dtype] * matrix.diagonal(dim1=1, dim2=2).mean(dim=1)[:, None]
    for _ in range(TRIES):
        matrix.diagonal(dim1=1, dim2=2).add_(jitter)
        lower, failed = torch.linalg.cholesky_ex(matrix)
        if not failed.any():
            return lower
        jitter = 100 * jitter
    finite = "finite" if torch.isfinite(matrix).all() else "not all finite"
    raise RuntimeError(
        f"{int((failed != 0).sum())} of {len(matrix)} covariances of {matrix.shape[1]} subsets could not be factorised "
        f"with {TRIES} sizes of jitter; their numbers are {finite}. Rescale f, or choose another number of samples."
    )


def fit(prior: Prior, y: Tensor, z: Tensor) -> Fit:
    """Shapley values under q priors from the evaluations y, (q, m, r), of the subsets z, (m, d)."""
    white = Whitened.of(prior, y, z)
    cross, before = prior.with_values(z)
    cross = torch.linalg.solve_triangular(white.lower, cross, upper=False)
    values = cross.mT @ white.rest - 2 * white.slope
    # what the unknown slopes add: the values move by −2 − (K⁻¹ cross)ᵀ z with each of them
    moved = -2 * torch.eye(z.shape[1], dtype=z.dtype) - white.z.mT @ cross
    open_ended = torch.linalg.solve_triangular(white.lower_z, moved, upper=False)
    variance = before - (cross**2).sum(dim=1) + (open_ended**2).sum(dim=1)
    heavier = white.free / max(white.free - 2, 1)  # Student's tails: the scale is estimated, too
    return Fit(values, heavier * variance.clamp(min=0)[:, :, None] * white.scale[:, None], white.fitness())


def pulls(prior: Prior, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """How evaluations y, (q, m, 1), pull at log b and log rough: upwards and downwards, (q, d + 1) each.

    The derivative of the fitness is half of what is left over. Either is a sum of weights over couples of subsets,
    times the derivative of their covariance: how alike they are in y, and how alike they are expected to be.
    """
    white = Whitened.of(prior, y, z)
    inverse = torch.cholesky_inverse(white.lower)
    projected = inverse @ z
    inverse = inverse - projected @ torch.cholesky_solve(projected.mT, white.lower_z)
    pull = inverse @ y / white.scale[:, None].sqrt()
    slope = torch.cosh((z * prior.b[:, None]) @ z.T) / torch.sinh(prior.b.sum(dim=1))[:, None, None]
    rough = prior.rough[:, :, None] * covariance(prior.rough_b, z, z)
    relative = prior.b / torch.tanh(prior.b.sum(dim=1, keepdim=True))  # the covariance is one of shares

    def directions(weight: Tensor) -> Tensor:
        last = (weight * rough).sum(dim=(1, 2))[:, None]
        return torch.cat([prior.b * (((weight * slope) @ z) * z).sum(dim=1) + relative * last, last], dim=1)

    return directions(pull @ pull.mT), directions(inverse)


def learn(prior: Prior, y: Tensor, z: Tensor) -> Prior:
    """Improve the priors of q pairs by their evaluations y, (q, m), of subsets z, (m, d): first by a few of them.

    In single precision: a prior need not be sharp, and measured errors are the same to three digits in half the time.
    """
    y, z, single = y.float(), z.float(), Prior(prior.b.float(), prior.rough.float())
    for more, steps in LEARN_FROM:
        single = climb(single, y[:, : z.shape[1] + more], z[: z.shape[1] + more], steps)
    return Prior(single.b.double(), single.rough.double())


def climb(prior: Prior, y: Tensor, z: Tensor, steps: int) -> Prior:
    """Take some steps up the fitness of evaluations y, (q, m).

    log b of a pair's features are drawn together, log rough to what is usual. A step is the gradient over
    a quarter of the downward pull, which is about the curvature.
    """
    logs = torch.cat([prior.b, prior.rough], dim=1).log()
    tight = torch.full_like(logs[0], SPREAD**-2)
    tight[-1] = USUAL_SPREAD**-2
    lowest, highest = np.log(1e-3 / z.shape[1]), np.log(min(1.5, 80 / z.shape[1]))  # sinh 80 is still a number
    for _ in range(steps):
        up, down = pulls(prior, y[:, :, None], z)
        gain = (up - down) / 2 - tight * _apart(logs)
        logs = logs + (gain / (down / 4 + tight)).clamp(-1.5, 1.5)
        logs = logs.clamp(min=lowest, max=highest)
        prior = Prior(logs[:, :-1].exp(), logs[:, -1:].exp())
    return prior


def _apart(logs: Tensor) -> Tensor:
    """Differences of log b from their mean, and of log rough from the usual, (q, d + 1)."""
    center = logs[:, :-1].mean(dim=1, keepdim=True)
    return torch.cat([logs[:, :-1] - center, logs[:, -1:] - np.log(USUAL)], dim=1)


@dataclass(frozen=True)
class Odd:
    """The regression for pairs that share their subsets.

    y : (pairs, m) half-differences (f(S) − f(Sᶜ)) / 2 in units of their largest, `unit`, (pairs, 1)
    z : (m, d) the subsets as ±1, the empty one first: its y fixes the sum of the values
    prior : of each pair
    """

    y: Tensor
    unit: Tensor
    z: Tensor
    prior: Prior

    @classmethod
    def fit(cls, y: Tensor, masks: Tensor) -> Odd:
        """Find the priors for half-differences y, (pairs, m), of subsets, (m, d)."""
        z, unit = as_signs(masks), y.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(y.dtype).tiny)
        y = y / unit
        parts = zip(Prior.alike(best_strength(y, z), z.shape[1]).split(_block(z)), y.split(_block(z)), strict=True)
        found = [learn(*part, z) for part in parts]
        return cls(y, unit, z, Prior(torch.cat([p.b for p in found]), torch.cat([p.rough for p in found])))

    def values_and_errors(self) -> tuple[Tensor, Tensor]:
        """Shapley values and their standard errors, (pairs, d) each."""
        blocks = zip(self.prior.split(_block(self.z)), self.y[:, :, None].split(_block(self.z)), strict=True)
        parts = [fit(*block, self.z) for block in blocks]
        values, variance = (
            torch.cat([getattr(part, name)[:, :, 0] for part in parts]) for name in ("values", "variance")
        )
        left = -2 * self.y[:, :1] - values.sum(dim=1, keepdim=True)  # what the jitter took away
        m, d = self.z.shape
        learned = 1 + d / max(1, min(m - d, LEARN_FROM[-1][0]))  # d numbers were found from the same evaluations
        return self.unit * (values + left / d), self.unit * (learned * variance).sqrt()

    def predict(self, masks: Tensor) -> Tensor:
        """Half-differences of other subsets, (pairs, k)."""
        result, others = [], as_signs(masks).split(max(1, CHUNK_ELEMENTS // (2 * len(self.z))))
        for prior, y in zip(self.prior.split(1), self.y, strict=True):
            white = Whitened.of(prior, y[None, :, None], self.z)
            pull = torch.linalg.solve_triangular(white.lower.mT, white.rest, upper=True)[0]
            parts = [prior.covariance(z, self.z)[0] @ pull + z @ white.slope[0] for z in others]
            result.append(torch.cat(parts)[:, 0])
        return self.unit * torch.stack(result)


def _block(z: Tensor) -> int:
    """Tell of how many pairs the covariances fit in the processor's cache together."""
    return max(1, CACHED // len(z) ** 2)


def as_signs(masks: Tensor) -> Tensor:
    """Write subsets as z: −1 where a player is in, else 1."""
    return 1 - 2 * masks.to(torch.float64)


def best_strength(y: Tensor, z: Tensor) -> Tensor:
    """The b, (pairs,), that suits the evaluations y, (pairs, m), best if all features of a pair have the same."""
    m, d = z.shape
    few, choices = min(m, d + CHOOSE_FROM), torch.tensor(STRENGTHS, dtype=z.dtype) / d
    fitness = [Whitened.of(Prior.alike(b[None], d), y.T[None, :few], z[:few]).fitness()[0] for b in choices]
    return choices[torch.stack(fitness).argmax(dim=0)]
