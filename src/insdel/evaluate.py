"""Call any model on any points, in batches.

A model f maps an (m, n) batch to m numbers. It may be a `torch.nn.Module`, a function on tensors, arrays or data
frames such as a scikit-learn `predict`; it gets the kind of points that the user passed. Everything that has to know
the difference is here, and what a hybrid is: single columns or groups of them, from one reference or from a background.
Hybrids are made where the points lie, a GPU included; predictions come back as float64 arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from insdel.arrays import (
    Array,
    Points,
    beside,
    is_tensor,
    like,
    loaded_torch,
    namespace,
    to_numpy,
    to_tensor,
    without_gradients,
)
from insdel.errors import UserError, UserTypeError, listed, require_integer
from insdel.frames import Columns, as_frame, encode, fitted_order

if TYPE_CHECKING:
    from torch import nn

Model: TypeAlias = Callable[[Any], Any]
Select: TypeAlias = Callable[[Any], tuple[Any, Any]]
Result = TypeVar("Result")

CHUNK_ELEMENTS = 2**23  # numbers in one batch of hybrids: 64 MiB in float64
WIDTH_ELEMENTS = {"cpu": 2**23, "cuda": 2**27}  # numbers in the widest layer that a batch passes
CHUNK_ROWS = {"cpu": 2**13, "cuda": 2**17}  # CPU caches like small batches, GPUs large ones


def as_array(values: Points, name: str, missing: bool = False) -> Array:
    """Return a tensor or an array; refuse what would be cut or misread, infinity, and NaN unless `missing`."""
    try:
        array: Any = values.detach() if is_tensor(values) else np.asarray(values)
    except ValueError as error:
        raise UserError(f"{name} must be an array, all of its rows equally long; NumPy found: {error}") from error
    tensor = is_tensor(array)
    kind, size = ("", 0) if tensor else (array.dtype.kind, array.dtype.itemsize)
    masked, sparse = isinstance(values, np.ma.MaskedArray), tensor and array.layout is not loaded_torch().strided
    wrong_kinds = {
        "a masked array, whose mask would be lost. Fill its gaps, or drop these rows": masked,
        f"a sparse tensor ({getattr(array, 'layout', None)}). Pass x.to_dense()": sparse,
        f"made of complex numbers ({array.dtype}). Pass real and imaginary parts as features of their own":
            array.is_complex() if tensor else kind == "c",
        f"of type {array.dtype}, which no model computes in. Pass {name}.astype(float)": kind == "f" and size > 8,
        "a structured array. Pass its fields as the columns of a matrix": kind == "V",
    }  # fmt: skip
    wrong = next((text for text, found in wrong_kinds.items() if found), None)
    if wrong is not None:
        raise UserTypeError(f"{name} must hold plain numbers of at most 64 bits, but it is {wrong}.")
    if not tensor and kind not in "fO":
        return array
    if tensor or kind == "f":
        finite = namespace(array).isfinite(array)
    else:  # text and the like count as they are
        odd = [v is pd.NA or (isinstance(v, float | np.floating) and not np.isfinite(v)) for v in array.flat]
        finite = ~np.array(odd, dtype=bool).reshape(array.shape)
    if missing:
        finite = finite | _missing(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~np.asarray(finite.tolist()))[0])
        found = array[where] if array[where] is pd.NA else float(array[where])
        raise UserError(
            f"{name} must be finite, but {name}[{', '.join(map(str, where))}] is {found}. "
            "Drop or impute such rows first."
        )
    return array


def _missing(array: Any) -> Any:
    """Which entries are NaN, or not there at all."""
    return array.isnan() if is_tensor(array) else np.asarray(pd.isna(array))


def as_points(values: Points, name: str) -> Array:
    """Return points as a 1- or 2-dimensional array with at least one feature; NaN is a value like others."""
    array = as_array(values, name, missing=True)
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise UserError(
            f"{name} must have shape (n,) or (pairs, n) with n ≥ 1, but it is a {type(values).__name__} of shape "
            f"{tuple(array.shape)}. Pass one point as a vector or many as the rows of a matrix: {name}.toarray() of a "
            f"sparse matrix, list({name}) of a generator."
        )
    return array


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
            f"{name} must have the features of {other}, each once. {other} has {listed(names)}; {name} has "
            f"{listed(own)}; missing: {listed(missing)}; not in {other}: {listed(extra)}. Select the same columns."
        )
    return values[names]  # type: ignore[index, call-overload]


def same_fields(one: Any, other: Any) -> bool:
    """Whether two dataclasses of one kind hold the same, arrays and data frames compared value by value."""

    def same(a: Any, b: Any) -> bool:
        a, b = (part.cpu() if is_tensor(part) else part for part in (a, b))
        return bool(a.equals(b)) if isinstance(a, pd.DataFrame) else np.array_equal(a, b)

    names = [field.name for field in fields(one)]
    return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)


def _as_storage(x: Any, reference: Any) -> tuple[Any, Any]:
    """Bring both points to one type that cuts neither, and to one device."""
    if not is_tensor(x) and not is_tensor(reference):
        kind = np.result_type(x.dtype, reference.dtype)
        for part in (x, reference):
            if kind.kind == "f" and part.dtype.kind in "iu" and (np.abs(part.astype(kind)) > 2**53).any():
                raise UserError(f"{x.dtype} and {reference.dtype} have no common type for numbers as large as these.")
        return x.astype(kind, copy=False), reference.astype(kind, copy=False)
    torch = loaded_torch()
    points, others = to_tensor(x), to_tensor(reference)
    common = torch.promote_types(points.dtype, others.dtype)
    if common.is_floating_point and not (points.is_floating_point() and others.is_floating_point()):
        common = torch.float64  # float32 would cut integers above 2**24
    device = points.device if points.device.type != "cpu" else others.device
    return points.to(device, common), others.to(device, common)


Groups: TypeAlias = Mapping[Any, Sequence[Any]] | Sequence[Sequence[Any]]  # label → columns, by name or number


@dataclass(frozen=True, eq=False)
class Pairs:
    """Points x and references x′ as matrices of one type, and how the user passed them.

    A player is what one step of a walk changes: a column or, with `group`, several columns together.
    """

    x: Any  # (pairs, columns), an array or a tensor
    reference: Any  # (pairs, columns), of the same kind; with a background (0, columns)
    template: Any  # the user's x: its kind is the kind of what we return
    single: bool  # the user passed vectors, so results lose the pair axis
    names: list[Any] | None = None  # of the players, where they have names
    columns: Columns | None = None  # the way back to a data frame, where x or x′ is one
    group: np.ndarray | None = None  # (columns,) the player that each belongs to; None: each is one
    background: Any = None  # (rows, columns): f is averaged over hybrids with each of them

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
        points: Any = x if own is not None else as_points(x, "x")
        others: Any = other if theirs is not None else as_points(other, name)
        if points.shape[-1] != others.shape[-1]:
            raise UserError(
                f"x and {name} must have the same features, but x has {points.shape[-1]} "
                f"and {name} has {others.shape[-1]}. Select the same columns for both."
            )
        columns = None
        if own is not None or theirs is not None:
            shapes = points.shape, others.shape
            columns, coded = encode(as_frame(points, names), as_frame(others, names))
            points, others = (part.reshape(shape) for part, shape in zip(coded, shapes, strict=True))
        rows, rest = _as_storage(points.reshape(-1, points.shape[-1]), others.reshape(-1, others.shape[-1]))
        if not len(rows) or not len(rest):
            raise UserError(f"at least one pair is needed, but x has {len(rows)} rows and {name} {len(rest)}.")
        template = x if is_tensor(x) else points
        single = points.ndim == 1 and (others.ndim == 1 or background is not None)
        count = max(len(rows), len(rest))
        if background is None and {len(rows), len(rest)} - {1, count}:
            raise UserError(
                f"x has {len(rows)} rows and reference has {len(rest)}: one reference per x is needed, or a single one "
                "for all. To average f over rows, as shap does, pass them as background=… instead."
            )
        if background is None:
            rows, rest = (namespace(part).broadcast_to(part, (count, part.shape[1])) for part in (rows, rest))  # views
            pairs = cls(rows, rest, template, single, names, columns)
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
    def numeric(self) -> bool:
        """Whether the points are made of numbers, codes included."""
        return is_tensor(self.x) or self.x.dtype.kind in "biuf"

    @property
    def plain(self) -> bool:
        """Whether every player is one column, and every hybrid one point."""
        return self.group is None and self.background is None

    def grouped(self, groups: Groups) -> Pairs:
        """Return the pairs with these columns changing together; the others stay players by themselves."""
        count, labels = int(self.x.shape[1]), self.names or list(range(int(self.x.shape[1])))
        named = groups.items() if isinstance(groups, Mapping) else ((None, part) for part in groups)
        label: dict[int, Any] = {}
        for title, part in named:
            places = []
            for column in [part] if isinstance(part, str) else part:
                number: Any = column if isinstance(column, int | np.integer) else -1
                if isinstance(column, bool | np.bool_) or (column not in labels and not 0 <= number < count):
                    raise UserError(f"groups must name columns of x, but {column!r} is none of {listed(labels)}.")
                places.append(labels.index(column) if column in labels else int(column))
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
        return replace(self, group=np.array([players.index(key) for key in keys]), names=names)

    def by_player(self, values: np.ndarray) -> np.ndarray:
        """Sum (…, columns) values over the columns of each player, (…, n)."""
        if self.group is None:
            return values
        return values @ (self.group[:, None] == np.arange(self.n)).astype(np.float64)

    def by_column(self) -> Pairs:
        """Return the pairs with each column a player."""
        return replace(self, group=None, names=self.columns.names if self.columns else None)

    def differing(self) -> np.ndarray:
        """(pairs, n) booleans: which players differ, however little; see `differ`."""
        rows = [self.reference] if self.background is None else (row[None] for row in self.background)
        return self.by_player(reduce(or_, (differ(self.x, row) for row in rows))) > 0

    def take(self, pair: Any, mask: Any) -> Array:
        """Hybrid points: row i has x′ of `pair[i]` where `mask[i]` is set, else x.

        With a background every hybrid is as many points as there are rows, one after the other.
        """
        where = namespace(self.x).where
        if self.group is not None:
            mask = mask[:, beside(self.group, mask)]
        if self.background is not None:
            hybrids = where(mask[:, None], self.background[None], self.x[pair][:, None])
            return hybrids.reshape(-1, hybrids.shape[2])
        if pair[0] == pair[-1]:  # rows come in order of pairs, so here is one pair only: no copies of it
            pair = pair[0]
        return where(mask, self.reference[pair], self.x[pair])

    def on(self, model: BatchModel) -> Pairs:
        """Return the same pairs where, in the kind and in the precision in which a module computes."""
        if model.device is None:
            return self
        return self._moved(lambda part: to_tensor(part).to(model.device, model.dtype))

    def on_processor(self) -> Pairs:
        """Return the same pairs in the processor's memory, from where they can be sent to other machines."""
        pairs = self._moved(lambda part: part.cpu() if is_tensor(part) else part)
        return replace(pairs, template=self.template.cpu() if is_tensor(self.template) else self.template)

    def _moved(self, move: Callable[[Any], Any]) -> Pairs:
        rows = None if self.background is None else move(self.background)
        return replace(self, x=move(self.x), reference=move(self.reference), background=rows)

    def subset(self, index: Any) -> Pairs:
        """Return some of the pairs, by their (k,) numbers."""
        rows = beside(np.asarray(index), self.x)
        reference = self.reference if self.background is not None else self.reference[rows]
        return replace(self, x=self.x[rows], reference=reference, single=False)

    def every_reference(self) -> Pairs:
        """Return each x paired with each row of the background, as (pairs × rows) pairs."""
        if self.background is None:
            return self
        first, second = (beside(part.ravel(), self.x) for part in np.indices((len(self), len(self.background))))
        return replace(self, x=self.x[first], reference=self.background[second], background=None, single=False)

    def as_passed(self, rows: Any) -> Any:
        """Return rows as the kind of points that the user passed."""
        if self.columns is not None:
            return self.columns.frame(to_numpy(rows))
        return to_numpy(rows) if is_tensor(rows) and not is_tensor(self.template) else rows

    def restore(self, values: np.ndarray) -> Array:
        """Return results in the kind and rank that the user passed."""
        return like(values[0] if self.single else values, self.template)


def differ(x: Any, reference: Any) -> np.ndarray:
    """Where two arrays of one kind differ, by ==, as an array of booleans; NaN equals NaN, and −0.0 equals 0.0."""
    first, second = _missing(x), _missing(reference)
    if not is_tensor(x) and x.dtype.kind == "O":  # pd.NA cannot be compared
        x, reference = np.where(first, None, x), np.where(second, None, reference)
    either = x != reference
    if is_tensor(x) or x.dtype.kind in "fO":
        either = namespace(x).where(first | second, first ^ second, either)
    return either.cpu().numpy() if is_tensor(either) else either.astype(bool)


def module_of(f: Model) -> nn.Module | None:
    """The torch module that f is or, if f is a method of one such as `network.forward`, belongs to."""
    torch = loaded_torch()
    owner = f if torch is None or isinstance(f, torch.nn.Module) else getattr(f, "__self__", None)
    return owner if torch is not None and isinstance(owner, torch.nn.Module) else None


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


def one_per_point(output: Any, m: int) -> Any:
    """Return what f gave for m points as (m,), or refuse it if that is not one number each."""
    if tuple(output.shape) not in {(m,), (m, 1)}:
        raise UserError(
            f"f must return one number per point: {m} points gave an output of shape {tuple(output.shape)}. "
            "Select one: insdel.proba(classifier, k) of a classifier, insdel.output(model, k) of a torch module."
        )
    return output.reshape(m)


class BatchModel:
    """f as a function from a batch of points to a float64 array.

    Modules get tensors. Other functions get a data frame where the user passed one; a method of a fitted model gets
    its columns in the order of the fit. With arrays and tensors they are first called with the kind that the user
    passed and, if that fails, with the other kind; what worked is kept for all further calls.
    """

    def __init__(self, f: Model, template: Any = None, columns: Columns | None = None) -> None:
        if not callable(f):
            raise UserTypeError(
                f"f must be callable on an (m, n) batch, but it is a {type(f).__name__}. "
                + ("Pass its predict method." if hasattr(f, "predict") else "Pass a function or a torch module.")
            )
        self.f, self.columns = f, columns
        self.device: Any = None  # of a module, and the type of its weights
        self.dtype: Any = None
        self.kinds = ["tensor", "array"] if is_tensor(template) else ["array", "tensor"]
        module = module_of(f)
        weights = [] if module is None else [max(p.shape[:2]) for p in module.parameters() if p.ndim >= 2]
        self.width = max(weights, default=1)  # numbers per point in the widest layer, as far as its weights tell
        if module is not None and (f is module or getattr(f, "__name__", "") == "forward"):
            self.kinds = ["tensor"]
            weight = next((p for p in module.parameters() if p.is_floating_point()), None)
            if weight is not None:
                self.device, self.dtype = weight.device, weight.dtype
            if columns is not None and columns.coded.any():
                text = listed([columns.names[j] for j in np.flatnonzero(columns.coded)])
                raise UserTypeError(f"a torch module needs numbers, but these columns hold other values: {text}.")
        elif columns is not None:
            self.kinds, self.columns = ["frame"], replace(columns, order=fitted_order(f, columns.names))
        elif loaded_torch() is None:
            self.kinds = ["array"]

    def __call__(self, points: Array) -> np.ndarray:
        """Evaluate f on (m, n) points; (m,) finite numbers come back."""
        with without_gradients(), eval_mode(self.f):
            try:
                values = self._call(self.kinds[0], points)
            except Exception as error:
                if isinstance(error, UserError) or out_of_memory(error):
                    raise
                if self.kinds == ["frame"]:
                    error.add_note("f was called on a data frame, as x is one. If f takes arrays, pass x.to_numpy().")
                if len(self.kinds) == 1:
                    raise
                try:
                    values = self._call(self.kinds[1], points)
                except Exception:
                    raise error from None  # the user's own kind tells why
                self.kinds.reverse()
        del self.kinds[1:]
        return values

    def _call(self, kind: str, points: Array) -> np.ndarray:
        batch: Any = points
        if kind == "tensor":
            batch = to_tensor(points)
            batch = batch if is_tensor(points) or self.device is None else batch.to(self.device, self.dtype)
        elif is_tensor(points):
            batch = points.cpu().numpy()
        if kind == "frame":
            assert self.columns is not None
            batch = self.columns.frame(batch)
        return self.checked(self.f(batch), len(points))

    def checked(self, output: Any, m: int) -> np.ndarray:
        """Return what f gave for m points as (m,) numbers, or say what is wrong with it."""
        try:
            values = to_numpy(output)
        except (TypeError, ValueError) as error:
            found = f"returned {type(output).__name__}: {error}"
            raise UserTypeError(
                f"f must return m numbers for m points, but {found} Of a classifier pass insdel.proba(classifier, k)."
            ) from error
        if values.dtype.kind == "c" or np.ma.is_masked(output):
            found = "a masked array, whose mask would be lost" if np.ma.is_masked(output) else str(values.dtype)
            raise UserTypeError(f"f must return real numbers, but returned {found}.")
        values = one_per_point(values, m).astype(np.float64)
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise UserError(
                f"f must be finite, but it returned {values[bad]} for point {bad} of a batch of {m}. "
                "Hybrids of x and reference may lie outside the range that f was made for."
            )
        return values


def chunk_rows(n: int, device: str, chunk: int | None = None, width: int = 1) -> int:
    """Rows of n features that are evaluated together: `chunk` if given, else what fits device and layers."""
    if chunk is not None:
        return require_integer("chunk", chunk, 1)
    rows, numbers = (table.get(device, table["cpu"]) for table in (CHUNK_ROWS, WIDTH_ELEMENTS))
    return max(1, min(rows, CHUNK_ELEMENTS // n, numbers // width))


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on the processor or on a device."""
    text = str(error).lower()
    said = any(words in text for words in ("out of memory", "not enough memory", "can't allocate memory"))
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and said)


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
) -> Iterator[np.ndarray]:
    """Evaluate f on `total` hybrids, one model call per chunk, and yield each chunk's values.

    `select` maps row numbers (r,) to the pair each belongs to (r,) and the features taken from the
    reference (r, n), so no more than one chunk of hybrids is ever in memory. Rows come as an array or tensor, where
    the hybrids are made.
    """
    model = BatchModel(f, pairs.template, pairs.columns)
    points = pairs.on(model)
    rows = 1 if pairs.background is None else len(pairs.background)

    def work(start: int, stop: int) -> np.ndarray:
        values = model(points.take(*select(beside(np.arange(start, stop), points.x))))
        return values if rows == 1 else values.reshape(-1, rows).mean(axis=1)

    device = points.x.device.type if is_tensor(points.x) else "cpu"
    size = max(1, chunk_rows(pairs.x.shape[1], device, chunk, model.width) // rows)
    with progress_bar(total, progress) as bar:
        for values in in_batches(total, size, work):
            yield values
            bar.update(len(values))


def all_values(*args: Any, **options: Any) -> np.ndarray:
    """The values of all hybrids at once, (total,); see `hybrid_values`."""
    return np.concatenate(list(hybrid_values(*args, **options)))


def progress_bar(total: int, progress: bool | None) -> tqdm:
    """Return a bar that counts evaluations, for work of more than two seconds."""
    return tqdm(total=total, unit=" evaluations", unit_scale=True, delay=2, disable=progress_off(progress))


def progress_off(progress: bool | None) -> bool | None:
    """Translate `progress` for tqdm: None shows a bar on terminals and to who works in a notebook, not in logs.

    Notebooks that a program runs, such as papermill, allow no input: they get no bar either.
    """
    if progress is not None:
        return not progress
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return False if getattr(getattr(shell, "kernel", None), "_allow_stdin", False) else None


def at_x(f: Model, pairs: Pairs, chunk: int | None = None, changed: bool = False) -> np.ndarray:
    """f(x) or, if `changed`, f(x′), the mean over a background; (pairs,)."""
    mask = np.full((1, pairs.n), changed)
    return all_values(f, pairs, len(pairs), lambda rows: (rows, beside(mask, rows)), chunk, progress=False)


def ends(f: Model, pairs: Pairs, chunk: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """f(x) and f(x′), (pairs,) each; see `at_x`."""
    return at_x(f, pairs, chunk), at_x(f, pairs, chunk, changed=True)


def random_hybrids(f: Model, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Masks (pairs, 4, n) of x, of x′ and of two random hybrids of each pair, and what f predicts there, (pairs, 4)."""
    masks = np.random.default_rng(0).random((len(pairs), 4, pairs.n)) < 0.5
    masks[:, 0], masks[:, 1] = False, True

    def select(rows: Any) -> tuple[Any, Any]:
        return rows // 4, beside(masks.reshape(-1, pairs.n), rows)[rows]

    return masks, all_values(f, pairs, 4 * len(pairs), select, progress=False).reshape(-1, 4)


def predict(f: Model, points: Points, chunk: int | None = None) -> Array:
    """Evaluate f on (n,) or (m, n) points in chunks; a float64 number or (m,) of the points' kind."""
    if not len(points):  # type: ignore[arg-type]
        return like(np.zeros(0), points)
    pairs = Pairs.of(points, points)
    return pairs.restore(at_x(f, pairs, chunk))
