"""The lattice against closed forms, brute force, shap and shapiq."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
import shap
import shapiq
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from shapiq_games.synthetic import SOUM

import insdel
from insdel import Lattice

MODES = ("insertion", "deletion", "both")


@st.composite
def random_lattices(draw, max_n=6):
    """A random function on the hybrids of a pair with d differing features among n."""
    n = draw(st.integers(1, max_n))
    d = draw(st.integers(0, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    players = tuple(sorted(rng.choice(n, d, replace=False).tolist()))
    return Lattice(rng.normal(size=2**d), players, n)


def all_orders(n):
    return np.array(list(permutations(range(n))))


def subsets(d):
    return [[k for k in range(d) if S >> k & 1] for S in range(2**d)]


def test_values_are_the_hybrids_and_bits_are_the_players():
    x, reference = np.array([1.0, 7.0, 2.0, 3.0]), np.array([10.0, 7.0, 20.0, 30.0])
    lat = Lattice.evaluate(lambda z: z @ [1, 1000, 1, 1], x, reference)
    assert lat.players == (0, 2, 3) and lat.n == 4 and lat.d == 3
    for S, chosen in enumerate(subsets(3)):
        point = x.copy()
        features = [lat.players[k] for k in chosen]
        point[features] = reference[features]
        assert lat.values[S] == point @ [1, 1000, 1, 1]


def test_additive_game():
    w = np.array([3.0, -1.0, 2.0, 0.5])
    lat = Lattice.evaluate(lambda z: z @ w, np.zeros(4), np.ones(4))
    dividends = np.zeros(16)
    dividends[[1, 2, 4, 8]] = w
    assert np.allclose(lat.dividends(), dividends, atol=1e-12)
    assert np.allclose(lat.shapley(), w, atol=1e-12) and np.allclose(lat.banzhaf(), w, atol=1e-12)
    assert lat.best_order().tolist() == [0, 2, 3, 1] and lat.best_order("deletion").tolist() == [1, 3, 2, 0]
    assert lat.expected_abc() == pytest.approx(0, abs=1e-12)


def test_product_shares_its_gain_equally():
    lat = Lattice.evaluate(lambda z: z.prod(1), np.zeros(5), np.full(5, 2.0))
    assert np.allclose(lat.dividends(), [0] * 31 + [32], atol=1e-12)
    assert np.allclose(lat.shapley(), 32 / 5, atol=1e-12)
    assert np.allclose(lat.banzhaf(), 32 / 16, atol=1e-12)


def test_max_game_has_airport_shapley_values():
    """The airport game: each step of the maximum is shared by those who need it."""
    lat = Lattice.evaluate(lambda z: z.max(axis=1), np.zeros(3), np.array([1.0, 2.0, 4.0]))
    assert np.allclose(lat.shapley(), [1 / 3, 1 / 3 + 1 / 2, 1 / 3 + 1 / 2 + 2], atol=1e-12)


@given(st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_dividends_are_found_again(d, seed):
    """A game built from known dividends gives them back, and Shapley shares each equally."""
    delta = np.random.default_rng(seed).normal(size=2**d)
    values = np.array([sum(delta[u] for u in range(2**d) if u & S == u) for S in range(2**d)])
    lat = Lattice(values, tuple(range(d)), max(d, 1))
    assert np.allclose(lat.dividends(), delta, atol=1e-10)
    shares = [sum(delta[u] / u.bit_count() for u in range(2**d) if u >> k & 1) for k in range(d)]
    assert np.allclose(lat.shapley()[:d], shares, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_theorem_1_and_its_deletion_form(n, seed):
    """AUC = Σ (n − ⌈u⌉ + 1) Δ_u for a random function and a random order, and AUC′ = Σ ⌊u⌋ Δ_u."""
    rng = np.random.default_rng(seed)
    lat = Lattice(rng.normal(size=2**n), tuple(range(n)), n)
    order = rng.permutation(n)
    place = np.argsort(order) + 1  # when each feature changes
    members = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    ceiling = np.where(members, place, 0).max(axis=1)
    floor = np.where(members, place, n + 1).min(axis=1)
    delta = lat.dividends()
    assert insdel.auc(lat.curve(order)) == pytest.approx(((n - ceiling + 1) * delta).sum(), abs=1e-10)
    assert insdel.auc(lat.curve(order[::-1])) == pytest.approx((floor * delta).sum(), abs=1e-10)


@given(random_lattices(max_n=8))
def test_unchanged_features_have_no_value(lat):
    unchanged = [j for j in range(lat.n) if j not in lat.players]
    assert (lat.shapley()[unchanged] == 0).all() and (lat.banzhaf()[unchanged] == 0).all()


@settings(max_examples=40, deadline=None)
@given(random_lattices(max_n=6))
def test_expectations_by_enumeration(lat):
    orders = all_orders(lat.n)
    assert np.allclose(lat.expected_curve(), lat.curve(orders).mean(axis=0), atol=1e-10)
    assert lat.expected_auc() == pytest.approx(insdel.auc(lat.curve(orders)).mean(), abs=1e-10)
    for mode in MODES:
        assert lat.expected_abc(mode) == pytest.approx(lat.abc(orders, mode).mean(), abs=1e-10)
    sizes = np.array([S.bit_count() for S in range(2**lat.d)])
    formula = (lat.n + 1) / 2 * ((1 - sizes) / (1 + sizes) * lat.dividends())[1:].sum()
    assert lat.expected_abc() == pytest.approx(formula, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(random_lattices(max_n=6), st.sampled_from(MODES))
def test_best_order_is_the_best_of_all_orders(lat, mode):
    scores = lat.abc(all_orders(lat.n), mode)
    assert lat.abc(lat.best_order(mode), mode) == pytest.approx(scores.max(), abs=1e-10)


def test_unchanged_features_linger_where_the_walk_is_best():
    lat = Lattice(np.array([0.0, 5.0, 1.0, 2.0]), (1, 3), 4)
    assert lat.best_order().tolist() == [1, 0, 2, 3]
    assert lat.curve(lat.best_order()).tolist() == [0, 5, 5, 5, 2]
    assert lat.best_order("deletion").tolist() == [0, 2, 3, 1]


def test_both_scores_the_order_and_its_reverse():
    lat = Lattice(np.random.default_rng(3).normal(size=16), (0, 1, 2, 3), 4)
    order = np.array([2, 0, 3, 1])
    both = insdel.abc(lat.curve(order)) + insdel.abc(lat.curve(order[::-1]), "deletion")
    assert lat.abc(order, "both") == pytest.approx(both, abs=1e-12)
    assert lat.abc(order[None], "both").shape == (1,)


def test_random_orders_are_uniform_reproducible_and_make_no_model_call():
    lat = Lattice(np.random.default_rng(4).normal(size=8), (0, 2, 3), 4)
    draws = lat.random_abc(20_000, seed=5)
    assert np.array_equal(draws, lat.random_abc(20_000, seed=5))
    exact = insdel.abc(lat.curve(all_orders(4)))
    assert abs(draws.mean() - exact.mean()) < 5 * exact.std() / np.sqrt(20_000)
    shares = np.array([np.isclose(draws, value).mean() for value in np.unique(exact.round(9))])
    expected = np.array([np.isclose(exact, value).mean() for value in np.unique(exact.round(9))])
    assert np.abs(shares - expected).max() < 0.02
    assert len(lat.random_abc(3, 0, "both")) == 3


def test_curves_by_look_up_are_the_models_curves():
    rng = np.random.default_rng(6)
    X, R = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    R[:, 2] = X[:, 2]
    f = lambda z: np.sin(z).prod(1) + z[:, 0] * z[:, 4]  # noqa: E731
    orders = rng.permuted([range(5)] * 3, axis=1)
    for lat, order, walk in zip(insdel.lattices(f, X, R), orders, insdel.curve(f, X, R, orders), strict=True):
        assert np.array_equal(lat.curve(order), walk)


def test_pairs_of_different_size_are_evaluated_together():
    X, R = np.zeros((4, 3)), np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]])
    batches = []

    def f(z):
        batches.append(len(z))
        return z @ [1.0, 2.0, 4.0]

    found = list(insdel.lattices(f, X, R, chunk=5))
    assert batches == [5, 5, 5]  # 8 + 1 + 4 + 2 hybrids: equal features cost nothing
    assert [lat.players for lat in found] == [(0, 1, 2), (), (0, 2), (1,)]
    assert [lat.values.tolist() for lat in found] == [list(range(8)), [0], [0, 1, 4, 5], [0, 2]]


def test_nearly_equal_features_differ():
    x = np.ones(2)
    assert Lattice.evaluate(lambda z: z.sum(1), x, np.array([np.nextafter(1, 2), 1.0])).players == (0,)


def test_tensors_come_back_as_tensors():
    model = torch.nn.Sequential(torch.nn.Linear(4, 1, dtype=torch.float64))
    lat = Lattice.evaluate(model, torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64))
    results = [lat.values, lat.shapley(), lat.dividends(), lat.curve([0, 1, 2, 3]), lat.best_order(), lat.random_abc(2)]
    assert all(isinstance(result, torch.Tensor) for result in results)
    assert torch.allclose(lat.shapley(), model[0].weight[0], atol=1e-12)
    assert isinstance(Lattice.evaluate(model, np.zeros(4), np.ones(4)).values, np.ndarray)


def nonlinear(z):
    return np.tanh(z[:, 0] * z[:, 1]) + z[:, 2] * z[:, 3] * z[:, 4] + np.sin(z).sum(1)


def test_shapley_agrees_with_shap():
    rng = np.random.default_rng(7)
    x, reference = rng.normal(size=(2, 6))
    mine = Lattice.evaluate(nonlinear, x, reference).shapley()
    # shap explains x against a background; the change from x to the reference is the negative of that
    exact = shap.explainers.ExactExplainer(nonlinear, shap.maskers.Independent(reference[None]))(x[None]).values[0]
    kernel = shap.KernelExplainer(nonlinear, reference[None]).shap_values(x, nsamples=2**6, l1_reg=False, silent=True)
    assert np.allclose(mine, -exact, atol=1e-10)
    assert np.allclose(mine, -kernel, atol=1e-10)


def test_sums_of_unanimity_games_agree_with_shapiq():
    game = SOUM(n=7, n_basis_games=20, random_state=8)
    masks = (np.arange(2**7)[:, None] >> np.arange(7) & 1).astype(bool)
    lat = Lattice(game(masks), tuple(range(7)), 7)
    exact = shapiq.ExactComputer(game, n_players=7)
    assert np.allclose(lat.shapley(), exact("SV", order=1).get_n_order_values(1), atol=1e-10)
    assert np.allclose(lat.banzhaf(), exact("BV", order=1).get_n_order_values(1), atol=1e-10)
    moebius = exact("Moebius", order=7)
    assert np.allclose(lat.dividends()[1:], [moebius[tuple(u)] for u in subsets(7)[1:]], atol=1e-10)


def test_too_many_features_are_refused_with_the_cost():
    with pytest.raises(ValueError, match=r"pair 0 differs in 21 features.*2\*\*21 = 2,097,152.*max_features=21"):
        Lattice.evaluate(lambda z: z.sum(1), np.zeros(21), np.ones(21))
    with pytest.raises(ValueError, match=r"2\*\*3 = 8 evaluations"):
        insdel.lattices(lambda z: z.sum(1), np.zeros((2, 3)), np.ones((2, 3)), max_features=2)


@pytest.mark.parametrize("d", [500, 20_000])
@pytest.mark.parametrize("call", [Lattice.evaluate, partial(insdel.explain, "banzhaf")])
def test_numbers_of_many_digits_are_not_written_out(d, call):
    with pytest.raises(insdel.UserError, match=rf"lattice needs 2\*\*{d} evaluations; the limit is .* fewer features\.$"):
        call(lambda z: z.sum(1), np.zeros(d), np.ones(d))


def test_other_bad_input_is_refused():
    lat = Lattice(np.arange(4.0), (0, 1), 2)
    with pytest.raises(ValueError, match="permutation"):
        lat.curve([0, 0])
    with pytest.raises(ValueError, match="mode must be one of insertion, deletion, both"):
        lat.best_order("up")
    with pytest.raises(ValueError, match="insdel.lattices for many pairs"):
        Lattice.evaluate(lambda z: z.sum(1), np.zeros((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="2 players need 4 values, not 3"):
        Lattice(np.zeros(3), (0, 1), 2)


def test_lattices_are_compared_by_what_they_hold():
    x, reference = np.random.default_rng(0).normal(size=(2, 3))
    f = lambda z: z[:, 0] * z[:, 1] + z[:, 2]  # noqa: E731
    one = insdel.Lattice.evaluate(f, x, reference)
    assert one == insdel.Lattice.evaluate(f, x, reference) == insdel.Lattice.evaluate(f, torch.tensor(x), reference)
    assert one != insdel.Lattice.evaluate(f, reference, x)
    assert one != insdel.Lattice(one.values, one.players, 4)
    assert one != "a lattice" and one in [one]


@pytest.mark.parametrize(
    "call", [Lattice.evaluate, *(partial(insdel.explain, name) for name in ("kernel_shap", "banzhaf"))]
)
def test_seventy_players_are_refused_whatever_the_limit(call):
    with pytest.raises(ValueError, match=r"differs in 70 features.*the limit is 2\*\*40"):
        call(lambda z: z.sum(1), np.zeros(70), np.ones(70), max_features=100)


@pytest.mark.parametrize(("orders", "seed", "said"), [(2.0, 0, "orders must be a whole"), ("2", 0, "orders must be a whole"),
                                                      (0, 0, "orders must be at least 1"), (2, -1, "seed must be"), (2, 1.5, "seed must be"),
                                                      (2, 2**64, "below 2⁶⁴"), (2, None, "seed must be")])  # fmt: skip
def test_random_orders_need_a_number_and_a_seed(orders: object, seed: object, said: str) -> None:
    lattice = insdel.Lattice.evaluate(lambda z: z.sum(axis=1), np.zeros(3), np.ones(3))
    with pytest.raises(insdel.UserError, match=said):
        lattice.random_abc(orders, seed)
