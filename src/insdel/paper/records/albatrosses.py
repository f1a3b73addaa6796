"""The search among CUB's albatrosses for the paper's picture: three passes, each finer than the last.

The photos are read from `images/albatrosses` of INSDEL_DATA; the records hold numbers only.

images_albatrosses  areas of the first pass; photos: what the network says of each, in both preparations
images_nearest      areas and curves of the nearest ten with 300 baselines
images_changes      areas after other settings
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from insdel.paper import results
from insdel.paper.data.files import sha256
from insdel.paper.records.run import Desk, Recording, Run
from insdel.paper.studies.images import albatrosses as study
from insdel.paper.studies.images.albatrosses import FIRST, FIRST_STEP, FULL, FULL_STEP, USUAL, USUAL_STEP, Item
from insdel.paper.studies.images.classifier import Classifier
from insdel.paper.studies.images.saliency import Settings
from insdel.paper.studies.images.weights import load

SEEN = ["width", "height", "probability", "first"]  # what is kept of each photo
AREAS = ["auc", "start", "end", "gap"]  # and of each walk


def _first(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """All photos, with few baselines and coarse steps."""
    network, todo = load("b0"), study.items(study.photos())
    found = pd.concat(list(study.first_pass(network, todo, desk.folder)), ignore_index=True)
    seen = found.drop_duplicates(["photo", "preparation"])[["photo", "preparation", *SEEN]]
    areas = found.dropna(subset=["auc"])[["photo", "preparation", "reference", "mode", *AREAS]]
    return Recording({"areas": areas, "photos": seen}, _facts(network, FIRST, FIRST_STEP, todo))


def _nearest(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """The nearest at full size; as the first pass is coarse, a longer list is walked with more baselines before."""
    areas, _ = results.load("images_albatrosses")
    network, todo = load("b0"), study.items(study.photos())
    longer = study.pick(todo, study.nearest(areas, study.SHORTLIST))
    second, _ = study.walks(network, longer, study.SECOND, study.SECOND_STEP, desk.folder)
    few = study.pick(todo, study.nearest(second))
    full, curves = study.walks(network, few, FULL, FULL_STEP, desk.folder)
    curves = curves[["photo", "preparation", "reference", "mode", "fraction", "value"]]
    tables = {
        "areas": full[["photo", "preparation", "reference", "mode", *AREAS]],
        "curves": curves.astype({"fraction": "float32", "value": "float32"}),
    }
    return Recording(tables, _facts(network, FULL, FULL_STEP, few))


def _changes(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    """What other settings change, on a few photos."""
    todo = [item for item in study.items(study.photos()) if item.path.stem in study.CHANGED]
    few = [item for item in todo if item.preparation == "resized"]
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


RUNS = (
    Run("images_albatrosses", "178 albatrosses in search of the paper's picture", {}, ("areas", "photos"), _first),
    Run("images_nearest", "the ten nearest albatrosses at full size", {}, ("areas", "curves"), _nearest),
    Run("images_changes", "what other settings change on three albatrosses", {}, ("areas",), _changes),
)
