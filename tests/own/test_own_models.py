"""A reader's own model, of every kind: f on standardised points is the model on the table's columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import insdel
from insdel.errors import UserError
from insdel.evaluate import predict
from insdel.own import models
from insdel.own import table as own
from insdel_paper import networks


def flats(rows: int = 80) -> pd.DataFrame:
    """Simulated flats; the price is linear in area and rooms, and 20 more in the centre."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"area": rng.uniform(3, 12, rows), "rooms": rng.integers(1, 5, rows),
                          "district": rng.choice(["south", "north", "centre"], rows)})  # fmt: skip
    return table.assign(price=3 * table["area"] + 10 * table["rooms"] + 20 * (table["district"] == "centre"))


def number_case() -> tuple[own.Table, own.Split]:
    table = own.build(flats().drop(columns="price"), flats()["price"], "simulated flats")
    return table, own.split(table)


def class_case() -> tuple[own.Table, own.Split]:
    names = pd.cut(flats()["price"], 3, labels=["cheap", "dear", "mid"]).astype(str).rename("price")
    table = own.build(flats().drop(columns="price"), names, "simulated flats", positive="dear")
    return table, own.split(table)


@pytest.fixture
def numbers() -> tuple[own.Table, own.Split]:
    return number_case()


@pytest.fixture
def classes() -> tuple[own.Table, own.Split]:
    return class_case()


def raw(case: tuple[own.Table, own.Split]) -> np.ndarray:
    """Columns of the rows set aside."""
    return case[0].features.to_numpy()[case[1].test]


def values(subject: models.Subject, case: tuple[own.Table, own.Split]) -> np.ndarray:
    return np.asarray(predict(subject.f, case[1].x_test))


def linear(columns: np.ndarray) -> np.ndarray:
    """A plain function; it would fail on noisy codes, as it uses them as indices."""
    extra = np.array([20.0, 0.0, 0.0])[columns[:, 2].astype(int)]
    assert (columns[:, 2] == columns[:, 2].astype(int)).all()
    return 3 * columns[:, 0] + 10 * columns[:, 1] + extra


def test_a_function_gets_the_tables_columns(numbers: tuple[own.Table, own.Split]) -> None:
    subject = models.make(linear, *numbers)
    np.testing.assert_allclose(values(subject, numbers), numbers[1].y_test)
    assert subject.score(*numbers)["R²"] == pytest.approx(1) and "function" in subject.about


def test_a_function_on_tensors_keeps_its_gradient(numbers: tuple[own.Table, own.Split]) -> None:
    subject = models.make(lambda z: torch.stack([z[:, 0] ** 2, z[:, 1]], 1).sum(1), *numbers)
    x = numbers[1].x_test
    slope = -insdel.explain("vanilla_grad", subject.f, x, x[:1])
    width = numbers[1].scale.width
    expected = np.stack([2 * raw(numbers)[:, 0] * width[0], np.full(len(x), width[1]), np.zeros(len(x))], 1)
    np.testing.assert_allclose(slope, expected)


def test_a_fitted_estimator_is_asked_for_its_prediction(numbers: tuple[own.Table, own.Split]) -> None:
    table, _ = numbers
    on_array = LinearRegression().fit(table.features.to_numpy(), table.target)
    on_frame = LinearRegression().fit(table.features[["rooms", "district", "area"]], table.target)  # another order
    for model in (on_array, on_frame):
        subject = models.make(model, *numbers)
        np.testing.assert_allclose(values(subject, numbers), on_array.predict(raw(numbers)))
        assert subject.about == "LinearRegression, loaded"


def test_an_estimator_that_is_not_fitted_is_fitted_to_the_training_rows(numbers: tuple[own.Table, own.Split]) -> None:
    table, split = numbers
    template = DummyRegressor()
    subject = models.make(template, table, split)
    np.testing.assert_allclose(values(subject, numbers), table.target[split.train].mean())
    assert not hasattr(template, "constant_") and "fitted here" in subject.about
    again = models.make("sklearn.dummy:DummyRegressor", table, split)
    np.testing.assert_array_equal(values(again, numbers), values(subject, numbers))


def test_a_pipeline_gets_text_as_text(numbers: tuple[own.Table, own.Split]) -> None:
    encoder = make_column_transformer((OneHotEncoder(), ["district"]), remainder="passthrough")
    subject = models.make(make_pipeline(encoder, LinearRegression()), *numbers)
    np.testing.assert_allclose(values(subject, numbers), numbers[1].y_test)  # one-hot makes the price linear
    assert "text as text" in subject.notes[0]
    with pytest.raises(ValueError, match="district has a value between two texts"):
        predict(subject.f, numbers[1].x_test[0] + np.array([0, 0, 0.5 / numbers[1].scale.width[2]]))


def test_probabilities_of_an_estimator(classes: tuple[own.Table, own.Split]) -> None:
    table, split = classes
    forest = RandomForestClassifier(5, random_state=0).fit(table.features.to_numpy(), table.target)
    column = list(forest.classes_).index("dear")
    found = values(models.make(forest, table, split), classes)
    np.testing.assert_allclose(found, forest.predict_proba(raw(classes))[:, column])
    with pytest.raises(TypeError, match="needs predict_proba, which LinearSVC lacks"):
        models.make(LinearSVC(), table, split)
    other = RandomForestClassifier(2).fit(raw(classes), np.arange(len(raw(classes))) % 2)
    with pytest.raises(ValueError, match="knows the classes 0, 1, not 'dear'"):
        models.make(other, table, split)


def module(outputs: int, *last: torch.nn.Module) -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, outputs), *last)


def test_a_torch_module_and_its_gradient(numbers: tuple[own.Table, own.Split]) -> None:
    inner = module(1)
    subject = models.make(inner, *numbers)
    columns = torch.tensor(raw(numbers), dtype=torch.float32, requires_grad=True)
    output = inner(columns)[:, 0]
    np.testing.assert_allclose(values(subject, numbers), output.detach(), rtol=1e-5, atol=1e-6)
    (slope,) = torch.autograd.grad(output.sum(), columns)
    found = -insdel.explain("vanilla_grad", subject.f, numbers[1].x_test, numbers[1].x_test[:1])
    np.testing.assert_allclose(found, slope.numpy() * numbers[1].scale.width, rtol=1e-3, atol=1e-6)
    x, reference = numbers[1].x_test[:4], numbers[1].x_test[4:8]
    parts = insdel.explain("deeplift", subject.f, x, reference)
    gap = np.asarray(predict(subject.f, reference)) - np.asarray(predict(subject.f, x))
    np.testing.assert_allclose(parts.sum(axis=1), gap, atol=1e-5)


def test_a_modules_scores_become_probabilities(classes: tuple[own.Table, own.Split]) -> None:
    scores, ready = models.make(module(3), *classes), models.make(module(3, torch.nn.Softmax(1)), *classes)
    np.testing.assert_allclose(values(scores, classes), values(ready, classes), rtol=1e-6)
    assert "softmax is applied" in scores.notes[0] and not ready.notes
    columns = torch.tensor(raw(classes), dtype=torch.float32)
    expected = module(3)(columns).softmax(1)[:, classes[0].classes.index("dear")].detach()
    np.testing.assert_allclose(values(ready, classes), expected, rtol=1e-4)
    one = models.make(module(1), *classes)
    np.testing.assert_allclose(values(one, classes), module(1)(columns).sigmoid()[:, 0].detach(), rtol=1e-4)


def test_a_function_may_return_the_probability_of_every_class(classes: tuple[own.Table, own.Split]) -> None:
    def shares(columns: np.ndarray) -> np.ndarray:
        weights = np.abs(columns[:, :3]) + 1
        return weights / weights.sum(axis=1, keepdims=True)

    found = values(models.make(shares, *classes), classes)
    np.testing.assert_allclose(found, shares(raw(classes))[:, 1])  # cheap, dear, mid
    with pytest.raises(ValueError, match="probabilities in .0, 1.; price returned values between"):
        models.wrap(lambda c: c[:, 0], *classes, "price")


def test_wrong_outputs_and_inputs_are_explained(numbers, classes) -> None:
    with pytest.raises(ValueError, match="needs 1 output per row; found 2"):
        models.make(module(2), *numbers)
    with pytest.raises(ValueError, match="needs 1 output or 3 .cheap, dear, mid. per row; found 2"):
        models.make(module(2), *classes)
    with pytest.raises(ValueError, match="failed on a batch of the table's 3 columns, area, rooms, district"):
        models.make(torch.nn.Linear(4, 1), *numbers)
    with pytest.raises(ValueError, match="failed on a batch.*3 columns"):
        models.make(LinearRegression().fit(np.eye(5), np.arange(5)), *numbers)
    stranger = LinearRegression().fit(pd.DataFrame(np.eye(2), columns=["area", "garden"]), [0, 1])
    with pytest.raises(ValueError, match="columns that the table lacks: garden"):
        models.make(stranger, *numbers)
    with pytest.raises(TypeError, match="a function; int is a int"):
        models.make(3, *numbers)
    with pytest.raises(TypeError, match="Linear is a class"):
        models.make("torch.nn:Linear", *numbers)


def test_models_are_found_in_files_and_modules(tmp_path: Path, numbers: tuple[own.Table, own.Split]) -> None:
    (tmp_path / "beside.py").write_text("FACTOR = 7\n")
    (tmp_path / "mine.py").write_text("from beside import FACTOR\n\n\ndef price(c):\n    return FACTOR * c[:, 0]\n")
    subject = models.make(f"{tmp_path / 'mine.py'}:price", *numbers)
    np.testing.assert_allclose(values(subject, numbers), 7 * raw(numbers)[:, 0])
    assert subject.about == "mine.py:price, a function"
    with pytest.raises(ValueError, match="mine.py has no 'prize'; it has: FACTOR, price"):
        models.find(f"{tmp_path / 'mine.py'}:prize")
    with pytest.raises(FileNotFoundError, match="found none at .*nothing.py"):
        models.find(f"{tmp_path / 'nothing.py'}:price")
    with pytest.raises(ValueError, match="no module no_such_module.*file.py:name"):
        models.find("no_such_module:price")
    with pytest.raises(ValueError, match="Pickles run whatever is in them"):
        models.find("model.joblib")
    with pytest.raises(ValueError, match="network, forest, file.py:name"):
        models.find("tree")


def test_network_and_forest_learn(numbers, classes) -> None:
    assert models.make("network", *numbers, neurons=[16], epochs=40).score(*numbers)["R²"] > 0.8
    assert models.make("forest", *numbers).score(*numbers)["R²"] > 0.6
    for model in ("network", "forest", LogisticRegression(max_iter=5000)):
        score = models.make(model, *classes, neurons=[16], epochs=40).score(*classes)
        assert score["accuracy"] > score["always the commoner answer"]


def test_a_model_file_that_ends_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\n\nsys.exit(0)\n")
    with pytest.raises(UserError, match=r"mine\.py ends Python \(sys\.exit\(0\)\)"):
        models.find(f"{tmp_path / 'mine.py'}:model")


def test_a_network_that_announces_more_than_it_holds_takes_no_memory(tmp_path: Path) -> None:
    network = networks.MLP(3, (4,), 0.0)
    network.neurons = (100_000, 100_000)  # 40 GB of weights
    path = networks.save(network, tmp_path / "huge.safetensors")
    with pytest.raises(UserError, match="holds other weights"):
        networks.load(path)
    assert path.stat().st_size < 2000


def test_a_large_seed_is_no_problem_for_a_forest(numbers: tuple[own.Table, own.Split]) -> None:
    assert models.make("forest", *numbers, seed=2**32 + 7).about == "a random forest, fitted here"
