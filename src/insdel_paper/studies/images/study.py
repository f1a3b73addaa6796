"""One photo, several saliency maps and references: both tests of each, in tidy tables that a killed run keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
from torch import Tensor

from insdel.store import write_parquet
from insdel_paper.studies.images.classifier import Classifier
from insdel_paper.studies.images.saliency import Settings, saliency_map
from insdel_paper.studies.images.walk import REFERENCES, measure, reference_image


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
    settings = own_folder(settings or Settings(), network, label, image)
    f, areas, curves = network.probability(label), [], []
    for method in maps:
        found = saliency_map(method, network, label, image, settings)
        digest = hashlib.sha256(found.scores.numpy().tobytes()).hexdigest()[:12]
        for name in references:
            stem = f"walks_{method}_{name}_{step}_{settings.seed}_{digest}"
            folder = settings.checkpoint
            paths = [folder / f"{stem}_{part}.parquet" for part in ("areas", "curves")] if folder else []
            if paths and all(path.is_file() for path in paths):
                area, curve = (pd.read_parquet(path) for path in paths)
            else:
                reference = reference_image(name, image, network, settings.seed)
                tables = measure(f, image, {name: reference}, found.scores, step, settings.batch, settings.progress)
                for path, table in zip(paths, tables, strict=False):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_parquet(table, path)
                area, curve = tables
            areas.append(area.assign(map=method, gap=found.gap))
            curves.append(curve.assign(map=method))
    return pd.concat(areas, ignore_index=True), pd.concat(curves, ignore_index=True)


def own_folder(settings: Settings, network: Classifier, label: int, image: Tensor) -> Settings:
    """Let the checkpoint be a folder that belongs to this network, class, image and rule alone."""
    if settings.checkpoint is None:
        return settings
    rule = f"{settings.steps} shifted points, noise × {settings.scale}"
    facts = [network.source, str(label), rule, hashlib.sha256(image.cpu().numpy().tobytes()).hexdigest()]
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
    return replace(settings, checkpoint=settings.checkpoint / key)
