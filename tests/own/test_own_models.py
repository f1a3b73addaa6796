"""A reader's own model, of every kind: f on the rows of the CSV is the model on the rows it was fitted to."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from insdel.errors import UserError
from insdel.evaluate import predict
from insdel.frames import fitted_names
from insdel.own import mlp, models
from insdel.own.table import Table, read
from insdel_paper import networks

FEATURES = ["area", "rooms", "district", "branch"]
CATEGORIES = dict.fromkeys(("district", "branch"), "category")


def flats(rows: int = 80) -> pd.DataFrame:
    """Simulated flats: a branch is a category written as a number, and one area is missing."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"area": rng.uniform(3, 12, rows), "rooms": rng.integers(1, 5, rows),
                          "district": rng.choice(["south", "north", "centre"], rows),
                          "branch": rng.choice([300, 100, 200], rows)})  # fmt: skip
    table["price"] = 3 * table["area"] + 20 * (table["district"] == "centre") + 9 * (table["branch"] == 300)
    table["speed"] = pd.cut(table["price"], 3, labels=["fast", "mid", "slow"]).astype(str)
    return table


FLATS = flats()
X = FLATS[FEATURES]


def table(folder: Path, model: object, target: str = "price") -> Table:
    FLATS.to_csv(folder / "flats.csv", index=False)
    hints = {"fitted": fitted_names(model), "categorical": models.categorical_columns(model)}
    return read(folder / "flats.csv", target, drop=[] if hints["fitted"] else ["speed"], **hints)


def numbers(folder: Path) -> Table:
    FLATS[["area", "rooms", "price"]].to_csv(folder / "flats.csv", index=False)
    return read(folder / "flats.csv", "price")


def xgboost(folder: Path, classes: bool) -> tuple[Path, object, pd.DataFrame]:
    library, rows = pytest.importorskip("xgboost"), X.astype(CATEGORIES)
    model = (library.XGBClassifier if classes else library.XGBRegressor)(n_estimators=4, enable_categorical=True)
    model.fit(rows, pd.factorize(FLATS["speed"], sort=True)[0] if classes else FLATS["price"])
    path = folder / ("m.json" if classes else "m.ubj")
    model.save_model(path)
    return path, model, rows


def lightgbm(folder: Path, classes: bool) -> tuple[Path, object, pd.DataFrame]:
    library, rows = pytest.importorskip("lightgbm"), X.astype(CATEGORIES)
    kind = library.LGBMClassifier if classes else library.LGBMRegressor
    model = kind(n_estimators=9, min_child_samples=3, verbose=-1).fit(rows, FLATS["speed" if classes else "price"])
    model.booster_.save_model(folder / "m.txt")
    return folder / "m.txt", model, rows


def catboost(folder: Path, classes: bool) -> tuple[Path, object, pd.DataFrame]:
    library = pytest.importorskip("catboost")
    options = {"iterations": 9, "verbose": 0, "cat_features": list(CATEGORIES), "allow_writing_files": False}
    kind = library.CatBoostClassifier if classes else library.CatBoostRegressor
    model = kind(**options).fit(X, FLATS["speed" if classes else "price"])
    model.save_model(str(folder / "m.cbm"))
    return folder / "m.cbm", model, X


@pytest.mark.parametrize("library", [xgboost, lightgbm, catboost])
@pytest.mark.parametrize("classes", [False, True])
def test_a_native_file_predicts_what_the_model_did_and_categories_survive(tmp_path: Path, library, classes: bool) -> None:
    path, fitted, rows = library(tmp_path, classes)
    expected = fitted.predict_proba(rows)[:, 1] if classes else fitted.predict(rows)
    assert np.unique(expected.round(6)).size > 5
    model = models.load(str(path))
    subject = models.prepare(model, table(tmp_path, model, "speed" if classes else "price"), path.name,
                             "mid" if classes else None)  # fmt: skip
    np.testing.assert_allclose(predict(subject.f, subject.features), expected, rtol=1e-5)
    assert subject.output == ("probability of speed = mid" if classes else "predicted price")


def test_models_of_arrays_name_no_categories() -> None:
    rows, options = X[["area", "rooms"]].to_numpy(), {"categorical_features": [1], "max_iter": 2}
    fitted = [HistGradientBoostingRegressor(**options).fit(rows, FLATS["price"])]
    library = pytest.importorskip("lightgbm")
    fitted.append(library.LGBMRegressor(n_estimators=2, verbose=-1).fit(rows, FLATS["price"], categorical_feature=[1]))
    library = pytest.importorskip("xgboost")
    fitted.append(library.XGBRegressor(n_estimators=2, feature_types=["q", "c"], enable_categorical=True).fit(rows, FLATS["price"]))
    assert [models.categorical_columns(model) for model in fitted] == [[], [], []]


def test_files_that_hold_no_model_are_refused(tmp_path: Path) -> None:
    for name in ("m.json", "m.txt", "m.cbm"):
        (tmp_path / name).write_text("price\n1\n")
        with pytest.raises(UserError, match=rf"{name} cannot be read as a model"):
            models.load(str(tmp_path / name))
    with pytest.raises(FileNotFoundError, match="found none at"):
        models.load("nothing.cbm")
    for name in ("model.joblib", "model.pkl", "net.pt"):
        with pytest.raises(UserError, match="a pickle, which runs whatever is in it.*pass mine.py:model"):
            models.load(name)


def test_onnx_without_its_package_and_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.onnx").touch()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match="m.onnx needs a package that is not installed: pip install onnxruntime"):
        models.load(str(tmp_path / "m.onnx"))

    class Session:
        """One tensor in, labels and numbers out, as skl2onnx writes graphs."""

        def __init__(self, path: str) -> None: ...

        def get_inputs(self) -> list:
            return [types.SimpleNamespace(name="X", type="tensor(float)")]

        def run(self, names: None, given: dict) -> list:
            assert given["X"].dtype == np.float32
            return [np.zeros(len(given["X"]), int), given["X"].sum(axis=1, keepdims=True)]

    monkeypatch.setitem(sys.modules, "onnxruntime", types.SimpleNamespace(InferenceSession=Session))
    subject = models.prepare(models.load(str(tmp_path / "m.onnx")), numbers(tmp_path), "m.onnx")
    np.testing.assert_allclose(predict(subject.f, subject.features), FLATS["area"] + FLATS["rooms"], rtol=1e-6)


def test_a_pipeline_gets_text_as_text_and_a_histogram_forest_categories(tmp_path: Path) -> None:
    encoder = make_column_transformer((OneHotEncoder(), list(CATEGORIES)), remainder="passthrough")
    pipe = make_pipeline(encoder, LinearRegression()).fit(X, FLATS["price"])
    subject = models.prepare(pipe, table(tmp_path, pipe), "pipe")
    np.testing.assert_allclose(predict(subject.f, subject.features), FLATS["price"])  # one-hot makes it linear
    assert subject.quality(FLATS["price"].set_axis(subject.features.index)).startswith("R² = 1.00")
    rows = X.astype(CATEGORIES)
    forest = HistGradientBoostingClassifier(categorical_features="from_dtype", min_samples_leaf=3).fit(rows, FLATS["speed"])
    subject = models.prepare(forest, table(tmp_path, forest, "speed"), "forest", "slow")
    np.testing.assert_allclose(predict(subject.f, subject.features), forest.predict_proba(rows)[:, 2])


def test_functions_get_frames_arrays_or_tensors(tmp_path: Path) -> None:
    for f in (lambda z: 3 * z["area"] + z["rooms"], lambda z: 3 * z[:, 0] + z[:, 1], lambda z: z @ [3, 1],
              lambda z: torch.stack([3 * z[:, 0], z[:, 1]], 1).sum(1)):  # fmt: skip
        subject = models.prepare(f, numbers(tmp_path), "f")
        np.testing.assert_allclose(predict(subject.f, subject.features), 3 * FLATS["area"] + FLATS["rooms"], rtol=1e-5)
    text = models.prepare(lambda z: 1.0 * (z["district"] == "north"), table(tmp_path, None), "f")
    np.testing.assert_array_equal(predict(text.f, text.features), FLATS["district"] == "north")


def test_the_class_can_be_chosen(tmp_path: Path) -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(X[["area", "rooms"]], FLATS["speed"])
    rows = table(tmp_path, forest, "speed")
    f = models.prepare(forest, rows, "forest").f
    assert f.k is None  # of three classes, for each row the predicted one
    with pytest.raises(UserError, match="the classes fast, mid, slow; found 'dear'"):
        models.prepare(forest, rows, "forest", "dear")
    shares = models.prepare(lambda z: np.eye(3)[(z["rooms"] % 3).to_numpy()], rows, "shares", "mid")
    np.testing.assert_array_equal(predict(shares.f, shares.features), FLATS["rooms"] % 3 == 1)
    scores = models.prepare(lambda z: 5 * np.eye(3)[(z["rooms"] % 3).to_numpy()], rows, "scores", "mid")
    assert shares.output == "probability of speed = mid" and scores.output == "score of speed = mid"
    two = rows.target.replace("slow", "mid")
    one = Table(rows.features, two, "")
    half = models.prepare(lambda z: z["rooms"] / 4, one, "half", "fast")
    np.testing.assert_allclose(predict(half.f, half.features), 1 - FLATS["rooms"] / 4)
    with pytest.raises(UserError, match="2 outputs per row, but speed has 3 different values"):
        models.prepare(lambda z: np.zeros((len(z), 2)), rows, "pair")
    with pytest.raises(UserError, match="no class 'mid' to choose"):
        models.prepare(lambda z: z["rooms"], rows, "rooms", "mid")


def test_rows_with_gaps_go_where_the_model_takes_none(tmp_path: Path) -> None:
    rows = numbers(tmp_path)
    rows.features.loc[5, "area"] = np.nan
    strict = models.prepare(LinearRegression().fit(X[["area", "rooms"]], FLATS["price"]), rows, "line")
    assert 5 not in strict.features.index and len(strict.features) == 79
    assert strict.notes[0].startswith("1 of 80 rows are left out") and "area (1)" in strict.notes[0]
    lax = models.prepare(lambda z: z["area"].fillna(0), rows, "lax")
    assert len(lax.features) == 80 and "as the model takes them: area (1)" in lax.notes[0]
    rows.features.loc[2:, "area"] = np.nan
    with pytest.raises(UserError, match="at least two rows must be complete"):
        models.prepare(lambda z: z["area"], rows, "none")


def test_wrong_models_are_explained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="odd failed on rows with the columns area, rooms: "):
        models.prepare(torch.nn.Linear(4, 1), numbers(tmp_path), "odd")
    with pytest.raises(TypeError, match="three is a int"):
        models.prepare(3, numbers(tmp_path), "three")
    with pytest.raises(TypeError, match="Linear is a class"):
        models.prepare(torch.nn.Linear, numbers(tmp_path), "Linear")


def test_models_are_found_in_files_and_modules(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("FACTOR = 7\n")
    (tmp_path / "mine.py").write_text("from beside import FACTOR\n\n\ndef price(c):\n    return FACTOR * c\n")
    assert models.load(f"{tmp_path / 'mine.py'}:price")(2) == 14
    with pytest.raises(UserError, match="mine.py has no 'prize'; it has: FACTOR, price"):
        models.load(f"{tmp_path / 'mine.py'}:prize")
    with pytest.raises(FileNotFoundError, match="found none at .*nothing.py"):
        models.load(f"{tmp_path / 'nothing.py'}:price")
    with pytest.raises(UserError, match="no module no_such_module.*file.py:name"):
        models.load("no_such_module:price")
    with pytest.raises(UserError, match="a model is file.py:name"):
        models.load("tree")
    (tmp_path / "end.py").write_text("import sys\n\nsys.exit(0)\n")
    with pytest.raises(UserError, match=r"end\.py ends Python \(sys\.exit\(0\)\)"):
        models.load(f"{tmp_path / 'end.py'}:model")
    (tmp_path / "bad.py").write_text("1 / 0\n")
    with pytest.raises(UserError, match=r"bad\.py fails when it is run: ZeroDivisionError"):
        models.load(f"{tmp_path / 'bad.py'}:model")


def test_a_saved_network_standardises_what_it_gets(tmp_path: Path) -> None:
    rows = X[["area", "rooms"]]
    inputs = {"names": list(rows), "center": list(rows.mean()), "width": list(rows.std())}
    points = ((rows - rows.mean()) / rows.std()).to_numpy(np.float32)
    network = networks.fit(points, FLATS["price"].to_numpy(), networks.Hyper((8,), 0.0, 1e-2), epochs=3, progress=False)
    path = mlp.save(network, tmp_path / "net.safetensors", inputs)
    model = models.load(str(path))
    assert fitted_names(model) == ["area", "rooms"]
    subject = models.prepare(model, table(tmp_path, model), path.name)
    expected = network(torch.from_numpy(points))
    np.testing.assert_allclose(predict(subject.f, subject.features), expected, rtol=1e-4)
    plain = models.load(str(mlp.save(network, tmp_path / "plain.safetensors")))  # gets columns as they are
    torch.testing.assert_close(plain(torch.from_numpy(points)), expected)
    with pytest.raises(UserError, match="names, center and width of its 2 inputs"):
        mlp.save(network, tmp_path / "odd.safetensors", {"names": ["area"], "center": [0], "width": [1]})


def test_a_network_that_announces_more_than_it_holds_takes_no_memory(tmp_path: Path) -> None:
    network = networks.MLP(3, (4,), 0.0)
    network.neurons = (100_000, 100_000)  # 40 GB of weights
    path = networks.save(network, tmp_path / "huge.safetensors")
    with pytest.raises(UserError, match="holds other weights"):
        networks.load(path)
    assert path.stat().st_size < 2000
