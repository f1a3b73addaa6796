"""Odd regression: its kernel and its values against sums over all parities, its errors against the truth."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from test_attribution_kernel import game

import insdel
from insdel import estimate_shapley, explain
from insdel.attribution import coalitions, kernel, odd
from insdel.attribution.coalitions import count_of_size, draw_subsets
from insdel.examples import game as game_of_sets


def parities(z: np.ndarray) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All odd sets of players and their parities at z, (m, sets)."""
    d = z.shape[1]
    sets = [u for k in range(1, d + 1, 2) for u in combinations(range(d), k)]
    return sets, np.stack([z[:, list(u)].prod(axis=1) for u in sets], axis=1)


@pytest.fixture(scope="module")
def z() -> np.ndarray:
    """14 subsets of five players as ±1."""
    return odd.as_signs(odd.odd_subsets(5, 28, seed=0))


@pytest.fixture(scope="module", params=[(0.2, 0.2, 0.2, 0.2, 0.2), (0.1, 0.6, 0.05, 0.3, 0.9)])
def prior(request) -> odd.Prior:
    return odd.Prior(np.array(request.param), 0.1 if request.param[1] == 0.2 else 0.02)


def variances(prior: odd.Prior, sets: list[tuple[int, ...]]) -> np.ndarray:
    """Prior variances of the parities' coefficients, (sets,), in units of that of the smoother part of g."""

    def shares(b: np.ndarray) -> np.ndarray:
        products = np.array([np.tanh(b)[list(u)].prod() for u in sets])
        return products / products.sum()

    return shares(prior.b) + prior.rough * shares(np.full_like(prior.b, odd.ROUGH / len(prior.b)))


def shared(sets: list[tuple[int, ...]]) -> np.ndarray:
    """What every parity gives to each of five players, (sets, 5)."""
    return np.array([[2 / len(u) if j in u else 0.0 for j in range(5)] for u in sets])


def test_the_covariance_is_a_sum_over_odd_parities(z, prior):
    sets, chi = parities(z)
    assert np.allclose(prior.covariance(z, z), chi * variances(prior, sets) @ chi.T, atol=1e-12, rtol=0)


def test_values_share_every_parity_among_its_players(z, prior):
    sets, chi = parities(z)
    cross, before = prior.with_values(z)
    assert np.allclose(cross, chi * variances(prior, sets) @ shared(sets), atol=1e-12, rtol=0)
    assert np.allclose(before, variances(prior, sets) @ shared(sets) ** 2, atol=1e-12, rtol=0)


def test_the_fit_is_bayesian_regression_on_odd_parities(z, prior):
    sets, chi = parities(z)
    y = np.random.default_rng(0).normal(size=(len(z), 2))
    spread = variances(prior, sets)
    spread[:5] += 1e7  # of the first order nothing is known beforehand
    values, variance = odd.fit(prior, odd.Whitened.of(prior.covariance(z, z), y, z), z)
    pull = np.linalg.solve(chi * spread @ chi.T, (chi * spread) @ shared(sets))
    left = np.diag(shared(sets).T * spread @ shared(sets) - pull.T @ (chi * spread) @ shared(sets))
    for pair in range(2):
        assert np.allclose(values[pair], pull.T @ y[:, pair], atol=1e-4, rtol=0)
        ratio = variance[pair] / left
        assert ratio.min() == pytest.approx(ratio.max(), rel=1e-3)  # but for the scale


@pytest.mark.parametrize(("m", "heavier"), [(6, 1), (7, 2), (8, 3), (14, 9 / 7)])
def test_few_evaluations_have_heavier_tails(z, prior, m, heavier):
    """The variance of Student's t with m − 5 degrees of freedom, of which there must be three at least."""
    white = odd.Whitened.of(prior.covariance(z[:m], z[:m]), np.random.default_rng(0).normal(size=(m, 2)), z[:m])
    normal = odd.fit(prior, replace(white, free=10**12), z[:m])[1]
    assert np.allclose(odd.fit(prior, white, z[:m])[1], heavier * normal)


def fitness(prior: odd.Prior, y: np.ndarray, z: np.ndarray) -> float:
    """Log likelihood of all pairs."""
    return float(odd.Whitened.of(prior.covariance(z, z), y, z).fitness().sum())


def test_half_of_what_the_pulls_leave_over_is_the_gradient_of_the_fitness(z, prior):
    y = np.random.default_rng(1).normal(size=(len(z), 3))
    (up, down), step = odd.pulls(prior, y, z), 1e-5
    assert (up > 0).all() and (down > 0).all()
    for j in range(6):
        by = np.exp(step * np.eye(6)[j])
        more, less = (odd.Prior(prior.b * by[:5] ** sign, prior.rough * by[5] ** sign) for sign in (1, -1))
        slope = (fitness(more, y, z) - fitness(less, y, z)) / (2 * step)
        assert (up - down)[j] / 2 == pytest.approx(slope, abs=6e-4, rel=1e-3)


def test_steps_find_the_features_that_interact():
    """Of ten features three interact; a step up the fitness leads there, and never far down again."""
    z = odd.as_signs(odd.odd_subsets(10, 200, seed=0))
    y = (z @ np.arange(1.0, 11) + 3 * z[:, :3].prod(axis=1))[:, None]
    found = []
    for steps in range(7):
        prior = odd.climb(odd.Prior(np.full(10, 0.15), odd.USUAL), y, z, steps)
        found.append(fitness(prior, y, z))
    assert found == sorted(found) and found[-1] > found[0] + 50
    assert prior.b[:3].min() > 10 * prior.b[3:].max()


def test_pairs_without_interactions_say_nothing_about_the_prior():
    rng = np.random.default_rng(0)
    z = odd.as_signs(odd.odd_subsets(10, 200, seed=0))
    interacting = z @ np.arange(1.0, 11) + 3 * z[:, :3].prod(axis=1)
    additive = z @ rng.normal(size=(10, 20))
    alone, beside = odd.learn(interacting[:, None], z), odd.learn(np.column_stack([interacting, additive]), z)
    assert np.array_equal(alone.b, beside.b) and alone.rough == beside.rough
    assert np.array_equal(odd.learn(additive, z).b, np.full(10, odd.STRENGTHS[0] / 10))


def test_subsets_are_different_and_depend_on_the_number_of_players_only():
    for d, samples in ((4, 14), (9, 200), (16, 512), (20, 3000), (60, 400)):
        masks = odd.odd_subsets(d, samples, seed=3)
        assert len(masks) == samples // 2 and not masks[0].any()
        assert len({tuple(m.tolist()) for m in np.concatenate([masks, ~masks])}) == 2 * len(masks)
        assert int((masks.sum(axis=1) == 1).sum()) == d
        assert np.array_equal(masks, odd.odd_subsets(d, samples, seed=3))
        assert not np.array_equal(masks, odd.odd_subsets(d, samples, seed=4)) or d == 4


def test_middle_sizes_come_more_often_and_small_ones_whole():
    sizes = odd.odd_subsets(16, 4096, seed=0).sum(axis=1)
    count = np.bincount(sizes, minlength=9)
    assert count[2] == count_of_size(16, 2) and count[3] < count[4] < count[5] < count[7]
    rare = draw_subsets(6, 31, dict.fromkeys(range(1, 6), 1.0), seed=0)
    assert len(rare) == 32 and np.bincount(rare.sum(axis=1)).tolist() == [1, 6, 15, 10]


@pytest.mark.parametrize("d", [8, 40])
def test_interactions_of_two_players_cost_no_accuracy(d):
    rng = np.random.default_rng(0)
    worth = {u: rng.normal() for size in (1, 2) for u in combinations(range(1, d + 1), size)}
    pairwise = game_of_sets(worth)
    exact = [sum(value / len(u) for u, value in worth.items() if j in u) for j in range(1, d + 1)]
    found = estimate_shapley(pairwise.f, pairwise.x, pairwise.reference, samples=2 * d + 2)
    assert np.allclose(found.values, exact, atol=1e-9) and (found.error < 1e-6).all()


@pytest.mark.parametrize("d", [21, 60, 200, 400])
def test_many_features(d):
    """Products of three features, whose worth each shares equally; 400 features are no obstacle."""
    rng = np.random.default_rng(d)
    triples, worth = rng.integers(0, d, size=(d, 3)), rng.normal(size=d)
    linear = rng.normal(size=d)

    def f(z):
        return z @ linear + (z[:, triples].prod(axis=2)) @ worth

    exact = linear.copy()
    for triple, value in zip(triples, worth, strict=True):
        members = np.unique(triple)
        exact[members] += value / len(members)
    x, reference = np.zeros(d), np.ones(d)
    found = estimate_shapley(f, x, reference, samples=6 * d)
    assert found.values.sum() == pytest.approx(exact.sum(), abs=1e-8)
    assert np.abs(found.values - exact).max() < np.abs(linear - exact).max()
    assert 0.85 < np.mean(np.abs(found.values - exact) < 2 * found.error) <= 1
    fewest = explain("kernel_shap", f, x, reference, samples=2 * d + 2)
    assert fewest.sum() == pytest.approx(exact.sum(), abs=1e-8)


def test_errors_are_calibrated():
    """Over functions, features and budgets, two standard errors hold the exact value about 95 times of 100."""
    inside = {}
    for samples in (40, 100, 300):
        hits = []
        for seed in range(12):
            f, x, reference = game(11, seed)
            exact = explain("kernel_shap", f, x, reference)
            found = estimate_shapley(f, x, reference, samples, seed=seed)
            assert np.array_equal(found.values, explain("kernel_shap", f, x, reference, samples=samples, seed=seed))
            hits.append(np.abs(found.values - exact) < 1.96 * found.error)
        inside[samples] = np.mean(hits)
    assert all(0.85 <= share <= 1 for share in inside.values()), inside
    assert 0.9 <= np.mean(list(inside.values())) <= 0.99


def test_pairs_explained_together_share_a_prior_and_agree_within_their_errors():
    rng = np.random.default_rng(5)
    f, _, _ = game(12, 5)
    x, reference = rng.normal(size=(2, 7, 12))
    x[4, :2] = reference[4, :2]
    together = estimate_shapley(f, x, reference, samples=90)
    for p in range(7):
        alone = estimate_shapley(f, x[p], reference[p], samples=90)
        assert (np.abs(alone.values - together.values[p]) <= alone.error).all()
        assert np.allclose(alone.values.sum(), together.values[p].sum())
    assert np.all(together.values[4, :2] == 0) and np.all(together.error[4, :2] == 0)
    assert np.all(together.error[:, 2:] > 0)


def test_exact_values_have_no_error():
    f, x, reference = game(7)
    found = estimate_shapley(f, x, reference, samples=2**7)
    assert np.array_equal(found.values, explain("kernel_shap", f, x, reference)) and not found.error.any()


@pytest.mark.parametrize("scale", [0.0, 1e-250, 1e250])
def test_any_unit_of_f(scale):
    f, x, reference = game(9)
    plain, scaled = (estimate_shapley(lambda z, s=s: s * f(z), x, reference, samples=60) for s in (1.0, scale))
    assert np.allclose(scaled.values, scale * plain.values, rtol=1e-6, atol=0)
    assert np.allclose(scaled.error, scale * plain.error, rtol=1e-4, atol=0)


def test_large_budgets_use_every_evaluation_in_bounded_memory(monkeypatch):
    """Beyond the largest covariance the rest of the budget corrects what the fit left over."""
    f, x, reference = game(13)
    exact = explain("kernel_shap", f, x, reference)
    monkeypatch.setattr(kernel, "LARGEST", 128)
    errors, inside = {}, []
    for samples in (256, 260, 1024, 8000):
        runs = [estimate_shapley(f, x, reference, samples, seed=s) for s in range(4)]
        assert np.allclose([r.values.sum() for r in runs], exact.sum())
        errors[samples] = np.mean([(r.values - exact) ** 2 for r in runs])
        inside.append(np.mean([np.abs(r.values - exact) < 2 * r.error for r in runs]))
    assert errors[260] < 2 * errors[256]  # no step where one regression takes over from the other
    assert errors[8000] < 0.2 * errors[256] and errors[1024] < errors[256]
    assert min(inside) > 0.8, inside


def test_covariances_that_cannot_be_factorised_get_more_jitter_or_are_refused():
    singular = np.ones((60, 60)) - 1e-7 * np.eye(60)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(singular)
    lower = odd.factor(singular)
    assert np.allclose(lower @ lower.T, singular, atol=1e-4)
    with pytest.raises(RuntimeError, match="the covariance of 4 subsets could not be factorised.*not all finite"):
        odd.factor(np.full((4, 4), np.nan))


def test_drawing_more_subsets_than_there_are_is_an_error(monkeypatch):
    monkeypatch.setattr(coalitions, "LISTED", 0)
    drawn = coalitions._draw_of_size(6, 2, 15, np.random.default_rng(0))
    assert len({tuple(row) for row in drawn.tolist()}) == 15 and (drawn.sum(axis=1) == 2).all()
    with pytest.raises(RuntimeError, match="gave 15 different subsets of 2 of 6 players; 16 of 15 are needed"):
        coalitions._draw_of_size(6, 2, 16, np.random.default_rng(0))


def test_tensors_stay_tensors():
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(9, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    x, reference = torch.randn(2, 3, 9)
    found = insdel.estimate_shapley(f, x, reference, 64)
    assert isinstance(found.values, torch.Tensor) and found.values.shape == found.error.shape == (3, 9)
