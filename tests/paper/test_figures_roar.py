"""Figures of chapter 14: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from insdel_paper import figures

COUNTS = (0, 1, 5, 10)


@pytest.fixture
def table() -> pd.DataFrame:
    """Kernel SHAP loses early, random straight; the signed mask tells a quarter, the random one nothing."""
    curves = {"kernel_shap": [1.0, 3.0, 3.0, 3.0], "random": [1.0, 1.2, 2.0, 3.0]}
    found = [
        {"input": "features", "ranking": ranking, "removed": k, "loss": loss + 0.01 * r * (0 < k < 10), "replicate": r}
        for ranking, losses in curves.items() for k, loss in zip(COUNTS, losses, strict=True) for r in range(3)
    ] + [
        {"input": "mask", "ranking": ranking, "removed": 5, "loss": loss, "replicate": r}
        for ranking, loss in {"kernel_shap": 2.5, "random": 3.0}.items() for r in range(3)
    ]  # fmt: skip
    rows = pd.DataFrame(found)
    return rows.assign(share=rows["removed"] / 10, fraction=rows["removed"] / 10, r2=0.0)


def drawn(axes) -> dict[str, np.ndarray]:
    return {str(bar.get_label()): np.column_stack(bar.lines[0].get_data()).astype(float) for bar in axes.containers}


def test_curves_are_losses_over_shares(table: pd.DataFrame) -> None:
    figure = figures.roar_curves({"houses": table, "collisions": table}, {"collisions": " (GeV)"})
    first, second = figure.axes
    assert first.get_title() == "houses" and second.get_ylabel() == "held-out Huber loss (GeV)"
    np.testing.assert_allclose(drawn(first)["random"], [[0, 1], [0.1, 1.21], [0.5, 2.01], [1, 3]])
    line = next(line for line in first.lines if line.get_label() == "straight line")
    np.testing.assert_allclose(np.column_stack(line.get_data()), [[0, 1], [1, 3]])
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["straight line", "Kernel SHAP, by size", "random"]


def test_noise_is_written_on_the_panel(table: pd.DataFrame) -> None:
    flat = table.assign(loss=1.0)
    assert "noise" in figures.roar_curves({"flat": flat}, {}).axes[0].get_title()
    labels = [label.get_text() for label in figures.roar_bends({"flat": flat, "real": table}).axes[0].get_yticklabels()]
    assert labels == ["flat (noise)", "real"]


def test_bends_stand_in_rows(table: pd.DataFrame) -> None:
    figure = figures.roar_bends({"one": table, "two": table})
    found = drawn(figure.axes[0])
    np.testing.assert_allclose(found["Kernel SHAP, by size"][:, 0], 0.45, atol=0.01)
    np.testing.assert_allclose(found["random"][:, 0], 0, atol=0.01)
    np.testing.assert_allclose(found["random"][:, 1].round(), [0, 1])
    assert "bend" in figure.axes[0].get_xlabel()


def test_leaks_are_percent_of_the_rise(table: pd.DataFrame) -> None:
    figure = figures.roar_leaks({"houses": table})
    found = drawn(figure.axes[0])
    np.testing.assert_allclose(found["Kernel SHAP, by size"], [[0.5, 25]])
    np.testing.assert_allclose(found["random"], [[0.5, 0]], atol=1e-9)
    assert "%" in figure.axes[0].get_ylabel()
