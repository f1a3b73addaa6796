"""Pairs and methods for a reader's own model: what is compared, what is left out and said so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import insdel
from insdel import policies
from insdel.comparison import PAPER_METHODS
from insdel.own import models
from insdel.own import pairs as own_pairs
from insdel.own import table as own
from insdel_paper.studies import tables

EVERYTHING = [*PAPER_METHODS, "occlusion", "ig_jump", "best", "expected"]


def make_table(features: int, rows: int = 60) -> own.Table:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, features)), columns=[f"c{j}" for j in range(features)])
    frame["c0"] = (frame["c0"] > 0).astype(float)
    return own.build(frame, frame.sum(axis=1).rename("y"), "random numbers")


def additive(columns: np.ndarray) -> np.ndarray:
    return columns @ np.arange(1.0, columns.shape[1] + 1)


@pytest.fixture
def case() -> tuple[own.Table, own.Split]:
    table = make_table(5)
    return table, own.split(table, share=0.5)


def test_pairs_follow_the_policy(case: tuple[own.Table, own.Split]) -> None:
    f, split = models.make(additive, *case).f, case[1]
    pairs = own_pairs.pick("counterfactual", f, split, n_pairs=7, at_least=5, seed=3)
    every = policies.counterfactual(f, split.x_test, at_least=5)
    assert len(pairs) == 7 and (pairs.differing == 5).all()
    place = {int(index): at for at, index in enumerate(every.index)}
    for x, reference, index in zip(pairs.x, pairs.reference, pairs.index, strict=True):
        np.testing.assert_array_equal(x, split.x_test[index])
        np.testing.assert_array_equal(reference, every.reference[place[int(index)]])
    half = own_pairs.pick("counterfactual", f, split)
    assert half.differing.min() >= 3  # half of five features, rounded up
    means = own_pairs.pick("average", f, split, n_pairs=4)
    np.testing.assert_allclose(means.reference, np.tile(split.x_train.mean(axis=0), (4, 1)), atol=1e-12)
    partners = own_pairs.pick("one_to_one", f, split, n_pairs=100)
    assert sorted(partners.index) == sorted(partners.reference_index)


def test_pairs_that_cannot_be_had(case: tuple[own.Table, own.Split]) -> None:
    f, split = models.make(additive, *case).f, case[1]
    with pytest.raises(ValueError, match="policy must be one of counterfactual, one_to_one, average; found 'nearest'"):
        own_pairs.pick("nearest", f, split)
    with pytest.raises(ValueError, match="n_pairs must be at least 1; found 0"):
        own_pairs.pick("average", f, split, n_pairs=0)
    alike = own.Split(split.scale, split.train, split.test, split.x_train, split.y_train,
                      np.repeat(split.x_test[:1], 9, axis=0), split.y_test[:9])  # fmt: skip
    with pytest.raises(ValueError, match="no row has a reference: no other point differs.*Lower at_least"):
        own_pairs.pick("counterfactual", f, alike)


def test_without_a_gradient_its_methods_are_left_out_in_one_sentence(case: tuple[own.Table, own.Split]) -> None:
    f = models.make("forest", *case).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=3)
    plan = own_pairs.plan(f, pairs, case[0], EVERYTHING)
    assert plan.methods == ["kernel_shap", "lime", "random", "occlusion", "best", "expected"]
    [note] = plan.notes
    titles = ["Integrated Gradients", "DeepLIFT", "Vanilla Grad", "Input × Gradient", "IG, binary features jump"]
    assert all(title in note for title in titles)
    assert set(plan.table(f, pairs)["method"]) == set(plan.methods)


def test_binary_features_are_passed_on(case: tuple[own.Table, own.Split]) -> None:
    f = models.make("network", *case, neurons=[4], epochs=1).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=3)
    plan = own_pairs.plan(f, pairs, case[0], EVERYTHING)
    assert plan.methods == EVERYTHING and not plan.notes
    assert plan.options == {"input_x_gradient": {"binary": [0]}, "ig_jump": {"binary": [0]}}
    table = plan.table(f, pairs)
    jumps = insdel.explain("ig_jump", f, pairs.x, pairs.reference, binary=[0])
    walk = insdel.curve(f, pairs.x, pairs.reference, insdel.order(jumps))
    found = table.query("method == 'ig_jump' and mode == 'insertion'")["abc"]
    np.testing.assert_allclose(found, insdel.abc(walk))


def test_a_function_of_torch_operations_has_gradients_but_no_layers(case: tuple[own.Table, own.Split]) -> None:
    f = models.make(lambda c: torch.tanh(c).sum(1), *case).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=3)
    plan = own_pairs.plan(f, pairs, case[0], ["integrated_gradients", "deeplift", "kernel_shap"])
    assert plan.methods == ["integrated_gradients", "kernel_shap"] and "DeepLIFT" in plan.notes[0]


def test_deeplift_is_left_out_where_it_would_not_be_deeplift(case: tuple[own.Table, own.Split]) -> None:
    class Functional(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(5, 1)

        def forward(self, z: torch.Tensor) -> torch.Tensor:
            return self.layer(z).square()

    f = models.make(Functional(), *case).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=3)
    plan = own_pairs.plan(f, pairs, case[0], ["deeplift", "vanilla_grad"])
    assert plan.methods == ["vanilla_grad"] and "DeepLIFT is left out: deeplift's attributions miss" in plan.notes[0]


def test_many_differing_features_are_sampled() -> None:
    table = make_table(24)
    split = own.split(table, share=0.5)
    f = models.make(additive, table, split).f
    pairs = own_pairs.pick("counterfactual", f, split, n_pairs=2, at_least=23)
    assert pairs.differing.max() > 20
    plan = own_pairs.plan(f, pairs, table, ["kernel_shap", "banzhaf", "best", "expected"], exact_up_to=20, samples=100)
    assert plan.methods == ["kernel_shap"] and plan.options["kernel_shap"] == {"samples": 100}
    text = " ".join(plan.notes)
    assert "Banzhaf, best of all orders, mean of all orders" in text and "100 evaluations" in text
    found = plan.table(f, pairs).set_index(["pair", "mode"])["abc"]
    effects = (pairs.reference - pairs.x) * split.scale.width * np.arange(1, 25)  # additive: the Shapley values
    for mode in ("insertion", "deletion"):
        walk = insdel.curve(f, pairs.x, pairs.reference, insdel.order(effects, mode))
        np.testing.assert_allclose([found[k, mode] for k in (0, 1)], insdel.abc(walk, mode))


def test_the_tabular_lime_gets_rows_to_draw_like_or_is_left_out(case: tuple[own.Table, own.Split]) -> None:
    f, split = models.make(additive, *case).f, case[1]
    pairs = own_pairs.pick("one_to_one", f, split, n_pairs=2)
    asked = ["lime_tabular", "random"]
    without = own_pairs.plan(f, pairs, case[0], asked)
    assert without.methods == ["random"] and "is left out: it needs rows" in without.notes[0]
    plan = own_pairs.plan(f, pairs, case[0], asked, background=split.x_train)
    assert set(plan.table(f, pairs)["method"]) == set(asked) and not plan.notes


def test_plans_that_cannot_be(case: tuple[own.Table, own.Split]) -> None:
    f = models.make("forest", *case).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=3)
    with pytest.raises(ValueError, match="methods must be among kernel_shap.*; found shap"):
        own_pairs.plan(f, pairs, case[0], ["shap"])
    with pytest.raises(ValueError, match="exact_up_to needs a number between 1 and 20; found 30"):
        own_pairs.plan(f, pairs, case[0], ["lime"], exact_up_to=30)
    with pytest.raises(ValueError, match="no method is left to compare. This model is not made of torch"):
        own_pairs.plan(f, pairs, case[0], ["vanilla_grad"])


def test_curves_and_attributions_of_the_widest_pair(case: tuple[own.Table, own.Split]) -> None:
    f = models.make(additive, *case).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=8)
    pair = own_pairs.widest(f, pairs)
    effects = (pairs.reference - pairs.x) * case[1].scale.width * np.arange(1, 6)
    assert pair == np.abs(effects.sum(axis=1)).argmax()
    plan = own_pairs.plan(f, pairs, case[0], ["kernel_shap", "lime", "random", "best"])
    ranked = own_pairs.attributions(f, pairs, pair, plan)
    assert list(ranked) == ["kernel_shap", "lime"]
    np.testing.assert_allclose(ranked["kernel_shap"], effects[pair])
    walks = own_pairs.walks(f, pairs, pair, ranked)
    rise = np.sort(effects[pair])[::-1]
    np.testing.assert_allclose(np.diff(walks["insertion"]["kernel_shap"]), rise, atol=1e-9)
    np.testing.assert_allclose(np.diff(walks["deletion"]["kernel_shap"]), rise[::-1], atol=1e-9)


def test_verdicts_compare_the_leader_with_everyone(case: tuple[own.Table, own.Split]) -> None:
    f = models.make(additive, *case).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=20)
    table = own_pairs.plan(f, pairs, case[0], ["random", "kernel_shap", "occlusion", "best"]).table(f, pairs)
    found = own_pairs.verdicts(table)
    chance = found.loc["insertion", "Kernel SHAP", "Random"]
    assert chance["verdict"] == "holds"
    expected = tables.paired(table, ("kernel_shap", "insertion"), ("random", "insertion"))
    assert chance["in standard errors"] == pytest.approx(expected["in standard errors"])
    tie = found.loc["deletion", "Kernel SHAP", "Occlusion"]  # additive: both are the effects
    assert tie["verdict"] == "undecided" and tie["difference"] == pytest.approx(0, abs=1e-9)
    assert "best of all orders" not in found.index.get_level_values("rival")
    alone = own_pairs.verdicts(table[table["method"].isin(["random", "best"])])
    assert alone.empty and list(alone) == list(found) and alone.index.names == found.index.names


def test_the_limit_of_exact_values_may_be_any_number_that_a_lattice_has(case: tuple[own.Table, own.Split]) -> None:
    f = models.make(additive, *case).f
    pairs = own_pairs.pick("one_to_one", f, case[1], n_pairs=3)
    assert own_pairs.plan(f, pairs, case[0], ["kernel_shap"], exact_up_to=1, samples=20).options == {"kernel_shap": {"samples": 20}}
    assert own_pairs.plan(f, pairs, case[0], ["kernel_shap"], exact_up_to=20).options == {}
    for wrong in (0, 21):
        with pytest.raises(ValueError, match=f"between 1 and 20; found {wrong}"):
            own_pairs.plan(f, pairs, case[0], ["kernel_shap"], exact_up_to=wrong)
