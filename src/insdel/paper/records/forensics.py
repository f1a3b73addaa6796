"""The runs behind "why are the levels not the paper's": how many events taught the network, and how it was trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from insdel.paper.records.run import Desk, Recording, Run
from insdel.paper.studies import forensics, learning_curve


def _curve(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """Networks that learned from fewer and from more events."""
    events = forensics.Events.load()
    sizes = [tuple(size) for size in parameters["sizes"]]
    given = {"pairs": parameters["pairs"], "seen": parameters["seen"]}
    points = learning_curve.learning_curve(desk.folder / "points", events, sizes, **given)
    return Recording({"points": points}, _facts(events))


def _search(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """Candidates for the authors' training; the nearest again, from another seed and on more pairs."""
    events, folder = forensics.Events.load(), desk.folder / "candidates"
    candidates = forensics.search(folder, parameters["candidates"], events, pairs=parameters["pairs"])
    again = forensics.nearest(folder, parameters["nearest"], events, parameters["nearest_pairs"])
    tables = {"candidates": candidates, "numbers": forensics.fingerprints(folder), "again": again}
    return Recording(tables, _facts(events))


def _facts(events: forensics.Events) -> dict[str, Any]:
    """Where the events come from."""
    data = {"what": f"{len(events.x_train) + len(events.x):,} real rows, and simulated ones", "source": "real"}
    return {"data": {**data, **events.provenance}, "pairs_are": "per policy", "trained_on": "real and simulated"}


CURVE = {"sizes": learning_curve.SIZES, "seen": learning_curve.SEEN, "pairs": forensics.PAIRS}
SEARCH = {"candidates": 22, "pairs": forensics.PAIRS, "nearest": 1, "nearest_pairs": 240}  # more go on from these
RUNS = (
    Run("learning_curve", "levels of Tables 2 to 4, by how many events taught the network", CURVE, ("points",), _curve),
    Run("forensics", "which training prints Tables 2 to 4", SEARCH, ("candidates", "numbers", "again"), _search),
)
