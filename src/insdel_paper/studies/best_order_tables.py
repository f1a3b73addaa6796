"""What the tables of `insdel_paper.studies.best_order` say: shares of the best, distance from chance, hard pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from insdel import chance
from insdel.stats import PairIds, mean, plus_minus, ratio
from insdel_paper import results
from insdel_paper.studies import tables
from insdel_paper.studies.best_order import BEST, Found, study, with_ends
from insdel_paper.studies.experiments import Experiment
from insdel_paper.studies.outcome import ends_table

RUNS = {
    "houses": "bangalore",
    "events, counterfactual": "cern_counterfactual",
    "events, one-to-one": "cern_one_to_one",
    "events, average": "cern_average",
}  # what a chapter calls a run → what its record is called after "best_order_"
TITLES = {name: f"best for {'insertion + deletion' if mode == 'both' else mode}" for name, mode in BEST.items()}


@dataclass(frozen=True)
class Evidence:
    """A study, and one line about it: which data, how many pairs, from when."""

    found: Found
    about: str


def live(experiment: Experiment, orders: int, seed: int = 0) -> Evidence:
    """Study an experiment's pairs now."""
    x, reference = np.asarray(experiment.pairs.x), np.asarray(experiment.pairs.reference)
    result = study(experiment.model, x, reference, options=experiment.options, orders=orders, seed=seed, progress=False)
    result = with_ends(result, ends_table(experiment.pairs))
    line = f"this page's own run: {len(result.pairs):,} pairs, {experiment.source}, R² {experiment.r2:.3f}"
    return Evidence(result, line)


def recorded(run: str) -> Evidence | None:
    """The record of one of `RUNS`; None if there is none."""
    return results.shown(f"best_order_{RUNS[run]}", None, "recorded", _read)


def _read(name: str) -> Evidence:
    areas, about = results.load(name)
    pairs, orders = (results.load(name, table)[0] for table in ("pairs", "orders"))
    result = Found(areas, pairs, orders)
    whole = tables.recorded_pairs(name.removeprefix("best_order_"))  # the first pairs of that run; it knows their rows
    if "row" not in pairs and whole is not None:
        result = with_ends(result, whole)
    return Evidence(result, tables.told(about))


def together(own: Mapping[str, Evidence], evidence: str) -> dict[str, Evidence]:
    """The runs to show, in the order of `RUNS`: recorded ones if wanted and there, else the page's own."""
    found = {run: results.shown(f"best_order_{name}", own.get(run), evidence, _read) for run, name in RUNS.items()}
    return {run: result for run, result in found.items() if result is not None}


def sources(shown: Mapping[str, Evidence]) -> str:
    """Where the runs come from, and how to record those that are not, as a Markdown list."""
    lines = [f"- **{run}**: {one.about}" for run, one in shown.items()]
    missing = {run: name for run, name in RUNS.items() if recorded(run) is None}
    lines += [f"- {run}: not recorded here; `insdel record best_order_{name}` does it" for run, name in missing.items()]
    return "\n".join(lines)


def title(method: str) -> str:
    """The name of a method or of a best ranking, for tables and figures."""
    return TITLES.get(method) or tables.title(method)


def average(values: pd.Series, pairs: pd.DataFrame, digits: int = 3) -> str:
    """ "mean ± se" of a value per pair; values : indexed by pair."""
    return plus_minus(*mean(values, PairIds.of(pairs, values.index)), digits)


def scientific(value: float) -> str:
    """A very large or very small number as "2.1 × 10¹³"."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}\u00a0×\u00a010" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def shares(areas: pd.DataFrame, pairs: pd.DataFrame | None = None) -> pd.DataFrame:
    """How much of the best possible ABC each method reaches, by (mode, method).

    pairs : who is paired with whom (`Found.pairs`); without it standard errors are naive

    Returns
    -------
    share, share_se : mean ABC in percent of the mean of the best
    regret, regret_se : mean of best − ABC, per feature
    optimal : percent of the pairs in which no order does better
    """
    rows = {}
    for key, part in areas.groupby(["mode", "method"], sort=False):
        ends = PairIds.of(pairs, part["pair"])
        share, share_se = ratio(part["abc_per_feature"], part["best"], ends)
        regret, regret_se = mean(part["best"] - part["abc_per_feature"], ends)
        rows[key] = {"share": 100 * share, "share_se": 100 * share_se, "regret": regret, "regret_se": regret_se,
                     "optimal": 100 * part["optimal"].mean()}  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["mode", "method"])


def standings(areas: pd.DataFrame) -> pd.DataFrame:
    """The same table with two columns more, per pair: z, in standard deviations of all orders, and normalised."""
    spread = areas["sd"].where(areas["sd"] > 0)
    z = (areas["abc_per_feature"] - areas["expected"]) / spread
    scale = chance.normalised(*(areas[name].to_numpy() for name in ("abc_per_feature", "expected", "best")))
    return areas.assign(z=z, normalised=scale)


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


def crossed(
    areas: pd.DataFrame, pairs: pd.DataFrame | None = None, rankings: Iterable[str] = (*BEST, "kernel_shap")
) -> pd.DataFrame:
    """What a ranking that is best for one test reaches in the others, "percent ± se" of the best, (rankings, modes)."""
    result = shares(areas, pairs)
    result["cell"] = [plus_minus(share, se, 1) for share, se in result[["share", "share_se"]].to_numpy()]
    cells = {title(name): {mode: result.loc[(mode, name), "cell"] for mode in BEST.values()} for name in rankings}
    return pd.DataFrame.from_dict(cells, orient="index").rename(columns={"both": "insertion + deletion"})
