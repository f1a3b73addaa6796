"""Tables of remove and retrain in a few numbers: rise, bend, what the mask tells, and the paper's statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.interpolate import interp1d
from scipy.stats import pearsonr, rankdata

from insdel.curves import abc
from insdel.stats import naive_error, plus_minus

_TEXTS = yaml.safe_load(Path(__file__).with_name("titles.yml").read_text(encoding="utf-8"))
TITLES, FORM_TITLES, SIGHT_TITLES = (_TEXTS[name] for name in ("rankings", "forms", "sights"))
STRAIGHT = 0.1  # a bend below this counts as nearly straight; 0.5 is the largest possible
LEVEL = 2.0  # standard errors that decide


def losses(table: pd.DataFrame, form: str = "features") -> pd.DataFrame:
    """Mean held-out loss and its standard error per ranking and share: share, loss, se, r2.

    form : one of `removal.FORMS`, how features were removed
    """
    groups = table[table["input"] == form].groupby(["ranking", "fraction"], sort=False)
    result = groups.agg(share=("share", "first"), loss=("loss", "mean"), se=("loss", "sem"), r2=("r2", "mean"))
    return result.reset_index()


def curve(table: pd.DataFrame, ranking: str, form: str = "features") -> np.ndarray:
    """Loss after 0, 1, …, n removed features, (replicates, n + 1), linear between those that were trained."""
    rows = table[(table["input"] == form) & (table["ranking"] == ranking)]
    wide = rows.pivot_table(index="replicate", columns="removed", values="loss")
    return np.asarray(interp1d(wide.columns, wide)(np.arange(wide.columns.max() + 1)))


def rises(table: pd.DataFrame, form: str = "features") -> np.ndarray:
    """Loss without any feature less loss with all of them, (replicates,); the same for every ranking."""
    walks = curve(table, str(table["ranking"].iloc[0]), form)
    return walks[:, -1] - walks[:, 0]


def is_noise(table: pd.DataFrame, level: float = LEVEL) -> bool:
    """Whether the rise is within its own noise: then there is no curve to speak of."""
    rise = rises(table)
    return not (len(rise) > 1 and rise.mean() > level * naive_error(rise))


def areas(table: pd.DataFrame, ranking: str, form: str = "features") -> np.ndarray:
    """Area between curve and straight line over shares 0 to 1, per replicate: the book's ABC per feature."""
    return np.asarray(abc(curve(table, ranking, form), "insertion", per_feature=True))


def bend(table: pd.DataFrame, ranking: str, form: str = "features") -> np.ndarray:
    """Area as a share of the mean rise, (replicates,): 0 straight, 0.5 all is lost at once, below 0 late."""
    return areas(table, ranking, form) / rises(table, form).mean()


def bends(table: pd.DataFrame, form: str = "features") -> pd.DataFrame:
    """Per ranking: bend and its standard error over the replicates."""
    found = {ranking: bend(table, ranking, form) for ranking in table["ranking"].unique()}
    rows = {ranking: {"bend": values.mean(), "se": naive_error(values)} for ranking, values in found.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ranking")


def _cells(found: pd.DataFrame) -> pd.Series:
    """Bend ± standard error of every ranking as text."""
    return found.apply(lambda row: plus_minus(row["bend"], row["se"], 2, "+"), axis=1)


def by_form(table: pd.DataFrame) -> pd.DataFrame:
    """Bend ± standard error of every ranking (rows) in every form of removal that the table has (columns)."""
    forms = {title: form for form, title in FORM_TITLES.items() if form in set(table["input"])}
    return pd.DataFrame({title: _cells(bends(table, form)) for title, form in forms.items()}).rename(index=TITLES)


def leaks(table: pd.DataFrame, sight: str = "mask") -> pd.DataFrame:
    """Share of the rise that a network undoes which sees only the mask, who was removed, and no feature.

    sight : one of `removal.SIGHTS`: the mask itself, or what can be read of it off the rows

    Returns
    -------
    DataFrame: ranking, fraction, share (of the features), undone and its standard error
    """
    masks, rise = table[table["input"] == sight], rises(table).mean()
    ends = table[(table["input"] == "features") & (table["fraction"] == 1)]
    nothing = ends.groupby("replicate")["loss"].first()
    undone = (masks["replicate"].map(nothing) - masks["loss"]) / rise
    groups = masks.assign(undone=undone).groupby(["ranking", "fraction"], sort=False)
    return groups.agg(share=("share", "first"), undone=("undone", "mean"), se=("undone", "sem")).reset_index()


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Loss ± standard error per ranking (rows) and share (columns), and the bend: what a page shows."""
    result = losses(table)
    digits = 3 if result["loss"].max() < 1 else 2
    cell = [plus_minus(row.loss, row.se, digits) for row in result.itertuples()]
    wide = result.assign(cell=cell).pivot_table(index="ranking", columns="fraction", values="cell", aggfunc="first")
    shown = wide.assign(bend=_cells(bends(table))).loc[list(dict.fromkeys(result["ranking"]))]
    return shown.rename(index=TITLES).rename_axis(columns="share removed")


def side_by_side(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Bend ± standard error per ranking (rows) and run (columns); "noise" where the rise is none."""
    shown = pd.DataFrame({name: _cells(bends(table)) for name, table in tables.items()})
    for name in (name for name, table in tables.items() if is_noise(table)):
        shown[name] = shown[name].where(shown[name].isna(), "noise")
    shown = shown.fillna("")
    return shown.loc[[ranking for ranking in TITLES if ranking in shown.index]].rename(index=TITLES)


def changes(tables: Mapping[str, pd.DataFrame], pairs: Sequence[tuple[str, str]], level: float = LEVEL) -> pd.DataFrame:
    """How the bend of every ranking changes from one run to another: change, se, verdict.

    Parameters
    ----------
    tables : name → table of `removal.run`
    pairs : (from, to) names; those that are missing, or noise, are left out

    Returns
    -------
    DataFrame by from, to and ranking; the runs are independent, so their standard errors add in squares
    """
    rows = []
    for a, b in pairs:
        if a in tables and b in tables and not (is_noise(tables[a]) or is_noise(tables[b])):
            before, after = bends(tables[a]), bends(tables[b])
            before, after = before.align(after, join="inner", axis=0)
            change, se = after["bend"] - before["bend"], np.hypot(after["se"], before["se"])
            said = np.select([change > level * se, change < -level * se], ["more bent", "less bent"], "undecided")
            part = pd.DataFrame({"from": a, "to": b, "change": change, "se": se, "verdict": said})
            rows.append(part.rename(index=TITLES).reset_index())
    columns = ["from", "to", "ranking", "change", "se", "verdict"]
    result = pd.concat(rows)[columns] if rows else pd.DataFrame(columns=columns)
    return result.set_index(columns[:3])


def agreement_with_abc(
    table: pd.DataFrame, areas: pd.DataFrame, pairs: pd.DataFrame, draws: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Do bends rank the methods as ABC does? Spearman's correlation over methods, with a 95 % interval.

    Parameters
    ----------
    table : of `removal.run`, rankings by size
    areas : of `compare`, the same methods; pairs : their rows, `row` and `reference_row`
    draws : of replicates (bends) and of points (ABC: a pair counts as often as both of its points are drawn)

    Returns
    -------
    DataFrame: forms of removal (rows) × insertion, deletion, their sum (columns), cells "ρ [low, high]"
    """
    methods = [name for name in table["ranking"].unique() if name in set(areas["method"])]
    rng = np.random.default_rng(seed)
    points = np.unique(pairs[["row", "reference_row"]])
    counts = rng.multinomial(len(points), np.full(len(points), 1 / len(points)), size=draws)
    ends = [np.searchsorted(points, pairs[name]) for name in ("row", "reference_row")]
    weights = np.vstack([np.ones(len(pairs)), counts[:, ends[0]] * counts[:, ends[1]]])  # first the pairs as they are
    weights = weights / weights.sum(axis=1, keepdims=True)
    wide = areas.pivot_table(index="pair", columns=["mode", "method"], values="abc_per_feature").loc[pairs["pair"]]
    scores = {mode: weights @ wide[mode][methods].to_numpy() for mode in ("insertion", "deletion")}
    scores["insertion + deletion"] = scores["insertion"] + scores["deletion"]
    rows = {}
    for form in (form for form in FORM_TITLES if form in set(table["input"])):
        result = np.stack([bend(table, method, form) for method in methods])
        picks = rng.integers(result.shape[1], size=(draws, result.shape[1]))
        drawn = np.vstack([result.mean(axis=1), result[:, picks].mean(axis=2).T])
        rows[FORM_TITLES[form]] = {name: _interval(drawn, score) for name, score in scores.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ROAR, form")


def _interval(a: np.ndarray, b: np.ndarray) -> str:
    """Spearman's correlation of the first rows, and where the middle 95 % of the others lie."""
    values = pearsonr(rankdata(a, axis=1), rankdata(b, axis=1), axis=1).statistic
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return f"{values[0]:+.2f} [{low:+.2f}, {high:+.2f}]"


def describe_record(about: Mapping[str, Any]) -> str:
    """One line about a record: data, sizes of the attributions, trainings, when, how long."""
    plan, exact = about["parameters"], about["exact_kernel_shap"]
    part = "" if exact is None else f" (exact for {100 * exact:.0f} % of the rows)"
    minutes = round(about["seconds"] / 60)
    return (
        f"recorded run of {about['date']}: {about['data']['what']}, R² {about['r2']:.3f}; "
        f"Kernel SHAP from {plan['samples']:,} samples{part}, IG in {plan['ig_steps']} steps; "
        f"{about['trainings']} trainings of {plan['recipe']['epochs']} epochs, "
        f"{minutes} minute{'' if minutes == 1 else 's'} on {plan['threads']} of {about['hardware'].split(' (')[0]}"
    )
