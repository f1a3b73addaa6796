"""Integrated gradients of folded networks: the same as without folding, and as captum's."""

import captum.attr as captum
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fold import ACTIVATIONS, network

from insdel import explain, fold
from insdel.attribution.gradients import FOLD_FROM, RULES

PLAIN = {"chunk": 999}  # with chunk f itself is called


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rule", RULES)
def test_equal_to_plain_differentiation(activation, rule):
    f = network(activation, double=True)
    x, reference = np.random.default_rng(0).normal(size=(2, 7, 14)) * 2
    reference[1, :5], reference[2] = x[1, :5], x[2]
    options = {"rule": rule, "steps": 50}
    ours = explain("integrated_gradients", f, x, reference, **options)
    assert np.allclose(ours, explain("integrated_gradients", f, x, reference, **options, **PLAIN), atol=1e-12)
    assert f.training and f[2].training


@given(n=st.integers(1, 9), seed=st.integers(0, 10**6), size=st.floats(0.01, 100), steps=st.integers(FOLD_FROM, 500))
@settings(max_examples=15, deadline=None)
def test_any_line_and_any_number_of_steps(n, seed, size, steps):
    f = network("prelu", n, double=True, seed=seed)
    x, reference = np.random.default_rng(seed).normal(size=(2, 3, n)) * size
    ours = explain("integrated_gradients", f, x, reference, steps=steps)
    plain = explain("integrated_gradients", f, x, reference, steps=steps, **PLAIN)
    assert np.allclose(ours, plain, atol=1e-9 * max(1, size))


def test_float32_agrees_with_captum(papers_network):
    x, reference = torch.randn(2, 9, 16, generator=torch.Generator().manual_seed(0))
    ours = explain("integrated_gradients", papers_network, x, reference)
    papers_network.eval()
    theirs = captum.IntegratedGradients(papers_network).attribute(x, reference, n_steps=500, method="riemann_middle")
    assert torch.allclose(ours, -theirs.double(), rtol=1e-4, atol=1e-4 * float(ours.abs().max()))


def test_used_for_long_lines_only_and_not_with_hooks(papers_network, monkeypatch):
    x, reference = torch.randn(2, 3, 16)
    used, on_piece = [], fold._on_piece
    monkeypatch.setattr(fold, "_on_piece", lambda *arguments: used.append(1) or on_piece(*arguments))
    explain("integrated_gradients", papers_network, x, reference, steps=FOLD_FROM - 1)
    explain("integrated_gradients", papers_network, x, reference, chunk=100)
    assert not used
    explain("integrated_gradients", papers_network, x, reference)
    explain("ig_jump", papers_network, x, reference, binary=[0])
    assert used
    used.clear()
    points = []
    hook = papers_network.register_forward_pre_hook(lambda _, inputs: points.append(len(inputs[0])))
    explain("integrated_gradients", papers_network, x, reference)
    hook.remove()
    assert sum(points) == 1500 and not used


def test_weights_get_no_gradient_and_infinity_is_refused(papers_network):
    x, reference = torch.randn(2, 3, 16)
    explain("integrated_gradients", papers_network, x, reference)
    assert all(parameter.grad is None for parameter in papers_network.parameters())
    broken = network("relu", 4)
    broken[-1].weight.data.fill_(torch.inf)
    with pytest.raises(ValueError, match="integrated_gradients needs a finite gradient"):
        explain("integrated_gradients", broken, np.zeros(4), np.ones(4))
