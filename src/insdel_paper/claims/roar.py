"""Remove and retrain  [section 6]: how much the loss bends away from a straight line as features are removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from insdel import stats
from insdel_paper.claims import records
from insdel_paper.claims.verdict import CANNOT, LIMITS, Figure, Finding, Rule, above, below, judge, within
from insdel_paper.studies.roar.tables import bend, is_noise

KS, IG, RANDOM = "kernel_shap", "integrated_gradients", "random"
DATA = {"roar_bangalore": "houses", "roar_cern_genuine": "genuine events"}
SHORT = {KS: "KS", IG: "IG", RANDOM: "random order", f"{KS}_signed": "KS signed", f"{IG}_signed": "IG signed"}


def bends(record: str, ranking: str) -> pd.Series:
    """Per replicate: area between the curve of losses and the straight line between its ends, over the mean rise.

    0 is a straight line; 1/2 is the most, all of the loss after the first feature; negative below the line.
    """
    return pd.Series(bend(records.table(record), ranking))


def spread(values: pd.Series) -> tuple[float, float, int]:
    """Mean over replicates, its standard error and degrees of freedom."""
    return *stats.mean(values), len(values) - 1


def each(make: Callable[[str, str], Iterable[Figure]], because: str = "") -> Finding:
    """The same numbers for both data sets; a run whose loss hardly rises has no curve to speak of."""
    names = records.there(*DATA)
    steep = [name for name in names if not is_noise(records.table(name))]
    if not steep:
        return Finding(CANNOT, "Without any feature the loss is hardly larger than with all of them.", (), tuple(names))
    return judge([figure for name in steep for figure in make(name, DATA[name])], because, names)


def straight(record: str, data: str) -> list[Figure]:
    """The curves of KS and IG by absolute value are nearly straight."""
    figures = []
    for ranking in (KS, IG):
        value, se, df = spread(bends(record, ranking))
        figures.append(within(f"bend, {SHORT[ranking]} ({data})", value, se, LIMITS["straight"], df=df))
    return figures


def signed_nearly(record: str, data: str) -> list[Figure]:
    """Ranking by signed values loses little against ranking by absolute ones."""
    return [below(text, value, se, LIMITS["straight"], df=df) for text, (value, se, df) in _by_sign(record, data)]


def signed_beaten(record: str, data: str) -> list[Figure]:
    """Ranking by absolute values is better than by signed ones."""
    return [above(text, value, se, df=df) for text, (value, se, df) in _by_sign(record, data)]


def _by_sign(record: str, data: str) -> list[tuple[str, tuple[float, float, int]]]:
    return [
        (f"bend, {SHORT[r]}: size minus sign ({data})", spread(bends(record, r) - bends(record, f"{r}_signed")))
        for r in (KS, IG)
    ]


def comparable(record: str, data: str) -> list[Figure]:
    """KS and IG bend alike."""
    value, se, df = spread(bends(record, KS) - bends(record, IG))
    return [within(f"bend of KS minus bend of IG ({data})", value, se, LIMITS["straight"], df=df)]


def unable(record: str, data: str) -> list[Figure]:
    """Neither KS nor IG bends the curve more than a random order does."""
    gaps = {ranking: spread(bends(record, ranking) - bends(record, RANDOM)) for ranking in (KS, IG)}
    text = "bend of {} minus that of a random order ({})"
    return [below(text.format(SHORT[r], data), value, se, df=df) for r, (value, se, df) in gaps.items()]


def ig_superior() -> Finding:
    """IG by absolute value ahead of KS on the houses."""
    name = records.there("roar_bangalore")[0]
    value, se, df = spread(bends(name, IG) - bends(name, KS))
    return judge([above("bend of IG minus bend of KS (houses)", value, se, df=df)], "", [name])


def redundancy() -> Finding:
    """Without redundant columns the curves bend more; with every column twice they bend less."""
    steps = {
        "houses, correlated columns dropped, minus all columns": ("roar_bangalore_independent", "roar_bangalore"),
        "simulated events, 8 independent columns, minus all 16": ("roar_cern_independent", "roar_cern"),
        "planted columns once, minus every column twice": ("roar_planted", "roar_planted_copied"),
    }
    figures, names = [], []
    for text, (less, more) in steps.items():
        names += [records.there(less)[0], records.there(more)[0]]
        value, se, df = spread(bends(less, KS) - bends(more, KS))
        figures.append(above(f"bend of KS: {text}", value, se, df=df))
    return judge(figures, "", names)


RULES: dict[str, Rule] = {
    "roar-straight": lambda: each(straight),
    "roar-signed": lambda: each(signed_nearly),
    "roar-expected": lambda: each(signed_beaten),
    "roar-comparable": lambda: each(comparable),
    "roar-ig-houses": ig_superior,
    "roar-unable": lambda: each(unable),
    "roar-redundancy": redundancy,
}
