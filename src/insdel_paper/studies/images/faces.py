"""Does the paper's map mark the bird's face?  [section 1: "especially the eye and beak"]

CUB's annotation of parts is not available here. The boxes in `faces.yml` were drawn by hand on the prepared pictures
of the nearest photos, before their maps were looked at: one around the face (eye and beak with what lies between),
one around all that is seen of the bird.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from numpy.typing import ArrayLike

from insdel_paper.studies.images.exchange import KEY, with_short_names

SHARES = (0.01, 0.05, 0.2)  # of the pixels, the most salient first
BOXES = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))


def boxes(photo: str, preparation: str) -> dict[str, list[int]]:
    """The boxes of a photo in a preparation, (left, top, right, bottom); KeyError where none was drawn."""
    name = f"{photo}, {preparation}"
    if name not in BOXES:
        raise KeyError(f"no boxes were drawn on {name}. Draw a face and a bird, and add them to faces.yml.")
    return BOXES[name]


def shares_inside(scores: ArrayLike, boxes: dict[str, list[int]]) -> pd.DataFrame:
    """How much of the most salient pixels lies in each box.

    scores : (height, width)

    Returns
    -------
    box, area (its share of the picture), share (of the pixels, most salient first), inside (their share in the box)
    """
    scores = np.asarray(scores, dtype=float)
    ranked = np.argsort(-scores.reshape(-1), kind="stable")
    rows = []
    for name, (left, top, right, bottom) in boxes.items():
        mask = np.zeros(scores.shape)
        mask[top:bottom, left:right] = 1
        for share in SHARES:
            inside = mask.reshape(-1)[ranked[: max(1, round(share * scores.size))]].mean()
            rows.append({"box": name, "area": float(mask.mean()), "share": share, "inside": float(inside)})
    return pd.DataFrame(rows)


def face_table(marked: pd.DataFrame) -> pd.DataFrame:
    """Share of the picture, and of its most salient pixels, that lies in each box.

    marked : photo, preparation, box, area, share, inside
    """
    columns = {}
    for box, part in marked.set_index(KEY).groupby("box", sort=False):
        columns[box, "area"] = part.loc[part["share"] == SHARES[0], "area"]
        for share, rows in part.groupby("share"):
            columns[box, f"of the first {share:.0%}"] = rows["inside"]
    return with_short_names(pd.DataFrame(columns))


def times_area(marked: pd.DataFrame, box: str, share: float) -> pd.Series:
    """How many times its share of the picture a box holds of the most salient pixels, by photo."""
    part = marked[(marked["box"] == box) & (marked["share"] == share)].set_index(KEY)
    return part["inside"] / part["area"]
