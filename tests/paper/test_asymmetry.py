"""Insertion and deletion where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import skew

from insdel import policies
from insdel_paper import data
from insdel_paper.studies import asymmetry


@pytest.fixture(scope="module")
def pairs() -> policies.PolicyPairs:
    rng = np.random.default_rng(0)
    return policies.one_to_one(rng.normal(size=(60, 5)).astype(np.float32))


class Sum(torch.nn.Module):
    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return z.sum(dim=1)


def test_an_additive_model_scores_the_same_in_both_tests_and_its_exponential_more_in_insertion(pairs) -> None:
    """Walks of exp(Σ z) rise steeply: a monotone scale, not a floor, makes insertion larger."""
    models = {"sum": Sum(), "exponential": lambda z: torch.exp(z.sum(dim=1)), "logarithm back": Sum()}
    table = asymmetry.asymmetry(models, {"one_to_one": pairs}, samples=64)
    assert table.loc[("one_to_one", "sum"), "ratio"] == pytest.approx(1, abs=1e-6)
    assert table.loc[("one_to_one", "exponential"), "ratio"] < 0.9
    assert (table["insertion se"] > 0).all() and list(table.index.names) == ["policy", "model"]


def test_clipping_ends_predictions_and_leaves_the_rest() -> None:
    rows = np.zeros((3, 1), np.float32)
    split = data.Split(rows, np.arange(1.0, 4.0), rows, rows, rows, rows, rows, rows, ("a",), ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asymmetry, "fitted", lambda *_, **__: None)
        models = asymmetry.variants(split, Sum())
    z = torch.tensor([[-3.0], [1.0], [200.0]])
    np.testing.assert_array_equal(models["clipped at 0"](z), [0, 1, 200])
    np.testing.assert_array_equal(models["clipped to [2, 110] GeV"](z), [2, 2, 110])


def test_normal_scores_keep_the_order_and_have_no_skewness() -> None:
    y = np.random.default_rng(1).exponential(size=500)
    scores = asymmetry.normal_scores(y)
    assert (np.argsort(scores) == np.argsort(y)).all() and abs(skew(scores)) < 1e-3 < 1 < skew(y)
