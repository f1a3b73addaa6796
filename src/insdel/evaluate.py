"""Call any model on any points, in batches.

A model f maps an (m, n) batch to m numbers. It may be a `torch.nn.Module`, a function on tensors, arrays or data
frames such as a scikit-learn `predict`; it gets the kind of points that the user passed. Everything that has to know
the difference is here, and what a hybrid is: single columns or groups of them, from one reference or from a background.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from tqdm import tqdm

from insdel.errors import UserError, UserTypeError, whole
from insdel.frames import Columns, as_frame, encode, fitted_order

Array = np.ndarray | Tensor
Points = ArrayLike | Tensor  # what users may pass: arrays, tensors, lists, data frames
Model = Callable[[Any], Any]
Select = Callable[[Tensor], tuple[Tensor, Tensor]]
Result = TypeVar("Result")

CHUNK_ELEMENTS = 2**23  # numbers in one batch of hybrids: 64 MiB in float64
WIDTH_ELEMENTS = {"cpu": 2**23, "cuda": 2**27}  # numbers in the widest layer that a batch passes
CHUNK_ROWS = {"cpu": 2**13, "cuda": 2**17}  # CPU caches like small batches, GPUs large ones


def as_array(values: Points, name: str, missing: bool = False) -> Array:
    """Return `values` as a tensor or an array; refuse infinity, numbers that would be cut, and NaN unless `missing`."""
    try:
        array = values.detach() if isinstance(values, Tensor) else np.asarray(values)
    except ValueError as error:
        raise UserError(f"{name} must be an array, all of its rows equally long; NumPy found: {error}") from error
    _check_kind(values, array, name)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fO":
        return array
    finite = torch.isfinite(array) if isinstance(array, Tensor) else _finite(array)
    if missing:
        finite = finite | _missing(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~np.asarray(finite.tolist()))[0])
        raise UserError(
            f"{name} must be finite, but {name}[{', '.join(map(str, where))}] is {_number(array[where])}. "
            "Drop or impute such rows first."
        )
    return array


def _missing(array: Array) -> Array:
    """Which entries are NaN, or not there at all."""
    if isinstance(array, Tensor):
        return torch.isnan(array)
    return np.isnan(array) if array.dtype.kind == "f" else np.asarray(pd.isna(array))


def _number(value: Any) -> Any:
    return value if value is pd.NA else float(value)


def _check_kind(values: Points, array: Array, name: str) -> None:
    """Refuse what would be cut or misread in silence: masks, complex numbers, more than 64 bits, records."""
    result = None
    if isinstance(values, np.ma.MaskedArray):
        result = "a masked array, whose mask would be lost. Fill its gaps, or drop these rows"
    elif isinstance(array, Tensor) and array.layout is not torch.strided:
        result = f"a sparse tensor ({array.layout}). Pass x.to_dense()"
    elif array.is_complex() if isinstance(array, Tensor) else array.dtype.kind == "c":
        result = f"made of complex numbers ({array.dtype}). Pass real and imaginary parts as features of their own"
    elif isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.dtype.itemsize > 8:
        result = f"of type {array.dtype}, which no model computes in. Pass {name}.astype(float)"
    elif isinstance(array, np.ndarray) and array.dtype.kind == "V":
        result = "a structured array. Pass its fields as the columns of a matrix"
    if result:
        raise UserTypeError(f"{name} must hold plain numbers of at most 64 bits, but it is {result}.")


def _finite(array: np.ndarray) -> np.ndarray:
    """Which entries are neither NaN nor infinite; text and other objects count as they are."""
    if array.dtype.kind == "f":
        return np.isfinite(array)
    numbers = [isinstance(v, float | np.floating) or v is pd.NA for v in array.flat]
    return np.array([not n or (v is not pd.NA and np.isfinite(v)) for n, v in zip(numbers, array.flat, strict=True)],
                    dtype=bool).reshape(array.shape)  # fmt: skip


def as_points(values: Points, name: str) -> Array:
    """Return points as a 1- or 2-dimensional array with at least one feature; NaN is a value like others."""
    array = as_array(values, name, missing=True)
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise UserError(
            f"{name} must have shape (n,) or (pairs, n) with n ≥ 1, but its shape is {tuple(array.shape)}. "
            "Pass one point as a vector or many as the rows of a matrix."
        )
    return array


def to_tensor(values: Any) -> Tensor:
    """Return numbers as a tensor, whatever holds them (arrays may be reversed or read-only views)."""
    if isinstance(values, Tensor):
        return values.detach()
    array = np.asarray(values)
    if array.dtype.kind not in "biufc" or array.dtype == np.longdouble:
        array = _numbers(array)
    if not array.flags.writeable or min(array.strides, default=0) < 0:
        array = array.copy()
    return torch.from_numpy(array)


def _numbers(array: np.ndarray) -> np.ndarray:
    """Objects that are all numbers, such as columns of a data frame with floats and booleans, as float64."""
    kinds = (int, float, np.integer, np.floating, np.bool_)
    odd = next((v for v in array.flat if not isinstance(v, kinds)), None)
    if odd is not None:
        raise UserTypeError(f"numbers are needed here, but {odd!r} ({type(odd).__name__}) is among the values.")
    return array.astype(np.float64)


def feature_names(values: Any) -> list[Any] | None:
    """Names of the features: a data frame's columns, the index of a series; None for arrays and tensors."""
    if isinstance(values, pd.Series):
        return list(values.index)
    columns = getattr(values, "columns", None)
    return None if columns is None else list(columns)


def aligned(values: Points, names: list[Any] | None, name: str, other: str = "x") -> Points:
    """Return a frame or series with its features in the order of `names`, those of `other`; arrays as they are.

    Names that only count (0, 1, …, as pandas gives by default) match any names, in the order in which they stand.
    """
    own = feature_names(values)
    if own is None or names is None or own == names:
        return values
    counted = list(range(len(own)))
    if set(own) != set(names) and len(own) == len(names) and counted in (own, names):
        return values
    if set(own) != set(names) or len(set(own)) != len(own) or len(own) != len(names):
        missing, extra = ([k for k in a if k not in b] for a, b in ((names, own), (own, names)))
        raise UserError(
            f"{name} must have the features of {other}, each once. {other} has {_listed(names)}; {name} has "
            f"{_listed(own)}; missing: {_listed(missing)}; not in {other}: {_listed(extra)}. Select the same columns."
        )
    return values[names]  # type: ignore[index, call-overload]


def _listed(names: list[Any]) -> str:
    return ", ".join(map(str, names[:20])) + (f", … ({len(names)} in all)" if len(names) > 20 else "") or "none"


def same_fields(one: Any, other: Any) -> bool:
    """Whether two dataclasses of one kind hold the same, arrays compared number by number."""
    both = ((getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return type(one) is type(other) and all(_same(a, b) for a, b in both)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor | np.ndarray) and isinstance(b, Tensor | np.ndarray):
        a, b = (part.cpu().numpy() if isinstance(part, Tensor) else part for part in (a, b))
        return np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)


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


Groups = Mapping[Any, Sequence[Any]] | Sequence[Sequence[Any]]  # label → columns, by name or number


@dataclass(frozen=True, eq=False)
class Pairs:
    """Points x and references x′ as matrices of one type, and how the user passed them.

    A player is what one step of a walk changes: a column or, with `group`, several columns together.
    """

    x: Array  # (pairs, columns)
    reference: Array  # (pairs, columns); with a background (0, columns)
    template: Any  # the user's x: its kind is the kind of what we return
    single: bool  # the user passed vectors, so results lose the pair axis
    names: list[Any] | None = None  # of the players, where they have names
    columns: Columns | None = None  # the way back to a data frame, where x or x′ is one
    group: Tensor | None = None  # (columns,) the player that each belongs to; None: each is one
    background: Array | None = None  # (rows, columns): f is averaged over hybrids with each of them

    @classmethod
    def of(
        cls, x: Points, reference: Points | None, groups: Groups | None = None, background: Points | None = None
    ) -> Pairs:
        """Check x and reference, each (n,) or (pairs, n), and broadcast one against the other.

        Data frames are paired by the names of their columns, in the order that x has, and row by row.
        """
        if (reference is None) == (background is None):
            raise UserError("either reference=… or background=… is needed, and not both.")
        other, name = (reference, "reference") if background is None else (background, "background")
        own, theirs = feature_names(x), feature_names(other)
        names = own or theirs
        other = aligned(other, own, name)  # type: ignore[arg-type]
        if own is None and theirs is None:
            points, others, columns = as_points(x, "x"), as_points(other, name), None
        else:
            points, others, columns = _coded(x, other, names, name)
        if points.shape[-1] != others.shape[-1]:
            raise UserError(
                f"x and {name} must have the same features, but x has {points.shape[-1]} "
                f"and {name} has {others.shape[-1]}. Select the same columns for both."
            )
        rows, rest = _as_storage(points.reshape(-1, points.shape[-1]), others.reshape(-1, others.shape[-1]))
        count = _pair_count(len(rows), len(rest), background is not None)
        template = x if isinstance(x, Tensor) else points
        single = points.ndim == 1 and (others.ndim == 1 or background is not None)
        if background is None:
            pairs = cls(_expand(rows, count), _expand(rest, count), template, single, names, columns)
        else:
            pairs = cls(rows, rest[:0], template, single, names, columns, None, rest)
        return pairs if groups is None else pairs.grouped(groups)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def n(self) -> int:
        """Number of players: features, or groups and the features in none."""
        return int(self.x.shape[1]) if self.group is None else int(self.group.max()) + 1

    @property
    def plain(self) -> bool:
        """Whether every player is one column, and every hybrid one point."""
        return self.group is None and self.background is None

    @property
    def device(self) -> torch.device:
        """Where the points lie."""
        return self.x.device if isinstance(self.x, Tensor) else torch.device("cpu")

    def grouped(self, groups: Groups) -> Pairs:
        """Return the pairs with these columns changing together; the others stay players by themselves."""
        count, labels = int(self.x.shape[1]), self.names or list(range(int(self.x.shape[1])))
        named = groups.items() if isinstance(groups, Mapping) else ((None, part) for part in groups)
        label: dict[int, Any] = {}
        for title, part in named:
            places = [_place(column, labels, count) for column in ([part] if isinstance(part, str) else part)]
            twice = next((k for k in places if k in label or places.count(k) > 1), None)
            if twice is not None or not places:
                found = "an empty one" if twice is None else f"{labels[twice]!r} twice"
                raise UserError(f"groups need one or more columns each, and a column in one group only; found {found}.")
            text = title if title is not None else " + ".join(str(labels[k]) for k in places)
            label |= dict.fromkeys(places, (text,))
        keys = [label.get(k, k) for k in range(count)]
        players = list(dict.fromkeys(keys))
        names = [key[0] if isinstance(key, tuple) else labels[key] for key in players]
        if len(set(map(str, names))) != len(names):
            raise UserError(f"groups and columns need different names; found {', '.join(map(str, names))}.")
        return replace(self, group=torch.tensor([players.index(key) for key in keys]), names=names)

    def by_player(self, values: Tensor) -> Tensor:
        """Sum (…, columns) values over the columns of each player, (…, n)."""
        if self.group is None:
            return values
        return values.new_zeros(*values.shape[:-1], self.n).index_add_(-1, self.group.to(values.device), values)

    def by_column(self) -> Pairs:
        """Return the pairs with each column a player."""
        return replace(self, group=None, names=self.columns.names if self.columns else None)

    def differing(self) -> Tensor:
        """(pairs, n) booleans: which players differ, bit for bit; NaN equals NaN."""
        if self.background is None:
            columns = differ(self.x, self.reference)
        else:
            columns = torch.stack([differ(self.x, row[None]) for row in self.background]).any(dim=0)
        return self.by_player(columns.to(torch.int64)).bool()

    def take(self, pair: Tensor, mask: Tensor) -> Array:
        """Hybrid points: row i has x′ of `pair[i]` where `mask[i]` is set, else x.

        With a background every hybrid is as many points as there are rows, one after the other.
        """
        if self.group is not None:
            mask = mask[:, self.group.to(mask.device)]
        if self.background is not None:
            return self._with_background(pair, mask)
        if isinstance(self.x, Tensor):
            if pair[0] == pair[-1]:  # rows come in order of pairs, so here is one pair only: no copies of it
                return torch.where(mask, self.reference[pair[0]], self.x[pair[0]])
            return torch.where(mask, self.reference[pair], self.x[pair])
        rows = pair.numpy()
        return np.where(mask.numpy(), self.reference[rows], self.x[rows])

    def _with_background(self, pair: Tensor, mask: Tensor) -> Array:
        rows: Any = self.background
        if isinstance(self.x, Tensor):
            return torch.where(mask[:, None], rows[None], self.x[pair][:, None]).flatten(0, 1)
        x = self.x[pair.numpy()]
        return np.where(mask.numpy()[:, None], rows[None], x[:, None]).reshape(-1, x.shape[1])

    def on(self, model: BatchModel) -> Pairs:
        """Return the same pairs where, and in the precision in which, the model computes."""
        if model.device is None or not isinstance(self.x, Tensor) or not isinstance(self.reference, Tensor):
            return self
        x, reference = (points.to(model.device, model.dtype) for points in (self.x, self.reference))
        rows = self.background
        rows = rows.to(model.device, model.dtype) if isinstance(rows, Tensor) else rows
        return replace(self, x=x, reference=reference, background=rows)

    def on_processor(self) -> Pairs:
        """Return the same pairs in the processor's memory, from where they can be sent to other machines."""
        def moved(part: Any) -> Any:
            return part.cpu() if isinstance(part, Tensor) else part

        x, reference, background = map(moved, (self.x, self.reference, self.background))
        return replace(self, x=x, reference=reference, background=background, template=moved(self.template))

    def some(self, index: Tensor) -> Pairs:
        """Return some of the pairs, by their (k,) numbers."""
        rows: Any = index.to(self.device) if isinstance(self.x, Tensor) else index.cpu().numpy()
        reference = self.reference if self.background is not None else self.reference[rows]
        return replace(self, x=self.x[rows], reference=reference, single=False)

    def every_reference(self) -> Pairs:
        """Return each x paired with each row of the background, as (pairs × rows) pairs."""
        if self.background is None:
            return self
        rows: Any = self.background
        if isinstance(self.x, Tensor):
            x, reference = self.x.repeat_interleave(len(rows), dim=0), rows.repeat(len(self), 1)
        else:
            x, reference = np.repeat(self.x, len(rows), axis=0), np.tile(rows, (len(self), 1))  # type: ignore[assignment]
        return replace(self, x=x, reference=reference, background=None, single=False)

    def restore(self, values: Tensor) -> Array:
        """Return results in the kind and rank that the user passed."""
        return like(values[0] if self.single else values, self.template)


def differ(x: Array, reference: Array) -> Tensor:
    """Where two arrays differ; NaN equals NaN."""
    either: Any = to_tensor(np.asarray(x != reference)) if isinstance(x, np.ndarray) else x != reference
    kind = x.dtype.kind if isinstance(x, np.ndarray) else "f" if x.is_floating_point() else "i"
    if kind not in "fO":
        return either
    both = _missing(x) & _missing(reference)
    return either & ~(both if isinstance(both, Tensor) else torch.from_numpy(np.asarray(both)))


def _coded(x: Any, other: Any, names: list[Any] | None, name: str) -> tuple[np.ndarray, np.ndarray, Columns]:
    """Return a data frame and what goes with it as numbers, each of the rank in which it came, and the way back."""
    width = len(names or [])
    for part, title in ((x, "x"), (other, name)):
        if np.ndim(part) not in (1, 2) or np.shape(part)[-1] != width:
            raise UserError(
                f"x and {name} must have the same features, but one is a data frame with {width} columns and {title} "
                f"has the shape {np.shape(part)}. Select the same columns for both."
            )
    columns, [points, others] = encode(as_frame(x, names), as_frame(other, names))
    return points[0] if np.ndim(x) == 1 else points, others[0] if np.ndim(other) == 1 else others, columns


def _pair_count(rows: int, others: int, background: bool) -> int:
    """Return how many pairs there are, or say what does not fit."""
    name = "background" if background else "reference"
    if not rows or not others:
        raise UserError(f"at least one pair is needed, but x has {rows} rows and {name} {others}.")
    count = rows if background else max(rows, others)
    if not background and {rows, others} - {1, count}:
        raise UserError(
            f"x has {rows} rows and reference has {others}: one reference per x is needed, or a single one for all. "
            "To average f over rows, as shap does, pass them as background=… instead."
        )
    return count


def _place(column: Any, labels: list[Any], count: int) -> int:
    """Return where a column stands that is given by name or number."""
    if column in labels:
        return labels.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < count and not isinstance(column, bool):
        return int(column)
    raise UserError(f"groups must name columns of x, but {column!r} is none of {_listed(labels)}.")


def module_of(f: Model) -> nn.Module | None:
    """The module that f is or, if f is a method of one such as `network.forward`, belongs to."""
    owner = f if isinstance(f, nn.Module) else getattr(f, "__self__", None)
    return owner if isinstance(owner, nn.Module) else None


@contextmanager
def eval_mode(f: Model) -> Iterator[None]:
    """Switch dropout and the like off while a module is evaluated, then put it back."""
    module = module_of(f)
    training = [m for m in module.modules() if m.training] if module is not None else []
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True


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


class Output(nn.Module):
    """One output of a module that has several."""

    def __init__(self, model: nn.Module, k: int) -> None:
        super().__init__()
        self.model, self.selection = model, Selection(k)
        self.training = model.training

    def forward(self, z: Tensor) -> Tensor:
        """Predict (m,) numbers for (m, n) points."""
        return self.selection(self.model(z))


def output(model: nn.Module, k: int) -> Output:
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
    return Output(model, int(k))


def one_per_point(output: Tensor, m: int) -> Tensor:
    """Return what f gave for m points as (m,), or refuse it if that is not one number each."""
    if tuple(output.shape) not in {(m,), (m, 1)}:
        raise UserError(
            f"f must return one number per point: {m} points gave an output of shape {tuple(output.shape)}. "
            "Select one output: insdel.output(model, k) for a torch module."
        )
    return output.reshape(m)


def layer_width(f: Model) -> int:
    """Numbers per point in the widest layer of a module, as far as its weights tell; 1 for other functions."""
    module = module_of(f)
    weights = [] if module is None else [max(p.shape[:2]) for p in module.parameters() if p.ndim >= 2]
    return max(weights, default=1)


class BatchModel:
    """f as a function from a batch of points to a float64 tensor.

    Modules get tensors. Other functions get a data frame where the user passed one, with its columns in the order
    that f was fitted to. With arrays and tensors they are first called with the kind that the user passed and, if
    that fails, with the other kind; what worked is kept for all further calls.
    """

    def __init__(self, f: Model, template: Any = None, columns: Columns | None = None) -> None:
        if not callable(f):
            raise UserTypeError(
                f"f must be callable on an (m, n) batch, but it is a {type(f).__name__}. "
                + ("Pass its predict method." if hasattr(f, "predict") else "Pass a function or a torch module.")
            )
        self.f, self.columns = f, columns
        self.width = layer_width(f)
        self.device: torch.device | None = None
        self.dtype: torch.dtype | None = None
        self.kinds = ["tensor", "array"] if isinstance(template, Tensor) else ["array", "tensor"]
        module = module_of(f)
        if module is not None and (f is module or getattr(f, "__name__", "") == "forward"):
            self.kinds = ["tensor"]
            weight = next((p for p in module.parameters() if p.is_floating_point()), None)
            if weight is not None:
                self.device, self.dtype = weight.device, weight.dtype
            if columns is not None and columns.coded.any():
                text = _listed([columns.names[j] for j in np.flatnonzero(columns.coded)])
                raise UserTypeError(f"a torch module needs numbers, but these columns hold other values: {text}.")
        elif columns is not None:
            self.kinds, self.columns = ["frame"], replace(columns, order=fitted_order(f, columns.names))

    def __call__(self, points: Array) -> Tensor:
        """Evaluate f on (m, n) points; (m,) finite numbers come back."""
        with torch.no_grad(), eval_mode(self.f):
            try:
                values = self._call(self.kinds[0], points)
            except UserError:
                raise
            except Exception as error:
                if self.kinds == ["frame"] and not out_of_memory(error):
                    error.add_note("f was called on a data frame, as x is one. If f takes arrays, pass x.to_numpy().")
                values = self._second_try(points, error)
        del self.kinds[1:]
        return values

    def _second_try(self, points: Array, error: Exception) -> Tensor:
        """Call f with the other kind of points; if that fails too, the user's own kind tells why."""
        if len(self.kinds) == 1 or out_of_memory(error):
            raise error
        try:
            values = self._call(self.kinds[1], points)
        except Exception:
            raise error from None
        self.kinds.reverse()
        return values

    def _call(self, kind: str, points: Array) -> Tensor:
        if kind == "tensor":
            known = isinstance(points, Tensor)
            points = to_tensor(points)
            points = points if known or self.device is None else points.to(self.device, self.dtype)
        elif isinstance(points, Tensor):
            points = points.cpu().numpy()
        if kind == "frame":
            assert self.columns is not None
            points = self.columns.frame(points)  # type: ignore[arg-type]
        return self.checked(self.f(points), len(points))

    def checked(self, output: Any, m: int) -> Tensor:
        """Return what f gave for m points as (m,) numbers, or say what is wrong with it."""
        try:
            values = to_tensor(output)
        except (TypeError, ValueError) as error:
            kind = type(output).__name__
            raise UserTypeError(f"f must return m numbers for m points, but returned {kind}.") from error
        if values.is_complex():
            raise UserTypeError(f"f must return real numbers, but returned {values.dtype}.")
        values = float64(one_per_point(values, m))
        if not torch.isfinite(values).all():
            bad = int(torch.nonzero(~torch.isfinite(values))[0])
            raise UserError(
                f"f must be finite, but it returned {float(values[bad])} for point {bad} of a batch of {m}. "
                "Hybrids of x and reference may lie outside the range that f was made for."
            )
        return values


def chunk_rows(n: int, device: torch.device, chunk: int | None = None, width: int = 1) -> int:
    """Rows of n features that are evaluated together: `chunk` if given, else what fits device and layers."""
    if chunk is not None:
        given = whole("chunk", chunk)
        if given < 1:
            raise UserError(f"chunk must be at least 1 row, but it is {given}.")
        return given
    limits = (table.get(device.type, table["cpu"]) for table in (CHUNK_ROWS, WIDTH_ELEMENTS))
    rows, numbers = limits
    return max(1, min(rows, CHUNK_ELEMENTS // n, numbers // width))


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on the processor or on a device."""
    text = str(error).lower()
    said = any(words in text for words in ("out of memory", "not enough memory", "can't allocate memory"))
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (isinstance(error, RuntimeError) and said)


def in_batches(total: int, size: int, work: Callable[[int, int], Result]) -> Iterator[Result]:
    """Yield work(start, stop) for batches of `size` rows; where memory runs out, of half as many from there on."""
    start = 0
    while start < total:
        stop = min(start + size, total)
        try:
            result = work(start, stop)
        except (RuntimeError, MemoryError) as error:
            if stop - start == 1 or not out_of_memory(error):
                raise
            size = (stop - start) // 2
            continue  # what the failed batch held is freed with its error
        yield result
        start = stop


def hybrid_values(
    f: Model, pairs: Pairs, total: int, select: Select, chunk: int | None = None, progress: bool | None = None
) -> Iterator[Tensor]:
    """Evaluate f on `total` hybrids, one model call per chunk, and yield each chunk's values.

    `select` maps row numbers (r,) to the pair each belongs to (r,) and the features taken from the
    reference (r, n), so no more than one chunk of hybrids is ever in memory.
    """
    model = BatchModel(f, pairs.template, pairs.columns)
    points = pairs.on(model)
    rows = 1 if pairs.background is None else len(pairs.background)

    def work(start: int, stop: int) -> Tensor:
        values = model(points.take(*select(torch.arange(start, stop, device=points.device))))
        return values if rows == 1 else values.reshape(-1, rows).mean(dim=1)

    size = max(1, chunk_rows(pairs.x.shape[1], points.device, chunk, model.width) // rows)
    with progress_bar(total, progress) as bar:
        for values in in_batches(total, size, work):
            yield values
            bar.update(len(values))


def progress_bar(total: int, progress: bool | None) -> tqdm:
    """Return a bar that counts evaluations, for work of more than two seconds."""
    return tqdm(total=total, unit=" evaluations", unit_scale=True, delay=2, disable=progress_off(progress))


def progress_off(progress: bool | None) -> bool | None:
    """Translate `progress` for tqdm: None shows a bar on terminals only."""
    return None if progress is None else not progress


def at_x(f: Model, pairs: Pairs, chunk: int | None = None, changed: bool = False) -> Tensor:
    """f(x) or, if `changed`, f(x′), the mean over a background; (pairs,) float64, in the processor's memory."""

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        return rows, torch.full((len(rows), pairs.n), changed, device=rows.device)

    return torch.cat(list(hybrid_values(f, pairs, len(pairs), select, chunk, progress=False))).cpu()


def ends(f: Model, pairs: Pairs, chunk: int | None = None) -> tuple[Tensor, Tensor]:
    """f(x) and f(x′), (pairs,) each; see `at_x`."""
    return at_x(f, pairs, chunk), at_x(f, pairs, chunk, changed=True)


def predict(f: Model, points: Points, chunk: int | None = None) -> Array:
    """Evaluate f on (n,) or (m, n) points in chunks; a float64 number or (m,) of the points' kind."""
    if not len(points):  # type: ignore[arg-type]
        return like(torch.zeros(0, dtype=torch.float64), points)
    pairs = Pairs.of(points, points)

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        return rows, torch.zeros(len(rows), pairs.n, dtype=torch.bool, device=rows.device)

    return pairs.restore(torch.cat(list(hybrid_values(f, pairs, len(pairs), select, chunk, progress=False))))
