"""Remove and retrain: what is removed, by whose statistics, and what a training without it can still know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from insdel_paper import networks
from insdel_paper.data import Dataset, Split, split
from insdel_paper.networks.training import Hyper, Recipe
from insdel_paper.studies.roar import removal, tasks

HYPER = Hyper((12, 6), dropout=0.1, learning_rate=0.03)
PLAN = removal.Plan(HYPER, Recipe(epochs=8, batch=40), fractions=(0.0, 0.25, 0.5, 1.0), replicates=2, ig_steps=10)


def planted(strong: int = 2, seed: int = 0, rows: int = 300) -> Split:
    """Four features, the last binary; one of them decides nearly everything."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(rows, 4)), columns=list("abcd"))
    x["d"] = (x["d"] > 0.3).astype(float)
    weights = np.full(4, 0.1)
    weights[strong] = 3.0
    y = pd.Series(x.to_numpy() @ weights, name="y")
    return split(Dataset("planted", x, y, tuple("abcd"), ("d",), tuple("abc"), "simulated", {}))


@pytest.fixture(scope="module")
def rows() -> Split:
    return planted()


@pytest.fixture(scope="module")
def ranked(rows: Split) -> removal.Ranked:
    return removal.rank(rows, PLAN)


@pytest.fixture(scope="module")
def table(rows: Split) -> pd.DataFrame:
    return removal.run(rows, replace(PLAN, leak=(0.5,)))


def test_references_are_mean_and_mode_of_training_rows(rows: Split) -> None:
    point = removal.reference_point(rows)
    np.testing.assert_allclose(point[:3], rows.x_train[:, :3].mean(axis=0), atol=1e-6)
    ones = rows.x_train[:, 3].mean()
    assert point[3] == float(ones > 0.5) and 0 < ones < 1


def test_no_statistic_looks_at_held_out_rows(rows: Split, ranked: removal.Ranked) -> None:
    """Other held-out rows and targets change neither what is written nor what is trained on."""
    rng = np.random.default_rng(1)
    other = replace(rows, x_test=rng.normal(5, 9, rows.x_test.shape).astype(np.float32), y_test=rows.y_test + 100)
    np.testing.assert_array_equal(removal.reference_point(rows), removal.reference_point(other))
    ranked_other = removal.rank(other, PLAN)
    for ranking in removal.RANKINGS:
        cell, point = removal.Cell("features", ranking, 0.5), removal.reference_point(rows)
        seen, seen_other = (removal.inputs(cell, *both, point) for both in ((rows, ranked), (other, ranked_other)))
        np.testing.assert_array_equal(seen[0], seen_other[0])
    assert (ranked.orders("global", "test") == ranked_other.orders("global", "train")[0]).all()


def test_exactly_the_first_features_are_overwritten() -> None:
    orders = np.array([[2, 0, 1], [0, 1, 2]])
    np.testing.assert_array_equal(removal.removal_mask(orders, 2), [[True, False, True], [True, True, False]])
    assert not removal.removal_mask(orders, 0).any() and removal.removal_mask(orders, 3).all()
    x, point = np.arange(16, dtype=np.float32).reshape(4, 4), np.array([-1, -2, -3, -4], dtype=np.float32)
    split = replace(planted(), x_train=x[:2], x_test=x[2:])
    attributed = {"kernel_shap": np.array([[0.0, 3, 1, 2], [3, -4, 0, 0]])}
    ranked = removal.Ranked(attributed, attributed, 0)
    seen = removal.inputs(removal.Cell("features", "kernel_shap", 0.5), split, ranked, point)
    np.testing.assert_array_equal(seen[0], [[0, -2, 2, -4], [-1, -2, 6, 7]])
    np.testing.assert_array_equal(seen[1], [[8, -2, 10, -4], [-1, -2, 14, 15]])


@pytest.mark.parametrize(("n", "counts"), [(38, [0, 4, 11, 19, 27, 34, 38]), (16, [0, 2, 5, 8, 11, 14, 16])])
def test_shares_are_whole_features(n: int, counts: list[int]) -> None:
    assert [removal.removed_count(fraction, n) for fraction in removal.FRACTIONS] == counts


def test_orders_follow_the_attributions() -> None:
    kernel, gradients = np.array([[1.0, -3, 2], [0, 0, -5]]), np.array([[3.0, 1, -2], [1, 2, 3]])
    ranked = removal.Ranked({"kernel_shap": kernel, "integrated_gradients": gradients}, {"kernel_shap": kernel[:1]}, 0)
    np.testing.assert_array_equal(ranked.orders("kernel_shap", "train"), [[1, 2, 0], [2, 0, 1]])
    np.testing.assert_array_equal(ranked.orders("kernel_shap_signed", "train"), [[1, 0, 2], [2, 0, 1]])
    np.testing.assert_array_equal(ranked.orders("integrated_gradients", "train"), [[0, 2, 1], [2, 1, 0]])
    np.testing.assert_array_equal(ranked.orders("global", "test"), [[2, 1, 0]])  # means 0.5, 1.5, 3.5
    random = ranked.orders("random", "train")
    np.testing.assert_array_equal(np.sort(random), [[0, 1, 2]] * 2)
    np.testing.assert_array_equal(random, ranked.orders("random", "train"))


def test_random_orders_differ_from_row_to_row(ranked: removal.Ranked) -> None:
    orders = ranked.orders("random", "train")
    assert len(np.unique(orders, axis=0)) == 24  # all orders of four features, among 240 rows


def test_a_planted_feature_is_found(ranked: removal.Ranked, table: pd.DataFrame) -> None:
    """Every ranking by size begins with it, and removing it alone costs nearly all there is to lose."""
    assert (ranked.orders("global", "test")[:, 0] == 2).all()
    assert (ranked.orders("kernel_shap", "test")[:, 0] == 2).mean() > 0.9
    loss = table[table["input"] == "features"].groupby(["ranking", "fraction"])["loss"].mean()
    rise = loss["global", 1.0] - loss["global", 0.0]
    assert rise > 0.5
    assert loss["global", 0.25] - loss["global", 0.0] > 0.9 * rise
    assert loss["random", 0.25] - loss["random", 0.0] < 0.7 * rise


def test_nothing_removed_is_the_original_training_to_the_bit(
    rows: Split, ranked: removal.Ranked, table: pd.DataFrame
) -> None:
    found = table[(table["fraction"] == 0) & (table["ranking"] == "random")].set_index("replicate")
    cell = removal.Cell("features", "any", 0.0)
    seen = removal.inputs(cell, rows, ranked, removal.reference_point(rows))
    np.testing.assert_array_equal(seen[0], rows.x_train)
    again = removal.retrain(cell, rows, PLAN, seen)
    for seed in range(2):
        network = networks.fit(rows.x_train, rows.y_train, HYPER, PLAN.recipe, seed=seed, device="cpu")
        prediction = network(torch.from_numpy(rows.x_test))
        loss = torch.nn.functional.huber_loss(prediction, torch.from_numpy(rows.y_test))
        assert found.loc[seed, "loss"] == float(loss)
        assert np.array_equal(again[seed], prediction.numpy())


def test_all_removed_predicts_a_constant(rows: Split, ranked: removal.Ranked, table: pd.DataFrame) -> None:
    cell, point = removal.Cell("features", "any", 1.0), removal.reference_point(rows)
    seen = removal.inputs(cell, rows, ranked, point)
    assert (seen[0] == point).all() and (seen[1] == point).all()
    predictions = removal.retrain(cell, rows, PLAN, seen)
    np.testing.assert_allclose(predictions, predictions[:, :1].repeat(len(rows.x_test), axis=1), rtol=1e-5)
    ends = table[(table["fraction"] == 1) & (table["input"] == "features")]
    assert (ends["r2"] < 1e-6).all()  # no constant explains variance
    assert ends.groupby("replicate")["loss"].nunique().eq(1).all()  # whichever ranking removed them


def test_the_mask_alone_knows_what_signed_orders_tell(table: pd.DataFrame) -> None:
    """Who is removed first by sign says whether the row lies high or low; a random mask says nothing."""
    loss = table[table["input"] == "mask"].groupby("ranking")["loss"].mean()
    nothing = table.query("input == 'features' and fraction == 1")["loss"].mean()
    assert loss["kernel_shap_signed"] < 0.6 * nothing
    assert loss["random"] > 0.9 * nothing
    assert "global" not in loss


def test_the_grid_is_complete(table: pd.DataFrame) -> None:
    features = table[table["input"] == "features"]
    assert len(features) == len(removal.RANKINGS) * 4 * 2
    assert features.groupby(["ranking", "fraction", "replicate"]).size().eq(1).all()
    assert features.groupby("fraction")["removed"].first().tolist() == [0, 1, 2, 4]
    np.testing.assert_array_equal(features["share"], features["removed"] / 4)
    assert len(removal.cells(PLAN)) == 2 + 2 * len(removal.RANKINGS)


def test_counterfactual_references_are_rows(rows: Split) -> None:
    plan = replace(PLAN, reference="counterfactual", at_least=3)
    model, point = removal.original(rows, plan), removal.reference_point(rows)
    against = removal.references(model, rows.x_test, point, plan)
    known = {row.tobytes() for row in rows.x_test}
    assert all(row.tobytes() in known for row in against)
    assert ((against != rows.x_test).sum(axis=1) >= 3).all()
    plain = removal.references(model, rows.x_test, point, PLAN)
    assert (plain == point).all()
    differing = (np.concatenate([rows.x_train, rows.x_test]) != point).sum(axis=1)
    for samples in (16, 7):
        expected = np.mean([2**d <= samples for d in differing.tolist()])
        assert tasks.exact_share(rows, replace(PLAN, samples=samples)) == expected
    assert tasks.exact_share(rows, plan) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rankings": ("shap",)}, "rankings are among"),
        ({"rankings": ()}, "rankings are among"),
        ({"reference": "zero"}, "reference must be one of"),
        ({"fractions": (0.0, 1.5)}, "shares lie in"),
        ({"replicates": 0}, "shares lie in"),
    ],
)
def test_plans_that_make_no_sense_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(PLAN, **change)
