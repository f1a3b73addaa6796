"""Work on a Dask cluster: in whatever order it finishes, with what is lost run again, but not for ever."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from insdel.evaluate import Model, module_of

if TYPE_CHECKING:
    from torch import nn

Part = TypeVar("Part")
PATIENCE = 30.0  # seconds; an idle cluster that reports no result for so long has lost some
RETRIES = 3  # of a task that fails, by Dask itself
LOSSES = 10  # times that a part is sent again because the cluster lost it


def on_cluster(work: Callable[[Part], Any], parts: Sequence[Part], scheduler: Any) -> Iterator[tuple[Part, Any]]:
    """Yield each part with work(part), computed as tasks of a Dask cluster.

    What a task raises, four times in a row, is raised here.

    Parameters
    ----------
    scheduler : address of a Dask scheduler ("tcp://…") or a `distributed.Client`
    """
    from distributed import Client

    client = scheduler if isinstance(scheduler, Client) else Client(scheduler)

    def submit(part: Part) -> Any:  # a task of its own, even if the same part was sent before
        return client.submit(work, part, pure=False, retries=RETRIES)

    try:
        waiting = {submit(part): (part, 0) for part in parts}
        while waiting:
            finished, lost = _sorted_out(client, list(waiting))
            for future in finished:
                try:
                    result = future.result(timeout=PATIENCE)
                except TimeoutError:
                    if future.status == "error":  # the task itself ran into a time limit
                        raise
                    lost.append(future)  # finished, but the worker that had the result is gone
                else:
                    yield waiting.pop(future)[0], result
            for future in lost:
                part, losses = waiting.pop(future)
                if losses == LOSSES:
                    raise RuntimeError(
                        f"the cluster lost the same part of the work {losses + 1} times. Look at its workers' logs: "
                        "they may run out of memory. What is finished is kept where a checkpoint was given."
                    )
                waiting[submit(part)] = (part, losses + 1)
    finally:
        if client is not scheduler:
            client.close()


def _sorted_out(client: Any, futures: list[Any]) -> tuple[list[Any], list[Any]]:
    """Wait for news, and return which of the futures are finished and which are lost.

    `distributed.as_completed` would do, but it waits for ever if a message is lost together with a worker.
    """
    from distributed import wait

    silent = False
    try:
        wait(futures, timeout=PATIENCE, return_when="FIRST_COMPLETED")
    except TimeoutError:
        busy = client.processing()  # worker → its tasks; without workers the tasks wait, and so do we
        silent = bool(busy) and not any(busy.values())
    except CancelledError:
        pass
    finished = [future for future in futures if future.status in ("finished", "error")]
    lost = [future for future in futures if future.cancelled() or (silent and future not in finished)]
    return finished, lost


@dataclass(frozen=True, eq=False)
class Parcel:
    """A module on its way to other machines: on the processor, as these need not have its device, and in eval mode."""

    module: nn.Module
    cuda: bool  # whether it was on a GPU


def packed(f: Model) -> Any:
    """Return what can be sent to other machines: a module by its weights, anything else as it is.

    Eval mode is set for good: tasks that share a process would switch it on and off under each other's hands.
    """
    original = module_of(f)
    if original is None or f is not original:
        return f
    module = copy.deepcopy(original).cpu()
    for part in module.modules():
        part.training = False
    return Parcel(module, any(part.is_cuda for part in (*original.parameters(), *original.buffers())))


def unpacked(f: Any) -> Any:
    """Return the model that `packed` took, on a device of its kind if this machine has one."""
    if not isinstance(f, Parcel):
        return f
    import torch

    return copy.deepcopy(f.module).cuda() if f.cuda and torch.cuda.is_available() else f.module
