"""How far Kernel SHAP is ahead of integrated gradients in each recorded experiment."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

import insdel
from insdel.curves import MODES
from insdel_paper import results

BOTH = ("kernel_shap", "integrated_gradients")
PLACES = {
    "bangalore": "houses",
    "cern_counterfactual": "events, counterfactual",
    "cern_one_to_one": "events, one-to-one",
    "cern_average": "events, average",
}


def newest(name: str) -> str:
    """The record of the same run on genuine events, if there is one."""
    genuine = name.replace("cern_", "cern_genuine_")
    return genuine if results.exists(genuine) else name


def leads(names: Iterable[str]) -> pd.DataFrame:
    """Mean ABC / n of both, their paired difference and its standard error, a row per record and test.

    Returns
    -------
    Indexed by what is compared; columns mode, KS, IG, difference, difference_se, best, chance; lead and se are the
    difference and its error in percent of KS
    """
    rows = []
    for name in names:
        table, _ = results.load(newest(name))
        pairs, _ = results.load(newest(name), "pairs")
        found = insdel.summary(table, pairs=pairs, differences=[BOTH]).set_index(["mode", "method"])
        for mode in MODES:
            mean, gap = found["mean"][mode], found.loc[(mode, " − ".join(BOTH))]
            rows.append((PLACES[name], mode, mean[BOTH[0]], mean[BOTH[1]], gap["mean"], gap["se"], mean.get("best"),
                         mean["random"]))  # fmt: skip
    columns = ["what", "mode", "KS", "IG", "difference", "difference_se", "best", "chance"]
    result = pd.DataFrame(rows, columns=columns).set_index("what")
    percent = 100 / result["KS"]
    return result.assign(lead=result["difference"] * percent, se=result["difference_se"] * percent)
