"""RISE's own evaluation, written anew from its published description, as an oracle for ours.

Petsiuk, Das and Saenko (2018), section 4.2 and appendix: pixels are ranked from the most to the least salient;
deletion begins at the picture and sets 224 pixels after each look to the substrate, insertion begins at the
substrate and brings 224 pixels of the picture back. The substrate of deletion is zero on the network's scale,
that of insertion the picture on that scale blurred by an 11 × 11 window of a Gaussian of σ = 5. The score is the
area under the probabilities over equally spaced points of [0, 1].
"""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.ndimage import correlate1d
from torch import nn

from insdel_paper.studies import images
from insdel_paper.studies.images.network import SameConv2d

STEP = 224
WEIGHTS = np.exp(-0.5 * (np.arange(-40, 41) / 5.0) ** 2)


def folded_gaussian() -> np.ndarray:
    """One axis of the window: the weight of a point in the middle of 11 cells, mirrored at the cells' edges."""
    row = np.zeros(11)
    total = WEIGHTS[20:61].sum()  # a Gaussian cut off at four standard deviations
    for offset in range(-20, 21):
        place = (5 + offset) % 22  # mirrored: 0 … 10, then 10 … 0, and again
        row[place if place < 11 else 21 - place] += WEIGHTS[40 + offset] / total
    return row


def blurred(normalised: np.ndarray) -> np.ndarray:
    """(3, height, width), zeros beyond the edges."""
    window = folded_gaussian()
    for axis in (1, 2):
        normalised = correlate1d(normalised, window, axis=axis, mode="constant", cval=0.0)
    return normalised


def petsiuk(network: images.Classifier, label: int, image: torch.Tensor, saliency: np.ndarray, mode: str) -> float:
    """One picture's score, one forward pass after the other."""
    mean, std = network.mean.double().numpy(), network.std.double().numpy()
    picture = (image.double().numpy() - mean) / std
    substrate = np.zeros_like(picture) if mode == "deletion" else blurred(picture)
    now, goal = (picture.copy(), substrate) if mode == "deletion" else (substrate.copy(), picture)
    ranked = np.array(sorted(range(saliency.size), key=lambda pixel: -saliency.flat[pixel]))
    scores = []
    for begin in range(0, len(ranked) + 1, STEP):
        with torch.no_grad():
            logits = network.body(torch.from_numpy(now[None]).to(image.dtype))
        scores.append(float(torch.softmax(logits.double(), dim=1)[0, label]))
        rows, columns = np.unravel_index(ranked[begin : begin + STEP], saliency.shape)
        now[:, rows, columns] = goal[:, rows, columns]
    assert len(scores) == saliency.size // STEP + 1
    return sum((left + right) / 2 for left, right in pairwise(scores)) / (len(scores) - 1)


def smooth_network() -> images.Classifier:
    torch.manual_seed(3)
    first = SameConv2d(3, 8, 3, 2)
    body = nn.Sequential(first, nn.SiLU(), nn.AdaptiveAvgPool2d(6), nn.Flatten(), nn.Linear(288, 4, bias=False))
    body[-1].weight.data *= 20  # far from linear: probabilities from near 0 to near 1
    return images.Classifier(body, images.Preprocessing((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), "smooth")


def ours(network: images.Classifier, label: int, image: torch.Tensor, saliency: np.ndarray, mode: str) -> float:
    reference = images.reference_image("mean" if mode == "deletion" else "blurred", image, network)
    return images.unit_auc(images.pixel_walk(network.probability(label), image, reference, saliency, mode, STEP))


@pytest.mark.parametrize("mode", ["deletion", "insertion"])
@pytest.mark.parametrize("seed", [0, 1])
def test_our_auc_is_the_one_of_rise(mode, seed):
    """224 pixels at a time, in double precision: equal but for rounding."""
    generator = np.random.default_rng(seed)
    network, label = smooth_network().double(), seed
    image = torch.from_numpy(generator.random((3, 224, 224)))
    saliency = generator.normal(size=(224, 224)).cumsum(axis=1)
    found = ours(network, label, image, saliency, mode)
    assert found == pytest.approx(petsiuk(network, label, image, saliency, mode), abs=1e-6)
    other = ours(network, label, image, saliency, "insertion" if mode == "deletion" else "deletion")
    assert abs(found - other) > 1e-3  # the two tests can be told apart on this picture


def test_our_auc_is_the_one_of_rise_on_a_photo():
    """Lite0 on the book's photo, its gradient as the map, in single precision; insertion has the blur in it."""
    network = images.load("lite0", "cpu")
    image = images.open_photo("coffee").square(network.preprocessing)
    label = images.find_class("espresso")
    saliency = images.saliency_map("gradient", network, label, image).scores.numpy()
    expected = petsiuk(network, label, image, saliency, "insertion")
    assert ours(network, label, image, saliency, "insertion") == pytest.approx(expected, abs=1e-6)
