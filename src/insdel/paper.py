"""The paper's printed tables, as data."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from insdel.models import PAPER as NETWORKS

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


TABLES = {
    "bangalore": lambda: _areas(_BANGALORE, "counterfactual"),  # Table 1
    "cern_counterfactual": lambda: _areas(_CERN["counterfactual"], "counterfactual"),  # Table 2
    "cern_policies": lambda: pd.concat(  # Table 3
        [_areas(_CERN[policy], policy) for policy in ("one_to_one", "average")], ignore_index=True
    ),
    "cern_correlation": _correlation,  # Table 4
    "albatross": _albatross,  # Table 5
    "networks": _networks,  # Tables 6 and 7
}


def table(name: str) -> pd.DataFrame:
    """Return a printed table by its name in `TABLES`.

    The ABC tables have the columns policy, mode, method, mean, se; their unit is ABC per feature.
    """
    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}. The paper's tables are: {', '.join(TABLES)}.")
    return TABLES[name]()
