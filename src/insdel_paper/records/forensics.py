"""The runs behind "why are the levels not the paper's": how many events taught a network, and how it was trained."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from insdel_paper.records.run import Desk, Recording, Run
from insdel_paper.studies import forensics, learning_curve
from insdel_paper.studies.forensics.changes import variants


def _curve(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """Networks that learned from fewer and from more events."""
    events = forensics.events()
    sizes = [tuple(size) for size in parameters["sizes"]]
    given = {"pairs": parameters["pairs"], "seen": parameters["seen"]}
    points = learning_curve.learning_curve(desk.folder / "points", events, sizes, **given)
    return Recording({"points": points}, _facts(events))


def _search(name: str, parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """Candidates for the authors' training; the nearest again, from another seed and on more pairs; single changes."""
    folder, more = desk.folder / "candidates", parameters["nearest_pairs"]
    candidates = forensics.search(folder, name, parameters["candidates"], parameters["pairs"])
    tables = {
        "candidates": candidates,
        "numbers": forensics.fingerprints(folder),
        "again": forensics.nearest(folder, name, parameters["nearest"], more),
        "variants": variants(folder, name, more),
    }
    return Recording(tables, _facts(forensics.events() if name == "cern" else forensics.houses()))


def _facts(rows: forensics.Rows) -> dict[str, Any]:
    """Where the rows come from."""
    simulated = ", and simulated ones" if len(rows.x_extra) else ""
    data = {"what": f"{len(rows.x_train) + len(rows.x):,} real rows{simulated}", "source": "real"}
    trained = "real and simulated" if simulated else "real"
    return {"data": {**data, **rows.provenance}, "pairs_are": "per policy", "trained_on": trained}


CURVE = {"sizes": learning_curve.SIZES, "seen": learning_curve.SEEN, "pairs": learning_curve.PAIRS}
EVENTS = {"candidates": 60, "pairs": 160, "nearest": 5, "nearest_pairs": 500}
HOUSES = {"candidates": 64, "pairs": None, "nearest": 5, "nearest_pairs": None}
PARTS = ("candidates", "numbers", "again", "variants")
RUNS = (
    Run("learning_curve", "levels of Tables 2 to 4, by how many events taught the network", CURVE, ("points",), _curve),
    Run("forensics", "which training prints Tables 2 to 4", EVENTS, PARTS, partial(_search, "cern")),
    Run("forensics_houses", "which training prints Table 1", HOUSES, PARTS, partial(_search, "bangalore")),
)
