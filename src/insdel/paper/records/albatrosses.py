"""The search among CUB's albatrosses, as a command: `python -m insdel.paper.records.albatrosses PART|all`.

The photos are read from `images/albatrosses` of INSDEL_DATA. A run may be killed at any moment; started again,
it goes on with the next photo. It writes these records into `results/`, numbers only:

images_albatrosses_photos  what the network says of each photo, in both preparations
images_albatrosses         the areas of the first pass
images_nearest, images_nearest_curves  the nearest ten with 300 baselines
images_changes             what other settings change
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from insdel.paper import results
from insdel.paper.data.files import sha256
from insdel.paper.records.clock import Clock
from insdel.paper.studies.images import albatrosses as study
from insdel.paper.studies.images.albatrosses import FIRST, FIRST_STEP, FULL, FULL_STEP, USUAL, USUAL_STEP, Item
from insdel.paper.studies.images.classifier import Classifier
from insdel.paper.studies.images.saliency import Settings
from insdel.paper.studies.images.weights import load

PARTS = ("first", "nearest", "changes")
SEEN = ["width", "height", "probability", "first"]  # what is kept of each photo
AREAS = ["auc", "start", "end", "gap"]  # and of each walk


def first_record(network: Classifier, todo: Sequence[Item], folder: Path) -> pd.DataFrame:
    """Run or read the first pass, keep it as two records, and return the areas."""
    clock = Clock(folder)
    found = pd.concat(list(study.first_pass(network, todo, folder)), ignore_index=True)
    seen = found.drop_duplicates(["photo", "preparation"])[["photo", "preparation", *SEEN]]
    areas = found.dropna(subset=["auc"])[["photo", "preparation", "reference", "mode", *AREAS]]
    facts = about("first", network, FIRST, FIRST_STEP, todo) | {"seconds": round(clock.seconds(), 1)}
    results.save("images_albatrosses_photos", seen, facts)
    results.save("images_albatrosses", areas, facts)
    return areas


def nearest_record(network: Classifier, todo: Sequence[Item], areas: pd.DataFrame, folder: Path) -> None:
    """Run or read the nearest at full size, and keep their areas and curves.

    The first pass is coarse, so a longer list is walked with more baselines before ten are chosen.
    """
    started = time.perf_counter()
    second, _ = study.walks(
        network, study.pick(todo, study.nearest(areas, study.SHORTLIST)), study.SECOND, study.SECOND_STEP, folder
    )
    chosen = study.pick(todo, study.nearest(second))
    full, curves = study.walks(network, chosen, FULL, FULL_STEP, folder)
    facts = about("nearest", network, FULL, FULL_STEP, chosen) | since(started)
    results.save("images_nearest", full[["photo", "preparation", "reference", "mode", *AREAS]], facts)
    kept = curves[["photo", "preparation", "reference", "mode", "fraction", "value"]]
    results.save("images_nearest_curves", kept.astype({"fraction": "float32", "value": "float32"}), facts)


def changes_record(network: Classifier, todo: Sequence[Item], folder: Path) -> None:
    """Run or read the changes, and keep them."""
    chosen = [item for item in todo if item.path.stem in study.CHANGED and item.preparation == "resized"]
    started = time.perf_counter()
    table = study.change_pass(chosen, folder)
    facts = about("changes", network, USUAL, USUAL_STEP, chosen) | since(started)
    results.save("images_changes", table[["photo", "what", "value", "reference", "mode", *AREAS]], facts)


def about(part: str, network: Classifier, settings: Settings, step: int, todo: Sequence[Item]) -> dict[str, object]:
    """Where a record comes from."""
    digest = hashlib.sha256("".join(sorted({sha256(item.path) for item in todo})).encode()).hexdigest()
    parameters = {key: getattr(settings, key) for key in ("baselines", "steps", "scale", "seed")}
    return {
        "command": f"python -m insdel.paper.records.albatrosses {part}",
        "parameters": {**parameters, "step": step, "network": network.source, "label": "albatross"},
        "data": {"source": "real", "what": "albatrosses of CUB-200-2011", "photos": len({item.path for item in todo}),
                 "sha256": digest, "sha256_is": "of the photos' sha256, sorted and joined"},
    }  # fmt: skip


def since(started: float) -> dict[str, object]:
    """Wall time of a part that reads what is kept."""
    return {"seconds": round(time.perf_counter() - started, 1),
            "seconds_are": "those since the last start; parts that were kept took no time"}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that the command line names; 0 all well, 2 where photos or weights are missing."""
    parser = argparse.ArgumentParser("insdel.paper.records.albatrosses", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--device", default="auto", help="auto (a GPU if there is one), cpu or cuda")
    given = parser.parse_args(arguments)
    folder = results.folder().resolve().parent / "build" / "records" / "albatrosses"
    try:
        network, todo = load("b0", given.device), study.items(study.photos())
    except OSError as error:
        print(f"insdel.paper.records.albatrosses: {error}", file=sys.stderr)
        return 2
    areas = first_record(network, todo, folder / "first") if given.part in ("all", "first") else None
    if given.part in ("all", "nearest"):
        nearest_record(
            network, todo, results.load("images_albatrosses")[0] if areas is None else areas, folder / "maps"
        )
    if given.part in ("all", "changes"):
        changes_record(network, todo, folder / "maps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
