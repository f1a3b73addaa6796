"""How long a run worked that may have been killed and started again."""

from __future__ import annotations

import json
import time
from pathlib import Path

from insdel.store import replace

STARTS = "starts.json"


class Clock:
    """Working time of a run that keeps what is finished in files somewhere under a folder.

    Each start is written down. A start that was cut off worked until its last file was finished: the time
    of that file says when. So nothing needs to be written on the way, and a kill loses no count.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        note = folder / STARTS
        before = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else []
        self.starts: list[float] = [*before, time.time()]
        replace(note, json.dumps(self.starts))

    def finished(self) -> list[float]:
        """When each of the finished files was written, in order."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".json")
        return sorted(path.stat().st_mtime for path in files if not path.name.startswith("."))

    def seconds(self) -> float:
        """Seconds of work until now, over all starts."""
        finished = self.finished()
        total = time.time() - self.starts[-1]
        for start, following in zip(self.starts[:-1], self.starts[1:], strict=True):
            total += max((end - start for end in finished if start <= end < following), default=0.0)
        return total
