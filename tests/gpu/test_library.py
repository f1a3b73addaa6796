"""The library on a pretended CUDA device: the numbers of the processor, in the kind and place of the points."""

import copy
import pickle
import time

import numpy as np
import pytest
import torch
from pretend import DeviceTensor, pretended_cuda
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import insdel
from insdel import cluster, evaluate, fold, policies
from insdel.attribution import completeness, gradients
from insdel.chance import moments, sample
from insdel.comparison import PAPER_METHODS
from insdel.evaluate import Pairs
from insdel.identity import differences, identity
from insdel.own.mlp import MLP
from insdel_paper import networks
from insdel_paper.studies.best_order import interactions

RNG = np.random.default_rng(0)
X, R = RNG.normal(size=(2, 3, 6)).astype(np.float32)
X[:, 4:], R[:, 4:] = X[:, 4:] > 0, R[:, 4:] > 0
R[1, 0] = X[1, 0]
PLACES = ("cpu", "cuda")
KINDS = {"array": lambda a: a, "tensor": torch.from_numpy, "device": lambda a: torch.from_numpy(a).cuda()}
TYPES = {"array": np.ndarray, "tensor": torch.Tensor, "device": DeviceTensor}
BINARY = {"binary": [4, 5]}
OPTIONS = {
    "lime_tabular": {"background": RNG.normal(size=(30, 6)), "samples": 50},
    "ig_jump": BINARY, "ig_interpolated": BINARY, "input_x_gradient": BINARY, "integrated_gradients": {"steps": 64},
    "gradient_shap": {"deviation": 0.1, "samples": 5},
}  # fmt: skip


def network():
    torch.manual_seed(0)
    return MLP(6, (16, 12), 0.1).eval().requires_grad_(False)


def same(found, kind, wanted):
    """Assert that a result is of the kind of the points, where they were, with these numbers."""
    assert type(found) is TYPES[kind]
    numbers = found.cpu().numpy() if isinstance(found, torch.Tensor) else found
    np.testing.assert_allclose(numbers, wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("act", [
    lambda here, there: here + there,
    lambda here, there: torch.cat([here, there]),
    lambda here, there: torch.stack([here.sum(), there.sum()]),
    lambda here, there: here[there.long()],
    lambda here, there: here.sum().add_(there.sum()),
    lambda here, there: torch.where(there > 0, here, there),
    lambda here, there: there.numpy(),
    lambda here, there: np.asarray(there),
    lambda here, there: nn.Linear(3, 1).cuda()(here),
    lambda here, there: nn.Linear(3, 1)(there),
    lambda here, there: there.bernoulli_(0.5, generator=torch.Generator()),
    lambda here, there: pickle.dumps(there),
])  # fmt: skip
def test_the_device_refuses_what_cuda_refuses(cuda, act):
    with pytest.raises((RuntimeError, TypeError)):
        act(torch.ones(3), torch.ones(3, device=cuda))


@pytest.mark.parametrize("act", [
    lambda here, there: there + there,
    lambda here, there: there * here.sum(),
    lambda here, there: there[here.long()],
    lambda here, there: there.copy_(here),
    lambda here, there: there.cpu() + here,
    lambda here, there: here.to(there) + there,
    lambda here, there: torch.zeros_like(there) + there,
    lambda here, there: nn.Linear(3, 1).to("cuda")(there),
    lambda here, there: copy.deepcopy(nn.Linear(3, 1).cuda())(there),
    lambda here, there: torch.tensor([1.0], device="cuda").expand(3) @ there,
])  # fmt: skip
def test_the_device_does_what_cuda_does(cuda, act):
    assert isinstance(act(torch.ones(3), torch.ones(3, device=cuda)), torch.Tensor)


def test_work_that_nobody_waited_for_is_not_timed(cuda):
    read = compile("time.perf_counter()", "insdel/timing.py", "eval")
    there = torch.ones(3, device=cuda)
    eval(read, {"time": time})
    there + there
    with pytest.raises(AssertionError, match="timing.py reads the clock while the device still works"):
        eval(read, {"time": time})
    for wait in (torch.cuda.synchronize, there.cpu, there.sum().item, there.tolist, networks.read_clock):
        there + there
        wait()
        eval(read, {"time": time})


def test_gradients_on_the_device_are_those_of_the_processor(cuda):
    f = nn.Sequential(nn.Linear(3, 5), nn.PReLU(), nn.Linear(5, 1))
    z = torch.randn(4, 3)
    found = []
    for place in PLACES:
        points = z.to(place).requires_grad_(True)
        (gradient,) = torch.autograd.grad(copy.deepcopy(f).to(place)(points).sum(), points)
        assert gradient.device.type == place
        found.append(gradient.cpu())
    assert torch.allclose(*found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_walks_lattices_and_predictions(kind, place):
    f, orders = network(), insdel.order(X - R)
    walks, lattice = insdel.curve(f, X, R, orders), insdel.Lattice.evaluate(f, X[0], R[0])
    with pretended_cuda():
        there, x, r = copy.deepcopy(f).to(place), KINDS[kind](X), KINDS[kind](R)
        same(insdel.curve(there, x, r, orders), kind, walks)
        same(insdel.curve(there, x, r, KINDS[kind](np.asarray(orders))), kind, walks)
        for measure in (insdel.abc, insdel.auc, insdel.aul):
            same(measure(insdel.curve(there, x, r, orders)), kind, measure(walks))
        same(insdel.order(x - r), kind, orders)
        same(evaluate.predict(there, x), kind, evaluate.predict(f, X))
        assert type(evaluate.predict(there, x[:0])) is TYPES[kind]
        found = insdel.Lattice.evaluate(there, x[0], r[0])
        assert found == insdel.Lattice.evaluate(there, x[0], r[0])
        for question in ("dividends", "shapley", "banzhaf", "expected_curve", "best_order"):
            same(getattr(found, question)(), kind, getattr(lattice, question)())
        same(found.random_abc(5, mode="both"), kind, lattice.random_abc(5, mode="both"))
        np.testing.assert_allclose(moments(found), moments(lattice), rtol=1e-3, atol=1e-5)
        drawn, known = (sample(one, 5, 0)["both"] for one in (found, lattice))
        np.testing.assert_allclose(drawn, known, rtol=1e-3, atol=1e-5)
        assert interactions(found) == pytest.approx(interactions(lattice), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("method", insdel.METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_attributions(method, kind, place):
    f, options = network(), OPTIONS.get(method, {})
    wanted = insdel.explain(method, f, X, R, **options)
    with pretended_cuda():
        there, x, r = copy.deepcopy(f).to(place), KINDS[kind](X), KINDS[kind](R)
        same(insdel.explain(method, there, x, r, **options), kind, wanted)
        same(insdel.explain(method, there, x[0], r[0], **options), kind, wanted[0])


@pytest.mark.parametrize("kind", ["tensor", "device"])
def test_options_may_be_on_the_device(kind):
    wanted = {m: insdel.explain(m, network(), X, R, **OPTIONS[m]) for m in ("lime_tabular", "ig_jump")}
    with pretended_cuda():
        f, x, r = network().cuda(), KINDS[kind](X), KINDS[kind](R)
        background = torch.from_numpy(OPTIONS["lime_tabular"]["background"]).cuda()
        same(insdel.explain("lime_tabular", f, x, r, background=background, samples=50), kind, wanted["lime_tabular"])
        mask = torch.tensor([False] * 4 + [True] * 2, device="cuda")
        same(insdel.explain("ig_jump", f, x, r, binary=mask), kind, wanted["ig_jump"])


@pytest.mark.parametrize("kind", KINDS)
def test_one_output_and_completeness(kind):
    torch.manual_seed(0)
    both = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
    f = insdel.output(both, 1)
    wanted = insdel.explain("deeplift", f, X, R)
    with pretended_cuda():
        there, x, r = insdel.output(copy.deepcopy(both).cuda(), 1), KINDS[kind](X), KINDS[kind](R)
        found = insdel.explain("deeplift", there, x, r)
        same(found, kind, wanted)
        same(completeness(there, x, r, found), kind, np.zeros(3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["counterfactual", "one_to_one", "average"])
def test_policies(kind, policy):
    points = np.random.default_rng(3).normal(size=(40, 6)).astype(np.float32)
    given = {"counterfactual": {"at_least": 4}}.get(policy, {})
    call = getattr(policies, policy)
    wanted = call(network(), points, **given) if policy == "counterfactual" else call(points, **given)
    with pretended_cuda():
        x = KINDS[kind](points)
        found = call(network().cuda(), x, **given) if policy == "counterfactual" else call(x, **given)
        assert type(found.x) is TYPES[kind] and found == wanted


class Products(TorchDispatchMode):
    """Counts matrix products by where they are computed."""

    def __init__(self):
        super().__init__()
        self.count = dict.fromkeys(PLACES, 0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._overloadpacket in (torch.ops.aten.addmm, torch.ops.aten.mm, torch.ops.aten.bmm):
            self.count["cuda" if any(isinstance(t, DeviceTensor) for t in tree_leaves(args)) else "cpu"] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_comparison_computes_on_the_device_and_is_the_same_table(kind, tmp_path):
    methods = [*PAPER_METHODS, "best", "expected"]
    wanted = insdel.compare(network(), X, R, methods).table
    with pretended_cuda():
        f, x, r = network().cuda(), KINDS[kind](X), KINDS[kind](R)
        with Products() as products:
            table = insdel.compare(f, x, r, methods, checkpoint=tmp_path).table
        assert products.count["cpu"] == 0 < products.count["cuda"]
        np.testing.assert_allclose(table["abc"], wanted["abc"], rtol=1e-3, atol=1e-5)
        asked = insdel.compare(f, x, r, methods, checkpoint=tmp_path).table
        assert asked.equals(table)


def test_a_model_is_the_same_on_any_device():
    here = identity(network(), Pairs.of(X, R))
    with pretended_cuda():
        assert not list(differences(here, identity(network().cuda(), Pairs.of(X, R))))


def test_a_model_travels_by_its_weights(cuda):
    f = network().train().cuda()
    sent = cluster.packed(f)
    arrived = pickle.loads(pickle.dumps(sent))
    assert all(p.device.type == "cpu" for p in arrived.module.parameters())
    assert all(p.device.type == "cuda" for p in f.parameters()) and f.training
    module = cluster.unpacked(arrived)
    assert all(p.device.type == "cuda" for p in module.parameters()) and not module.training
    np.testing.assert_allclose(evaluate.predict(module, X), evaluate.predict(f, X), rtol=1e-5)


def test_it_stays_on_the_processor_where_a_worker_has_no_device():
    with pretended_cuda():
        sent = pickle.dumps(cluster.packed(network().cuda()))
    module = cluster.unpacked(pickle.loads(sent))
    np.testing.assert_allclose(evaluate.predict(module, X), evaluate.predict(network(), X), rtol=1e-5)


def test_folding_is_for_the_processor(cuda, monkeypatch):
    monkeypatch.setattr(fold.Fold, "values", None)
    monkeypatch.setattr(gradients, "mean_gradient", None)
    f, (x, r) = MLP(13, (8, 7), 0.1).eval().to(cuda), np.random.default_rng(0).normal(size=(2, 13))
    insdel.Lattice.evaluate(f, x, r), insdel.explain("integrated_gradients", f, x, r)


class Small(nn.Module):
    """A network whose device has no memory for more than 50 points."""

    def __init__(self):
        super().__init__()
        self.inner, self.sizes = network(), []

    def forward(self, z):
        self.sizes.append(len(z))
        if len(z) > 50:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
        return self.inner(z)


@pytest.mark.parametrize("method", ["kernel_shap", "integrated_gradients", "ig_jump", "deeplift", "lime"])
def test_batches_shrink_to_the_memory_of_the_device(method):
    wanted = insdel.explain(method, network(), X, R, **OPTIONS.get(method, {}))
    with pretended_cuda():
        f = Small().cuda()
        same(insdel.explain(method, f, X, R, **OPTIONS.get(method, {})), "array", wanted)
        assert min(f.sizes) <= 50
