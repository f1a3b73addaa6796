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
NETWORK = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))


def price(columns):
    return columns @ [3.0, 10.0, 5.0, -1.0, 2.0]
"""


def run(**values: object) -> dict:
    return run_cells(CHAPTER, **values)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    flats = pd.DataFrame({"area": rng.uniform(30, 120, 80), "rooms": rng.integers(1, 5, 80),
                          "lift": rng.choice(["yes", "no"], 80), "floor": rng.integers(0, 9, 80),
                          "district": rng.choice(["south", "north", "centre"], 80), "id": np.arange(80)})  # fmt: skip
    flats["price"] = 3 * flats["area"] + 20 * (flats["lift"] == "yes") * flats["floor"]
    flats["sold"] = np.where(flats["price"] > flats["price"].median(), "late", "soon")
    flats.to_csv(tmp_path / "flats.csv", index=False)
    (tmp_path / "mine.py").write_text(NETWORK)
    return tmp_path


def test_a_csv_and_a_torch_module_from_a_file(folder: Path) -> None:
    found = run(csv=str(folder / "flats.csv"), target="price", drop="id,sold", model=f"{folder / 'mine.py'}:model")
    assert found["table"].binary == ("lift",) and found["subject"].about == "mine.py:model, a torch module"
    assert {"integrated_gradients", "deeplift", "best"} <= set(found["results"]["method"])


def test_a_csv_with_classes_and_a_forest(folder: Path) -> None:
    found = run(csv=str(folder / "flats.csv"), target="sold", drop="id,price", model="forest", positive="late")
    assert found["table"].output == "probability of sold = late"
    assert "vanilla_grad" not in set(found["results"]["method"]) and "left out" in found["plan"].notes[0]


def test_a_function_and_the_average_policy(folder: Path) -> None:
    options = {"policy": "average", "methods": ["kernel_shap", "best"]}
    found = run(csv=str(folder / "flats.csv"), target="price", drop="id,sold", model=f"{folder / 'mine.py'}:price",
                **options)  # fmt: skip
    areas = found["results"].pivot_table(index="pair", columns=["method", "mode"], values="abc")
    for mode in ("insertion", "deletion"):  # a weighted sum: no order beats that of the Shapley values
        np.testing.assert_allclose(areas["kernel_shap", mode], areas["best", mode])
    assert found["verdicts"].empty


def test_thirty_features_are_sampled() -> None:
    found = run(task="classification", samples=128)
    assert set(found["results"]["method"]).isdisjoint({"best", "expected"})
    assert found["plan"].options["kernel_shap"] == {"samples": 128}


def test_a_csv_without_a_target_lists_the_columns(folder: Path) -> None:
    with pytest.raises(ValueError, match="needs target.*area, rooms, lift, floor, district, id, price, sold"):
        run(csv=str(folder / "flats.csv"))
