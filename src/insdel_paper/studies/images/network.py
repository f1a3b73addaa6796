"""EfficientNet in plain torch: one definition for B0 and for Lite0.

Batch norms are folded into the convolutions before them, so a network is convolutions,
activations and one linear layer. The paper's image example uses B0  [appendix, image example].
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
        if top == bottom and left == right:  # the library pads by itself, without a copy
            return F.conv2d(x, self.weight, self.bias, self.stride, (top, left), groups=self.groups)
        return F.conv2d(
            F.pad(x, (left, right, top, bottom)), self.weight, self.bias, self.stride, groups=self.groups
        )


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
