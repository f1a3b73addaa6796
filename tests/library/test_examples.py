"""The chapters' small examples: their prices and interactions are the ones that the text relies on."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import insdel
from insdel.examples import game, house


def test_house_has_the_prices_and_parts_that_its_docstring_states() -> None:
    f, x, reference, names = house()
    lattice = insdel.Lattice.evaluate(f, x, reference)
    np.testing.assert_allclose(lattice.values, [250, 210, 300, 270, 350, 290, 425, 380])
    np.testing.assert_allclose(lattice.dividends(), [250, -40, 50, 10, 100, -20, 25, 5])
    assert names == ("area", "garden", "metro")


def test_house_takes_tensors_and_has_gradients() -> None:
    f, x, reference, _ = house()
    points = torch.tensor(np.stack([x, reference]), requires_grad=True)
    prices = f(points)
    prices.sum().backward()
    assert prices.tolist() == [250.0, 380.0]
    assert points.grad is not None and points.grad[0].tolist() == [2.0, 0.25, -100.0]


@given(st.integers(1, 5), st.integers(0, 2**16))
def test_game_has_the_dividends_it_was_made_of(n: int, seed: int) -> None:
    wanted = np.random.default_rng(seed).normal(size=2**n)
    sets = {tuple(k + 1 for k in range(n) if S >> k & 1): wanted[S] for S in range(2**n)}
    f, x, reference, names = game(sets)
    np.testing.assert_allclose(insdel.Lattice.evaluate(f, x, reference).dividends(), wanted, atol=1e-12)
    assert names == tuple(str(j) for j in range(1, n + 1))


def test_game_takes_tensors_and_features_in_no_set() -> None:
    f, x, reference, _ = game({(2, 1): 2.0, (): 1.0}, n=3)
    assert len(x) == len(reference) == 3
    assert f(torch.tensor([[0.5, 0.5, 9.0], [1.0, 0.0, 0.0]])).tolist() == [1.5, 1.0]


@pytest.mark.parametrize(("dividends", "n"), [({(0, 1): 1.0}, None), ({(3,): 1.0}, 2), ({(): 1.0}, None)])
def test_game_refuses_features_that_do_not_fit(dividends: dict[tuple[int, ...], float], n: int | None) -> None:
    with pytest.raises(ValueError, match="from 1, …, n"):
        game(dividends, n)
