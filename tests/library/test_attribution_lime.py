"""LIME: captum's estimator for the same hybrids, its traps, and the lime package's explainer."""

import captum.attr as captum
import numpy as np
import pandas as pd
import pytest
import torch
from captum._utils.models.linear_model import SkLearnLasso

from insdel import explain
from insdel.attribution.coalitions import Task
from insdel.attribution.lime import lime_fit
from insdel.evaluate import Pairs


def f(z):
    return 10 * torch.sin(z[:, 0] * z[:, 1]) + 5 * z[:, 2] - 3 * z[:, 3] ** 2


def captum_lime(x, reference, keep, alpha=0.01, width=1.0):
    """captum's Lime on one pair, fed with our hybrids instead of its own."""
    rows = iter(keep.long())
    similarity = captum._core.lime.get_exp_kernel_similarity_function("cosine", width)
    explainer = captum.Lime(f, SkLearnLasso(alpha=alpha), similarity, perturb_func=lambda *_, **__: next(rows)[None])
    return -explainer.attribute(x[None], reference[None], n_samples=len(keep))[0]


@pytest.mark.parametrize("samples, alpha, width", [(25, 0.01, 1.0), (200, 0.01, 1.0), (60, 0.3, 0.5), (3, 0.01, 1.0)])
def test_the_estimator_is_captums(samples, alpha, width):
    generator = torch.Generator().manual_seed(0)
    x, reference = torch.randn(2, 6, 5, generator=generator)
    reference[0] = -x[0]
    x[1] = 0  # no direction: every hybrid is equally far
    keep = torch.rand(6, samples, 5, generator=generator) < 0.5
    ours = lime_fit(Task(f, Pairs.of(x, reference)), np.arange(6), keep.numpy(), alpha, width)
    theirs = torch.stack([captum_lime(x[p], reference[p], keep[p], alpha, width) for p in range(6)])
    assert np.allclose(ours, theirs.numpy(), atol=1e-5) and np.abs(ours).max() > 1


def test_defaults_are_captums():
    """25 samples, Lasso 0.01, cosine kernel of width 1: the same distribution over seeds."""
    x, reference = torch.tensor([0.5, 1.0, -1.0, 0.3, 2.0]), torch.tensor([1.5, 0.2, 0.4, -1.0, 2.0])
    ours = torch.stack([explain("lime", f, x, reference, seed=s) for s in range(80)])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = torch.stack([-captum.Lime(f).attribute(x[None], reference[None])[0] for _ in range(80)]).double()
    error = (ours.var(0) / 80 + theirs.var(0) / 80).sqrt()
    assert ((ours.mean(0) - theirs.mean(0)).abs() < 4.5 * error).all()
    assert ((ours.std(0) / theirs.std(0) - 1).abs() < 0.45).all()


def test_linear_f_with_many_samples():
    w = np.array([3.0, -1.0, 2.0, 0.5])
    x, reference = np.full((5, 4), 1.0), np.full((5, 4), 2.0)
    A = explain("lime", lambda z: z @ w, x, reference, samples=4000)
    assert np.allclose(A, (reference - x) * w, atol=0.06)  # the Lasso takes α / var = 0.04 off


def test_the_lasso_makes_it_depend_on_the_unit():
    """A trap of the paper's default: in a unit 1,000 times as large nothing is left."""
    x, reference = np.full(4, 1.0), np.full(4, 2.0)
    small = explain("lime", lambda z: z.sum(1) / 1000, x, reference)
    assert np.all(small == 0)
    assert np.all(explain("lime", lambda z: z.sum(1) / 1000, x, reference, alpha=1e-5) > 0)


def test_seed_and_blocks():
    x, reference = np.random.default_rng(0).normal(size=(2, 30, 4))

    def g(z):
        return (z**2).sum(1) * 5

    A = explain("lime", g, x, reference, seed=1)
    assert np.array_equal(A, explain("lime", g, x, reference, seed=1, chunk=13))
    assert not np.array_equal(A, explain("lime", g, x, reference, seed=2))
    assert not np.array_equal(*explain("lime", g, np.tile(x[0], (2, 1)), np.tile(reference[0], (2, 1))))


@pytest.mark.parametrize(("new", "number"), [("v", 0.0), ("u", 1.0)])
def test_text_and_gaps_count_as_1_where_they_stay_as_in_x(new, number):
    def text(rows):
        return 5 * rows["size"].to_numpy() + 3 * (rows["kind"] == "u") + 2 * rows["gap"].isna()

    x, reference = (pd.DataFrame({"size": [size], "kind": [kind], "gap": [gap]})
                    for size, kind, gap in ((2.0, "u", np.nan), (0.5, new, 4.0)))  # fmt: skip
    ours = explain("lime", text, x, reference, samples=40, seed=3)
    plain = explain("lime", lambda z: z @ [5.0, 3.0, 2.0], np.array([[2.0, 1, 1]]), np.array([[0.5, number, 0]]), samples=40, seed=3)
    assert np.allclose(ours, plain, atol=1e-6)


def test_tabular_is_the_packages_with_all_features_and_the_sign_turned():
    from lime.lime_tabular import LimeTabularExplainer

    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(400, 11)), rng.integers(0, 2, 400)])

    def g(z):
        return z @ np.arange(1.0, 13.0)

    A = explain("lime_tabular", g, rows[0], rows[1], background=rows, binary=[11], seed=5, samples=800)
    state = np.random.RandomState(0)
    explainer = LimeTabularExplainer(rows, mode="regression", categorical_features=[11], random_state=state)
    state.seed(np.random.SeedSequence([5, 0]).generate_state(4))  # pair 0 of seed 5
    found = dict(explainer.explain_instance(rows[0], g, num_features=12, num_samples=800).local_exp[1])
    assert np.allclose(A, [-found[j] for j in range(12)]) and np.count_nonzero(A) == 12
    assert len(explainer.explain_instance(rows[0], g, num_samples=800).local_exp[1]) == 10  # the package's default
