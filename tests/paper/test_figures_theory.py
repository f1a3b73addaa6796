"""Figures of chapters 1 to 3: each draws what it was given, and says on its axes what that is."""


import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import insdel
from insdel.chance import Histogram
from insdel.examples import house
from insdel_paper import figures


@pytest.fixture
def lattice() -> insdel.Lattice:
    f, x, reference, _ = house()
    return insdel.Lattice.evaluate(f, x, reference)


def only(figure: Figure) -> Axes:
    [axes] = figure.axes
    return axes


def legend(place: Axes | Figure) -> list[str]:
    drawn = place.legends[0] if isinstance(place, Figure) else place.get_legend()
    return [text.get_text() for text in drawn.get_texts()]


def bars(axes: Axes) -> np.ndarray:
    """(bars, 3): left end, bottom, height."""
    return np.array([(bar.get_x(), bar.get_y(), bar.get_height()) for bar in axes.patches])


def test_walk_has_a_colour_for_more_curves_than_there_are_colours() -> None:
    curves = {str(k): [0.0, k, 10.0] for k in range(len(figures.COLORS) + 3)}
    assert len(only(figures.walk(curves)).lines) == len(curves) + 1


def test_walk_modes_shades_the_area_that_abc_measures(lattice: insdel.Lattice) -> None:
    up, down = lattice.curve([2, 1, 0]), lattice.curve([0, 1, 2])
    figure = figures.walk_modes(up, down, (["metro", "garden", "area"], ["area", "garden", "metro"]), "price")
    assert [axes.get_title() for axes in figure.axes] == ["insertion", "deletion"]
    assert figure.axes[0].get_ylabel() == "price"
    for axes, curve, mode in zip(figure.axes, (up, down), ("insertion", "deletion"), strict=True):
        assert len(axes.lines) == 2
        corners = axes.collections[0].get_paths()[0].vertices
        x, y = corners[:, 0], corners[:, 1]
        shaded = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
        assert shaded == pytest.approx(float(insdel.abc(curve, mode)))
    words = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert words == ["x", "+ area", "+ garden", "+ metro"]


def test_orders_histogram_counts_every_order_of_every_sample(lattice: insdel.Lattice) -> None:
    samples = {"insertion": lattice.random_abc(300, 1), "deletion": lattice.random_abc(200, 2, "deletion")}
    axes = only(figures.orders_histogram(samples, {"zero": 0.0, "best": 145.0}, "area", bins=10))
    counts = [np.diff(patch.get_path().vertices[:, 0]) for patch in axes.patches]
    assert len(counts) == 4  # an outline and a filling each
    assert legend(axes.figure) == ["insertion", "deletion", "zero", "best"]
    assert [line.get_xdata()[0] for line in axes.lines] == [0.0, 145.0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("area", "number of orders")
    tallest = max(float(patch.get_path().vertices[:, 1].max()) for patch in axes.patches)
    edges = np.histogram_bin_edges(np.concatenate(list(samples.values())), 10)
    assert tallest == max(np.histogram(sample, edges)[0].max() for sample in samples.values())


def test_split_ledger_stacks_the_parts_from_start_to_end() -> None:
    parts = [250.0, -40.0, 100.0, 5.0]
    axes = only(figures.split_ledger(["∅", "a", "b", "a × b"], parts, "price"))
    stack = bars(axes)
    np.testing.assert_allclose(stack[:4, 1] + stack[:4, 2], np.cumsum(parts))
    np.testing.assert_allclose(stack[1:4, 1], np.cumsum(parts)[:3])
    assert stack[4, 2] == sum(parts)
    colors = [to_hex(bar.get_facecolor()).upper() for bar in axes.patches[1:4]]
    assert colors == [figures.PALETTE["orange"], figures.PALETTE["blue"], figures.PALETTE["blue"]]
    assert [text.get_text() for text in axes.texts] == ["250", "−40", "+100", "+5", "315"]
    assert axes.get_ylabel() == "price"
    assert axes.get_xticklabels()[-1].get_text() == "f(x′)"


def test_split_ledger_keeps_bars_below_zero_in_sight() -> None:
    axes = only(figures.split_ledger(["∅", "a"], [1.0, -3.0]))
    assert axes.get_ylim()[0] <= -2


def test_the_histogram_shows_density_and_tail() -> None:
    counted = Histogram(np.arange(64.0), np.full(64, 1 / 64))
    density, tail = figures.chance_histogram(counted, {"best": 60.0}, "ABC").axes
    [line] = [line for line in tail.lines if line.get_label() != "best"]
    np.testing.assert_allclose(line.get_ydata(), 1 - np.arange(64) / 64)
    assert tail.get_yscale() == "log"
    assert density.lines[0].get_label() == "best" and set(density.lines[0].get_xdata()) == {60.0}
