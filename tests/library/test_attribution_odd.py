"""Odd regression: its kernel and its values against sums over all parities, its errors against the truth."""

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


def parities(z: torch.Tensor) -> tuple[list[tuple[int, ...]], torch.Tensor]:
    """All odd sets of players and their parities at z, (m, sets)."""
    d = z.shape[1]
    sets = [u for k in range(1, d + 1, 2) for u in combinations(range(d), k)]
    return sets, torch.stack([z[:, list(u)].prod(dim=1) for u in sets], dim=1)


@pytest.fixture(scope="module")
def cube() -> tuple[torch.Tensor, odd.Prior]:
    """14 subsets of five players as ±1, and the priors of two pairs."""
    masks = odd.odd_subsets(5, 28, seed=0)
    b = torch.tensor([[0.2] * 5, [0.1, 0.6, 0.05, 0.3, 0.9]], dtype=torch.float64)
    return odd.as_signs(masks), odd.Prior(b, torch.tensor([[0.1], [0.02]], dtype=torch.float64))


def variances(prior: odd.Prior, sets: list[tuple[int, ...]]) -> torch.Tensor:
    """Prior variances of the parities' coefficients, (pairs, sets), in units of that of the smoother part of g."""

    def shares(b: torch.Tensor) -> torch.Tensor:
        products = torch.stack([torch.tanh(b)[:, list(u)].prod(dim=1) for u in sets], dim=1)
        return products / products.sum(dim=1, keepdim=True)

    return shares(prior.b) + prior.rough * shares(torch.full_like(prior.b, odd.ROUGH / prior.b.shape[1]))


def test_the_covariance_is_a_sum_over_odd_parities(cube):
    z, prior = cube
    sets, chi = parities(z)
    expected = (chi * variances(prior, sets)[:, None]) @ chi.T
    torch.testing.assert_close(prior.covariance(z, z), expected, atol=1e-12, rtol=0)


def test_values_share_every_parity_among_its_players(cube):
    z, prior = cube
    sets, chi = parities(z)
    shares = torch.tensor([[-2 / len(u) if j in u else 0.0 for j in range(5)] for u in sets], dtype=torch.float64)
    cross, before = prior.with_values(z)
    torch.testing.assert_close(cross, (chi * variances(prior, sets)[:, None]) @ shares, atol=1e-12, rtol=0)
    torch.testing.assert_close(before, variances(prior, sets) @ shares**2, atol=1e-12, rtol=0)


def test_the_fit_is_bayesian_regression_on_odd_parities(cube):
    z, prior = cube
    sets, chi = parities(z)
    y = torch.randn(2, len(z), 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shares = torch.tensor([[-2 / len(u) if j in u else 0.0 for j in range(5)] for u in sets], dtype=torch.float64)
    spread = variances(prior, sets)
    spread[:, :5] += 1e7  # of the first order nothing is known beforehand
    found = odd.fit(prior, y, z)
    for pair in range(2):
        covariance = chi * spread[pair] @ chi.T
        pull = torch.linalg.solve(covariance, (chi * spread[pair]) @ shares)
        torch.testing.assert_close(found.values[pair, :, 0], (pull.T @ y[pair])[:, 0], atol=1e-4, rtol=0)
        left = torch.diag(shares.T * spread[pair] @ shares - pull.T @ (chi * spread[pair]) @ shares)
        ratio = found.variance[pair, :, 0] / left
        assert float(ratio.min()) == pytest.approx(float(ratio.max()), rel=1e-3)  # but for the scale


def test_half_of_what_the_pulls_leave_over_is_the_gradient_of_the_fitness(cube):
    z, prior = cube
    y = torch.randn(2, len(z), 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (up, down), step = odd.pulls(prior, y, z), 1e-5
    assert (up > 0).all() and (down > 0).all()
    for j in range(6):
        by = torch.exp(step * torch.eye(6, dtype=torch.float64)[j])
        more, less = (odd.Prior(prior.b * by[:5] ** sign, prior.rough * by[5:] ** sign) for sign in (1, -1))
        slope = (odd.fit(more, y, z).fitness - odd.fit(less, y, z).fitness)[:, 0] / (2 * step)
        torch.testing.assert_close((up - down)[:, j] / 2, slope, atol=2e-4, rtol=1e-3)


def test_steps_find_the_features_that_interact():
    """Of ten features three interact; a step up the fitness leads there, and never far down again."""
    masks = odd.odd_subsets(10, 200, seed=0)
    z = odd.as_signs(masks)
    y = (z @ torch.arange(1.0, 11, dtype=z.dtype) + 3 * z[:, :3].prod(dim=1))[None]
    fitness = []
    for steps in range(7):
        prior = odd.climb(odd.Prior.alike(torch.tensor([0.15], dtype=z.dtype), 10), y, z, steps)
        fitness.append(float(odd.fit(prior, y[:, :, None], z).fitness[0, 0]))
    assert fitness == sorted(fitness) and fitness[-1] > fitness[0] + 50
    assert prior.b[0, :3].min() > 10 * prior.b[0, 3:].max()


def test_subsets_are_different_and_depend_on_the_number_of_players_only():
    for d, samples in ((4, 14), (9, 200), (16, 512), (20, 3000), (60, 400)):
        masks = odd.odd_subsets(d, samples, seed=3)
        assert len(masks) == samples // 2 and not masks[0].any()
        assert len({tuple(m.tolist()) for m in torch.cat([masks, ~masks])}) == 2 * len(masks)
        assert int((masks.sum(dim=1) == 1).sum()) == d
        assert torch.equal(masks, odd.odd_subsets(d, samples, seed=3))
        assert not torch.equal(masks, odd.odd_subsets(d, samples, seed=4)) or d == 4


def test_middle_sizes_come_more_often_and_small_ones_whole():
    sizes = odd.odd_subsets(16, 4096, seed=0).sum(dim=1)
    count = torch.bincount(sizes, minlength=9)
    assert count[2] == count_of_size(16, 2) and count[3] < count[4] < count[5] < count[7]
    rare = draw_subsets(6, 31, dict.fromkeys(range(1, 6), 1.0), seed=0)
    assert len(rare) == 32 and torch.bincount(rare.sum(dim=1)).tolist() == [1, 6, 15, 10]


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


def test_pairs_explained_together_are_explained_alike():
    rng = np.random.default_rng(5)
    f, _, _ = game(12, 5)
    x, reference = rng.normal(size=(2, 7, 12))
    x[4, :2] = reference[4, :2]
    together = estimate_shapley(f, x, reference, samples=90)
    for p in range(7):
        alone = estimate_shapley(f, x[p], reference[p], samples=90)
        close = 1e-4 * alone.error  # priors are found in single precision
        assert (np.abs(alone.values - together.values[p]) <= close).all()
        assert (np.abs(alone.error - together.error[p]) <= close).all()
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


def test_covariances_that_cannot_be_factorised_get_more_jitter():
    singular = torch.ones(1, 60, 60, dtype=torch.float64) - 1e-7 * torch.eye(60, dtype=torch.float64)
    assert torch.linalg.cholesky_ex(singular)[1].all()
    lower = odd.factor(singular.clone())
    assert torch.allclose(lower @ lower.mT, singular, atol=1e-4)


def test_a_covariance_that_no_jitter_repairs_is_an_error():
    with pytest.raises(RuntimeError, match="1 of 2 covariances of 4 subsets could not be factorised.*not all finite"):
        odd.factor(torch.stack([torch.eye(4), torch.full((4, 4), torch.nan)]).double())


def test_drawing_more_subsets_than_there_are_is_an_error(monkeypatch):
    monkeypatch.setattr(coalitions, "LISTED", 0)
    drawn = coalitions._draw_of_size(6, 2, 15, np.random.default_rng(0))
    assert len({tuple(row) for row in drawn.tolist()}) == 15 and (drawn.sum(dim=1) == 2).all()
    with pytest.raises(RuntimeError, match="gave 15 different subsets of 2 of 6 players; 16 of 15 are needed"):
        coalitions._draw_of_size(6, 2, 16, np.random.default_rng(0))


def test_tensors_stay_tensors():
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(9, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    x, reference = torch.randn(2, 3, 9)
    found = insdel.estimate_shapley(f, x, reference, 64)
    assert isinstance(found.values, torch.Tensor) and found.values.shape == found.error.shape == (3, 9)
