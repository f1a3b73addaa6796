"""What one change at a time does: to the nearest candidate, and to a plain training that goes on for longer."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from insdel.store import replace
from insdel_paper.studies.forensics.candidates import candidate, files_of, fingerprints, rows_for, table
from insdel_paper.studies.forensics.reading import KEYS
from insdel_paper.studies.forensics.rows import FULL_ROWS

PLAIN: dict[str, Any] = {  # the printed rate held constant, and nothing else done
    "optimiser": "adam", "schedule": "constant", "keep_best": False, "clip": math.inf, "weight_decay": 0.0,
    "first_weights": "torch", "output_unit": "target", "loss_unit": "target", "distance": "z-scored",
    "rows": "paper's number", "batch": 64,
}  # fmt: skip
EPOCHS = (1, 5, 20)  # of the plain training


class Variant(NamedTuple):
    """A training and how it is read."""

    what: str
    choice: dict[str, Any]
    seed: int = 0
    reading: dict[str, Any] = {}  # noqa: RUF012 (a named tuple shares no state)


def planned(choice: dict[str, Any], name: str) -> list[Variant]:
    """Changes to a choice, one at a time; for events also the plain training."""
    other = {**choice, "distance": {"raw": "z-scored", "z-scored": "raw"}[choice["distance"]]}
    changes = [
        Variant("as it is", choice),
        Variant("another seed", choice, seed=1),
        Variant(f"distances {other['distance']}", other),
        Variant("dropout left on", choice, reading={"dropout": True}),
    ]
    if name == "cern":
        changes += [Variant(f"plain, {n} epochs", {**PLAIN, "seen": n * FULL_ROWS}) for n in EPOCHS]
    return changes


def variants(folder: Path, name: str, pairs: int | None) -> pd.DataFrame:
    """The nearest candidate of a search, trained and read in other ways; `folder` keeps each.

    Returns
    -------
    DataFrame: change, r2, policy, mode, method, value
    """
    number = int(table(folder)["candidate"].iloc[0])
    plan = planned(dict(files_of(folder))[number]["choice"], name)
    for k, one in enumerate(plan):
        path = folder / f"variant_{k:04d}.json"
        if not path.is_file():
            divided = rows_for(name, one.choice)
            replace(path, json.dumps(candidate(divided, one.choice, one.seed, pairs=pairs, **one.reading)))
    result = fingerprints(folder, "variant")
    return result.assign(change=[plan[k].what for k in result["candidate"]])[["change", "r2", *KEYS, "value"]]
