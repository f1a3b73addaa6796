"""The albatross  [section 1, appendix A.1]: one photo, so there is nothing to take a standard error of."""

from __future__ import annotations

import pandas as pd

import insdel_paper as paper
from insdel_paper.claims import records
from insdel_paper.claims.verdict import LIMITS, Figure, Finding, Rule, above, below, equal, judge
from insdel_paper.studies.images import albatrosses, exchange, tables
from insdel_paper.studies.images.network import EfficientNet

RECORD = "images_nearest"
PHOTOS = "images_albatrosses"
OURS = (
    "The paper does not say which photo it used. Ours is the one of CUB's albatrosses whose table is nearest to the "
    "paper's, in either reading of its columns."
)


def nearest() -> tuple[str, str]:
    """Photo and preparation of the picture that is nearest to the paper's table."""
    first = albatrosses.nearest(records.table(RECORD), 1).iloc[0]
    return str(first["photo"]), str(first["preparation"])


def of_nearest(part: str | None = None) -> pd.DataFrame:
    """Rows of a table of the record that are about that picture."""
    table, (photo, preparation) = records.table(RECORD, part), nearest()
    return table[(table["photo"] == photo) & (table["preparation"] == preparation)]


def areas() -> pd.DataFrame:
    """AUC by reference picture (rows of the paper's table) and test."""
    return of_nearest().pivot_table(index="reference", columns="mode", values="auc")


def confident() -> Finding:
    """The photo is confidently called an albatross."""
    start = float(of_nearest()["start"].iloc[0])
    return judge([above("probability of albatross", start, None, LIMITS["confident"])], OURS, [RECORD])


def forgets_at() -> Finding:
    """The deletion AUC is the share of pixels that have to go: the curve must be a step."""
    curves = of_nearest("curves")
    figures = []
    for name in paper.table("albatross")["reference"]:
        walk = curves[(curves["reference"] == name) & (curves["mode"] == "deletion")].sort_values("fraction")
        forgotten = walk[walk["value"] < LIMITS["forgotten"] * walk["value"].iloc[0]]
        share = float(forgotten["fraction"].iloc[0]) if len(forgotten) else 1.0
        gap = abs(share - float(areas().loc[name, "deletion"]))
        figures.append(below(f"{name}: |share of pixels at which it is forgotten − deletion AUC|", gap, None,
            LIMITS["about"]))
    because = f"{OURS} “Completely forgets” is taken as a probability below {LIMITS['forgotten']:.0%} of the first one."
    return judge(figures, because, [RECORD])


def face() -> Finding:
    """The most salient pixels of the nearest photos, and boxes drawn by hand around face and bird."""
    marked = records.table(RECORD, "faces")
    times = {box: tables.times_area(marked, box, 0.01) for box in ("face", "bird")}
    figures = [
        above("share of photos whose face has more than its area of the most salient percent",
              float((times["face"] > 1).mean()), None, LIMITS["most"]),
        above("share of photos whose face has more of it than the bird as a whole, area for area",
              float((times["face"] > times["bird"]).mean()), None, LIMITS["most"]),
        Figure("median: times the area of the face", float(times["face"].median())),
    ]  # fmt: skip
    because = "Boxes around face and bird were drawn by hand on the nearest photos; CUB's annotation is missing here."
    return judge(figures, because, [RECORD])


def reference_matters() -> Finding:
    """The largest AUC over four references, over the smallest."""
    ours, printed = areas(), paper.table("albatross").set_index("reference")
    figures = [
        above(
            f"{mode} AUC: largest over smallest of four references",
            float(ours.loc[printed.index, mode].max() / ours.loc[printed.index, mode].min()),
            None,
            LIMITS["much larger"],
            paper=float(printed[mode].max() / printed[mode].min()),
        )
        for mode in ("deletion", "insertion")
    ]
    return judge(figures, OURS, [RECORD])


def blurred_largest() -> Finding:
    """The blurred reference has the largest AUC in both tests."""
    ours, printed = areas(), paper.table("albatross").set_index("reference")
    figures = []
    for mode in ("deletion", "insertion"):
        others = ours.loc[[name for name in printed.index if name != "blurred"], mode]
        gap = float(ours.loc["blurred", mode] - others.max())
        theirs = float(printed.loc["blurred", mode] - printed[mode].drop("blurred").max())
        figures.append(above(f"{mode} AUC: blurred minus the largest other", gap, None, paper=theirs))
    return judge(figures, OURS, [RECORD])


def numbers() -> Finding:
    """The printed AUCs against those of all albatrosses, by the rule of `exchange`, which was fixed beforehand."""
    found = exchange.verdict(records.table(PHOTOS))
    figures = []
    for row in found.itertuples():
        for what, p in (("gain", row.gain_p), ("strangeness", row.strangeness_p)):
            label = f"{row.preparation}, {row.reading}: p-value of the {what} among {row.photos} photos"
            asked = row.reading == "as printed"
            figures.append(above(label, p, None, exchange.LIMIT) if asked else Figure(label, p))
    ours, printed = areas(), exchange.printed("exchanged")
    figures += [
        Figure(f"nearest photo: {name}, {mode} AUC (the paper's columns exchanged)", float(ours.loc[name, mode]), None,
               float(printed.loc[name, mode]))
        for name in printed.index for mode in exchange.MODES
    ]  # fmt: skip
    backwards = int(found.drop_duplicates("preparation")["reversed_in_all"].sum())
    because = (
        f"{backwards or 'No'} albatross of CUB that was looked at has deletion above insertion in all rows, as the "
        f"printed table has. {SAID[exchange.is_exchanged(found)]}"
    )
    return judge(figures, because, [PHOTOS, RECORD])


SAID = {
    True: "With its columns exchanged the table looks like those of the photos.",
    False: "With its columns exchanged it is far more like those of the photos, but not quite like them.",
}


def first_layer() -> Finding:
    """The first convolution of B0: 32 maps of 112 × 112, from windows of 3 × 3."""
    network = EfficientNet()
    side = int(paper.size("image: side in pixels"))
    stem = network.stem
    figures = [
        equal("maps of the first convolution", stem.out_channels, paper.size("image: maps of the first layer")),
        equal("their side", -(-side // stem.stride[0]), paper.size("image: side of these maps")),
        equal("side of its windows", stem.kernel_size[0], 3),
    ]
    return judge(figures, "From the network's definition.", ("insdel_paper.studies.images.network",))


RULES: dict[str, Rule] = {
    "image-confident": confident,
    "image-forgets": forgets_at,
    "image-face": face,
    "image-reference": reference_matters,
    "image-blurred": blurred_largest,
    "image-table": numbers,
    "image-layer": first_layer,
}
