"""The policies against plain loops, on ties, without candidates, on odd sizes, and at size."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import cKDTree

import insdel
from insdel import policies


def weighted(x):
    return x @ np.arange(1.0, x.shape[1] + 1)


def by_loops(f, x, needed, nearest):
    """The counterfactual policy as the paper words it: one point after the other, sorted lists."""
    response, partner = f(x), {}
    for i in range(len(x)):
        candidates = [
            (np.sqrt(((x[i] - x[k]) ** 2).sum()), k) for k in range(len(x)) if (x[i] != x[k]).sum() >= needed
        ]
        close = sorted(candidates)[:nearest]
        if close:
            partner[i] = min(close, key=lambda c: (-abs(response[c[1]] - response[i]), c[0], c[1]))[1]
    return partner


# whole numbers, so that both implementations find exactly the same ties
tables = st.integers(1, 12).flatmap(
    lambda m: st.integers(1, 4).flatmap(lambda n: arrays(float, (m, n), elements=st.integers(0, 2)))
)


@settings(max_examples=150, deadline=None)
@given(tables, st.integers(1, 4), st.integers(1, 5))
def test_counterfactual_is_what_loops_find_ties_included(x, needed, nearest):
    needed = min(needed, x.shape[1])
    pairs = policies.counterfactual(weighted, x, at_least=needed, nearest=nearest)
    expected = by_loops(weighted, x, needed, nearest)
    assert dict(zip(pairs.index.tolist(), pairs.reference_index.tolist(), strict=True)) == expected
    assert sorted(pairs.without) == sorted(set(range(len(x))) - set(expected))


@pytest.mark.parametrize("chunk", [1, 100, 2**22])
def test_counterfactual_on_continuous_rows_whatever_the_chunk(monkeypatch, chunk):
    monkeypatch.setattr(policies, "CHUNK_NUMBERS", chunk)
    x = np.random.default_rng(0).normal(size=(60, 5))
    x[:, 0] = np.sign(x[:, 0])
    pairs = policies.counterfactual(lambda z: np.sin(z).sum(1), x, all_differ=True, nearest=7)
    expected = by_loops(lambda z: np.sin(z).sum(1), x, 5, 7)
    assert dict(zip(pairs.index.tolist(), pairs.reference_index.tolist(), strict=True)) == expected
    assert (pairs.differing == 5).all()
    assert (x[pairs.index] == pairs.x).all() and (x[pairs.reference_index] == pairs.reference).all()


def test_differ_is_bitwise_not_nearly():
    x = np.array([[0.0, 1.0], [np.nextafter(0.0, 1.0), np.nextafter(1.0, 2.0)]])
    assert policies.counterfactual(weighted, x, all_differ=True).reference_index.tolist() == [1, 0]
    near = np.array([[1.0, 1.0], [np.nextafter(np.float32(1), np.float32(2)), 1.0]], np.float32)
    assert policies.counterfactual(weighted, near, at_least=1).differing.tolist() == [1, 1]


def test_a_point_without_candidates_is_named_with_the_reason():
    x = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 5.0]])
    pairs = policies.counterfactual(weighted, x, all_differ=True)
    assert pairs.index.tolist() == [0, 1] and pairs.reference_index.tolist() == [1, 0]
    assert pairs.without == {2: "no other point differs in at least 3 of 3 features; 2 is the most"}


def test_nobody_has_a_candidate():
    pairs = policies.counterfactual(weighted, np.ones((4, 2)), at_least=1)
    assert len(pairs) == 0 and pairs.x.shape == (0, 2) and sorted(pairs.without) == [0, 1, 2, 3]
    assert "4 without" in repr(pairs)


@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_models_of_every_kind_give_the_same_pairs(kind):
    x = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    net = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0)).double()
    points = torch.from_numpy(x) if kind == "tensor" else x
    weight, bias = net[0].weight.detach().numpy()[0], net[0].bias.item()
    by_module = policies.counterfactual(net, points, at_least=3)
    by_array = policies.counterfactual(lambda z: np.asarray(z, float) @ weight + bias, points, at_least=3)
    assert isinstance(by_module.reference, torch.Tensor if kind == "tensor" else np.ndarray)
    assert by_module.reference_index.tolist() == by_array.reference_index.tolist()


def test_of_one_candidate_the_nearest_is_the_reference():
    x = np.random.default_rng(1).normal(size=(600, 5))
    pairs = policies.counterfactual(weighted, x, all_differ=True, nearest=1)
    assert pairs.reference_index.tolist() == cKDTree(x).query(x, 2)[1][:, 1].tolist()


@pytest.mark.parametrize("nearest", [2, 5, 7, 20])
def test_of_many_rows_at_the_same_distance_the_first_compete(nearest):
    x = np.random.default_rng(2).integers(0, 3, size=(60, 4)).astype(float)
    f = lambda z: np.sin(3 * weighted(z))  # noqa: E731
    pairs = policies.counterfactual(f, x, at_least=2, nearest=nearest)
    assert dict(zip(pairs.index.tolist(), pairs.reference_index.tolist(), strict=True)) == by_loops(f, x, 2, nearest)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 31), st.integers(0, 10))
def test_one_to_one_pairs_everyone_once_and_both_ways(m, seed):
    x = np.arange(3.0 * m).reshape(m, 3)
    pairs = policies.one_to_one(x, seed)
    partner = dict(zip(pairs.index.tolist(), pairs.reference_index.tolist(), strict=True))
    assert all(partner[k] == i and k != i for i, k in partner.items())
    assert len(pairs.without) == m % 2 and sorted([*partner, *pairs.without]) == list(range(m))
    assert (pairs.differing == 3).all()
    assert policies.one_to_one(x, seed).reference_index.tolist() == pairs.reference_index.tolist()


def test_one_to_one_depends_on_the_seed_and_is_uniform():
    partner = [policies.one_to_one(np.zeros((4, 1)), seed).reference_index[0] for seed in range(600)]
    counts = np.bincount(partner, minlength=4)
    assert counts[0] == 0 and (abs(counts[1:] - 200) < 60).all()  # five standard deviations


def test_average_is_the_mean_of_the_data():
    x = np.array([[1.0, 2.0], [3.0, 2.0]], np.float32)
    pairs = policies.average(x)
    assert pairs.reference.tolist() == [[2.0, 2.0]] * 2 and pairs.reference.dtype == np.float32
    assert pairs.differing.tolist() == [1, 1] and pairs.reference_index is None and not pairs.without
    other = policies.average(torch.from_numpy(x), np.array([[10, 0], [20, 0]]))
    assert torch.equal(other.reference, torch.tensor([[15.0, 0.0]] * 2))
    assert policies.average(np.array([[1, 2], [2, 2]])).reference.tolist() == [[1.5, 2.0]] * 2
    frame = pd.DataFrame({"size": [1, 2], "age": [2, 2]}, index=[7, 8])
    expected = pd.DataFrame({"size": [1.5, 1.5], "age": [2.0, 2.0]}, index=[7, 8])
    pd.testing.assert_frame_equal(policies.average(frame).reference, expected)
    assert policies.average(frame).x is frame


def test_pairs_are_compared_by_what_they_hold():
    points = np.random.default_rng(0).normal(size=(6, 3))
    assert policies.one_to_one(points, seed=1) == policies.one_to_one(points, seed=1)
    assert policies.one_to_one(points, seed=1) != policies.one_to_one(points, seed=2)
    assert policies.one_to_one(points, seed=1) != policies.average(points)
    pairs = policies.one_to_one(points, seed=1)
    some = pairs.first(2)
    assert len(some) == 2 and some == pairs.first(4).first(2) and pairs.first(None) is pairs
    assert some.reference_index.tolist() == pairs.reference_index[:2].tolist() and (some.x == pairs.x[:2]).all()
    frame = pd.DataFrame({"size": np.arange(6.0), "town": list("aabbcc")})
    assert policies.one_to_one(frame) == policies.one_to_one(frame) != policies.one_to_one(frame.assign(size=1.0))


POINTS = np.random.default_rng(8).normal(size=(12, 3))
SUM = lambda z: z.sum(axis=1)  # noqa: E731


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: policies.counterfactual(SUM, POINTS), "either at_least=k or all_differ=True"),
        (lambda: policies.counterfactual(SUM, POINTS, at_least=2, all_differ=True), "either at_least=k or all_differ=True"),
        (lambda: policies.counterfactual(SUM, POINTS, at_least=0), "between 1 and the 3 features"),
        (lambda: policies.counterfactual(SUM, POINTS, at_least=4), "between 1 and the 3 features"),
        (lambda: policies.counterfactual(SUM, POINTS, at_least=1, nearest=0), "nearest must be at least 1"),
        (lambda: policies.counterfactual(SUM, POINTS[0], at_least=1), "needs shape"),
        (lambda: policies.counterfactual(SUM, POINTS[:0], at_least=1), "needs shape"),
        (lambda: policies.counterfactual(SUM, POINTS * np.nan, at_least=1), "counterfactual policy needs numbers"),
        (lambda: policies.average(POINTS * np.nan), "average policy needs numbers"),
        (lambda: policies.average(POINTS, np.ones((4, 2))), "3 features of the points; found 2"),
        (lambda: policies.counterfactual(SUM, POINTS, at_least=1.5), "at_least must be a whole number"),
        (lambda: policies.counterfactual(SUM, POINTS, at_least=2, nearest="3"), "nearest must be a whole number"),
        (lambda: policies.one_to_one(POINTS, seed=-1), "seed must be"),
        (lambda: policies.one_to_one(POINTS, seed=1.5), "seed must be"),
        (lambda: policies.one_to_one(POINTS).first(2.5), "number of pairs must be a whole number"),
    ],
)
def test_what_no_policy_can_use_is_refused(call, said) -> None:
    with pytest.raises(insdel.UserError, match=said):
        call()


def test_a_policy_is_chosen_by_name():
    points = np.random.default_rng(0).normal(size=(9, 3))
    f = lambda z: z.sum(axis=1)  # noqa: E731
    assert policies.choose("counterfactual", f, points, all_differ=True) == policies.counterfactual(f, points, all_differ=True)
    assert policies.choose("one_to_one", f, points, seed=3, all_differ=True) == policies.one_to_one(points, 3)
    assert policies.choose("average", f, points, data=points[:4]) == policies.average(points, points[:4])
    with pytest.raises(ValueError, match="policy must be one of counterfactual, one_to_one, average; found 'nearest'"):
        policies.choose("nearest", f, points)
