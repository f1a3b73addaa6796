"""What decides a table, in plain values: so that finished parts of one are never taken for parts of another.

Numbers and names stand as they are, arrays as a hash of their bytes, type and shape, modules as their layers, weights
and attributes, functions as their code and what it closes over, other objects as what Python would pickle of them.
Whatever the code of a model hides shows in its predictions, so these belong to its identity too.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

from insdel.arrays import is_tensor, loaded_torch
from insdel.errors import UserTypeError
from insdel.evaluate import Model, Pairs, module_of, random_hybrids

SUMS = 8  # random sums of its predictions that are written down
ROUNDING = 2**6  # predictions that differ by no more than so many units in the last place count as equal
LONG = 200  # characters of an attribute from which on its hash stands for it
CORE = ("arrays", "evaluate", "curves", "fold", "lattice", "seeds", "comparison")  # the modules that numbers depend on
Plain = dict[str, Any]


def identity(f: Model, pairs: Pairs, *, code: Sequence[str | Path] = (), **facts: Any) -> Plain:
    """What decides a table of these pairs, to the last digit but rounding.

    Parameters
    ----------
    f, pairs : the model and the pairs
    code : further source files on which the numbers depend
    **facts : all else that decides it: methods, options, seeds, plans
    """
    values = random_hybrids(f, pairs)[1].ravel()
    weights = np.random.default_rng(0).standard_normal((SUMS, len(values))) / np.sqrt(len(values))
    single = bool((values.astype(np.float32) == values).all())
    within = ROUNDING * float(np.finfo(np.float32 if single else np.float64).eps) * float(np.abs(values).max())
    module = {"kind": name_of(type(f)), **_module(f)} if module_of(f) is f else {"kind": "function"}
    model = {**module, "predictions": {"sums": (weights @ values).tolist(), "within": within}}
    parts = ("x", "reference", "columns", "group", "background")
    points = {name: getattr(pairs, name) for name in parts if getattr(pairs, name) is not None}
    return {"model": model, **plain(points), **plain(facts), "code": code_hash(*code)}


def _module(f: Any, seen: dict[int, Any] | None = None) -> Plain:
    """Layers by name, what each of the user's own holds besides weights, and the weights and buffers."""
    layers, held, every = {}, {}, vars(loaded_torch().nn.Module())
    for path, part in f.named_modules(remove_duplicate=False):
        torchs = type(part).__module__.startswith("torch.")  # some of these hold addresses
        layers[path] = name_of(type(part)) + (part.extra_repr() if torchs else "")
        for name in [] if torchs else sorted(vars(part).keys() - every):
            written = plain(getattr(part, name), False, seen)
            held[f"{path}.{name}".lstrip(".")] = written if len(json.dumps(written)) <= LONG else digest(written)
    tensors = [*f.named_parameters(remove_duplicate=False), *f.named_buffers(remove_duplicate=False)]
    return {"layers": digest(layers), "attributes": held, "weights": digest(plain(dict(tensors)))}


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


def plain(value: Any, strict: bool = True, seen: dict[int, Any] | None = None) -> Any:
    """Return any value as what JSON can hold, so that different values give different texts.

    Parameters
    ----------
    strict : refuse what cannot be identified; else its class stands for it (a model's predictions tell the rest)
    seen : what was written before, so that what holds itself comes to an end: id → value (which keeps it) and text
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, type | ModuleType | np.ufunc):
        return name_of(value)
    if isinstance(value, bytes | bytearray):
        return short_hash(value)
    if is_tensor(value):
        dense = value.detach().to_dense().cpu().reshape(-1).contiguous()
        return f"{value.dtype} {tuple(value.shape)} {short_hash(dense.view(loaded_torch().uint8).numpy().tobytes())}"
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OV":
        return f"{value.dtype} {value.shape} {short_hash(value.tobytes())}"
    seen = {} if seen is None else seen
    if id(value) in seen:
        return seen[id(value)][1]
    seen[id(value)] = value, "itself"
    inner = partial(plain, strict=strict, seen=seen)
    if isinstance(value, Mapping):
        written: Any = {key if isinstance(key, str) else repr(key): inner(part) for key, part in value.items()}
    elif isinstance(value, list | tuple):
        written = [inner(part) for part in value]
    elif isinstance(value, set | frozenset):
        written = sorted((inner(part) for part in value), key=json.dumps)
    elif module_of(value) is value:
        written = {"class": name_of(type(value)), **_module(value, seen)}
    else:
        written = f"a {name_of(type(value))}"
        parts = _parts(value)
        if parts is not None:
            written = {"class": name_of(type(value)), **{name: inner(part) for name, part in parts.items()}}
        elif strict:
            raise UserTypeError(
                f"a checkpoint needs to know what it belongs to, but {written} has no content that could be "
                "compared. Pass numbers, text, arrays, tensors or data frames, or leave out the checkpoint."
            )
    seen[id(value)] = value, written
    return written


def _parts(value: Any) -> Plain | None:
    """What makes up a data frame, function or object, for most what pickle would store; None if nobody can tell."""
    value = value.to_frame() if isinstance(value, pd.Series | pd.Index) else value
    if isinstance(value, pd.DataFrame):
        return {"index": value.index.to_numpy(), "columns": list(value), "parts": [value[c].to_numpy() for c in value]}
    if isinstance(value, np.ndarray):  # of objects, or of records, which may have gaps between their fields
        return {"shape": value.shape, "entries": value.ravel().tolist()}
    if isinstance(value, FunctionType):
        variables = inspect.getclosurevars(value).nonlocals
        return {"code": value.__code__, "closure": variables, "defaults": [value.__defaults__, value.__kwdefaults__]}
    if isinstance(value, CodeType):
        return {"code": value.co_code, "constants": value.co_consts, "names": value.co_names}
    try:
        stored = None if isinstance(value, Iterator) else value.__reduce_ex__(4)
    except Exception:  # a class may refuse in any way
        return None
    if isinstance(stored, str):  # something global
        return {"name": stored, **getattr(value, "__dict__", {})}
    if stored is None:
        return None
    parts = (list(part) if isinstance(part, Iterator) else part for part in stored[1:])
    return {"made by": name_of(stored[0]), **dict(zip(("from", "state", "items", "entries"), parts, strict=False))}


def name_of(kind: Any) -> str:
    """Where a class, function or module is defined, and its name."""
    return f"{getattr(kind, '__module__', None)}.{getattr(kind, '__qualname__', getattr(kind, '__name__', kind))}"


def digest(value: Any) -> str:
    """Hash of a plain value."""
    return short_hash(json.dumps(value, sort_keys=True).encode())


def short_hash(content: bytes | bytearray) -> str:
    """Sixteen hexadecimal digits that tell contents apart."""
    return hashlib.sha256(content).hexdigest()[:16]


def code_hash(*more: str | Path) -> str:
    """Hash of the source files that the numbers depend on."""
    root = Path(__file__).resolve().parent
    files = [*(root / f"{name}.py" for name in CORE), *sorted((root / "attribution").glob("*.py")), *map(Path, more)]
    return short_hash(b"".join(path.read_bytes() for path in files))
