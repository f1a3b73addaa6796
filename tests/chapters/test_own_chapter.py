"""Chapter 21 with other parameters than its own: tables and models as readers have them, every cell to the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from running import run_cells

from insdel_book.chapters import find_chapter, list_chapters

CHAPTER = find_chapter(list_chapters(ROOT), "your_own")
MODEL = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
"""


def run(**values: object) -> dict:
    return run_cells(CHAPTER, n_rows=4, n_background=5, **values)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    flats = pd.DataFrame({"area": rng.uniform(30, 120, 80), "rooms": rng.integers(1, 5, 80),
                          "district": rng.choice(["south", "north", "centre"], 80), "id": np.arange(80)})  # fmt: skip
    flats["price"] = 3 * flats["area"] + 20 * (flats["district"] == "north")
    flats["sold"] = np.where(flats["price"] > flats["price"].median(), "late", "soon")
    flats.to_csv(tmp_path / "flats.csv", index=False)
    (tmp_path / "mine.py").write_text(MODEL)
    return tmp_path


def test_the_first_call_scores_shap_near_1_and_gain_far_below() -> None:
    found = run_cells(CHAPTER, n_rows=12, n_background=8)
    score = found["graded"].summary().groupby("method")["score"].mean()
    assert score["TreeSHAP"] > 0.9 > 0.5 > score["gain"]
    assert found["shown"]["background"] > found["shown"]["another patient"]
    assert found["deep"].summary()["score"].notna().all()
    assert list(found["table"].features) == ["area", "lift", "floor"]


def test_a_csv_and_a_torch_module_from_a_file(folder: Path) -> None:
    found = run(csv=str(folder / "flats.csv"), target="price", drop=["sold", "district"],
                model=f"{folder / 'mine.py'}:model")  # fmt: skip
    assert found["subject"].output == "predicted price" and "id" not in found["table"].features


def test_a_csv_with_classes(folder: Path) -> None:
    found = run(csv=str(folder / "flats.csv"), target="sold", drop=["price"], keep=["id"])
    assert found["subject"].output == "probability of sold = soon" and "id" in found["table"].features


def test_a_csv_without_a_target_lists_the_columns(folder: Path) -> None:
    with pytest.raises(ValueError, match="needs target.*area, rooms, district, id, price, sold"):
        run(csv=str(folder / "flats.csv"))
