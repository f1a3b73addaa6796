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
from typing import Any

NETWORKS = ("MLP", "ResNet", "FT-Transformer")
TREES = ("boosted trees", "random forest")
WIDE = ("ames", "trains")  # tables whose pairs nobody enumerates
FOR_ALL = ("kernel_shap", "kernel_shap_128", "two_sided", "lime_500", "lime_25", "occlusion", "random")
WITH_GRADIENTS = ("integrated_gradients", "input_x_gradient", "vanilla_grad")
SMALLEST = 0.01  # differences below it are practically equal
COMPARISONS = (  # which is expected to score higher, over which, in which families
    ("kernel_shap", "integrated_gradients", NETWORKS),
    ("two_sided", "integrated_gradients", NETWORKS),
    ("kernel_shap", "two_sided", NETWORKS + TREES),
    ("kernel_shap", "lime_500", NETWORKS + TREES),
    ("kernel_shap", "lime_25", NETWORKS + TREES),
    ("kernel_shap", "treeshap", TREES),
)
TITLES = {
    "kernel_shap": "Kernel SHAP, exact",
    "kernel_shap_128": "Kernel SHAP, 128 samples",
    "kernel_shap_1024": "Kernel SHAP, 1024 samples",
    "two_sided": "Two-sided occlusion",
    "lime_500": "LIME, 500 samples",
    "integrated_gradients": "Integrated Gradients",
    "deeplift": "DeepLIFT",
    "lime_25": "LIME, 25 samples",
    "occlusion": "Occlusion",
    "treeshap": "Path-dependent TreeSHAP",
    "input_x_gradient": "Input × Gradient",
    "vanilla_grad": "Vanilla gradient",
    "random": "Random",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "kernel_shap_128": {"samples": 128},
    "kernel_shap_1024": {"samples": 1024},
    "lime_500": {"samples": 500},
    "lime_25": {"samples": 25},
    "integrated_gradients": {"steps": 100},
}


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
    names = list(FOR_ALL)
    if wide and family not in TREES:
        names[0] = "kernel_shap_1024"
    if family in TREES:
        return [*names, "treeshap"]
    return [*names, *WITH_GRADIENTS, *(["deeplift"] if family in ("MLP", "ResNet", "linear") else [])]


def evaluations(method: str, d: int) -> int:
    """Model calls per pair with d differing features; a gradient counts as one, TreeSHAP's passes as none."""
    known = {"kernel_shap": 2**d, "two_sided": 2 * d + 2, "occlusion": d + 1, "deeplift": 1, "input_x_gradient": 1}
    drawn = OPTIONS.get(method, {})
    return known.get(method, drawn.get("samples", drawn.get("steps", int(method == "vanilla_grad"))))
