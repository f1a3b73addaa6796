"""Attributions from the gradient of f: at x, or along the straight line from x to x′."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from insdel.arrays import float64, to_numpy, to_tensor
from insdel.attribution.coalitions import Task
from insdel.errors import UserError, UserTypeError, require_one_of
from insdel.evaluate import (
    CHUNK_ELEMENTS,
    BatchModel,
    chunk_rows,
    eval_mode,
    in_batches,
    one_per_point,
    out_of_memory,
    progress_off,
)
from insdel.fold import Fold, mean_gradient
from insdel.seeds import Seed, generators

STEPS = 500  # the paper's number of points
RULES = ("riemann_middle", "riemann_left", "riemann_right", "riemann_trapezoid", "gauss_legendre")
FOLD_FROM = 32  # nodes on a line from which on folding pays
NEARLY_ZERO = -1e-4  # the paper's stand-in for the zeros of binary features


class Gradient:
    """f and its gradient as a function of (m, n) points, one backward pass per call.

    x, reference : (pairs, n) the pairs where, and in the precision in which, the model computes
    rows : points whose gradients are computed together
    fold : the network taken apart, where that pays; None where `chunk` says how f is to be called
    """

    def __init__(self, method: str, task: Task) -> None:
        f, pairs = task.f, task.pairs
        self.method, self.f, self.model = method, f, BatchModel(f, pairs.template, None)
        coded = [] if pairs.columns is None else [pairs.columns.names[j] for j in np.flatnonzero(pairs.columns.coded)]
        gaps = pairs.numeric and any(np.isnan(to_numpy(part)).any() for part in (pairs.x, pairs.reference))
        if coded or gaps:
            found = f"these columns hold other values: {', '.join(map(str, coded))}" if coded else "NaN is among them"
            raise UserError(
                f"{method} needs points made of numbers, but {found}. Choose a method without gradients, such as "
                "kernel_shap, two_sided or lime."
            )
        points = pairs.on(self.model)
        if not points.numeric:
            raise UserTypeError(f"{method} needs points made of numbers, but their type is {points.x.dtype}.")
        x, reference = to_tensor(points.x), to_tensor(points.reference)
        kind = x.dtype if x.is_floating_point() else torch.float64
        self.x, self.reference = x.to(kind), reference.to(kind)
        self.fold = Fold.of(f) if self.x.device.type == "cpu" and task.chunk is None else None
        self.rows = chunk_rows(x.shape[1], x.device.type, task.chunk, self.model.width)
        self.progress = task.progress

    def bar(self, total: int) -> tqdm:
        """Return a bar that counts gradients, for work of more than two seconds."""
        return tqdm(total=total, unit=" gradients", unit_scale=True, delay=2, disable=progress_off(self.progress))

    def each(self, total: int, work: Callable[[Tensor], Any]) -> list[Any]:
        """What `work` gives for the numbers (r,) of the gradients of each batch, `total` in all; with a bar."""
        with self.bar(total) as bar:

            def batch(first: int, last: int) -> Any:
                result = work(torch.arange(first, last, device=self.x.device))
                bar.update(last - first)
                return result

            return list(in_batches(total, self.rows, batch))

    def at_x(self) -> tuple[Tensor, Tensor]:
        """f, (pairs,), and ∇f, (pairs, n), at the points x."""
        parts = self.each(len(self.x), lambda rows: self(self.x[rows]))
        values, slopes = (torch.cat(part) for part in zip(*parts, strict=True))
        return values, slopes

    def __call__(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return f, (m,), and ∇f, (m, n), in float64."""
        z, gradient = points.detach().requires_grad_(True), None
        with torch.enable_grad(), eval_mode(self.f):
            try:
                output: Any = self.f(z)
            except Exception as error:
                if isinstance(self.f, torch.nn.Module) or out_of_memory(error):
                    raise
                raise self._refusal(f"f cannot be called on tensors that record gradients ({error})") from error
            if not isinstance(output, Tensor):
                raise self._refusal(f"f returned a {type(output).__name__}, not a tensor")
            if output.requires_grad:
                output = one_per_point(output, len(points))
                (gradient,) = torch.autograd.grad(output.sum(), z, allow_unused=True)
        if gradient is None:
            raise self._refusal("f's output does not depend on its input in a way that torch can differentiate")
        self.check(gradient)
        self.model.checked(output, len(points))
        return float64(output.detach()), float64(gradient)

    def check(self, gradient: Tensor) -> None:
        """Refuse gradients with infinity or NaN."""
        if not torch.isfinite(gradient).all():
            raise UserError(f"{self.method} needs a finite gradient, but that of f is not finite at every point.")

    def _refusal(self, found: str) -> UserTypeError:
        return UserTypeError(
            f"{self.method} needs the gradient of f, but {found}. Pass a torch module or a function made of torch "
            "operations, or choose a method without gradients, such as kernel_shap, occlusion or lime."
        )


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


def line_integral(gradient: Gradient, start: Tensor, end: Tensor, nodes: Tensor, weights: Tensor) -> Tensor:
    """∫ ∇f along the straight lines from start to end, times (end − start); all (pairs, n).

    `nodes` and `weights` are (k,) for all pairs, or (pairs, k). Pairs and nodes are laid out in one
    list, so every chunk is full whatever their numbers. Networks that can be folded are.
    """
    pairs, k = len(start), nodes.shape[-1]
    if gradient.fold is not None and nodes.ndim == 1 and k >= FOLD_FROM:
        with gradient.bar(pairs * k) as bar:
            sums = mean_gradient(gradient.fold, start, end, nodes, weights, bar.update)
        gradient.check(sums)
        return float64(end - start) * sums
    sums = float64(torch.zeros_like(start))
    t = nodes.expand(pairs, k).reshape(-1, 1).to(start.dtype).to(start.device)
    weight = weights.expand(pairs, k).reshape(-1, 1).to(sums.device)

    def add(rows: Tensor) -> None:
        pair = rows // k
        _, slope = gradient(start[pair] + t[rows] * (end[pair] - start[pair]))
        sums.index_add_(0, pair.to(sums.device), weight[rows.to(sums.device)] * slope)

    gradient.each(pairs * k, add)
    return float64(end - start) * sums


def integrated_gradients(task: Task, *, steps: int = STEPS, rule: str = "riemann_middle") -> Tensor:
    """A_j = (x′_j − x_j) ∫ ∂_j f(x + t(x′ − x)) dt, by a sum of `steps` terms  [section 4].

    Casts binary features to real ones: choice (a) of the paper. `attribution.completeness` tells
    how far the sum is from the integral.
    """
    gradient = Gradient("integrated_gradients", task)
    return line_integral(gradient, gradient.x, gradient.reference, *quadrature(rule, steps))


def gradient_shap(task: Task, *, samples: int = 50, deviation: float = 0.0, seed: Seed = 0) -> Tensor:
    """Expected gradients: (x′_j − x_j) ∂_j f averaged over random points between x and x′.

    With x′ as the only reference this is integrated gradients by Monte Carlo. `deviation` is that
    of normal noise added to x for each sample, as in captum's GradientShap; with noise the
    attributions add up to f(x′) − f(x) only roughly. Pair i draws by (`seed`, i).
    """
    if samples < 1 or deviation < 0:
        raise UserError(f"gradient_shap needs samples ≥ 1 and deviation ≥ 0; found {samples} and {deviation}.")
    pairs, gradient = task.pairs, Gradient("gradient_shap", task)
    draws = generators(seed, len(pairs))
    result = float64(torch.zeros_like(gradient.x))
    for some in torch.arange(len(pairs)).split(max(1, CHUNK_ELEMENTS // (samples * pairs.n))):
        times, noise = zip(*(draws[p].spawn(2) for p in some.tolist()), strict=True)
        nodes = torch.from_numpy(np.concatenate([g.random((samples, 1)) for g in times]))
        start, end = (part[some].repeat_interleave(samples, dim=0) for part in (gradient.x, gradient.reference))
        if deviation:
            shift = np.concatenate([g.standard_normal((samples, pairs.n)) for g in noise])
            start = start + torch.from_numpy(deviation * shift).to(start)
        parts = line_integral(gradient, start, end, nodes, torch.ones_like(nodes))
        result[some] = parts.reshape(len(some), samples, -1).mean(dim=1)
    return result


def vanilla_grad(task: Task) -> Tensor:
    """−∂f/∂x_j at x, with its sign: what x's own value adds, taken away  [section 5, appendix].

    Knows nothing of x′, so neither of the direction nor of the size of the change.
    """
    return -Gradient("vanilla_grad", task).at_x()[1]


def input_x_gradient(task: Task, *, binary: np.ndarray | None = None) -> Tensor:
    """−x_j ∂f/∂x_j at x, on standardised inputs: as if x′ were 0  [section 5, appendix].

    Zeros of the features named by `binary` count as −1e-4 in the factor x_j (not in the gradient),
    so that features that are off can still be told apart.
    """
    gradient = Gradient("input_x_gradient", task)
    x = float64(gradient.x)
    if binary is not None:
        x = torch.where(torch.as_tensor(binary, device=x.device) & (x == 0), NEARLY_ZERO, x)
    return -x * gradient.at_x()[1]
