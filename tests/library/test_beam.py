"""Beam search for orders: the lattice's best where the lattice is small, additive functions where it is not."""

import numpy as np
import pytest
import torch
from test_attribution_kernel import game

import insdel
from insdel import beam, beam_order
from insdel.lattice import LATTICE_MODES

WIDE = 10**6


@pytest.mark.parametrize("mode", LATTICE_MODES)
@pytest.mark.parametrize(("n", "unchanged"), [(1, 0), (3, 3), (7, 0), (9, 2), (10, 4)])
def test_a_beam_that_leaves_nothing_out_finds_the_best_order(n, unchanged, mode):
    f, x, reference = game(n, seed=n)
    reference[:unchanged] = x[:unchanged]
    lattice = insdel.Lattice.evaluate(f, x, reference)
    best = float(lattice.abc(lattice.best_order(mode), mode))
    found = beam_order(f, x, reference, mode, width=WIDE)
    assert found.exact and found.gap == 0
    assert sorted(found.order) == list(range(n))
    assert found.abc == pytest.approx(best, abs=1e-9)
    assert found.abc == pytest.approx(float(lattice.abc(found.order, mode)), abs=1e-9)


@pytest.mark.parametrize("mode", LATTICE_MODES)
def test_a_narrow_beam_comes_close_and_asks_for_little(mode):
    shares, asked = [], []
    for seed in range(4):
        f, x, reference = game(13, seed)
        reference[:2] = x[:2]
        counted = []

        def counting(z, f=f, counted=counted):
            counted.append(len(z))
            return f(z)

        lattice = insdel.Lattice.evaluate(f, x, reference)
        found = beam_order(counting, x, reference, mode, width=16)
        assert not found.exact and found.gap >= 0 and found.evaluations == sum(counted)
        assert found.abc == pytest.approx(float(lattice.abc(found.order, mode)), abs=1e-9)
        shares.append(found.abc / float(lattice.abc(lattice.best_order(mode), mode)))
        asked.append(found.evaluations / (2 if mode == "both" else 1))
    assert min(shares) > 0.9 and np.mean(shares) > 0.98
    assert max(asked) < 2**11 / 3


def test_sixteen_features_of_a_network():
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16), torch.nn.ReLU(),
                            torch.nn.Linear(16, 1)).requires_grad_(False)  # fmt: skip
    x, reference = 3 * torch.randn(2, 16)
    lattice = insdel.Lattice.evaluate(f, x, reference)
    found = beam_order(f, x, reference)
    assert isinstance(found.order, torch.Tensor) and found.evaluations < 2**16 / 20
    best, shapley = (float(lattice.abc(o)) for o in (lattice.best_order(), insdel.order(lattice.shapley())))
    assert best - found.abc < 0.05 * (best - shapley) + 1e-6


@pytest.mark.parametrize(("d", "width"), [(21, 4), (40, 1), (70, 4)])
def test_many_features(d, width):
    """Of an additive function the best order is known: by decreasing effects, lingering at the top  [section 3.2]."""
    effects = np.random.default_rng(d).normal(size=d)
    n = d + 5
    x, reference = np.zeros(n), np.concatenate([np.ones(d), np.zeros(5)])
    found = beam_order(lambda z: z[:, :d] @ effects, x, reference, width=width)
    falling, top = np.argsort(-effects), (effects > 0).sum()
    assert found.order.tolist() == [*falling[:top], *range(d, n), *falling[top:]]
    walk = insdel.curve(lambda z: z[:, :d] @ effects, x, reference, found.order)
    assert found.abc == pytest.approx(insdel.abc(walk)) and found.gap == pytest.approx(0, abs=1e-9)
    assert found.evaluations <= width * d * (d + 1)


def test_compare_has_the_best_order_of_every_pair():
    f, _, _ = game(24)
    rng = np.random.default_rng(0)
    x, reference = rng.normal(size=(2, 3, 24))
    reference[:2, 8:] = x[:2, 8:]
    options = {"kernel_shap": {"samples": 100}}
    table = insdel.compare(f, x, reference, ["kernel_shap", "best"], options=options, progress=False).table
    area = table.pivot(index=["pair", "mode"], columns="method", values="abc")
    assert len(area) == 6 and (area["best"] >= area["kernel_shap"] - 1e-9).all()
    small = insdel.compare(f, x[:2], reference[:2], ["best"], progress=False).table.set_index(["pair", "mode"])["abc"]
    assert np.allclose(area["best"].loc[[0, 1]], small.sort_index())


def test_misuse_is_explained():
    f, x, reference = game(4)
    with pytest.raises(ValueError, match="one pair of .n,. points"):
        beam_order(f, x[None], reference[None])
    with pytest.raises(ValueError, match="width must be at least 1"):
        beam_order(f, x, reference, width=0)
    with pytest.raises(ValueError, match="mode"):
        beam_order(f, x, reference, "upwards")
    same = beam_order(f, x, x)
    assert same.abc == 0 and same.exact and list(same.order) == [0, 1, 2, 3]
    assert len({same, beam_order(f, x, x)}) == 2  # they are compared by identity


@pytest.mark.parametrize("d", [1, 7, 8, 64, 65, 200])
def test_equal_subsets_have_a_number_in_common_and_different_ones_have_not(d):
    rng = np.random.default_rng(d)
    masks = rng.random((300, d)) < 0.5
    masks[200:] = masks[:100]
    masks[0] = masks[1] ^ (np.arange(d) == d - 1)  # the last bit counts, too
    numbers = beam.row_keys(masks)
    assert np.array_equal(numbers[:, None] == numbers, (masks[:, None] == masks).all(axis=2))
