"""How much each pixel adds to the probability of a class: the paper's map, and others to compare with.

Every method returns s, (height, width): what the picture's own pixels add. The book's attribution of
changing a pixel to the reference is A = −s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from insdel.attribution import explain
from insdel.errors import UserError, require_integer, require_one_of
from insdel.evaluate import in_batches
from insdel.identity import digest, plain
from insdel.store import Store
from insdel_paper.studies.images.network import Classifier, SameConv2d
from insdel_paper.studies.images.walk import batch_size, noise

GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Settings:
    """What a map may cost.

    baselines : pictures of Gaussian noise that integrated gradients are averaged over
    steps : points on the path from each; they are shifted from one to the next
    scale : standard deviation of that noise, after normalising
    masks : random masks of RISE
    patch, stride : side of the square that occlusion covers, and its distance to the next
    batch : pictures per model call (default: what suits the device)
    checkpoint : folder that keeps finished baselines, so that a run that was killed goes on
    """

    baselines: int = 300
    steps: int = 50
    masks: int = 2000
    patch: int = 32
    stride: int = 16
    seed: int = 0
    batch: int | None = None
    checkpoint: Path | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class Saliency:
    """A map, and how far its parts are from adding up to the whole.

    scores : (height, width), float64 on the CPU
    gap : Σ parts − (f(x) − mean f(baseline)) for complete methods, else nan
    """

    scores: Tensor
    gap: float = float("nan")


def window_sums(parts: Tensor, conv: nn.Conv2d, height: int, width: int) -> Tensor:
    """Give each pixel the sum of all windows of a convolution that contain it: (rows, columns) → (height, width)."""
    ones = torch.ones(1, 1, *conv.kernel_size, dtype=parts.dtype)
    spread = F.conv_transpose2d(parts[None, None], ones, stride=conv.stride)[0, 0]
    if isinstance(conv, SameConv2d):
        starts = [conv.padding_for(size, axis)[0] for axis, size in enumerate((height, width))]
    elif isinstance(conv.padding, str):
        starts = [size // 2 if conv.padding == "same" else 0 for size in conv.kernel_size]
    else:
        starts = [int(size) for size in conv.padding]
    cut = spread[starts[0] : starts[0] + height, starts[1] : starts[1] + width]
    return F.pad(cut, (0, width - cut.shape[1], 0, height - cut.shape[0]))


def layer_parts(
    network: Classifier, label: int, image: Tensor, baseline: Tensor, settings: Settings, index: int = 0
) -> Tensor:
    """Integrated gradients on the outputs of the first convolution, from one baseline, summed over its maps.

    image, baseline : (3, height, width) → (rows, columns) of that layer
    """
    from captum.attr import LayerActivation

    start, end = LayerActivation(network, network.first).attribute(torch.stack([baseline, image]))

    def value(outputs: Tensor) -> Tensor:
        with network.first.register_forward_hook(lambda *_: outputs):
            return network(image.expand(len(outputs), -1, -1, -1))[:, label]

    return path_parts(value, start, end, settings, index)


def path_parts(
    value: Callable[[Tensor], Tensor], start: Tensor, end: Tensor, settings: Settings, index: int = 0
) -> Tensor:
    """Integrated gradients from `start` to `end`, (channels, rows, columns) both, summed over the channels.

    The points lie in the middle of equal pieces of the path for the first baseline; for each further one they are
    shifted by the golden ratio, so that many baselines with few points see the path as finely as one with many.
    """
    shift = (0.5 + index * GOLDEN) % 1
    nodes = (torch.arange(settings.steps, dtype=start.dtype, device=start.device) + shift) / settings.steps

    def slopes(first: int, last: int) -> Tensor:
        points = (start + nodes[first:last].reshape(-1, 1, 1, 1) * (end - start)).detach().requires_grad_()
        (gradients,) = torch.autograd.grad(value(points).sum(), points)
        return gradients.double().sum(dim=0)

    total = torch.zeros_like(start, dtype=torch.float64)
    for part in in_batches(len(nodes), batch_size(start.device, settings.batch), slopes):
        total += part
    return ((end - start).double() * total / settings.steps).sum(dim=0).cpu()


def layer(network: Classifier, label: int, image: Tensor, settings: Settings) -> Saliency:
    """The paper's map: layer integrated gradients averaged over noise, then spread  [appendix, image example].

    The 32 maps of the first convolution are summed; a pixel gets the sum of all 3 × 3 windows that contain it.
    """
    parts = partial(layer_parts, network, label, image, settings=settings)
    total, gap = _average("layer", parts, network, label, image, settings)
    return Saliency(window_sums(total, network.first, *image.shape[1:]), gap)


def integrated_gradients(network: Classifier, label: int, image: Tensor, settings: Settings) -> Saliency:
    """Integrated gradients on the picture itself, averaged over the same noise and summed over colours."""
    parts = partial(path_parts, network.probability(label), end=image, settings=settings)
    return Saliency(*_average("pixels", parts, network, label, image, settings))


def _average(
    name: str, parts: Callable[..., Tensor], network: Classifier, label: int, image: Tensor, settings: Settings
) -> tuple[Tensor, float]:
    """Average over the baselines, and how much its sum exceeds f(x) − mean f(baseline)."""
    require_integer("baselines", settings.baselines, 1)
    f = torch.no_grad()(network.probability(label))
    decides = {key: getattr(settings, key) for key in ("steps", "scale", "seed")}
    known = plain({"parts": name, "network": network.source, "label": label, "image": image, **decides})

    def one(part: slice) -> pd.DataFrame:
        baseline = noise(1, image, network, settings.seed + part.start, settings.scale)[0]
        found = pd.DataFrame(parts(baseline, index=part.start).numpy())
        return found.rename(columns=str).assign(value=float(f(baseline[None])[0]))

    store = Store(settings.checkpoint and settings.checkpoint / digest(known), lambda: known)
    tables = store.chunks(settings.baselines, 1, one, progress=False)
    mean = torch.from_numpy(np.stack(tables).mean(axis=0))  # the last column holds f(baseline)
    return mean[:, :-1], float(mean[:, :-1].sum() - (f(image[None])[0] - mean[0, -1]))


def gradient(network: Classifier, label: int, image: Tensor, settings: Settings) -> Saliency:
    """Size of the gradient at the picture, summed over colours: how sensitive, not in which direction."""
    f = network.probability(label)
    flat = image.reshape(-1)
    slopes = explain("vanilla_grad", lambda z: f(z.reshape(-1, *image.shape)), flat, flat)
    return Saliency(torch.as_tensor(slopes).abs().reshape(image.shape).sum(dim=0).cpu())


def occlusion(network: Classifier, label: int, image: Tensor, settings: Settings) -> Saliency:
    """Fall of the probability when a square around the pixel turns grey, averaged over the squares that hold it.

    The last square in each direction ends at the picture's edge.
    """
    height, width = image.shape[1:]
    patch, stride = settings.patch, settings.stride
    if not 1 <= stride <= patch <= min(height, width):
        raise UserError(
            f"occlusion needs 1 ≤ stride ≤ patch ≤ {min(height, width)}; found stride {stride} and patch {patch}."
        )
    tops, lefts = ([*range(0, side - patch, stride), side - patch] for side in (height, width))
    masks = torch.zeros(len(tops) * len(lefts), height, width)
    for mask, (top, left) in zip(masks, ((top, left) for top in tops for left in lefts), strict=True):
        mask[top : top + patch, left : left + patch] = 1
    values = _masked(network, label, image, 1 - masks, settings)
    with torch.no_grad():
        falls = network.probability(label)(image[None]).double().cpu() - values
    return Saliency(torch.tensordot(falls, masks.double(), 1) / masks.double().sum(dim=0))


def rise(network: Classifier, label: int, image: Tensor, settings: Settings) -> Saliency:
    """RISE: probability of the picture seen through random masks, averaged over the masks that show the pixel."""
    require_integer("masks", settings.masks, 1)
    generator = np.random.default_rng(settings.seed)
    height, width = image.shape[1:]
    total, seen = torch.zeros(height, width).double(), torch.zeros(height, width).double()
    for first in range(0, settings.masks, 64):
        masks = rise_masks(min(64, settings.masks - first), height, width, generator)
        values = _masked(network, label, image, masks, settings)
        total += torch.tensordot(values, masks.double(), 1)
        seen += masks.double().sum(dim=0)
    return Saliency(total / seen.clamp_min(1e-12))


def rise_masks(count: int, height: int, width: int, generator: np.random.Generator, cells: int = 7) -> Tensor:
    """Coarse random grids, half of their cells open, enlarged smoothly and shifted: (count, height, width)."""
    grids = torch.from_numpy((generator.random((count, 1, cells + 1, cells + 1)) < 0.5).astype(np.float32))
    cell = -(-height // cells), -(-width // cells)
    size = (cells + 1) * cell[0], (cells + 1) * cell[1]
    smooth = F.interpolate(grids, size=size, mode="bilinear", align_corners=False)[:, 0]
    shifts = generator.integers(0, cell, size=(count, 2))
    return torch.stack([m[r : r + height, c : c + width] for m, (r, c) in zip(smooth, shifts.tolist(), strict=True)])


def _masked(network: Classifier, label: int, image: Tensor, masks: Tensor, settings: Settings) -> Tensor:
    """Probabilities of the picture where the masks (m, height, width) let it through, grey elsewhere: (m,)."""

    def values(first: int, last: int) -> Tensor:
        through = masks[first:last, None].to(image)
        return network(network.mean + through * (image - network.mean))[:, label].double().cpu()

    with torch.no_grad():
        return torch.cat(list(in_batches(len(masks), batch_size(image.device, settings.batch), values)))


def random(network: Classifier, label: int, image: Tensor, settings: Settings) -> Saliency:
    """Chance: random numbers."""
    generator = torch.Generator().manual_seed(settings.seed)
    return Saliency(torch.rand(image.shape[1:], generator=generator, dtype=torch.float64))


MAPS: dict[str, Callable[[Classifier, int, Tensor, Settings], Saliency]] = {
    how.__name__: how for how in (layer, integrated_gradients, gradient, occlusion, rise, random)
}
TITLES = dict(zip(MAPS, ("layer IG (paper)", "IG on pixels", "gradient", "occlusion", "RISE", "random"), strict=True))


def saliency_map(
    method: str, network: Classifier, label: int, image: Tensor, settings: Settings | None = None
) -> Saliency:
    """What each pixel adds to the probability of class `label`, by one of the methods in `MAPS`."""
    return MAPS[require_one_of("method", method, MAPS)](network, label, image, settings or Settings())
