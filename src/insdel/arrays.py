"""NumPy arrays and torch tensors: telling them apart, and the way from one to the other.

Torch is never imported from here before someone else has imported it: who passes arrays and functions needs no torch.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from insdel.errors import UserTypeError

if TYPE_CHECKING:
    from torch import Tensor

Array: TypeAlias = "np.ndarray | Tensor"
Points: TypeAlias = "ArrayLike | Tensor"  # what users may pass: arrays, tensors, lists, data frames


def loaded_torch() -> Any:
    """Return the module torch if something has imported it, else None."""
    return sys.modules.get("torch")


def is_tensor(values: Any) -> TypeGuard[Tensor]:
    """Whether this is a torch tensor."""
    torch = loaded_torch()
    return torch is not None and isinstance(values, torch.Tensor)


def namespace(values: Any) -> Any:
    """The module whose functions take `values`: torch for tensors, else numpy; both have `where`, `isnan`, …"""
    return loaded_torch() if is_tensor(values) else np


def without_gradients() -> Any:
    """A context in which torch, where it is in use, records no gradients."""
    torch = loaded_torch()
    return nullcontext() if torch is None else torch.no_grad()


def to_numpy(values: Any) -> np.ndarray:
    """Return numbers as an array in the processor's memory, whatever holds them."""
    if is_tensor(values):
        values = values.detach().cpu()
        return values.float().numpy() if values.dtype is loaded_torch().bfloat16 else values.numpy()
    array = np.asarray(values)
    if array.dtype.kind in "biufc" and array.dtype != np.longdouble:
        return array
    kinds = (int, float, np.integer, np.floating, np.bool_)  # objects: of a data frame with floats and booleans, say
    odd = next((v for v in array.flat if not isinstance(v, kinds)), None)
    if odd is not None:
        raise UserTypeError(f"numbers are needed here, but {odd!r} ({type(odd).__name__}) is among the values.")
    return array.astype(np.float64)


def to_tensor(values: Any) -> Tensor:
    """Return numbers as a tensor, whatever holds them (arrays may be reversed or read-only views)."""
    if is_tensor(values):
        return values.detach()
    import torch

    array = to_numpy(values)
    if not array.flags.writeable or min(array.strides, default=0) < 0:
        array = array.copy()
    return torch.from_numpy(array)


def beside(values: np.ndarray, other: Any) -> Any:
    """Return an array as the kind that `other` is, on its device."""
    return to_tensor(values).to(other.device) if is_tensor(other) else values


def like(values: Any, template: Any) -> Array:
    """Return results, an array or a tensor, as the kind of array that `template` is, on its device."""
    return to_tensor(values).to(template.device) if is_tensor(template) else to_numpy(values)


def float64(values: Tensor) -> Tensor:
    """Return a tensor in double precision (on the CPU where the device has none)."""
    return (values.cpu() if values.device.type == "mps" else values).double()
