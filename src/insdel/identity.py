"""What decides a table, in plain values: so that finished parts of one are never taken for parts of another.

Numbers and names stand as they are, arrays as a hash of their bytes, type and shape, modules as their layers, weights
and attributes. Whatever the code of a model hides shows in its predictions, so these belong to its identity too.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from insdel.arrays import beside, is_tensor, loaded_torch
from insdel.errors import UserTypeError
from insdel.evaluate import Model, Pairs, all_values, module_of

if TYPE_CHECKING:
    from torch import Tensor, nn

HYBRIDS = 2  # of every pair at which a model is asked, besides x and x′
SUMS = 8  # random sums of its predictions that are written down
ROUNDING = 2**6  # predictions that differ by no more than so many units in the last place count as equal
DEEPEST = 6  # objects within objects whose parts are looked at
LONG = 200  # characters of an attribute from which on its hash stands for it
CORE = ("arrays", "evaluate", "curves", "fold", "lattice", "seeds", "comparison")  # the modules that numbers depend on
PLAIN_KINDS = (type(None), bool, int, float, str, tuple, list, dict, np.ndarray)
Plain = dict[str, Any]


def identity(f: Model, pairs: Pairs, *, code: Sequence[str | Path] = (), **facts: Any) -> Plain:
    """What decides a table of these pairs, to the last digit but rounding.

    Parameters
    ----------
    f, pairs : the model and the pairs
    code : further source files on which the numbers depend
    **facts : all else that decides it: methods, options, seeds, plans
    """
    points = {"x": plain(pairs.x), "reference": plain(pairs.reference)}
    more = {"columns": pairs.columns, "group": pairs.group, "background": pairs.background}
    points |= {name: plain(part) for name, part in more.items() if part is not None}
    return {"model": model_identity(f, pairs), **points, **plain(facts), "code": code_hash(*code)}


def model_identity(f: Model, pairs: Pairs) -> Plain:
    """A module by its layers, their attributes, all weights and buffers; any f by what it predicts at hybrids."""
    result: Plain = {"kind": "function"}
    module = module_of(f)
    if module is not None and module is f:
        result = {"kind": name_of(type(f)), **_module(module)}
    return {**result, "predictions": _predictions(f, pairs)}


def _module(f: nn.Module, within: tuple[int, ...] = ()) -> Plain:
    """Layers by name, what each holds besides weights, and the weights."""
    around = (*within, id(f))
    parts, every = dict(f.named_modules(remove_duplicate=False)), vars(loaded_torch().nn.Module())
    held = {
        f"{path}.{name}".lstrip("."): _shortened(plain(value, False, around))
        for path, part in parts.items()
        for name, value in sorted(vars(part).items())
        if name not in every and _lasting(part, name, value)
    }
    tensors = [*f.named_parameters(remove_duplicate=False), *f.named_buffers(remove_duplicate=False)]
    return {
        "layers": digest({path: name_of(type(part)) for path, part in parts.items()}),
        "attributes": held,
        "weights": digest({name: plain(value) for name, value in tensors}),
    }


def _lasting(part: nn.Module, name: str, value: Any) -> bool:
    """Whether an attribute means the same in the next process; torch's wrappers (compiled, traced) hold addresses."""
    own = type(part).__module__.split(".")[0] == "torch"
    plainly = isinstance(value, PLAIN_KINDS) or is_tensor(value) or isinstance(value, loaded_torch().dtype)
    return not own or (plainly and not name.startswith("_"))


def _predictions(f: Model, pairs: Pairs) -> Plain:
    """Random sums of f over x, x′ and some hybrids of every pair: a change of any prediction changes them all."""
    generator = np.random.default_rng(0)
    masks = generator.random((len(pairs), HYBRIDS + 2, pairs.n)) < 0.5
    masks[:, 0], masks[:, 1] = False, True

    def select(rows: Any) -> tuple[Any, Any]:
        return rows // masks.shape[1], beside(masks.reshape(-1, pairs.n), rows)[rows]

    values = all_values(f, pairs, masks.shape[0] * masks.shape[1], select, progress=False)
    weights = generator.standard_normal((SUMS, len(values))) / np.sqrt(len(values))
    single = bool((values.astype(np.float32) == values).all())
    unit = float(np.finfo(np.float32 if single else np.float64).eps)
    return {"sums": (weights @ values).tolist(), "within": ROUNDING * unit * float(np.abs(values).max())}


def differences(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """What two identities disagree about, one sentence each; predictions may differ by rounding."""
    if isinstance(before, dict) and isinstance(now, dict):
        if {"sums", "within"} <= before.keys() & now.keys():
            if not np.allclose(before["sums"], now["sums"], rtol=0, atol=max(before["within"], now["within"])):
                yield f"{path} differ"
            return
        for key in dict.fromkeys([*now, *before]):
            yield from differences(before.get(key), now.get(key), f"{path}.{key}".lstrip("."))
    elif json.dumps(before) != json.dumps(now):
        yield f"{path} was {before}, is {now}"


def plain(value: Any, strict: bool = True, within: tuple[int, ...] = ()) -> Any:
    """Return any value as what JSON can hold, so that different values give different texts.

    Parameters
    ----------
    strict : refuse what cannot be identified; else its class stands for it (a model's predictions tell the rest)
    within : the containers around it, so that one that holds itself comes to an end
    """
    torch = loaded_torch()
    torchs = [] if torch is None else [(torch.Tensor, _tensor), ((torch.dtype, torch.device), repr)]
    for kinds, write in [*WRITERS, *torchs]:
        if isinstance(value, kinds):
            return write(value)
    if id(value) in within:
        return "itself"
    inner = partial(plain, strict=strict, within=(*within, id(value)))
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): inner(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [inner(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((inner(part) for part in value), key=json.dumps)
    held = _held(value, within) if len(within) < DEEPEST else None
    if held is not None:
        return {"class": name_of(type(value)), **{name: inner(part) for name, part in held.items()}}
    if strict:
        raise UserTypeError(
            f"a checkpoint needs to know what it belongs to, but a {name_of(type(value))} has no content that could be "
            "compared. Pass numbers, text, arrays, tensors or data frames, or leave out the checkpoint."
        )
    return f"a {name_of(type(value))}"


def _held(value: Any, within: tuple[int, ...]) -> dict[str, Any] | None:
    """The parts that make up a data frame, function or object; None if they cannot be seen."""
    if isinstance(value, pd.DataFrame):
        return {"index": value.index.to_numpy(), "columns": list(value), "parts": [value[c].to_numpy() for c in value]}
    if isinstance(value, pd.Series | pd.Index):
        index = {"index": value.index.to_numpy()} if isinstance(value, pd.Series) else {}
        return {**index, "parts": value.to_numpy()}
    if isinstance(value, FunctionType):
        variables = inspect.getclosurevars(value).nonlocals
        return {"code": value.__code__, "closure": variables, "defaults": value.__defaults__}
    if isinstance(value, CodeType):
        return {"code": value.co_code, "constants": value.co_consts, "names": value.co_names}
    if isinstance(value, partial):
        return {"function": value.func, "arguments": value.args, "named": value.keywords}
    if isinstance(value, MethodType):
        return {"function": value.__func__, "of": value.__self__}
    module = module_of(value)
    if module is not None and module is value:
        return _module(module, within)
    if isinstance(value, np.random.Generator):
        return {"state": value.bit_generator.state}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return vars(value) if hasattr(value, "__dict__") and not hasattr(type(value), "__slots__") else None


def _array(value: np.ndarray) -> Any:
    if value.dtype.kind == "O":
        return plain({"shape": list(value.shape), "objects": value.ravel().tolist()})
    content = np.ascontiguousarray(value)
    return f"{value.dtype} {value.shape} {short_hash(content.tobytes())}"


def _tensor(value: Tensor) -> Any:
    torch = loaded_torch()
    dense = (value.detach().to_dense() if value.layout is not torch.strided else value.detach()).cpu()
    if dense.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        dense = dense.view(torch.int16 if dense.dtype is torch.bfloat16 else torch.int8)
    return f"{value.dtype} {tuple(value.shape)} {short_hash(dense.contiguous().numpy().tobytes())}"


def _float(value: float) -> Any:
    return float(value) if math.isfinite(value) else repr(float(value))


def name_of(kind: Any) -> str:
    """Where a class or function is defined, and its name."""
    return f"{getattr(kind, '__module__', None)}.{getattr(kind, '__qualname__', kind)}"


WRITERS: list[tuple[Any, Any]] = [
    (type(None), lambda value: None),
    (Enum, lambda value: f"{name_of(type(value))}.{value.name}"),
    ((bool, np.bool_), bool),
    ((int, np.integer), int),
    ((float, np.floating), _float),
    (str, str),
    ((bytes, bytearray), lambda value: f"bytes {short_hash(bytes(value))}"),
    (Path, str),
    (np.ndarray, _array),
    ((np.dtype, complex, range, slice), repr),
    ((type, BuiltinFunctionType, np.ufunc), name_of),
    (ModuleType, lambda value: value.__name__),
]


def _shortened(value: Any) -> Any:
    return value if len(json.dumps(value)) <= LONG else digest(value)


def digest(value: Any) -> str:
    """Hash of a plain value."""
    return short_hash(json.dumps(value, sort_keys=True).encode())


def short_hash(content: bytes) -> str:
    """Sixteen hexadecimal digits that tell contents apart."""
    return hashlib.sha256(content).hexdigest()[:16]


def code_hash(*more: str | Path) -> str:
    """Hash of the source files that the numbers depend on."""
    root = Path(__file__).resolve().parent
    files = [*(root / f"{name}.py" for name in CORE), *sorted((root / "attribution").glob("*.py")), *map(Path, more)]
    return short_hash(b"".join(path.read_bytes() for path in files))
