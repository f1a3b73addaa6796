"""The run behind the chapter on images: the paper's picture, and six references.

areas   map, reference, mode, AUC and ABC
curves  the probability of the class along each walk
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from insdel.paper.data.files import data_folder, sha256
from insdel.paper.records.run import Desk, Recording, Run
from insdel.paper.studies.images.photos import EMBEDDED, class_names, find_class, open_photo
from insdel.paper.studies.images.saliency import Settings
from insdel.paper.studies.images.study import study
from insdel.paper.studies.images.walk import REFERENCES
from insdel.paper.studies.images.weights import load

ALBATROSS: dict[str, Any] = {
    "photo": "Black_Footed_Albatross_0040_796066.jpg", "network": "b0", "label": "albatross", "maps": ("layer",),
    "references": REFERENCES, "baselines": 300, "steps": 20, "masks": 2000, "step": 224, "seed": 0,
}  # fmt: skip


def find_photo(name: str) -> str | Path:
    """The photo of that name: one inside the scikit-image wheel, a file, or one in INSDEL_DATA or a folder in it."""
    folder = data_folder()
    if name in EMBEDDED or Path(name).is_file() or folder is None:
        return name
    return next((path for path in sorted(folder.rglob(name)) if path.is_file()), Path(name))


def _study(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    path = find_photo(parameters["photo"])
    network, photo = load(parameters["network"]), open_photo(path)
    image, label = photo.square(network.preprocessing).to(network.device), find_class(parameters["label"])
    size = {name: parameters[name] for name in ("baselines", "steps", "masks", "seed")}
    settings = Settings(**size, progress=None, checkpoint=desk.folder)
    maps, references = parameters["maps"], parameters["references"]
    areas, curves = study(network, label, image, maps, references, settings, parameters["step"])
    digest = "inside the scikit-image wheel" if path in EMBEDDED else sha256(Path(path))
    facts = {
        "parameters": {"photo": photo.name, "network": network.source, "label": class_names()[label],
                       "patch": settings.patch, "stride": settings.stride},
        "data": {"source": "real", "file": photo.name, "sha256": digest},
    }  # fmt: skip
    return Recording({"areas": areas, "curves": curves}, facts)


RUNS = (Run("images_albatross", "the paper's picture: both tests, six references", ALBATROSS, ("areas", "curves"), _study),)
