"""`insdel report`: a table and a model of one's own, graded on one page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel.attribution.own import attributions
from insdel.comparison import ANY_MODEL, SAMPLES, compare
from insdel.errors import UserError
from insdel.lattice import MAX_FEATURES
from insdel.own import models, pairs, table
from insdel.policies import Pairs


def write(
    data: Path,
    target: str,
    model: str,
    output: Path,
    *,
    brought: Path | None = None,
    sign: str | None = None,
    policy: str = "counterfactual",
    n_pairs: int = 40,
    drop: list[str] | None = None,
    seed: int = 0,
) -> tuple[Path, list[str]]:
    """Grade explanations of a model on a CSV file; return the page and what was noticed on the way.

    Parameters
    ----------
    model : "network" or "forest" to fit one, or file.py:name
    brought : a CSV file of attributions, a row for each row of `data`, columns by name; sign as in `attributions`
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"a report is an HTML page; name it so: {output.with_suffix('.html')}, not {output.name}.")
    if brought is not None and sign is None:
        raise UserError("attributions need a sign: --sign shap (as shap, captum and lime say it) or --sign change.")
    rows = table.read(data, target, drop=drop or [])
    split = table.split(rows, seed=seed)
    subject = models.make(model, rows, split, seed=seed)
    chosen = pairs.pick(policy, subject.f, split, n_pairs=n_pairs, seed=seed)
    methods: dict[str, Any] = {name: name for name in ANY_MODEL}
    if brought is not None:
        methods = {brought.stem: attributions(_read(brought, rows, split, chosen), sign=sign), **methods}
    options = {"kernel_shap": {"samples": SAMPLES}} if chosen.differing.max() > MAX_FEATURES else {}
    result = compare(subject.f, chosen.x, chosen.reference, methods, options=options, seed=seed)
    place = rows.features.index.to_numpy()[split.test[chosen.index]]
    named = replace(result, pairs=replace(result.pairs, names=list(rows.names)),
                    table=result.table.assign(row=place[result.table["pair"]]))  # fmt: skip
    page = named.report(output, f"Which explanation of {rows.name} ranks the features well?")
    return page, [rows.what, *rows.notes, subject.about, *subject.notes]


def _read(path: Path, rows: table.Table, split: table.Split, chosen: Pairs) -> np.ndarray:
    """Attributions of the chosen pairs, (pairs, n), by the names of the columns and the number of the row."""
    given = pd.read_csv(path)
    missing = [name for name in rows.names if name not in given]
    if missing:
        raise UserError(f"{path.name} needs the columns of the table; missing: {', '.join(missing[:20])}.")
    place = rows.features.index.to_numpy()
    if len(given) <= int(place.max()):
        needed = int(place.max()) + 1
        raise UserError(f"{path.name} needs a row for each row of the table; found {len(given)}, needed {needed}.")
    return given[list(rows.names)].to_numpy(dtype=float)[place[split.test[chosen.index]]]
