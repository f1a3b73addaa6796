"""Standard errors that know shared points: against a double sum, closed forms and simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import insdel
from insdel import UserError, policies, stats, summary
from insdel.stats import PairIds, naive_error, standard_error


def double_sum(values: np.ndarray, x: np.ndarray, reference: np.ndarray) -> float:
    """Σ e_p e_q over couples of pairs that share a point, as the formula says, over m² less its small-sample share."""
    e, m = values - values.mean(), len(values)
    total, single = 0.0, 0
    for p, q in itertools.product(range(m), repeat=2):
        common = {x[p], reference[p]} & {x[q], reference[q]}
        total += e[p] * e[q] * bool(common)
        single += bool(common) and {x[p], reference[p]} != {x[q], reference[q]}
    return total / (m**2 - m - single)


@pytest.mark.parametrize("seed", range(6))
def test_error_is_that_of_the_double_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, points = 60, 25
    x, reference = rng.integers(points, size=m), rng.integers(points, size=m)
    effect = rng.normal(size=points)
    values = effect[x] + effect[reference] + 0.3 * rng.normal(size=m)
    expected = double_sum(values, x, reference)
    assert expected > 0
    assert standard_error(values, x, reference) == pytest.approx(np.sqrt(expected))
    names = np.array([f"house {k}" for k in range(points)])
    assert standard_error(values, names[x], names[reference]) == pytest.approx(np.sqrt(expected))


def test_columns_are_done_together_and_alone() -> None:
    rng = np.random.default_rng(0)
    x, reference, values = rng.integers(9, size=40), rng.integers(9, size=40), rng.normal(size=(40, 3))
    both = standard_error(values, x, reference)
    assert both.shape == (3,) and both == pytest.approx([standard_error(v, x, reference) for v in values.T])
    assert naive_error(values) == pytest.approx(pd.DataFrame(values).sem().to_numpy())


def test_one_to_one_pairs_with_symmetric_scores_have_exactly_root_two_times_the_naive_error() -> None:
    pairs = policies.one_to_one(np.random.default_rng(0).normal(size=(20, 3)))
    score = np.asarray(pairs.x)[:, 0] + np.asarray(pairs.reference)[:, 0]
    error = standard_error(score, pairs.index, pairs.reference_index)
    assert error == pytest.approx(np.sqrt(2) * naive_error(score), rel=1e-12)


def test_pairs_without_a_common_point_have_the_textbook_error() -> None:
    values = np.random.default_rng(0).normal(size=12)
    assert standard_error(values, range(12), range(12, 24)) == pytest.approx(naive_error(values))
    assert standard_error(values, range(12)) == pytest.approx(naive_error(values))  # one fixed reference


def test_with_a_fixed_reference_the_same_x_twice_is_one_observation() -> None:
    values = np.random.default_rng(0).normal(size=12)
    assert standard_error(np.tile(values, 2), [*range(12)] * 2) == pytest.approx(naive_error(values))


@pytest.mark.filterwarnings("error")
def test_a_variance_that_is_no_variance_falls_back_to_the_larger_simple_one() -> None:
    values = np.array([1.0, -1.0, 1.0, -1.0])
    assert double_sum(values, np.array([0, 0, 1, 1]), np.array([2, 3, 3, 2])) < 0
    assert standard_error(values, [0, 0, 1, 1], [2, 3, 3, 2]) == pytest.approx(naive_error(values))
    for shared in np.random.default_rng(0).normal(size=(20, 9)):  # one x′ for all: its part of the spread is not seen
        assert standard_error(shared, range(9), [100] * 9) == pytest.approx(naive_error(shared))


def test_small_and_wrong_input() -> None:
    assert np.isnan(standard_error([1.0], [0], [1])) and np.isnan(naive_error([1.0]))
    assert standard_error([2.0, 2.0, 2.0], [0, 1, 2], [1, 2, 0]) == 0
    with pytest.raises(ValueError, match="for each of the 2 values; found 3"):
        standard_error([1.0, 2.0], [0, 1, 2], [3, 4, 5])
    for given, said in ((([1.0, 2.0], [0, 1], [3, 4, 5]), "found 2 and 3"), (([], [], []), "at least one value"),
                        (([1.0, 2.0], [1, np.nan], [3, 4]), "missing values")):  # fmt: skip
        with pytest.raises(UserError, match=said):
            standard_error(*given)


def test_memory_is_that_of_the_pairs() -> None:
    rng = np.random.default_rng(0)
    m = 200_000  # m² couples would be 320 GB
    x, reference = rng.integers(m // 4, size=m), rng.integers(m // 4, size=m)
    assert standard_error(rng.normal(size=m), x, reference) > 0


def f(z: np.ndarray) -> np.ndarray:
    """A function with interactions, (m, 6) → (m,)."""
    return np.asarray(np.exp(z[:, 0] / 2) + np.tanh(z[:, 1] + z[:, 2]) + z[:, 3] * z[:, 4] / 2 + z[:, 0] * z[:, 5] / 2)


def draw(points: int, rng: np.random.Generator) -> tuple[np.ndarray, policies.PolicyPairs]:
    """Counterfactual pairs of points from a known population, and how much the prediction changes in each."""
    pairs = policies.counterfactual(f, rng.normal(size=(points, 6)), all_differ=True)
    return np.abs(f(np.asarray(pairs.reference)) - f(np.asarray(pairs.x))), pairs


def test_intervals_cover_as_often_as_they_say_and_naive_ones_do_not() -> None:
    rng, rows = np.random.default_rng(1), []
    for _ in range(250):
        pairs = draw(120, rng)[1]
        order = insdel.order(insdel.explain("kernel_shap", f, pairs.x, pairs.reference))
        values = np.asarray(insdel.abc(insdel.curve(f, pairs.x, pairs.reference, order), per_feature=True))
        known = standard_error(values, pairs.index, pairs.reference_index)
        rows.append((values.mean(), known, naive_error(values)))
    means, known, naive = np.array(rows).T
    covered, less = (float((abs(means - means.mean()) < 1.96 * error).mean()) for error in (known, naive))
    assert 0.92 <= covered <= 0.97 and less < 0.88
    assert known.mean() == pytest.approx(means.std(), rel=0.15)


def test_ratio_is_that_of_the_sums_with_the_spread_of_redrawn_samples() -> None:
    rng, found, errors = np.random.default_rng(2), [], []
    for _ in range(300):
        values, pairs = draw(150, rng)
        value, se = stats.ratio(values, 1 + values, PairIds.of(pairs))
        found.append(value)
        errors.append(se)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.15)
    assert stats.ratio([1.0, 3.0], [2.0, 6.0])[0] == 0.5


def test_correlation_has_the_textbook_error_and_counts_both_directions_once() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    y = 0.6 * x + 0.8 * rng.normal(size=3000)
    r, se = stats.correlation(x, y)
    assert r == pytest.approx(np.corrcoef(x, y)[0, 1]) and se == pytest.approx((1 - r**2) / np.sqrt(3000), rel=0.1)
    left, right = np.arange(3000), np.arange(3000, 6000)
    both = PairIds(np.concatenate([left, right]), np.concatenate([right, left]))
    assert stats.correlation(np.tile(x, 2), np.tile(y, 2), both) == pytest.approx((r, se), rel=1e-3)
    assert stats.correlation(x, y, PairIds(left, right)) == pytest.approx((r, se), rel=1e-3)


@pytest.mark.filterwarnings("error")
def test_correlation_error_is_unknown_if_a_point_is_in_nearly_all_pairs() -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 5))
    value, se = stats.correlation(x, y, PairIds(np.array([0, 0, 0, 0, 5]), np.array([1, 2, 3, 4, 6])))
    assert np.isfinite(value) and np.isnan(se)  # without point 0 there is one pair left
    assert np.isnan(stats.correlation(x[:2], y[:2])[1])


def test_correlation_error_is_the_spread_of_redrawn_samples() -> None:
    rng, found, errors, naive = np.random.default_rng(3), [], [], []
    for _ in range(250):
        values, pairs = draw(200, rng)
        other = values + np.asarray(pairs.reference)[:, 1]
        value, se = stats.correlation(values, other, PairIds.of(pairs))
        found.append(value)
        errors.append(se)
        naive.append(stats.correlation(values, other)[1])
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.2)
    assert np.mean(naive) < 0.85 * np.std(found)


def test_bootstrap_error_of_a_mean_is_the_standard_error() -> None:
    values, pairs = draw(300, np.random.default_rng(4))
    ends = PairIds.of(pairs)
    value, se = stats.bootstrap_error(values, np.mean, ends, draws=1500)
    assert value == pytest.approx(values.mean())
    assert se == pytest.approx(standard_error(values, pairs.index, pairs.reference_index), rel=0.2)
    assert stats.bootstrap_error(values, np.mean)[1] == pytest.approx(naive_error(values), rel=0.15)


def table_of(values: np.ndarray) -> pd.DataFrame:
    """A comparison of two methods in which the second is lower by 1."""
    rows = {"pair": np.tile(np.arange(len(values)), 2), "method": np.repeat(["a", "b"], len(values))}
    return pd.DataFrame({**rows, "mode": "insertion", "abc_per_feature": np.concatenate([values, values - 1])})


def test_summary_counts_shared_points_if_it_is_told_of_them() -> None:
    values, pairs = draw(120, np.random.default_rng(5))
    table = table_of(values)
    plain = summary(table).set_index("method")
    known = summary(table, pairs, [("a", "b")]).set_index("method")
    assert plain.loc["a", "se"] == pytest.approx(naive_error(values))
    assert plain.loc["a", "high"] - plain.loc["a", "low"] == pytest.approx(2 * 1.96 * naive_error(values), rel=0.1)
    assert plain.loc["a", "low"] < values.mean() < plain.loc["a", "high"]
    left_out = summary(table, bootstrap=0)
    assert left_out["low"].isna().all() and left_out["se"].tolist() == plain["se"].tolist()
    assert known.loc["a", "se"] == pytest.approx(standard_error(values, pairs.index, pairs.reference_index))
    assert known.loc["a", "se"] > 1.15 * plain.loc["a", "se"]
    assert list(known.loc["a − b", ["mean", "se"]]) == pytest.approx([1, 0], abs=1e-9)
    assert known.loc["a", "median"] == np.median(values) and known.loc["a", "wins"] == 1
    width = known["high"] - known["low"]
    assert width["a"] == pytest.approx(2 * 1.96 * known.loc["a", "se"], rel=0.1)
    assert known.loc["a", "low"] < values.mean() < known.loc["a", "high"]


def test_summary_takes_pairs_as_a_table_in_any_order() -> None:
    values, pairs = draw(60, np.random.default_rng(6))
    frame = pd.DataFrame({"pair": range(60), "row": pairs.index, "reference_row": pairs.reference_index})
    assert summary(table_of(values), frame.sample(frac=1, random_state=0)).equals(summary(table_of(values), pairs))
    average = frame.assign(reference_row=-1)
    assert summary(table_of(values), average)["se"].tolist() == pytest.approx(summary(table_of(values))["se"].tolist())


def test_plus_minus() -> None:
    assert stats.plus_minus(1.23456, 0.0123) == "1.235\u00a0±\u00a00.012"
    assert stats.plus_minus(1.2, 0.31, 1) == "1.2\u00a0±\u00a00.3" and stats.plus_minus(float("nan"), 1.0) == ""
    assert stats.plus_minus(0.25, 0.0) == "0.25\u00a0±\u00a00.00"
    assert stats.plus_minus(0.25, 0.1, 2, "+") == "+0.25\u00a0±\u00a00.10"
    assert stats.plus_minus(2e-9, 1e-9) == "2e-09\u00a0±\u00a01e-09"


def test_holm_judges_all_at_once() -> None:
    def differ(margins: list[float]) -> list[bool]:
        return (stats.holm_adjusted(2 * norm.sf(np.abs(margins))) <= 0.05).tolist()

    assert differ([5.0, -4.0, 0.5]) == [True, True, False]
    assert differ([2.1]) == [True] and not any(differ([2.1] * 10))
    assert differ([]) == []
    noise = np.random.default_rng(0).normal(size=(2000, 20))
    assert np.mean([any(differ(row)) for row in noise]) == pytest.approx(0.05, abs=0.015)


SMALL = pd.DataFrame({"pair": [0, 1], "method": "a", "mode": "insertion", "abc_per_feature": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("table", "pairs", "said"),
    [
        (SMALL[:0], None, "needs rows"),
        (SMALL.drop(columns="abc_per_feature"), None, "needs rows and the columns pair, method, mode, abc_per_feature"),
        (pd.concat([SMALL, SMALL]), None, "some twice"),  # as when two comparisons are put together
        (SMALL, pd.DataFrame({"pair": [0], "row": [1], "reference_row": [2]}), "no pair 1 among 1"),
        (SMALL, pd.DataFrame({"pair": [0, 1, 1], "row": [1, 2, 3], "reference_row": [4, 5, 6]}), "pair 1 twice"),
        (SMALL, pd.DataFrame({"pair": [0, 1], "row": [1, 2]}), "columns row, reference_row"),
        (SMALL, pd.DataFrame({"row": [1, np.nan], "reference_row": [4, 5]}), "x_id has missing values"),
    ],
)
def test_a_summary_of_what_does_not_fit_is_refused(table: pd.DataFrame, pairs: pd.DataFrame, said: str) -> None:
    with pytest.raises(UserError, match=said):
        stats.summary(table, pairs)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"level": 2.0}, "level must lie"), ({"level": 0}, "level must lie"), ({"bootstrap": -1}, "bootstrap must be at least 0"),
     ({"bootstrap": 1.5}, "bootstrap must be a whole"), ({"seed": -1}, "seed must be"),
     ({"differences": "ab"}, "pairs of methods"), ({"differences": [("a", "b", "c")]}, "pairs of methods")],
)  # fmt: skip
def test_options_of_a_summary_that_mean_nothing_are_refused(options: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        stats.summary(SMALL, **options)


def test_what_is_no_table_has_no_summary_and_missing_numbers_stay_missing() -> None:
    with pytest.raises(UserError, match="data frame"):
        stats.summary([1, 2])  # type: ignore[arg-type]
    assert stats.summary(SMALL.assign(abc_per_feature=np.nan))["mean"].isna().all()


@pytest.mark.filterwarnings("error")
def test_the_bootstrap_draws_the_same_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"pair": range(50), "method": "a", "mode": "insertion", "abc_per_feature": rng.normal(size=50)})
    pairs = pd.DataFrame({"pair": range(50), "row": range(50), "reference_row": rng.integers(50, 60, 50)})
    one = insdel.summary(table, pairs, bootstrap=1)
    assert one["low"].equals(one["high"])
    whole = insdel.summary(table, pairs, bootstrap=200)
    monkeypatch.setattr(stats, "BLOCK", 50 * 7)
    pd.testing.assert_frame_equal(insdel.summary(table, pairs, bootstrap=200), whole)


@pytest.mark.parametrize("m", [3, 8])
def test_correlation_error_is_the_jackknife_of_plain_correlations(m: int) -> None:
    x, y = np.random.default_rng(5).normal(size=(2, m)) + 4
    value, se = stats.correlation(x, y)
    without = [np.corrcoef(np.delete(x, k), np.delete(y, k))[0, 1] for k in range(m)]
    assert value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert se == pytest.approx(np.sqrt((m - 1) / m * sum((r - value) ** 2 for r in without)))


def test_a_test_has_one_degree_of_freedom_less_than_there_are_points() -> None:
    """Six pairs of five points: three x, two x′."""
    ends = stats.PairIds(np.array([0, 0, 1, 1, 2, 2]), np.array([3, 4, 3, 4, 3, 4]))
    _, se, low, high, _ = stats.mean_test(np.array([1.0, 2.0, 4.0, 3.0, 5.0, 9.0]), ends)
    assert (high - low) / 2 == pytest.approx(2.7764451 * se)  # t of four degrees of freedom
