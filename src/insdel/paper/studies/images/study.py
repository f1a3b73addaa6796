"""One photo, several saliency maps and references: both tests of each, in tidy tables that a killed run keeps.

From the command line it writes a record:
`python -m insdel.paper.studies.images.study NAME PHOTO --network b0 --label albatross`.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
from torch import Tensor

from insdel.paper import results
from insdel.paper.data.files import sha256
from insdel.paper.studies.images.classifier import Classifier
from insdel.paper.studies.images.photos import EMBEDDED, class_names, find_class, open_photo
from insdel.paper.studies.images.saliency import MAPS, Saliency, Settings, saliency_map
from insdel.paper.studies.images.walk import REFERENCES, measure, reference_image
from insdel.paper.studies.images.weights import load


def study(
    network: Classifier,
    label: int,
    image: Tensor,
    maps: Sequence[str] = ("layer",),
    references: Sequence[str] = REFERENCES,
    settings: Settings | None = None,
    step: int = 224,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Areas and curves of both tests, for every map and reference.

    Parameters
    ----------
    image : (3, height, width) in [0, 1]
    maps, references : names in `MAPS` and `REFERENCES`

    Returns
    -------
    areas : map, reference, mode, auc, abc, start, end, gap (of completeness)
    curves : map, reference, mode, changed, fraction, value
    """
    settings = _own_folder(settings or Settings(), network, label, image)
    areas, curves = [], []
    for method in maps:
        found = saliency_map(method, network, label, image, settings)
        for name in references:
            area, curve = _walks(method, name, found, network, label, image, settings, step)
            areas.append(area.assign(map=method, gap=found.gap))
            curves.append(curve.assign(map=method))
    return pd.concat(areas, ignore_index=True), pd.concat(curves, ignore_index=True)


def _own_folder(settings: Settings, network: Classifier, label: int, image: Tensor) -> Settings:
    """Let the checkpoint be a folder that belongs to this network, class, image and rule alone."""
    if settings.checkpoint is None:
        return settings
    rule = f"{settings.steps} shifted points, noise × {settings.scale}"
    facts = [network.source, str(label), rule, hashlib.sha256(image.cpu().numpy().tobytes()).hexdigest()]
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
    return replace(settings, checkpoint=settings.checkpoint / key)


def _walks(
    method: str,
    name: str,
    found: Saliency,
    network: Classifier,
    label: int,
    image: Tensor,
    settings: Settings,
    step: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both walks to one reference, computed or read from the checkpoint folder."""
    scores = hashlib.sha256(found.scores.numpy().tobytes()).hexdigest()[:12]
    stem = f"walks_{method}_{name}_{step}_{settings.seed}_{scores}"
    files = [f"{stem}_{part}.parquet" for part in ("areas", "curves")]
    paths = [settings.checkpoint / file for file in files] if settings.checkpoint else []
    if paths and all(path.is_file() for path in paths):
        return pd.read_parquet(paths[0]), pd.read_parquet(paths[1])
    reference = reference_image(name, image, network, settings.seed)
    f = network.probability(label)
    tables = measure(f, image, {name: reference}, found.scores, step, settings.batch, settings.progress)
    for path, table in zip(paths, tables, strict=False):
        path.parent.mkdir(parents=True, exist_ok=True)
        results.write_parquet(table, path)
    return tables


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a study and keep it in `results/` as NAME (areas) and NAME_curves."""
    given = _parser().parse_args(arguments)
    started = time.perf_counter()
    resumed = given.checkpoint is not None and any(given.checkpoint.glob("*/*"))
    network, photo = load(given.network, given.device), open_photo(given.photo)
    image, label = photo.square(network.preprocessing).to(network.device), find_class(given.label)
    settings = Settings(
        given.baselines, given.steps, given.masks, seed=given.seed, batch=given.batch, progress=None,
        checkpoint=given.checkpoint,
    )  # fmt: skip
    areas, curves = study(network, label, image, given.maps, given.references, settings, given.step)
    parameters = asdict(replace(settings, checkpoint=None, progress=None)) | {
        "network": network.source, "photo": Path(photo.name).name, "label": class_names()[label], "step": given.step,
    }  # fmt: skip
    digest = "inside the scikit-image wheel" if given.photo in EMBEDDED else sha256(Path(given.photo))
    provenance = {
        "command": f"python -m insdel.paper.studies.images.study {given.name} {photo.name} {_options(given)}",
        "parameters": {key: value for key, value in parameters.items() if value is not None},
        "data": {"source": "real", "file": photo.name, "sha256": digest},
        "seconds": round(time.perf_counter() - started, 1),
        "resumed": resumed,  # then the seconds are those since the last start only
    }
    results.save(given.name, areas, provenance)
    results.save(f"{given.name}_curves", curves, provenance)


def _options(given: argparse.Namespace) -> str:
    """The options as one types them; not those that only say how to compute, or name folders."""
    skipped = ("name", "photo", "batch", "device", "checkpoint")
    shown = {key: value for key, value in vars(given).items() if key not in skipped}
    texts = {key: " ".join(value) if isinstance(value, list | tuple) else value for key, value in shown.items()}
    return " ".join(f"--{key} {text}" for key, text in texts.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("insdel.paper.studies.images.study", description="Insertion and deletion tests of one photo.")
    defaults = Settings()
    parser.add_argument("name", help="name of the record")
    parser.add_argument("photo", help=f"image file, or one of {', '.join(EMBEDDED)}")
    parser.add_argument("--network", default="lite0", help="lite0, b0, torchvision:NAME or timm:NAME")
    parser.add_argument("--label", required=True, help="class, by name or number")
    parser.add_argument("--maps", nargs="+", default=["layer"], choices=list(MAPS), help="saliency maps")
    parser.add_argument("--references", nargs="+", default=list(REFERENCES), choices=REFERENCES, help="pictures x′")
    parser.add_argument("--baselines", type=int, default=defaults.baselines, help="noise pictures of IG")
    parser.add_argument("--steps", type=int, default=defaults.steps, help="points on the path from each")
    parser.add_argument("--masks", type=int, default=defaults.masks, help="masks of RISE")
    parser.add_argument("--step", type=int, default=224, help="pixels changed between two points of a curve")
    parser.add_argument("--seed", type=int, default=0, help="seed of every random number")
    parser.add_argument("--batch", type=int, help="pictures per model call")
    parser.add_argument("--device", default="auto", help="auto (a GPU if there is one), cpu or cuda")
    parser.add_argument("--checkpoint", type=Path, help="folder that keeps what is finished")
    return parser


if __name__ == "__main__":
    main()
