"""The same test on pixels: walk from a picture to a reference, so many pixels at a time.

A feature is a pixel with its three colours. In the paper's image example, insertion starts from the
reference and puts the most salient pixels in; deletion starts from the picture and takes them out.
Read backwards, that insertion is the book's: from x to x′, the least salient pixels first. The points
of the curve, and so all areas, are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from torch import Tensor

from insdel.curves import MODES, order
from insdel.errors import UserError, require_one_of
from insdel.evaluate import Pairs, hybrid_values
from insdel.own.devices import read_clock
from insdel_paper.studies.images.network import Classifier

BATCH = {"cpu": 4, "cuda": 256}  # images per model call: a CPU's cache holds few
REFERENCES = ("blurred", "mean", "white", "black", "noise", "farthest")

Probability = Callable[[Tensor], Tensor]


def batch_size(device: torch.device, batch: int | None = None) -> int:
    """Images per model call: `batch` if given, else what suits the device."""
    return batch if batch is not None else BATCH.get(device.type, BATCH["cpu"])


def blur(images: Tensor, background: Tensor) -> Tensor:
    """Petsiuk's blur: a Gaussian of σ = 5 in a window of 11 × 11, reflected at the window's edges.

    images : (m, 3, height, width); background : (3, 1, 1), the colour beyond the picture's edges
    """
    point = np.zeros((11, 11))
    point[5, 5] = 1.0
    kernel = torch.from_numpy(gaussian_filter(point, 5.0)).to(images)
    return background + F.conv2d(images - background, kernel.expand(3, 1, -1, -1), padding=5, groups=3)


def reference_image(name: str, image: Tensor, network: Classifier, seed: int = 0) -> Tensor:
    """The picture x′ that replaces `image`, (3, height, width)  [appendix, image example].

    blurred : Petsiuk's blur of the picture
    mean : the colour that the network's normalisation takes to zero
    white, black : 1 and 0
    noise : normal, with the mean and spread of the network's normalisation
    farthest : 0 or 1 in each channel, whichever is farther from the picture
    """
    mean = network.mean.to(image)
    require_one_of("reference", name, REFERENCES)
    if name == "blurred":
        return blur(image[None], mean)[0]
    if name == "noise":
        return noise(1, image, network, seed)[0]
    if name == "farthest":
        return (image < 0.5).to(image.dtype)
    return (
        {"mean": mean, "white": torch.ones_like(mean), "black": torch.zeros_like(mean)}[name].expand_as(image).clone()
    )


def noise(count: int, image: Tensor, network: Classifier, seed: int, scale: float = 1.0) -> Tensor:
    """Pictures of Gaussian noise, of standard deviation `scale` after normalising: (count, 3, height, width)."""
    generator = torch.Generator().manual_seed(seed)  # on the CPU, so that every device sees the same
    drawn = torch.randn(count, *image.shape, generator=generator).to(image)
    return network.mean.to(image) + scale * network.std.to(image) * drawn


def step_counts(n: int, step: int) -> np.ndarray:
    """How many of n pixels have been changed at each point: 0, step, 2·step, …, n; the last step may be shorter."""
    if not 1 <= step <= n:
        raise UserError(f"step must be from 1 to the number of pixels, {n}, but it is {step}.")
    return np.append(np.arange(0, n, step), n)


def pixel_walk(
    f: Probability,
    image: Tensor,
    reference: Tensor,
    saliency: ArrayLike | Tensor,
    mode: str = "deletion",
    step: int = 224,
    batch: int | None = None,
) -> pd.DataFrame:
    """Predictions while the pixels of `reference` replace those of `image`, `step` at a time.

    Parameters
    ----------
    image, reference : (3, height, width)
    saliency : (height, width), what each pixel of the image adds; its A_j is minus that
    mode : "deletion" (most salient pixels first) or "insertion" (least salient first)

    Returns
    -------
    changed (pixels), fraction and value: one row per point, both ends included
    """
    height, width = image.shape[1:]
    n = height * width
    place = _places(saliency, mode, image)
    counts = torch.as_tensor(step_counts(n, step), device=image.device)

    def select(rows: Tensor) -> tuple[Tensor, Tensor]:
        changed = place < counts[rows][:, None]
        return torch.zeros_like(rows), changed.repeat(1, 3)

    pairs = Pairs.of(image.reshape(-1), reference.reshape(-1))
    shaped = lambda z: f(z.reshape(-1, 3, height, width))  # noqa: E731
    values = hybrid_values(shaped, pairs, len(counts), select, batch_size(image.device, batch), False)
    changed = counts.cpu().numpy()
    return pd.DataFrame({"changed": changed, "fraction": changed / n, "value": np.concatenate(list(values))})


def frames(
    image: Tensor, reference: Tensor, saliency: ArrayLike | Tensor, fractions: ArrayLike, mode: str = "deletion"
) -> Tensor:
    """What the network sees once these fractions of the pixels are changed: (frames, 3, height, width)."""
    place = _places(saliency, mode, image)
    counts = torch.as_tensor(np.round(np.asarray(fractions) * place.numel())).to(image.device)
    changed = place.reshape(image.shape[1:]) < counts.reshape(-1, 1, 1)
    return torch.where(changed[:, None], reference, image)


def _places(saliency: ArrayLike | Tensor, mode: str, image: Tensor) -> Tensor:
    """When each pixel changes, (height · width,) from 0, on the image's device."""
    scores, (height, width) = torch.as_tensor(saliency).reshape(-1), image.shape[1:]
    if scores.numel() != (n := height * width):
        raise UserError(f"saliency must have {height} × {width} = {n} values, but has {scores.numel()}.")
    return torch.as_tensor(order(-scores, mode)).argsort().to(image.device)


def pictures_per_second(f: Probability, image: Tensor, size: int, least: int = 16) -> float:
    """How many pictures the network looks at in a second, `size` at a time; a GPU is waited for.

    image : (3, height, width); least : pictures to look at in all
    """
    pile, rounds = image.expand(size, -1, -1, -1).contiguous(), max(1, least // size)
    with torch.no_grad():
        f(pile)
        started = read_clock()
        for _ in range(rounds):
            f(pile)
    return rounds * size / (read_clock() - started)


def unit_auc(curve: pd.DataFrame) -> float:
    """Area under the curve over [0, 1], by line segments: Petsiuk's AUC, for steps of any length.

    With equal steps it is `insdel.auc_unit`.
    """
    return float(np.trapezoid(curve["value"], curve["fraction"]))


def unit_abc(curve: pd.DataFrame, mode: str) -> float:
    """ABC per pixel: the unit AUC against the mean of the curve's ends, signed so that larger is better."""
    ends = (curve["value"].iloc[0] + curve["value"].iloc[-1]) / 2
    return float((unit_auc(curve) - ends) * (1 if mode == "insertion" else -1))


def measure(
    f: Probability,
    image: Tensor,
    references: Mapping[str, Tensor],
    saliency: ArrayLike | Tensor,
    step: int = 224,
    batch: int | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tests of one saliency map, for each reference.

    Returns
    -------
    areas : one row per reference and mode, with auc (unit), abc (per pixel), start and end
    curves : one row per point, with reference, mode, changed, fraction, value
    """
    areas, curves = [], []
    for name, reference in references.items():
        for mode in MODES:
            curve = pixel_walk(f, image, reference, saliency, mode, step, batch)
            start, end = curve["value"].iloc[[0, -1]]
            areas.append({"reference": name, "mode": mode, "auc": unit_auc(curve), "abc": unit_abc(curve, mode),
                          "start": start, "end": end})  # fmt: skip
            curves.append(curve.assign(reference=name, mode=mode))
    return pd.DataFrame(areas), pd.concat(curves, ignore_index=True)
