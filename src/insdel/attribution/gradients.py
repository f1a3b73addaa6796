"""Attributions from the gradient of f: at x, or along the straight line from x to x′."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from insdel.arrays import float64
from insdel.attribution.differentiate import Gradient
from insdel.errors import UserError, require_one_of
from insdel.evaluate import CHUNK_ELEMENTS, Model, Pairs, in_batches, progress_off
from insdel.fold import mean_gradient
from insdel.seeds import Seed, generators

STEPS = 500  # the paper's number of points
RULES = ("riemann_middle", "riemann_left", "riemann_right", "riemann_trapezoid", "gauss_legendre")
FOLD_FROM = 32  # nodes on a line from which on folding pays
NEARLY_ZERO = -1e-4  # the paper's stand-in for the zeros of binary features


def quadrature(rule: str, steps: int) -> tuple[Tensor, Tensor]:
    """Nodes in [0, 1] and weights that add up to 1, (steps,) each; "left" is the end at x."""
    require_one_of("rule", rule, RULES)
    if steps < 1 or (rule == "riemann_trapezoid" and steps < 2):
        raise UserError(f"{rule} needs at least {1 + (rule == 'riemann_trapezoid')} steps, but steps is {steps}.")
    if rule == "gauss_legendre":
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        return torch.from_numpy((nodes + 1) / 2), torch.from_numpy(weights / 2)
    if rule == "riemann_trapezoid":
        weights = np.full(steps, 1 / (steps - 1))
        weights[[0, -1]] /= 2
        return torch.linspace(0, 1, steps, dtype=torch.float64), torch.from_numpy(weights)
    shift = {"riemann_left": 0.0, "riemann_middle": 0.5, "riemann_right": 1.0}[rule]
    return (torch.arange(steps, dtype=torch.float64) + shift) / steps, torch.full((steps,), 1 / steps).double()


def line_integral(
    gradient: Gradient,
    start: Tensor,
    end: Tensor,
    nodes: Tensor,
    weights: Tensor,
    chunk: int | None = None,
    progress: bool | None = False,
) -> Tensor:
    """∫ ∇f along the straight lines from start to end, times (end − start); all (pairs, n).

    `nodes` and `weights` are (k,) for all pairs, or (pairs, k). Pairs and nodes are laid out in one
    list, so every chunk is full whatever their numbers. Networks that can be folded are, unless
    `chunk` says how f is to be called.
    """
    pairs, k = len(start), nodes.shape[-1]
    with tqdm(total=pairs * k, unit=" gradients", unit_scale=True, delay=2, disable=progress_off(progress)) as bar:
        if gradient.fold is not None and chunk is None and nodes.ndim == 1 and k >= FOLD_FROM:
            sums = mean_gradient(gradient.fold, start, end, nodes, weights, bar.update)
            gradient.check(sums)
        else:
            sums = _mean_gradient(gradient, start, end, nodes, weights, chunk, bar.update)
    return float64(end - start) * sums


def _mean_gradient(
    gradient: Gradient,
    start: Tensor,
    end: Tensor,
    nodes: Tensor,
    weights: Tensor,
    chunk: int | None,
    done: Callable[[int], object],
) -> Tensor:
    """Σ_i weight_i ∇f(start + t_i (end − start)), (pairs, n), for any differentiable f."""
    pairs, k = len(start), nodes.shape[-1]
    sums = float64(torch.zeros_like(start))
    t = nodes.expand(pairs, k).reshape(-1, 1).to(start.dtype).to(start.device)
    weight = weights.expand(pairs, k).reshape(-1, 1).to(sums.device)

    def work(first: int, last: int) -> int:
        rows = torch.arange(first, last, device=start.device)
        pair = rows // k
        _, slope = gradient(start[pair] + t[rows] * (end[pair] - start[pair]))
        sums.index_add_(0, pair.to(sums.device), weight[rows.to(sums.device)] * slope)
        return last - first

    for count in in_batches(pairs * k, gradient.rows(chunk), work):
        done(count)
    return sums


def integrated_gradients(
    f: Model,
    pairs: Pairs,
    *,
    steps: int = STEPS,
    rule: str = "riemann_middle",
    chunk: int | None = None,
    progress: bool | None = False,
) -> Tensor:
    """A_j = (x′_j − x_j) ∫ ∂_j f(x + t(x′ − x)) dt, by a sum of `steps` terms  [section 4].

    Casts binary features to real ones: choice (a) of the paper. `attribution.completeness` tells
    how far the sum is from the integral.
    """
    gradient = Gradient("integrated_gradients", f, pairs)
    return line_integral(gradient, gradient.x, gradient.reference, *quadrature(rule, steps), chunk, progress)


def gradient_shap(
    f: Model,
    pairs: Pairs,
    *,
    samples: int = 50,
    deviation: float = 0.0,
    seed: Seed = 0,
    chunk: int | None = None,
    progress: bool | None = False,
) -> Tensor:
    """Expected gradients: (x′_j − x_j) ∂_j f averaged over random points between x and x′.

    With x′ as the only reference this is integrated gradients by Monte Carlo. `deviation` is that
    of normal noise added to x for each sample, as in captum's GradientShap; with noise the
    attributions add up to f(x′) − f(x) only roughly. Pair i draws by (`seed`, i).
    """
    if samples < 1 or deviation < 0:
        raise UserError(f"gradient_shap needs samples ≥ 1 and deviation ≥ 0; found {samples} and {deviation}.")
    gradient, draws = Gradient("gradient_shap", f, pairs), generators(seed, len(pairs))
    result = float64(torch.zeros_like(gradient.x))
    for some in torch.arange(len(pairs)).split(max(1, CHUNK_ELEMENTS // (samples * pairs.n))):
        times, noise = zip(*(draws[p].spawn(2) for p in some.tolist()), strict=True)
        nodes = torch.from_numpy(np.concatenate([g.random((samples, 1)) for g in times]))
        start, end = (part[some].repeat_interleave(samples, dim=0) for part in (gradient.x, gradient.reference))
        if deviation:
            shift = np.concatenate([g.standard_normal((samples, pairs.n)) for g in noise])
            start = start + torch.from_numpy(deviation * shift).to(start)
        parts = line_integral(gradient, start, end, nodes, torch.ones_like(nodes), chunk, progress)
        result[some] = parts.reshape(len(some), samples, -1).mean(dim=1)
    return result


def _gradient_at_x(
    method: str, f: Model, pairs: Pairs, chunk: int | None, progress: bool | None
) -> tuple[Tensor, Tensor]:
    gradient = Gradient(method, f, pairs)
    parts = in_batches(len(pairs), gradient.rows(chunk), lambda start, stop: gradient(gradient.x[start:stop])[1])
    chunks = tqdm(parts, unit=" batches", delay=2, disable=progress_off(progress))
    return float64(gradient.x), torch.cat(list(chunks))


def vanilla_grad(f: Model, pairs: Pairs, *, chunk: int | None = None, progress: bool | None = False) -> Tensor:
    """−∂f/∂x_j at x, with its sign: what x's own value adds, taken away  [section 5, appendix].

    Knows nothing of x′, so neither of the direction nor of the size of the change.
    """
    return -_gradient_at_x("vanilla_grad", f, pairs, chunk, progress)[1]


def input_x_gradient(
    f: Model, pairs: Pairs, *, binary: np.ndarray | None = None, chunk: int | None = None, progress: bool | None = False
) -> Tensor:
    """−x_j ∂f/∂x_j at x, on standardised inputs: as if x′ were 0  [section 5, appendix].

    Zeros of the features named by `binary` count as −1e-4 in the factor x_j (not in the gradient),
    so that features that are off can still be told apart.
    """
    x, slope = _gradient_at_x("input_x_gradient", f, pairs, chunk, progress)
    if binary is not None:
        x = torch.where(torch.as_tensor(binary, device=x.device) & (x == 0), NEARLY_ZERO, x)
    return -x * slope
