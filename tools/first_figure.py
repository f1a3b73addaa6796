"""The figures of the README and the home page: `python tools/first_figure.py` writes them anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from insdel.curves import curve, order
from insdel.examples import house
from insdel.lattice import Lattice
from insdel_paper import figures
from insdel_paper.figures import answer
from insdel_paper.studies.tables import PLACES, leads

PATH = Path(__file__).resolve().parents[1] / "book" / "_static" / "first_figure.svg"
ANSWER = PATH.with_name("answer.svg")
PREVIEW = PATH.with_name("preview.png")  # what a link to the book shows


def first_figure() -> Figure:
    """Insertion and deletion curves of the three-feature house, in the order of its Shapley values."""
    f, x, reference, names = house()
    shapley = Lattice.evaluate(f, x, reference).shapley()
    orders = [np.asarray(order(shapley, mode)) for mode in ("insertion", "deletion")]
    walks = [np.asarray(curve(f, x, reference, row)) for row in orders]
    words = ([names[j] for j in orders[0]], [names[j] for j in orders[1]])
    return figures.walk_modes(walks[0], walks[1], words, "price in thousands")


def write(path: Path = PATH) -> None:
    """Write the figure; the same code gives the same file."""
    figures.use_style()
    first_figure().savefig(path, metadata={"Date": None})


def write_answer(path: Path = ANSWER) -> None:
    """Write the figure with which the home page answers, from the recorded runs."""
    figures.use_style()
    answer.lead(leads(PLACES)).savefig(path, metadata={"Date": None})


def write_preview(path: Path = PREVIEW) -> None:
    """Write the picture that links show, 1,200 × 630 pixels."""
    figures.use_style()
    figure = first_figure()
    figure.set_size_inches(12, 6.3)
    figure.suptitle("IG or SHAP: which should you trust?", fontsize=22)
    figure.savefig(path, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    write()
    write_answer()
    write_preview()
