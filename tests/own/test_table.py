"""A reader's own CSV: what becomes of its columns, what is left out with a reason, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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


def written(folder: Path, table: pd.DataFrame, sep: str = ",", **options: object) -> Path:
    path = folder / "flats.csv"
    table.to_csv(path, **{"index": False, "sep": sep, **options})
    return path


def notes(folder: Path, **columns: object) -> str:
    return " ".join(own.read(written(folder, flats(**columns)), "price").notes)


GOOD = [f"{30 + i / 3:.2f};{1 + i % 4};{100 + i % 7}" for i in range(30)]


def test_columns_stay_as_read_csv_gives_them_and_rows_count_from_1(tmp_path: Path) -> None:
    source = flats()
    table = own.read(written(tmp_path, source), "price")
    pd.testing.assert_frame_equal(table.features, source.drop(columns="price").set_axis(range(1, 61)), check_index_type=False)
    np.testing.assert_allclose(table.target, source["price"])
    assert table.what == "60 rows of flats.csv" and table.notes == () and table.target.name == "price"
    assert len(own.read(written(tmp_path, flats(2)), "price").features) == 2
    table = own.read(written(tmp_path, source), "price", drop=["district", "lift"], categorical=["rooms"])
    assert list(table.features) == ["area", "rooms"] and not table.notes
    assert list(table.features["rooms"].cat.categories) == [1, 2, 3, 4]


@pytest.mark.parametrize(("sep", "mark"), [(";", "."), (";", ","), ("\t", ".")])
def test_other_separators_and_decimal_commas(tmp_path: Path, sep: str, mark: str) -> None:
    comma = own.read(written(tmp_path, flats()), "price")
    other = own.read(written(tmp_path, flats(), sep, decimal=mark), "price")
    pd.testing.assert_frame_equal(comma.features, other.features)
    np.testing.assert_allclose(comma.target, other.target)


@pytest.mark.parametrize(
    ("sep", "area", "price", "values", "note"),
    [
        (",", ["8,250", "12,740"], [1.5, 2.25], [8250, 12740], "The commas in area .* thousands"),
        (",", ["250", "1,012,740.5"], ["1,234.50", "90.25"], [250, 1012740.5], "area, price .* thousands"),
        (",", ["8,5", "12,74"], ["1", "2"], [8.5, 12.74], "The commas in area .* decimal"),
        (";", ["8,250", "12,740"], ["1,5", "2,25"], [8.25, 12.74], "area, price .* decimal"),
        (";", ["8,250", "12,740"], [1.5, 2.25], [8250, 12740], "The commas in area .* thousands"),
        (";", ["1.234,5", "90,25"], ["3", "4"], [1234.5, 90.25], "The commas in area .* decimal"),
    ],
)
def test_what_a_comma_in_a_number_means_is_decided_by_the_file_and_said(
    tmp_path: Path, sep: str, area: list, price: list, values: list, note: str
) -> None:
    source = pd.DataFrame({"area": area, "rooms": [3, 4], "price": price})
    table = own.read(written(tmp_path, source, sep), "price")
    assert table.features["area"].tolist() == values and pd.api.types.is_numeric_dtype(table.target)
    assert re.search(note, " ".join(table.notes))


@pytest.mark.parametrize("sep", [",", ";"])
def test_decimal_commas_beside_decimal_points_are_refused(tmp_path: Path, sep: str) -> None:
    path = written(tmp_path, flats(area=["82,5", "90,75"] * 30, width=1.5), sep)
    with pytest.raises(UserError, match="one decimal mark; found commas in area and points in price, width"):
        own.read(path, "price")


def test_gaps_stay_gaps_and_infinity_is_one(tmp_path: Path) -> None:
    source = flats()
    source.loc[3, "area"], source.loc[7, "district"], source.loc[9, "area"] = np.nan, None, np.inf
    features = own.read(written(tmp_path, source), "price").features
    assert features.isna().sum().to_dict() == {"area": 2, "rooms": 0, "lift": 0, "district": 1}


def test_ids_free_text_and_empty_columns_are_left_out_with_the_reason(tmp_path: Path) -> None:
    text = notes(tmp_path, flat=np.arange(60), customer_id=np.random.default_rng(0).permutation(900)[:60],
                 key=[f"k{i:02}" for i in range(60)], remark=[f"near house {i % 50}" for i in range(60)],
                 garden=np.nan)  # fmt: skip
    assert "flat, which numbers the rows" in text and "customer_id, which numbers the rows" in text
    assert "key, which has 60 different texts in 60 rows" in text and "remark, which has 50 different texts" in text
    assert "garden, which has no value" in text


def test_a_quantity_is_kept_though_all_its_values_differ(tmp_path: Path) -> None:
    salary = np.random.default_rng(1).permutation(9000)[:60]
    path = written(tmp_path, flats(salary=salary, year=np.arange(1960, 2020)))
    assert "salary" in own.read(path, "price").features
    assert "year" not in own.read(path, "price").features  # one after the other, as numbers of rows are
    assert "year" in own.read(path, "price", keep=["year"]).features


def test_what_the_model_was_fitted_to_decides(tmp_path: Path) -> None:
    path = written(tmp_path, flats(customer_id=np.arange(60), year_built=range(60)))
    table = own.read(path, "price", fitted=["customer_id", "area"])
    assert list(table.features) == ["customer_id", "area"]
    assert table.notes[0].startswith("Left out, as the model was not fitted to it: rooms, lift, district")
    with pytest.raises(UserError, match="fitted to columns that are missing here: garden, price"):
        own.read(path, "price", fitted=["area", "garden", "price"])
    spaced = own.read(written(tmp_path, flats().rename(columns={"area": "living area"})), "price",
                      fitted=["rooms", "living_area"])  # fmt: skip
    assert list(spaced.features) == ["rooms", "living area"]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d %H:%M"])
def test_dates_are_dates(tmp_path: Path, form: str) -> None:
    days = pd.date_range("2024-02-03", periods=60)
    table = own.read(written(tmp_path, flats(sold=days.strftime(form))), "price")
    assert list(table.features["sold"]) == list(days) and "sold was read as a date." in table.notes


def test_a_column_without_a_name(tmp_path: Path) -> None:
    table = own.read(written(tmp_path, flats(), index=True), "price")  # as pandas writes a frame by default
    assert list(table.features) == ["area", "rooms", "lift", "district"] and "numbers the rows" in table.notes[0]
    (tmp_path / "flats.csv").write_text("\n".join(["area;rooms;price;", *(f"{line};" for line in GOOD)]))
    assert list(own.read(tmp_path / "flats.csv", "price").features) == ["area", "rooms"]
    (tmp_path / "flats.csv").write_text("\n".join(["area, m2;rooms;price", *GOOD]))  # the comma separates nothing
    assert list(own.read(tmp_path / "flats.csv", "price").features) == ["area, m2", "rooms"]
    quoted = [f'{line[:5]}, "p, q; {k % 3}", {k}' for k, line in enumerate(GOOD)]  # nor does the semicolon
    (tmp_path / "flats.csv").write_text("\n".join(['area, "kind; more", price', *quoted]))
    assert list(own.read(tmp_path / "flats.csv", "price").features) == ["area", "kind; more"]


def test_other_encodings(tmp_path: Path) -> None:
    path = written(tmp_path, flats().replace("south", "süd"))
    expected = own.read(path, "price").features
    path.write_text(path.read_text(), encoding="utf-8-sig")
    pd.testing.assert_frame_equal(own.read(path, "price").features, expected)
    path.write_bytes(path.read_text(encoding="utf-8-sig").encode("cp1252"))
    table = own.read(path, "price")
    pd.testing.assert_frame_equal(table.features, expected)
    assert "read as Windows-1252" in table.notes[0]
    path.write_text(path.read_text(encoding="cp1252"), encoding="utf-16")
    table = own.read(path, "price")
    pd.testing.assert_frame_equal(table.features, expected)
    assert "read as UTF-16" in table.notes[0]


WRONG = [
    (flats(), {"target": None}, "needs target.*the columns are: area, rooms, lift, district, price"),
    (flats(), {"target": "cost"}, "no column cost; the columns are: area"),
    (flats(), {"drop": ["lift", "garden"]}, "no column garden"),
    (flats(), {"drop": ["price"]}, "price cannot be the target and dropped"),
    (flats(), {"drop": ["area", "rooms", "lift"]}, "at least two features, but flats.csv has district"),
    (flats(1), {}, "at least two rows; it has 1"),
    ([], {}, "flats.csv needs columns .* found nothing"),
    (["price", "1", "2"], {}, "found a single column"),
    (["area;rooms;price", *GOOD[:4], "1;2;3;4", *GOOD[4:]], {}, r"needs the 3 fields of its header; row 5 has 4"),
    (["area;rooms;price", *GOOD, "1;2"], {}, "row 31 has 2"),
    (['area;"area ";price', *GOOD], {}, "found area twice"),
    (["area;price;price", *GOOD, "1;2"], {}, "(?s)found price twice.*row 31 has 2"),
]


@pytest.mark.parametrize(("table", "options", "message"), WRONG, ids=[message[:30] for *_, message in WRONG])
def test_what_cannot_be_used_is_named(tmp_path: Path, table: pd.DataFrame | list[str], options: dict, message: str) -> None:
    path = tmp_path / "flats.csv"
    path.write_text("".join(f"{line}\n" for line in table)) if isinstance(table, list) else written(tmp_path, table)
    with pytest.raises(UserError, match=message):
        own.read(path, **{"target": "price", **options})
    with pytest.raises(FileNotFoundError, match="found none at .*nothing.csv"):
        own.read(tmp_path / "nothing.csv", "price")


def test_all_problems_come_in_one_message(tmp_path: Path) -> None:
    mixed = flats().astype(object)
    mixed.loc[41, "area"], mixed.loc[3, "rooms"] = "n/k", "?"
    with pytest.raises(UserError) as error:
        own.read(written(tmp_path, mixed), "cost", drop=["garden"])
    for part in ("no column cost, garden", "'n/k' in row 42; row 1 is", "'?' in row 4"):
        assert part in str(error.value)


@pytest.mark.parametrize("name", ["no", "010", "2026-01-01", "price #1", "a, b", "$x_1$"])
def test_any_name_of_a_column_is_a_name(tmp_path: Path, name: str) -> None:
    table = own.read(written(tmp_path, flats().rename(columns={"price": name})), name)
    assert table.target.name == name and len(table.features.columns) == 4


def test_of_500_columns_a_message_lists_some(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(40, 500)).round(3), columns=[f"c{k}" for k in range(500)])
    assert len(own.read(written(tmp_path, wide), "c0").features.columns) == 499
    with pytest.raises(UserError, match="and 480 more") as error:
        own.read(tmp_path / "flats.csv", "price")
    assert len(str(error.value)) < 300
