"""A reader's own CSV: what becomes of its columns, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from insdel.errors import UserError
from insdel.own import table as own


def flats(rows: int = 60, **columns: object) -> pd.DataFrame:
    """Simulated flats: two numbers, a flag, a district in words, a price."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "area": rng.uniform(30, 120, rows).round(1),
        "rooms": rng.integers(1, 5, rows),
        "lift": rng.integers(0, 2, rows).astype(bool),
        "district": rng.choice(["south", "north", "centre"], rows),
    })  # fmt: skip
    table["price"] = 3.0 * table["area"] + 10 * table["rooms"] + 20 * (table["district"] == "centre")
    return table.assign(**columns)


def written(folder: Path, table: pd.DataFrame, sep: str = ",") -> Path:
    path = folder / "flats.csv"
    table.to_csv(path, index=False, sep=sep)
    return path


def test_columns_become_numbers_and_stay_one_feature_each(tmp_path: Path) -> None:
    source = flats()
    table = own.read(written(tmp_path, source), "price")
    assert table.names == ["area", "rooms", "lift", "district"] and table.binary == ("lift",)
    assert table.codes == {"district": ("centre", "north", "south")}
    decoded = [table.value("district", code) for code in table.features["district"]]
    assert decoded == source["district"].tolist()
    np.testing.assert_array_equal(table.features["lift"], source["lift"].astype(float))
    np.testing.assert_allclose(table.outcome, source["price"])
    assert table.classes == () and table.output == "predicted price" and "60 rows of flats.csv" in table.what
    assert any("district" in note and "alphabetical" in note for note in table.notes)
    assert table.describe().loc["district", "kind"] == "text: centre = 0, north = 1, south = 2"


@pytest.mark.parametrize("sep", [";", "\t"])
def test_other_separators(tmp_path: Path, sep: str) -> None:
    comma, other = own.read(written(tmp_path, flats()), "price"), own.read(written(tmp_path, flats(), sep), "price")
    pd.testing.assert_frame_equal(comma.features, other.features)


def test_columns_can_be_dropped(tmp_path: Path) -> None:
    table = own.read(written(tmp_path, flats()), "price", drop=["district", "lift"])
    assert table.names == ["area", "rooms"] and not table.codes and not table.notes


def test_rows_with_gaps_are_left_out_and_the_columns_named(tmp_path: Path) -> None:
    source = flats()
    source.loc[[3, 7], "area"] = np.nan
    source.loc[7, "district"] = None
    source.loc[9, "price"] = np.inf
    table = own.read(written(tmp_path, source), "price")
    assert len(table.features) == len(table.target) == 57
    assert table.notes[0] == "3 of 60 rows are left out: values are missing in area (2), district (1), price (1)."
    np.testing.assert_array_equal(table.features["rooms"], source["rooms"].drop([3, 7, 9]))


IDS = {"flat": np.arange(60), "key": [f"k{i:02}" for i in range(60)]}
WRONG = [
    (flats(), {"target": None}, "needs target.*the columns are: area, rooms, lift, district, price"),
    (flats(), {"target": "cost"}, "no column cost; the columns are: area"),
    (flats(), {"drop": ["lift", "garden"]}, "no column garden"),
    (flats(), {"drop": ["price"]}, "price cannot be the target and dropped"),
    (flats(), {"drop": ["area", "rooms", "lift"]}, "two features at least; found district"),
    (flats(**IDS), {}, "every row has its own key and flat.*id. Drop it .or keep flat"),
    (flats(note=[f"text {i % 25}" for i in range(60)]), {}, "at most 20 different values; found note: 25 values"),
    (flats(garden=[1.0] * 10 + [np.nan] * 50), {}, "of 60 rows 10 are complete.*garden .50."),
    (flats(15), {"keep": ["rooms"]}, "at least half of the rows, and 20.*of 15 rows 15"),
    (flats(price=1.0), {}, "price must vary"),
    (flats(), {"task": "ranking"}, "task must be one of auto, regression, classification"),
    (flats(), {"task": "classification"}, "at most 20 classes; price has .* Set task=regression"),
    (flats(price=[f"{i},5 EUR" for i in range(60)]), {}, "at most 20 classes.*comma or a unit"),
    (flats(price="dear").assign(price=["dear", "cheap"] * 30), {"task": "regression"}, "price is text such as 'dear'"),
    (flats(price=["dear", "cheap"] * 30), {"positive": "free"}, "one of the classes cheap, dear; found 'free'"),
]


@pytest.mark.parametrize(("table", "options", "message"), WRONG, ids=[message[:30] for *_, message in WRONG])
def test_what_cannot_be_used_is_named(tmp_path: Path, table: pd.DataFrame, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        own.read(written(tmp_path, table), **{"target": "price", **options})


def test_files_that_are_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="found none at .*nothing.csv"):
        own.read(tmp_path / "nothing.csv", "price")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(ValueError, match="empty.csv needs columns .* found nothing"):
        own.read(tmp_path / "empty.csv", "price")
    (tmp_path / "prose.csv").write_text("price\n1\n2\n")
    with pytest.raises(ValueError, match="found a single column"):
        own.read(tmp_path / "prose.csv", "price")


def test_a_quantity_may_be_kept_though_all_its_values_differ(tmp_path: Path) -> None:
    path = written(tmp_path, flats(built=1900 + np.arange(60)))
    with pytest.raises(ValueError, match="its own built"):
        own.read(path, "price")
    assert "built" in own.read(path, "price", keep=["built"]).names


@pytest.mark.parametrize(
    ("values", "classes", "positive"),
    [(["yes", "no"], ("no", "yes"), "yes"), ([True, False], ("False", "True"), "True"), ([1.0, 0.0], ("0", "1"), "1"),
     ([2, 10], ("2", "10"), "10"), (["a", "b", "c"], ("a", "b", "c"), "c")],
)  # fmt: skip
def test_classes_are_found_and_the_last_is_explained(
    tmp_path: Path, values: list, classes: tuple[str, ...], positive: str
) -> None:
    answers = [values[i % len(values)] for i in range(60)]
    table = own.read(written(tmp_path, flats(price=answers)), "price")
    assert table.classes == classes and table.positive == positive
    assert table.output == f"probability of price = {positive}"
    np.testing.assert_array_equal(table.outcome, [own.label(answer) == positive for answer in answers])
    other = own.read(written(tmp_path, flats(price=answers)), "price", positive=classes[0])
    np.testing.assert_array_equal(other.outcome, [own.label(answer) == classes[0] for answer in answers])


def test_examples_are_real_and_say_so() -> None:
    diabetes, tumours = own.example(), own.example("classification")
    assert len(diabetes.features) == 442 and diabetes.binary == ("sex",) and "real rows" in diabetes.what
    assert len(tumours.features) == 569 and tumours.classes == ("benign", "malignant")
    assert "real rows" in tumours.what and tumours.outcome.sum() == 212


def test_standardising_and_back(tmp_path: Path) -> None:
    table = own.read(written(tmp_path, flats()), "price")
    parts = own.split(table, seed=1)
    assert sorted([*parts.train, *parts.test]) == list(range(60)) and len(parts.test) == 12
    np.testing.assert_allclose(parts.x_train[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(parts.x_train[:, :2].std(axis=0), 1)
    assert set(parts.x_test[:, 2]) == {0, 1}
    raw = table.features.to_numpy()[parts.test]
    back = parts.scale.columns(parts.x_test)
    np.testing.assert_allclose(back, raw, rtol=1e-14)
    np.testing.assert_array_equal(back[:, 1:], raw[:, 1:])  # whole numbers come back whole
    tensor = parts.scale.columns(torch.tensor(parts.x_test))
    np.testing.assert_allclose(tensor.numpy(), raw, rtol=1e-13)
    np.testing.assert_array_equal(table.outcome[parts.test], parts.y_test)
    halves = parts.scale.columns(parts.x_test + 0.5 / parts.scale.width)
    np.testing.assert_allclose(halves, raw + 0.5)  # what is no whole number is left alone


def test_two_values_become_zero_and_one_even_if_training_rows_show_one_of_them() -> None:
    table = own.build(flats(20)[["area", "rooms"]].assign(flag=[5.0] * 19 + [7.0]), flats(20)["price"], "a test")
    for seed in range(5):
        parts = own.split(table, seed=seed)
        assert set(np.concatenate([parts.x_train, parts.x_test])[:, 2]) == {0, 1}


def test_the_share_set_aside_is_a_share() -> None:
    with pytest.raises(ValueError, match="between 0 and 1; found 1.5"):
        own.split(own.example(), share=1.5)


GOOD = [f"{30 + i / 3:.2f};{1 + i % 4};{100 + i % 7}" for i in range(30)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["area;rooms;price", *GOOD[:4], "1;2;3;4", *GOOD[4:]], r"needs the 3 fields of its header; row 5 has 4"),
        (["area;rooms;price", *GOOD, "1;2"], "row 31 has 2"),
        (["area;rooms;price;", *(f"{line};" for line in GOOD)], "column 4 of 4 has none"),
        (['area;"area ";price', *GOOD], "found area more than once"),
        (["area;price;price", *GOOD], "found price more than once"),
        (["area", "1", "2"], "a single column"),
        ([""], "found nothing"),
    ],
    ids=["too many", "too few", "no name", "same but for a space", "twice", "single", "empty"],
)  # fmt: skip
def test_a_table_out_of_shape_is_refused_with_its_row(tmp_path: Path, lines: list[str], message: str) -> None:
    (tmp_path / "flats.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=message):
        own.read(tmp_path / "flats.csv", "price")


def test_a_comma_in_the_header_of_a_table_with_semicolons(tmp_path: Path) -> None:
    (tmp_path / "flats.csv").write_text("\n".join(["area, m2;rooms;price", *GOOD]) + "\n")
    assert own.read(tmp_path / "flats.csv", "price").names == ["area, m2", "rooms"]


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    point = own.read(written(tmp_path, flats(), ";"), "price")
    (tmp_path / "flats.csv").write_text((tmp_path / "flats.csv").read_text().replace(".", ","))
    comma = own.read(tmp_path / "flats.csv", "price")
    pd.testing.assert_frame_equal(point.features, comma.features)
    np.testing.assert_allclose(point.target, comma.target)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = written(tmp_path, flats())
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert own.read(path, "price").names[0] == "area"


@pytest.mark.parametrize("name", ["no", "010", "2026-01-01", "price #1", "a, b", "$x_1$"])
def test_any_name_of_a_column_is_a_name(tmp_path: Path, name: str) -> None:
    table = own.read(written(tmp_path, flats().rename(columns={"price": name})), name)
    assert table.name == name


def test_of_500_columns_a_message_lists_some(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(40, 500)).round(3), columns=[f"c{k}" for k in range(500)])
    assert len(own.read(written(tmp_path, wide), "c0").names) == 499
    with pytest.raises(UserError, match="and 480 more") as error:
        own.read(tmp_path / "flats.csv", "price")
    assert len(str(error.value)) < 300


def test_a_class_may_be_named_by_a_number(tmp_path: Path) -> None:
    table = own.read(written(tmp_path, flats(sold=[0, 1] * 30)), "sold", positive="1.0")
    assert table.positive == "1"


def test_a_text_among_numbers_is_found(tmp_path: Path) -> None:
    rows = np.random.default_rng(6).normal(size=(60, 3))
    table = pd.DataFrame(rows, columns=["area", "age", "price"]).astype(object)
    table.loc[2, "age"] = None  # a row that falls out, and counts as a row of the file
    table.loc[41, "area"] = "n/k"
    with pytest.raises(UserError, match="area has numbers in most rows, but 'n/k' in row 42; row 1 is"):
        own.read(written(tmp_path, table), "price")
    table.loc[7, "area"] = "?"
    with pytest.raises(UserError, match=r"'\?' in row 8 \(and 1 more\)"):
        own.read(written(tmp_path, table), "price")


def test_features_are_described_by_how_many_values_they_have(tmp_path: Path) -> None:
    shown = own.read(written(tmp_path, flats(floors=1)), "price").describe()
    assert shown.loc[["area", "lift", "floors"], "kind"].tolist() == ["number", "two values", "constant: never differs"]
    assert shown.loc[["lift", "floors"], "values"].tolist() == [2, 1]
