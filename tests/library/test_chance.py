"""All n! orders: moments and histogram against enumeration, tails against counting, closed forms."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import insdel
from insdel import chance
from insdel.examples import game, house
from insdel.lattice import LATTICE_MODES


def random_lattice(d: int, n: int, seed: int = 0) -> insdel.Lattice:
    rng = np.random.default_rng(seed)
    players = tuple(sorted(rng.choice(n, d, replace=False).tolist()))
    return insdel.Lattice(rng.normal(size=2**d), players, n)


def all_areas(lattice: insdel.Lattice, mode: str) -> np.ndarray:
    """Second implementation: every order is walked."""
    return np.asarray(lattice.abc(np.array(list(permutations(range(lattice.n)))), mode))


@pytest.mark.parametrize("mode", LATTICE_MODES)
@pytest.mark.parametrize(("d", "n"), [(0, 3), (1, 1), (1, 4), (2, 5), (4, 4), (3, 6), (5, 7), (6, 6)])
def test_moments_are_those_of_all_orders(d: int, n: int, mode: str) -> None:
    lattice = random_lattice(d, n, seed=10 * d + n)
    areas, (mean, sd) = all_areas(lattice, mode), chance.moments(lattice, mode)
    assert mean == pytest.approx(areas.mean(), abs=1e-9)
    assert sd == pytest.approx(areas.std(), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(-100, 100), st.integers(0, 3))
def test_a_constant_changes_no_spread(values: list[float], constant: float, unchanged: int) -> None:
    first, second = (insdel.Lattice(np.array(values) + c, (0, 1), 2 + unchanged) for c in (0.0, constant))
    for mode in LATTICE_MODES:
        assert chance.moments(first, mode).sd == pytest.approx(chance.moments(second, mode).sd, abs=1e-5)


def test_additive_function_has_the_variance_of_a_permutation_statistic() -> None:
    effects = np.array([3.0, -1.0, 0.5, 2.0, 0.0, -4.0])
    lattice = insdel.Lattice.evaluate(lambda z: z @ effects, np.zeros(6), np.ones(6))
    # Σ (n + 1 − p_j) a_j over random places p has the variance (n + 1) n / 12 · Σ (a_j − ā)²
    expected = 7 * 6 / 12 * ((effects - effects.mean()) ** 2).sum()
    assert chance.moments(lattice).sd ** 2 == pytest.approx(expected)
    assert chance.moments(lattice, "both").sd == pytest.approx(2 * chance.moments(lattice).sd)
    assert chance.moments(lattice).mean == pytest.approx(0)


def test_tensors_give_what_arrays_give() -> None:
    import torch

    lattice = random_lattice(4, 6)
    same = insdel.Lattice(torch.as_tensor(lattice.values), lattice.players, lattice.n)
    assert chance.moments(same, "both") == pytest.approx(chance.moments(lattice, "both"))
    assert chance.sample(same, 5)["both"] == pytest.approx(chance.sample(lattice, 5)["both"])


def test_sampled_areas_are_areas_of_orders() -> None:
    lattice = random_lattice(4, 5)
    sampled = chance.sample(lattice, 3000, seed=1)
    for mode in LATTICE_MODES:
        areas = all_areas(lattice, mode)
        gaps = np.abs(sampled[mode][:, None] - areas).min(axis=1)
        assert gaps.max() < 1e-9
        assert len(np.unique(sampled[mode].round(9))) == len(np.unique(areas.round(9)))  # every one is found
        assert sampled[mode].mean() == pytest.approx(areas.mean(), abs=5 * areas.std() / 3000**0.5)
    np.testing.assert_allclose(sampled["insertion"], -sampled["deletion"])
    assert (chance.sample(lattice, 4, seed=1)["both"] == chance.sample(lattice, 4, seed=1)["both"]).all()


def test_tail_counts_equals_and_is_never_zero() -> None:
    sampled = np.array([0.0, 1.0, 1.0, 3.0])
    found = chance.tail(sampled, np.array([4.0, 3.0, 1.0, 1 + 1e-12, -9.0]))
    np.testing.assert_allclose(found, [0.2, 0.4, 0.8, 0.8, 1.0])
    assert chance.tail(sampled, 3.0).shape == (1,)


@pytest.mark.parametrize("mode", LATTICE_MODES)
@pytest.mark.parametrize(("d", "n"), [(7, 7), (4, 6), (0, 3)])
def test_the_histogram_counts_all_orders(d: int, n: int, mode: str) -> None:
    lattice = random_lattice(d, n, seed=d)
    areas, counted = all_areas(lattice, mode), chance.histogram(lattice, mode, bins=2000)
    step = counted.areas[1] - counted.areas[0]
    assert counted.chances.sum() == pytest.approx(1)
    assert counted.areas @ counted.chances == pytest.approx(areas.mean(), abs=n * step)
    for q in (0.0, 0.3, 0.9, 0.99):
        area, slack = np.quantile(areas, q), (n + 1) / 2 * step  # no rounding moves a total by more
        low, high = (areas >= area + slack + step).mean(), (areas >= area - slack - step).mean()
        assert low - 1e-9 <= counted.tail(area) <= high + 1e-9


def test_the_histogram_is_exact_where_values_are_whole_steps() -> None:
    values = np.random.default_rng(0).integers(0, 4, size=2**5).astype(float)
    lattice = insdel.Lattice(values, tuple(range(5)), 5)
    areas = all_areas(lattice, "insertion")
    lowest = sum(min(values[S] for S in range(32) if S.bit_count() == k) for k in range(6))
    bins = round(float(areas.max()) + lattice.aul() - lowest) + 1  # one bin per whole number
    counted = chance.histogram(lattice, bins=bins)
    for area in np.unique(areas):
        assert counted.tail(area) * factorial(5) == pytest.approx((areas >= area - 1e-9).sum())


def test_normalised_is_0_at_the_mean_and_1_at_the_best() -> None:
    lattice = insdel.Lattice.evaluate(*house()[:3])
    areas = all_areas(lattice, "insertion")
    scale = chance.normalised(areas, chance.moments(lattice).mean, areas.max())
    assert scale.max() == pytest.approx(1) and scale.mean() == pytest.approx(0)


def test_no_orders_and_a_histogram_of_many_features_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        chance.sample(random_lattice(2, 2), 0)
    with pytest.raises(ValueError, match="at most 16 features.*17.*sample"):
        chance.histogram(random_lattice(2, 17))


@pytest.mark.filterwarnings("error")
def test_normalised_is_missing_where_all_orders_are_alike() -> None:
    lattice = insdel.Lattice.evaluate(*game({(1,): 2.0, (2,): 2.0})[:3])
    best = float(lattice.abc(lattice.best_order()))
    assert np.isnan(chance.normalised(np.array([best]), lattice.expected_abc(), best)).all()
    assert np.isnan(chance.normalised(np.array([0.0, 1.0]), 0.0, 0.0)).all()
