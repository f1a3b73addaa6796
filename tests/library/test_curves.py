"""Orders, curves and areas against closed forms."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import insdel

numbers = st.floats(-100, 100)


def additive(z):
    return z.sum(1)


def test_order_sorts_by_mode_and_keeps_ties_in_feature_order():
    attributions = np.array([1.0, 3.0, 1.0, 3.0, -2.0])
    assert insdel.order(attributions).tolist() == [1, 3, 0, 2, 4]
    assert insdel.order(attributions, "deletion").tolist() == [4, 0, 2, 1, 3]
    assert insdel.order(np.zeros((2, 4))).tolist() == [[0, 1, 2, 3]] * 2


@given(arrays(np.float64, (3, 6), elements=numbers))
def test_orders_of_the_two_modes_sort_both_ways(attributions):
    down = np.take_along_axis(attributions, insdel.order(attributions), axis=1)
    up = np.take_along_axis(attributions, insdel.order(attributions, "deletion"), axis=1)
    assert (np.diff(down) <= 0).all() and (np.diff(up) >= 0).all()


def test_curve_of_a_product_by_hand():
    x, reference = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    values = insdel.curve(lambda z: z.prod(1), x, reference, [2, 0, 1])
    assert values.tolist() == [1 * 2 * 3, 1 * 2 * 6, 4 * 2 * 6, 4 * 5 * 6]
    assert insdel.auc(values) == 6 + 12 + 48 + 120
    assert insdel.aul(values) == 2 * (6 + 120)
    assert insdel.abc(values) == 186 - 252
    assert insdel.abc(values, "deletion") == 252 - 186
    assert insdel.abc(values, per_feature=True) == (186 - 252) / 3


@given(arrays(np.float64, 5, elements=numbers), arrays(np.float64, 5, elements=numbers), st.permutations(range(5)))
def test_additive_closed_forms(x, reference, order):
    """Equations 3 and 4 of the paper, and that insertion and deletion agree."""
    change, n = (reference - x)[list(order)], 5
    walk = insdel.curve(additive, x, reference, order)
    position = np.arange(1, n + 1)
    assert insdel.auc(walk) == pytest.approx((n + 1) * x.sum() + ((n - position + 1) * change).sum(), abs=1e-9)
    assert insdel.abc(walk) == pytest.approx((((n + 1) / 2 - position) * change).sum(), abs=1e-9)
    back = insdel.curve(additive, x, reference, order[::-1])
    assert insdel.abc(back, "deletion") == pytest.approx(insdel.abc(walk), abs=1e-9)


@given(arrays(np.float64, (2, 7), elements=numbers))
def test_trapezoid_and_unit_interval_relations(curves):
    """Petsiuk's areas differ from the paper's AUC by end points that no order can change, and a scale."""
    assert np.allclose(insdel.auc_trapezoid(curves), np.trapezoid(curves, axis=1), atol=1e-10)
    assert np.allclose(insdel.auc_unit(curves), np.trapezoid(curves, dx=1 / 6, axis=1), atol=1e-10)
    straight = np.linspace(curves[:, 0], curves[:, -1], 7, axis=1)
    assert np.allclose(insdel.abc(straight), 0, atol=1e-9)


def test_pairs_are_evaluated_together_and_like_one_by_one():
    rng = np.random.default_rng(2)
    X, R, orders = rng.normal(size=(7, 5)), rng.normal(size=(7, 5)), rng.permuted([range(5)] * 7, axis=1)
    batches = []

    def f(z):
        batches.append(len(z))
        return np.tanh(z).prod(1)

    together = insdel.curve(f, X, R, orders)
    assert batches == [7 * 6]
    single = [insdel.curve(f, x, r, o) for x, r, o in zip(X, R, orders, strict=True)]
    assert np.array_equal(together, single)
    batches.clear()
    assert np.array_equal(together, insdel.curve(f, X, R, orders, chunk=10))
    assert batches == [10, 10, 10, 10, 2]


def test_one_reference_or_one_order_serves_all_pairs():
    X, r = np.arange(6.0).reshape(2, 3), np.zeros(3)
    assert insdel.curve(additive, X, r, [0, 1, 2]).tolist() == [[3, 3, 2, 0], [12, 9, 5, 0]]
    assert insdel.curve(additive, X[0], r, [[0, 1, 2], [2, 1, 0]]).tolist() == [[3, 3, 2, 0], [3, 1, 0, 0]]


def test_integers_are_not_cut_by_a_float_reference():
    x, reference = np.array([1, 2, 3]), np.array([0.5, 0.25, 0.125])
    assert insdel.curve(additive, x, reference, [0, 1, 2]).tolist() == [6, 5.5, 3.75, 0.875]
    assert insdel.curve(additive, reference, x, [2, 1, 0])[-1] == 6
    tensor = insdel.curve(additive, torch.tensor([1, 2, 3]), torch.tensor(reference, dtype=torch.float32), [0, 1, 2])
    assert tensor.tolist() == [6, 5.5, 3.75, 0.875]
    big = torch.tensor([2**24 + 1])
    assert insdel.curve(additive, big, torch.zeros(1), [0])[0] == 2**24 + 1


def test_features_need_not_be_numbers():
    price = {"red": 1.0, "blue": 2.0, "long": 10.0, "short": 20.0}
    x, reference = np.array(["red", "long"], dtype=object), np.array(["blue", "short"], dtype=object)
    walk = insdel.curve(lambda z: [price[a] * price[b] for a, b in z], x, reference, [1, 0])
    assert walk.tolist() == [10, 20, 40]


@pytest.mark.parametrize("mode", ["Insertion", "both", ""])
def test_unknown_mode_is_refused(mode):
    with pytest.raises(ValueError, match="mode must be one of insertion, deletion"):
        insdel.order([1.0, 2.0], mode)
    with pytest.raises(ValueError, match="mode must be one of"):
        insdel.abc([1.0, 2.0], mode)


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        ([0, 1, 1], ValueError, r"permutation of 0, …, 2, but row 0 is \[0, 1, 1\]"),
        ([1, 2, 3], ValueError, "counted from 0"),
        ([0, 1], ValueError, r"shape \(3,\)"),
        ([0.0, 1.0, 2.0], TypeError, "feature indices"),
        ([[0, 1, 2]] * 2, ValueError, "2 orders do not fit 3 pairs"),
    ],
)
def test_bad_orders_are_refused(order, error, message):
    with pytest.raises(error, match=message):
        insdel.curve(additive, np.zeros((3, 3)), np.ones((3, 3)), order)


def test_bad_curves_and_attributions_are_refused():
    with pytest.raises(ValueError, match=r"curve must be finite, but curve\[1\] is nan"):
        insdel.auc([1.0, float("nan")])
    with pytest.raises(ValueError, match="at least|n \\+ 1 ≥ 2"):
        insdel.auc([1.0])
    with pytest.raises(ValueError, match="attributions must be finite"):
        insdel.order([[1.0, np.inf]])
