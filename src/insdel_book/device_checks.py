"""What `insdel device` computes on both devices: small calls of everything that runs on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

import insdel
from insdel import evaluate, policies
from insdel.cluster import packed, unpacked
from insdel.comparison import PAPER_METHODS
from insdel.own import mlp
from insdel_paper import networks
from insdel_paper.networks import Hyper, Recipe, stacked
from insdel_paper.studies import images

FEATURES, PAIRS, BINARY = 12, 16, [10, 11]
ROUNDING, SAMPLING, TRAINING = 1e-4, 1e-3, 1e-2  # largest differences that are allowed, as shares of the numbers
Work = Callable[[torch.device], Any]


class Absent(Exception):
    """Something that a check needs is not here; the text says what."""


@dataclass(frozen=True)
class Check:
    """Something to compute on both devices.

    work : takes a device and returns numbers
    allowed : the largest difference, as a share of the largest number
    """

    what: str
    work: Work
    allowed: float = ROUNDING


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Points and references, (pairs, features) each; the last two features are 0 or 1."""
    x, reference = np.random.default_rng(0).normal(size=(2, PAIRS, FEATURES)).astype(np.float32)
    for points in (x, reference):
        points[:, BINARY] = points[:, BINARY] > 0
    return x, reference


def network(device: torch.device) -> mlp.MLP:
    """A network with first weights, the same on every device."""
    with mlp.seeded(0):
        return mlp.MLP(FEATURES, (64, 48), 0.1).eval().requires_grad_(False).to(device)


def on(device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """The pairs as tensors of a device."""
    x, reference = (torch.from_numpy(points).to(device) for points in pairs())
    return x, reference


def speed(device: torch.device) -> Any:
    """Predictions of 2¹⁶ points by a network of the paper's size for events: what a lattice of 16 features takes."""
    z = np.random.default_rng(2).normal(size=(2**16, 16)).astype(np.float32)
    with mlp.seeded(0):
        model = mlp.MLP(16, networks.PAPER["cern"].neurons, 0.0).eval().requires_grad_(False).to(device)
    return evaluate.predict(model, torch.from_numpy(z).to(device))


def lattice(device: torch.device) -> Any:
    """Shapley values and the expected curve of one pair."""
    x, reference = on(device)
    one = insdel.Lattice.evaluate(network(device), x[0], reference[0])
    return torch.cat([one.shapley(), one.expected_curve()])


def method(name: str, device: torch.device) -> Any:
    """Attributions of all pairs."""
    options: Mapping[str, dict[str, Any]] = {
        "lime_tabular": {"background": pairs()[1], "samples": 200}, "ig_jump": {"binary": BINARY},
        "ig_interpolated": {"binary": BINARY}, "input_x_gradient": {"binary": BINARY},
        "gradient_shap": {"deviation": 0.1, "samples": 20}, "integrated_gradients": {"steps": 64},
    }  # fmt: skip
    return insdel.explain(name, network(device), *on(device), **options.get(name, {}))


def comparison(device: torch.device) -> Any:
    """Areas of the paper's methods and of the best order."""
    methods = [*PAPER_METHODS, "best"]
    return insdel.compare(network(device), *on(device), methods, progress=False).table["abc"].to_numpy()


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from, (400, features), and their targets."""
    x = np.random.default_rng(1).normal(size=(400, FEATURES)).astype(np.float32)
    return x, x[:, 0] * x[:, 1] + x[:, 2]


def training(dropout: float, device: torch.device) -> Any:
    """Predictions of a network that was fitted for three epochs."""
    x, y = rows()
    model = networks.fit(x, y, Hyper((16, 8), dropout, 5e-3), Recipe(epochs=3, batch=64), device=device, progress=False)
    return evaluate.predict(model, x) if not dropout else np.zeros(1)  # dropout draws other units on each device


def replicates(device: torch.device) -> Any:
    """Predictions of two networks that were fitted together."""
    x, y = rows()
    stack = stacked.fit(x, y, Hyper((16, 8), 0.1, 5e-3), Recipe(epochs=3, batch=64), seeds=(0, 1), device=device)
    return stack.predict(x)


def random_numbers(device: torch.device) -> Any:
    """1 if a training changes the random numbers of its caller, else 0."""
    state = torch.cuda.get_rng_state if device.type == "cuda" else torch.get_rng_state
    before = state()
    training(0.1, device)
    return np.array([not torch.equal(before, state())], dtype=float)


def picture(part: str, device: torch.device) -> Any:
    """Probabilities of a photo's first classes, or the paper's saliency map of it, small."""
    try:
        classifier = images.load("lite0", device)
        image = images.open_photo("cat").square(classifier.preprocessing).to(device)
    except OSError as error:
        raise Absent(str(error)) from None
    if part == "probabilities":
        with torch.no_grad():
            return classifier(image[None])[0]
    return images.saliency_map("layer", classifier, 285, image, images.Settings(baselines=1, steps=2)).scores


def checks() -> list[Check]:
    """All of them, from small to large."""
    sampled = ("lime", "lime_tabular", "gradient_shap")
    along = np.tile(np.arange(FEATURES), (PAIRS, 1))  # the order of the features' numbers
    return [
        Check("predictions", lambda device: evaluate.predict(network(device), on(device)[0])),
        Check("2^16 predictions, events' network", speed),
        Check("curves", lambda device: insdel.curve(network(device), *on(device), along)),
        Check("lattice of one pair", lattice),
        *(Check(f"explain: {name}", partial(method, name), SAMPLING if name in sampled else ROUNDING)
          for name in insdel.METHODS),
        Check("compare", comparison, SAMPLING),
        Check("counterfactual policy", lambda device: policies.counterfactual(
            network(device), on(device)[0], at_least=2).reference_index, 0.0),
        Check("network packed for a cluster", lambda device: evaluate.predict(
            unpacked(packed(network(device))), pairs()[0])),
        Check("training without dropout", partial(training, 0.0), TRAINING),
        Check("training with dropout: it runs", partial(training, 0.1), 0.0),
        Check("replicates trained together", replicates, TRAINING),
        Check("random numbers of the caller", random_numbers, 0.0),
        Check("picture: probabilities", partial(picture, "probabilities"), TRAINING),
        Check("picture: layer map", partial(picture, "map"), TRAINING),
    ]  # fmt: skip
