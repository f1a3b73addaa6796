"""A network with its preprocessing: from RGB images in [0, 1] to class probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from insdel.errors import UserError


@dataclass(frozen=True)
class Preprocessing:
    """What a network was trained on.

    mean, std : per channel, of the scale on which colours are normalised
    resize, size : the shorter side is brought to `resize` pixels (None: left as it is), then the central
        `size` × `size` are cut out
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    resize: int | None = 256
    size: int = 224


class Classifier(nn.Module):
    """Probabilities of the classes, as a function of images in [0, 1].

    Normalising is part of the function, so black is 0 and white is 1 whatever the network.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, body: nn.Module, preprocessing: Preprocessing, source: str) -> None:
        super().__init__()
        self.body, self.preprocessing, self.source = body.eval(), preprocessing, source
        self.register_buffer("mean", torch.tensor(preprocessing.mean).reshape(3, 1, 1))
        self.register_buffer("std", torch.tensor(preprocessing.std).reshape(3, 1, 1))
        self.requires_grad_(False)  # gradients are taken by the pixels, never by the weights

    @property
    def first(self) -> nn.Conv2d:
        """The first convolution, to which the paper's saliency map attributes."""
        found = next((layer for layer in self.body.modules() if isinstance(layer, nn.Conv2d)), None)
        if found is None:
            raise UserError(
                f"{self.source} has no convolution, which the layer saliency attributes to. "
                "Choose another method, such as integrated_gradients, occlusion or rise."
            )
        return found

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return self.mean.device

    def forward(self, images: Tensor) -> Tensor:
        """(m, 3, height, width) in [0, 1] → (m, classes) probabilities."""
        return torch.softmax(self.body((images - self.mean) / self.std), dim=1)

    def probability(self, label: int) -> Callable[[Tensor], Tensor]:
        """Return f: the probability of one class, (m, 3, height, width) → (m,)."""
        return lambda images: self(images)[:, label]
