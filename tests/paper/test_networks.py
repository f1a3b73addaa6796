"""The networks, how they are fitted and kept, and the search: shapes, determinism, known functions."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from sklearn.metrics import r2_score

from insdel.errors import UserError
from insdel.evaluate import predict
from insdel_paper import data, figures, networks
from insdel_paper.networks import search, training
from insdel_paper.networks.training import PAPER, RECIPES, Hyper, Recipe, fit

SMALL = Hyper((16, 8), dropout=0.1, learning_rate=1e-2)
QUICK = Recipe(epochs=4, batch=32)


@pytest.fixture(scope="module")
def linear():
    x = np.random.default_rng(0).normal(size=(400, 3)).astype(np.float32)
    return x, x @ np.array([1.0, -2.0, 0.5], np.float32) + 7


def weights(model):
    return torch.cat([p.flatten() for p in model.parameters()])


def test_the_network_is_the_paper_s():
    assert PAPER["bangalore"].neurons == (333, 465, 86, 234)
    assert PAPER["cern"].neurons == (509, 421, 65, 368, 122, 477)
    net = networks.MLP(16, PAPER["cern"].neurons, PAPER["cern"].dropout)
    kinds = [type(layer).__name__ for layer in net.layers]
    assert kinds == ["Linear", "PReLU", "Dropout"] * 6 + ["Linear"]
    assert {layer.p for layer in net.layers if isinstance(layer, torch.nn.Dropout)} == {0.11604}
    assert net(torch.zeros(5, 16)).shape == (5,) and net(torch.zeros(1, 16)).shape == (1,)


def test_forward_is_the_formula():
    net = networks.MLP(2, (3,)).double().eval()
    x = torch.randn(4, 2, dtype=torch.float64)
    first, slope, last = net.layers[0], net.layers[1].weight, net.layers[3]
    z = x @ first.weight.T + first.bias
    expected = torch.where(z > 0, z, slope * z) @ last.weight[0] + last.bias
    assert torch.allclose(net(x), expected, rtol=1e-12)


@pytest.mark.parametrize("unit", ["target", "deviation"])
def test_a_linear_function_is_learnt_in_its_own_unit(linear, unit):
    x, y = linear
    exact = replace(SMALL, dropout=0.0)
    model = fit(x, 1000 * y, exact, Recipe(epochs=60, batch=32, output_unit="deviation", loss_unit=unit, clip=1e9))
    assert networks.r2(1000 * y, predict(model, x)) > 0.99
    assert not model.training and not any(p.requires_grad for p in model.parameters())
    assert [type(layer).__name__ for layer in model.layers][-1] == "Linear"


def test_same_seed_same_bits_and_the_caller_s_random_state_stays(linear):
    torch.manual_seed(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first = fit(*linear, SMALL, QUICK, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(17)
    torch.set_num_threads(threads + 1)
    as_tensors = torch.from_numpy(linear[0]).double(), linear[1].tolist()
    assert torch.equal(weights(fit(*as_tensors, SMALL, QUICK, seed=3)), weights(first))
    assert torch.get_num_threads() == threads + 1
    torch.set_num_threads(threads)
    assert not torch.equal(weights(fit(*linear, SMALL, QUICK, seed=4)), weights(first))


def test_the_best_validation_epoch_is_kept(linear):
    """Stopped at its best epoch, a training with a constant rate ends with the same weights."""
    wild = replace(SMALL, learning_rate=0.3)
    recipe = Recipe(epochs=12, batch=64, schedule="constant", warmup=0.0)
    model = fit(*linear, wild, recipe)
    losses = [row["validation"] for row in model.history]
    best = int(np.argmin(losses))
    assert 0 < best < 11  # else the test shows nothing
    stopped = fit(*linear, wild, replace(recipe, epochs=best + 1, keep_best=False))
    assert torch.equal(weights(stopped), weights(model))
    assert not torch.equal(weights(fit(*linear, wild, replace(recipe, keep_best=False))), weights(model))


def test_plain_descent_takes_the_step_of_the_formula():
    """One step of SGD on one batch: w − rate · ∂loss/∂w, from the weights that the seed draws."""
    x, y = torch.linspace(-1, 1, 40)[:, None], torch.linspace(0, 1, 40)
    hyper = Hyper((4,), dropout=0.0, learning_rate=0.1)
    chosen = Recipe(epochs=1, batch=100, optimiser="sgd", schedule="constant", warmup=0.0, clip=np.inf, keep_best=False)
    after = fit(x, y, hyper, chosen)
    torch.manual_seed(0)
    before = training.MLP(1, (4,))
    rows = torch.randperm(40)[4:]  # a tenth is held out
    torch.nn.functional.huber_loss(before(x[rows]), y[rows]).backward()
    moved = [weight - 0.1 * weight.grad for weight in before.parameters()]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(after.parameters(), moved, strict=True))


@pytest.mark.parametrize(("kind", "spread"), [("torch", 1 / np.sqrt(3 * 200)), ("glorot", np.sqrt(2 / 500)), ("he", 0.1)])
def test_first_weights_have_the_spread_of_their_rule(kind, spread):
    torch.manual_seed(0)
    layer = training.draw_weights(training.MLP(200, (300,)), kind).layers[0]
    assert float(layer.weight.detach().std()) == pytest.approx(spread, rel=0.02)
    assert bool((layer.bias == 0).all()) == (kind != "torch")


def test_history_tells_each_epoch_and_can_stop(linear):
    seen = []

    def stop(epoch, loss):
        seen.append(loss)
        if epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(*linear, SMALL, QUICK, on_epoch=stop)
    full = [row["validation"] for row in fit(*linear, SMALL, QUICK).history]
    assert len(full) == 4 and full[:2] == seen


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(1, 600))
def test_batches_cover_all_rows_evenly(m, size):
    parts = training.batches(m, size)
    assert sorted(torch.cat(parts).tolist()) == list(range(m))
    assert len(parts) == training.batch_count(m, size) and max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_rate_rises_then_falls_to_zero():
    shares = [training.rate(step, 200, Recipe(warmup=0.1)) for step in range(201)]
    assert shares[:20] == sorted(shares[:20]) and shares[20] == 1 == max(shares)
    assert shares[20:] == sorted(shares[20:], reverse=True) and shares[200] == pytest.approx(0)
    assert shares[110] == pytest.approx(0.5)
    assert {training.rate(step, 200, Recipe(schedule="constant", warmup=0.0)) for step in range(200)} == {1.0}


def test_the_cosine_ends_with_the_training():
    hyper, recipe = Hyper((4,), dropout=0.0, learning_rate=0.2), Recipe(epochs=3, batch=10, optimiser="sgd", warmup=0.0)
    optimiser, scheduler = training.optimiser_for([torch.zeros(1, requires_grad=True)], hyper, recipe, 40)
    rates = []
    for _ in range(3 * 4 + 1):  # three epochs of four batches
        rates.append(scheduler.get_last_lr()[0])
        optimiser.step()
        scheduler.step()
    assert rates == pytest.approx(0.1 * (1 + np.cos(np.pi * np.arange(13) / 12)))


def test_holdout_rows_are_apart_and_a_range_is_a_unit_from_zero_to_one():
    train, held = training.holdout(101, 0.1)
    assert len(held) == 11 and sorted([*train.tolist(), *held.tolist()]) == list(range(101))
    assert training.Unit.of(torch.tensor([3.0, 7.0, 5.0]), "range") == (3.0, 4.0)


def test_save_and_load_give_the_same_model(tmp_path, linear):
    model = fit(*linear, SMALL, QUICK)
    path = networks.save(model, tmp_path / "sub" / "model.safetensors")
    again = networks.load(path)
    x = torch.from_numpy(linear[0])
    assert torch.equal(again(x), model.to(x.device)(x)) and not again.training
    assert again.config == model.config and again.history == model.history
    assert json.loads(json.dumps(model.config)) == model.config


def test_load_says_what_a_file_is_not(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"insdel\.own\.mlp\.save"):
        networks.load(tmp_path / "none")
    (tmp_path / "text").write_text("no weights here")
    with pytest.raises(ValueError, match="not a model of insdel"):
        networks.load(tmp_path / "text")
    save_file({"a": torch.ones(1)}, tmp_path / "other")
    with pytest.raises(ValueError, match="found none"):
        networks.load(tmp_path / "other")


def test_fingerprint_changes_with_all_that_decides_the_weights(linear):
    x, y = linear
    cases = [(x, y, SMALL, QUICK, 0), (x, y + 1, SMALL, QUICK, 0), (x, y, replace(SMALL, dropout=0.2), QUICK, 0),
             (x, y, SMALL, replace(QUICK, epochs=5), 0), (x, y, SMALL, QUICK, 1)]
    names = [networks.fingerprint(networks.training_config(*case, "cpu")) for case in cases]
    assert len(set(names)) == len(cases)
    assert names[0] == networks.fingerprint(fit(x, y, SMALL, QUICK, device="cpu").config)


def test_names_and_changes_choose_hyperparameters_and_recipe():
    assert networks.choose("cern") == (PAPER["cern"], RECIPES["cern"])
    assert networks.choose("cern", epochs=3)[1] == replace(RECIPES["cern"], epochs=3)
    assert networks.choose(SMALL, QUICK, batch=7) == (SMALL, replace(QUICK, batch=7))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": np.ones(5)}, ValueError, "shape"),
        ({"y": np.ones((5, 1))}, ValueError, "shape"),
        ({"x": np.ones((2, 1)), "y": np.ones(2)}, ValueError, "m ≥ 3"),
        ({"x": np.full((5, 1), np.nan)}, ValueError, "finite"),
        ({"hyper": "boston"}, ValueError, "bangalore, cern"),
        ({"epoch": 3}, TypeError, "found epoch"),
        ({"epochs": 0}, ValueError, "at least 1"),
        ({"validation": 0.0}, ValueError, "share"),
        ({"optimiser": "lion"}, ValueError, "adam, adamw, rmsprop, sgd"),
        ({"first_weights": "ones"}, ValueError, "torch, glorot, he"),
        ({"clip": 0.0}, ValueError, "clip"),
        ({"epochs": 1.5}, UserError, "epochs must be a whole number"),
        ({"device": "nosuch"}, UserError, "device must be auto, cpu, cuda"),
        ({"hyper": replace(SMALL, learning_rate=1e30)}, ValueError, "diverged"),
    ],
)
def test_bad_input_is_explained(change, error, message):
    with pytest.raises(error, match=message):
        fit(**{"x": np.ones((5, 1)), "y": np.arange(5.0), "hyper": SMALL, "epochs": 4, "clip": 1e9, **change})


@pytest.mark.parametrize("bad", [{"neurons": ()}, {"neurons": (3, 0)}, {"dropout": 1.0}, {"learning_rate": 0.0}])
def test_bad_hyperparameters_are_explained(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))}.*needs?.*found|learning_rate and huber need"):
        replace(SMALL, **bad)


def test_r2_is_scikit_learn_s():
    rng = np.random.default_rng(1)
    truth, prediction = rng.normal(size=(2, 50))
    assert networks.r2(truth, torch.from_numpy(prediction)) == pytest.approx(r2_score(truth, prediction), rel=1e-12)
    with pytest.raises(ValueError, match="varies"):
        networks.r2(np.ones(3), np.ones(3))


def test_search_resumes_where_it_stopped(tmp_path, linear):
    """Five trials in one go, or two and later three more: the same study."""
    options = {"epochs": 3, "batch": 200, "seed": 1}
    search.search(*linear, trials=2, storage=tmp_path / "a", **options)
    resumed = search.search(*linear, trials=5, storage=tmp_path / "a", **options)
    straight = search.search(*linear, trials=5, storage=None, **options)
    table, expected = search.history(resumed), search.history(straight)
    assert table.equals(expected) and len(table) == 5
    assert table["layers"].between(2, 6).all() and table["learning_rate"].between(1e-4, 3e-2).all()
    assert table["best"].is_monotonic_decreasing and table["best"].iloc[-1] == resumed.best_value
    chosen = search.best(resumed)
    assert len(chosen.neurons) == resumed.best_params["layers"] and chosen.dropout == resumed.best_params["dropout"]
    with pytest.raises(ValueError, match="other seed"):
        search.search(*linear, trials=6, storage=tmp_path / "a", **{**options, "seed": 2})


def test_search_outlives_a_stop_within_a_trial(tmp_path, linear, monkeypatch):
    options = {"epochs": 3, "batch": 200, "trials": 2, "storage": tmp_path / "a"}
    with monkeypatch.context() as patch:
        patch.setattr(search, "fit", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            search.search(*linear, **options)
    table = search.history(search.search(*linear, **options))
    assert table["state"].tolist() == ["fail", "complete", "complete"]


def test_a_hopeless_trial_is_cut_short(linear, monkeypatch):
    """Where the fifth draw learns nothing, it does not run all its epochs."""
    draws = iter([SMALL] * 4 + [replace(SMALL, learning_rate=1e-9)])
    monkeypatch.setattr(search, "suggest", lambda trial: next(draws))
    table = search.history(search.search(*linear, trials=5, epochs=12, batch=64))
    assert table["state"].tolist() == ["complete"] * 4 + ["pruned"] and table["epochs"].tolist()[-1] < 12


def test_recipes_are_judged_on_rows_they_have_not_seen(linear):
    table = search.compare_recipes(*linear, {"four": QUICK, "eight": replace(QUICK, epochs=8)}, SMALL, seeds=[0, 1])
    assert table.groupby("recipe").size().to_dict() == {"four": 2, "eight": 2}
    assert (table["loss"] > 0).all() and (table["r2"] < 1).all()
    x, y = (torch.from_numpy(v) for v in linear)
    order = torch.randperm(400, generator=torch.Generator().manual_seed(1))
    model = fit(x[order[80:]], y[order[80:]], SMALL, QUICK, seed=1)
    expected = networks.r2(y[order[:80]], predict(model, x[order[:80]]))
    assert table.query("recipe == 'four' and seed == 1")["r2"].item() == pytest.approx(expected, rel=1e-12)


def test_variants_differ_from_the_chosen_recipe():
    for name in PAPER:
        variants = search.recipe_variants(name)
        assert variants.pop("chosen") == RECIPES[name]
        assert RECIPES[name] not in variants.values() and len(set(variants.values())) == len(variants)


def test_accuracy_is_drawn_row_by_row():
    truth, prediction = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.5, 3.5])
    axes = figures.predicted_vs_true(truth, prediction, "GeV").axes[0]
    assert axes.get_title() == f"R² = {r2_score(truth, prediction):.3f}, 3 rows"
    assert axes.lines[1].get_xydata().tolist() == [[1, 1], [2, 2.5], [4, 3.5]]


@pytest.mark.real_data
@pytest.mark.skipif("INSDEL_DATA" not in os.environ, reason="INSDEL_DATA is unset: no real Bangalore rows")
def test_bangalore_is_predicted_well_on_held_out_rows():
    split = data.split(data.load("bangalore", source="real"), seed=0)
    model = fit(split.x_train, split.y_train, "bangalore")
    assert len(split.y_test) == 391 and networks.r2(split.y_test, predict(model, split.x_test)) > 0.85
