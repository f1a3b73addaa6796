"""Tables of remove and retrain in a few numbers: rise, bend, what the mask tells, and the paper's statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from insdel.curves import abc
from insdel.stats import naive_error, plus_minus

TITLES = {
    "kernel_shap": "Kernel SHAP, by size",
    "integrated_gradients": "IG, by size",
    "deeplift": "DeepLIFT, by size",
    "lime": "LIME, by size",
    "input_x_gradient": "Input × Gradient, by size",
    "vanilla_grad": "Vanilla Grad, by size",
    "kernel_shap_signed": "Kernel SHAP, signed",
    "integrated_gradients_signed": "IG, signed",
    "global": "one order for all rows",
    "random": "random",
}
FORM_TITLES = {
    "features": "mean and mode, retrained (ROAR)",
    "imputed": "drawn, retrained",
    "road": "drawn, not retrained (ROAD)",
}
SIGHT_TITLES = {"mask": "the mask", "read": "reading rows with mean and mode", "read_imputed": "reading drawn rows"}
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
    wide = rows.pivot_table(index="replicate", columns="removed", values="loss").sort_index(axis=1)
    counts = wide.columns.to_numpy(float)
    return np.stack([np.interp(np.arange(counts[-1] + 1), counts, values) for values in wide.to_numpy()])


def areas(table: pd.DataFrame, ranking: str, form: str = "features") -> np.ndarray:
    """Area between curve and straight line over shares 0 to 1, per replicate: the book's ABC per feature."""
    return np.asarray(abc(curve(table, ranking, form), "insertion", per_feature=True))


def rises(table: pd.DataFrame, form: str = "features") -> np.ndarray:
    """Loss without any feature less loss with all of them, (replicates,); the same for every ranking."""
    walks = curve(table, str(table["ranking"].iloc[0]), form)
    return walks[:, -1] - walks[:, 0]


def is_noise(table: pd.DataFrame, level: float = LEVEL) -> bool:
    """Whether the rise is within its own noise: then there is no curve to speak of."""
    rise = rises(table)
    return not (len(rise) > 1 and rise.mean() > level * naive_error(rise))


def bend(table: pd.DataFrame, ranking: str, form: str = "features") -> np.ndarray:
    """Area as a share of the mean rise, (replicates,): 0 straight, 0.5 all is lost at once, below 0 late."""
    return areas(table, ranking, form) / rises(table, form).mean()


def bends(table: pd.DataFrame, form: str = "features") -> pd.DataFrame:
    """Per ranking: area, bend and its standard error over the replicates."""
    rows = {}
    for ranking in table["ranking"].unique():
        result = bend(table, ranking, form)
        mean, se = result.mean(), naive_error(result)
        rows[ranking] = {"area": areas(table, ranking, form).mean(), "bend": mean, "se": se}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ranking")


def by_form(table: pd.DataFrame) -> pd.DataFrame:
    """Bend ± standard error of every ranking (rows) in every form of removal that the table has (columns)."""
    forms = [form for form in FORM_TITLES if form in set(table["input"])]
    result = {FORM_TITLES[form]: bends(table, form) for form in forms}
    cells = {
        name: [f"{b:+.2f} ± {se:.2f}" for b, se in part[["bend", "se"]].to_numpy()] for name, part in result.items()
    }
    rankings = next(iter(result.values())).index
    return pd.DataFrame(cells, index=[TITLES[name] for name in rankings]).rename_axis("ranking")


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


def leak_table(table: pd.DataFrame) -> pd.DataFrame:
    """What masks give away before and after: rise undone by the mask, and by what can be read of it, in percent.

    Returns
    -------
    DataFrame by ranking and share: the mask itself; read off rows filled by mean and mode; read off drawn rows; and
    the share of the removed features that the readings name, beside that of naming the ones most often removed
    """
    key = ["ranking", "fraction"]
    columns = {}
    for sight, name in SIGHT_TITLES.items():
        part = leaks(table, sight).set_index(key)
        numbers = 100 * part[["undone", "se"]].to_numpy()
        columns[f"undone by {name}"] = [f"{undone:.0f} ± {se:.0f} %" for undone, se in numbers]
    for sight in ("read", "read_imputed"):
        part = table[table["input"] == sight].groupby(key, sort=False)[["named", "by_habit"]].first()
        columns[f"named, {SIGHT_TITLES[sight]}"] = [f"{100 * value:.0f} %" for value in part["named"]]
    columns["named without looking"] = [f"{100 * value:.0f} %" for value in part["by_habit"]]
    return pd.DataFrame(columns, index=part.index).rename(index=TITLES)


def claims(table: pd.DataFrame, level: float = LEVEL) -> pd.DataFrame:
    """What section 6 says about a data set, and what the bends say: value, se, verdict.

    "holds" and its opposite are decided by `level` standard errors; a table of noise decides nothing.
    """
    present = [name for name in TITLES if name in set(table["ranking"])]
    rows = {}

    def judge(statement: str, values: np.ndarray, opposite: str, off: Callable[[float], float]) -> None:
        """A statement about the mean of values by replicate; off : below 0 where it holds."""
        value, se = float(values.mean()), naive_error(values)
        margin = off(value) / se if se else np.copysign(np.inf, off(value))
        verdict = "holds" if margin < -level else opposite if margin > level else "undecided"
        rows[statement] = {"value": value, "se": se, "verdict": verdict}

    for ranking in present:
        if ranking not in ("global", "random"):
            title, bent = TITLES[ranking], bend(table, ranking)
            judge(f"nearly straight: {title}", bent, "does not hold", lambda value: abs(value) - STRAIGHT)
    for method, name in (("kernel_shap", "Kernel SHAP"), ("integrated_gradients", "IG")):
        if {method, f"{method}_signed"} <= set(present):
            gain = bend(table, method) - bend(table, f"{method}_signed")
            statement = f"signed nearly as good as by size: {name}"
            judge(statement, gain, "does not hold", lambda value: value - STRAIGHT)
    if {"kernel_shap", "integrated_gradients"} <= set(present):
        lead = bend(table, "integrated_gradients") - bend(table, "kernel_shap")
        judge("IG by size ahead of Kernel SHAP by size", lead, "the opposite", lambda value: -value)
    shown = pd.DataFrame.from_dict(rows, orient="index").rename_axis("statement")
    return shown.assign(verdict="noise") if is_noise(table, level) else shown


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Loss ± standard error per ranking (rows) and share (columns), and the bend: what a page shows."""
    result = losses(table)
    digits = 3 if result["loss"].max() < 1 else 2
    cell = [plus_minus(row.loss, row.se, digits) for row in result.itertuples()]
    wide = result.assign(cell=cell).pivot_table(index="ranking", columns="fraction", values="cell", aggfunc="first")
    bent = bends(table).apply(lambda row: plus_minus(row["bend"], row["se"], 2, "+"), axis=1)
    shown = wide.assign(bend=bent).loc[list(dict.fromkeys(result["ranking"]))]
    return shown.rename(index=TITLES).rename_axis(columns="share removed")


def side_by_side(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Bend ± standard error per ranking (rows) and run (columns); "noise" where the rise is none."""
    columns = {}
    for name, table in tables.items():
        noise = is_noise(table)
        result = bends(table)
        cells = ["noise" if noise else plus_minus(bent, se, 2, "+") for bent, se in result[["bend", "se"]].to_numpy()]
        columns[name] = pd.Series(cells, index=result.index)
    shown = pd.DataFrame(columns).fillna("")
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
    scores = _drawn_areas(areas, pairs, methods, draws, rng)
    forms = [form for form in FORM_TITLES if form in set(table["input"])]
    rows = {}
    for form in forms:
        result = np.stack([bend(table, method, form) for method in methods])
        picks = rng.integers(result.shape[1], size=(draws, result.shape[1]))
        drawn = np.vstack([result.mean(axis=1), result[:, picks].mean(axis=2).T])
        rows[FORM_TITLES[form]] = {name: _interval(drawn, score) for name, score in scores.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("ROAR, form")


def _drawn_areas(
    areas: pd.DataFrame, pairs: pd.DataFrame, methods: Sequence[str], draws: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Mean ABC of every method: first as it is, then with points drawn again, (draws + 1, methods)."""
    points = np.unique(pairs[["row", "reference_row"]])
    counts = rng.multinomial(len(points), np.full(len(points), 1 / len(points)), size=draws)
    ends = [np.searchsorted(points, pairs[name]) for name in ("row", "reference_row")]
    weights = np.vstack([np.ones(len(pairs)), counts[:, ends[0]] * counts[:, ends[1]]])
    weights = weights / weights.sum(axis=1, keepdims=True)
    wide = areas.pivot_table(index="pair", columns=["mode", "method"], values="abc_per_feature").loc[pairs["pair"]]
    insertion, deletion = (weights @ wide[mode][list(methods)].to_numpy() for mode in ("insertion", "deletion"))
    return {"insertion": insertion, "deletion": deletion, "insertion + deletion": insertion + deletion}


def _interval(a: np.ndarray, b: np.ndarray) -> str:
    """Spearman's correlation of the first rows, and where the middle 95 % of the others lie."""
    ranks = [pd.DataFrame(part).rank(axis=1).to_numpy() for part in (a, b)]
    centred = [part - part.mean(axis=1, keepdims=True) for part in ranks]
    norms = np.sqrt((centred[0] ** 2).sum(axis=1) * (centred[1] ** 2).sum(axis=1))
    values = (centred[0] * centred[1]).sum(axis=1) / norms
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return f"{values[0]:+.2f} [{low:+.2f}, {high:+.2f}]"


def describe_record(about: Mapping[str, Any]) -> str:
    """One line about a record: data, sizes of the attributions, trainings, when, how long."""
    plan, exact = about["parameters"], about["exact_kernel_shap"]
    part = "" if exact is None else f" (exact for {100 * exact:.0f} % of the rows)"
    return (
        f"recorded run of {about['date']}: {about['data']['what']}, R² {about['r2']:.3f}; "
        f"Kernel SHAP from {plan['samples']:,} samples{part}, IG in {plan['ig_steps']} steps; "
        f"{about['trainings']} trainings of {plan['recipe']['epochs']} epochs, "
        f"{about['seconds'] / 60:.0f} minutes on {plan['threads']} of {about['hardware'].split(' (')[0]}"
    )
