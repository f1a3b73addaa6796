"""Figures of chapters 9 and 10: each draws what it was given, and says on its axes what that is."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from insdel_paper import figures


def only(figure: Figure) -> Axes:
    [axes] = figure.axes
    return axes


def legend(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def points(axes: Axes, number: int) -> np.ndarray:
    return np.asarray(axes.lines[number].get_xydata(), dtype=float)


def heights(axes: Axes, number: int) -> np.ndarray:
    """Heights of the bins that an outline encloses, from left to right."""
    corners = axes.patches[number].get_path().vertices
    return corners[1:-1:2, 1]


def steps(axes: Axes, number: int) -> np.ndarray:
    """Edges of the bins of an outline."""
    return np.unique(axes.patches[number].get_path().vertices[:, 0])


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(0)
    make = lambda rows: pd.DataFrame({"area": rng.normal(size=rows), "rooms": rng.integers(1, 5, rows)})  # noqa: E731
    return {"genuine": make(300), "simulated": make(900)}


def test_distributions_show_shares_so_that_tables_of_any_size_compare(tables: dict[str, pd.DataFrame]) -> None:
    figure = figures.data_distributions(tables, ["area", "rooms"], across=2, bins=12)
    area, rooms = figure.axes
    assert (area.get_xlabel(), rooms.get_xlabel()) == ("area", "rooms")
    assert legend(area) == ["genuine", "simulated"] and len(area.patches) == 2
    for number, table in enumerate(tables.values()):
        expected = [(table["rooms"] == value).mean() for value in (1, 2, 3, 4)]
        np.testing.assert_allclose(heights(rooms, number), expected)
        shares, _ = np.histogram(table["area"], steps(area, number))
        np.testing.assert_allclose(heights(area, number), shares / len(table))


def test_distributions_give_whole_numbers_a_bin_each_and_others_equal_bins(tables: dict[str, pd.DataFrame]) -> None:
    area, rooms = figures.data_distributions(tables, ["area", "rooms"], across=2, bins=12).axes
    np.testing.assert_allclose(steps(rooms, 0), [0.5, 1.5, 2.5, 3.5, 4.5])
    assert len(steps(area, 0)) == 13 and np.ptp(np.diff(steps(area, 0))) < 1e-12


def test_distributions_leave_out_the_far_tail_only() -> None:
    values = np.append(np.linspace(0, 1, 999), 1e6)
    axes = figures.data_distributions({"one": pd.DataFrame({"x": values})}, ["x"], across=1, bins=10).axes[0]
    assert steps(axes, 0)[-1] <= 1 and heights(axes, 0).sum() > 0.99


def test_distributions_hide_the_panels_that_have_no_column(tables: dict[str, pd.DataFrame]) -> None:
    figure = figures.data_distributions(tables, ["area", "rooms", "area"], across=2)
    assert [axes.axison for axes in figure.axes] == [True, True, True, False]
