"""Rules about the albatross  [section 1, appendix A.1].

The paper does not say which photo it used. Sentences about its table are judged by the share of CUB's photos for which
they are true; the photo whose table is nearest to the paper's was chosen by what it would be judged on, and is shown.
"""

from __future__ import annotations

import pandas as pd

import insdel_paper as paper
from insdel import stats
from insdel_paper.claims import records
from insdel_paper.claims.verdict import LIMITS, Answer, Figure, above, below, equal, rule
from insdel_paper.studies.images import exchange, faces
from insdel_paper.studies.images.network import EfficientNet

RECORD, PHOTOS = "images_nearest", "images_albatrosses"
MODES = ("deletion", "insertion")


def of_nearest(part: str | None = None) -> pd.DataFrame:
    """Rows of a table of the record about the picture (photo and preparation) nearest to the paper's table."""
    table, first = records.table(RECORD, part), exchange.nearest(records.table(RECORD), 1).iloc[0]
    return table[(table["photo"] == first["photo"]) & (table["preparation"] == first["preparation"])]


def areas() -> tuple[pd.DataFrame, pd.DataFrame]:
    """AUC by reference picture and test: ours, in the rows of the paper's table, and the paper's."""
    printed = paper.table("albatross").set_index("reference")
    ours = of_nearest().pivot_table(index="reference", columns="mode", values="auc")
    return ours.loc[printed.index], printed


def share(text: str, true: pd.Series) -> Figure:
    """In which share of all recorded photos a sentence is true, by photo and preparation; the error is over photos."""
    shares = true.astype(float).groupby("photo").mean()
    return above(f"share of {len(shares)} photos: {text}", *stats.mean(shares), LIMITS["most"])


def every(value: str, mode: str) -> pd.DataFrame:
    """A column of the record of all photos in a test: a row per photo and preparation, a column per reference."""
    rows = records.table(PHOTOS).query("mode == @mode")
    return rows.pivot_table(index=["photo", "preparation"], columns="reference", values=value)


@rule()
def confident() -> Answer:
    """Most photos are confidently called an albatross."""
    start = every("start", MODES[0]).max(axis=1)  # the same for all references
    yield share(f"probability of albatross above {LIMITS['confident']:g}", start > LIMITS["confident"])
    yield Figure("nearest photo: probability of albatross", float(of_nearest()["start"].iloc[0]))


@rule()
def forgets_at() -> Answer:
    """The deletion AUC is the share of pixels that have to go: the curve must be a step."""
    curves = of_nearest("curves")
    for name, area in areas()[0]["deletion"].items():
        walk = curves[(curves["reference"] == name) & (curves["mode"] == "deletion")].sort_values("fraction")
        forgotten = walk[walk["value"] < LIMITS["forgotten"] * walk["value"].iloc[0]]
        share = float(forgotten["fraction"].iloc[0]) if len(forgotten) else 1.0
        text = f"{name}: |share of pixels at which it is forgotten − deletion AUC|"
        yield below(text, abs(share - float(area)), None, LIMITS["about"])


@rule()
def face() -> Answer:
    """The most salient pixels of the nearest photos, and boxes drawn by hand around face and bird."""
    marked = records.table(RECORD, "faces")
    times = {box: faces.times_area(marked, box, 0.01) for box in ("face", "bird")}
    shares = {
        "whose face has more than its area of the most salient percent": times["face"] > 1,
        "whose face has more of it than the bird as a whole, area for area": times["face"] > times["bird"],
    }
    for text, true in shares.items():
        yield above(f"share of photos {text}", float(true.mean()), None, LIMITS["most"])
    yield Figure("median: times the area of the face", float(times["face"].median()))


@rule()
def reference_matters() -> Answer:
    """The largest AUC over four references, over the smallest."""
    for mode in MODES:
        ours, printed = (float(table[mode].max() / table[mode].min()) for table in areas())
        text, least = f"{mode} AUC: largest over smallest of four references", LIMITS["much larger"]
        aucs = every("auc", mode)
        yield share(f"{text} above {least:g}", aucs.max(axis=1) / aucs.min(axis=1) > least)
        yield Figure(f"nearest photo: {text}", ours, None, printed)


@rule()
def blurred_largest() -> Answer:
    """The blurred reference has the largest AUC in both tests."""
    for mode in MODES:
        ours, printed = (float(t.loc["blurred", mode] - t[mode].drop("blurred").max()) for t in areas())
        yield share(f"{mode} AUC largest for the blurred reference", every("auc", mode).idxmax(axis=1) == "blurred")
        yield Figure(f"nearest photo: {mode} AUC, blurred minus the largest other", ours, None, printed)


@rule()
def albatross_table() -> Answer:
    """The printed AUCs against those of all albatrosses, by the rule of `exchange`, which was fixed beforehand."""
    found = exchange.verdict(records.table(PHOTOS))
    for row in found.itertuples():
        for what, p in (("gain", row.gain_p), ("strangeness", row.strangeness_p)):
            label = f"{row.preparation}, {row.reading}: p-value of the {what} among {row.photos} photos"
            asked = row.reading == "as printed"
            yield above(label, p, None, exchange.LIMIT) if asked else Figure(label, p)
    ours, printed = areas()[0], exchange.printed("exchanged")
    for name in printed.index:
        for mode in exchange.MODES:
            label = f"nearest photo: {name}, {mode} AUC (the paper's columns exchanged)"
            yield Figure(label, float(ours.loc[name, mode]), None, float(printed.loc[name, mode]))
    backwards = int(found.drop_duplicates("preparation")["reversed_in_all"].sum())
    like = "looks like those" if exchange.is_exchanged(found) else "is far more like those"
    yield (
        f"{backwards or 'No'} albatross of CUB that was looked at has deletion above insertion in all rows, as the "
        f"printed table has. With its columns exchanged it {like} of the photos"
        + ("." if exchange.is_exchanged(found) else ", but not quite like them.")
    )


@rule()
def first_layer() -> Answer:
    """The first convolution of B0: 32 maps of 112 × 112, from windows of 3 × 3."""
    stem, side = EfficientNet().stem, int(paper.size("image: side in pixels"))
    return [
        equal("maps of the first convolution", stem.out_channels, paper.size("image: maps of the first layer")),
        equal("their side", -(-side // stem.stride[0]), paper.size("image: side of these maps")),
        equal("side of its windows", stem.kernel_size[0], 3),
    ]
