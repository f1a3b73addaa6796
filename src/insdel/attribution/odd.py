"""Shapley values from few evaluations: Bayesian regression on the odd functions of the cube.

Write a subset S of d players as signs z ∈ {−1, 1}ᵈ, z_j = 1 where j is in S. Every game is a sum of
parities, f(S) = Σ_u c_u Π_{j∈u} z_j, and a parity shares 2 c_u equally among the members of u if |u| is
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

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from insdel.attribution.coalitions import draw_subsets
from insdel.evaluate import CHUNK_ELEMENTS

# Measured on the paper's two networks (see the chapter on cost): more of these takes longer and gains little.
STRENGTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0)  # Σ b_j to begin with
CHOOSE_FROM = 128  # subsets beyond d that choose among them
LEARN_FROM = ((64, 4), (256, 2), (512, 1))  # subsets beyond d, and steps taken on them, that the prior is found from
SPREAD = 1.0  # sd of log b_j among the features
ROUGH = 12.0  # Σ b_j of the rough term
USUAL, USUAL_SPREAD = 3e-3, 2.0  # its usual share, and the sd of the logarithm of it
LARGEST = 2048  # subsets that are fitted: the cost of a factorisation grows with their cube
JITTER = {"d": 1e-9, "f": 1e-6}  # of the prior variance, by precision: what keeps a factorisation from failing
TRIES = 8  # sizes of it, each 100 times the one before: the last exceeds the variances themselves
NODES = 32  # of the integral over t that divides parities by their size: exact for d ≤ 32, to rounding beyond
ADDITIVE = 1e-10  # share of a pair's squared evaluations below which what is not of first order counts as rounding


def odd_subsets(d: int, samples: int, seed: int) -> np.ndarray:
    """One subset of each complementary pair, (m, d), the empty one first; 2m ≤ samples.

    Sizes s as often as s (d − s): measured, the middle ones tell most about what single players leave open,
    unlike Kernel SHAP's own weights 1 / s (d − s).
    """
    return draw_subsets(d, (samples - 2) // 2, {s: s * (d - s) for s in range(1, d)}, seed)


@dataclass(frozen=True)
class Prior:
    """What the games of some pairs are taken to be like.

    b : (d,) how much each feature takes part in interactions
    rough : variance of the rough term over that of the other one
    """

    b: np.ndarray
    rough: float

    @property
    def parts(self) -> tuple[tuple[np.ndarray, float], ...]:
        """Strengths, (d,), and variance of the smooth and of the rough term."""
        return (self.b, 1.0), (np.full_like(self.b, ROUGH / len(self.b)), self.rough)

    def terms(self, z: np.ndarray, others: np.ndarray) -> list[np.ndarray]:
        """Prior covariance of g by the smooth and by the rough term: (m, d), (k, d) → (m, k) each."""
        terms = []
        for b, variance in self.parts:
            inner = (z * b) @ others.T  # in place from here on: these are the largest arrays there are
            np.sinh(inner, out=inner)
            inner /= np.sinh(b.sum())
            inner *= variance
            terms.append(inner)
        return terms

    def covariance(self, z: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Prior covariance of g: (m, d), (k, d) → (m, k)."""
        smooth, rough = self.terms(z, others)
        smooth += rough
        return smooth

    def with_values(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prior covariance of g with the Shapley values, (m, d), and their prior variance, (d,).

        A parity of k players gives each of them 1 / k = ∫ tᵏ⁻¹ dt of it, so both are integrals of products over
        players: 1 / k, and 1 / k² = ∫ tᵏ⁻¹ (−log t) dt, by Gauss and Legendre.
        """
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        n = np.arange(1, NODES)
        moments = np.concatenate([[1.0], (-1.0) ** n * (2 * n + 1) / (n * (n + 1))])  # −log t by Legendre polynomials
        log_weights = weights / 2 * (np.polynomial.legendre.legvander(nodes, NODES - 1) @ moments)

        def integrals(b: np.ndarray, z: np.ndarray, weights: np.ndarray) -> np.ndarray:
            rho = np.tanh(b)
            r = rho[:, None] * (nodes + 1) / 2  # (d, nodes)
            scale = np.log1p(-(r**2)).sum(axis=0) / 2 - np.log1p(-(rho**2)).sum() / 2
            size = np.exp(scale - np.log(np.sinh(b.sum())))
            inner, share = z @ np.arctanh(r), weights / (1 - r**2)
            even, odd = np.cosh(inner) * size, np.sinh(inner) * size
            return 2 * rho * (z * (even @ share.T) - odd @ (share * r).T)

        everyone = np.ones((1, len(self.b)))
        cross = [variance * integrals(b, z, weights / 2) for b, variance in self.parts]
        prior = [2 * variance * integrals(b, everyone, log_weights)[0] for b, variance in self.parts]
        return cross[0] + cross[1], prior[0] + prior[1]


@dataclass(frozen=True)
class Whitened:
    """Evaluations y and first-order terms z after division by the Cholesky factor L of their covariance.

    lower : (m, m)
    z : (m, d) and its own factor `lower_z`, (d, d)
    slope : (d, pairs), the fitted first-order terms
    rest : (m, pairs), y without them
    free : number of evaluations beyond the d that the first-order terms take
    scale : (pairs,) prior variance of g that the evaluations speak for
    """

    lower: np.ndarray
    z: np.ndarray
    lower_z: np.ndarray
    slope: np.ndarray
    rest: np.ndarray
    free: int
    scale: np.ndarray

    @classmethod
    def of(cls, covariance: np.ndarray, y: np.ndarray, z: np.ndarray) -> Whitened:
        """Factorise the covariance, (m, m), of evaluations y, (m, pairs), of the subsets z, (m, d)."""
        lower = factor(covariance)
        y, z = (solve_triangular(lower, part, lower=True, check_finite=False) for part in (y, z))
        lower_z = factor(z.T @ z)
        slope = cho_solve((lower_z, True), z.T @ y, check_finite=False)
        rest, free = y - z @ slope, z.shape[0] - z.shape[1]
        scale = np.maximum((rest**2).sum(axis=0), np.finfo(rest.dtype).tiny) / free
        return cls(lower, z, lower_z, slope, rest, free, scale)

    def fitness(self) -> np.ndarray:
        """Log likelihood of the evaluations, (pairs,), first-order terms and scale integrated out, + a constant."""
        roots = sum(float(np.log(lower.diagonal()).sum()) for lower in (self.lower, self.lower_z))
        return -roots - self.free / 2 * np.log(self.scale)


def factor(matrix: np.ndarray) -> np.ndarray:
    """Cholesky factor of a (m, m) covariance, with as little jitter as it takes."""
    jitter = JITTER[matrix.dtype.char] * matrix.diagonal().mean()
    for _ in range(TRIES):
        matrix = matrix + jitter * np.eye(len(matrix), dtype=matrix.dtype)
        with suppress(np.linalg.LinAlgError):
            lower = np.linalg.cholesky(matrix)
            if np.isfinite(lower).all():
                return lower
        jitter = 100 * jitter
    finite = "finite" if np.isfinite(matrix).all() else "not all finite"
    raise RuntimeError(
        f"the covariance of {len(matrix)} subsets could not be factorised with {TRIES} sizes of jitter; its numbers "
        f"are {finite}. Rescale f, or choose another number of samples."
    )


def fit(prior: Prior, white: Whitened, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values and their variances, (pairs, d) each, from whitened evaluations of subsets z, (m, d)."""
    cross, before = prior.with_values(z)
    cross = solve_triangular(white.lower, cross, lower=True, check_finite=False)
    values = cross.T @ white.rest + 2 * white.slope
    # what the unknown slopes add: the values move by 2 − (K⁻¹ cross)ᵀ z with each of them
    moved = 2 * np.eye(z.shape[1]) - white.z.T @ cross
    open_ended = solve_triangular(white.lower_z, moved, lower=True, check_finite=False)
    variance = before - (cross**2).sum(axis=0) + (open_ended**2).sum(axis=0)
    heavier = white.free / max(white.free - 2, 1)  # Student's tails: the scale is estimated, too
    return values.T, heavier * white.scale[:, None] * np.maximum(variance, 0)


def pulls(prior: Prior, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How evaluations y, (m, pairs), pull at log b and log rough: upwards and downwards, (d + 1,) each.

    The derivative of the fitness, summed over pairs, is half of what is left over. Either is a sum of weights over
    couples of subsets, times the derivative of their covariance: how alike they are in y, and how alike they are
    expected to be.
    """
    smooth, rough = prior.terms(z, z)
    white = Whitened.of(smooth + rough, y, z)
    inverse = cho_solve((white.lower, True), np.eye(len(z), dtype=z.dtype), check_finite=False)
    projected = inverse @ z
    inverse -= projected @ cho_solve((white.lower_z, True), projected.T, check_finite=False)
    pull = inverse @ (y / np.sqrt(white.scale))
    total = prior.b.sum()
    slope = np.sqrt(smooth**2 + 1 / np.sinh(total) ** 2)  # cosh / sinh, as the covariance is one of shares
    relative = prior.b / np.tanh(total)

    def directions(weight: np.ndarray) -> np.ndarray:
        last = (weight * rough).sum()
        return np.append(prior.b * (((weight * slope) @ z) * z).sum(axis=0) + relative * last, last)

    return directions(pull @ pull.T), y.shape[1] * directions(inverse)


def learn(y: np.ndarray, z: np.ndarray) -> Prior:
    """Find the prior of pairs by their evaluations y, (m, pairs), of subsets z, (m, d): first by a few of them.

    Pairs without interactions say nothing about it. In single precision: a prior need not be sharp, and measured
    errors are the same to three digits in half the time.
    """
    m, d = z.shape
    few = min(m, d + CHOOSE_FROM)
    priors = [Prior(np.full(d, strength / d), USUAL) for strength in STRENGTHS]
    fits = [(prior, Whitened.of(prior.covariance(z[:few], z[:few]), y[:few], z[:few])) for prior in priors]
    interacting = fits[0][1].scale > ADDITIVE * (y**2).mean(axis=0)
    if not interacting.any():
        return fits[0][0]
    prior, _ = max(fits, key=lambda found: found[1].fitness()[interacting].sum())
    y, z = y[:, interacting].astype(np.float32), z.astype(np.float32)
    prior = Prior(prior.b.astype(np.float32), prior.rough)
    for more, steps in LEARN_FROM:
        prior = climb(prior, y[: d + more], z[: d + more], steps)
    return Prior(prior.b.astype(np.float64), float(prior.rough))


def climb(prior: Prior, y: np.ndarray, z: np.ndarray, steps: int) -> Prior:
    """Take some steps up the fitness of evaluations y, (m, pairs).

    log b of the features are drawn together, log rough to what is usual. A step is the gradient over
    a quarter of the downward pull, which is about the curvature.
    """
    logs = np.log(np.append(prior.b, np.asarray(prior.rough, dtype=prior.b.dtype)))
    tight = np.append(np.full_like(prior.b, SPREAD**-2), np.asarray(USUAL_SPREAD**-2, dtype=prior.b.dtype))
    lowest, highest = np.log(1e-3 / z.shape[1]), np.log(min(1.5, 80 / z.shape[1]))  # sinh 80 is still a number
    for _ in range(steps):
        up, down = pulls(prior, y, z)
        apart = np.append(logs[:-1] - logs[:-1].mean(), logs[-1:] - np.log(USUAL))
        gain = (up - down) / 2 - tight * apart
        logs = logs + np.clip(gain / (down / 4 + tight), -1.5, 1.5)
        logs = np.clip(logs, lowest, highest).astype(prior.b.dtype)
        prior = Prior(np.exp(logs[:-1]), float(np.exp(logs[-1])))
    return prior


def odd_regression(y: np.ndarray, masks: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shapley values and their standard errors, (pairs, d) each, and the half-differences of `others`, (pairs, k).

    y : (pairs, m) half-differences (f(S) − f(Sᶜ)) / 2 of the subsets `masks`, (m, d), of which the empty one comes
        first: it fixes the sum of the values. They are worked on in units of their largest
    """
    z, unit = as_signs(masks), np.maximum(np.abs(y).max(axis=1), np.finfo(y.dtype).tiny)[:, None]
    y, (m, d) = (y / unit).T, masks.shape
    prior = learn(y, z)
    white = Whitened.of(prior.covariance(z, z), y, z)
    values, variance = fit(prior, white, z)
    left = -2 * y[0] - values.sum(axis=1)  # what the jitter took away
    learned = 1 + d / max(1, min(m - d, LEARN_FROM[-1][0]))  # d numbers were found from the same evaluations
    pull = solve_triangular(white.lower, white.rest, lower=True, trans=1, check_finite=False)
    blocks = np.split(as_signs(others), range(size := max(1, CHUNK_ELEMENTS // (2 * m)), len(others), size))
    predicted = np.vstack([prior.covariance(part, z) @ pull + part @ white.slope for part in blocks]).T
    return unit * (values + left[:, None] / d), unit * np.sqrt(learned * variance), unit * predicted


def as_signs(masks: np.ndarray) -> np.ndarray:
    """Write subsets as z: 1 where a player is in, else −1."""
    return 2 * masks.astype(np.float64) - 1
