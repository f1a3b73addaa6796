"""Folding: the same lattice as by plain evaluation, for every network it takes, and no other."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import insdel
from insdel import fold

ACTIVATIONS = {
    "prelu": lambda h: nn.PReLU(init=0.3),
    "prelu per unit": lambda h: nn.PReLU(h),
    "prelu, negative slope": lambda h: nn.PReLU(init=-0.5),
    "relu": lambda h: nn.ReLU(),
    "leaky": lambda h: nn.LeakyReLU(0.1),
}


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Fold however few features differ."""
    monkeypatch.setattr(fold, "WORTHWHILE", 0)


def plain(f, x, reference):
    """Lattices without folding."""
    return insdel.lattices(f, x, reference, chunk=4096)


def network(activation, n=14, double=False, seed=0):
    torch.manual_seed(seed)
    hidden = ACTIVATIONS[activation](40)
    if isinstance(hidden, nn.PReLU) and hidden.num_parameters > 1:
        hidden.weight.data.uniform_(-0.5, 0.9)
    later = [nn.Linear(40, 30, bias=False), nn.Tanh(), nn.Linear(30, 1)]
    f = nn.Sequential(nn.Linear(n, 40), hidden, nn.Dropout(0.2), *later)
    return f.double() if double else f


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_values_are_those_of_the_plain_lattice(activation):
    f = network(activation, double=True)
    x, reference = np.random.default_rng(0).normal(size=(2, 3, 14))
    reference[1, :5], reference[2] = x[1, :5], x[2]
    for ours, other in zip(insdel.lattices(f, x, reference), plain(f, x, reference), strict=True):
        assert isinstance(ours.values, np.ndarray) and ours.players == other.players and ours.n == other.n
        assert np.allclose(ours.values, other.values, rtol=0, atol=1e-12)
    assert f.training and f[2].training


@given(n=st.integers(1, 12), seed=st.integers(0, 10**6), size=st.floats(0.01, 100))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_number_of_differing_features_near_or_far(n, seed, size):
    f = network("prelu", n, double=True, seed=seed)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    reference = np.where(rng.random(n) < 0.8, x + size * rng.normal(size=n), x)
    (ours,), (other,) = insdel.lattices(f, x, reference), plain(f, x, reference)
    assert np.allclose(ours.values, other.values, rtol=0, atol=1e-10)


def test_float32_values_and_shapley_values_agree(papers_network):
    x, reference = torch.randn(2, 2, 16, generator=torch.Generator().manual_seed(0))
    x[:, :3] = reference[:, :3]
    both = zip(insdel.lattices(papers_network, x, reference), plain(papers_network, x, reference), strict=True)
    for ours, other in both:
        assert isinstance(ours.values, torch.Tensor) and ours.values.dtype == torch.float64
        scale = other.values.abs().max()
        assert (ours.values - other.values).abs().max() < 1e-5 * scale
        assert torch.allclose(ours.shapley(), other.shapley(), rtol=1e-4, atol=1e-6 * float(scale))


def test_kernel_shap_and_banzhaf_use_it(papers_network, monkeypatch):
    x, reference = torch.randn(2, 2, 13, generator=torch.Generator().manual_seed(0))
    x, reference = (nn.functional.pad(points, (0, 3)) for points in (x, reference))
    used, values = [], fold.Fold.values
    monkeypatch.setattr(fold.Fold, "values", lambda *arguments: used.append(1) or values(*arguments))
    for method, value in (("kernel_shap", insdel.Lattice.shapley), ("banzhaf", insdel.Lattice.banzhaf)):
        expected = torch.stack([value(lat) for lat in plain(papers_network, x, reference)])
        assert torch.allclose(insdel.explain(method, papers_network, x, reference), expected, rtol=1e-4, atol=1e-6)
    assert len(used) == 4
    monkeypatch.setattr(fold, "WORTHWHILE", 11)
    insdel.explain("kernel_shap", papers_network, x, reference, chunk=4096)  # told how to call f: so it calls f
    insdel.explain("kernel_shap", papers_network, x[:, :] * 0, x[:, :] * 0)
    assert len(used) == 4


def test_hooks_see_every_point(papers_network):
    x, reference = torch.randn(2, 12), torch.zeros(2, 12)
    x, reference = (nn.functional.pad(points, (0, 4)) for points in (x, reference))
    seen = []
    hook = papers_network.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    assert fold.Fold.of(papers_network) is None
    insdel.explain("kernel_shap", papers_network, x, reference)
    hook.remove()
    assert sum(seen) == 2 * 2**12 and fold.Fold.of(papers_network).pays(16)


@pytest.mark.parametrize(
    "f",
    [
        nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(3, 4), nn.ReLU()),
        nn.Sequential(nn.ReLU(), nn.Linear(3, 4), nn.Linear(4, 1)),
        nn.Linear(3, 1),
        lambda z: z.sum(1),
    ],
)
def test_other_models_are_evaluated_as_they_are(f):
    assert fold.Fold.of(f) is None


def test_a_network_with_a_forward_of_its_own_is_left_alone():
    class Odd(nn.Sequential):
        def forward(self, z):
            return super().forward(z) + 1

    assert fold.Fold.of(Odd(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))) is None


def test_bad_input_is_refused(papers_network):
    with pytest.raises(ValueError, match="limit is 2"):
        insdel.lattices(papers_network, np.zeros(16), np.ones(16), max_features=15)
    with pytest.raises(ValueError, match="must be finite"):
        insdel.lattices(papers_network, np.zeros(16), np.full(16, np.inf))
    broken = network("relu", 4)
    broken[-1].bias.data.fill_(torch.nan)
    with pytest.raises(ValueError, match="f must be finite"):
        list(insdel.lattices(broken, np.zeros(4), np.ones(4)))


def test_gradients_are_not_recorded_and_weights_are_current(papers_network):
    f = network("prelu", 5)
    x, reference = torch.randn(2, 5)
    (before,) = insdel.lattices(f, x, reference)
    assert not before.values.requires_grad
    f[-1].bias.data += 1
    (after,) = insdel.lattices(f, x, reference)
    assert torch.allclose(after.values, before.values + 1)
