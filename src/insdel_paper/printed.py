"""The paper's printed tables and sizes, as data."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from insdel.errors import UserError
from insdel.own.mlp import PAPER as NETWORKS

SIX = ("kernel_shap", "integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime", "random")
DIFFERENCE = "kernel_shap − integrated_gradients"
PAIRS = {"bangalore": 391, "cern": 2000}

# (mean, standard error) of ABC per feature, in the order of SIX, then the paired difference where printed
_BANGALORE = {
    "insertion": [(0.628, 0.034), (0.572, 0.033), (0.548, 0.032), (-0.093, 0.026), (0.206, 0.027), (0.499, 0.028),
                  (-0.020, 0.023), (0.057, 0.007)],
    "deletion": [(0.423, 0.032), (0.422, 0.032), (0.425, 0.031), (-0.098, 0.029), (0.185, 0.029), (0.395, 0.032),
                 (-0.023, 0.012), (0.001, 0.003)],
}  # fmt: skip
_CERN = {
    "counterfactual": {
        "insertion": [(18.535, 0.215), (18.289, 0.213), (18.118, 0.211), (-1.310, 0.252), (7.620, 0.216),
                      (17.319, 0.209), (-0.380, 0.175), (0.246, 0.025)],
        "deletion": [(16.752, 0.176), (16.315, 0.173), (16.646, 0.176), (0.226, 0.256), (7.940, 0.187),
                     (15.845, 0.170), (-0.268, 0.179), (0.437, 0.025)],
    },
    "one_to_one": {
        "insertion": [(30.392, 0.535), (28.430, 0.515), (26.740, 0.433), (1.707, 0.215), (14.677, 0.397),
                      (27.008, 0.510), (3.795, 0.266)],
        "deletion": [(11.806, 0.299), (10.643, 0.310), (11.485, 0.294), (-5.571, 0.323), (1.839, 0.296),
                     (10.877, 0.269), (-3.797, 0.301)],
    },
    "average": {
        "insertion": [(23.518, 0.216), (21.549, 0.251), (21.333, 0.238), (4.803, 0.194), (21.610, 0.236),
                      (11.892, 0.221), (4.242, 0.156)],
        "deletion": [(7.621, 0.149), (6.856, 0.128), (7.305, 0.134), (-4.025, 0.135), (5.957, 0.139),
                     (1.420, 0.160), (-4.323, 0.157)],
    },
}  # fmt: skip
_CORRELATION = {
    "counterfactual": (16.0, 0.820, 0.799),
    "one_to_one": (14.991, -0.276, -0.297),
    "average": (16.0, 0.587, 0.499),
}
_ALBATROSS = {"blurred": (0.981, 0.740), "mean": (0.663, 0.187), "white": (0.366, 0.175), "black": (0.270, 0.201)}

_SIZES = {
    "Bangalore: records": (6207, "section 5.1"),
    "Bangalore: complete rows": (1591, "section 5.1"),
    "Bangalore: rows held out": (391, "section 5.1"),
    "Bangalore: columns beside the price": (39, "section 5.1"),
    "Bangalore: features": (38, "section 5.1"),
    "Bangalore: continuous features": (2, "section 1"),
    "Bangalore: rupees per unit of price": (1e7, "section 5.1"),
    "Bangalore: features that differ, at least": (12, "section 5.1"),
    "counterfactual: nearest candidates": (20, "sections 5.1, 5.2"),
    "Bangalore: samples of Kernel SHAP": (120_000, "section 5.1"),
    "points of the sum of IG": (500, "section 5.1"),
    "CERN: features": (16, "section 5.2"),
    "CERN: independent features": (8, "section 5.2"),
    "CERN: least mass (GeV)": (2, "section 5.2"),
    "CERN: largest mass (GeV)": (110, "section 5.2"),
    "CERN: mean residual of the mass formula": (0.006, "section 5.2"),
    "CERN: rows trained on": (79_931, "section 5.2"),
    "CERN: rows inspected": (2000, "section 5.2"),
    "CERN: evaluations of exact Kernel SHAP": (65_536, "section 5.2"),
    "CERN: extreme insertion ABC (GeV)": (150, "section 5.2"),
    "input × gradient: stands for 0 in binary features": (-1e-4, "appendix A.3"),
    "ROAR: replicates": (5, "section 6"),
    "image: side in pixels": (224, "section 1"),
    "image: noise baselines": (300, "appendix A.1"),
    "image: maps of the first layer": (32, "appendix A.1"),
    "image: side of these maps": (112, "appendix A.1"),
}
QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the features that ROAR removes  [section 6]


def _areas(printed: dict[str, list[tuple[float, float]]], policy: str) -> pd.DataFrame:
    rows = [
        {"policy": policy, "mode": mode, "method": method, "mean": mean, "se": se}
        for mode, values in printed.items()
        for method, (mean, se) in zip((*SIX, DIFFERENCE)[: len(values)], values, strict=True)
    ]
    return pd.DataFrame(rows)


def _correlation() -> pd.DataFrame:
    columns = ["differing", "kernel_shap", "integrated_gradients"]
    return pd.DataFrame.from_dict(_CORRELATION, orient="index", columns=columns).reset_index(names="policy")


def _albatross() -> pd.DataFrame:
    columns = ["deletion", "insertion"]
    return pd.DataFrame.from_dict(_ALBATROSS, orient="index", columns=columns).reset_index(names="reference")


def _networks() -> pd.DataFrame:
    return pd.DataFrame([{"dataset": name, **asdict(network)} for name, network in NETWORKS.items()])


def _sizes() -> pd.DataFrame:
    return pd.DataFrame([{"size": name, "value": value, "where": where} for name, (value, where) in _SIZES.items()])


TABLES = {
    "bangalore": lambda: _areas(_BANGALORE, "counterfactual"),  # Table 1
    "cern_counterfactual": lambda: _areas(_CERN["counterfactual"], "counterfactual"),  # Table 2
    "cern_policies": lambda: pd.concat(  # Table 3
        [_areas(_CERN[policy], policy) for policy in ("one_to_one", "average")], ignore_index=True
    ),
    "cern_correlation": _correlation,  # Table 4
    "albatross": _albatross,  # Table 5
    "networks": _networks,  # Tables 6 and 7: all hyperparameters that are printed
    "sizes": _sizes,  # numbers in the text
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
    return float(_SIZES[name][0])
