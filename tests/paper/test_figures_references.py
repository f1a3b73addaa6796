"""Figures of chapter 8: each draws what it was given, and says on its axes what that is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from insdel_paper import figures


def test_agreement_shows_every_number_of_the_matrix() -> None:
    names = ["zero", "mean", "noise"]
    given = pd.DataFrame([[1, 0.25, -0.5], [0.25, 1, 0.75], [-0.5, 0.75, 1]], names, names)
    axes = figures.reference_agreement(given).axes[0]
    shown = [text.get_text() for text in axes.texts]
    assert shown == ["1.00", "0.25", "−0.50", "0.25", "1.00", "0.75", "−0.50", "0.75", "1.00"]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    np.testing.assert_array_equal(axes.images[0].get_array(), given.to_numpy())


def test_adversary_shows_pictures_and_walks_by_number_of_pixels() -> None:
    pictures = {"photo": torch.zeros(3, 4, 4), "adversary": torch.ones(3, 4, 4)}
    curves = {"adversary": pd.Series({1: 0.9, 4: 0.1}), "blurred": pd.Series({1: 0.9, 16: 0.5})}
    figure = figures.reference_adversary(pictures, curves, "espresso")
    titles = {axes.get_title(): axes for axes in figure.axes}
    assert np.asarray(titles["adversary"].images[0].get_array()).mean() == 1
    walks = figure.axes[-1]
    assert walks.get_xscale() == "log" and "espresso" in walks.get_ylabel()
    drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in walks.lines}
    assert drawn == {"towards adversary": ([1, 4], [0.9, 0.1]), "towards blurred": ([1, 16], [0.9, 0.5])}
