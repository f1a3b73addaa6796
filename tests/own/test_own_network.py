"""Networks for a reader's own table: the same for the same seed, and saved with their units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from test_own_models import class_case, flats, number_case, raw, values

from insdel.evaluate import predict
from insdel.own import models
from insdel.own import network as own_network
from insdel.own import table as own
from insdel_paper import networks


@pytest.fixture
def numbers() -> tuple[own.Table, own.Split]:
    return number_case()


@pytest.fixture
def classes() -> tuple[own.Table, own.Split]:
    return class_case()


def test_a_classifier_is_the_same_for_the_same_seed_and_leaves_torch_alone(classes) -> None:
    hyper, recipe = networks.Hyper((8,), 0.1, 1e-2), networks.Recipe(epochs=3, batch=16)
    state = torch.get_rng_state()
    first, again, other = (own_network.fit_classifier(classes[1].x_train, classes[1].y_train, hyper, recipe, seed)
                           for seed in (1, 1, 2))  # fmt: skip
    x = torch.tensor(classes[1].x_test, dtype=torch.float32)
    assert torch.equal(first(x), again(x)) and not torch.equal(first(x), other(x))
    assert torch.equal(state, torch.get_rng_state())
    probability = own_network.function(first, classes[0])(x)[:, 0]
    torch.testing.assert_close(probability, first(x).sigmoid())


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_network_is_saved_with_its_units(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    table, split = request.getfixturevalue(kind)
    subject = models.make("network", table, split, neurons=[8], epochs=2)
    path = own_network.save(subject.network, table, split, tmp_path / "mine.safetensors")
    same = models.make(str(path), table, split)
    np.testing.assert_array_equal(values(same, (table, split)), values(subject, (table, split)))
    other = own.split(table, seed=5)  # other training rows, so other units
    moved = models.make(str(path), table, other)
    z = split.scale.points(table.features.to_numpy()[other.test])
    np.testing.assert_allclose(values(moved, (table, other)), predict(subject.f, z), rtol=1e-4, atol=1e-5)


def test_a_network_that_does_not_fit_is_refused(tmp_path: Path, numbers, classes) -> None:
    table, split = numbers
    path = own_network.save(models.make("network", table, split, neurons=[4], epochs=1).network, table, split,
                           tmp_path / "mine.safetensors")  # fmt: skip
    with pytest.raises(ValueError, match="predicts a number; asked is dear"):
        models.make(str(path), *classes)
    fewer = own.build(flats()[["area", "rooms"]], flats()["price"], "simulated flats")
    with pytest.raises(ValueError, match="learned from area, rooms, district; the table has area, rooms"):
        models.make(str(path), fewer, own.split(fewer))
    renamed = own.build(flats().drop(columns="price").rename(columns={"area": "size"}), flats()["price"], "flats")
    with pytest.raises(ValueError, match="learned from area, rooms, district; the table has size"):
        models.make(str(path), renamed, own.split(renamed))
    with pytest.raises(ValueError, match="only a network that was fitted here can be saved"):
        own_network.save(models.make("forest", *numbers).network, *numbers, tmp_path / "no.safetensors")


def test_any_other_saved_network_gets_the_columns_as_they_stand(tmp_path: Path, numbers) -> None:
    torch.manual_seed(0)
    network = networks.MLP(3, (4,)).eval()
    subject = models.make(str(networks.save(network, tmp_path / "plain.safetensors")), *numbers)
    expected = network(torch.tensor(raw(numbers), dtype=torch.float32)).detach()
    np.testing.assert_allclose(values(subject, numbers), expected, rtol=1e-4)
    assert "does not say how its inputs were standardised" in subject.notes[0]
