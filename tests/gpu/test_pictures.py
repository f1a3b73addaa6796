"""Pictures on a pretended CUDA device: the maps, walks and areas of the processor."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from pretend import DeviceTensor, pretended_cuda
from torch import Tensor, nn

from insdel_paper.studies import images
from insdel_paper.studies.images import saliency, walk, weights
from insdel_paper.studies.images.network import SameConv2d

HALF = images.Preprocessing((0.4, 0.5, 0.6), (0.2, 0.25, 0.3), 18, 16)
FEW = images.Settings(baselines=2, steps=3, masks=6, patch=6, stride=5)


def tiny() -> images.Classifier:
    """A smooth network of three classes on small pictures, in double precision."""
    torch.manual_seed(0)
    body = nn.Sequential(SameConv2d(3, 5, 3, 2), nn.SiLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(80, 3))
    return images.Classifier(body, HALF, "tiny").double()


def picture() -> Tensor:
    return torch.from_numpy(np.random.default_rng(0).random((3, 16, 16)))


@pytest.mark.parametrize("method", saliency.MAPS)
def test_maps(method: str) -> None:
    wanted = images.saliency_map(method, tiny(), 1, picture(), FEW)
    with pretended_cuda() as device:
        network = tiny().to(device)
        found = images.saliency_map(method, network, 1, picture().to(device), FEW)
        assert network.device.type == "cuda" and not isinstance(found.scores, DeviceTensor)
    torch.testing.assert_close(found.scores, wanted.scores)
    np.testing.assert_allclose(found.gap, wanted.gap, atol=1e-9)


@pytest.mark.parametrize("name", walk.REFERENCES)
@pytest.mark.parametrize("mode", ["insertion", "deletion"])
def test_walks(name: str, mode: str) -> None:
    def curve(network: images.Classifier, image: Tensor, scores: Tensor) -> np.ndarray:
        reference = images.reference_image(name, image, network)
        seen = walk.frames(image, reference, scores, [0.0, 0.5], mode)
        assert reference.device == image.device == seen.device
        return images.pixel_walk(network.probability(1), image, reference, scores, mode, step=40)["value"].to_numpy()

    scores = torch.from_numpy(np.random.default_rng(1).normal(size=(16, 16)))
    wanted = curve(tiny(), picture(), scores)
    with pretended_cuda() as device:
        network, image = tiny().to(device), picture().to(device)
        for one in (scores, scores.to(device)):
            np.testing.assert_allclose(curve(network, image, one), wanted, rtol=1e-9)


def test_a_measure_and_a_checkpoint(tmp_path) -> None:
    settings = images.Settings(baselines=1, steps=2, checkpoint=tmp_path)

    def areas(network: images.Classifier, image: Tensor, few: images.Settings) -> np.ndarray:
        references = {name: images.reference_image(name, image, network) for name in ("blurred", "black")}
        scores = images.saliency_map("layer", network, 1, image, few).scores
        return images.measure(network.probability(1), image, references, scores, step=64)[0]["abc"].to_numpy()

    wanted = areas(tiny(), picture(), FEW)
    with pretended_cuda() as device:
        network, image = tiny().to(device), picture().to(device)
        found = areas(network, image, FEW)
        first, again = areas(network, image, settings), areas(network, image, settings)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    np.testing.assert_array_equal(first, again)


def test_a_network_goes_where_it_is_sent(cuda, monkeypatch) -> None:
    monkeypatch.setattr(weights, "_lite0", tiny)
    assert images.load("lite0").device.type == "cuda" and images.load("lite0", "cpu").device.type == "cpu"


def test_speed_is_measured_when_the_device_is_done(cuda) -> None:
    assert images.pictures_per_second(tiny().to(cuda).probability(1), picture().to(cuda), 4) > 0


class Narrow(nn.Module):
    """A network whose device has no memory for more than five pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = copy.deepcopy(tiny().body)

    def forward(self, z: Tensor) -> Tensor:
        if len(z) > 5:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
        return self.inner(z)


@pytest.mark.parametrize("method", ["layer", "integrated_gradients", "occlusion", "rise"])
def test_batches_of_pictures_shrink_to_the_memory_of_the_device(method: str) -> None:
    settings = images.Settings(baselines=1, steps=12, masks=12, patch=6, stride=2)
    wanted = images.saliency_map(method, tiny(), 1, picture(), settings)
    with pretended_cuda() as device:
        network = images.Classifier(Narrow(), HALF, "narrow").double().to(device)
        found = images.saliency_map(method, network, 1, picture().to(device), settings)
    torch.testing.assert_close(found.scores, wanted.scores)


def test_walks_shrink_to_the_memory_of_the_device() -> None:
    scores = torch.arange(256.0).reshape(16, 16)
    black = torch.zeros(3, 16, 16).double()
    wanted = images.pixel_walk(tiny().probability(1), picture(), black, scores, step=10)
    with pretended_cuda() as device:
        f = images.Classifier(Narrow(), HALF, "narrow").double().to(device).probability(1)
        found = images.pixel_walk(f, picture().to(device), black.to(device), scores, step=10)
    np.testing.assert_allclose(found["value"], wanted["value"], rtol=1e-9)
