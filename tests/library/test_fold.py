"""Folding: the same lattice as by plain evaluation, for every network it takes, and no other."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

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


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_float32_values_and_shapley_values_agree_for_any_number_of_threads(threads, papers_network, monkeypatch):
    x, reference = torch.randn(2, 2, 16, generator=torch.Generator().manual_seed(0))
    x[:, :3] = reference[:, :3]
    expected = list(plain(papers_network, x, reference))
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    for ours, other in zip(insdel.lattices(papers_network, x, reference), expected, strict=True):
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


def changed(layer, forward):
    """A subclass of a layer with a forward of its own: of the layer and z."""
    return type("Changed", (layer,), {"forward": forward})


Halving = changed(nn.Linear, lambda self, z: nn.Linear.forward(self, z / 2))
SlopePlusOne = changed(nn.PReLU, lambda self, z: nn.PReLU.forward(self, z) + 1)
Doubling = changed(nn.Dropout, lambda self, z: 2 * z)  # dropout that stays on, here without chance
Offset = changed(nn.Identity, lambda self, z: z + 1)


class LowRank(nn.Linear):
    """A layer like those of LoRA: the weight and something beside it."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.down, self.up = nn.Parameter(torch.randn(2, sizes[0])), nn.Parameter(torch.randn(sizes[1], 2))

    def forward(self, z):
        return super().forward(z) + z @ self.down.T @ self.up.T


def chain(**parts):
    torch.manual_seed(3)
    layers = {"first": nn.Linear(12, 20), "activation": nn.ReLU(), "dropout": nn.Dropout(0.1)}
    layers |= {"second": nn.Linear(20, 10), "last": nn.Sequential(nn.PReLU(), nn.Linear(10, 1))}
    return nn.Sequential(*(layers | parts).values())


def parametrised():
    f = chain()
    nn.utils.parametrizations.weight_norm(f[0])
    f[0].parametrizations.weight.original0.data *= 3
    nn.utils.parametrize.register_parametrization(f[3], "weight", Offset(), unsafe=True)
    return f


def hooked(register, hook):
    f = chain()
    getattr(f[1], register)(hook)
    return f


def with_forward(part, forward):
    f = chain()
    layer = f if part is None else f[part]
    layer.forward = lambda z, inner=layer.forward: forward(inner(z))
    return f


UNUSUAL = {
    "first layer": lambda: chain(first=Halving(12, 20)),
    "LoRA": lambda: chain(first=LowRank(12, 20)),
    "second layer": lambda: chain(second=Halving(20, 10)),
    "ReLU": lambda: chain(activation=changed(nn.ReLU, lambda self, z: nn.ReLU.forward(self, z - 0.5))()),
    "nested": lambda: chain(last=changed(nn.Sequential, lambda _, z: z.sum(1))(nn.Linear(10, 1))),
    "container": lambda: changed(nn.Sequential, lambda self, z: nn.Sequential.forward(self, z) + 1)(*chain()),
    "PReLU": lambda: chain(activation=SlopePlusOne()),
    "later PReLU": lambda: chain(last=nn.Sequential(SlopePlusOne(), nn.Linear(10, 1))),
    "dropout": lambda: chain(dropout=Doubling()),
    "identity": lambda: chain(dropout=Offset()),
    "later dropout": lambda: nn.Sequential(*chain()[:4], Doubling(), nn.Linear(10, 1)),
    "parametrised": parametrised,
    "hook": lambda: hooked("register_forward_hook", lambda *a: a[-1] * 2),
    "hook before": lambda: hooked("register_forward_pre_hook", lambda *a: (a[-1][0] * 2,)),
    "hook backward": lambda: hooked("register_full_backward_hook", lambda _, grads, __: (grads[0] * 2,)),
    "forward set on a layer": lambda: with_forward(1, torch.tanh),
    "forward set on the container": lambda: with_forward(None, torch.square),
}


@pytest.mark.parametrize("built", UNUSUAL)
def test_layers_that_only_look_like_torchs_are_never_taken_apart(built):
    f = UNUSUAL[built]().double()
    x, reference = np.random.default_rng(1).normal(size=(2, 2, 12))
    for method, options in (("kernel_shap", {}), ("integrated_gradients", {"steps": 40})):
        plain = insdel.explain(method, f, x, reference, **options, chunk=512)
        assert np.allclose(insdel.explain(method, f, x, reference, **options), plain, rtol=0, atol=1e-12)


def test_hooks_on_all_modules_are_heeded():
    f = chain()
    hook = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert fold.Fold.of(f) is None
    finally:
        hook.remove()
    assert fold.Fold.of(f) is not None


def test_a_subclass_with_a_forward_of_its_own_does_not_inherit_the_layers(papers_network):
    class Squared(type(papers_network)):
        def forward(self, z):
            return super().forward(z) ** 2

    f = Squared(16, (64, 48), dropout=0.1).double()
    x, reference = np.random.default_rng(1).normal(size=(2, 16))
    reference[10:] = x[10:]
    assert np.allclose(insdel.Lattice.evaluate(f, x, reference).values, next(plain(f, x, reference)).values, atol=1e-12)


@pytest.mark.parametrize("steps", [20, 500])
@pytest.mark.parametrize("method", ["integrated_gradients", "kernel_shap", "deeplift", "vanilla_grad", "occlusion"])
def test_two_outputs_are_refused_everywhere_in_the_same_words(method, steps):
    f = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 2))
    options = {"steps": steps} if method == "integrated_gradients" else {}
    x, reference = np.random.default_rng(1).normal(size=(2, 3, 12))
    with pytest.raises(ValueError, match=r"one number per point: \d+ points gave an output of shape \(\d+, 2\)"):
        insdel.explain(method, f, x, reference, **options)


def test_one_output_of_several_is_folded_and_right():
    torch.manual_seed(0)
    both = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 2)).double()
    x, reference = np.random.default_rng(1).normal(size=(2, 12))
    f = insdel.output(both, 1)
    assert fold.Fold.of(f) is not None
    values = insdel.Lattice.evaluate(f, x, reference).values
    assert np.allclose(values, next(plain(lambda z: both(z)[:, 1], torch.tensor(x), torch.tensor(reference))).values)
    folded, by_chunks = (insdel.explain("integrated_gradients", f, x, reference, **o) for o in ({}, {"chunk": 99}))
    assert np.allclose(folded, by_chunks, rtol=0, atol=1e-12)


def test_threads_compute_alone_in_order_and_leave_torchs_number_as_it_was():
    before, part_of = torch.get_num_threads(), {}
    torch.set_num_threads(3)

    def work(part):
        time.sleep(0.01 * (5 - float(part[0])))  # the first part is finished last
        part_of[float(part[0])] = threading.get_ident(), torch.get_num_threads(), torch.is_grad_enabled()
        return 10 * part

    try:
        results = fold.in_threads(work, torch.arange(5.0).split(1), 3)
        assert torch.get_num_threads() == 3 and ThreadPoolExecutor(1).submit(torch.get_num_threads).result() == 3
    finally:
        torch.set_num_threads(before)
    assert torch.cat(results).tolist() == [0, 10, 20, 30, 40]
    idents, threads, gradients = zip(*part_of.values(), strict=True)
    assert len(set(idents)) == 3 and threading.get_ident() not in idents
    assert set(threads) == {1} and set(gradients) == {False}
    fold.in_threads(work, torch.arange(2.0).split(1), 1)
    assert part_of[0.0][0] == threading.get_ident()  # one thread: this one


def test_an_error_in_a_thread_is_the_callers_and_the_rest_is_not_begun():
    begun = []

    def fail(part):
        begun.append(part)
        time.sleep(0.001)
        raise ValueError("no value for this part")

    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="no value for this part"):
        fold.in_threads(fail, torch.arange(500.0).split(1), 2)
    assert len(begun) < 500 and torch.get_num_threads() == before


def test_layers_that_may_keep_notes_are_called_by_one_thread():
    class Noting(nn.Module):
        def __init__(self):
            super().__init__()
            self.threads = set()

        def forward(self, z):
            self.threads.add(threading.get_ident())
            return z

    torch.manual_seed(0)
    noting = Noting()
    f = nn.Sequential(nn.Linear(13, 20), nn.ReLU(), nn.Linear(20, 10), noting, nn.Linear(10, 1)).eval()
    insdel.Lattice.evaluate(f, np.zeros(13), np.ones(13))
    assert noting.threads == {threading.get_ident()}
