"""The card game of the home page: `python tools/home_board.py` writes it anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from insdel.examples import house, price
from insdel_book import board

PATH = Path(__file__).resolve().parents[1] / "book" / "home_board.html"
ABOUT = "Price by a formula, in thousands; area and garden in m², metro in km."


def price_with_premium(houses: Any) -> Any:
    """The price of `examples.price`, and a premium of 150 for large houses near the metro, (m, 3) → (m,)."""
    area, _, metro = houses.T
    exp = torch.exp if isinstance(houses, torch.Tensor) else np.exp
    return price(houses) + 150 / (1 + exp((120 - area) / 6)) / (1 + exp((metro - 1.25) / 0.08))


def home_board() -> str:
    """Two boards with three cards each: one where IG and Shapley disagree, one where both can be beaten."""
    names = house().names
    curved = "Price by a formula, in thousands, with a premium for large houses near the metro."
    far, near = np.array([80.0, 100.0, 2.0]), np.array([160.0, 0.0, 1.0])
    small, large = np.array([80.0, 0.0, 2.0]), np.array([180.0, 400.0, 1.5])
    boards = [
        board.board("A pair on which they disagree", curved, "price", price_with_premium, (far, near), names),
        board.board("A pair on which you can beat both", ABOUT, "price", price, (small, large), names),
    ]
    return board.cards(boards, still="fig-home")._repr_html_()


def write(path: Path = PATH) -> None:
    """Write the game; the same code gives the same file."""
    path.write_text(home_board() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
