"""The card game of the home page: `python tools/home_board.py` writes it anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from insdel.examples import house, price
from insdel_book import board

PATH = Path(__file__).resolve().parents[1] / "book" / "home_board.html"
ABOUT = "Price by a formula, in thousands; area and garden in m², metro in km."


def home_board() -> str:
    """Two boards with three cards each: one where Shapley's order can be beaten, one where it cannot."""
    f, x, reference, names = house()
    small, large = np.array([80.0, 0.0, 2.0]), np.array([180.0, 400.0, 1.5])
    boards = [
        board.board("A small house and a large one", ABOUT, "price", price, (small, large), names),
        board.board("A large house and a smaller one", ABOUT, "price", f, (x, reference), names),
    ]
    return board.cards(boards, still="fig-home")._repr_html_()


def write(path: Path = PATH) -> None:
    """Write the game; the same code gives the same file."""
    path.write_text(home_board() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
