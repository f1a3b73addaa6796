"""Experiments and their evidence: pairs of the right kind, tables beside the paper's, variance components."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import insdel
import insdel_paper as paper
from insdel import policies
from insdel_paper import data
from insdel_paper.data import simulate_cern
from insdel_paper.studies import experiments, outcome, tables, variation

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A quickly made experiment on simulated houses, its network in a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INSDEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield experiments.prepare("bangalore", source="simulated", n_pairs=5, epochs=1)


@pytest.fixture(scope="module")
def found(small):
    return outcome.live(small, ["deeplift"], options={"integrated_gradients": {"steps": 20}})


def test_pairs_obey_the_rule_and_references_are_held_out(small):
    assert len(small.pairs) == 5 and (small.pairs.differing >= 12).all()
    assert np.array_equal(small.pairs.reference, small.x_test[small.pairs.reference_index])
    assert "1,951 simulated rows" in small.source and small.trained_on == "simulated"


def test_a_network_is_fitted_once_and_found_again(small, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("trained again")

    monkeypatch.setattr(experiments.networks, "fit", refuse)
    again = experiments.prepare("bangalore", source="simulated", n_pairs=5, epochs=1)
    before, after = (experiments.predict(one.model, small.x_test) for one in (small, again))
    assert np.array_equal(before, after)
    with pytest.raises(RuntimeError, match="trained again"):
        experiments.prepare("bangalore", source="simulated", n_pairs=5, epochs=1, train_seed=1)


def test_an_unknown_policy_and_no_pairs_are_refused():
    with pytest.raises(ValueError, match="counterfactual, one_to_one, average"):
        experiments.prepare("cern", policy="nearest")
    with pytest.raises(ValueError, match="at least 1"):
        experiments.prepare("bangalore", source="simulated", n_pairs=0, epochs=1)


def test_genuine_events_are_explained_by_a_network_of_simulated_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    own = tmp_path / "events.csv"
    simulate_cern.simulate(60, 7).to_csv(own, index=False)
    one = experiments.prepare("cern", path=own, policy="average", rows=300, epochs=1, n_pairs=4)
    assert one.source == "60 real rows; network trained on simulated rows"
    assert one.split.x_train.shape == (240, 16) and one.x_test.shape == (60, 16)
    assert np.allclose(one.pairs.reference[0], one.split.x_train.mean(axis=0), atol=1e-6)


def test_a_sample_of_genuine_events_teaches_with_all_rows_that_are_not_inspected(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(experiments.INSPECTED, "cern", 30)
    monkeypatch.setattr(experiments, "ENOUGH", 200)
    monkeypatch.setattr(experiments, "SAMPLE_EPOCHS", 2)
    own = tmp_path / "events.csv"
    simulate_cern.simulate(300, 7).to_csv(own, index=False)
    one = experiments.prepare("cern", path=own, policy="average")
    assert one.source == "300 real rows" and one.trained_on == "real"
    assert len(one.split.x_train) == 270 and len(one.x_test) == len(one.pairs) == 30
    assert not set(one.split.train) & set(one.split.test) and one.model.config["recipe"]["epochs"] == 2
    monkeypatch.setattr(experiments, "FULL", 300)
    assert len(experiments.prepare("cern", path=own, policy="average", epochs=1).split.x_train) == 240


def test_evidence_adds_the_methods_that_figures_need(found, small):
    assert set(found.table["method"]) == {"deeplift", *outcome.NEEDED}
    gap = experiments.predict(small.model, small.pairs.reference) - experiments.predict(small.model, small.pairs.x)
    assert np.array_equal(found.rises, gap > 0)
    assert "5 pairs" in found.about and found.charges is None


def test_a_pair_too_large_for_a_lattice_is_sampled_and_said_so(small, monkeypatch):
    far = np.array(small.pairs.x)
    far[0, :21] += 1
    pairs = policies.PolicyPairs(small.pairs.x, far, small.pairs.index, None, (far != small.pairs.x).sum(axis=1), {})
    large = replace(small, pairs=pairs)
    monkeypatch.setattr(outcome, "SAMPLES", 64)
    found = outcome.live(large, ["best", "expected"], options={"integrated_gradients": {"steps": 20}})
    assert set(found.table["method"]) == set(outcome.NEEDED)
    assert "a pair differs in 21 features: Kernel SHAP from 64 samples" in found.about


def test_missing_evidence_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path))
    assert outcome.recorded("bangalore") is None and tables.record("bangalore") is None


def test_the_gallery_draws_the_pairs_with_the_largest_differences(found, small):
    columns = tables.wide(found.table, "abc")
    chosen = outcome.drawn_pairs(found.table)
    gap = (columns["kernel_shap"] - columns["integrated_gradients"]).abs()
    assert gap.loc[chosen["insertion"], "insertion"] == gap["insertion"].max()
    assert gap.loc[chosen["deletion"], "deletion"] == gap["deletion"].max()
    line = found.curves.query("what == 'insertion' and method == 'kernel_shap' and mode == 'insertion'")
    area = insdel.abc(line["value"].to_numpy())
    assert area == pytest.approx(columns.loc[chosen["insertion"], ("kernel_shap", "insertion")], abs=1e-4)
    random = found.curves.query("what == 'example' and method == 'random'")
    assert random["line"].nunique() == outcome.RANDOM_ORDERS
    ends = random.groupby("line")["value"].agg(["first", "last"])
    assert np.ptp(ends.to_numpy(), axis=0) == pytest.approx([0, 0], abs=1e-5)


def test_standing_beside_the_paper_counts_in_combined_standard_errors():
    areas = {"kernel_shap": (0.5, 0.9), "integrated_gradients": (0.4, 0.8)}
    rows = [
        (pair, method, mode, 0.0, value, value)
        for mode in ("insertion", "deletion")
        for method, values in areas.items()
        for pair, value in enumerate(values)
    ]
    table = pd.DataFrame(rows, columns=["pair", "method", "mode", "auc", "abc", "abc_per_feature"])
    shown = tables.beside_paper(table, paper.table("bangalore"))
    row = shown.loc[("insertion", "Kernel SHAP")]
    assert row["mean"] == pytest.approx(0.7) and row["se"] == pytest.approx(0.2) and row["paper"] == 0.628
    assert row["apart"] == pytest.approx((0.7 - 0.628) / np.hypot(0.2, 0.034))
    assert ("deletion", "Kernel SHAP − IG") in shown.index
    cells = ["0.7\u00a0±\u00a00.2", "0.6\u00a0±\u00a00.0", "+0.4"]
    fewer = table[table["method"] == "kernel_shap"]
    both = tables.several({"all": table, "one": fewer}, paper.table("bangalore"), 1)
    assert list(both) == ["all", "one", "paper", "apart: all", "apart: one"] and list(both.index) == list(shown.index)
    assert both.loc[("insertion", "Kernel SHAP")].tolist() == [cells[0], *cells, cells[2]]
    assert both.loc[("deletion", "Integrated Gradients"), ["one", "apart: one"]].tolist() == ["", ""]
    live = tables.several({"live": table, "recorded": fewer}, paper.table("bangalore"), 1)
    assert list(live) == ["live", "recorded", "paper", "apart"]
    assert live.loc[("insertion", "Integrated Gradients"), "apart"] == ""


@pytest.mark.parametrize("policy", experiments.POLICIES)
def test_the_printed_tables_of_every_policy_are_found(policy):
    printed = tables.printed("cern", policy)
    assert set(printed["policy"]) == {policy} and len(printed) in (14, 16)


def grid_means(grid, se=0.1):
    """A table of run means with one method and mode, from a (splits, trainings) grid."""
    rows = [("kept", s, t, "insertion", "kernel_shap", value, se) for (s, t), value in np.ndenumerate(grid)]
    return pd.DataFrame(rows, columns=[*variation.RUN, "mode", "method", "mean", "se"])


def test_variance_components_of_closed_forms():
    only_training = variation.components(grid_means(np.array([[1.0, 3.0], [1.0, 3.0]]))).iloc[0]
    assert only_training["training"] == pytest.approx(2**0.5) and only_training["split"] == 0
    only_split = variation.components(grid_means(np.array([[1.0, 1.0], [4.0, 4.0]]))).iloc[0]
    assert only_split["training"] == 0 and only_split["split"] == pytest.approx(4.5**0.5)
    assert only_split["within"] == pytest.approx(0.1) and only_split["ratio"] == pytest.approx(4.5**0.5 / 0.1)


def test_variance_components_are_unbiased():
    split, training = 2.0, 0.5
    squares = []
    for _ in range(400):
        grid = split * RNG.normal(size=(6, 1)) + training * RNG.normal(size=(6, 4))
        spread = variation.nested(grid)
        squares.append((spread["split"] ** 2, spread["training"] ** 2))
    mean, error = np.mean(squares, axis=0), np.std(squares, axis=0) / 20
    assert np.all(np.abs(mean - [split**2, training**2]) < 4 * error)


def test_components_need_repetitions():
    with pytest.raises(ValueError, match="2 splits"):
        variation.components(grid_means(np.array([[1.0, 2.0]])))


def test_run_means_are_those_of_the_pairs():
    rows = []
    for run in variation.runs(2, 2):
        for level, method in enumerate(["vanilla_grad", "random", "input_x_gradient", "lime", "deeplift",
                                        "integrated_gradients", "kernel_shap"]):  # fmt: skip
            for mode, shift in {"insertion": 0.1, "deletion": 0.0}.items():
                for pair in range(3):
                    value = 0.1 * level + shift + 0.001 * pair * (1 + level)
                    rows.append((*run.values(), pair, method, mode, value))
    table = pd.DataFrame(rows, columns=[*variation.RUN, "pair", "method", "mode", "abc_per_feature"])
    means = variation.run_means(table)
    top = means.query("method == 'kernel_shap' and mode == 'insertion'")
    assert len(top) == 6 and top["mean"].to_numpy() == pytest.approx(0.7 + 0.007)
    assert top["se"].to_numpy() == pytest.approx(0.007 / 3**0.5)
    difference = means.query("method == @variation.DIFFERENCE and mode == 'deletion'")
    assert difference["mean"].to_numpy() == pytest.approx(0.1 + 0.001)


def test_correlations_and_numbers_of_differing_features():
    table = pd.DataFrame({
        "pair": [0, 1, 2] * 2, "method": "kernel_shap", "mode": ["insertion"] * 3 + ["deletion"] * 3,
        "abc_per_feature": [1.0, 2.0, 3.0, 3.0, 2.0, 1.0],
    })  # fmt: skip
    pairs = pd.DataFrame({"pair": range(3), "row": [0, 1, 2], "reference_row": [5, 6, 7], "differing": [15, 16, 14]})
    row = tables.correlations(table, pairs)
    assert row == {"differing": 15.0, "kernel_shap": pytest.approx(-1), "kernel_shap se": pytest.approx(0, abs=1e-6)}


def one_to_one_table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Forty pairs walked both ways with the same scores, KS ahead of IG by 1 on average; and who is whose partner."""
    half = np.random.default_rng(0).normal(3, 1, (40, 4))
    scores = np.tile(half - [0, 1, 0, 1], (2, 1))
    keys = [(m, t) for t in ("insertion", "deletion") for m in ("kernel_shap", "integrated_gradients")]
    table = pd.concat([
        pd.DataFrame({"pair": range(80), "method": m, "mode": t, "abc_per_feature": scores[:, k]})
        for k, (m, t) in enumerate(keys)
    ])  # fmt: skip
    ends = np.arange(80).reshape(40, 2)
    rows = np.concatenate([ends, ends[:, ::-1]])
    return table, pd.DataFrame({"pair": range(80), "row": rows[:, 0], "reference_row": rows[:, 1]})


def test_tables_count_shared_points_where_they_are_known():
    table, pairs = one_to_one_table()
    sides = ("kernel_shap", "insertion"), ("integrated_gradients", "insertion")
    naive, known = tables.paired(table, *sides), tables.paired(table, *sides, pairs)
    assert known["difference"] == naive["difference"] and known["se"] == pytest.approx(np.sqrt(2) * naive["se"])
    both = tables.both_errors(table, paper.table("bangalore"), pairs)
    assert both["factor"].to_numpy() == pytest.approx(np.sqrt(2))
    assert both.loc[("insertion", "Kernel SHAP"), "paper"] == 0.628
    cells = tables.several({"a": table, "b": table}, paper.table("bangalore"), 6, {"b": pairs})
    assert cells.loc[("insertion", "Kernel SHAP"), "a"] != cells.loc[("insertion", "Kernel SHAP"), "b"]


def test_lime_is_named_with_its_samples():
    assert tables.title("lime") == "LIME (25 samples)" and tables.title("kernel_shap") == "Kernel SHAP"


def test_means_of_runs_count_shared_points_if_they_are_told():
    table, pairs = one_to_one_table()
    run = {"duplicates": "kept", "split": 0, "training": 1}
    naive = variation.run_means(table.assign(**run))
    known = variation.run_means(table.assign(**run), pairs.assign(**run))
    assert (known["se"] / naive["se"]).to_numpy() == pytest.approx(np.sqrt(2)) and len(known) == 6
    assert known["method"].tolist()[:3] == ["kernel_shap", "integrated_gradients", variation.DIFFERENCE]


def test_methods_get_what_they_cannot_do_without_and_nothing_else():
    """Who compares Kernel SHAP alone need not know that Input × Gradient has options."""
    rows = np.zeros((5, 3))

    def affordable(methods, options, differing=3):
        pairs, split = SimpleNamespace(differing=np.array([differing])), SimpleNamespace(x_train=rows)
        return outcome.affordable(SimpleNamespace(pairs=pairs, split=split, binary=[2]), methods, options)

    options = {"input_x_gradient": {"binary": [0]}, "kernel_shap": {"samples": 64}}
    names, kept, _ = affordable(("kernel_shap", "random"), options)
    assert names == ("kernel_shap", "random") and kept == {"kernel_shap": {"samples": 64}}
    assert affordable(("lime_tabular",), {})[1]["lime_tabular"]["background"] is rows
    assert affordable(("ig_jump",), {})[1] == {"ig_jump": {"binary": [2]}}
    names, kept, remark = affordable(("kernel_shap", "ig_jump", "banzhaf", "best"), {}, 30)
    assert names == ("kernel_shap",) and set(kept) == {"kernel_shap"} and remark.endswith("no ig_jump, banzhaf, best")
    own = {"lime_tabular": {"background": rows[:2]}}
    assert affordable(("lime_tabular",), own)[1] == own


def test_a_damaged_network_in_the_cache_is_fitted_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path))
    split = data.split(data.load("bangalore", "simulated", n=100))
    first = experiments.fitted("bangalore", split, 0, "cpu", epochs=1)
    (path,) = (tmp_path / "models").iterdir()
    path.write_bytes(path.read_bytes()[:100])
    again = experiments.fitted("bangalore", split, 0, "cpu", epochs=1)
    assert f"{path.name} in the cache is damaged" in capsys.readouterr().err
    assert all((a == b).all() for a, b in zip(first.parameters(), again.parameters(), strict=True))
