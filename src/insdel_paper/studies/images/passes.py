"""The search among CUB's albatrosses for the paper's picture.

The photos are read from `images/albatrosses` of INSDEL_DATA; the records hold numbers only.

images_albatrosses  areas of the first pass; photos: what the network says of each, in both preparations
images_nearest      areas and curves of the nearest ten with 300 baselines; faces: what their maps mark
images_changes      areas after other settings
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from insdel_paper import results
from insdel_paper.provenance import sha256
from insdel_paper.records.run import Recording, RunContext, record
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


PHOTOS = {"resized": 178, "cropped": 178}  # all; of fewer, those that come first by a hash of their names


@record("images_albatrosses", "albatrosses in search of the paper's picture", ("areas", "photos"), **PHOTOS)
def first_pass(context: RunContext, **photos: int) -> Recording:
    """So many photos in each preparation, with few baselines and coarse steps."""
    network, todo = load("b0"), study.items(study.photos())
    numbers = study.first_numbers(todo, photos)
    found = pd.concat(list(study.first_pass(network, todo, context.folder, numbers=numbers)), ignore_index=True)
    seen = found.drop_duplicates(["photo", "preparation"])[["photo", "preparation", *SEEN]]
    areas = found.dropna(subset=["auc"])[["photo", "preparation", "reference", "mode", *AREAS]]
    chosen = [todo[number] for number in numbers]
    return Recording({"areas": areas, "photos": seen}, _facts(network, FIRST, FIRST_STEP, chosen))


@record("images_nearest", "the ten nearest albatrosses with 300 baselines", ("areas", "curves", "faces"))
def nearest_pass(context: RunContext) -> Recording:
    """The nearest with the paper's number of baselines, and what of their maps lies in the boxes drawn by hand."""
    areas, _ = results.load("images_albatrosses")
    network, todo = load("b0"), study.items(study.photos())
    few = study.pick(todo, study.nearest(areas))
    full, curves = study.walks(network, few, FULL, FULL_STEP, context.folder)
    curves = curves[["photo", "preparation", "reference", "mode", "fraction", "value"]]
    marked = []
    for item in few:  # the maps were kept by the walks
        image = item.image(network.preprocessing.size).to(network.device)
        settings = own_folder(replace(FULL, checkpoint=context.folder), network, find_class("albatross"), image)
        scores = saliency_map("layer", network, find_class("albatross"), image, settings).scores
        marked.append(faces.shares_inside(scores, faces.boxes(item.key)).assign(**item.names))
    tables = {
        "areas": full[["photo", "preparation", "reference", "mode", *AREAS]],
        "curves": curves.astype({"fraction": "float32", "value": "float32"}),
        "faces": pd.concat(marked, ignore_index=True),
    }
    return Recording(tables, _facts(network, FULL, FULL_STEP, few))


@record("images_changes", "what other settings change on the nearest albatross", ("areas",))
def change_pass(context: RunContext) -> Recording:
    """What other settings change on the nearest picture."""
    areas, _ = results.load("images_nearest")
    few = study.pick(study.items(study.photos()), study.nearest(areas, 1))
    table = study.change_pass(few, context.folder)[["photo", "what", "value", "reference", "mode", *AREAS]]
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
