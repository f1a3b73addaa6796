"""A comparison, and one walk of it, as pictures: matplotlib axes in, axes out; colours and style of all figures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib import rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel.attribution import METHODS
from insdel.errors import UserError

STYLE: Any = rc_params_from_file(Path(__file__).with_name("insdel.mplstyle"), use_default_template=False)
COLORS: list[str] = STYLE["axes.prop_cycle"].by_key()["color"]
PALETTE = dict(zip(("blue", "orange", "green", "pink", "sky", "yellow", "grey", "black"), COLORS, strict=True))
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
LONGEST = 22  # characters of a feature's name in a legend
WIDEST = 7.6  # inches: wider figures are shrunk on the page, and their text with them


def use_style() -> None:
    """Set the book's figure style for the running kernel: SVG figures, one palette."""
    plt.style.use(STYLE)
    with suppress(ImportError):  # outside a notebook there is nothing to set
        from matplotlib_inline.backend_inline import set_matplotlib_formats

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
    figure, axes = panels_grid(1, columns, width, height, sharey=sharey)
    return figure, list(axes[0])


def straight_line(axes: Axes, curve: np.ndarray) -> np.ndarray:
    """Draw the straight line between a curve's ends, and return its points."""
    line = np.asarray(np.linspace(curve[0], curve[-1], len(curve)))
    axes.plot(line, color=PALETTE["grey"], linestyle="--", label="straight line")
    return line


def step_axis(axes: Axes, n: int, names: Sequence[str] | None = None) -> None:
    """Label the horizontal axis with the number of changed features, or with the feature of each step."""
    axes.set_xticks(range(n + 1), None if names is None else ["x", *(f"+ {name}" for name in names)])
    axes.set_xlabel("features changed so far" if names is None else "one more feature taken from x′")


def panels_grid(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Figure, np.ndarray]:
    """Return a figure with rows and columns of panels, closed so that a notebook shows it once."""
    figure, axes = plt.subplots(rows, columns, figsize=(min(width, WIDEST), height), squeeze=False, **shared)
    engine = figure.get_layout_engine()
    if engine is not None and rows > 1:  # room between the labels of one row and the titles of the next
        engine.set(h_pad=0.12)
    plt.close(figure)
    return figure, axes


def message(text: str) -> Figure:
    """A figure that only says why there is nothing to show."""
    figure, [axes] = panels_row(height=1.0)
    axes.axis("off")
    axes.text(0.5, 0.5, text, ha="center", va="center")
    return figure


def method_title(label: str) -> str:
    """A method's name as readers know it; labels of users as they are."""
    extra = {"best": "Best order", "expected": "Chance"}
    return METHODS[label].title if label in METHODS else extra.get(label, label)


def _plain(text: Any, longest: int | None = None) -> str:
    """Text as it is, for a dollar sign would begin a formula; cut where it is too long."""
    short = str(text) if longest is None or len(str(text)) <= longest else str(text)[: longest - 1] + "…"
    return short.replace("$", r"\$")


def colours(comparison: Any) -> dict[str, str]:
    """The colours of `method_look` for built-in methods; methods of users take what is free."""
    labels = list(comparison.settings.methods)
    fixed = {name: str(method_look(name)["color"]) for name in (*METHODS, "best", "expected")}
    taken = {PALETTE["grey"], PALETTE["black"], *(fixed[label] for label in labels if label in fixed)}
    free = [color for color in COLORS if color not in taken] or COLORS
    others = [label for label in labels if label not in fixed]
    return {**fixed, **{label: free[k % len(free)] for k, label in enumerate(others)}}


def plot_comparison(comparison: Any, axes: Axes | None = None) -> Axes:
    """Scores of all methods of a comparison: a dot for each pair, and the mean with two standard errors."""
    summary = comparison.summary(bootstrap=0)
    if "score" not in summary:
        raise UserError("plot needs scores, but this comparison was made with score=False. Leave that out.")
    labels, modes = (list(dict.fromkeys(summary[name])) for name in ("method", "mode"))
    if axes is None:
        with plt.style.context(STYLE):
            axes = plt.subplots(figsize=(6.4, 1.3 + 0.62 * len(labels)))[1]
    color, table = colours(comparison), comparison.table
    spread = table["pair"] * 0.618 % 1 - 0.5  # dots of pairs apart from each other, the same in every drawing
    table = table.assign(place=table["method"].map(labels.index) + 0.6 * spread)
    sns.scatterplot(table, x="score", y="place", hue="method", palette=color, s=8, alpha=0.3, linewidth=0,
                    legend=False, ax=axes, zorder=1)  # fmt: skip
    for k, mode in enumerate(modes):  # large marks: filled for the first test, hollow for the second
        rows = summary[summary["mode"] == mode].set_index("method").loc[labels]
        place = (k - (len(modes) - 1) / 2) * 0.34
        style: dict[str, Any] = {"fmt": "os"[k % 2], "markersize": 7, "capsize": 3, "zorder": 3}
        for j, label in enumerate(labels):
            axes.errorbar(rows.loc[label, "score"], j + place, xerr=2 * rows.loc[label, "score_se"], color=color[label],
                          markerfacecolor=color[label] if k == 0 else "white", **style)  # fmt: skip
        face = PALETTE["black"] if k == 0 else "white"
        axes.plot([], [], "os"[k % 2], ms=7, color=PALETTE["black"], markerfacecolor=face, label=mode.capitalize())
    lowest = float(np.nanmin([-0.1, *(summary["score"] - 2.5 * summary["score_se"].fillna(0))]))
    axes.set_xlim(max(lowest, -1.3), 1.08)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    for place in (0, 1):
        axes.axvline(place, color=PALETTE["grey"], linestyle="--", linewidth=1, zorder=0)
    found = " that a search found" if (summary["best_is"] == "search").any() else ""
    axes.set_xlabel(f"score: 0 = chance, 1 = the best order{found}")
    axes.set_ylabel("")
    axes.set_yticks(range(len(labels)), [_plain(method_title(label)) for label in labels])
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=2, borderaxespad=0.2)
    return axes


def plot_walk(comparison: Any, row: Any, mode: str = "insertion", axes: Axes | None = None, first: int = 3) -> Axes:
    """Predictions along the walks of all methods for one row of x, by its index, from x to the reference.

    The legend names the `first` features of each method, in the order in which they change.
    """
    walks, orders = comparison.curves(row, mode)
    n = comparison.pairs.n
    names = comparison.pairs.names or [f"feature {j}" for j in range(n)]
    if axes is None:
        with plt.style.context(STYLE):
            axes = plt.subplots(figsize=(6.4, 3.6 + 0.16 * len(walks)))[1]
    straight_line(axes, next(iter(walks.values())))
    color = colours(comparison)
    greys = [label for label in walks if color[label] == PALETTE["grey"]]
    for k, (label, curve) in enumerate(walks.items()):
        chosen = [_plain(names[j], LONGEST) for j in orders.get(label, ())[:first]]
        steps = ": " + ", ".join(chosen) + (" …" if n > first else "") if chosen else ""
        style = ("--", "-.", ":")[greys.index(label) % 3] if label in greys else "-"
        axes.plot(curve, style, color=color[label], label=_plain(method_title(label)) + steps,
                  marker="o" if n <= 20 else None, markersize=3.5,
                  linewidth=1.4 + 1.2 * (len(walks) - 1 - k))  # lines that coincide remain visible  # fmt: skip
    if n <= 12:
        axes.set_xticks(range(n + 1))
    axes.set_xlabel("features changed so far")
    axes.set_ylabel("prediction")
    axes.set_title(f"{mode.capitalize()}, row {_plain(row)}", fontsize=11)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), fontsize=9, borderaxespad=0, title_fontsize=9,
                title="method: features that it changes first", alignment="left")  # fmt: skip
    return axes
