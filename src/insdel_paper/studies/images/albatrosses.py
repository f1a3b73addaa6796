"""All 178 albatrosses of CUB-200-2011, in search of the paper's table: three runs, each finer than the last.

The photos are not part of the project: they are looked for in `images/albatrosses` of INSDEL_DATA. No
photo, nor a part of one, is written anywhere; the records hold numbers. A run that was killed goes on.

images_albatrosses  every photo in both preparations, few baselines, coarse steps, where the network says albatross
images_nearest      the ten nearest to the printed table in either reading, with the paper's 300 baselines; what of
                    their maps lies in the boxes of `faces`
images_changes      what baselines, their scale, the network and the steps change, on the nearest of them
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml
from torch import Tensor

from insdel.store import Store
from insdel_paper import results
from insdel_paper.data.files import data_folder
from insdel_paper.provenance import sha256
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.images import exchange, faces
from insdel_paper.studies.images.exchange import KEY, nearest
from insdel_paper.studies.images.network import Classifier
from insdel_paper.studies.images.photos import class_names, crop, find_class, open_photo, to_tensor
from insdel_paper.studies.images.saliency import Settings, saliency_map
from insdel_paper.studies.images.walk import measure, reference_image
from insdel_paper.studies.images.weights import load

PREPARATIONS: dict[str, int | None] = {"resized": 256, "cropped": None}  # pixels of the shorter side, before the crop
SPECIES = {"Black_Footed": 60, "Laysan": 60, "Sooty": 58}  # photos of each in CUB-200-2011
ALL = dict.fromkeys(PREPARATIONS, sum(SPECIES.values()))  # of fewer, those that come first by a hash of their names
AREAS = ["reference", "mode", "auc", "start", "end", "gap"]  # what is kept of each walk
FIRST, FIRST_STEP = Settings(baselines=6, steps=5, batch=5), 3584
FULL, FULL_STEP = Settings(baselines=300, steps=1, batch=4), 1792
USUAL, USUAL_STEP = replace(FULL, baselines=30), FULL_STEP  # of the changes, one at a time


# each row: what is changed, to what, and the fields of the settings, the step or the network that do it
CHANGES = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Item:
    """One photo in one preparation."""

    path: Path
    preparation: str

    def image(self, size: int = 224) -> Tensor:
        """What the network sees, (3, size, size) in [0, 1]; ValueError where the photo is too small."""
        return to_tensor(crop(open_photo(self.path).picture, PREPARATIONS[self.preparation], size))

    @property
    def names(self) -> dict[str, str]:
        """Columns that say which photo and preparation a row is about."""
        return dict(zip(KEY, (self.path.stem, self.preparation), strict=True))


def photos(folder: Path | None = None) -> list[Path]:
    """The albatrosses, sorted by name.

    Raises
    ------
    FileNotFoundError : they are not available
    """
    if folder is None and (root := data_folder()) is not None:
        folder = root / "images" / "albatrosses"
    if folder is None or not (found := sorted(folder.glob("*.jpg"))):
        raise FileNotFoundError(
            "the study needs CUB's albatrosses as images/albatrosses/*.jpg in the folder that INSDEL_DATA names; "
            f"found none in {folder.name if folder else 'INSDEL_DATA, which is not set'}. They can be had for research "
            "from the authors of CUB-200-2011."
        )
    return found


def items(paths: Sequence[Path]) -> list[Item]:
    """Every photo in every preparation, shuffled by name: a pass that was cut short has seen a fair sample."""
    shuffled = sorted(paths, key=lambda path: hashlib.sha256(path.stem.encode()).hexdigest())
    return [Item(path, preparation) for path in shuffled for preparation in PREPARATIONS]


def first_numbers(todo: Sequence[Item], counts: Mapping[str, int]) -> list[int]:
    """Places in `todo` of the first so many photos of each preparation: {preparation: photos}."""
    kinds = pd.Series([item.preparation for item in todo])
    return kinds.index[kinds.groupby(kinds).cumcount() < kinds.map(counts)].tolist()


def look(network: Classifier, item: Item) -> dict[str, object]:
    """What the network says: width, height, probability of albatross, first choice (none: photo too small)."""
    width, height = open_photo(item.path).picture.size
    facts: dict[str, object] = {**item.names, "width": width, "height": height}
    try:
        image = item.image(network.preprocessing.size)
    except ValueError:
        return facts | {"probability": float("nan"), "first": ""}
    with torch.no_grad():
        says = network(image[None].to(network.device))[0].cpu()
    return facts | {"probability": float(says[find_class("albatross")]), "first": class_names()[int(says.argmax())]}


def walk(network: Classifier, item: Item, settings: Settings, step: int) -> tuple[pd.DataFrame, pd.DataFrame, Tensor]:
    """Areas and curves of both tests of the paper's map against each reference of its table, and the map."""
    image, label = item.image(network.preprocessing.size).to(network.device), find_class("albatross")
    found = saliency_map("layer", network, label, image, settings)
    pictures = {name: reference_image(name, image, network, settings.seed) for name in exchange.printed().index}
    areas, curves = measure(network.probability(label), image, pictures, found.scores, step, settings.batch)
    return areas.assign(gap=found.gap, **item.names), curves.assign(**item.names), found.scores


def first_pass(
    network: Classifier, todo: Sequence[Item], folder: Path, settings: Settings, step: int, numbers: Sequence[int]
) -> Iterator[pd.DataFrame]:
    """Areas of each item, one table at a time; a single row without areas where the network sees no albatross.

    numbers : places in `todo` of the items that are walked; more can be asked for later
    """
    names = "\n".join(f"{item.path.name} {item.preparation}" for item in todo)
    known = {"network": network.source, "items": hashlib.sha256(names.encode()).hexdigest()[:16], "step": step,
             "settings": str(replace(settings, batch=None, checkpoint=None))}  # fmt: skip
    store = Store(folder, lambda: known)
    for number in numbers:
        if not store.has(number):
            facts = look(network, todo[number])
            seen = facts["first"] == "albatross"
            areas = walk(network, todo[number], settings, step)[0] if seen else pd.DataFrame(index=[0])
            store.put(number, areas.assign(**facts))
        yield store.get(number)


def pick(rows: pd.DataFrame) -> list[Item]:
    """The items that a table names, in its order."""
    by_name = {tuple(item.names.values()): item for item in items(photos())}
    return [by_name[key] for key in rows[KEY].itertuples(index=False, name=None)]


@record("images_albatrosses", "albatrosses in search of the paper's picture", ("areas", "photos"), **ALL)
def record_all(context: RunContext, **counts: int) -> Recording:
    """So many photos in each preparation, with few baselines and coarse steps."""
    network, todo = load("b0"), items(photos())
    numbers = first_numbers(todo, counts)
    found = pd.concat(first_pass(network, todo, context.folder, FIRST, FIRST_STEP, numbers), ignore_index=True)
    seen = found.drop_duplicates(KEY)[[*KEY, "width", "height", "probability", "first"]]
    tables = {"areas": found.dropna(subset=["auc"])[[*KEY, *AREAS]], "photos": seen}
    return Recording(tables, _facts(network, FIRST, FIRST_STEP, [todo[number] for number in numbers]))


@record("images_nearest", "the ten nearest albatrosses with 300 baselines", ("areas", "curves", "faces"))
def record_nearest(context: RunContext) -> Recording:
    """The nearest with the paper's number of baselines, and what of their maps lies in the boxes drawn by hand."""
    network, few = load("b0"), pick(nearest(results.load("images_albatrosses")[0]))
    parts = []
    for item in few:
        areas, curves, scores = walk(network, item, replace(FULL, checkpoint=context.folder), FULL_STEP)
        marked = faces.shares_inside(scores, faces.boxes(*item.names.values())).assign(**item.names)
        parts.append((areas, curves, marked))
    areas, curves, marked = (pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True))
    curves = curves[[*KEY, "reference", "mode", "fraction", "value"]]
    small = curves.astype({"fraction": "float32", "value": "float32"})
    tables = {"areas": areas[[*KEY, *AREAS]], "curves": small, "faces": marked}
    return Recording(tables, _facts(network, FULL, FULL_STEP, few))


@record("images_changes", "what other settings change on the nearest albatross", ("areas",))
def record_changes(context: RunContext) -> Recording:
    """What other settings change on the nearest picture."""
    networks = {name: load(name) for name in {"b0", *(change.get("network", "b0") for change in CHANGES)}}
    few, tables = pick(nearest(results.load("images_nearest")[0], 1)), []
    for change in CHANGES:
        settings = replace(USUAL, checkpoint=context.folder, **change.get("settings", {}))
        network = networks[change.get("network", "b0")]
        areas, _, _ = walk(network, few[0], settings, change.get("step", USUAL_STEP))
        tables.append(areas.assign(what=change["what"], value=change["value"]))
    table = pd.concat(tables, ignore_index=True)[["photo", "what", "value", *AREAS]]
    return Recording({"areas": table}, _facts(networks["b0"], USUAL, USUAL_STEP, few))


def _facts(network: Classifier, settings: Settings, step: int, todo: Sequence[Item]) -> dict[str, Any]:
    """Provenance of a pass."""
    digest = hashlib.sha256("".join(sorted({sha256(item.path) for item in todo})).encode()).hexdigest()
    parameters = {key: getattr(settings, key) for key in ("baselines", "steps", "scale", "seed")}
    return {
        "parameters": {**parameters, "step": step, "network": network.source, "label": "albatross"},
        "data": {"source": "real", "what": "albatrosses of CUB-200-2011", "photos": len({item.path for item in todo}),
                 "sha256": digest, "sha256_is": "of the photos' sha256, sorted and joined"},
    }  # fmt: skip
