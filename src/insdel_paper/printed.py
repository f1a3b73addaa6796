"""The paper's printed tables and sizes, from `printed.yml`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import yaml

from insdel.errors import UserError
from insdel_paper.networks.training import PAPER as NETWORKS

SIX = ("kernel_shap", "integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime", "random")
DIFFERENCE = "kernel_shap − integrated_gradients"
PAIRS = {"bangalore": 391, "cern": 2000}
QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the features that ROAR removes  [section 6]
_PRINTED = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
_SIZES = {row["size"]: float(row["value"]) for row in _PRINTED["sizes"]}


def _areas(experiment: str, *policies: str) -> pd.DataFrame:
    rows = [
        {"policy": policy, "mode": mode, "method": method, "mean": mean, "se": se}
        for policy in policies
        for mode, values in _PRINTED["areas"][experiment][policy].items()
        for method, (mean, se) in zip((*SIX, DIFFERENCE)[: len(values)], values, strict=True)
    ]
    return pd.DataFrame(rows)


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "bangalore": lambda: _areas("bangalore", "counterfactual"),  # Table 1
    "cern_counterfactual": lambda: _areas("cern", "counterfactual"),  # Table 2
    "cern_policies": lambda: _areas("cern", "one_to_one", "average"),  # Table 3
    "cern_correlation": lambda: pd.DataFrame(_PRINTED["correlation"]),  # Table 4
    "albatross": lambda: pd.DataFrame(_PRINTED["albatross"]),  # Table 5
    # Tables 6 and 7: all hyperparameters that are printed
    "networks": lambda: pd.DataFrame([{"dataset": name, **asdict(network)} for name, network in NETWORKS.items()]),
    "sizes": lambda: pd.DataFrame(_PRINTED["sizes"]),  # numbers in the text
}


def table(name: str) -> pd.DataFrame:
    """Return a printed table by its name in `TABLES`.

    The ABC tables have the columns policy, mode, method, mean, se; their unit is ABC per feature.
    """
    if name not in TABLES:
        raise UserError(f"there is no table {name!r}. The paper's tables are: {', '.join(TABLES)}.")
    return TABLES[name]()


def size(name: str) -> float:
    """Return a number that the text prints, by its name in the table "sizes"."""
    if name not in _SIZES:
        raise UserError(f"there is no printed size {name!r}. The sizes are: {', '.join(_SIZES)}.")
    return _SIZES[name]
