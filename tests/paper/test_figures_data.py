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


def test_shares_put_the_most_frequent_on_top_and_keep_the_features_together() -> None:
    shares = {
        "genuine": pd.Series({"pool": 0.9, "golf": 0.1, "lift": 0.5}),
        "simulated": pd.Series({"golf": 0.2, "lift": 0.6, "pool": 0.8}),
    }
    axes = only(figures.data_shares(shares))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["golf", "lift", "pool"]
    np.testing.assert_array_equal(points(axes, 0), [[0.1, 0], [0.5, 1], [0.9, 2]])
    np.testing.assert_array_equal(points(axes, 1), [[0.2, 0], [0.6, 1], [0.8, 2]])
    assert legend(axes) == ["genuine", "simulated"]


def test_residuals_are_drawn_over_the_mass_and_zeros_stay_on_the_page() -> None:
    off = {"columns": [1e-3, 0.0, 1e-6], "momenta": [1e-5, 1e-7, 0.0]}
    axes = only(figures.data_residuals([2, 20, 90], off, {"claimed": 0.006, "measured": 1e-4}))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    np.testing.assert_array_equal(points(axes, 0), [[2, 1e-3], [20, 1e-16], [90, 1e-6]])
    np.testing.assert_array_equal(points(axes, 1)[:, 1], [1e-5, 1e-7, 1e-16])
    assert [line.get_ydata()[0] for line in axes.lines[2:]] == [0.006, 1e-4]
    assert legend(axes) == ["columns", "momenta", "claimed", "measured"]


def test_history_marks_the_epoch_with_the_smallest_validation_loss() -> None:
    rows = [{"epoch": k, "train": t, "validation": v} for k, (t, v) in enumerate([(3, 2), (1, 0.5), (0.9, 0.7)])]
    left, right = figures.fit_history({"houses": rows, "events": rows[:1]}).axes
    np.testing.assert_array_equal(points(left, 0), [[0, 3], [1, 1], [2, 0.9]])
    np.testing.assert_array_equal(points(left, 1), [[0, 2], [1, 0.5], [2, 0.7]])
    np.testing.assert_array_equal(points(left, 2), [[1, 0.5]])
    np.testing.assert_array_equal(points(right, 2), [[0, 2]])
    assert (left.get_title(), right.get_title()) == ("houses", "events")


def test_recipes_have_a_row_each_with_every_seed_and_their_mean() -> None:
    table = pd.DataFrame(
        {"recipe": ["chosen", "naive", "chosen", "naive"], "seed": [0, 0, 1, 1], "loss": [0.1, 0.4, 0.3, 0.8]}
    )
    first, second = figures.fit_recipes({"houses": table, "events": table.iloc[:2]}).axes
    chosen, naive = (dots.get_offsets() for dots in first.collections[:2])
    np.testing.assert_allclose(np.vstack([chosen, naive]), [[0.1, 0], [0.3, 0], [0.4, 1], [0.8, 1]])
    np.testing.assert_allclose(points(first, 0), [[0.2, 0], [0.6, 1]])
    assert [label.get_text() for label in first.get_yticklabels()] == ["chosen", "naive"]
    np.testing.assert_allclose(points(second, 0), [[0.1, 0], [0.4, 1]])
    assert first.get_title() == "houses" and legend(first) == ["a seed", "mean"]
