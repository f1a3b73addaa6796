"""A network with its preprocessing, and EfficientNet in plain torch: one definition for B0 and for Lite0.

Batch norms are folded into the convolutions before them, so a network is convolutions,
activations and one linear layer. The paper's image example uses B0  [appendix, image example].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from insdel.errors import UserError

# (expansion, channels, blocks, stride of the first block, kernel) for each of the seven stages
STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)
CLASSES = 1000


class SameConv2d(nn.Conv2d):
    """Convolution padded as TensorFlow does it: ⌈size / stride⌉ outputs, an odd pixel goes right and below."""

    def padding_for(self, size: int, axis: int) -> tuple[int, int]:
        """Rows (axis 0) or columns (axis 1) of zeros before and after an image of that size."""
        stride, kernel = self.stride[axis], self.kernel_size[axis]
        total = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
        return total // 2, total - total // 2

    def forward(self, x: Tensor) -> Tensor:
        """(m, channels, height, width) → (m, channels′, ⌈height / stride⌉, ⌈width / stride⌉)."""
        (top, bottom), (left, right) = self.padding_for(x.shape[2], 0), self.padding_for(x.shape[3], 1)
        even = top == bottom and left == right  # the library pads by itself, without a copy
        x, padding = (x, (top, left)) if even else (F.pad(x, (left, right, top, bottom)), (0, 0))
        return F.conv2d(x, self.weight, self.bias, self.stride, padding, groups=self.groups)


class Block(nn.Module):
    """Inverted bottleneck: widen, filter each channel by itself, weigh the channels, narrow."""

    def __init__(
        self, inputs: int, outputs: int, expansion: int, stride: int, kernel: int, squeeze: bool, act: nn.Module
    ) -> None:
        super().__init__()
        wide = inputs * expansion
        self.expand = SameConv2d(inputs, wide, 1) if expansion > 1 else None
        self.dw = SameConv2d(wide, wide, kernel, stride, groups=wide)
        self.se_r = SameConv2d(wide, max(1, inputs // 4), 1) if squeeze else None
        self.se_e = SameConv2d(max(1, inputs // 4), wide, 1) if squeeze else None
        self.proj = SameConv2d(wide, outputs, 1)
        self.act, self.skip = act, stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """(m, inputs, h, w) → (m, outputs, ⌈h / stride⌉, ⌈w / stride⌉)."""
        y = x if self.expand is None else self.act(self.expand(x))
        y = self.act(self.dw(y))
        if self.se_r is not None and self.se_e is not None:
            y = y * torch.sigmoid(self.se_e(self.act(self.se_r(y.mean((2, 3), keepdim=True)))))
        y = self.proj(y)
        return x + y if self.skip else y


class EfficientNet(nn.Module):
    """EfficientNet-B0, or Lite0 with `lite`: ReLU6 for SiLU, and no squeeze-and-excite."""

    def __init__(self, lite: bool = False) -> None:
        super().__init__()
        self.act = nn.ReLU6() if lite else nn.SiLU()
        self.stem = SameConv2d(3, 32, 3, 2)
        blocks, channels = [], 32
        for expansion, outputs, count, stride, kernel in STAGES:
            for index in range(count):
                step = stride if index == 0 else 1
                blocks.append(Block(channels, outputs, expansion, step, kernel, not lite, self.act))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = SameConv2d(channels, 1280, 1)
        self.fc = nn.Linear(1280, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images, (m, 3, height, width) → one score (logit) per class, (m, 1000)."""
        y = self.act(self.head(self.blocks(self.act(self.stem(x)))))
        return self.fc(y.mean((2, 3)))


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
