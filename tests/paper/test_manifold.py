"""Distances to the data and what is earned there: closed forms and second implementations."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import insdel
from insdel_paper.data.cern import NAMES
from insdel_paper.data.simulate_cern import simulate
from insdel_paper.studies import manifold
from insdel_paper.studies.experiments import prepare
from insdel_paper.studies.manifold import (
    Ruler,
    amenities_apart,
    hybrids,
    judged,
    limit,
    momentum_gap,
    nearest,
    off_manifold_share,
)

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two pairs of few events, with a network that hardly learned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INSDEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield prepare("cern", source="simulated", policy="one_to_one", rows=200, epochs=1, n_pairs=2)


@pytest.fixture(scope="module")
def ruler(small):
    return Ruler.of(small)


@pytest.fixture(scope="module")
def steps(small, ruler):
    return manifold.walks(small, ruler, chunk=1, progress=False)


def test_nearest_is_nearest():
    points, rows = RNG.normal(size=(700, 5)).astype(np.float32), RNG.normal(size=(90, 5)).astype(np.float32)
    wanted = cdist(points, rows)
    row, distance = nearest(points, rows)
    assert np.array_equal(row, wanted.argmin(axis=1))
    np.testing.assert_allclose(distance, wanted.min(axis=1), rtol=1e-5)
    row, distance = nearest(rows, rows)
    assert np.array_equal(row, np.arange(90)) and (distance == 0).all()
    np.fill_diagonal(others := cdist(rows, rows), np.inf)
    np.testing.assert_allclose(nearest(rows, rows, 1)[1], others.min(axis=1), rtol=1e-5)


def test_events_have_no_momentum_gap_and_what_is_added_is_the_gap():
    events = simulate(50)[list(NAMES)].to_numpy()
    assert momentum_gap(events).max() < 1e-9
    events[:, NAMES.index("E2")] += 3
    events[:, NAMES.index("pz2")] -= 4
    events[:, NAMES.index("px1")] += 1  # the other electron's gap is smaller
    np.testing.assert_allclose(momentum_gap(events), 5)


def test_sixteen_hybrids_of_two_events_obey_physics():
    x, reference = simulate(2)[list(NAMES)].to_numpy()
    taken = np.array(list(product([False, True], repeat=14)))
    kinematic = [j for j, name in enumerate(NAMES) if not name.startswith("Q")]
    points = np.tile(x, (len(taken), 1))
    points[:, kinematic] = np.where(taken, reference[kinematic], x[kinematic])
    assert (momentum_gap(points) < 1e-9).sum() == 4  # times four for the charges, which no identity contains


def test_amenities_apart_counts_from_the_most_similar_row():
    points, rows = RNG.integers(0, 2, (40, 9)), RNG.integers(0, 2, (25, 9))
    wanted = [[(a != b).sum() for b in rows] for a in points]
    assert np.array_equal(amenities_apart(points, rows), np.min(wanted, axis=1))


def test_relative_distances_are_in_units_of_the_spacing():
    rows = np.array([[0.0], [1.0], [2.0], [10.0], [14.0]], dtype=np.float32)
    measured = Ruler(rows, lambda points: points[:, 0]).measure(np.array([[0.25], [15.0], [2.0], [0.25]]))
    np.testing.assert_allclose(measured["distance"], [0.25, 1, 0, 0.25])
    np.testing.assert_allclose(measured["relative"], [0.25, 0.25, 0, 0.25])
    np.testing.assert_allclose(measured["violation"], [0.25, 15, 2, 0.25])


def test_rulers_measure_what_their_data_asks_for(small, ruler):
    rows, again = small.split.x_train, ruler.measure(small.split.x_train[:9])
    assert len(ruler.rows) == len(np.unique(rows, axis=0)) and (again["distance"] == 0).all()
    assert ruler.measure(small.x_test)["violation"].max() < 1e-3  # single precision
    raw = small.x_test * small.split.scale + small.split.mean
    np.testing.assert_allclose(ruler.violation(small.x_test), momentum_gap(raw))
    assert limit(pd.DataFrame({"relative": range(101)}), level=0.9) == 90


def test_hybrids_are_the_points_of_the_curve(small):
    x, reference = small.pairs.x, small.pairs.reference
    orders = np.stack([RNG.permutation(16), RNG.permutation(16)])
    points = hybrids(x, reference, orders)
    values = insdel.evaluate.predict(small.model, points.reshape(-1, 16)).reshape(2, 17)
    np.testing.assert_allclose(values, insdel.curve(small.model, x, reference, orders), rtol=1e-6)


def test_walks_are_those_of_the_methods(small, steps):
    x, reference = small.pairs.x, small.pairs.reference
    assert len(steps) == 2 * 4 * 2 * 17 and not steps.duplicated(["pair", "method", "mode", "step"]).any()
    for mode in insdel.curves.MODES:
        walk = steps.query("method == 'integrated_gradients' and mode == @mode")
        orders = insdel.order(insdel.explain("integrated_gradients", small.model, x, reference), mode)
        assert np.array_equal(walk.query("step > 0")["feature"].to_numpy().reshape(2, 16), orders)
        wanted = insdel.curve(small.model, x, reference, orders)
        np.testing.assert_allclose(walk["value"].to_numpy().reshape(2, 17), wanted, rtol=1e-4)
    moves = steps.assign(moved=~steps["feature"].isin([-1, NAMES.index("Q1"), NAMES.index("Q2")]))
    moved = moves.groupby(["pair", "method", "mode"])["moved"].cumsum()
    whole = moved.isin([0, 14])  # all momenta are still those of x, or are those of x′: charges break no law
    assert steps[whole]["violation"].max() < 1e-3 < steps[~whole]["violation"].min()


def test_what_points_add_makes_up_the_area(steps, ruler, small):
    inner = judged(steps, ruler.measure(small.x_test))
    areas = inner.groupby(["method", "mode", "pair"])["excess"].sum()
    for (method, mode, pair), part in steps.groupby(["method", "mode", "pair"]):
        wanted = insdel.abc(part.sort_values("step")["value"].to_numpy(), mode, per_feature=True)
        assert areas[method, mode, pair] == pytest.approx(wanted, abs=1e-4)
    best, shap = (areas[name]["insertion"].mean() for name in ("best", "kernel_shap"))
    assert best >= shap


@pytest.fixture
def told():
    """Two pairs, two methods, four steps: straight lines from 0 to 4, raised where a point adds something."""
    raised = {("a", 0): [0, 4, 8, 0, 0], ("a", 1): [0, 0, 4, 0, 0], ("b", 0): [0, 2, 2, 0, 0], ("b", 1): [0] * 5}
    rows = [
        {"policy": "p", "method": method, "mode": "insertion", "pair": pair, "step": step, "value": step + up,
         "relative": 5.0 if step == 2 else 1.0, "distance": 1.0, "violation": 2.0 * step}
        for (method, pair), walk in raised.items() for step, up in enumerate(walk)
    ]  # fmt: skip
    return pd.DataFrame(rows), pd.DataFrame({"relative": np.linspace(0, 2, 101)})


def test_the_share_of_the_area_that_is_earned_off(told):
    inner = judged(*told)
    assert len(inner) == 4 * 3 and set(inner.loc[inner["off"], "step"]) == {2}
    row = off_manifold_share(inner).loc[("p", "a", "insertion")]
    assert row["off"] == pytest.approx(1 / 3) and row["off_se"] == 0 and row["far"] == 1
    assert row["abc"] == pytest.approx((3 + 1) / 2) and row["abc_off"] == pytest.approx((2 + 1) / 2)
    assert row["share"] == pytest.approx(3 / 4) and row["violation"] == 4
    assert row["even"] == pytest.approx(1 / 3)  # both walks are off at one of three points
    far = inner.assign(off=inner["off"] | (inner["pair"] == 0))  # now the walk with the larger area is off throughout
    assert off_manifold_share(far).loc[("p", "a", "insertion"), "even"] == pytest.approx((1 * 3 + 1 / 3 * 1) / 4)
    never = inner.assign(off=inner["off"] & (inner["pair"] == 0))
    assert off_manifold_share(never).loc[("p", "a", "insertion"), "far"] == 0.5
    assert row["share_se"] == pytest.approx(np.std([2 - 9 / 4, 1 - 3 / 4], ddof=1) / np.sqrt(2) / 2)


def test_rankings_with_and_without_points_off(told):
    row = manifold.ranking(judged(*told), "a", "b").loc[("p", "insertion")]
    assert row["all"] == pytest.approx((3 - 1 + 1 - 0) / 2)
    assert row["on"] == pytest.approx((1 - 0.5 + 0 - 0) / 2)
    assert row["on_se"] == pytest.approx(np.std([0.5, 0], ddof=1) / np.sqrt(2))


def test_profiles_are_quartiles_over_pairs(told):
    found = manifold.profile(told[0], "value").query("method == 'a'").set_index("step")
    assert found.loc[1, "median"] == 3 and found.loc[2, "low"] == 7 and found.loc[2, "high"] == 9


def test_the_tail_holds_every_pair_once(small, ruler):
    found = manifold.tail(small, ruler, pairings=2, samples=64, progress=False)
    assert len(found) == 2 * len(small.x_test) // 2
    for _, part in found.groupby("pairing"):
        assert sorted([*part["row"], *part["reference_row"]]) == list(range(len(small.x_test)))
    row = found.iloc[3]
    there = manifold.chosen_pairs(small, [int(row["row"])], [int(row["reference_row"])])
    A = insdel.explain("kernel_shap", small.model, there.pairs.x, there.pairs.reference, samples=2**16)
    exact = insdel.curve(small.model, there.pairs.x, there.pairs.reference, insdel.order(A))[0]
    assert row["f_x"] == pytest.approx(exact[0]) and row["f_reference"] == pytest.approx(exact[-1])
    assert row["insertion"] == pytest.approx(insdel.abc(exact, per_feature=True), rel=0.1)
    few = manifold.extremes(found).set_index("what")["insertion"]
    assert few["of one pairing"] == found.query("pairing == 0")["insertion"].max()
    assert few["of all pairings"] == found["insertion"].max()


def test_both_masses_are_the_event_s_at_the_ends_and_differ_between(small, steps):
    walks = manifold.with_masses(steps, small)
    assert len(walks) == len(steps)
    truth = {True: small.pairs.index, False: small.pairs.reference_index}
    for (pair, _, _), walk in walks.groupby(["pair", "method", "mode"], observed=True):
        walk = walk.sort_values("step")
        for at, which in ((0, True), (-1, False)):
            mass = small.y_test[truth[which][pair]]
            both = walk.iloc[at][["M from E and p", "M from pt, η, φ"]].to_numpy(float)
            assert both == pytest.approx([mass, mass], rel=2e-3)
        inner = walk[walk["violation"] > 1]
        assert (inner["M from E and p"] - inner["M from pt, η, φ"]).abs().max() > 0.1
