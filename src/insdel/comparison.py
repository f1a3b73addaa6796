"""Methods × modes × pairs → one tidy table, chunk by chunk, resumable, on this machine or a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor
from tqdm import tqdm

from insdel.attribution import METHODS, explain, seeded
from insdel.attribution.registry import resolve
from insdel.beam import beam_order
from insdel.cluster import on_cluster, packed, unpacked
from insdel.curves import MODES, abc, auc, check_mode, curve, order
from insdel.errors import UserError, whole
from insdel.evaluate import Model, Pairs, Points, check_fitted_names, feature_names, progress_off
from insdel.identity import identity
from insdel.lattice import MAX_FEATURES, Lattice, lattices
from insdel.stats import REFERENCES
from insdel.store import Store

PAPER_METHODS = (
    "kernel_shap", "integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime", "random"
)  # fmt: skip
EXACT = {"kernel_shap": Lattice.shapley, "banzhaf": Lattice.banzhaf}
COLUMNS = ["pair", "method", "mode", "auc", "abc", "abc_per_feature"]


@dataclass(frozen=True)
class Plan:
    """What is compared: all that decides the table, apart from model and points."""

    methods: tuple[str, ...] = PAPER_METHODS
    modes: tuple[str, ...] = MODES
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        for mode in self.modes:
            check_mode(mode)
        unknown = [m for m in self.methods if m not in {*METHODS, *REFERENCES}]
        if unknown or not self.methods:
            raise UserError(f"methods must be among {', '.join([*METHODS, *REFERENCES])}; found {self.methods}.")
        stray = [m for m in self.options if m not in self.methods]
        if stray:
            raise UserError(f"options are for methods that are compared ({', '.join(self.methods)}); found {stray}.")

    def exact(self, method: str) -> bool:
        """Whether the method's attributions follow from the lattice."""
        return method in EXACT and not self.options.get(method)

    def method_options(self, method: str, pairs: Sequence[int] | np.ndarray) -> dict[str, Any]:
        """Options of a method for the pairs with these numbers: a method that draws is seeded pair by pair."""
        return seeded(method, self.options.get(method, {}), self.seed, pairs)


def compare(
    f: Model,
    x: Points,
    reference: Points,
    methods: Sequence[str] = PAPER_METHODS,
    *,
    modes: Sequence[str] = MODES,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    chunk: int = 32,
    checkpoint: str | Path | None = None,
    scheduler: Any = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Score the orders that the methods propose, for every pair.

    Parameters
    ----------
    x, reference : (pairs, n)
    methods : names in `insdel.METHODS`, and "best" (the best of all orders; for pairs that
        differ in more than 20 features the best that `beam_order` finds) and "expected" (the mean over them)
    options : per method, for instance ``{"integrated_gradients": {"steps": 50}}``
    chunk : pairs that are worked on together; also what a checkpoint holds
    checkpoint : folder for finished chunks; a run that was killed goes on from there
    scheduler : address of a Dask scheduler ("tcp://…") or a `distributed.Client`; default: this process

    Returns
    -------
    DataFrame with the columns pair, method, mode, auc, abc, abc_per_feature
    """
    points, references = _arrays(x, reference)
    check_fitted_names(f, feature_names(x))
    choice = {method: resolve(given, x, points.shape[1]) for method, given in (options or {}).items()}
    plan = Plan(tuple(methods), tuple(modes), choice, seed)
    starts = range(0, len(points), _positive(chunk))
    store = Store(checkpoint, lambda: identity(f, points, references, **vars(plan), chunk=chunk))
    sent = f if scheduler is None else packed(f)
    left = [s for s in starts if not store.has(s)]
    chunks = [Chunk(sent, points[s : s + chunk], references[s : s + chunk], s, plan) for s in left]
    with tqdm(total=len(points), unit=" pairs", disable=progress_off(progress)) as bar:
        bar.update(len(points) - sum(len(part.x) for part in chunks))
        for part, table in _here(chunks) if scheduler is None else _there(chunks, scheduler):
            store.put(part.first, table)
            bar.update(len(part.x))
    return pd.concat([store.get(s) for s in starts], ignore_index=True)


def _arrays(x: Points, reference: Points) -> tuple[np.ndarray, np.ndarray]:
    """Both points as (pairs, n) arrays of their own: what is sent to other machines."""
    pairs = Pairs.of(x, reference)
    both = (part.cpu().numpy() if isinstance(part, Tensor) else part for part in (pairs.x, pairs.reference))
    points, references = (np.array(part) for part in both)
    return points, references


def _positive(chunk: int) -> int:
    given = whole("chunk", chunk)
    if given < 1:
        raise UserError(f"chunk must be at least 1 pair, but it is {given}.")
    return given


def _here(chunks: list[Chunk]) -> Iterator[tuple[Chunk, pd.DataFrame]]:
    for chunk in chunks:
        yield chunk, chunk.table()


def _there(chunks: list[Chunk], scheduler: Any) -> Iterator[tuple[Chunk, pd.DataFrame]]:
    return on_cluster(_unpacked_table, chunks, scheduler)


def _unpacked_table(chunk: Chunk) -> pd.DataFrame:
    return replace(chunk, f=unpacked(chunk.f)).table()


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some pairs of a comparison, `first`, `first` + 1, …, and how to score them."""

    f: Model
    x: np.ndarray
    reference: np.ndarray
    first: int
    plan: Plan

    def table(self) -> pd.DataFrame:
        """Return the rows of these pairs."""
        shared = self._lattices()
        rows = [
            self._rows(walks, method, mode)
            for method in self.plan.methods
            for mode, walks in zip(self.plan.modes, self._curves(method, shared), strict=True)
        ]
        return pd.concat(rows).sort_values("pair", kind="stable", ignore_index=True)

    def _rows(self, walks: np.ndarray, method: str, mode: str) -> pd.DataFrame:
        area = np.asarray(abc(walks, mode))
        pair = np.arange(self.first, self.first + len(area))
        values = [pair, method, mode, np.asarray(auc(walks)), area, area / (walks.shape[1] - 1)]
        return pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))

    def _lattices(self) -> list[Lattice]:
        """The lattices of all pairs, if a method needs them: one evaluation serves all methods and curves."""
        exact = any(method == "best" or self.plan.exact(method) for method in self.plan.methods)
        small = (self.x != self.reference).sum(axis=1).max(initial=0) <= MAX_FEATURES
        if "expected" in self.plan.methods or (exact and small):
            return list(lattices(self.f, self.x, self.reference, progress=False))
        return []

    def _curves(self, method: str, shared: list[Lattice]) -> list[np.ndarray]:
        """Curves of a method's orders, (pairs, n + 1) for each mode: by look-up where there are lattices."""
        if method == "expected":
            return [np.stack([np.asarray(lattice.expected_curve()) for lattice in shared])] * len(self.plan.modes)
        return [self._walk(orders, shared) for orders in self._orders(method, shared)]

    def _walk(self, orders: np.ndarray, shared: list[Lattice]) -> np.ndarray:
        if shared:
            return np.stack([np.asarray(lattice.curve(row)) for lattice, row in zip(shared, orders, strict=True)])
        return np.asarray(curve(self.f, self.x, self.reference, orders))

    def _best(self, k: int, mode: str, shared: list[Lattice]) -> np.ndarray:
        """The best order of a pair, (n,); if too many features differ, the best that a beam search finds."""
        pair = self.f, self.x[k], self.reference[k]
        if not shared and (self.x[k] != self.reference[k]).sum() > MAX_FEATURES:
            return np.asarray(beam_order(*pair, mode).order)
        lattice = shared[k] if shared else Lattice.evaluate(*pair, progress=False)
        return np.asarray(lattice.best_order(mode))

    def _orders(self, method: str, shared: list[Lattice]) -> list[np.ndarray]:
        """A method's orders, (pairs, n) for each mode."""
        if method == "best":
            return [np.stack([self._best(k, mode, shared) for k in range(len(self.x))]) for mode in self.plan.modes]
        if shared and self.plan.exact(method):
            attributions = np.stack([np.asarray(EXACT[method](lattice)) for lattice in shared])
        else:
            options = self.plan.method_options(method, range(self.first, self.first + len(self.x)))
            attributions = np.asarray(explain(method, self.f, self.x, self.reference, **options))
        return [np.asarray(order(attributions, mode)) for mode in self.plan.modes]
