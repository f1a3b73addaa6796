"""DeepLIFT on a trained PReLU network: captum's default fails, ours is complete; and captum stays as it was."""

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import captum.attr as captum
import numpy as np
import pytest
import torch
from captum.attr._core.deep_lift import SUPPORTED_NON_LINEAR
from torch import nn

from insdel import explain
from insdel.attribution import completeness
from insdel.attribution.deeplift import rescale_rules
from insdel.own.mlp import MLP


@pytest.fixture(scope="module")
def trained():
    """A network of the paper's kind, trained for a moment on a product."""
    torch.manual_seed(0)
    model, x = MLP(6, (64, 32), dropout=0.1), torch.randn(512, 6)
    y = x[:, 0] * x[:, 1] + 2 * x[:, 2].abs()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        optimiser.zero_grad()
        nn.functional.huber_loss(model(x), y).backward()
        optimiser.step()
    optimiser.zero_grad()
    return model.eval(), x[:100], x[100:200]


def test_captums_default_is_incomplete_on_prelu_and_ours_is_complete(trained):
    f, x, reference = trained
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default = -captum.DeepLift(f).attribute(x, reference).detach()
    assert completeness(f, x, reference, default).abs().max() > 0.1
    ours = explain("deeplift", f, x, reference)
    assert completeness(f, x, reference, ours).abs().max() < 1e-4
    assert all(parameter.grad is None for parameter in f.parameters())


def test_captums_table_is_left_as_it_was(trained):
    f, x, reference = trained
    before = dict(SUPPORTED_NON_LINEAR)
    explain("deeplift", f, x, reference)
    assert before == SUPPORTED_NON_LINEAR and nn.PReLU not in SUPPORTED_NON_LINEAR
    with pytest.raises(RuntimeError):
        explain("deeplift", nn.Sequential(nn.Linear(6, 2), nn.PReLU(), nn.Linear(3, 1)), x, reference)
    assert before == SUPPORTED_NON_LINEAR


def test_relu_agrees_with_captum_as_it_comes():
    torch.manual_seed(0)
    f = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))
    x, reference = torch.randn(2, 30, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = captum.DeepLift(f).attribute(x, reference)
    for options in ({}, {"chunk": 7}):
        ours = explain("deeplift", f, x, reference, **options)
        assert torch.allclose(ours.float(), -theirs.detach(), atol=1e-6)


def test_rescale_rule_by_hand():
    """One PReLU on w·x: its slope between the two values is (h(b) − h(a)) / (b − a)."""
    f = nn.Sequential(nn.Linear(3, 1, bias=False), nn.PReLU(init=0.2), nn.Linear(1, 1, bias=False)).double()
    f[0].weight.data, f[2].weight.data = torch.tensor([[1.0, 2.0, -1.0]]).double(), torch.tensor([[3.0]]).double()
    x, reference = np.array([1.0, 1.0, 0.0]), np.array([-1.0, 0.0, 1.0])  # w·x: 3 → −2, h: 3 → −0.4
    expected = 3 * (-0.4 - 3) / (-2 - 3) * (reference - x) * [1, 2, -1]
    assert np.allclose(explain("deeplift", f, x, reference), expected)


def test_a_training_network_is_explained_without_dropout_and_left_in_training(trained):
    f, x, reference = trained
    expected = explain("deeplift", f, x, reference)
    f.train()
    assert torch.equal(explain("deeplift", f, x, reference), expected)
    assert f.training and all(module.training for module in f.modules())
    f.eval()


def test_operations_without_a_rule_are_reported():
    class Square(nn.Module):
        def forward(self, z):
            return (z**2).sum(1)

    with pytest.warns(UserWarning, match="miss f.x′. − f.x. by up to 3: .* without a rule"):
        explain("deeplift", Square(), torch.zeros(1, 3), torch.ones(1, 3))


def test_threads_do_not_take_each_others_rules_away():
    """captum has one table of rules: a thread that ended took PReLU's away from one that was under way."""
    entered = threading.Event()

    def second():
        with rescale_rules():
            entered.set()
            time.sleep(0.2)  # the first thread leaves meanwhile
            return nn.PReLU in SUPPORTED_NON_LINEAR

    with ThreadPoolExecutor(1) as threads:
        with rescale_rules():
            other = threads.submit(second)
            entered.wait(0.3)
        assert other.result()
    assert nn.PReLU not in SUPPORTED_NON_LINEAR


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("bias", "end"), [(0.0, -1.0), (-10.0, 0.01), (10.0, -0.01)])
def test_complete_attributions_are_not_reported_whatever_the_sign_of_f_and_its_change(bias, end):
    f = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))
    nn.init.ones_(f[0].weight)
    nn.init.constant_(f[0].bias, bias)
    assert explain("deeplift", f, torch.zeros(1, 3), torch.full((1, 3), end)).sum() == pytest.approx(3 * end, abs=1e-5)
