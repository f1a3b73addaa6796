"""The search for the authors' training, and the learning curve, at the size of a toy."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

import insdel
from insdel.evaluate import predict
from insdel_paper import data, printed
from insdel_paper.networks.training import Hyper
from insdel_paper.records.run import RunContext
from insdel_paper.studies import forensics, trees
from insdel_paper.studies.experiments import Rows

CHOICE = {**{name: options[0] for name, options in forensics.SPACE["cern"].items()}, "seen": 2_000}


@pytest.fixture(scope="module")
def events():
    """Simulated events in place of genuine ones, few."""
    dataset = data.load("cern", "simulated", n=400, seed=3)
    split = data.split(dataset, 0.5)
    return Rows(dataset, "simulated", split, split.x_test, split.y_test)


@pytest.fixture(autouse=True)
def small(monkeypatch, events):
    monkeypatch.setitem(forensics.PAPER, "cern", Hyper((12, 8), dropout=0.1, learning_rate=1e-3))
    monkeypatch.setattr(forensics, "FULL_ROWS", 320)
    monkeypatch.setattr(forensics, "load", lambda name, seed=0: events)
    monkeypatch.setattr(forensics, "Reading", partial(forensics.Reading, samples=40))


def test_what_steers_and_what_judges_is_every_printed_number_once():
    table = forensics.print_of_paper()
    assert len(table) == 3 * 2 * 7 + 6 and table["steers"].sum() == 12
    assert set(table.query("steers")["method"]) == {"kernel_shap", "random"}
    assert not table.query("mode == 'correlation'")["steers"].any()
    first = table.query("policy == 'average' and mode == 'deletion' and method == 'lime'")["value"].item()
    assert first == 1.420
    assert not set(forensics.STEERS) & set(forensics.JUDGES)
    assert {*forensics.STEERS, *forensics.JUDGES} == set(printed.SIX)


def test_the_print_itself_is_at_distance_zero_and_one_gev_off_is_one():
    table = forensics.print_of_paper()
    assert forensics.distances(table[["policy", "mode", "method", "value"]]) == {
        "steers": 0.0, "judges": 0.0, "correlations": 0.0
    }  # fmt: skip
    off = table.assign(value=table["value"] + np.where(table["steers"], 1.0, np.where(table["mode"] == "correlation", 0.5, -2)))
    found = forensics.distances(off[["policy", "mode", "method", "value"]])
    assert found == pytest.approx({"steers": 1.0, "judges": 2.0, "correlations": 0.5})


def test_a_choice_becomes_a_training(events):
    chosen = {**CHOICE, "seen": 600, "batch": 64, "optimiser": "sgd", "clip": math.inf}
    recipe = forensics.train(events, chosen).config["recipe"]
    assert [recipe[name] for name in ("epochs", "batch", "optimiser", "warmup")] == [3, 64, "sgd", 0.0]
    assert forensics.train(events, {**chosen, "seen": 10}).config["recipe"]["epochs"] == 1


def test_the_paper_s_number_is_made_up_with_simulated_events(events):
    model = forensics.train(events, {**CHOICE, "rows": "paper's number"})
    assert model.config["rows"] == 320
    assert forensics.train(events, CHOICE).config["rows"] == 200


def test_readings_are_what_compare_measures(events):
    model = forensics.train(events, CHOICE)
    reading = forensics.Reading(model, events, pairs=6, samples=40, raw=True)
    areas = reading.areas("one_to_one")
    pairs = insdel.policies.one_to_one(events.x_test, 0)
    table = insdel.compare(model, pairs.x[:6], pairs.reference[:6], ["vanilla_grad", "deeplift"]).table
    for method in ("vanilla_grad", "deeplift"):
        for mode in ("insertion", "deletion"):
            expected = table.query("method == @method and mode == @mode")["abc_per_feature"].to_numpy()
            assert areas[method, mode].to_numpy() == pytest.approx(expected, abs=1e-4)
    assert {"lime_raw", "vanilla_grad_raw"} <= set(areas.columns.get_level_values(0))


def test_raw_features_give_the_same_predictions_and_other_gradients(events):
    x = events.x_test
    model = forensics.train(events, CHOICE)
    raw = forensics.unscaled(model, events.split.mean, events.split.scale)
    before = torch.tensor(x * events.split.scale + events.split.mean).float()
    assert predict(raw, before).numpy() == pytest.approx(predict(model, x), abs=1e-3)
    slope, other = (insdel.explain("vanilla_grad", f, x, x + 1) for f, x in ((model, x), (raw, before)))
    assert other.numpy() * events.split.scale == pytest.approx(slope, abs=1e-4)


def test_distances_in_raw_units_choose_other_references(events):
    model = forensics.train(events, CHOICE)
    both = [forensics.Reading(model, events, distance=kind).pick("counterfactual") for kind in ("z-scored", "raw")]
    assert all((x != reference).all() for x, reference in both)
    assert np.array_equal(both[0][0], both[1][0]) and not np.array_equal(both[0][1], both[1][1])


def test_dropout_left_on_changes_every_prediction_and_none_on_average(events):
    model = forensics.train(events, CHOICE)
    noisy = forensics.Reading(model, events, pairs=6, dropout=True)
    one, two = predict(noisy.f, events.x_test), predict(noisy.f, events.x_test)
    assert (np.asarray(one) != np.asarray(two)).mean() > 0.9
    linear = forensics.Dropping(model)
    linear.layers = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(16, 1, bias=False)).requires_grad_(False)
    linear.ratio = 0.5
    x = torch.from_numpy(events.x_test[:1]).expand(200_000, -1)
    assert linear(x).mean().item() == pytest.approx(linear.layers[1](x[:1]).item(), abs=0.02)
    assert "deeplift" not in noisy.areas("one_to_one").columns.get_level_values(0)


def test_houses_are_read_under_one_policy_with_their_binary_features(monkeypatch):
    rng, names = np.random.default_rng(0), tuple("abcdefghijklmno")
    x = np.concatenate([rng.normal(size=(60, 1)), rng.integers(0, 2, (60, 14))], axis=1)
    dataset = data.Dataset("bangalore", pd.DataFrame(x, columns=names), pd.Series(x.sum(axis=1)), names, names[1:], (), "real", {})
    split = data.split(dataset, 0.5)
    rows = Rows(dataset, "real", split, split.x_test, split.y_test)
    monkeypatch.setitem(forensics.COUNTERFACTUAL, "bangalore", {"at_least": 3})
    monkeypatch.setitem(forensics.PAPER, "bangalore", Hyper((8,), dropout=0.1, learning_rate=1e-3))
    monkeypatch.setattr(forensics, "load", lambda name, seed=0: rows)
    choice = {**{name: options[0] for name, options in forensics.SPACE["bangalore"].items()}, "seen": 300}
    one = forensics.candidate("bangalore", choice, pairs=10)
    assert set(one["policy"]) == {"counterfactual"} and "correlations" not in forensics.distances(one, "bangalore")
    model = forensics.train(rows, choice)
    pair_x, reference = forensics.Reading(model, rows, 10).pick("counterfactual")
    by_hand = insdel.explain("input_x_gradient", model, pair_x, reference, binary=list(range(1, 15)))
    walk = insdel.curve(model, pair_x, reference, np.asarray(insdel.order(by_hand)))
    expected = np.asarray(insdel.abc(walk, per_feature=True)).mean()
    read = one.query("mode == 'insertion' and method == 'input_x_gradient'")["value"]
    assert read.to_numpy() == pytest.approx([expected], abs=1e-5)


def test_a_search_goes_on_where_it_stopped(events, tmp_path, monkeypatch):
    monkeypatch.setattr(forensics, "AT_RANDOM", 2)
    monkeypatch.setitem(forensics.SPACE["cern"], "seen", (400,))
    monkeypatch.setitem(forensics.SPACE["cern"], "batch", (32, 64))
    forensics.search(tmp_path / "a", "cern", 2, pairs=4)
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()}
    numbers = forensics.search(tmp_path / "a", "cern", 3, pairs=4)
    both = forensics.table(numbers, "cern")
    assert len(kept) == 3 and numbers["candidate"].unique().tolist() == [0, 1, 2] and len(both) == 3
    assert all((tmp_path / "a" / name).stat().st_mtime_ns == time for name, time in kept.items())
    assert not both[list(forensics.SPACE["cern"])].astype(str).duplicated().any()
    pd.testing.assert_frame_equal(numbers, forensics.search(tmp_path / "b", "cern", 3, pairs=4))
    assert both["steers"].is_monotonic_increasing

    asked = {"candidates": 3, "pairs": 4, "nearest": 1, "nearest_pairs": 4}
    made = forensics.find_training("cern", RunContext(tmp_path / "c"), **asked)
    again, changed = made.tables["again"], made.tables["variants"]
    pd.testing.assert_frame_equal(made.tables["candidates"], both)
    nearest = both["candidate"].iloc[0]
    assert again["candidate"].unique().tolist() == [nearest] and "lime_raw" in set(again["method"])
    assert changed["change"].nunique() == 7 and made.facts["trained_on"] == "real and simulated"
    same = changed.query("change == 'as it is'").drop(columns="change").reset_index(drop=True)
    first = numbers.query("candidate == @nearest")[same.columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, first)


def test_a_training_that_diverges_is_kept_as_such(events, tmp_path, monkeypatch):
    def diverge(*_, **__):
        raise ValueError("the training diverged")

    monkeypatch.setattr(forensics, "train", diverge)
    found = forensics.table(forensics.search(tmp_path, "cern", 1, None), "cern")
    assert math.isnan(found["r2"].item()) and "diverged" in found["failed"].item() and math.isnan(found["steers"].item())


def test_fingerprints_stand_beside_the_print():
    numbers = forensics.print_of_paper()[["policy", "mode", "method", "value"]].assign(candidate=7, r2=1.0)
    extra = numbers.iloc[:1].assign(method="lime_raw", value=3.0)
    found = forensics.beside_paper(pd.concat([numbers, extra]))
    printed_rows = found.drop("not printed")
    assert (printed_rows["paper"] == printed_rows[7]).all() and len(found.loc["steers"]) == 12
    assert found.loc["not printed"]["paper"].isna().all() and found.loc["not printed"][7].item() == 3.0


def test_the_learning_curve_is_kept_point_by_point(events, tmp_path, monkeypatch):
    size = {"sizes": [(100, 0), (0, 120)], "pairs": 4, "seen": 400}
    curve = forensics.vary_size(RunContext(tmp_path), **size).tables["points"]
    monkeypatch.setattr(forensics, "Reading", None)  # nothing is computed again
    pd.testing.assert_frame_equal(curve, forensics.vary_size(RunContext(tmp_path), **size).tables["points"])
    assert curve[["genuine", "simulated", "epochs"]].drop_duplicates().to_numpy().tolist() == [[100, 0, 4], [0, 120, 3]]
    assert curve.query("method == 'kernel_shap' and mode == 'insertion'")["value"].notna().all()


def test_no_choice_is_tried_twice(tmp_path, monkeypatch):
    few = {name: options[:1] for name, options in forensics.SPACE["cern"].items()} | {"batch": (32, 64)}
    monkeypatch.setitem(forensics.SPACE, "cern", few)
    monkeypatch.setattr(forensics, "AT_RANDOM", 1)
    monkeypatch.setattr(forensics, "ATTEMPTS", 60)
    row = {"policy": "average", "mode": "insertion", "method": "random", "value": 1.0, "r2": 1.0}
    monkeypatch.setattr(forensics, "candidate", lambda name, choice, seed, **_: pd.DataFrame([{**row, **choice}]))
    assert sorted(forensics.search(tmp_path, "cern", 2, None)["batch"]) == [32, 64]
    with pytest.raises(ValueError, match="exhausted"):
        forensics.search(tmp_path, "cern", 3, None)


def test_seeds_of_any_size_reach_scikit_learn_and_optuna():
    assert trees.unfitted(trees.CASES["scikit-learn forest"], 2**40 + 3).get_params()["random_state"] == 3
    assert forensics._propose(forensics.SPACE["cern"], [], 0, 2**40).keys() == forensics.SPACE["cern"].keys()
