"""Casting, interpolating and jumping side by side: closed forms, second implementations, counts, records."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau, spearmanr

import insdel
from insdel_paper.studies import binary_ig
from insdel_paper.studies.binary_ig import Plan, agreeing, areas, bend, costs, line, rank_correlation, study

BINARY = [0, 1, 2]
PLAN = Plan(steps=40, nodes=8, samples=12, largest=5)


def bumpy(z):
    """Multilinear in three binary and two other features, plus a bump that is zero at 0 and at 1."""
    bump = 3 * z[:, 0] * (1 - z[:, 0]) * z[:, 3]
    return 2 * z[:, 0] + z[:, 1] * z[:, 3] - z[:, 0] * z[:, 2] * z[:, 4] + z[:, 3] + bump


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.integers(0, 2, (9, 3)), rng.normal(size=(9, 2))], axis=1)
    other = np.concatenate([1 - x[:, :3], rng.normal(size=(9, 2))], axis=1)
    return x, other


@pytest.fixture(scope="module")
def table(points):
    return study(bumpy, *points, BINARY, PLAN, chunk=4, progress=False)


def test_errors_are_those_of_the_attributions(points, table):
    exact = insdel.explain("kernel_shap", bumpy, *points)
    for name, method, options in (
        ("casting", "integrated_gradients", {"steps": 40}),
        ("jumping", "ig_jump", {"binary": BINARY, "steps": 40}),
        ("interpolating", "ig_interpolated", {"binary": BINARY, "steps": 8}),
    ):
        error = np.abs(insdel.explain(method, bumpy, *points, **options) - exact)
        rows = table[table["method"] == name]
        np.testing.assert_allclose(rows["error"], error.sum(axis=1), atol=1e-9)
        np.testing.assert_allclose(rows["error_binary"], error[:, :3].sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(table.loc[table["method"] == "exact", "size"], np.abs(exact).sum(axis=1))


def test_only_casting_sees_the_bump(table):
    error = table.groupby("method")["error"].sum()
    assert error["exact"] == pytest.approx(0, abs=1e-9)
    assert error["interpolating"] == pytest.approx(0, abs=1e-9)  # without the bump the function is multilinear
    assert error["casting"] > 1


def test_exact_values_have_the_exact_order_and_areas(points, table):
    exact = table[table["method"] == "exact"]
    assert exact["same_order"].all() and np.allclose(exact[["rank_correlation", "agreeing"]], 1)
    lattices = insdel.lattices(bumpy, *points, progress=False)
    wanted = [lat.abc(insdel.order(lat.shapley(), "deletion"), "deletion") / 5 for lat in lattices]
    np.testing.assert_allclose(exact["deletion"], wanted)


def test_what_is_asked_is_counted(table):
    spent = table.groupby("method")[["gradients", "predictions"]].mean()
    assert tuple(spent.loc["casting"]) == (40, 0) and tuple(spent.loc["exact"]) == (0, 2**5)
    assert tuple(spent.loc["jumping"]) == (40, 2**3) and tuple(spent.loc["sampled"]) == (0, 12)
    assert spent.loc["interpolating", "gradients"] == pytest.approx(8 * 2**3 + 1)  # and f(x) once
    assert costs(table).loc["casting", "evaluations"] == 80


def test_between_the_ends_interpolating_sees_the_mean_over_corners(points):
    x, other = points
    cast, between = line(bumpy, x, other, BINARY, (0.0, 0.3, 1.0))
    ends = [bumpy(torch.from_numpy(end)) for end in points]
    for found in (cast, between):
        np.testing.assert_allclose(found[:, 0], ends[0])
        np.testing.assert_allclose(found[:, 2], ends[1])
    at = x + 0.3 * (other - x)
    np.testing.assert_allclose(between[:, 1], bumpy(at) - 3 * at[:, 0] * (1 - at[:, 0]) * at[:, 3])
    np.testing.assert_allclose(cast[:, 1], bumpy(at))
    t = np.array(binary_ig.BEND_NODES)
    gap = np.abs(3 * t * (1 - t) * (x[:, 3:4] + t * (other - x)[:, 3:4]))
    np.testing.assert_allclose(bend(bumpy, x, other, BINARY), gap.mean(axis=1))


def test_orders_are_compared_as_scipy_does():
    rng = np.random.default_rng(1)
    for _ in range(5):
        a, b = rng.normal(size=(2, 7))
        assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
        assert agreeing(a, b) == pytest.approx((1 + kendalltau(a, b).statistic) / 2)
    assert np.isnan(rank_correlation(np.ones(3), np.arange(3.0))) and np.isnan(agreeing(np.ones(1), np.ones(1)))


def test_pairs_that_are_too_large_are_left_out(points):
    x, other = points[0], points[1].copy()
    other[[2, 5], :2] = x[[2, 5], :2]
    small = study(bumpy, x, other, BINARY, Plan(40, 8, 12, largest=3), progress=False)
    assert set(small["pair"]) == {2, 5}
    with pytest.raises(ValueError, match="no pair differs in 1 features or fewer"):
        study(bumpy, x, other, BINARY, Plan(largest=1), progress=False)


def test_tables_of_the_chapter(table):
    near = binary_ig.values_and_orders(table)
    casting = table[table["method"] == "casting"]
    assert near.loc["casting", "distance"] == pytest.approx(100 * casting["error"].sum() / casting["size"].sum())
    assert near.loc["exact", "same_order"] == 100
    score = areas(table)
    gain = table.query("method == 'exact'")["insertion"].to_numpy() - casting["insertion"].to_numpy()
    row = score.loc[("insertion", "exact")]
    assert row["gain"] == pytest.approx(gain.mean()) and row["gain_se"] == pytest.approx(gain.std(ddof=1) / 3)
    assert row["percent"] == pytest.approx(100 * gain.mean() / casting["insertion"].mean())
    assert score.loc[("deletion", "casting"), "gain"] == 0
