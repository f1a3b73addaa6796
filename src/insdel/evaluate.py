"""Call any model on any points, in batches.

A model f maps an (m, n) batch to m numbers. It may be a `torch.nn.Module`, a function on tensors or
a NumPy function such as a scikit-learn `predict`; points may be arrays or tensors. Everything that
has to know the difference is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from tqdm import tqdm

Array = np.ndarray | Tensor
Points = ArrayLike | Tensor  # what users may pass: arrays, tensors, lists, data frames
Model = Callable[[Any], Any]
Select = Callable[[Tensor], tuple[Tensor, Tensor]]

CHUNK_ELEMENTS = 2**23  # numbers in one batch of hybrids: 64 MiB in float64
CHUNK_ROWS = {"cpu": 2**13, "cuda": 2**17}  # CPU caches like small batches, GPUs large ones


def as_array(values: Points, name: str) -> Array:
    """Return `values` as a tensor or an array, and refuse NaN and infinity."""
    array = values.detach() if isinstance(values, Tensor) else np.asarray(values)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fc":
        return array
    finite = torch.isfinite(array) if isinstance(array, Tensor) else np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~np.asarray(finite.tolist()))[0])
        raise ValueError(
            f"{name} must be finite, but {name}[{', '.join(map(str, where))}] is {float(array[where])}. "
            "Drop or impute such rows first."
        )
    return array


def as_points(values: Points, name: str) -> Array:
    """Return points as a 1- or 2-dimensional array with at least one feature."""
    array = as_array(values, name)
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(
            f"{name} must have shape (n,) or (pairs, n) with n ≥ 1, but its shape is {tuple(array.shape)}. "
            "Pass one point as a vector or many as the rows of a matrix."
        )
    return array


def to_tensor(values: Any) -> Tensor:
    """Return numbers as a tensor, whatever holds them (arrays may be reversed or read-only views)."""
    if isinstance(values, Tensor):
        return values.detach()
    array = np.asarray(values)
    if not array.flags.writeable or min(array.strides, default=0) < 0:
        array = array.copy()
    return torch.from_numpy(array)


def like(values: Tensor, template: Any) -> Array:
    """Return `values` as the kind of array that `template` is, on its device."""
    return values.to(template.device) if isinstance(template, Tensor) else values.cpu().numpy()


def float64(values: Tensor) -> Tensor:
    """Return `values` in double precision (on the CPU where the device has none)."""
    return (values.cpu() if values.device.type == "mps" else values).to(torch.float64)


def _as_storage(x: Array, reference: Array) -> tuple[Array, Array]:
    """Bring both points to one type that cuts neither: tensors for numbers, arrays for the rest."""
    if isinstance(x, np.ndarray) and isinstance(reference, np.ndarray):
        kind = np.result_type(x.dtype, reference.dtype)
        x, reference = x.astype(kind, copy=False), reference.astype(kind, copy=False)
        if kind.kind not in "biuf" or kind.itemsize > 8:
            return x, reference
    points, others = to_tensor(x), to_tensor(reference)
    common = torch.promote_types(points.dtype, others.dtype)
    if common.is_floating_point and not (points.is_floating_point() and others.is_floating_point()):
        common = torch.float64  # float32 would cut integers above 2**24
    device = points.device if points.device.type != "cpu" else others.device
    return points.to(device, common), others.to(device, common)


def _expand(points: Array, count: int) -> Array:
    """Repeat a single row `count` times, without a copy."""
    if isinstance(points, Tensor):
        return points.expand(count, -1)
    return np.broadcast_to(points, (count, points.shape[-1]))


@dataclass(frozen=True)
class Pairs:
    """Points x and references x′ as matrices of one type, and how the user passed them."""

    x: Array  # (pairs, n)
    reference: Array  # (pairs, n)
    template: Any  # the user's x: its kind is the kind of what we return
    single: bool  # the user passed vectors, so results lose the pair axis

    @classmethod
    def of(cls, x: Points, reference: Points) -> Pairs:
        """Check x and reference, each (n,) or (pairs, n), and broadcast one against the other."""
        points, references = as_points(x, "x"), as_points(reference, "reference")
        if points.shape[-1] != references.shape[-1]:
            raise ValueError(
                f"x and reference must have the same features, but x has {points.shape[-1]} "
                f"and reference has {references.shape[-1]}. Select the same columns for both."
            )
        single = points.ndim == references.ndim == 1
        rows, others = _as_storage(points.reshape(-1, points.shape[-1]), references.reshape(-1, references.shape[-1]))
        count = max(len(rows), len(others))
        if {len(rows), len(others)} - {1, count}:
            raise ValueError(
                f"x has {len(rows)} rows and reference has {len(others)}: one reference per x is needed, "
                "or a single one for all."
            )
        return cls(_expand(rows, count), _expand(others, count), x if isinstance(x, Tensor) else points, single)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def n(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    @property
    def device(self) -> torch.device:
        """Where the points lie."""
        return self.x.device if isinstance(self.x, Tensor) else torch.device("cpu")

    def differing(self) -> Tensor:
        """(pairs, n) booleans: which features differ, bit for bit."""
        return to_tensor(self.x != self.reference)

    def take(self, pair: Tensor, mask: Tensor) -> Array:
        """Hybrid points: row i has x′ of `pair[i]` where `mask[i]` is set, else x."""
        if isinstance(self.x, Tensor):
            if pair[0] == pair[-1]:  # rows come in order of pairs, so here is one pair only: no copies of it
                return torch.where(mask, self.reference[pair[0]], self.x[pair[0]])
            return torch.where(mask, self.reference[pair], self.x[pair])
        rows = pair.numpy()
        return np.where(mask.numpy(), self.reference[rows], self.x[rows])

    def on(self, model: BatchModel) -> Pairs:
        """Return the same pairs where, and in the precision in which, the model computes."""
        if model.device is None or not isinstance(self.x, Tensor) or not isinstance(self.reference, Tensor):
            return self
        x, reference = (points.to(model.device, model.dtype) for points in (self.x, self.reference))
        return Pairs(x, reference, self.template, self.single)

    def restore(self, values: Tensor) -> Array:
        """Return results in the kind and rank that the user passed."""
        return like(values[0] if self.single else values, self.template)


@contextmanager
def eval_mode(f: Model) -> Iterator[None]:
    """Switch dropout and the like off while a module is evaluated, then put it back."""
    training = [m for m in f.modules() if m.training] if isinstance(f, torch.nn.Module) else []
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


class BatchModel:
    """f as a function from a batch of points to a float64 tensor.

    Modules get tensors. Other functions are first called with the kind of points that the user
    passed and, if that fails, with the other kind; what worked is kept for all further calls.
    """

    def __init__(self, f: Model, template: Any = None) -> None:
        if not callable(f):
            raise TypeError(
                f"f must be callable on an (m, n) batch, but it is a {type(f).__name__}. "
                + ("Pass its predict method." if hasattr(f, "predict") else "Pass a function or a torch module.")
            )
        self.f = f
        self.device: torch.device | None = None
        self.dtype: torch.dtype | None = None
        self.kinds = ["tensor", "array"] if isinstance(template, Tensor) else ["array", "tensor"]
        if isinstance(f, torch.nn.Module):
            self.kinds = ["tensor"]
            weight = next((p for p in f.parameters() if p.is_floating_point()), None)
            if weight is not None:
                self.device, self.dtype = weight.device, weight.dtype

    def __call__(self, points: Array) -> Tensor:
        """Evaluate f on (m, n) points; (m,) finite numbers come back."""
        with torch.no_grad(), eval_mode(self.f):
            try:
                values = self._call(self.kinds[0], points)
            except Exception as error:
                values = self._second_try(points, error)
        del self.kinds[1:]
        return values

    def _second_try(self, points: Array, error: Exception) -> Tensor:
        """Call f with the other kind of points; if that fails too, the user's own kind tells why."""
        if len(self.kinds) == 1:
            raise error
        try:
            values = self._call(self.kinds[1], points)
        except Exception:
            raise error from None
        self.kinds.reverse()
        return values

    def _call(self, kind: str, points: Array) -> Tensor:
        if kind == "tensor":
            points = to_tensor(points)
        elif isinstance(points, Tensor):
            points = points.cpu().numpy()
        return self.checked(self.f(points), len(points))

    def checked(self, output: Any, m: int) -> Tensor:
        """Return what f gave for m points as (m,) numbers, or say what is wrong with it."""
        try:
            values = to_tensor(output)
        except (TypeError, ValueError) as error:
            raise TypeError(f"f must return m numbers for m points, but returned {type(output).__name__}.") from error
        if tuple(values.shape) not in {(m,), (m, 1)}:
            raise ValueError(
                f"f must return one number per point: {m} points gave an output of shape {tuple(values.shape)}. "
                "Select one output, for instance lambda z: model(z)[:, k]."
            )
        values = float64(values.reshape(m))
        if not torch.isfinite(values).all():
            bad = int(torch.nonzero(~torch.isfinite(values))[0])
            raise ValueError(
                f"f must be finite, but it returned {float(values[bad])} for point {bad} of a batch of {m}. "
                "Hybrids of x and reference may lie outside the range that f was made for."
            )
        return values


def chunk_rows(n: int, device: torch.device, chunk: int | None = None) -> int:
    """Rows of n features that are evaluated together: `chunk` if given, else what fits the device."""
    if chunk is not None:
        if chunk < 1:
            raise ValueError(f"chunk must be at least 1 row, but it is {chunk}.")
        return chunk
    return max(1, min(CHUNK_ROWS.get(device.type, CHUNK_ROWS["cpu"]), CHUNK_ELEMENTS // n))


def hybrid_values(
    f: Model, pairs: Pairs, total: int, select: Select, chunk: int | None = None, progress: bool | None = None
) -> Iterator[Tensor]:
    """Evaluate f on `total` hybrids, one model call per chunk, and yield each chunk's values.

    `select` maps row numbers (r,) to the pair each belongs to (r,) and the features taken from the
    reference (r, n), so no more than one chunk of hybrids is ever in memory.
    """
    model = BatchModel(f, pairs.template)
    points = pairs.on(model)
    size = chunk_rows(pairs.n, points.device, chunk)
    with progress_bar(total, progress) as bar:
        for start in range(0, total, size):
            rows = torch.arange(start, min(start + size, total), device=points.device)
            yield model(points.take(*select(rows)))
            bar.update(len(rows))


def progress_bar(total: int, progress: bool | None) -> tqdm:
    """Return a bar that counts evaluations, for work of more than two seconds."""
    return tqdm(total=total, unit=" evaluations", unit_scale=True, delay=2, disable=progress_off(progress))


def progress_off(progress: bool | None) -> bool | None:
    """Translate `progress` for tqdm: None shows a bar on terminals only."""
    return None if progress is None else not progress


def predict(f: Model, points: Points, chunk: int | None = None) -> Array:
    """Evaluate f on (n,) or (m, n) points in chunks; a float64 number or (m,) of the points' kind."""
    pairs = Pairs.of(points, points)

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        return rows, torch.zeros(len(rows), pairs.n, dtype=torch.bool, device=rows.device)

    return pairs.restore(torch.cat(list(hybrid_values(f, pairs, len(pairs), select, chunk, progress=False))))
