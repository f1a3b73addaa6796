"""DeepLIFT by captum, with the rescale rule for activations that captum passes over in silence."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from insdel.arrays import float64, to_tensor
from insdel.attribution.coalitions import Task
from insdel.attribution.gradients import Gradient
from insdel.errors import UserTypeError, require
from insdel.evaluate import eval_mode, in_batches, predict

# Activations that act on each number by itself, as those that captum knows do: one rule fits all.
ELEMENTWISE = (nn.PReLU, nn.ReLU6, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Hardtanh, nn.Hardswish)
TOLERANCE = 1e-3  # of |f(x′) − f(x)| plus the size of f: float32 stays far below it
CAPTUM = threading.RLock()  # its table of rules is shared by all threads, such as those of a Dask worker


@contextmanager
def rescale_rules() -> Iterator[None]:
    """Let captum treat `ELEMENTWISE` as usual nonlinear functions, as the paper did; then forget it."""
    from captum.attr._core.deep_lift import SUPPORTED_NON_LINEAR, nonlinear

    with CAPTUM:
        added = [kind for kind in ELEMENTWISE if kind not in SUPPORTED_NON_LINEAR]
        SUPPORTED_NON_LINEAR.update(dict.fromkeys(added, nonlinear))
        try:
            yield
        finally:
            for kind in added:
                del SUPPORTED_NON_LINEAR[kind]


def deeplift(task: Task) -> Tensor:
    """DeepLIFT's rescale rule: slopes of every activation between its values at x and x′  [section 5].

    f must be a torch module whose activations are modules of their own, each used once. Where the
    attributions do not add up to f(x′) − f(x), because of an operation without a rule, it warns.
    """
    f = task.f
    if not isinstance(f, nn.Module):
        raise UserTypeError(
            "deeplift needs the layers and the gradient of f, so f must be a torch.nn.Module with its activations as "
            f"modules, but it is a {type(f).__name__}. For other models choose kernel_shap, occlusion or lime."
        )
    gradient = Gradient("deeplift", task)
    ends = [to_tensor(predict(f, points, task.chunk)) for points in (gradient.x, gradient.reference)]
    package = require("captum.attr", "deeplift")

    def work(start: int, stop: int) -> Tensor:
        x, reference = gradient.x[start:stop], gradient.reference[start:stop]
        with eval_mode(f), rescale_rules(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Setting forward, backward hooks")
            inputs = x.detach().clone().requires_grad_(True)
            return -float64(package.DeepLift(f).attribute(inputs, reference.contiguous())).detach()

    result = torch.cat(list(in_batches(len(task.pairs), max(1, gradient.rows // 2), work)))
    start, end = (part.to(result.device) for part in ends)
    change = end - start
    gap = (result.sum(dim=1) - change).abs()
    if (gap > TOLERANCE * (change.abs() + start.abs().mean())).any():
        warnings.warn(
            f"deeplift's attributions miss f(x′) − f(x) by up to {float(gap.max()):.3g}: f has operations without a "
            "rule, such as activations called as functions. Make them modules, one each, or use integrated_gradients.",
            stacklevel=2,
        )
    return result
