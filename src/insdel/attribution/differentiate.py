"""The gradient of f on a batch of points, or an error that names the method that needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from insdel.arrays import float64, to_numpy, to_tensor
from insdel.errors import UserError, UserTypeError
from insdel.evaluate import BatchModel, Model, Pairs, chunk_rows, eval_mode, one_per_point, out_of_memory
from insdel.fold import Fold

NO_PATH = "f's output does not depend on its input in a way that torch can differentiate"


class Gradient:
    """f and its gradient as a function of (m, n) points, one backward pass per call.

    x, reference : (pairs, n) the pairs where, and in the precision in which, the model computes
    """

    def __init__(self, method: str, f: Model, pairs: Pairs) -> None:
        self.method, self.f, self.model = method, f, BatchModel(f, pairs.template, None)
        self.check_numbers(pairs)
        points = pairs.on(self.model)
        if not points.numeric:
            raise UserTypeError(f"{method} needs points made of numbers, but their type is {points.x.dtype}.")
        x, reference = to_tensor(points.x), to_tensor(points.reference)
        kind = x.dtype if x.is_floating_point() else torch.float64
        self.x, self.reference = x.to(kind), reference.to(kind)
        self.fold = Fold.of(f) if self.x.device.type == "cpu" else None

    def check_numbers(self, pairs: Pairs) -> None:
        """Refuse values that no gradient is defined for: categories, text, gaps."""
        coded = [] if pairs.columns is None else [pairs.columns.names[j] for j in np.flatnonzero(pairs.columns.coded)]
        gaps = pairs.numeric and any(np.isnan(to_numpy(part)).any() for part in (pairs.x, pairs.reference))
        if coded or gaps:
            found = f"these columns hold other values: {', '.join(map(str, coded))}" if coded else "NaN is among them"
            raise UserError(
                f"{self.method} needs points made of numbers, but {found}. Choose a method without gradients, such as "
                "kernel_shap, two_sided or lime."
            )

    def rows(self, chunk: int | None) -> int:
        """Points whose gradients are computed together."""
        return chunk_rows(self.x.shape[1], self.x.device.type, chunk, self.model.width)

    def __call__(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return f, (m,), and ∇f, (m, n), in float64."""
        z = points.detach().requires_grad_(True)
        with torch.enable_grad(), eval_mode(self.f):
            output = one_per_point(self._output(z), len(points))
            (gradient,) = torch.autograd.grad(output.sum(), z, allow_unused=True)
        if gradient is None:
            raise self._refusal(NO_PATH)
        self.check(gradient)
        self.model.checked(output, len(points))
        return float64(output.detach()), float64(gradient)

    def check(self, gradient: Tensor) -> None:
        """Refuse gradients with infinity or NaN."""
        if not torch.isfinite(gradient).all():
            raise UserError(f"{self.method} needs a finite gradient, but that of f is not finite at every point.")

    def _output(self, z: Tensor) -> Tensor:
        try:
            output: Any = self.f(z)
        except Exception as error:
            if isinstance(self.f, torch.nn.Module) or out_of_memory(error):
                raise
            raise self._refusal(f"f cannot be called on tensors that record gradients ({error})") from error
        if not isinstance(output, Tensor):
            raise self._refusal(f"f returned a {type(output).__name__}, not a tensor")
        if not output.requires_grad:
            raise self._refusal(NO_PATH)
        return output

    def _refusal(self, found: str) -> UserTypeError:
        return UserTypeError(
            f"{self.method} needs the gradient of f, but {found}. Pass a torch module or a function made of torch "
            "operations, or choose a method without gradients, such as kernel_shap, occlusion or lime."
        )
