"""The whole breadth study, seed by seed: a file for every fitted model, so that a run that was cut off goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from torch import nn

from insdel.evaluate import predict
from insdel.identity import plain
from insdel.store import Store, atomic
from insdel_paper.data import Split, tables
from insdel_paper.data.tables import load
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.breadth import planted
from insdel_paper.studies.breadth.cells import POLICIES, cell, material, points
from insdel_paper.studies.breadth.models import FAMILIES, Fitted, fit_classifier
from insdel_paper.studies.breadth.protocol import WIDE, Size, methods

CLASSIFIED = ("wage", "saratoga", "births")  # is the target above the median of the training rows?


def table_cells(name: str, rows: Split, family: str, seed: int, size: Size, folder: Path) -> pd.DataFrame:
    """Both policies for one fitted model; the games of the first seed are kept in the folder."""
    fitted = FAMILIES[family](rows.x_train, rows.y_train, seed)
    wide = name in WIDE
    parts = []
    for policy in POLICIES:
        table, games = cell(fitted, rows.x_test, policy, methods(family, wide), seed, size, wide)
        parts.append(table.assign(policy=policy))
        if seed == 0 and not wide and family != "linear" and len(games.get("d", ())):
            path = folder / f"games-{name}-{family}-{policy}.npz"
            with atomic(path) as partial, partial.open("wb") as file:
                np.savez_compressed(file, **games)  # type: ignore[arg-type]
    r2 = r2_score(rows.y_test, np.asarray(predict(fitted.f, points(fitted, rows.x_test))))
    return pd.concat(parts, ignore_index=True).assign(table=name, family=family, seed=seed, r2=float(r2))


def classified(name: str, rows: Split, seed: int, size: Size) -> pd.DataFrame:
    """A network that tells high targets from low ones, explained as logit and as probability."""
    high, high_test = ((part > np.median(rows.y_train)).astype(np.float32) for part in (rows.y_train, rows.y_test))
    network = fit_classifier(rows.x_train, high, seed)
    right = float(((np.asarray(predict(network, points(Fitted(network), rows.x_test))) > 0) == high_test).mean())
    parts = []
    for output, f in {"logit": network, "probability": nn.Sequential(*network.layers, nn.Sigmoid()).eval()}.items():
        table, _ = cell(Fitted(f), rows.x_test, "counterfactual", methods("MLP"), seed, size)
        parts.append(table.assign(table=name, output=output, policy="counterfactual", seed=seed, accuracy=right))
    return pd.concat(parts, ignore_index=True)


@record(
    "breadth", "methods on twenty tables", ("cells", "classes", "planted"), tables=tables.NAMES,
    families=tuple(FAMILIES), seeds=3, **asdict(Size()),
)  # fmt: skip
def measure_breadth(
    context: RunContext, *, tables: Sequence[str], families: Sequence[str], seeds: int, **given: Any
) -> Recording:
    """Carry out what is not in the run's folder yet, model by model; given : fields of `Size`.

    Tables
    ------
    cells : table, family, policy, seed, method, score, se, insertion, deletion, behind, behind_se, evaluations,
        pairs, d, n, not_additive, r2
    classes : the same for classifiers, explained as logit and as probability
    planted : see `planted.agreement`
    """
    folder, size = context.folder / "parts", Size(**given)
    narrow, wide = ([name for name in tables if (name in WIDE) == far] for far in (False, True))
    jobs: list[tuple[str, int, str, str]] = []
    for seed in range(seeds):
        jobs += [("cells", seed, name, family) for name, family in product(narrow, families)]
        jobs += [("planted", seed, function, "") for function in planted.FUNCTIONS]
    jobs += [("classes", 0, name, "") for name in CLASSIFIED if name in tables]
    jobs += [("cells", 0, name, family) for name, family in product(wide, families)]  # a search takes a minute each
    rows = lru_cache(1)(material)

    def work(part: slice) -> pd.DataFrame:
        kind, seed, name, family = jobs[part.start]
        context.log(f"{kind} of {name}{', ' if family else ''}{family}, seed {seed}")
        if kind == "planted":
            return planted.agreement(name, seed)
        if kind == "classes":
            return classified(name, rows(name, seed), seed, size)
        return table_cells(name, rows(name, seed), family, seed, size, folder)

    known = {"jobs": jobs, **asdict(size)}
    found = Store(folder, lambda: plain(known)).chunks(len(jobs), 1, work, progress=False)
    written = {kind: pd.DataFrame() for kind in ("cells", "classes", "planted")}
    for (kind, *_), table in sorted(zip(jobs, found, strict=True), key=lambda part: part[0]):
        written[kind] = pd.concat([written[kind], table], ignore_index=True) if len(written[kind]) else table
    sources = {name: dict(load(name).provenance) for name in tables}
    return Recording(written, {"data": sources, "seconds_are": "training, explaining and scoring, over all starts"})
