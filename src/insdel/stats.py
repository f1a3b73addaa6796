"""Tables of a comparison in a few numbers: means, standard errors that know shared points, differences, wins.

Pairs (x, x′) are not independent: one point is the reference of many others, and is an x itself. What is sampled
are points, so errors are counted by points (Fafchamps and Gubert 2007; Aronow, Samii and Assenova 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError, UserTypeError, require_integer, require_one_of
from insdel.seeds import check_seed

REFERENCES = ("best", "expected")  # rows that no attribution method can win against
Number = tuple[float, float]  # value and standard error
DRAWS = 2000  # of a bootstrap
BLOCK = 2**21  # counts of pairs in redrawn samples that are held at a time: 16 MiB


def naive_error(values: Any) -> Any:
    """Standard error of the mean as if all pairs were independent: too small where pairs share points.

    A number for (m,) values, (k,) for (m, k); NaN for a single pair.
    """
    table = np.asarray(values, dtype=float)
    error = table.std(axis=0, ddof=1) / math.sqrt(len(table)) if len(table) > 1 else np.full(table.shape[1:], np.nan)
    return float(error) if table.ndim == 1 else error


def standard_error(values: Any, x_id: Any, reference_id: Any = None) -> Any:
    """Standard error of the mean over pairs that share points, in either place (dyadic).

    With e the deviations from the mean, the variance is the sum of e_p e_q over all couples of pairs that have a
    point in common, over m². In one pass: Σ over points (Σ e of the pairs that contain it)² − Σ over unordered
    {x, x′} (Σ e of the pairs made of both)².

    Small samples: deviations from the sample's own mean are too small. Were the pairs independent, or equally
    correlated in equal groups, the sum would lose the share s of its couples among all m² couples. So it is divided by
    1 − s, or by 1 / m if that is larger, where s = 1 / m (a pair by itself) + the share of couples with exactly one
    common point. Pairs without a common point then have the textbook error, and one-to-one pairs with symmetric scores
    exactly √2 times as much. The estimate of a variance can come out negative, or zero where all pairs share one point;
    then the larger of the naive error and of that which counts both directions of a pair as one observation stands in.

    Parameters
    ----------
    values : (m,) or (m, k)
    x_id, reference_id : (m,) which points a pair is made of, by the same numbering in both places. `reference_id` None:
        all pairs have one fixed x′ that is no draw (the average policy); given it, pairs with different x are
        independent

    Returns
    -------
    A number, or (k,); NaN for a single pair
    """
    table = np.asarray(values, dtype=float)
    if not table.size:
        raise UserError("standard_error needs at least one value; found none.")
    ends = PairIds(np.asarray(x_id), None if reference_id is None else np.asarray(reference_id))
    if len(table) != len(ends):
        raise UserError(f"standard_error needs an x_id for each of the {len(table)} values; found {len(ends)}.")
    error = ends.error(table.reshape(len(table), -1))
    return float(error[0]) if table.ndim == 1 else error.reshape(table.shape[1:])


@dataclass(frozen=True)
class PairIds:
    """The two points that each of m pairs is made of.

    x_id : (m,) anything that tells points apart; with a point for each pair all errors are naive ones
    reference_id : (m,), by the same numbering; None if the reference is one fixed point
    """

    x_id: np.ndarray
    reference_id: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.reference_id is not None and len(self.x_id) != len(self.reference_id):
            raise UserError(
                f"each pair needs an x_id and a reference_id; found {len(self.x_id)} and {len(self.reference_id)}."
            )
        for name, points in vars(self).items():
            if points is not None and pd.isna(points).any():
                raise UserError(f"each pair needs to know its points, but {name} has missing values. Leave them out.")

    @classmethod
    def of(cls, pairs: Any, numbers: Any = None) -> PairIds:
        """Read the points of `policies.PolicyPairs`, of a table with the columns row and reference_row, or of None.

        pairs : a reference_row below 0 means a fixed reference that is no row; None: each pair is a point of its own
        numbers : which pairs, in which order (default: all, as they stand); a table's column pair says which is which
        """
        if pairs is None:
            return cls(np.arange(len(numbers)))
        if not isinstance(pairs, pd.DataFrame):
            partner = -1 if pairs.reference_index is None else pairs.reference_index
            pairs = pd.DataFrame({"row": pairs.index, "reference_row": partner})
        check_columns(pairs, ["row", "reference_row"], "the table of pairs")
        frame = pairs.set_index("pair") if "pair" in pairs else pairs
        if numbers is not None:
            unknown = [number for number in numbers if number not in frame.index]
            if unknown or not frame.index.is_unique:
                found = f"no pair {unknown[0]}" if unknown else f"pair {frame.index[frame.index.duplicated()][0]} twice"
                raise UserError(f"the pairs must be those of the table, each once; found {found} among {len(frame)}.")
            frame = frame.loc[list(numbers)]
        x_id, reference_id = frame["row"].to_numpy(), frame["reference_row"].to_numpy()
        return cls(x_id, None if (reference_id < 0).all() else reference_id)

    def __len__(self) -> int:
        return len(self.x_id)

    def groups(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Numbers of the points of every pair, one array per place, and (m,) a number for its unordered {x, x′}.

        A pair made of one point twice has it once: −1 stands in the second place.
        """
        if self.reference_id is None:
            codes = pd.factorize(self.x_id)[0]
            return [codes], codes
        m = len(self.x_id)
        codes = pd.factorize(np.concatenate([self.x_id, self.reference_id]))[0]
        first, second = codes[:m], codes[m:]
        low, high = np.minimum(first, second), np.maximum(first, second)
        unordered = pd.factorize(low * (codes.max() + 1) + high)[0]
        return [first, np.where(first == second, -1, second)], unordered

    def over_groups(self, total: Callable[[Sequence[np.ndarray]], Any]) -> Any:
        """A total over points, less the same over unordered {x, x′}, as these are in the groups of both points."""
        places, unordered = self.groups()
        if len(places) == 1:
            return total(places)
        return total(places) - total([np.where(places[1] >= 0, unordered, -1)])

    def error(self, values: np.ndarray) -> np.ndarray:
        """Standard errors of the means of (m, k) values, (k,), in memory for m pairs, not for m² couples."""
        m, naive = len(values), np.asarray(naive_error(values))
        if m < 2:
            return naive
        e = np.column_stack([values - values.mean(axis=0), np.ones(m)])  # with the ones, couples are counted

        def squares(places: Sequence[np.ndarray]) -> np.ndarray:  # Σ e_p e_q over couples that have a group in common
            return (_group_sums(places, e) ** 2).sum(axis=0)

        any_point, both_points = self.over_groups(squares), squares([self.groups()[1]])
        single = any_point[-1] if self.reference_id is None else any_point[-1] - both_points[-1] + m
        least = np.maximum(naive**2, both_points[:-1] / (m * (m - 1)))
        variance = any_point[:-1] / max(m**2 - single, m)
        return np.sqrt(np.where(variance > 1e-9 * least, variance, least))


def _group_sums(places: Sequence[np.ndarray], parts: np.ndarray) -> np.ndarray:
    """Sums of each group's rows, (m, k) → (groups, k); a group's rows may stand in several places, −1 is no group."""
    codes = np.concatenate(places)
    rows = np.tile(np.arange(len(parts)), len(places))[codes >= 0]
    return np.stack([np.bincount(codes[codes >= 0], column[rows]) for column in parts.T], axis=1)


def mean(values: Any, ends: PairIds | None = None) -> Number:
    """Mean of (m,) values and its standard error."""
    table = np.asarray(values, dtype=float)
    known = ends or PairIds(np.arange(len(table)))
    return float(table.mean()), float(known.error(table[:, None])[0])


def ratio(top: Any, bottom: Any, ends: PairIds | None = None) -> Number:
    """Σ top / Σ bottom over (m,) pairs, and its standard error: that of the mean of top − ratio · bottom (delta)."""
    over, under = np.asarray(top, dtype=float), np.asarray(bottom, dtype=float)
    value = float(over.sum() / under.sum())
    return value, mean(over - value * under, ends)[1] / abs(float(under.mean()))


def correlation(a: Any, b: Any, ends: PairIds | None = None) -> Number:
    """Pearson's correlation of (m,) values, and its standard error by the jackknife over points.

    Each point is left out once, with all pairs that contain it. A pair goes with either of its points, so what both
    directions of it change when they alone are left out is taken off again, as in `standard_error`. NaN if a point
    is in all pairs but one, or in all.
    """
    x, y = (np.asarray(part, dtype=float) - np.mean(part) for part in (a, b))
    sums = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    value = float(_correlation(sums.sum(axis=0, keepdims=True))[0])
    alone = np.arange(len(x))
    known = ends or PairIds(alone)

    def left_out(places: Sequence[np.ndarray]) -> float:
        """Σ over groups of (correlation without the group − correlation)², less a share for the loss of one group."""
        parts = _group_sums(places, sums)
        spread = ((_correlation(sums.sum(axis=0) - parts) - value) ** 2).sum()
        return float((len(parts) - 1) / max(len(parts), 1) * spread)

    variance = known.over_groups(left_out)
    least = max(left_out([known.groups()[1]]), left_out([alone]))
    return value, math.sqrt(least if variance <= 1e-9 * least else variance)


def _correlation(sums: np.ndarray) -> np.ndarray:
    """Correlation from (groups, 6) sums of 1, x, y, x², y², xy."""
    m, x, y, xx, yy, xy = sums.T
    m = np.where(m > 1.5, m, np.nan)  # fewer than two pairs have none
    with np.errstate(invalid="ignore", divide="ignore"):
        return (xy - x * y / m) / np.sqrt((xx - x * x / m) * (yy - y * y / m))


def mean_test(
    values: Any, ends: PairIds | None = None, level: float = 0.95
) -> tuple[float, float, float, float, float]:
    """Mean of (m,) values, its standard error, an interval and the two-sided p-value against 0.

    Student's t with one degree of freedom less than there are points (x and x′ counted once), or pairs.
    """
    from scipy.stats import t

    _check_level(level)
    known = ends or PairIds(np.arange(len(values)))
    value, se = mean(values, known)
    units = min(len(known), 1 + max(int(codes.max()) for codes in known.groups()[0]))
    if not se > 0 or units < 2:
        return value, se, np.nan, np.nan, np.nan
    half = float(t.ppf((1 + level) / 2, units - 1)) * se
    return value, se, value - half, value + half, float(2 * t.sf(abs(value) / se, units - 1))


def holm_adjusted(chances: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values, (k,); NaN stays NaN and counts as a test.

    Of k true zeros one or more has a value of at most 0.05 with a probability of at most 0.05.
    """
    order = np.argsort(chances, kind="stable")  # NaN last
    scaled = chances[order] * (len(chances) - np.arange(len(chances)))
    result = np.empty(len(chances))
    result[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return result


def bootstrap_error(
    values: Any, statistic: Callable[[np.ndarray], float], ends: PairIds | None = None, draws: int = 400, seed: int = 0
) -> Number:
    """A statistic of (m,) or (m, k) values and its bootstrap standard error, for what has no formula.

    Points are drawn with replacement; a pair counts as often as its two points were drawn, multiplied. That has
    the right covariance for pairs with one common point, and three times the variance of a pair by itself
    (Owen and Eckles 2012). So twice the variance that drawing pairs gives is taken off.
    """
    table = np.asarray(values, dtype=float)
    places, unordered = (ends or PairIds(np.arange(len(table)))).groups()
    variances = []
    for groups in ([unordered], places)[: len(places)]:
        spread = [statistic(np.repeat(table, row, axis=0)) for row in _counts(groups, draws, seed) if row.sum() > 1]
        variances.append(float(np.nanvar(spread, ddof=1)))
    alone = variances[0] if len(places) == 1 else max(variances[0], variances[1] - 2 * variances[0])
    return float(statistic(table)), math.sqrt(alone)


def _counts(places: Sequence[np.ndarray], draws: int, seed: int | np.random.Generator) -> np.ndarray:
    """How often each pair counts, (draws, m), if groups are drawn with replacement; product over the places."""
    points = 1 + max(int(codes.max()) for codes in places)
    drawn = np.random.default_rng(seed).multinomial(points, np.full(points, 1 / points), size=draws)
    counts = np.ones((draws, len(places[0])), dtype=int)
    for codes in places:
        counts *= np.where(codes >= 0, drawn[:, codes], 1)
    return counts


def summary(
    table: Any,
    pairs: Any = None,
    differences: Sequence[tuple[str, str]] = (),
    *,
    value: str = "abc_per_feature",
    bootstrap: int = DRAWS,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Mean, standard error, bootstrap interval, median and share of wins per mode and method, and paired differences.

    Parameters
    ----------
    table : a `Comparison`, or its table
    pairs : who is paired with whom: what a policy returned, or a table with the columns pair, row and reference_row.
        With it `se` counts shared points (`standard_error`) and the bootstrap draws points; without it both are naive:
        they take the pairs for independent
    differences : pairs of methods; "a − b" is added where the table has both
    value : the column to summarise
    bootstrap : draws of the interval; 0: none

    Returns
    -------
    DataFrame: mode, method, mean, se, low, high, pairs, wins, median. `wins` is the share of pairs in which no other
    attribution method has a larger value ("best" and "expected" do not take part); missing for differences
    """
    if hasattr(table, "points") and hasattr(table, "table"):  # a Comparison knows which points its pairs share
        table, pairs = table.table, table.points if pairs is None else pairs
    check_columns(table, ["pair", "method", "mode", value], "the table")
    check_seed(seed)
    require_integer("bootstrap", bootstrap, 0)
    _check_level(level)
    if any(isinstance(couple, str) or len(couple) != 2 for couple in differences):
        raise UserError(f"differences must be pairs of methods, [(a, b), …]; found {differences!r}.")
    for name in (name for couple in differences for name in couple):
        require_one_of("a method in differences", name, sorted(set(table["method"])))
    if table.duplicated(["pair", "method", "mode"]).any():
        raise UserError("summary needs each method once for each pair and mode; found some twice. Renumber the pairs.")
    parts = []
    for mode, rows in table.groupby("mode", sort=False):
        wide = rows.pivot_table(index="pair", columns="method", values=value, dropna=False)
        wide = wide[list(dict.fromkeys(rows["method"]))]
        rivals = wide.drop(columns=list(REFERENCES), errors="ignore")
        wins = rivals.eq(rivals.max(axis=1), axis=0).mean()
        for a, b in differences:
            if a in wide and b in wide:
                wide[f"{a} − {b}"] = wide[a] - wide[b]
        ends, numbers = PairIds.of(pairs, wide.index), wide.to_numpy(dtype=float)
        se, columns = ends.error(numbers), wide.columns.to_list()
        low, high = _interval(numbers, se, ends, bootstrap, level, seed) if bootstrap else (np.nan, np.nan)
        found = {"mode": mode, "method": columns, "mean": numbers.mean(axis=0), "se": se, "low": low, "high": high}
        more = {"pairs": len(wide), "wins": wins.reindex(columns).to_numpy(), "median": np.median(numbers, axis=0)}
        parts.append(pd.DataFrame({**found, **more}))
    return pd.concat(parts, ignore_index=True)


def check_columns(table: pd.DataFrame, needed: Sequence[str], what: str) -> None:
    """Refuse a table without rows, or without one of these columns."""
    if not isinstance(table, pd.DataFrame):
        raise UserTypeError(f"{what} must be a data frame, as from insdel.compare; found {type(table).__name__}.")
    missing = [name for name in needed if name not in table]
    if missing or not len(table):
        kinds = ", ".join(map(str, table.columns)) or "none"
        raise UserError(f"{what} needs rows and the columns {', '.join(needed)}; found {len(table)} rows of {kinds}.")


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise UserError(f"level must lie between 0 and 1, such as 0.95; found {level}.")


def _interval(
    values: np.ndarray, se: np.ndarray, ends: PairIds, draws: int, level: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bootstrap interval of the (m, k) columns' means, (k,) low and high; all columns are drawn together.

    Means of drawn points spread too much (see `bootstrap_error`), so their distances from the mean are scaled: the
    bootstrap gives the interval its shape, the standard error its width.
    """
    places = ends.groups()[0]
    generator, means = np.random.default_rng(seed), np.empty((0, values.shape[1]))
    size = max(1, BLOCK // max(1, len(values)))  # at a time, so that memory does not grow with the draws
    for start in range(0, draws, size):
        weights = _counts(places, min(size, draws - start), generator)
        weights = weights[weights.sum(axis=1) > 0]
        means = np.concatenate([means, weights @ values / weights.sum(axis=1, keepdims=True)])
    center, edges = values.mean(axis=0), [(1 - level) / 2, (1 + level) / 2]
    if len(places) == 2 and len(means) > 1:
        spread = means.std(axis=0, ddof=1)
        means = center + (means - center) * np.divide(se, spread, out=np.ones_like(se), where=spread > 0)
    low, high = np.quantile(means, edges, axis=0)
    return low, high


def plus_minus(value: float, se: float, digits: int | None = None, sign: str = "") -> str:
    """ "value ± se" that no line break can part; empty for NaN.

    digits : after the point; by default so many that the error has two digits
    sign : "+" writes the sign of positive values, too
    """
    if math.isnan(value):
        return ""
    if digits is None:
        digits = max(0, 1 - math.floor(math.log10(se))) if se > 0 else 2
        if digits > 7:
            return f"{value:{sign}.2g}\u00a0±\u00a0{se:.1g}"
    return f"{value:{sign},.{digits}f}\u00a0±\u00a0{se:.{digits}f}"
