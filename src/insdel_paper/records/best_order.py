"""The runs behind the chapters on the best order, on chance and on insertion and deletion together.

areas   one row per pair, method and mode
pairs   one row per pair: how its features interact
orders  one row per pair, mode and level: quantiles of the ABC over random orders
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from insdel.lattice import MAX_FEATURES
from insdel_paper.records.comparisons import EVENTS, HOUSES, setting
from insdel_paper.records.run import Desk, Recording, Run, experiment_facts
from insdel_paper.studies.best_order import LEVELS, METHODS, study
from insdel_paper.studies.best_order_tables import with_ends
from insdel_paper.studies.experiments import POLICIES, prepare
from insdel_paper.studies.outcome import ends_table

SIZE = {"pairs": 400, "orders": 20_000}  # pairs at most; random orders per pair


def _study(name: str, policy: str, parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """Put the methods' orders beside all orders."""
    experiment = prepare(**setting(name, parameters, policy))
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    options: dict[str, Any] = {"options": experiment.options, "checkpoint": desk.folder}
    result = study(experiment.model, x, reference, orders=parameters["orders"], **options)
    result = with_ends(result, ends_table(experiment.pairs))
    facts = {
        **experiment_facts(experiment),
        "parameters": {"name": name, "policy": policy, "methods": METHODS, "levels": LEVELS},
        "pairs": len(result.pairs),
        "skipped": len(experiment.pairs) - len(result.pairs),
        "skipped_are": f"pairs that differ in more than {MAX_FEATURES} features",
        "evaluations": int((2.0 ** result.pairs["differing"]).sum()),
        "evaluations_are": "hybrids in the lattices; gradients and LIME's samples come on top",
    }
    tables = {"areas": _slim(result.areas), "pairs": result.pairs, "orders": _slim(result.orders)}
    return Recording(tables, facts)


def _slim(table: pd.DataFrame) -> pd.DataFrame:
    """The same table in half the space: areas in single precision."""
    return table.astype({name: np.float32 for name, kind in table.dtypes.items() if kind == np.float64})


PARTS = ("areas", "pairs", "orders")
RUNS = (
    Run("best_order_bangalore", "methods beside all orders, houses", {**HOUSES, **SIZE}, PARTS,
        partial(_study, "bangalore", POLICIES[0])),
    *(Run(f"best_order_cern_{policy}", f"methods beside all orders, genuine events, policy {policy}",
          {"source": "real", **EVENTS, **SIZE}, PARTS, partial(_study, "cern", policy)) for policy in POLICIES),
)  # fmt: skip
