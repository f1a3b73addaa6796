"""The whole breadth study, seed by seed: a file for every fitted model, so that a run that was cut off goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from torch import nn

from insdel.evaluate import predict
from insdel.store import write_parquet
from insdel_paper.data import tables
from insdel_paper.data.tables import load
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.breadth import planted
from insdel_paper.studies.breadth.cells import POLICIES, Material, cell, material, points
from insdel_paper.studies.breadth.models import FAMILIES, Fitted, fit_classifier
from insdel_paper.studies.breadth.plan import WIDE, Size, methods

CLASSIFIED = ("wage", "saratoga", "births")  # is the target above the median of the training rows?


def study(
    folder: Path,
    names: Sequence[str] = tables.NAMES,
    families: Sequence[str] = tuple(FAMILIES),
    seeds: int = 3,
    size: Size = Size(),  # noqa: B008, a frozen dataclass
    log: Callable[[str], object] = print,
) -> dict[str, pd.DataFrame]:
    """Carry out what is not in the folder yet, and return the tables cells, classes and planted.

    Returns
    -------
    cells : table, family, policy, seed, method, score, se, insertion, deletion, behind, behind_se, evaluations,
        pairs, d, n, not_additive, r2
    classes : the same for classifiers, explained as logit and as probability
    planted : see `planted.agreement`
    """
    folder.mkdir(parents=True, exist_ok=True)
    narrow, wide = ([name for name in names if (name in WIDE) == far] for far in (False, True))
    for seed in range(seeds):
        for name in narrow:
            _table(folder, name, seed, families, size, log)
        for function in planted.FUNCTIONS:
            if not _file(folder, "planted", function, "", seed).is_file():
                write_parquet(planted.agreement(function, seed), _file(folder, "planted", function, "", seed))
    for name in [name for name in CLASSIFIED if name in names]:
        if not _file(folder, "classes", name, "", 0).is_file():
            write_parquet(classified(material(name, 0), 0, size), _file(folder, "classes", name, "", 0))
    for name in wide:  # one seed: a search takes a minute or two per model
        _table(folder, name, 0, families, size, log)
    return {kind: _gathered(folder, kind) for kind in ("cells", "classes", "planted")}


def _table(
    folder: Path, name: str, seed: int, families: Sequence[str], size: Size, log: Callable[[str], object]
) -> None:
    """All families on one split of a table, as far as they are not in the folder."""
    rest = [family for family in families if not _file(folder, "cells", name, family, seed).is_file()]
    if not rest:
        return
    rows = material(name, seed)
    for family in rest:
        table = table_cells(rows, family, seed, size, folder)
        write_parquet(table, _file(folder, "cells", name, family, seed))
        log(f"{name}, {family}, seed {seed}: {len(table)} rows")


def table_cells(rows: Material, family: str, seed: int, size: Size, folder: Path) -> pd.DataFrame:
    """Both policies for one fitted model; the games of the first seed are kept in the folder."""
    fitted = FAMILIES[family](rows.x, rows.y, seed)
    wide = rows.name in WIDE
    parts = []
    for policy in POLICIES:
        table, games = cell(fitted, rows.x_test, policy, methods(family, wide), seed, size, wide)
        parts.append(table.assign(policy=policy))
        if seed == 0 and not wide and family != "linear" and len(games.get("d", ())):
            path = folder / f"games-{rows.name}-{family}-{policy}.npz"
            with path.with_suffix(".part").open("wb") as file:
                np.savez_compressed(file, **games)  # type: ignore[arg-type]
            os.replace(path.with_suffix(".part"), path)
    result = pd.concat(parts, ignore_index=True)
    return result.assign(table=rows.name, family=family, seed=seed, r2=_r2(fitted, rows))


def classified(rows: Material, seed: int, size: Size) -> pd.DataFrame:
    """A network that tells high targets from low ones, explained as logit and as probability."""
    high, high_test = (np.asarray(part > np.median(rows.y), dtype=np.float32) for part in (rows.y, rows.y_test))
    network = fit_classifier(rows.x, high, seed)
    right = float(((np.asarray(predict(network, points(Fitted(network), rows.x_test))) > 0) == high_test).mean())
    parts = []
    for output, f in {"logit": network, "probability": nn.Sequential(*network.layers, nn.Sigmoid()).eval()}.items():
        table, _ = cell(Fitted(f), rows.x_test, "counterfactual", methods("MLP"), seed, size)
        parts.append(table.assign(table=rows.name, output=output, policy="counterfactual", seed=seed, accuracy=right))
    return pd.concat(parts, ignore_index=True)


def _r2(fitted: Fitted, rows: Material) -> float:
    return float(r2_score(rows.y_test, np.asarray(predict(fitted.f, points(fitted, rows.x_test)))))


def _file(folder: Path, kind: str, name: str, family: str, seed: int) -> Path:
    return folder / f"{kind}-{seed}-{name}-{family}.parquet"


def _gathered(folder: Path, kind: str) -> pd.DataFrame:
    """All finished parts of a kind, in the order of their names."""
    parts = [pd.read_parquet(path) for path in sorted(folder.glob(f"{kind}-*.parquet"))]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


@record(
    "breadth", "methods on twenty tables", ("cells", "classes", "planted"), tables=tables.NAMES,
    families=tuple(FAMILIES), seeds=3, **asdict(Size()),
)  # fmt: skip
def measure_breadth(
    context: RunContext, *, tables: Sequence[str], families: Sequence[str], seeds: int, **size: Any
) -> Recording:
    """The study at the size that the book shows."""
    found = study(context.folder / "parts", tables, families, seeds, Size(**size), context.log)
    sources = {name: dict(load(name).provenance) for name in tables}
    return Recording(found, {"data": sources, "seconds_are": "training, explaining and scoring, over all starts"})
