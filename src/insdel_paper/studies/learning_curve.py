"""Do more events change the tables? The same training on fewer and more, genuine and simulated, events.

The paper had 79,931 events to learn from, this project has 17,979 genuine ones. Each network sees equally many
rows over all its epochs, so that only their variety differs; all are inspected at the same genuine events.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from insdel.identity import plain
from insdel.own.mlp import RECIPES
from insdel.store import Store
from insdel_paper import networks
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies import forensics
from insdel_paper.studies.forensics import FULL_ROWS, Reading, Rows

GENUINE = 17_979
SIZES = ((2_000, 0), (4_000, 0), (8_000, 0), (GENUINE, 0), (0, GENUINE), (0, FULL_ROWS))
PAIRS = 160  # per policy
SEEN = 360_000  # rows over all epochs: 20 epochs of the genuine events


def point(events: Rows, genuine: int, simulated: int, pairs: int, seen: int = SEEN) -> pd.DataFrame:
    """One network of the curve, read as the tables are.

    Returns
    -------
    DataFrame: genuine, simulated (rows that taught), epochs, r2, policy, mode, method, value
    """
    x, y = events.taught(genuine, simulated)
    epochs = max(1, round(seen / len(x)))
    model = networks.fit(x, y, "cern", RECIPES["cern"], progress=False, epochs=epochs)
    reading = Reading(model, events, pairs)
    result = reading.fingerprint()
    facts = {"genuine": genuine, "simulated": simulated, "epochs": epochs, "r2": reading.r2()}
    for place, (name, value) in enumerate(facts.items()):
        result.insert(place, name, value)
    return result


def learning_curve(
    folder: Path, events: Rows, sizes: Sequence[tuple[int, int]] = SIZES, pairs: int = PAIRS, seen: int = SEEN
) -> pd.DataFrame:
    """All points of the curve; `folder` keeps each, so that a run that was cut off goes on."""
    known = plain({"sizes": sizes, "pairs": pairs, "seen": seen, "rows": vars(events)})
    tables = Store(folder, lambda: known).chunks(
        len(sizes), 1, lambda part: point(events, *sizes[int(part.start)], pairs, seen), unit=" networks"
    )
    return pd.concat(tables, ignore_index=True)


def levels(curve: pd.DataFrame, methods: tuple[str, ...] = ("kernel_shap", "random")) -> pd.DataFrame:
    """The curve as a page shows it: a row per network, R², and the methods' levels under each policy and mode."""
    rows = curve[curve["method"].isin(methods) & (curve["mode"] != "correlation")]
    index = ["genuine", "simulated", "r2"]
    shown = rows.pivot_table(index=index, columns=["policy", "method", "mode"], values="value", aggfunc="first")
    order = np.lexsort((shown.index.get_level_values(0), shown.index.get_level_values(1)))
    return shown.iloc[order].reset_index("r2")


@record(
    "learning_curve", "levels of Tables 2 to 4, by how many events taught the network", ("points",),
    sizes=SIZES, seen=SEEN, pairs=PAIRS,
)  # fmt: skip
def vary_size(context: RunContext, *, sizes: Sequence[tuple[int, int]], pairs: int, seen: int) -> Recording:
    """Networks that learned from fewer and from more events."""
    events = forensics.events()
    points = learning_curve(context.folder / "points", events, sizes, pairs, seen)
    return Recording({"points": points}, events.facts)
