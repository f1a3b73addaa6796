"""All 178 albatrosses of CUB-200-2011, in search of the paper's table: three passes, each finer than the last.

The photos are not part of the project: they are looked for in `images/albatrosses` of INSDEL_DATA. No
photo, nor a part of one, is written anywhere; the records hold numbers. A run that was killed goes on.

first    every photo in both preparations, few baselines, coarse steps, where the network says albatross
nearest  the ten that are nearest to the printed table in either reading, with the paper's 300 baselines
changes  what baselines, their scale, the network and the steps change, on the nearest of them
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from insdel.store import Store
from insdel_paper.data.files import data_folder
from insdel_paper.studies.images import exchange
from insdel_paper.studies.images.classifier import Classifier
from insdel_paper.studies.images.photos import class_names, crop, find_class, open_photo, to_tensor
from insdel_paper.studies.images.saliency import Settings
from insdel_paper.studies.images.study import study
from insdel_paper.studies.images.weights import load

PREPARATIONS: dict[str, int | None] = {"resized": 256, "cropped": None}  # pixels of the shorter side, before the crop
SPECIES = {"Black_Footed": 60, "Laysan": 60, "Sooty": 58}  # photos of each in CUB-200-2011
REFERENCES = tuple(exchange.printed().index)
FIRST = Settings(baselines=6, steps=5, batch=5)
FIRST_STEP = 3584
FULL = Settings(baselines=300, steps=1, batch=4)
FULL_STEP = 1792
NEAREST = 10
USUAL = replace(FULL, baselines=30)  # of the changes, one at a time
USUAL_STEP = FULL_STEP


@dataclass(frozen=True)
class Change:
    """One way to do it otherwise: what is changed, to what."""

    what: str
    value: str
    settings: Settings = USUAL
    step: int = USUAL_STEP
    network: str = "b0"


CHANGES = (
    Change("nothing", f"{USUAL.baselines} baselines"),
    Change("baselines", "6", replace(USUAL, baselines=6)),
    Change("baselines", "300", replace(USUAL, baselines=300)),
    Change("baselines", "30 others", replace(USUAL, seed=1000)),
    Change("scale of the noise", "½", replace(USUAL, scale=0.5)),
    Change("scale of the noise", "2", replace(USUAL, scale=2.0)),
    Change("points on each path", "10", replace(USUAL, steps=10)),
    Change("pixels per step", "448", step=448),
    Change("pixels per step", "3584", step=3584),
    Change("network", "Lite0", network="lite0"),
)


@dataclass(frozen=True)
class Item:
    """One photo in one preparation."""

    path: Path
    preparation: str

    def image(self, size: int = 224) -> Tensor:
        """What the network sees, (3, size, size) in [0, 1]; ValueError where the photo is too small."""
        return to_tensor(crop(open_photo(self.path).picture, PREPARATIONS[self.preparation], size))

    @property
    def key(self) -> tuple[str, str]:
        """Photo and preparation."""
        return self.path.stem, self.preparation

    @property
    def names(self) -> dict[str, str]:
        """Columns that say which photo and preparation a row is about."""
        return {"photo": self.path.stem, "preparation": self.preparation}


def photos(folder: Path | None = None) -> list[Path]:
    """The albatrosses, sorted by name.

    Raises
    ------
    FileNotFoundError : they are not available
    """
    root = data_folder()
    folder = folder or (root / "images" / "albatrosses" if root is not None else None)
    found = sorted(folder.glob("*.jpg")) if folder is not None else []
    if not found:
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


def look(network: Classifier, item: Item, label: int) -> dict[str, object]:
    """What the network says: width, height, probability of the label, first choice (none: photo too small)."""
    width, height = open_photo(item.path).picture.size
    facts: dict[str, object] = {**item.names, "width": width, "height": height}
    try:
        image = item.image(network.preprocessing.size)
    except ValueError:
        return facts | {"probability": float("nan"), "first": ""}
    with torch.no_grad():
        says = network(image[None].to(network.device))[0].cpu()
    return facts | {"probability": float(says[label]), "first": class_names()[int(says.argmax())]}


def first_numbers(todo: Sequence[Item], photos: Mapping[str, int]) -> list[int]:
    """Places in `todo` of the first so many photos of each preparation: {preparation: photos}."""
    seen: Counter[str] = Counter()
    numbers = []
    for number, item in enumerate(todo):
        if seen[item.preparation] < photos[item.preparation]:
            numbers.append(number)
        seen[item.preparation] += 1
    return numbers


def first_pass(
    network: Classifier,
    todo: Sequence[Item],
    folder: Path,
    settings: Settings = FIRST,
    step: int = FIRST_STEP,
    numbers: Sequence[int] | None = None,
) -> Iterator[pd.DataFrame]:
    """Areas of each item, one table at a time; a single row without areas where the network sees no albatross.

    numbers : places in `todo` of the items that are walked (default: all); more can be asked for later
    """
    label = find_class("albatross")
    names = "\n".join(f"{item.path.name} {item.preparation}" for item in todo)
    known = {"network": network.source, "items": hashlib.sha256(names.encode()).hexdigest()[:16], "step": step,
             "settings": str(replace(settings, batch=None, checkpoint=None, progress=None))}  # fmt: skip
    store = Store(folder, lambda: known)
    for number in range(len(todo)) if numbers is None else numbers:
        item = todo[number]
        if not store.has(number):
            facts = look(network, item, label)
            table = pd.DataFrame([facts])
            if facts["first"] == "albatross":
                image = item.image(network.preprocessing.size).to(network.device)
                areas, _ = study(network, label, image, ("layer",), REFERENCES, settings, step)
                table = areas.assign(**facts)
            store.put(number, table)
        yield store.get(number)


def nearest(areas: pd.DataFrame, count: int = NEAREST) -> pd.DataFrame:
    """The tables that are nearest to the paper's in either reading, nearest first.

    areas : photo, preparation, reference, mode, auc

    Returns
    -------
    photo, preparation, the distance to each reading, gain, reversed (rows with deletion above insertion)
    """
    rows = []
    for preparation, part in areas.groupby("preparation", sort=False):
        wide = exchange.tables(part)
        numbers = wide.to_numpy(dtype=float)
        apart = {reading: exchange.distance(numbers, exchange.printed(reading)) for reading in exchange.READINGS}
        facts = {"gain": exchange.gain(numbers), "reversed": exchange.reversed_rows(numbers)}
        rows.append(pd.DataFrame({"photo": wide.index, "preparation": preparation, **apart, **facts}))
    table = pd.concat(rows, ignore_index=True)
    best = table[list(exchange.READINGS)].min(axis=1).sort_values(kind="stable").index
    return table.loc[best].head(count).reset_index(drop=True)


def walks(
    network: Classifier, todo: Sequence[Item], settings: Settings, step: int, folder: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Areas and curves of the chosen items; finished baselines and walks are kept in the folder."""
    label, tables = find_class("albatross"), []
    for item in todo:
        image = item.image(network.preprocessing.size).to(network.device)
        found = study(network, label, image, ("layer",), REFERENCES, replace(settings, checkpoint=folder), step)
        tables.append([table.assign(**item.names) for table in found])
    areas, curves = (pd.concat(parts, ignore_index=True) for parts in zip(*tables, strict=True))
    return areas, curves


def change_pass(todo: Sequence[Item], folder: Path, changes: Sequence[Change] = CHANGES) -> pd.DataFrame:
    """Areas of each item after each change: photo, preparation, what, value, reference, mode, auc, start, end, gap."""
    label, tables = find_class("albatross"), []
    networks = {name: load(name) for name in {change.network for change in changes}}
    for item in todo:
        for change in changes:
            network, settings = networks[change.network], replace(change.settings, checkpoint=folder)
            image = item.image(network.preprocessing.size).to(network.device)
            areas, _ = study(network, label, image, ("layer",), REFERENCES, settings, change.step)
            tables.append(areas.assign(**item.names, what=change.what, value=change.value))
    return pd.concat(tables, ignore_index=True)


def pick(todo: Sequence[Item], rows: pd.DataFrame) -> list[Item]:
    """The items that a table names, in its order."""
    by_name = {item.key: item for item in todo}
    return [by_name[row.photo, row.preparation] for row in rows.itertuples()]
