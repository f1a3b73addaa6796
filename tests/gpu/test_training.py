"""Training, studies and experiments on a pretended CUDA device."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from insdel.errors import UserError
from insdel_paper import networks
from insdel_paper.data import Dataset, split
from insdel_paper.networks import Hyper, Recipe, stacked
from insdel_paper.studies import best_order, cost, experiments, outcome
from insdel_paper.studies.roar import removal
from insdel_paper.studies.roar.tasks import planted

RNG = np.random.default_rng(0)
ROWS = (RNG.normal(size=(60, 5)).astype(np.float32), RNG.normal(size=60).astype(np.float32))
HYPER = Hyper((8, 7), dropout=0.1, learning_rate=5e-3)
RECIPE = Recipe(epochs=2, batch=16)


def kinds(parameters) -> set[str]:
    return {parameter.device.type for parameter in parameters}


def test_a_training_goes_to_the_device_and_comes_back(cuda, tmp_path) -> None:
    model = networks.fit(*ROWS, HYPER, RECIPE, progress=False)
    assert kinds(model.parameters()) == {model.config["device"]} == {"cuda"}
    path = networks.save(model, tmp_path / "model.safetensors")
    assert kinds(networks.load(path).parameters()) == {"cuda"}
    assert kinds(networks.load(path, "cpu").parameters()) == {"cpu"}


def test_without_dropout_both_devices_train_the_same_network(cuda) -> None:
    plain = Hyper((8,), 0.0, 5e-3)
    here, there = (networks.fit(*ROWS, plain, RECIPE, device=device, progress=False) for device in ("cpu", "cuda"))
    for a, b in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(a, b.cpu())


def test_trainings_leave_the_callers_random_numbers_alone(cuda) -> None:
    torch.cuda.manual_seed_all(12345)
    before = torch.cuda.get_rng_state()
    networks.fit(*ROWS, HYPER, RECIPE, progress=False)
    networks.fit(*ROWS, HYPER, RECIPE, device="cpu", progress=False)
    stacked.fit(*ROWS, HYPER, RECIPE, seeds=(0, 1))
    stacked.fit(*ROWS, HYPER, RECIPE, seeds=(0, 1), device="cpu")
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_replicates_train_together_on_the_device(cuda) -> None:
    plain = Hyper((8, 7), 0.0, 5e-3)
    here = stacked.fit(*ROWS, plain, RECIPE, seeds=(0, 1), device="cpu")
    there = stacked.fit(*ROWS, plain, RECIPE, seeds=(0, 1), device="cuda")
    assert kinds(there.weights.values()) == {"cuda"}
    points = torch.from_numpy(ROWS[0])
    torch.testing.assert_close(here.predict(points), there.predict(points).cpu())


def test_a_device_that_is_not_there_is_refused_in_plain_words(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="needs a GPU that torch can use; there is none here. Choose auto or cpu"):
        networks.fit(*ROWS, HYPER, RECIPE, device="cuda")


@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_studies_take_points_of_the_device(cuda, place) -> None:
    model = networks.fit(*ROWS, HYPER, RECIPE, device=place, progress=False)
    x, reference = (torch.from_numpy(ROWS[0][part]).cuda() for part in (slice(0, 3), slice(3, 6)))
    table = cost.cost_accuracy(model, x, reference, budgets={"lime": (25,), "deeplift": ()}, progress=False)
    assert np.isfinite(table["abc_per_feature"]).all()
    study = best_order.study(model, x, reference, ("kernel_shap", "random"), orders=20, progress=False)
    assert np.isfinite(study.areas.select_dtypes("number")).all(axis=None)


@pytest.mark.parametrize("name", ["cern", "bangalore"])
def test_an_experiment(cuda, name, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path))
    one = experiments.prepare(name, source="simulated", rows=400, epochs=1, n_pairs=1, policy="one_to_one")
    assert kinds(one.model.parameters()) == {"cuda"}
    small = {"integrated_gradients": {"steps": 8}, "kernel_shap": {"samples": 100}}
    assert np.isfinite(outcome.live(one, ["deeplift"], options=small, charged=1).table["abc"]).all()


def test_remove_and_retrain(cuda) -> None:
    rows: Dataset = planted(120)
    plan = removal.Plan(HYPER, RECIPE, rankings=("kernel_shap", "random"), fractions=(0.5,), forms=removal.FORMS,
                        replicates=2, samples=32, ig_steps=4, device="cuda")  # fmt: skip
    table = removal.run(split(rows), plan)
    assert np.isfinite(table["loss"]).all() and set(table["input"]) >= set(removal.FORMS)


def test_a_network_of_the_device_is_explained_as_that_of_the_processor(cuda) -> None:
    model = networks.fit(*ROWS, HYPER, RECIPE, device="cpu", progress=False)
    there = copy.deepcopy(model).cuda()
    x, reference = ROWS[0][:3], ROWS[0][3:6]
    budgets = {"deeplift": ()}
    here, away = (cost.cost_accuracy(f, x, reference, budgets=budgets, progress=False) for f in (model, there))
    np.testing.assert_allclose(here["abc_per_feature"], away["abc_per_feature"], rtol=1e-3, atol=1e-5)
