"""A CUDA device for machines that have none: its tensors compute on the processor, and refuse what CUDA refuses.

A `DeviceTensor` holds an ordinary tensor and says that it lies on cuda:0. torch's C++ code takes it for a tensor of the
processor, as a build without CUDA can differentiate nothing else; so the rules are kept in two places. Every operation
passes `DeviceTensor.__torch_dispatch__`, where tensors of both kinds must not meet. Everything that moves tensors or
makes them somewhere passes `Moves`, because only Python knows of the device.

CUDA works through a queue: a call returns before its work is done. `Queue` knows whether anybody waited since, and the
clock refuses to be read by the package or a chapter before that, because it would time the asking and not the work.

What it cannot show: speed, memory, rounding of its own (TF32, atomics), streams.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("cuda", 0)
aten = torch.ops.aten
COPIES = {aten.copy_, aten._to_copy}  # between the two memories on purpose
LOOKUPS = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}  # CUDA takes indices from either memory
WAITS = {aten._local_scalar_dense, aten.equal, aten.nonzero}  # these give something to the processor, so it waits
NUMBERS = {aten.where, aten.fill, aten.fill_, aten.masked_fill, aten.masked_fill_, aten.index_fill, aten.index_fill_}


class Queue:
    """What the device was asked to do: how often, and whether nobody has waited for the end of it yet."""

    asked = 0
    waiting = False

    @classmethod
    def wait(cls, device: Any = None) -> None:
        """Do what torch.cuda.synchronize does."""
        cls.waiting = False


real_clock = time.perf_counter


def clock() -> float:
    """Read the clock, unless the package or a chapter would time work that nobody waited for."""
    caller = Path(sys._getframe(1).f_code.co_filename)
    if Queue.waiting and (caller.suffix == ".md" or not {"insdel", "insdel_paper", "insdel_book"}.isdisjoint(caller.parts)):
        raise AssertionError(f"{caller.name} reads the clock while the device still works. Synchronise first.")
    return real_clock()


class DeviceTensor(Tensor):
    """A tensor on the pretended device; `held` has its numbers."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, held: Tensor) -> DeviceTensor:
        """Wrap a tensor of the processor."""
        layout = {"strides": held.stride(), "storage_offset": held.storage_offset(), "dtype": held.dtype}
        made = Tensor._make_wrapper_subclass(cls, held.size(), **layout)
        made.held = held.detach()
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return DEVICE

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True

    @property
    def is_cpu(self) -> bool:  # type: ignore[override]
        return False

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute on the tensors that are held, if CUDA would."""
        kwargs = kwargs or {}
        refuse_mixtures(func, args, kwargs)
        wrappers = {id(t.held): t for t in tree_flatten((args, kwargs))[0] if isinstance(t, DeviceTensor)}
        draws = torch.Tag.nondeterministic_seeded in func.tags
        with device_draws() if draws else nullcontext():
            result = func(*tree_map(held, args), **tree_map(held, kwargs))
        into_host = func._overloadpacket is aten.copy_ and not isinstance(args[0], DeviceTensor)
        if not func.is_view:
            Queue.asked += 1
            Queue.waiting = not (into_host or func._overloadpacket in WAITS)
        if into_host:
            return args[0]  # a copy into the processor's memory
        return tree_map(lambda r: wrapped(r, wrappers) if isinstance(r, Tensor) else r, result)

    def numpy(self, *, force: bool = False) -> Any:
        """Refuse, in CUDA's words."""
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy it to host first.")

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        """Plain numbers: torch copies for this."""
        Queue.wait()
        return self.held.tolist()

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceTensor:
        copied = DeviceTensor(self.held.clone()).requires_grad_(self.requires_grad)
        copied.__dict__.update({k: v for k, v in self.__dict__.items() if k != "held"})  # a parameter stays one
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("a tensor on cuda:0 can be read on machines with CUDA only")

    def __repr__(self, **_: Any) -> str:
        return f"DeviceTensor({self.held!r})"

    def __format__(self, spec: str) -> str:
        return format(self.held.item(), spec) if self.dim() == 0 else repr(self)


def wrapped(result: Tensor, wrappers: dict[int, DeviceTensor]) -> DeviceTensor:
    """A result as a tensor of the device: the one that it was computed in, where that is so."""
    return wrappers[id(result)] if id(result) in wrappers else DeviceTensor(result)


def held(value: Any) -> Any:
    """The ordinary tensor inside; other values as they are."""
    return value.held if isinstance(value, DeviceTensor) else value


def refuse_mixtures(func: Any, args: Any, kwargs: Any) -> None:
    """Raise what CUDA raises where tensors of both memories, or a generator of the processor, come together."""
    packet, given = func._overloadpacket, tree_flatten((args, kwargs))[0]
    if any(isinstance(part, torch.Generator) for part in given):
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    strangers = [part for part in given if isinstance(part, Tensor) and not isinstance(part, DeviceTensor)]
    if not strangers or packet in COPIES:
        return
    into_host = func._schema.is_mutable and not isinstance(args[0], DeviceTensor)
    if packet in LOOKUPS:
        if not isinstance(args[0], DeviceTensor):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        strangers = [part for part in args[2:3] if not isinstance(part, DeviceTensor) and part.dim()]
        allowed = True
    else:
        allowed = packet in NUMBERS or torch.Tag.pointwise in func.tags  # these take single numbers from the processor
    if into_host or not allowed or any(part.dim() for part in strangers):
        raise RuntimeError(f"Expected all tensors to be on the same device, but found cuda:0 and cpu! ({func})")


class Moves(TorchFunctionMode):
    """Sees to everything that moves a tensor, or makes one at a place."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do it here if the pretended device takes part, else let torch do it."""
        kwargs = dict(kwargs or {})
        if func is Tensor.cpu:
            return move(args[0], torch.device("cpu"))
        if func is Tensor.cuda:
            return move(args[0], DEVICE)
        if func is Tensor.to:
            return convert(*args, **kwargs)
        place = kwargs.pop("device", None)
        if func is Tensor.new_tensor and place is None:
            place = args[0].device
        if place is None:
            return func(*args, **kwargs)
        place = torch.device(place)
        if func is torch.as_tensor and isinstance(args[0], Tensor):
            return convert(args[0], place, kwargs.get("dtype"))
        grad = kwargs.pop("requires_grad", False)
        made = func(*tree_map(held, args), device="cpu" if place.type == "cuda" else place, **kwargs)
        return (DeviceTensor(made) if place.type == "cuda" else made).requires_grad_(grad)


def convert(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor.to`, which takes a place, a type, both, or another tensor that has them."""
    if args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    copy = kwargs.pop("copy", False)
    place, kind, _, layout = torch._C._nn._parse_to(*args, **kwargs)
    how: dict[str, Any] = {"dtype": kind or tensor.dtype, "copy": copy}
    if layout is not None:
        how["memory_format"] = layout
    return move(tensor.to(**how), place or tensor.device)


def move(tensor: Tensor, place: torch.device) -> Tensor:
    """Copy a tensor to the other memory; one that is there already stays as it is."""
    if place.type == tensor.device.type:
        return tensor
    if place.type == "cuda":
        return DeviceTensor(tensor.detach().clone()).requires_grad_(tensor.requires_grad)
    Queue.wait()
    return held(tensor).clone()


generator = torch.Generator().manual_seed(0)


@contextmanager
def device_draws() -> Iterator[None]:
    """Draw from the device's own random numbers, and leave the processor's alone."""
    before = torch.get_rng_state()
    torch.set_rng_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(torch.get_rng_state())
        torch.set_rng_state(before)


ANSWERS = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "is_initialized": lambda: True,
    "synchronize": Queue.wait,
    "empty_cache": lambda: None,
    "get_device_name": lambda device=None: "pretended CUDA device",
    "mem_get_info": lambda device=None: (2**34, 2**34),
    "manual_seed": generator.manual_seed,
    "manual_seed_all": generator.manual_seed,
    "get_rng_state": lambda device="cuda": generator.get_state(),
    "set_rng_state": lambda state, device="cuda": generator.set_state(state),
    "is_current_stream_capturing": lambda: False,
}  # what torch.cuda says while the device is there


@contextmanager
def pretended_cuda() -> Iterator[torch.device]:
    """Give torch one CUDA device for a while."""
    swap = torch.__future__.get_overwrite_module_params_on_conversion()
    with ExitStack() as stack:
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, swap)
        torch.__future__.set_overwrite_module_params_on_conversion(True)  # else modules keep tensors of the processor
        for name, answer in ANSWERS.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        stack.enter_context(mock.patch.object(time, "perf_counter", clock))
        stack.callback(Queue.wait)
        stack.enter_context(Moves())
        yield DEVICE

