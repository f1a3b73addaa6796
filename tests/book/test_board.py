"""What the interactive figures are given: values as they stand in the lattice, orders as brute force finds them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import insdel
from insdel.examples import Example, game, house
from insdel_book import board

ORDERS = np.array(list(permutations(range(3))))
TESTS = ("insertion", "deletion", "both")


def counterexample(a: float) -> Example:
    return game({(1,): 3, (2,): 2, (3,): 1, (1, 2): a})


def decode(text: str) -> np.ndarray:
    return np.frombuffer(base64.urlsafe_b64decode(text), dtype="<f4").astype(float)


def areas(f: Any, x: np.ndarray, reference: np.ndarray, cards: np.ndarray) -> dict[str, float]:
    """ABC of the cards in each test, from model calls: deletion takes the cards from the other end."""
    up = float(insdel.abc(insdel.curve(f, x, reference, cards)))
    down = float(insdel.abc(insdel.curve(f, x, reference, cards[::-1].copy()), "deletion"))
    return {"insertion": up, "deletion": down, "both": up + down}


@pytest.mark.parametrize("make", [house, lambda: counterexample(-1.5), lambda: counterexample(-5)])
def test_best_cards_are_those_of_brute_force(make: Callable[[], Example]) -> None:
    f, x, reference, _ = make()
    one = board.deal(f, x, reference)
    found = [areas(f, x, reference, cards) for cards in ORDERS]
    for test in TESTS:
        assert one.abc("best", test) == pytest.approx(max(area[test] for area in found))
        cards = one.orders["best"][test]
        assert areas(f, x, reference, cards)[test] == pytest.approx(one.abc("best", test))


def test_greedy_cards_take_the_best_next_value() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=32)
    lattice = insdel.Lattice(values, tuple(range(5)), 5)
    terms = {tuple(k + 1 for k in range(5) if s >> k & 1): float(d) for s, d in enumerate(lattice.dividends())}
    f, x, reference, _ = game(terms)
    one = board.deal(f, x, reference)
    for test, sign in (("insertion", 1), ("deletion", -1)):
        taken, walk = 0, []
        while len(walk) < 5:
            free = [k for k in range(5) if not taken >> k & 1]
            walk.append(max(free, key=lambda k: sign * values[taken | 1 << k]))
            taken |= 1 << walk[-1]
        cards = walk if test == "insertion" else walk[::-1]
        assert one.orders["greedy"][test].tolist() == cards


def test_methods_lay_their_own_ranking_for_every_test() -> None:
    f, x, reference, _ = house()
    one = board.deal(f, x, reference, seed=4)
    options = {"lime": {"samples": 200, "seed": 4}}
    for method in board.METHODS:
        ranking = insdel.order(insdel.explain(method, f, x, reference, **options.get(method, {})))
        for test in TESTS:
            np.testing.assert_array_equal(one.orders[method][test], ranking)


def test_features_that_do_not_differ_get_no_card() -> None:
    def f(z: Any) -> Any:
        return z[:, 0] * z[:, 3] + 2 * z[:, 1] - z[:, 2]

    x, reference = np.array([1.0, 0.5, 7.0, -1.0]), np.array([2.0, 0.5, 7.5, 1.5])
    one = board.board("t", "a", "u", f, (x, reference), "abcd", shown=(10 * x, 10 * reference))
    assert one.names == ("a", "c", "d")
    assert one.changes == ("10 → 20", "70 → 75", "−10 → 15")
    lattice = one.deals[0].lattice
    assert (lattice.n, lattice.players) == (3, (0, 1, 2))
    np.testing.assert_array_equal(lattice.values, insdel.Lattice.evaluate(f, x, reference).values)


def test_share_is_of_the_best_and_nan_where_nothing_can_be_won() -> None:
    f, x, reference, _ = counterexample(-1.5)
    one = board.deal(f, x, reference)
    assert one.share("best") == 1
    assert one.share("kernel_shap") == pytest.approx(2 / 2.5)  # ABC of (1, 2, 3) and of (1, 3, 2), by hand
    f, x, reference, _ = game({(1, 2, 3): 6})
    hopeless = board.deal(f, x, reference)
    assert hopeless.abc("best") == -6 and np.isnan(hopeless.share("best"))


def test_the_pair_with_hardest_pair() -> None:
    def f(z: Any) -> Any:  # the counterexample where the fourth feature is −1.5, additive where it is 0
        return 3 * z[:, 0] + 2 * z[:, 1] + z[:, 2] + z[:, 3] * z[:, 0] * z[:, 1]

    x = np.array([[0, 0, 0, a] for a in (0, -1.5, 0)], dtype=float)
    reference = np.array([[1, 1, 1, a] for a in (0, -1.5, 0)], dtype=float)
    assert board.hardest_pair(f, x, reference) == board.hardest_pair(lambda z: f(z) / 100, x, reference) == 1
    assert board.hardest_pair(lambda z: -z.prod(axis=1), x[:, :3], reference[:, :3]) == 0  # every order is the best


def test_a_family_has_one_game_per_position() -> None:
    one = board.family("t", "a", counterexample, "A", [-5, -1.5, 0])
    assert one.positions == (-5.0, -1.5, 0.0) and one.names == ("feature 1", "feature 2", "feature 3")
    for a, each in zip(one.positions, one.deals, strict=True):
        assert each.lattice.values[3] == 5 + a
        assert each.lattice.values[7] == 6 + a


def embedded(figure: Any) -> tuple[str, dict[str, Any]]:
    html = figure._repr_html_()
    found = re.fullmatch(r'(<div .*>)<script type="application/json">(.*)</script></div>', html, re.DOTALL)
    assert found
    return found[1], json.loads(found[2])


def test_the_page_gets_the_values_and_orders() -> None:
    f, x, reference, names = house()
    one = board.board("</script> & 2 houses", "about", "price", f, (x, reference), names)
    head, data = embedded(board.cards([one], still="fig-still"))
    assert 'data-play="order"' in head and 'data-still="fig-still"' in head and board.NOTE in head
    [sent] = data["boards"]
    assert sent["title"] == one.title and sent["names"] == list(names)
    np.testing.assert_array_equal(decode(sent["deals"][0]["values"]), one.deals[0].lattice.values)
    for button, orders in one.deals[0].orders.items():
        assert sent["deals"][0]["orders"][button] == {test: cards.tolist() for test, cards in orders.items()}
        assert button in data["buttons"]
    assert "random" in data["buttons"]
    assert sent["knob"] == "" and sent["positions"] == []


def test_values_are_rounded_to_float32_before_they_are_measured_and_sent_without_slashes() -> None:
    f, x, reference, _ = game({(): 0.1, (1,): 1 / 3, (2,): 1e-9, (1, 2): 0.7})
    one = board.deal(f, x, reference)
    np.testing.assert_array_equal(decode(board.encode(one.lattice.values)), one.lattice.values)
    np.testing.assert_allclose(one.lattice.values, insdel.Lattice.evaluate(f, x, reference).values, rtol=1e-7)
    worst = np.frombuffer(b"\xff" * 64, dtype="<u4").view("<f4")
    assert "/" in base64.b64encode(worst.tobytes()).decode()
    assert not set("/+") & set(board.encode(worst))


def test_sliders_get_seven_dividends_per_game() -> None:
    _, data = embedded(board.sliders({"one": {(1,): 3, (1, 2): -1.5}, "two": {(1, 2, 3): 6}}, still="fig-still"))
    assert data["subsets"] == [[1], [2], [3], [1, 2], [1, 3], [2, 3], [1, 2, 3]]
    assert data["games"] == {"one": [3, 0, 0, -1.5, 0, 0, 0], "two": [0, 0, 0, 0, 0, 0, 6]}


@pytest.mark.parametrize(("dividends", "why"), [({(4,): 1}, r"found \[\(4,\)\]"), ({(1,): 7}, "between ±6"),
                                                 ({(1,): 0.1}, "steps of 0.25")])  # fmt: skip
def test_sliders_refuse_what_they_cannot_show(dividends: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        board.sliders({"one": dividends}, still="s")


def test_the_still_picture_draws_both_orders_in_both_tests() -> None:
    f, x, reference, names = house()
    pair = board.board("Houses", "", "price", f, (x, reference), names)
    paper = board.family("Paper", "", counterexample, "A", [-5, -1.5, 0])
    figure = board.play_boards([pair, paper])
    assert figure.get_figheight() == 2 * board.play_boards([pair]).get_figheight()
    upper, lower = np.reshape(figure.axes, (2, 2))
    assert upper[0].get_title("left") == "Houses" and lower[0].get_title("left") == "Paper, A = -1.5"
    middle = paper.deals[1]
    for panel, test in zip(lower, ("insertion", "deletion"), strict=True):
        drawn = {str(line.get_label()).split(",")[0]: line.get_ydata() for line in panel.lines}
        for label, button in {"best order": "best", "Shapley's order": "kernel_shap"}.items():
            cards = middle.orders[button][test]
            np.testing.assert_allclose(drawn[label], middle.lattice.curve(cards[::-1] if test == "deletion" else cards))
        np.testing.assert_allclose(drawn["straight line"], np.linspace(0, 4.5, 4))
        assert panel.get_title("right") == test
