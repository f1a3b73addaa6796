"""Torch modules with several outputs, as models with one."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from insdel.errors import UserError, UserTypeError


class Selection(nn.Module):
    """Column k of a batch of outputs, (m, outputs) → (m,)."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, outputs: Tensor) -> Tensor:
        """Take the column, or say what there is instead."""
        if outputs.ndim != 2 or not -outputs.shape[1] <= self.k < outputs.shape[1]:
            raise UserError(
                f"output {self.k} was asked for, but the model gave an output of shape {tuple(outputs.shape)}. "
                "insdel.output(model, k) needs outputs of shape (m, outputs) with k below their number."
            )
        return outputs[:, self.k]


def output(model: nn.Module, k: int) -> nn.Sequential:
    """Return output k of a module with several, as a module: dropout, gradients and device are those of `model`.

    Parameters
    ----------
    model : maps (m, n) to (m, outputs)
    k : which output, counted from 0; negative counts from the end
    """
    if not isinstance(model, nn.Module):
        raise UserTypeError(
            f"insdel.output needs a torch module, but found a {type(model).__name__}. "
            "Of a function that is not torch's, take the column itself: lambda z: f(z)[:, k]."
        )
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise UserTypeError(f"insdel.output needs the number of an output, but k is {k!r}.")
    return nn.Sequential(model, Selection(int(k)))
