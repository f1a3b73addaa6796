"""The paper's statements as exact checks: sympy decides each one, without floating-point numbers.

A check is a function under `@statement(where)` that has the statement as its docstring and returns (holds,
expressions); calling it returns a `Check`. To add one, write the function in a module of this folder (a new module
joins the import below), and bend it once in `tests/paper/test_theory.py`: a test requires a false version of every
statement that the check rejects. `CHECKS` has them all by name, `theory.NAME` calls one, `ERRATA` are the errors of
the paper that concern its theory.
"""

from __future__ import annotations

from collections.abc import Callable

from . import areas, gradients, monotone, parity, random_orders, shapley_order, trees
from .check import CHECKS, FUNCTIONS, Check, Erratum, statement
from .errata import ERRATA, erratum
from .monotone import LINKS

__all__ = ["CHECKS", "ERRATA", "LINKS", "Check", "Erratum", "erratum", "statement"]


def __getattr__(name: str) -> Callable[..., Check]:
    """Return the check of that name: `theory.theorem_1`."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its checks are {sorted(FUNCTIONS)}.")
    return FUNCTIONS[name]


def __dir__() -> list[str]:
    """Names for completion: the checks too."""
    return sorted({*globals(), *FUNCTIONS})
