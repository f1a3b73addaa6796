"""Replicates trained together are those that `networks.fit` trains one at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from insdel_paper import networks
from insdel_paper.networks import stacked
from insdel_paper.networks.training import Hyper, Recipe

HYPER = Hyper((13, 7), dropout=0.2, learning_rate=0.01)
RECIPES = {
    "as for houses": Recipe(epochs=4, batch=16),
    "as for collisions": Recipe(epochs=4, batch=16, output_unit="deviation"),
    "everything else": Recipe(
        epochs=3, batch=50, optimiser="adamw", weight_decay=0.1, schedule="constant", warmup=0.0, clip=0.05,
        keep_best=False, loss_unit="deviation",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(90, 5)).astype(np.float32)
    return x, (3 + 2 * x[:, 0] - x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=90)).astype(np.float32)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_every_replicate_is_its_own_training(rows, recipe: Recipe, dropout: float) -> None:
    hyper, seeds = Hyper((13, 7), dropout, learning_rate=0.01), [5, 0, 9]
    stack = stacked.fit(*rows, hyper, recipe, seeds=seeds)
    together = stack.predict(rows[0]).numpy()
    for k, seed in enumerate(seeds):
        alone = networks.fit(*rows, hyper, recipe, seed=seed, device="cpu")
        for name, value in stack.weights.items():  # only the rounding of the batched product differs
            np.testing.assert_allclose(value[k], alone.state_dict()[name], rtol=1e-4, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(together[k], alone(torch.from_numpy(rows[0])).numpy(), atol=1e-4)
    assert np.abs(together[0] - together[1]).max() > 0.05  # and they are not all one network


def test_the_papers_network_is_the_single_training(rows) -> None:
    alone = networks.fit(*rows, "bangalore", seed=2, epochs=2, device="cpu")
    found = stacked.fit(*rows, "bangalore", seeds=[1, 2], epochs=2)
    expected = alone(torch.from_numpy(rows[0])).numpy()
    np.testing.assert_allclose(found.predict(rows[0])[1].numpy(), expected, atol=1e-3)


def test_training_leaves_threads_and_random_numbers_alone(rows) -> None:
    torch.manual_seed(0)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    stacked.fit(*rows, HYPER, seeds=[1, 2], epochs=1)
    assert torch.equal(before, torch.get_rng_state()) and torch.get_num_threads() == threads


def test_what_cannot_be_trained_is_refused(rows) -> None:
    with pytest.raises(ValueError, match="at least one seed"):
        stacked.fit(*rows, HYPER, seeds=[])
    with pytest.raises(ValueError, match="finite"):
        stacked.fit(rows[0] * np.nan, rows[1], HYPER)
    with pytest.raises(ValueError, match="diverged"):
        stacked.fit(*rows, Hyper((3,), 0.0, 1e38), seeds=[0], epochs=3, clip=1e38)
