"""Integrated gradients with binary features: interpolated and jumping, against brute force."""

from itertools import permutations, product

import numpy as np
import pytest
import torch

from insdel import Lattice, explain
from insdel.attribution import completeness


def smooth(z):
    """Two binary features (0, 2) and three real ones, with interactions."""
    return torch.sin(z[:, 0] + z[:, 1]) * torch.exp(z[:, 2] * z[:, 3]) + z[:, 0] * z[:, 2] * z[:, 4] ** 2


X = np.array([[0.0, 0.3, 1.0, -0.2, 1.1], [1.0, -0.4, 0.0, 0.7, 0.2], [0.0, 0.5, 1.0, 0.1, 0.9]])
R = np.array([[1.0, -0.6, 0.0, 0.8, 0.5], [0.0, 0.9, 0.0, -0.3, 0.2], [1.0, 0.5, 0.0, 0.1, 0.9]])
BINARY = [0, 2]


def interpolation(z):
    """The paper's g, written out over the corners of {0, 1}²."""
    total = torch.zeros(len(z), dtype=z.dtype)
    for a, b in product((0.0, 1.0), repeat=2):
        corner = torch.stack([torch.full_like(z[:, 0], a), z[:, 1], torch.full_like(z[:, 0], b), z[:, 3], z[:, 4]], 1)
        weight = (z[:, 0] if a else 1 - z[:, 0]) * (z[:, 2] if b else 1 - z[:, 2])
        total = total + smooth(corner) * weight
    return total


def test_interpolated_is_integrated_gradients_of_the_interpolation():
    expected = explain("integrated_gradients", interpolation, X, R, rule="gauss_legendre", steps=40)
    assert np.allclose(explain("ig_interpolated", smooth, X, R, binary=BINARY), expected, atol=1e-10)
    assert np.abs(completeness(smooth, X, R, expected)).max() < 1e-10


def test_interpolated_needs_no_zeros_and_ones():
    """Standardised binary features, with values a and b instead of 0 and 1, get the same attributions."""
    scale, shift = np.array([2.0, 1, 0.5, 1, 1]), np.array([0.7, 0, -3.0, 0, 0])

    def rescaled(z):
        return smooth((z - torch.tensor(shift)) / torch.tensor(scale))

    for method in ("ig_interpolated", "ig_jump"):
        ours = explain(method, rescaled, X * scale + shift, R * scale + shift, binary=BINARY)
        assert np.allclose(ours, explain(method, smooth, X, R, binary=BINARY), atol=1e-6)


def path_integral(x, reference, order, at, steps=4000):
    """Walk the path with its jumps: sums of ∂f · dx on the lines, differences at the jumps."""
    A, line = np.zeros(5), np.array([j not in BINARY for j in range(5)])
    stop = np.where(line, x + at * (reference - x), x)
    legs = [(x, stop), (np.where(line, stop, reference), reference)]
    for start, end in legs:
        t = (np.arange(steps) + 0.5)[:, None] / steps
        z = torch.tensor(start + t * (end - start), requires_grad=True)
        (slope,) = torch.autograd.grad(smooth(z).sum(), z)
        A += slope.mean(0).numpy() * (end - start)
    point = stop.copy()
    for j in order:
        before = float(smooth(torch.tensor(point)[None]))
        point[j] = reference[j]
        A[j] += float(smooth(torch.tensor(point)[None])) - before
    return A


@pytest.mark.parametrize("at", [0.5, 0.25, 0.0, 1.0])
def test_jump_averages_the_paths_over_all_orders_of_the_jumps(at):
    A = explain("ig_jump", smooth, X, R, binary=BINARY, at=at, steps=2000)
    for p in range(len(X)):
        paths = [path_integral(X[p], R[p], order, at) for order in permutations(BINARY)]
        assert np.allclose(A[p], np.mean(paths, axis=0), atol=1e-6)
    assert np.abs(completeness(smooth, X, R, A)).max() < 1e-6


def test_without_binary_differences_both_are_integrated_gradients():
    reference = np.where(np.isin(np.arange(5), BINARY), X, R)
    plain = explain("integrated_gradients", smooth, X[:2], reference[:2], steps=4000)
    assert np.allclose(explain("ig_jump", smooth, X[:2], reference[:2], binary=BINARY, steps=4000), plain, atol=1e-6)
    assert np.allclose(explain("ig_interpolated", smooth, X[:2], reference[:2], binary=BINARY), plain, atol=1e-6)


def test_without_real_differences_both_are_shapley_values():
    shapley = Lattice.evaluate(smooth, X[2], R[2]).shapley()
    for method in ("ig_jump", "ig_interpolated"):
        assert np.allclose(explain(method, smooth, X, R, binary=BINARY)[2], shapley, atol=1e-12)


def test_many_binary_features_on_a_network():
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.PReLU(), torch.nn.Linear(32, 1))
    rng = np.random.default_rng(0)
    x, reference = rng.integers(0, 2, size=(2, 6, 10)).astype(np.float32)
    x[:, 8:], reference[:, 8:] = rng.normal(size=(2, 6, 2))
    for method, tolerance in (("ig_jump", 1e-3), ("ig_interpolated", 1e-2)):
        A = explain(method, f, x, reference, binary=range(8))
        assert np.abs(completeness(f, x, reference, A)).max() < tolerance
        small = explain(method, f, x, reference, binary=range(8), chunk=999)
        assert np.allclose(A, small, atol=1e-6)


def test_interpolating_takes_as_many_binary_features_as_the_limit_says() -> None:
    x, reference = torch.zeros(1, 4), torch.ones(1, 4)
    f = torch.nn.Linear(4, 1)
    options = {"binary": [0, 1, 2], "steps": 4}
    at_limit = explain("ig_interpolated", f, x, reference, max_features=3, **options)
    torch.testing.assert_close(at_limit, f.weight.detach().to(at_limit.dtype))
    with pytest.raises(ValueError, match=r"2\*\*3 gradients per step .* limit is 2\*\*2"):
        explain("ig_interpolated", f, x, reference, max_features=2, **options)
