"""Figures of chapter 20: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from insdel_paper import figures


@pytest.fixture
def spent() -> pd.DataFrame:
    """Two methods with budgets, one with a price, one for free; the exact ABC is 20 (insertion) and 10 (deletion)."""
    short = [("kernel_shap", 64, 64, 2.0), ("kernel_shap", 128, 128, 0.0), ("lime", 25, 25, 4.0),
             ("lime", 50, 50, 1.0), ("occlusion", None, 17, 3.0), ("random", None, 0, 5.0)]  # fmt: skip
    return pd.DataFrame(
        [{"method": m, "budget": b, "evaluations": e, "mode": mode, "abc_per_feature": top - s, "shortfall": s,
          "shortfall_se": s / 10} for mode, top in (("insertion", 20.0), ("deletion", 10.0)) for m, b, e, s in short]
    )  # fmt: skip


@pytest.fixture
def bench() -> pd.DataFrame:
    raced = [("exact", "insdel", 1.0), ("exact", "insdel, folded", 0.5), ("exact", "shap", 3.0),
             ("exact", figures.LIMIT, 0.8), ("curves", "insdel", 1.0), ("curves", "one at a time", 40.0)]  # fmt: skip
    rows = [{"task": task, "who": who, "ratio": ratio, "seconds": ratio} for task, who, ratio in raced]
    rows += [{"task": "cost of one lattice", "who": f"{n} features", "seconds": 3.0 * 2**n} for n in (8, 10, 12)]
    rows += [{"task": "peak memory", "who": f"{k} pairs", "seconds": k / 10, "mebibytes": 50.0 + k} for k in (1, 10)]
    return pd.DataFrame(rows)


def lines(axes: Axes) -> dict[str, np.ndarray]:
    """Label → (points, 2) of the lines that methods with a budget have."""
    return {str(bar.get_label()): np.column_stack(bar.lines[0].get_data()).astype(float) for bar in axes.containers}


def test_shortfalls_are_percent_of_the_exact_area(spent: pd.DataFrame) -> None:
    figure = figures.spend_shortfall(spent, {}, share=0.05)
    insertion, deletion = figure.axes
    np.testing.assert_allclose(lines(insertion)["lime"], [[25, 20], [50, 5]])
    np.testing.assert_allclose(lines(deletion)["lime"], [[25, 40], [50, 10]])
    assert "occlusion" not in lines(insertion)
    low, high = insertion.containers[1].lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == (pytest.approx(20 - 4), pytest.approx(20 + 4))  # two standard errors of 2 %
    near = next(line for line in insertion.lines if line.get_label() == "5 %")
    assert set(near.get_ydata()) == {5}
    assert figure.get_supxlabel() == "model evaluations per pair" and insertion.get_xscale() == "log"
    assert insertion.get_yscale() == "symlog" and "%" in insertion.get_ylabel()


def test_ratios_begin_at_one_and_mark_the_limit(bench: pd.DataFrame) -> None:
    exact, curves = figures.bench_ratios(bench).axes
    assert exact.get_title("left") == "exact" and curves.get_title("left") == "curves"
    assert exact.get_xscale() == "log" and "insdel" in curves.get_xlabel()
    who = [label.get_text() for label in exact.get_yticklabels()]
    assert who == ["insdel", "insdel, folded", "shap", figures.LIMIT] and exact.yaxis_inverted()
    ends = [bar.get_x() + bar.get_width() for bar in exact.patches]
    np.testing.assert_allclose(ends, [1.0, 0.5, 3.0, 0.8])
    assert to_hex(exact.patches[-1].get_facecolor()).upper() == figures.PALETTE["orange"]
    assert {line.get_xdata()[0] for line in exact.lines} == {0.8, 1}
    assert {line.get_xdata()[0] for line in curves.lines} == {1}
    assert [text.get_text() for text in curves.texts] == ["1 ×", "40 ×"]


def test_growth_is_drawn_beside_doubling(bench: pd.DataFrame) -> None:
    lattice, duration, memory = figures.bench_growth(bench).axes
    measured, doubling = lattice.lines
    assert list(measured.get_xdata()) == [8, 10, 12]
    np.testing.assert_allclose(measured.get_ydata(), doubling.get_ydata())
    assert list(duration.lines[0].get_ydata()) == [0.1, 1.0]
    assert list(memory.lines[0].get_xdata()) == [1, 10] and list(memory.lines[0].get_ydata()) == [51, 60]
    assert "MiB" in memory.get_ylabel()


def test_estimators_are_drawn_where_all_have_pairs() -> None:
    rows = [{"data": "cern", "policy": policy, "who": who, "budget": budget, "pair": pair, "error": error / budget}
            for policy in ("average", "one_to_one") for budget in (64, 128)
            for who, pair, error in (("insdel", 0, 1.0), ("insdel", 1, 50.0), ("shap KernelExplainer", 0, 4.0),
                                     ("shapiq SVARM", 0, 9.0), ("shapiq OddSHAP", 0, np.nan))]  # fmt: skip
    table = pd.DataFrame(rows)
    figure = figures.estimator_errors(table)
    assert [panel.get_title() for panel in figure.axes] == ["events, average", "events, one-to-one", ""]
    assert figure.axes[2].get_legend() is not None and not figure.axes[2].axison
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert np.allclose(lines["insdel"], [1 / 64, 1 / 128])  # the second pair has no rival
    assert set(lines) == {"insdel", "shap, Kernel", "other approximators"}
    assert np.allclose(figures.estimator_ratios(table), 4)
    coverage = figures.estimator_coverage(table.assign(inside=np.where(table["pair"] == 0, 0.9, 1.0)))
    assert np.allclose(coverage, 0.95) and list(coverage.index) == [("events", "average"), ("events", "one-to-one")]


def test_errors_of_ratios_are_the_jackknifes() -> None:
    rows = [{"data": "cern", "policy": "average", "who": who, "budget": 64, "pair": pair, "error": error}
            for who, errors in (("insdel", (1.0, 1.0, 1.0)), ("shap KernelExplainer", (2.0, 4.0, 9.0)))
            for pair, error in enumerate(errors)]  # fmt: skip
    without = np.log([6.5, 5.5, 3.0])  # the ratio with each pair left out
    expected = np.sqrt(2 / 3 * ((without - without.mean()) ** 2).sum())
    assert np.allclose(figures.estimator_ratio_errors(pd.DataFrame(rows)), expected)


def test_enough_is_where_errors_stay_small() -> None:
    course = {"insdel": (0.2, 0.04, 0.01), "shap KernelExplainer": (0.03, 0.2, 0.04), "shapiq SVARM": (0.9, 0.8, 0.2)}
    table = pd.DataFrame([{"data": "cern", "policy": "average", "who": who, "budget": 64 * 2**k, "pair": 0, "error": e**2}
                          for who, errors in course.items() for k, e in enumerate(errors)])  # fmt: skip
    enough = figures.estimator_enough(table, 0.05).loc[("events", "average")]
    assert enough.to_dict() == {"insdel": 128, "best rival": 256}  # that shap was lucky with 64 does not count
    assert figures.estimator_enough(table, 0.001).isna().all(axis=None)
