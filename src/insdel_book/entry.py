"""The process in which a benchmark's entry runs: it gets d, a budget and a seed, and asks for values over a pipe.

Lines of JSON: {"masks": […]} asks for values, {"result": […]} ends a game, {"error": "…"} says what went wrong. The
games are in another process. Opening their file and starting programs are refused here: a guard against mistakes and
curiosity, no prison.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

FORBIDDEN = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.system")


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    opened = arguments[0] if event == "open" and arguments else None
    if isinstance(opened, str | bytes | os.PathLike) and os.fsdecode(opened).endswith("games.npz"):
        raise PermissionError("an entry gets values from f alone; reading the games is refused")
    if event in FORBIDDEN:
        raise PermissionError(f"an entry works in its own process alone; {event} is refused")


def _find(text: str) -> Any:
    """Run file.py and return what it calls `name`; without the library, whose start takes seconds."""
    place, _, name = text.rpartition(":")
    path = Path(place)
    if path.suffix != ".py" or not path.is_file():
        raise FileNotFoundError(f"an entry is named file.py:name; found no such file at {place or text!r}")
    sys.path.insert(0, str(path.resolve().parent))
    found = runpy.run_path(str(path))
    if name not in found:
        raise AttributeError(f"{path.name} has no {name!r}")
    return found[name]


def main(text: str) -> None:
    """Load an entry and answer games until the input ends."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the entry prints goes to the error stream

    def send(message: dict[str, Any]) -> None:
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()

    try:
        import numpy as np

        sys.addaudithook(_refuse)
        method = _find(text)
        send({"ready": True})
        for line in sys.stdin:
            task = json.loads(line)
            bits = 1 << np.arange(task["d"])

            def f(masks: Any, d: int = task["d"], bits: Any = bits) -> Any:
                """Values of the game on (m, d) masks, True where a player comes from the reference; (m,)."""
                rows = np.asarray(masks, dtype=bool)
                if rows.shape[-1:] != (d,) or rows.ndim > 2:
                    raise ValueError(f"masks need shape (m, {d}) or ({d},); found {rows.shape}")
                send({"masks": (rows.reshape(-1, d) @ bits).tolist()})
                values = np.array(json.loads(sys.stdin.readline())["values"])
                return values[0] if rows.ndim == 1 else values

            result = np.asarray(method(f, task["d"], task["budget"], task["seed"]), dtype=float)
            send({"result": result.ravel().tolist()})
    except BaseException as error:
        send({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main(sys.argv[1])
