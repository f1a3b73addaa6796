"""On what kind of machine, and with which versions, something was computed; no names of machines."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SHOWN = ("insdel", "torch", "numpy", "pandas", "captum", "shap", "shapiq", "lime", "scikit-learn", "sympy")


def versions(names: tuple[str, ...] = SHOWN) -> dict[str, str]:
    """Python's version and those of the named packages that are installed."""
    result = {"python": platform.python_version()}
    for name in names:
        try:
            result[name] = version(name)
        except PackageNotFoundError:
            continue
    return result


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hardware() -> str:
    """Describe the processor, the memory and the accelerator in a few words."""
    import torch

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0
    parts = [f"{os.cpu_count()} cores ({platform.machine()})", f"{memory:.0f} GiB memory" if memory else ""]
    parts.append(torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU")
    return ", ".join(filter(None, parts))
