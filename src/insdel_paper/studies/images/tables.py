"""Tables of the albatrosses as the chapter shows them: deletion / insertion AUC, one column per reference."""

from __future__ import annotations

import pandas as pd

from insdel_paper.studies.images import exchange
from insdel_paper.studies.images.albatrosses import nearest


def short(photo: str) -> str:
    """A photo's name without what all of them share."""
    return (
        photo.replace("_Albatross", "").replace("_", " ", photo.count("_") - 2).replace("Black Footed", "Black-footed")
    )


def both_tests(wide: pd.DataFrame) -> pd.DataFrame:
    """Columns (reference, mode) → one column per reference: "deletion / insertion"."""
    names = list(exchange.printed().index)
    return pd.DataFrame(
        {name: [f"{d:.3f} / {i:.3f}" for d, i in wide[name][list(exchange.MODES)].to_numpy()] for name in names},
        index=wide.index,
    )


def nearest_table(areas: pd.DataFrame) -> pd.DataFrame:
    """The paper's table in both readings, then the photos from the nearest on.

    areas : photo, preparation, reference, mode, auc
    """
    ranked = nearest(areas, len(areas)).set_index(["photo", "preparation"])
    wide = areas.pivot_table(index=["photo", "preparation"], columns=["reference", "mode"], values="auc")
    ours = both_tests(wide.loc[ranked.index])
    for reading in exchange.READINGS:
        ours[f"distance, {reading}"] = ranked[reading].map("{:.3f}".format)
    ours.index = pd.Index([f"{short(photo)}, {preparation}" for photo, preparation in ours.index])
    columns = pd.MultiIndex.from_product([exchange.printed().index, exchange.MODES])
    theirs = pd.DataFrame({f"the paper, {name}": exchange.eight(exchange.printed(name)) for name in exchange.READINGS})
    return pd.concat([both_tests(theirs.T.set_axis(columns, axis=1)), ours]).fillna("")


def change_table(changes: pd.DataFrame) -> pd.DataFrame:
    """Means over the photos after each change, and the largest change of any number of any photo.

    changes : photo, what, value, reference, mode, auc; the first rows are the usual settings
    """
    ways = changes[["what", "value"]].drop_duplicates()
    wide = changes.pivot_table(index=["what", "value", "photo"], columns=["reference", "mode"], values="auc")
    usual = wide.xs(tuple(ways.iloc[0]), level=["what", "value"])
    means = wide.groupby(level=["what", "value"]).mean().loc[list(ways.itertuples(index=False, name=None))]
    table = both_tests(means)
    apart = {key: (part.droplevel(["what", "value"]) - usual).abs() for key, part in wide.groupby(["what", "value"])}
    table["mean change"] = [f"{apart[key].to_numpy().mean():.3f}" for key in table.index]
    table["largest change"] = [f"{apart[key].to_numpy().max():.3f}" for key in table.index]
    return table


def face_table(marked: pd.DataFrame) -> pd.DataFrame:
    """Share of the picture, and of its most salient pixels, that lies in each box.

    marked : photo, preparation, box, area, share, inside
    """
    columns = {}
    for box, part in marked.groupby("box", sort=False):
        rows = part.set_index(["photo", "preparation"])
        columns[(box, "area")] = rows["area"].groupby(level=[0, 1], sort=False).first()
        for share, one in rows.groupby("share"):
            columns[(box, f"of the first {share:.0%}")] = one["inside"]
    table = pd.DataFrame(columns)
    table.index = pd.Index([f"{short(photo)}, {preparation}" for photo, preparation in table.index])
    return table


def times_area(marked: pd.DataFrame, box: str, share: float) -> pd.Series:
    """How many times its share of the picture a box holds of the most salient pixels, by photo."""
    part = marked[(marked["box"] == box) & (marked["share"] == share)].set_index(["photo", "preparation"])
    return part["inside"] / part["area"]
