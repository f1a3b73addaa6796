"""Does the paper's map mark the bird's face?  [section 1: "especially the eye and beak"]

CUB's annotation of parts is not available here. The boxes below were drawn by hand on the prepared pictures of the
nearest photos, before their maps were looked at: one around the face (eye and beak with what lies between),
one around all that is seen of the bird.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

SHARES = (0.01, 0.05, 0.2)  # of the pixels, the most salient first


@dataclass(frozen=True)
class Box:
    """Rows top … bottom − 1 and columns left … right − 1 of a picture."""

    left: int
    top: int
    right: int
    bottom: int

    def mask(self, height: int, width: int) -> np.ndarray:
        """(height, width), whether a pixel lies in the box."""
        inside = np.zeros((height, width), dtype=bool)
        inside[self.top : self.bottom, self.left : self.right] = True
        return inside


# photo and preparation → face, bird
BOXES: dict[tuple[str, str], tuple[Box, Box]] = {
    ("Sooty_Albatross_0006_796390", "resized"): (Box(82, 96, 112, 118), Box(82, 0, 194, 224)),
    ("Laysan_Albatross_0065_809", "resized"): (Box(176, 48, 224, 106), Box(0, 39, 224, 224)),
    ("Laysan_Albatross_0059_488", "resized"): (Box(84, 35, 121, 60), Box(0, 31, 183, 180)),
    ("Sooty_Albatross_0058_796360", "resized"): (Box(163, 55, 197, 91), Box(0, 0, 197, 224)),
    ("Laysan_Albatross_0100_735", "cropped"): (Box(129, 85, 165, 104), Box(0, 12, 165, 224)),
    ("Sooty_Albatross_0004_796366", "cropped"): (Box(4, 70, 46, 102), Box(0, 0, 223, 224)),
    ("Laysan_Albatross_0096_673", "resized"): (Box(180, 54, 224, 99), Box(0, 40, 224, 224)),
    ("Laysan_Albatross_0059_488", "cropped"): (Box(84, 18, 124, 44), Box(0, 5, 205, 201)),
    ("Laysan_Albatross_0004_930", "cropped"): (Box(120, 41, 213, 101), Box(0, 18, 213, 224)),
    ("Black_Footed_Albatross_0038_212", "cropped"): (Box(0, 20, 60, 66), Box(0, 10, 224, 166)),
}


def boxes(key: tuple[str, str]) -> dict[str, Box]:
    """The boxes of a photo in a preparation; KeyError with what to do where none was drawn."""
    if key not in BOXES:
        raise KeyError(f"no boxes were drawn on {key[0]}, {key[1]}. Draw a face and a bird, and add them to BOXES.")
    return dict(zip(("face", "bird"), BOXES[key], strict=True))


def shares_inside(scores: ArrayLike, boxes: dict[str, Box]) -> pd.DataFrame:
    """How much of the most salient pixels lies in each box.

    scores : (height, width)

    Returns
    -------
    box, area (its share of the picture), share (of the pixels, most salient first), inside (their share in the box)
    """
    scores = np.asarray(scores, dtype=float)
    ranked = np.argsort(-scores.reshape(-1), kind="stable")
    rows = []
    for name, box in boxes.items():
        mask = box.mask(*scores.shape)
        for share in SHARES:
            first = ranked[: max(1, round(share * scores.size))]
            rows.append({"box": name, "area": float(mask.mean()), "share": share,
                         "inside": float(mask.reshape(-1)[first].mean())})  # fmt: skip
    return pd.DataFrame(rows)
