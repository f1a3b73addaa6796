"""The book's colours and style, and what several figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with every common kind of colour blindness.
PALETTE = {
    "blue": "#0072B2",
    "orange": "#D55E00",
    "green": "#009E73",
    "pink": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#E69F00",
    "grey": "#6E6E6E",
    "black": "#1A1A1A",
}
COLORS = list(PALETTE.values())
# One colour and one mark for a method in all figures: four methods in colour, controls in black and grey.
METHOD_LOOKS = {
    "kernel_shap": ("Kernel SHAP", "blue", "o"),
    "integrated_gradients": ("IG", "orange", "s"),
    "deeplift": ("DeepLIFT", "green", "D"),
    "lime": ("LIME", "pink", "^"),
    "two_sided": ("two-sided occlusion", "black", "P"),
    "best": ("best order", "black", "*"),
}
LABELS = {  # how the label of a method may begin → the method
    **{name.replace("_", " "): name for name in METHOD_LOOKS},
    **dict.fromkeys(("shapley", "by shapley"), "kernel_shap"),
    **dict.fromkeys(("ig", "casting", "interpolating", "jumping"), "integrated_gradients"),
}
WIDEST = 7.6  # inches: wider figures are shrunk on the page, and their text with them

STYLE: dict[str, Any] = {
    "figure.facecolor": "#FFFFFF",
    "axes.facecolor": "#FFFFFF",
    "savefig.facecolor": "#FFFFFF",
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=COLORS),
    "font.size": 11,
    "figure.labelsize": "medium",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "insdel",  # the same figure gives the same file
}


def use_style() -> None:
    """Set the book's figure style for the running kernel: SVG figures, one palette."""
    plt.style.use(STYLE)
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # outside a notebook there is nothing to set
        return
    set_matplotlib_formats("svg")


def method_look(label: str) -> dict[str, Any]:
    """Colour and mark of a method by its name or its label; grey for methods that `METHOD_LOOKS` leaves out."""
    words = label.lower().replace("_", " ").replace("two-", "two ")
    name = next((method for start, method in LABELS.items() if words.startswith(start)), label)
    _, color, marker = METHOD_LOOKS.get(name, ("", "grey", "v"))
    return {"color": PALETTE[color], "marker": marker}


def panels_row(
    columns: int = 1, width: float = 6.4, height: float = 3.8, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row of panels, closed so that a notebook shows it once."""
    figure, axes = plt.subplots(1, columns, figsize=(min(width, WIDEST), height), squeeze=False, sharey=sharey)
    plt.close(figure)
    return figure, list(axes[0])


def straight_line(axes: Axes, curve: np.ndarray) -> np.ndarray:
    """Draw the straight line between a curve's ends, and return its points."""
    steps = np.arange(len(curve))
    line = np.asarray(np.linspace(curve[0], curve[-1], len(curve)))
    axes.plot(steps, line, color=PALETTE["grey"], linestyle="--", label="straight line")
    return line


def step_axis(axes: Axes, n: int, names: Sequence[str] | None = None) -> None:
    """Label the horizontal axis with the number of changed features, or with the feature of each step."""
    axes.set_xticks(range(n + 1), None if names is None else ["x", *(f"+ {name}" for name in names)])
    axes.set_xlabel("features changed so far" if names is None else "one more feature taken from x′")


def panels_grid(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Figure, np.ndarray]:
    """Return a figure with rows and columns of panels, closed so that a notebook shows it once."""
    figure, axes = plt.subplots(rows, columns, figsize=(min(width, WIDEST), height), squeeze=False, **shared)
    engine = figure.get_layout_engine()
    if engine is not None:  # room between the labels of one row and the titles of the next
        engine.set(h_pad=0.12)
    plt.close(figure)
    return figure, axes


def message(text: str) -> Figure:
    """A figure that only says why there is nothing to show."""
    figure, [axes] = panels_row(height=1.0)
    axes.axis("off")
    axes.text(0.5, 0.5, text, ha="center", va="center")
    return figure
