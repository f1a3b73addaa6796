"""Kernel SHAP: exact against shap, the sampled regression against its exact value, and shap's trap."""

import numpy as np
import pytest
import shap
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import insdel
from insdel import explain
from insdel.attribution import kernel
from insdel.attribution.kernel import _regress, sample_subsets


def game(n, seed=0):
    """A random function with interactions of every order, and a pair for it."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, 12)) / np.sqrt(n)

    def f(z):
        return (np.tanh(z @ a) * np.cos(z @ b)).sum(1) * 5

    return f, rng.normal(size=n), rng.normal(size=n)


def test_exact_is_shaps():
    f, x, reference = game(9)
    ours = explain("kernel_shap", f, x, reference)
    kernel = shap.KernelExplainer(f, reference[None]).shap_values(x[None], nsamples=2**10, l1_reg=False, silent=True)
    exact = shap.ExactExplainer(f, shap.maskers.Independent(reference[None])).explain_row
    row = exact(x, max_evals=2**9 + 1, main_effects=False, error_bounds=False, batch_size="auto", outputs=None,
                silent=True, interactions=1)["values"]  # fmt: skip
    assert np.allclose(ours, -kernel[0], atol=1e-9) and np.allclose(ours, -row, atol=1e-9)


def test_shap_keeps_ten_features_unless_told_otherwise():
    """The trap: even with every subset at hand, shap's KernelExplainer returns ten non-zero values by default."""
    f, x, reference = game(12)
    theirs = {}
    for name, options in {"default": {}, "trap": {"l1_reg": "num_features(10)"}, "off": {"l1_reg": False}}.items():
        explainer = shap.KernelExplainer(f, reference[None])
        theirs[name] = -explainer.shap_values(x[None], nsamples=2**12, silent=True, **options)[0]
    ours = explain("kernel_shap", f, x, reference)
    assert np.count_nonzero(theirs["default"]) == np.count_nonzero(theirs["trap"]) == 10
    assert np.count_nonzero(ours) == 12 and np.allclose(theirs["off"], ours, atol=1e-9)
    assert np.abs(theirs["default"] - ours).max() > 0.1


def test_exact_when_it_is_cheaper():
    f, x, reference = game(9)
    counted = []

    def counting(z):
        counted.append(len(z))
        return f(z)

    exact = explain("kernel_shap", counting, x, reference)
    assert sum(counted) == 2**9
    counted.clear()
    assert np.array_equal(explain("kernel_shap", counting, x, reference, samples=2**9), exact)
    assert sum(counted) == 2**9
    counted.clear()
    estimate = explain("kernel_shap", counting, x, reference, samples=2**9 - 1)
    assert sum(counted) <= 2**9 - 1 and not np.array_equal(estimate, exact)
    assert np.abs(estimate - exact).max() < 0.05 * np.abs(exact).max()


def test_unchanged_features_cost_nothing():
    f, x, reference = game(30)
    reference[:24] = x[:24]
    A = explain("kernel_shap", f, x, reference)
    assert np.all(A[:24] == 0) and np.all(A[24:] != 0)


def test_more_samples_come_closer_and_beat_shaps_by_far():
    f, x, reference = game(13)
    exact = explain("kernel_shap", f, x, reference)
    error = {}
    for samples in (64, 512, 4096):
        runs = [explain("kernel_shap", f, x, reference, samples=samples, seed=s) for s in range(6)]
        assert np.allclose(np.sum(runs, axis=1), exact.sum())  # complete in every draw
        error[samples] = np.sqrt(np.mean((np.array(runs) - exact) ** 2))
    assert error[4096] < 0.5 * error[512] < 0.25 * error[64]
    theirs = []
    for seed in range(6):
        np.random.seed(seed)  # noqa: NPY002  (what shap draws from)
        explainer = shap.KernelExplainer(f, reference[None])
        theirs.append(-explainer.shap_values(x[None], nsamples=512, l1_reg=False, silent=True)[0])
    assert error[512] < 0.5 * np.sqrt(np.mean((np.array(theirs) - exact) ** 2))


def test_pairs_of_many_sizes_at_once():
    f, _, _ = game(14)
    rng = np.random.default_rng(1)
    x, reference = rng.normal(size=(2, 9, 14))
    for p in range(9):
        reference[p, :p] = x[p, :p]
    A = explain("kernel_shap", f, x, reference, samples=1024, seed=3)
    exact = explain("kernel_shap", f, x, reference)
    assert np.array_equal(A[4:], exact[4:])  # at most 2**10 hybrids
    assert np.abs(A - exact).max() < 0.1 * np.abs(exact).max() and np.all(A[x == reference] == 0)
    assert np.array_equal(A, explain("kernel_shap", f, x, reference, samples=1024, seed=3, chunk=100))
    assert not np.array_equal(A, explain("kernel_shap", f, x, reference, samples=1024, seed=4))


@given(d=st.integers(4, 17), samples=st.integers(64, 600))
@settings(max_examples=40, deadline=None)
def test_subsets_keep_to_the_budget_and_carry_the_kernels_weight(d, samples):
    masks, weights, missing = sample_subsets(d, samples, seed=0)
    sizes = masks.sum(axis=1)
    assert 2 * len(masks) <= samples and len(masks) == len(weights)
    assert len({tuple(m.tolist()) for m in np.concatenate([masks, ~masks])}) == 2 * len(masks)
    assert int(sizes[0]) == 0 and int(sizes[1:].min()) == 1 and int(sizes.max()) <= d // 2
    kernel = sum((d - 1) / (s * (d - s)) for s in range(1, d))
    assert weights.sum() == pytest.approx(kernel)
    assert not missing[sizes == 1].any() and (missing >= 0).all() and (missing < 1).all()
    for s in range(2, d // 2 + 1):  # each size weighs what the kernel says, but for rounding
        expected = (d - 1) / (s * (d - s)) * (1 if 2 * s == d else 2)
        assert abs(float(weights[sizes == s].sum()) - expected) <= float(weights[sizes > 1].max()) + 1e-6


def test_weighted_regression_over_all_subsets_is_exact():
    """With every subset taken whole, the regression's solution is the Shapley value; here of a game worth 0 in all."""
    f, x, reference = game(6)
    masks, weights, missing = sample_subsets(6, 2**6, seed=0)
    hybrids = np.where(np.concatenate([masks, ~masks]), reference, x)
    change = f(reference[None]) - f(x[None])
    there, back = (f(hybrids) - change * np.concatenate([masks, ~masks]).mean(axis=1)).reshape(2, -1)
    values, error = kernel._regress(((there - back) / 2)[None], masks, weights, missing)
    assert np.allclose(values[0] + change / 6, explain("kernel_shap", f, x, reference), atol=1e-9)
    assert error.shape == (1, 6) and not error.any()


def test_limits_are_explained():
    f, x, reference = game(21)
    with pytest.raises(ValueError, match=r"2\*\*21 evaluations for 21 .* limit is 2\*\*20.*of compare .* options="):
        explain("kernel_shap", f, x, reference)
    with pytest.raises(ValueError, match="at least 44 samples"):
        explain("kernel_shap", f, x, reference, samples=43)
    assert explain("kernel_shap", f, x, reference, samples=44).shape == (21,)


def test_float32_module_agrees_with_the_lattice():
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.PReLU(), torch.nn.Linear(16, 1))
    x, reference = torch.randn(2, 5, 8)
    expected = torch.stack([lat.shapley() for lat in insdel.lattices(f, x, reference)])
    assert torch.equal(explain("kernel_shap", f, x, reference), expected)


def test_standard_errors_of_the_regression_are_those_of_its_residuals() -> None:
    """A sandwich: what each half-difference does to the values, times its residual, where subsets are missing."""
    rng = np.random.default_rng(0)
    masks, weights, missing = rng.random((40, 6)) < 0.5, rng.random(40) + 0.1, rng.random(40)
    y = rng.normal(size=(3, 40))
    values, errors = _regress(y, masks, weights, missing)
    effect = _regress(np.eye(40), masks, weights, missing)[0]  # (40, 6): the values are linear in y
    np.testing.assert_allclose(values, y @ effect)
    residuals = y - values @ (masks - 0.5).T
    for pair, feature in np.ndindex(*errors.shape):
        variance = sum(missing * residuals[pair] ** 2 * effect[:, feature] ** 2)
        assert errors[pair, feature] == pytest.approx(variance**0.5)
