"""Figures of chapter 20: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from insdel_paper import figures


@pytest.fixture
def bench() -> pd.DataFrame:
    raced = [("exact", "insdel", 1.0), ("exact", "insdel, folded", 0.5), ("exact", "shap", 3.0),
             ("exact", figures.LIMIT, 0.8), ("curves", "insdel", 1.0), ("curves", "one at a time", 40.0)]  # fmt: skip
    rows = [{"task": task, "who": who, "ratio": ratio, "seconds": ratio} for task, who, ratio in raced]
    rows += [{"task": "cost of one lattice", "who": f"{n} features", "seconds": 3.0 * 2**n} for n in (8, 10, 12)]
    rows += [{"task": "peak memory", "who": f"{k} pairs", "seconds": k / 10, "mebibytes": 50.0 + k} for k in (1, 10)]
    return pd.DataFrame(rows)


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
