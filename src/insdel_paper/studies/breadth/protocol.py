"""What the breadth study asks, how it is tested, and what counts as no: written before the run.

The unit is the table: a table's score of a method is the mean over its families, policies and seeds. Tables were
chosen for their size and their targets, not for what any method does on them. The questions come from a smaller
trial on ten tables; the answers below are taken from the run alone.

H1  exact Kernel SHAP (KS) scores higher than integrated gradients (IG) on networks.
H2  two-sided occlusion scores higher than IG on networks, for 2d + 2 evaluations.
H3  two-sided occlusion scores lower than KS.
H4  KS scores higher than LIME with 500 samples, and than with 25.
H5  KS scores higher than path-dependent TreeSHAP, φ(x′) − φ(x), on tree ensembles.
H6  the gap KS − IG grows with the share of the game that is not additive: over cells, rank correlation within tables.

Tests: H1 to H5 (six comparisons) by Wilcoxon's signed-rank test, two-sided, over tables, the linear control left out,
Holm's correction at 5 %; medians with a bootstrap interval over tables. As a check a random-intercept model: the mean
over tables with a standard error from the variation between tables and within them. H6 by the mean over tables of
Spearman's correlation over a table's cells, signed-rank.

What counts as no: an adjusted p above 0.05, or a median difference of the other sign, is "not shown"; a difference
below 0.01 of the way from chance to the best order is called practically equal whatever its p; a claim "in every
table" fails by one table of the other sign. H6 is "no" unless the mean correlation is above 0.3 and p < 0.05.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_SETTINGS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
NETWORKS, TREES, WIDE = (tuple(_SETTINGS[name]) for name in ("networks", "trees", "wide"))
SMALLEST: float = _SETTINGS["smallest"]
TITLES: dict[str, str] = _SETTINGS["titles"]
OPTIONS: dict[str, dict[str, Any]] = _SETTINGS["options"]
_FAMILIES = {"networks": NETWORKS, "trees": TREES, "all": NETWORKS + TREES}
COMPARISONS = tuple((a, b, _FAMILIES[families]) for a, b, families in _SETTINGS["comparisons"])


@dataclass(frozen=True)
class Size:
    """How large the study is.

    pairs : per cell, at most
    hybrids : of all pairs of a cell together, at most: 40 pairs up to 11 differing features, 32 at 12, 8 at 14, 4 at 15
    most : differing features of a pair in a table of up to 20 features
    wide_pairs : pairs of a table with more features, where nobody enumerates the hybrids
    """

    pairs: int = 40
    hybrids: int = 2**17
    most: int = 15
    wide_pairs: int = 4


def methods(family: str, wide: bool = False) -> list[str]:
    """What is compared for a family of models; beyond 20 features exact Kernel SHAP gives way to more samples."""
    names = list(_SETTINGS["methods"]["all"])
    if wide and family not in TREES:
        names[0] = "kernel_shap_1024"
    if family in TREES:
        return [*names, "treeshap"]
    deeplift = ["deeplift"] if family in ("MLP", "ResNet", "linear") else []
    return [*names, *_SETTINGS["methods"]["gradients"], *deeplift]


def evaluations(method: str, d: int) -> int:
    """Model calls per pair with d differing features; a gradient counts as one, TreeSHAP's passes as none."""
    known = {"kernel_shap": 2**d, "two_sided": 2 * d + 2, "occlusion": d + 1, "deeplift": 1, "input_x_gradient": 1}
    drawn = OPTIONS.get(method, {})
    return known.get(method, drawn.get("samples", drawn.get("steps", int(method == "vanilla_grad"))))
