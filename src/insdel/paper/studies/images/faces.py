"""Does the paper's map mark the bird's face?  [section 1: "especially the eye and beak"]

CUB's annotation of parts is not at hand. The boxes below were drawn by hand on the prepared pictures of the
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
