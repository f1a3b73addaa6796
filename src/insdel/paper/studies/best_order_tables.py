"""What the tables of `insdel.paper.studies.best_order` say: shares of the best order, distance from chance, hard pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from insdel import chance
from insdel.paper import results
from insdel.paper.studies import tables
from insdel.paper.studies.best_order import BEST, Found, study
from insdel.paper.studies.experiments import Experiment

RUNS = {
    "houses": "bangalore",
    "collisions, counterfactual": "cern_counterfactual",
    "collisions, one-to-one": "cern_one_to_one",
    "collisions, average": "cern_average",
}  # what a chapter calls a run → what its record is called after "beyond_"
TITLES = {name: f"best for {'insertion + deletion' if mode == 'both' else mode}" for name, mode in BEST.items()}


@dataclass(frozen=True)
class Evidence:
    """A study, and one line about it: which data, how many pairs, from when."""

    found: Found
    about: str


def live(experiment: Experiment, orders: int, seed: int = 0) -> Evidence:
    """Study an experiment's pairs now."""
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    found = study(experiment.model, x, reference, options=experiment.options, orders=orders, seed=seed, progress=False)
    line = f"this page's own run: {len(found.pairs):,} pairs, {experiment.source}, R² {experiment.r2:.3f}"
    return Evidence(found, line)


def recorded(run: str) -> Evidence | None:
    """What `python -m insdel.paper.studies.best_order` recorded for one of `RUNS`; None if there is no such record."""
    name = f"beyond_{RUNS[run]}"
    if not all(results.exists(f"{name}{part}") for part in ("", "_pairs", "_orders")):
        return None
    areas, about = results.load(name)
    pairs, orders = (results.load(f"{name}_{part}")[0] for part in ("pairs", "orders"))
    return Evidence(Found(areas, pairs, orders), tables.told(about))


def together(own: Mapping[str, Evidence], use_records: bool) -> dict[str, Evidence]:
    """The runs to show, in the order of `RUNS`: recorded ones if wanted and there, else the page's own."""
    records = {run: recorded(run) if use_records else None for run in RUNS}
    return {run: found for run in RUNS if (found := records[run] or own.get(run)) is not None}


def command(run: str) -> str:
    """The command that records one of `RUNS`."""
    return "python -m insdel.paper.studies.best_order " + RUNS[run].replace("cern_", "cern ")


def title(method: str) -> str:
    """The name of a method or of a best ranking, for tables and figures."""
    return TITLES.get(method) or tables.title(method)


def cell(value: float, error: float, digits: int = 1) -> str:
    """ "value ± error" that no line break can part."""
    return f"{value:.{digits}f}\u00a0±\u00a0{error:.{digits}f}"


def scientific(value: float) -> str:
    """A very large or very small number as "2.1 × 10¹³"."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}\u00a0×\u00a010" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _ratio(part: pd.Series, whole: pd.Series) -> tuple[float, float]:
    """Σ part / Σ whole in percent, and its standard error over pairs (delta method)."""
    ratio = part.sum() / whole.sum()
    return 100 * ratio, 100 * float((part - ratio * whole).sem() / abs(whole.mean()))


def shares(areas: pd.DataFrame) -> pd.DataFrame:
    """How much of the best possible ABC each method reaches, by (mode, method).

    Returns
    -------
    share, share_se : mean ABC in percent of the mean of the best
    regret, regret_se : mean of best − ABC, per feature
    optimal : percent of the pairs in which no order does better
    """
    rows = {}
    for key, part in areas.groupby(["mode", "method"], sort=False):
        share, share_se = _ratio(part["abc_per_feature"], part["best"])
        regret = part["best"] - part["abc_per_feature"]
        rows[key] = {"share": share, "share_se": share_se, "regret": regret.mean(), "regret_se": regret.sem(),
                     "optimal": 100 * part["optimal"].mean()}  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["mode", "method"])


def standings(areas: pd.DataFrame) -> pd.DataFrame:
    """The same table with two columns more, per pair: z, in standard deviations of all orders, and normalised."""
    spread = areas["sd"].where(areas["sd"] > 0)
    z = (areas["abc_per_feature"] - areas["expected"]) / spread
    scale = chance.normalised(*(areas[name].to_numpy() for name in ("abc_per_feature", "expected", "best")))
    return areas.assign(z=z, normalised=scale)


def against_chance(areas: pd.DataFrame, level: float = 0.01) -> pd.DataFrame:
    """How far each method is from chance, by (mode, method).

    Returns
    -------
    z, z_se : mean distance from the mean of all orders, in their standard deviations
    normalised, normalised_se : mean on the scale from 0, the mean of all orders, to 1, the best
    median_tail : median probability that a random order does at least as well
    beats : percent of the pairs in which that probability is at most `level`
    """
    grouped = standings(areas).groupby(["mode", "method"], sort=False)
    means, errors = grouped[["z", "normalised"]].mean(), grouped[["z", "normalised"]].sem().add_suffix("_se")
    tail = grouped["tail_probability"].median().rename("median_tail")
    beats = (100 * grouped["tail_probability"].agg(lambda p: (p <= level).mean())).rename("beats")
    return pd.concat([means, errors, tail, beats], axis=1)


def hard_pairs(found: Found, method: str = "kernel_shap", mode: str = "insertion") -> pd.DataFrame:
    """The pairs table with what a method loses in each: 0 is the best order, 1 no better than chance.

    `interacting` is the share of the variance over hybrids that single features do not explain.
    """
    areas = standings(found.areas).query("method == @method and mode == @mode").set_index("pair")
    pairs = found.pairs.set_index("pair")
    return pairs.assign(lost=1 - areas["normalised"], interacting=1 - pairs["main"])


def differences(found: Found, method: str = "kernel_shap") -> pd.DataFrame:
    """Per pair: ABC − ABC′ of a method; shift, the mean of that over all orders; and what Theorem 1 says for Shapley.

    Columns: difference, shift, term, agreement
    """
    own = found.areas.query("method == @method").pivot_table("abc_per_feature", "pair", "mode")
    mean = found.areas.query("method == @method and mode == 'insertion'").set_index("pair")["expected"]
    gap = {"difference": own["insertion"] - own["deletion"], "shift": 2 * mean}
    return pd.DataFrame(gap).join(found.pairs.set_index("pair")[["term", "agreement"]])


def crossed(areas: pd.DataFrame, rankings: Iterable[str] = (*BEST, "kernel_shap")) -> pd.DataFrame:
    """What a ranking that is best for one test reaches in the others, "percent ± se" of the best, (rankings, modes)."""
    found = shares(areas)
    cells = {title(name): {mode: cell(*found.loc[(mode, name), ["share", "share_se"]]) for mode in BEST.values()}
             for name in rankings}  # fmt: skip
    return pd.DataFrame.from_dict(cells, orient="index").rename(columns={"both": "insertion + deletion"})
