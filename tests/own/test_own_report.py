"""`insdel report` as a user calls it: the page answers, all mistakes come at once, nothing is half-written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT

from insdel.own import page
from insdel_book.cli import main

MODEL = """
import numpy as np

WEIGHTS = {"area": 3.0, "rooms": 10.0, "lift": 20.0, "floor": -1.0}


def price(rows):
    return sum(weight * rows[name] for name, weight in WEIGHTS.items())


def kind(rows):
    p = 1 / (1 + np.exp(-(price(rows) - 300) / 40))
    return np.stack([1 - p, p], axis=1)


def shares(rows):
    return np.stack([kind(rows)[:, 0], kind(rows)[:, 1] / 2, kind(rows)[:, 1] / 2], axis=1)
"""
WEIGHTS = {"area": 3.0, "rooms": 10.0, "lift": 20.0, "floor": -1.0}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    flats = pd.DataFrame({"flat": range(900, 960), "area": rng.uniform(30, 120, 60).round(1),
                          "rooms": rng.integers(1, 5, 60), "lift": rng.integers(0, 2, 60),
                          "floor": rng.integers(0, 9, 60)})  # fmt: skip
    flats["price"] = sum(weight * flats[name] for name, weight in WEIGHTS.items())
    flats["kind"] = np.where(flats["price"] > 300, "house", "flat")
    flats.to_csv(tmp_path / "flats.csv", index=False)
    exact = (flats[list(WEIGHTS)] - typical(flats)) * pd.Series(WEIGHTS)
    exact.to_csv(tmp_path / "shap.csv", index=False)
    (tmp_path / "mine.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typical(flats: pd.DataFrame) -> pd.Series:
    return flats[list(WEIGHTS)].quantile(0.5, interpolation="lower")


def insdel(*arguments: str) -> int:
    return main(["report", "--data", "flats.csv", "--target", "price", "--model", "mine.py:price", "--drop", "kind",
                 "--rows", "9", *arguments])  # fmt: skip


def text(path: str = "report.html") -> str:
    return re.sub(r"\s+", " ", BeautifulSoup(Path(path).read_text(encoding="utf-8"), "html.parser").get_text(" "))


def test_the_page_answers_and_says_what_was_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert insdel("--attributions", "mine=shap.csv", "--sign", "shap", "--seed", "3") == 0
    page, raw = text(), Path("report.html").read_text(encoding="utf-8")
    assert "Which explanation of price ranks the features best?" in page
    assert "mine" in page and "rank the features best; these 9 rows cannot tell them apart" in page  # f is additive
    assert "mine scores 1.00 ± 0.00 in insertion and 1.00 ± 0.00 in deletion: close to the best" in page
    for part in ("9 of 60, drawn at random with seed 3", "60 rows of flats.csv", "mine.py:price; predicted price",
                 "R² = 1.00", "mine from shap.csv", "Left out: flat, which numbers the rows", "numpy", "Caution"):  # fmt: skip
        assert (part in page) == (part != "Caution"), part
    assert raw.count("<svg") == 4 and not re.search(r"(src|href)=\"http|<script", raw)
    assert "Left out: flat" in capsys.readouterr().out


def test_a_wrong_sign_and_another_reference_are_noticed_on_the_page(folder: Path) -> None:
    assert insdel("--attributions", "mine=shap.csv", "--sign", "change") == 0
    assert "Caution. mine: the attributions add up to f(x) − f(x′), the opposite of what their sign says" in text()
    assert insdel("--attributions", "mine=shap.csv", "--sign", "shap", "--background", "5") == 0
    assert "Caution. mine: explanation and test use different references" in text()


def test_what_the_user_brings_wins_over_a_built_in_method_of_that_name(folder: Path) -> None:
    (-pd.read_csv("shap.csv")).to_csv("lime.csv", index=False)  # upside down, so it scores about −1
    assert insdel("--attributions", "kernel_shap=lime.csv", "lime.csv", "--sign", "shap", "--seed", "1") == 0
    page = text()
    assert "LIME (built in) and Kernel SHAP (built in)" in page or "Kernel SHAP (built in) and LIME (built in)" in page
    assert "LIME scores -" in page and "Kernel SHAP scores -" in page and "Caution. lime: " in page


def test_warnings_about_the_model_reach_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("noise.py").write_text("import warnings\n\nimport numpy as np\n\n\ndef model(rows):\n"
                                "    warnings.warn('rows have names')\n    return np.random.normal(size=len(rows))\n")  # fmt: skip
    assert insdel("--model", "noise.py:model") == 0
    assert "Caution. f gives the same point different predictions" in text()
    assert "f gives the same point different predictions" in capsys.readouterr().out and "rows have names" not in text()


def test_attributions_by_row_by_group_and_for_all_rows(folder: Path) -> None:
    given = pd.read_csv("shap.csv")
    some = given.sample(frac=1, random_state=1).iloc[:20]
    some.assign(row=some.index + 1).to_csv("some.csv", index=False)
    together = given.assign(size=given["area"] + given["rooms"])[["size", "lift", "floor"]]
    together.to_csv("groups.csv", index=False)
    pd.Series(WEIGHTS).to_csv("ranking.csv")
    assert insdel("--attributions", "some.csv", "--sign", "shap") == 0
    assert "some scores 1.00 ± 0.00 in insertion" in text() and "9 of 20" in text()
    assert insdel("--attributions", "groups.csv", "--sign", "shap", "--groups", "size=area,rooms") == 0
    assert "groups scores 1.00 ± 0.00 in insertion" in text() and "3: size, lift, floor" in text()
    assert insdel("--attributions", "ranking.csv", "--sign", "absolute") == 0
    assert "ranking from ranking.csv" in text() and "ranking scores" in text()


@pytest.mark.parametrize("choice", [["--reference", "one_to_one"], ["--reference", "counterfactual"],
                                    ["--background", "4", "--seed", str(2**32 + 3)],
                                    ["--background", "flats.csv"]], ids=" ".join)  # fmt: skip
def test_references(folder: Path, choice: list[str]) -> None:
    assert insdel(*choice) == 0
    words = {"one_to_one": "drawn at random", "counterfactual": "differs in at least half", "4": "the average over 4 rows",
             "flats.csv": "the average over 60 rows of flats.csv"}  # fmt: skip
    assert words[choice[1]] in text()
    assert "Kernel SHAP" in re.search(r"[^.]* ranks? the features best", text())[0]  # exact for an additive f


def test_a_typical_row_has_the_lower_median_or_the_commonest_value() -> None:
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 9.0], "town": ["b", "a", "a", None], "lift": [True, True, True, False],
                          "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-09", "2020-02-01"])})  # fmt: skip
    expected = frame.iloc[[1]].assign(lift=True).reset_index(drop=True)
    pd.testing.assert_frame_equal(page.typical(frame), expected)


def test_rows_of_a_background_stay_as_they_are(folder: Path) -> None:
    flats = pd.read_csv("flats.csv").assign(built="03.02.2024")
    flats.to_csv("flats.csv", index=False)
    flats[:4].assign(rooms=4.9, built="04.05.2024").to_csv("some.csv", index=False)
    Path("seen.py").write_text("ROOMS, MONTHS = set(), set()\n\n\ndef model(rows):\n    ROOMS.update(rows['rooms'])\n"
                               "    MONTHS.update(rows['built'].dt.month)\n    with open('seen.txt', 'w') as file:\n"
                               "        print(4.9 in ROOMS, MONTHS, file=file)\n    return rows['area']\n")  # fmt: skip
    assert insdel("--model", "seen.py:model", "--background", "some.csv") == 0
    assert Path("seen.txt").read_text() == "True {2, 5}\n"


def test_classes(folder: Path) -> None:
    base = ["--data", "flats.csv", "--target", "kind", "--drop", "price", "--rows", "5"]
    assert main(["report", *base, "--model", "mine.py:kind"]) == 0
    assert "probability of kind = house" in text()
    assert main(["report", *base, "--model", "mine.py:kind", "--class", "predicted"]) == 0
    assert "probability of the predicted kind" in text()


def test_a_number_between_0_and_1_is_no_probability_where_the_target_has_more_than_two_values(folder: Path) -> None:
    (folder / "share.py").write_text("def lift(rows):\n    return rows['area'].to_numpy() / 200\n")
    base = ["--data", "flats.csv", "--drop", "kind", "--rows", "5", "--model", "share.py:lift"]
    assert main(["report", *base, "--target", "price"]) == 0
    assert "predicted price" in text() and "probability" not in text()
    assert main(["report", *base, "--target", "lift"]) == 0
    assert "probability of lift = 1" in text()


def test_all_mistakes_come_in_one_message_and_nothing_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.iterdir())
    assert insdel("--attributions", "none.csv", "--model", "mine.pkl", "-o", "r.pdf", "--target", "cost", "--rows", "1",
                  "--groups", "size") == 2  # fmt: skip
    told = capsys.readouterr().err
    for part in ("name it r.html", "found none at none.csv", "attributions need a sign", "at least 2", "a pickle",
                 "has no column cost", "NAME=COLUMN,COLUMN; found size"):  # fmt: skip
        assert part in told
    assert insdel("--attributions", "flats.csv", "shap.csv", "--sign", "shap", "--groups", "size=area,garden") == 2
    assert "no features: garden" in capsys.readouterr().err
    pd.read_csv("shap.csv").iloc[:7].to_csv("few.csv", index=False)
    pd.read_csv("shap.csv").drop(columns="lift").to_csv("narrow.csv", index=False)
    assert insdel("--attributions", "few.csv", "narrow.csv", "--sign", "shap") == 2
    told = capsys.readouterr().err
    assert "few.csv needs a row for each of the 60 rows" in told and "narrow.csv needs the columns" in told
    assert insdel("--class", "house") == 2
    assert "no class 'house' to choose" in capsys.readouterr().err
    assert sorted(set(folder.iterdir()) - set(before)) == [folder / "few.csv", folder / "narrow.csv"]


REFUSED = [
    (["--seed", "-1"], "seed must be at least 0"),
    (["--reference", "counterfactual", "--keep", "day", "heat"], "counterfactual .* numbers, .* drop heat, day"),
    (["--reference", "counterfactual", "--background", "5"], "background, .* takes the place of --reference"),
    (["--background", "text.csv"], "text.csv needs values of area such as those of the table"),
    (["--background", "gap.csv"], "model failed on the rows of gap.csv: .*(nan|NaN)"),
    (["--background", "empty.csv"], "empty.csv needs rows .* found 0 rows"),
    (["--attributions", "text.csv", "--sign", "shap"], "text.csv needs numbers; found text in area"),
    (["--attributions", "ranking.csv", "--sign", "absolute"], "ranking.csv needs numbers; found text in heat"),
    (["--attributions", "best=shap.csv", "--sign", "shap"], "'best'.* a control of the test"),
    (["--attributions", "from0.csv", "--sign", "shap"], "'row' .* from 1 .* to 60; found 0.* from 0, as in pandas"),
    (["--attributions", "beyond.csv", "--sign", "shap"], "'row' .* from 1 .* to 60; found 61, 62, 63"),
    (["--attributions", "low.csv", "high.csv", "--sign", "shap"], "attributions need a row in common"),
    (["--attributions", "twice.csv", "--sign", "shap"], "'row' .* each once, .* found rows twice"),
    (["--groups", "=area,rooms"], "NAME=COLUMN,COLUMN; found =area,rooms"),
    (["--groups", "g=area", "g=rooms,lift"], "each group needs a name of its own; found g, g"),
    (["--target", "kind", "--drop", "price", "--model", "mine.py:label"], "classes such as '(flat|house)'.*predict_proba"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED])
def test_what_cannot_be_graded_is_refused_in_a_sentence(folder: Path, capsys, arguments: list[str], message: str) -> None:
    flats, shap = pd.read_csv("flats.csv"), pd.read_csv("shap.csv")
    flats.assign(heat=["gas", "oil"] * 30, day=pd.date_range("2024", periods=60)).to_csv("flats.csv", index=False)
    flats.assign(heat="gas", day="2024-01-01", area="x")[:1].to_csv("text.csv", index=False)
    flats.assign(heat="gas", day="2024-01-01", rooms=np.nan)[:4].to_csv("gap.csv", index=False)
    flats.assign(heat="gas", day="2024-01-01")[:0].to_csv("empty.csv", index=False)
    pd.Series({**WEIGHTS, "heat": "warm", "day": 0}, name="value").to_csv("ranking.csv", index_label="feature")
    for name, start, count in (("from0", 0, 60), ("beyond", 4, 60), ("low", 1, 9), ("high", 30, 9)):
        shap.assign(heat=0, day=0, row=shap.index + start)[:count].to_csv(f"{name}.csv", index=False)
    shap.assign(heat=0, day=0, row=7).to_csv("twice.csv", index=False)
    with Path("mine.py").open("a") as file:
        file.write("\n\ndef label(rows):\n    return ['house' if area > 70 else 'flat' for area in rows['area']]\n")
    assert insdel(*arguments) == 2
    told = capsys.readouterr().err
    assert re.search(message, told) and told.count("\n") == 1, told
    assert not Path("report.html").exists()


def test_a_page_that_cannot_be_finished_leaves_the_old_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("report.html").write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("insdel.store.os.replace", full)
    assert insdel() == 1
    assert Path("report.html").read_text() == "old" and not list(folder.glob(".report*"))


def test_dollars_and_tags_in_names_are_shown_as_they_are(folder: Path) -> None:
    flats = pd.read_csv("flats.csv").drop(columns=["kind", "flat"])
    flats.set_axis(["a$b$c", "<b>kind</b>", "$\\frac", "x_1 `**z**`", "price"], axis=1).to_csv("flats.csv", index=False)
    Path("mine.py").write_text("def price(z):\n    return z.sum(axis=1)\n")
    assert main(["report", "--data", "flats.csv", "--target", "price", "--model", "mine.py:price", "--rows", "3"]) == 0
    page = BeautifulSoup(Path("report.html").read_text(encoding="utf-8"), "html.parser")
    assert "4: a$b$c, <b>kind</b>, $\\frac, x_1 `**z**`" in page.get_text()
    assert not [tag for tag in page.find_all("b") if tag.get_text() == "kind"]


BARE = """
import sys
for name in ("yaml", "captum", "xgboost", "papermill", "IPython", "sympy", "shap", "lime", "safetensors"):
    sys.modules[name] = None
from insdel_book.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_it_needs_neither_a_clone_nor_the_books_packages(folder: Path) -> None:
    arguments = ["report", "--data", "flats.csv", "--target", "price", "--model", "mine.py:price", "--rows", "3",
                 "--drop", "kind", "--attributions", "shap.csv", "--sign", "shap"]  # fmt: skip
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", BARE, *arguments], env=os.environ | {"PYTHONPATH": paths},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "shap scores 1.00" in text()
