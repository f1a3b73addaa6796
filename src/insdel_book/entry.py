"""The process in which a benchmark's entry runs: it gets d, a budget and a seed, and asks for values over a pipe.

{"masks": …} asks for values, {"result": …} ends a game, {"error": "…"} says what went wrong. The games are in another
process. Opening their file and starting programs are refused here: a guard against mistakes and curiosity, no prison.
"""

from __future__ import annotations

import os
import runpy
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

FORBIDDEN = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.system")


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    opened = arguments[0] if event == "open" and arguments else None
    if isinstance(opened, str | bytes | os.PathLike) and os.fsdecode(opened).endswith("games.npz"):
        raise PermissionError("an entry gets values from f alone; reading the games is refused")
    if event in FORBIDDEN:
        raise PermissionError(f"an entry works in its own process alone; {event} is refused")


def main(pipe: Connection, text: str) -> None:
    """Load an entry and answer games until somebody ends this process."""
    os.dup2(2, 1)  # what the entry prints goes to the error stream
    try:
        import numpy as np

        sys.addaudithook(_refuse)
        place, _, name = text.rpartition(":")
        if not place.endswith(".py") or not Path(place).is_file():
            raise FileNotFoundError(f"an entry is named file.py:name; found no such file at {place or text!r}")
        sys.path.insert(0, str(Path(place).resolve().parent))
        found = runpy.run_path(place)  # without the library, whose start takes seconds
        if name not in found:
            raise AttributeError(f"{Path(place).name} has no {name!r}")
        method = found[name]
        pipe.send({"ready": True})
        while True:
            task = pipe.recv()
            bits = 1 << np.arange(task["d"])

            def f(masks: Any, d: int = task["d"], bits: Any = bits) -> Any:
                """Values of the game on (m, d) masks, True where a player comes from the reference; (m,)."""
                rows = np.asarray(masks, dtype=bool)
                if rows.shape[-1:] != (d,) or rows.ndim > 2:
                    raise ValueError(f"masks need shape (m, {d}) or ({d},); found {rows.shape}")
                pipe.send({"masks": rows.reshape(-1, d) @ bits})
                values = pipe.recv()
                return values[0] if rows.ndim == 1 else values

            pipe.send({"result": np.ravel(np.asarray(method(f, task["d"], task["budget"], task["seed"]), dtype=float))})
    except BaseException as error:
        pipe.send({"error": f"{type(error).__name__}: {error}"})
