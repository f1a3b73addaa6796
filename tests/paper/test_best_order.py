"""Methods beside all orders: areas, tails, bests against enumeration; measures of interaction against closed forms."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
import torch

import insdel
from insdel.examples import game, house
from insdel.lattice import LATTICE_MODES
from insdel_paper.studies import best_order
from insdel_paper.studies.best_order import (
    BEST,
    Found,
    interaction_term,
    interactions,
    spectrum,
    study,
    turned,
)

N, PAIRS = 6, 5


@pytest.fixture(scope="module")
def case():
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(N, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()
    f[2].weight.data *= 10
    x, reference = np.random.default_rng(0).normal(size=(2, PAIRS, N))
    reference[:2, 0] = x[:2, 0]  # two pairs with an unchanged feature
    return f, x, reference, study(f, x, reference, orders=500, progress=False)


@pytest.fixture(scope="module")
def enumerated(case):
    """Per pair: its lattice and, for each mode, the ABC of all rankings; deletion walks them from their end."""
    f, x, reference, _ = case
    rankings, found = np.array(list(permutations(range(N)))), []
    for lattice in insdel.lattices(f, x, reference):
        there, back = lattice.abc(rankings), lattice.abc(rankings[:, ::-1], "deletion")
        found.append((lattice, {"insertion": there, "deletion": back, "both": there + back}))
    return found


def one(found: Found, pair: int, method: str, mode: str) -> pd.Series:
    return found.areas.query("pair == @pair and method == @method and mode == @mode").iloc[0]


def test_best_mean_and_spread_are_those_of_all_orders(case, enumerated):
    for pair, (_, areas) in enumerate(enumerated):
        for mode in LATTICE_MODES:
            row = one(case[-1], pair, "kernel_shap", mode)
            assert row.best == pytest.approx(areas[mode].max() / N)
            assert row.expected == pytest.approx(areas[mode].mean() / N, abs=1e-9)
            assert row.sd == pytest.approx(areas[mode].std() / N)


def test_best_rankings_are_best_in_their_own_mode_only(case):
    areas = case[-1].areas
    for name, own in BEST.items():
        rows = areas[(areas.method == name) & (areas["mode"] == own)]
        np.testing.assert_allclose(rows.abc_per_feature, rows.best)
        assert rows.optimal.all()
    assert not areas[areas.method.isin(BEST)].optimal.all()
    assert (areas.abc_per_feature <= areas.best + 1e-9).all()


def test_areas_are_those_of_compare(case):
    f, x, reference, found = case
    table = insdel.compare(f, x, reference, ("kernel_shap", "occlusion", "lime", "random", "best"), progress=False).table
    both = found.areas.merge(table, on=["pair", "method", "mode"], suffixes=("", "_there"))
    assert len(both) == PAIRS * 4 * 2
    np.testing.assert_allclose(both.abc_per_feature, both.abc_per_feature_there)
    wide = found.areas.pivot_table("abc_per_feature", ["pair", "method"], "mode")
    np.testing.assert_allclose(wide["both"], wide["insertion"] + wide["deletion"])


def test_tails_and_quantiles_come_near_those_of_all_orders(case, enumerated):
    for pair, (_, areas) in enumerate(enumerated):
        for mode in LATTICE_MODES:
            row = one(case[-1], pair, "vanilla_grad", mode)
            exact = (areas[mode] / N >= row.abc_per_feature - 1e-9).mean()
            assert row.tail_probability == pytest.approx(exact, abs=5 * 0.5 / 500**0.5)
            levels = case[-1].orders.query("pair == @pair and mode == @mode").set_index("level").abc_per_feature
            assert levels[0.5] == pytest.approx(np.median(areas[mode]) / N, abs=row.sd / 3)


def test_pairs_with_too_many_features_are_left_out(monkeypatch):
    monkeypatch.setattr(best_order, "MAX_FEATURES", 2)
    f, x, reference = lambda z: (z[:, 0] - z[:, 1]) * z[:, 2], np.zeros((3, 3)), np.ones((3, 3))
    reference[1, 0] = 0.0
    found = study(f, x, reference, ("occlusion",), orders=10, progress=False)
    assert list(found.pairs.pair) == [1] and set(found.areas.pair) == {1}


def of(dividends: dict, n: int | None = None) -> insdel.Lattice:
    return insdel.Lattice.evaluate(*game(dividends, n)[:3])


def test_the_spectrum_of_single_products():
    """A product of k signs is one Walsh function: all variance at size k."""
    subsets = np.arange(2**5)
    for members in ([0], [1, 3], [0, 2, 4], [0, 1, 2, 3, 4]):
        sign = np.prod([1 - 2 * (subsets >> k & 1) for k in members], axis=0)
        shares = spectrum(torch.as_tensor(3.0 * sign + 7))
        np.testing.assert_allclose(shares, np.eye(6)[len(members)], atol=1e-12)


def test_the_spectrum_is_a_regression_on_main_effects():
    """Second implementation: `main` is the R² of a least-squares fit of one coefficient per feature."""
    values = np.random.default_rng(1).normal(size=2**5)
    design = np.column_stack([np.ones(32), *((np.arange(32) >> k & 1) for k in range(5))])
    residual = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    shares = spectrum(torch.as_tensor(values))
    assert shares[1] == pytest.approx(1 - residual.var() / values.var())
    assert shares.sum() == pytest.approx(1) and shares[0] == 0


def test_turned_is_0_where_all_comparisons_agree_and_one_half_where_they_cancel():
    gamma = np.array([0.3, -1.0, 2.0, 0.7])
    monotone = insdel.Lattice.evaluate(lambda z: np.exp(z @ gamma), np.zeros(4), np.ones(4))
    assert turned(torch.as_tensor(monotone.values)) == pytest.approx(0, abs=1e-12)
    # with feature 3 aside j beats k by 1, with feature 3 changed k beats j by 1; 3 itself is far ahead of both
    swing = of({(1,): 1.0, (1, 3): -1.0, (2, 3): 1.0, (3,): 100.0})
    values = torch.as_tensor(swing.values)
    gaps = {(j, k): [float(values[S | 1 << j] - values[S | 1 << k]) for S in range(8) if not S & (1 << j | 1 << k)]
            for j, k in combinations(range(3), 2)}  # fmt: skip
    against = sum((np.abs(g).sum() - abs(np.sum(g))) / 2 for g in gaps.values())  # for n = 3 all weights are ½
    assert turned(values) == pytest.approx(against / sum(np.abs(g).sum() for g in gaps.values()))
    assert gaps[0, 1] == [1.0, -1.0] and turned(values) > 0
    assert turned(torch.zeros(8, dtype=torch.float64)) == turned(torch.zeros(2, dtype=torch.float64)) == 0


def test_pairwise_interactions_turn_nothing_for_both_tests():
    rng = np.random.default_rng(2)
    pairwise = of({u: rng.normal() for k in (1, 2) for u in combinations(range(1, 6), k)})
    found = interactions(pairwise)
    assert found["turned_both"] == pytest.approx(0, abs=1e-12) and found["turned"] > 0.01
    assert found["main"] + found["pairwise"] == pytest.approx(1)
    assert found["odd"] == pytest.approx(0, abs=1e-12) and found["even"] == pytest.approx(0, abs=1e-12)


def test_shares_of_dividends_by_hand():
    lattice = insdel.Lattice.evaluate(*house()[:3])
    assert interactions(lattice)["dividends"] == pytest.approx((10 + 20 + 25 + 5) / (40 + 50 + 100 + 60))


def test_the_term_of_theorem_1_is_the_difference_of_the_two_tests(enumerated):
    for lattice, areas in enumerated:
        for k, ranking in enumerate(list(permutations(range(N)))[::97]):
            gap = areas["insertion"][97 * k] - areas["deletion"][97 * k]
            assert interaction_term(lattice, np.array(ranking)) == pytest.approx(gap, abs=1e-9)


def areas_by_hand() -> pd.DataFrame:
    """Two methods on two pairs: best 10 and 30, mean of all orders 0 and 10, standard deviations 2 and 5."""
    rows = [("a", 0, 10.0, 0.001), ("a", 1, 20.0, 0.02), ("b", 0, 0.0, 0.5), ("b", 1, 10.0, 0.5)]
    about = {0: {"best": 10.0, "expected": 0.0, "sd": 2.0}, 1: {"best": 30.0, "expected": 10.0, "sd": 5.0}}
    return pd.DataFrame([{"pair": p, "method": m, "mode": "insertion", "abc_per_feature": v, "tail_probability": t,
                          "optimal": v == about[p]["best"], **about[p]} for m, p, v, t in rows])  # fmt: skip


def test_shares_by_hand():
    found = best_order.shares(areas_by_hand()).loc["insertion"]
    assert found.share.to_dict() == pytest.approx({"a": 75.0, "b": 25.0})
    # residuals of a: 10 − 7.5 and 20 − 22.5, standard error 2.5; mean of the best 20
    assert found.share_se["a"] == pytest.approx(100 * 2.5 / 20)
    assert found.regret.to_dict() == pytest.approx({"a": 5.0, "b": 15.0})
    assert found.optimal.to_dict() == {"a": 50.0, "b": 0.0}


def test_distance_from_chance_by_hand():
    rows = best_order.standings(areas_by_hand()).query("mode == 'insertion'")
    found = rows.groupby("method")[["z", "normalised"]].mean()
    assert found.z.to_dict() == pytest.approx({"a": (5 + 2) / 2, "b": 0.0})
    assert found.normalised.to_dict() == pytest.approx({"a": 0.75, "b": 0.0})


def test_what_chapters_say_about_pairs(case):
    found = case[-1]
    hard = best_order.hard_pairs(found)
    row = one(found, 3, "kernel_shap", "insertion")
    assert hard.lost[3] == pytest.approx((row.best - row.abc_per_feature) / (row.best - row.expected))
    assert (hard.interacting == 1 - hard.main).all()
    gaps = best_order.differences(found)
    np.testing.assert_allclose(gaps.difference, gaps.term, atol=1e-9)
    assert gaps["shift"][3] == pytest.approx(2 * row.expected)


def test_sources_say_how_to_record_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path))
    own = {"houses": Found(*[pd.DataFrame()] * 3, about="two pairs")}
    shown = best_order.together(own, "recorded")
    assert shown == own == best_order.together(own, "live")
    lines = best_order.sources(shown).splitlines()
    assert lines[0] == "- **houses**: two pairs" and "`insdel record best_order_cern_one_to_one`" in lines[3]


def test_powers_of_ten_are_written_as_such():
    assert best_order.scientific(20_922_789_888_000) == "2.1\u00a0×\u00a010¹³"
    assert best_order.scientific(5.04e-10) == "5.0\u00a0×\u00a010⁻¹⁰"
