"""What networks run on, and a clock that waits for it.

Everything here was checked on a pretended CUDA device (tests/gpu), not on a real one; `insdel device` does so where
there is one. Two things round differently there from call to call or from the processor, and no test sees them:
sums that a GPU adds up in any order (integrated gradients, its binary variants, expected curves; in float64), and
convolutions, which cuDNN computes in TF32 unless `torch.backends.cudnn.allow_tf32` is set to False (the pictures).
"""

from __future__ import annotations

import time

import torch

from insdel.errors import UserError


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """The device that is meant; "auto" is a GPU if there is one, else the processor."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise UserError(f"device must be auto, cpu, cuda or another that torch knows; found {device!r}.") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device {device} needs a GPU that torch can use; there is none here. Choose auto or cpu.")
    return place


def read_clock() -> float:
    """Seconds, read once every GPU has done what it was asked: its calls return earlier than their work is done."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter()
