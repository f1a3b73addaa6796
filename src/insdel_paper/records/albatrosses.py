"""The search among CUB's albatrosses for the paper's picture.

The photos are read from `images/albatrosses` of INSDEL_DATA; the records hold numbers only.

images_albatrosses  areas of the first pass; photos: what the network says of each, in both preparations
images_nearest      areas and curves of the nearest ten with 300 baselines; faces: what their maps mark
images_changes      areas after other settings
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from insdel_paper import results
from insdel_paper.data.files import sha256
from insdel_paper.records.run import Desk, Recording, Run
from insdel_paper.studies.images import albatrosses as study
from insdel_paper.studies.images import faces
from insdel_paper.studies.images.albatrosses import FIRST, FIRST_STEP, FULL, FULL_STEP, USUAL, USUAL_STEP, Item
from insdel_paper.studies.images.classifier import Classifier
from insdel_paper.studies.images.photos import find_class
from insdel_paper.studies.images.saliency import Settings, saliency_map
from insdel_paper.studies.images.study import own_folder
from insdel_paper.studies.images.weights import load

SEEN = ["width", "height", "probability", "first"]  # what is kept of each photo
AREAS = ["auc", "start", "end", "gap"]  # and of each walk


def _first(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """So many photos in each preparation, with few baselines and coarse steps."""
    network, todo = load("b0"), study.items(study.photos())
    numbers = study.first_numbers(todo, parameters)
    found = pd.concat(list(study.first_pass(network, todo, desk.folder, numbers=numbers)), ignore_index=True)
    seen = found.drop_duplicates(["photo", "preparation"])[["photo", "preparation", *SEEN]]
    areas = found.dropna(subset=["auc"])[["photo", "preparation", "reference", "mode", *AREAS]]
    chosen = [todo[number] for number in numbers]
    return Recording({"areas": areas, "photos": seen}, _facts(network, FIRST, FIRST_STEP, chosen))


def _nearest(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """The nearest with the paper's number of baselines, and what of their maps lies in the boxes drawn by hand."""
    areas, _ = results.load("images_albatrosses")
    network, todo = load("b0"), study.items(study.photos())
    few = study.pick(todo, study.nearest(areas))
    full, curves = study.walks(network, few, FULL, FULL_STEP, desk.folder)
    curves = curves[["photo", "preparation", "reference", "mode", "fraction", "value"]]
    tables = {
        "areas": full[["photo", "preparation", "reference", "mode", *AREAS]],
        "curves": curves.astype({"fraction": "float32", "value": "float32"}),
        "faces": _faces(network, few, desk),
    }
    return Recording(tables, _facts(network, FULL, FULL_STEP, few))


def _faces(network: Classifier, todo: Sequence[Item], desk: Desk) -> pd.DataFrame:
    """How much of the most salient pixels lies in face and bird; the maps were kept by the walks."""
    label, tables = find_class("albatross"), []
    for item in todo:
        image = item.image(network.preprocessing.size).to(network.device)
        settings = own_folder(replace(FULL, checkpoint=desk.folder), network, label, image)
        scores = saliency_map("layer", network, label, image, settings).scores
        tables.append(faces.shares_inside(scores, faces.boxes(item.key)).assign(**item.names))
    return pd.concat(tables, ignore_index=True)


def _changes(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """What other settings change on the nearest picture."""
    areas, _ = results.load("images_nearest")
    few = study.pick(study.items(study.photos()), study.nearest(areas, 1))
    table = study.change_pass(few, desk.folder)[["photo", "what", "value", "reference", "mode", *AREAS]]
    return Recording({"areas": table}, _facts(load("b0"), USUAL, USUAL_STEP, few))


def _facts(network: Classifier, settings: Settings, step: int, todo: Sequence[Item]) -> dict[str, Any]:
    """Provenance of a pass."""
    digest = hashlib.sha256("".join(sorted({sha256(item.path) for item in todo})).encode()).hexdigest()
    parameters = {key: getattr(settings, key) for key in ("baselines", "steps", "scale", "seed")}
    return {
        "parameters": {**parameters, "step": step, "network": network.source, "label": "albatross"},
        "data": {"source": "real", "what": "albatrosses of CUB-200-2011", "photos": len({item.path for item in todo}),
                 "sha256": digest, "sha256_is": "of the photos' sha256, sorted and joined"},
    }  # fmt: skip


PHOTOS = {"resized": 178, "cropped": 178}  # all; of fewer, those that come first by a hash of their names
RUNS = (
    Run("images_albatrosses", "albatrosses in search of the paper's picture", PHOTOS, ("areas", "photos"), _first),
    Run("images_nearest", "the ten nearest albatrosses with 300 baselines", {}, ("areas", "curves", "faces"), _nearest),
    Run("images_changes", "what other settings change on the nearest albatross", {}, ("areas",), _changes),
)
