"""Figures show the numbers that they are given, or that they compute of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import insdel
from insdel.chance import Histogram
from insdel.curves import MODES
from insdel.examples import house
from insdel.plots import METHOD_LOOKS, PALETTE, method_look
from insdel_paper import figures
from insdel_paper.figures import answer

TITLES = {"kernel_shap": "Kernel SHAP", "random": "Random"}


def bars(axes: Axes) -> dict[str, np.ndarray]:
    """Label → (points, 2), the lines with error bars."""
    return {str(bar.get_label()): np.column_stack(bar.lines[0].get_data()).astype(float) for bar in axes.containers}


def legend(place) -> list[str]:
    return [text.get_text() for text in place.get_texts()]


def heights(axes: Axes, number: int = 0) -> np.ndarray:
    """Heights of the bins that an outline encloses, from left to right."""
    return axes.patches[number].get_path().vertices[1:-1:2, 1]


def steps(axes: Axes, number: int = 0) -> np.ndarray:
    """Edges of the bins of an outline."""
    return np.unique(axes.patches[number].get_path().vertices[:, 0])


# --- what several share


@pytest.mark.parametrize("name", METHOD_LOOKS)
def test_a_method_looks_the_same_under_its_name_and_its_label(name):
    label, color, marker = METHOD_LOOKS[name]
    assert method_look(name) == method_look(label) == {"color": PALETTE[color], "marker": marker}
    if name in insdel.METHODS:
        assert method_look(insdel.METHODS[name].title) == method_look(name)


def test_four_methods_have_a_colour_and_the_others_are_grey():
    colors = [PALETTE[color] for _, color, _ in METHOD_LOOKS.values()]
    assert len(set(colors) - {PALETTE["black"], PALETTE["grey"]}) == 4
    assert method_look("vanilla_grad")["color"] == method_look("no such method")["color"] == PALETTE["grey"]
    assert method_look("by Shapley value") == method_look("kernel_shap")
    assert method_look("best for deletion")["color"] == PALETTE["black"]


def test_groups_of_a_table_have_a_line_each_with_two_errors():
    table = pd.DataFrame({"who": ["b", "b", "a"], "x": [1.0, 2, 3], "y": [4.0, 5, 6], "se": [0.5, 0.5, 1.5]})
    _, [panel] = figures.panels_row()
    figures.draw_groups(panel, table, "who", "x", "y", "se", titles={"a": "A"})
    assert {name: line.tolist() for name, line in bars(panel).items()} == {"b": [[1, 4], [2, 5]], "A": [[3, 6]]}
    assert panel.containers[1].lines[2][0].get_segments()[0][:, 1].tolist() == [3, 9]
    assert len({line.get_color() for bar in panel.containers for line in bar.lines[:1]}) == 2


# --- part I


@pytest.fixture
def lattice() -> insdel.Lattice:
    f, x, reference, _ = house()
    return insdel.Lattice.evaluate(f, x, reference)


def test_walk_has_a_colour_for_more_curves_than_there_are_colours():
    curves = {str(k): [0.0, k, 10.0] for k in range(len(figures.COLORS) + 3)}
    assert len(figures.walk(curves).axes[0].lines) == len(curves) + 1


def test_walk_modes_shades_the_area_that_abc_measures(lattice):
    up, down = lattice.curve([2, 1, 0]), lattice.curve([0, 1, 2])
    figure = figures.walk_modes(up, down, (["metro", "garden", "area"], ["area", "garden", "metro"]), "price")
    for axes, curve, mode in zip(figure.axes, (up, down), MODES, strict=True):
        x, y = axes.collections[0].get_paths()[0].vertices.T
        shaded = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
        assert axes.get_title() == mode and shaded == pytest.approx(float(insdel.abc(curve, mode)))
    words = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert words == ["x", "+ area", "+ garden", "+ metro"]


def test_orders_histogram_counts_every_order_of_every_sample(lattice):
    samples = {"insertion": lattice.random_abc(300, 1), "deletion": lattice.random_abc(200, 2, "deletion")}
    figure = figures.orders_histogram(samples, {"zero": 0.0, "best": 145.0}, "area", bins=10)
    [axes] = figure.axes
    assert legend(figure.legends[0]) == ["insertion", "deletion", "zero", "best"]
    assert [line.get_xdata()[0] for line in axes.lines] == [0.0, 145.0]
    tallest = max(float(patch.get_path().vertices[:, 1].max()) for patch in axes.patches)
    edges = np.histogram_bin_edges(np.concatenate(list(samples.values())), 10)
    assert tallest == max(np.histogram(sample, edges)[0].max() for sample in samples.values())


def test_the_histogram_of_all_orders_has_a_tail():
    counted = Histogram(np.arange(64.0), np.full(64, 1 / 64))
    density, tail = figures.chance_histogram(counted, {"best": 60.0}, "ABC").axes
    [line] = [line for line in tail.lines if line.get_label() != "best"]
    np.testing.assert_allclose(line.get_ydata(), 1 - np.arange(64) / 64)
    assert density.lines[0].get_label() == "best" and set(density.lines[0].get_xdata()) == {60.0}


def test_split_ledger_stacks_the_parts_from_start_to_end():
    parts = [250.0, -40.0, 100.0, 5.0]
    [axes] = figures.split_ledger(["∅", "a", "b", "a × b"], parts, "price").axes
    bottom, height = np.array([(bar.get_y(), bar.get_height()) for bar in axes.patches]).T
    np.testing.assert_allclose((bottom + height)[:4], np.cumsum(parts))
    np.testing.assert_allclose(bottom[1:4], np.cumsum(parts)[:3])
    assert height[4] == sum(parts)
    colors = [to_hex(bar.get_facecolor()).upper() for bar in axes.patches[1:4]]
    assert colors == [PALETTE["orange"], PALETTE["blue"], PALETTE["blue"]]
    assert [text.get_text() for text in axes.texts] == ["250", "−40", "+100", "+5", "315"]
    assert figures.split_ledger(["∅", "a"], [1.0, -3.0]).axes[0].get_ylim()[0] <= -2  # bars below zero are in sight


# --- the answer


def means(methods: list[str], start: float) -> pd.DataFrame:
    cells = [(mode, method) for mode in MODES for method in methods]
    return pd.DataFrame([{"mode": m, "method": k, "mean": start + i, "se": 0.25} for i, (m, k) in enumerate(cells)])


def test_dumbbells_hold_both_means_and_the_limits_if_there_are_any():
    ours, printed = means(["best", "kernel_shap", "random", "expected"], 10.0), means(["kernel_shap", "random"], 1.0)
    left, right = answer.dumbbells(ours, printed, TITLES, "").axes
    segments = [line.get_xdata() for line in left.lines if list(line.get_ydata()) in ([0, 0], [1, 1])]
    assert [list(ends) for ends in segments[:2]] == [[11.0, 1.0], [12.0, 2.0]]
    upright = {line.get_label(): line.get_xdata()[0] for line in right.lines if line.get_label().endswith(", ours")}
    assert upright == {"best order, ours": 14.0, "mean of all orders, ours": 17.0}
    assert [label.get_text() for label in left.get_yticklabels()] == ["Kernel SHAP", "Random"]
    plain = answer.dumbbells(printed, printed, TITLES, "")
    assert not any(line.get_label().endswith(", ours") for panel in plain.axes for line in panel.lines)


def test_lead_shows_two_errors_on_both_sides():
    rows = pd.DataFrame({"mode": MODES, "lead": [3.0, -1.0], "se": [0.5, 0.25]}, ["houses"] * 2)
    [axes] = answer.lead(rows).axes
    ends = [bar.get_segments()[0][:, 0] for bar in axes.collections]
    np.testing.assert_allclose(ends, [[2.0, 4.0], [-1.5, -0.5]])
    assert axes.lines[-1].get_xdata() == [0, 0]


# --- data


def test_distributions_show_shares_so_that_tables_of_any_size_compare():
    """Whole numbers get a bin each, other columns equal bins; a panel without a column is hidden."""
    rng = np.random.default_rng(0)
    tables = {label: pd.DataFrame({"area": rng.normal(size=rows), "rooms": rng.integers(1, 5, rows)})
              for label, rows in (("genuine", 300), ("simulated", 900))}  # fmt: skip
    figure = figures.data_distributions(tables, ["area", "rooms", "area"], across=2, bins=12)
    area, rooms = figure.axes[:2]
    assert legend(area.get_legend()) == ["genuine", "simulated"] and len(area.patches) == 2
    for number, table in enumerate(tables.values()):
        np.testing.assert_allclose(heights(rooms, number), [(table["rooms"] == value).mean() for value in (1, 2, 3, 4)])
        shares, _ = np.histogram(table["area"], steps(area, number))
        np.testing.assert_allclose(heights(area, number), shares / len(table))
    np.testing.assert_allclose(steps(rooms), [0.5, 1.5, 2.5, 3.5, 4.5])
    assert len(steps(area)) == 13 and np.ptp(np.diff(steps(area))) < 1e-12
    assert [axes.axison for axes in figure.axes] == [True, True, True, False]


def test_distributions_leave_out_the_far_tail_only():
    values = np.append(np.linspace(0, 1, 999), 1e6)
    axes = figures.data_distributions({"one": pd.DataFrame({"x": values})}, ["x"], across=1, bins=10).axes[0]
    assert steps(axes)[-1] <= 1 and heights(axes).sum() > 0.99


# --- the experiments


@pytest.fixture(scope="module")
def areas() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [{"pair": pair, "method": method, "mode": mode, "abc_per_feature": value}
            for method in ("kernel_shap", "integrated_gradients", "random") for mode in MODES
            for pair, value in enumerate(rng.gamma(2, size=40))]  # fmt: skip
    return pd.DataFrame(rows)


def area(table, method, mode):
    return table.query("method == @method and mode == @mode")["abc_per_feature"].to_numpy()


def test_aggregate_counts_every_pair_and_plots_ig_over_kernel_shap(areas):
    figure = figures.experiment_aggregate(areas.sample(frac=1, random_state=0))
    for row, mode in enumerate(MODES):
        left, middle, right = figure.axes[3 * row : 3 * row + 3]
        assert all(sum(patch.get_height() for patch in panel.patches) == 40 for panel in (left, right))
        expected = [area(areas, method, mode) for method in ("kernel_shap", "integrated_gradients")]
        assert np.array_equal(middle.lines[1].get_data(), expected)


# --- remove and retrain


@pytest.fixture
def losses() -> pd.DataFrame:
    """Kernel SHAP loses early, random straight."""
    curves = {"kernel_shap": [1.0, 3.0, 3.0, 3.0], "random": [1.0, 1.2, 2.0, 3.0]}
    rows = [{"ranking": ranking, "removed": k, "loss": loss + 0.01 * r * (0 < k < 10), "replicate": r}
            for ranking, losses in curves.items() for k, loss in zip((0, 1, 5, 10), losses, strict=True)
            for r in range(3)]  # fmt: skip
    share = [row["removed"] / 10 for row in rows]
    return pd.DataFrame(rows).assign(input="features", share=share, fraction=share, r2=0.0)


def test_curves_are_losses_over_shares_and_noise_is_called_so(losses):
    figure = figures.roar_curves({"houses": losses, "collisions": losses.assign(loss=1.0)}, {"collisions": " (GeV)"})
    houses, flat = figure.axes
    np.testing.assert_allclose(bars(houses)["random"], [[0, 1], [0.1, 1.21], [0.5, 2.01], [1, 3]])
    line = next(line for line in houses.lines if line.get_label() == "straight line")
    np.testing.assert_allclose(line.get_xydata(), [[0, 1], [1, 3]])
    assert legend(figure.legends[0]) == ["straight line", "Kernel SHAP, by size", "random"]
    assert "noise" in flat.get_title() and "noise" not in houses.get_title()


# --- cost


def test_ratios_begin_at_one_and_mark_the_limit():
    raced = [("exact", "insdel", 1.0), ("exact", "insdel, folded", 0.5), ("exact", "shap", 3.0),
             ("exact", figures.LIMIT, 0.8), ("curves", "insdel", 1.0), ("curves", "one at a time", 40.0)]  # fmt: skip
    exact, curves = figures.bench_ratios(pd.DataFrame(raced, columns=["task", "who", "ratio"])).axes
    assert exact.get_title("left") == "exact" and curves.get_title("left") == "curves"
    who = [label.get_text() for label in exact.get_yticklabels()]
    assert who == ["insdel", "insdel, folded", "shap", figures.LIMIT] and exact.yaxis_inverted()
    np.testing.assert_allclose([bar.get_x() + bar.get_width() for bar in exact.patches], [1.0, 0.5, 3.0, 0.8])
    assert to_hex(exact.patches[-1].get_facecolor()).upper() == PALETTE["orange"]
    assert {line.get_xdata()[0] for line in exact.lines} == {0.8, 1}
    assert {line.get_xdata()[0] for line in curves.lines} == {1}
    assert [text.get_text() for text in curves.texts] == ["1 ×", "40 ×"]


def race(*errors: tuple[str, int, int, float], policies: tuple[str, ...] = ("average",)) -> pd.DataFrame:
    """Rows of the record of estimators: who, budget, pair and error."""
    columns = ["who", "budget", "pair", "error"]
    rows = pd.DataFrame(errors, columns=columns)
    return pd.concat([rows.assign(data="cern", policy=policy) for policy in policies], ignore_index=True)


def test_estimators_are_drawn_where_all_have_pairs():
    table = race(*((who, budget, pair, error / budget) for budget in (64, 128)
                   for who, pair, error in (("insdel", 0, 1.0), ("insdel", 1, 50.0), ("shap KernelExplainer", 0, 4.0),
                                            ("shapiq SVARM", 0, 9.0), ("shapiq OddSHAP", 0, np.nan))),
                 policies=("average", "one_to_one"))  # fmt: skip
    figure = figures.estimator_errors(table)
    assert [panel.get_title() for panel in figure.axes] == ["events, average", "events, one-to-one", ""]
    assert figure.axes[2].get_legend() is not None and not figure.axes[2].axison
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert np.allclose(lines["insdel"], [1 / 64, 1 / 128])  # the second pair has no rival
    assert set(lines) == {"insdel", "shap, Kernel", "other approximators"}
    assert np.allclose(figures.estimator_ratios(table), 4)
    coverage = figures.estimator_coverage(table.assign(inside=np.where(table["pair"] == 0, 0.9, 1.0)))
    assert np.allclose(coverage, 0.95) and list(coverage.index) == [("events", "average"), ("events", "one-to-one")]


def test_errors_of_ratios_are_the_jackknifes():
    table = race(*(("insdel", 64, pair, 1.0) for pair in range(3)),
                 *(("shap KernelExplainer", 64, pair, error) for pair, error in enumerate((2.0, 4.0, 9.0))))  # fmt: skip
    without = np.log([6.5, 5.5, 3.0])  # the ratio with each pair left out
    expected = np.sqrt(2 / 3 * ((without - without.mean()) ** 2).sum())
    assert np.allclose(figures.estimator_ratio_errors(table), expected)


def test_enough_is_where_errors_stay_small():
    course = {"insdel": (0.2, 0.04, 0.01), "shap KernelExplainer": (0.03, 0.2, 0.04), "shapiq SVARM": (0.9, 0.8, 0.2)}
    table = race(*((who, 64 * 2**k, 0, e**2) for who, errors in course.items() for k, e in enumerate(errors)))
    enough = figures.estimator_enough(table, 0.05).loc[("events", "average")]
    assert enough.to_dict() == {"insdel": 128, "best rival": 256}  # that shap was lucky with 64 does not count
    assert figures.estimator_enough(table, 0.001).isna().all(axis=None)
