"""Figures of chapter 7: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np

from insdel_paper import figures


def test_attributions_get_a_panel_each_with_bars_of_their_size() -> None:
    given = {"Kernel SHAP": np.array([1.0, -2.0, 0.0]), "IG": np.array([10.0, 20.0, -5.0])}
    panels = figures.six_attributions(given, ["a", "b", "c"]).axes
    assert [panel.get_title() for panel in panels] == ["Kernel\nSHAP", "IG"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["a", "b", "c"]
    for panel, values in zip(panels, given.values(), strict=True):
        assert [bar.get_width() for bar in panel.patches] == values.tolist()
        low, high = panel.get_xlim()
        assert low == -high and high > np.abs(values).max(), "zero is in the middle, every bar inside"


def test_six_methods_can_be_told_apart_without_colours() -> None:
    methods = [f"method {k}" for k in range(6)]
    walks = {(mode, method): np.arange(4.0) for mode in ("insertion", "deletion") for method in methods}
    left = figures.six_walks(walks, np.zeros((1, 4))).axes[0]
    styles = {str(line._unscaled_dash_pattern) + line.get_linestyle() for line in left.lines if line.get_label() in methods}
    assert len(styles) == 6
