"""The reader's own model, fitted here or loaded, as a function of standardised points that the tests can walk on.

What a model gets are the columns as they stand in the table (text as codes): a torch module gets tensors and keeps
its gradient, a scikit-learn estimator a data frame if it was fitted to one, any other function arrays or tensors.
A scikit-learn `Pipeline` gets text as text, for it may hold an encoder. The network fitted here, like those of the
paper, gets standardised points.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from insdel.errors import UserError, UserTypeError
from insdel.evaluate import Model, eval_mode, predict
from insdel.own import mlp
from insdel.own import network as own_network
from insdel.own.network import OnColumns
from insdel.own.table import Split, Table, label

FITTED = ("network", "forest")
PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".sav")
LOOKED_AT = 256  # rows on which a module's outputs are looked at


@dataclass(frozen=True)
class Subject:
    """A model under test.

    f : maps standardised points (m, n) to (m,) numbers or probabilities
    about : in one line, what it is
    notes : what was assumed about it, a sentence each
    network : the network behind f if it was fitted here, for `own_network.save`
    """

    f: Model
    about: str
    notes: tuple[str, ...] = ()
    network: mlp.MLP | None = field(default=None, repr=False)

    def score(self, table: Table, split: Split) -> dict[str, float]:
        """How well f predicts the rows set aside: R², or the share of right classes beside that of the commoner one."""
        result = np.asarray(predict(self.f, split.x_test))
        if not table.classes:
            return {"R²": mlp.r2(split.y_test, result)}
        right, share = float(((result > 0.5) == split.y_test).mean()), float(split.y_test.mean())
        return {"accuracy": right, "always the commoner answer": max(share, 1 - share)}


def make(
    model: str | Any,
    table: Table,
    split: Split,
    *,
    neurons: Sequence[int] = (64, 64),
    epochs: int = 60,
    seed: int = 0,
    device: str = "auto",
) -> Subject:
    """Fit or load a model.

    Parameters
    ----------
    model : "network" or "forest" to fit one here; "file.py:name" or "module:name" of a torch module, a scikit-learn
        estimator (one that is not fitted yet is fitted here) or a function; the path of a network that
        `own_network.save` or `mlp.save` wrote; or such an object itself
    neurons, epochs, device : of the network
    """
    if not isinstance(model, str):
        return wrap(model, table, split, type(model).__name__)
    if model == "network":
        network = own_network.fit(table, split, neurons, epochs, seed, device)
        sizes = " and ".join(map(str, neurons))
        about = f"a network with {sizes} neurons, fitted here to {len(split.x_train):,} rows"
        return Subject(own_network.function(network, table), about, network=network)
    if model == "forest":
        return wrap(_forest(table, seed), table, split, "a random forest")
    if model.endswith(".safetensors"):
        return _saved(Path(model), table, split, device)
    return wrap(find(model), table, split, Path(model).name)


def _forest(table: Table, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if table.classes else RandomForestRegressor
    return kind(n_estimators=100, min_samples_leaf=2, random_state=seed % 2**32)  # scikit-learn's largest seed


def _saved(path: Path, table: Table, split: Split, device: str) -> Subject:
    """A network from a file; one that has no note of its units gets the columns as they stand in the table."""
    network = mlp.load(path, device)
    if "inputs" in network.config:
        return Subject(own_network.fitted_to(network, table, split, path.name), f"{path.name}, loaded", (), network)
    subject = _module(network, table, split, path.name)
    note = f"{path.name} does not say how its inputs were standardised: it gets the columns as they stand in the table."
    return replace(subject, notes=(note, *subject.notes))


def find(text: str) -> Any:
    """Return the object that "file.py:name" or "module:name" means."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        kinds = f"{', '.join(FITTED)}, file.py:name, module:name or a path that ends in .safetensors"
        hint = ""
        if text.endswith(PICKLES):
            hint = " Pickles run whatever is in them, so none is opened: load it in a file.py and name that."
        raise UserError(f"model needs {kinds}; found {text!r}.{hint}")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_name(place)
    if not hasattr(module, name):
        present = ", ".join(key for key in vars(module) if not key.startswith("_")) or "nothing"
        raise UserError(f"{Path(place).name} has no {name!r}; it has: {present}.")
    return getattr(module, name)


def _from_file(path: Path) -> Any:
    """Run a Python file; what lies beside it can be imported by it."""
    if not path.is_file():
        raise FileNotFoundError(f"model needs an existing Python file; found none at {path}. Check its folder.")
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise UserError(f"{path} cannot be imported as a Python file.")
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        specification.loader.exec_module(module)
    except SystemExit as error:
        raise UserError(f"{path.name} ends Python (sys.exit({error.code})) when it is imported. Remove that.") from None
    finally:
        sys.path.pop(0)
    return module


def _from_name(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(f"there is no module {name} ({error}). For a file of your own write file.py:name.") from error


def wrap(found: Any, table: Table, split: Split, name: str) -> Subject:
    """Make a subject of a torch module, an estimator, a class of estimators or a function."""
    if isinstance(found, type):
        if not hasattr(found, "fit"):
            raise UserTypeError(f"{name} is a class; a model is needed. Name an instance of it.")
        found = found()
    if isinstance(found, nn.Module):
        return _module(found, table, split, name)
    if hasattr(found, "predict"):
        return _estimator(found, table, split, name)
    if callable(found):
        return _function(found, table, split, name)
    raise UserTypeError(f"a model is a torch module, an estimator or a function; {name} is a {type(found).__name__}.")


def _module(inner: nn.Module, table: Table, split: Split, name: str) -> Subject:
    """A torch module, its outputs made probabilities where they are not."""
    scale = split.scale
    plain = OnColumns(inner, scale.center, scale.width)
    points = torch.as_tensor(split.x_test[:LOOKED_AT], dtype=plain.shift.dtype, device=plain.shift.device)
    with torch.no_grad(), eval_mode(plain):
        output = _tried(inner, plain.shift + plain.stretch * points, table, name)
    count = 1 if output.ndim == 1 else output.shape[-1]
    column = _output(table, count, name)
    link: nn.Module = nn.Identity()
    notes = []
    if table.classes and not _are_probabilities(output.double().cpu().numpy()):
        link = nn.Softmax(dim=1) if count > 1 else nn.Sigmoid()
        notes = [f"{name} returns scores, not probabilities: {type(link).__name__.lower()} is applied to them."]
    f = OnColumns(inner, scale.center, scale.width, link, column)
    return Subject(f, f"{name}, a torch module", tuple(notes))


def _tried(model: Callable[[Any], Any], columns: Any, table: Table, name: str) -> Any:
    """Call a model on the table's columns; if it fails, say what it was given."""
    try:
        return model(columns)
    except Exception as error:
        given = f"{len(table.names)} columns, {', '.join(table.names)}"
        raise UserError(f"{name} failed on a batch of the table's {given} (in this order): {error}") from error


def _output(table: Table, count: int, name: str) -> int:
    """Which of a model's outputs counts."""
    allowed = {1, len(table.classes)} if table.classes else {1}
    if count not in allowed:
        needed = f"1 output or {len(table.classes)} ({', '.join(table.classes)})" if table.classes else "1 output"
        raise UserError(f"{name} needs {needed} per row; found {count}. Select one in a function of your own.")
    return table.classes.index(table.positive) if count > 1 else 0


def _are_probabilities(output: np.ndarray) -> bool:
    """Whether (m,) or (m, k) outputs lie in [0, 1] and, if there are several, add up to 1."""
    inside = bool(((output >= 0) & (output <= 1)).all())
    several = output.ndim == 2 and output.shape[1] > 1
    return inside and (not several or bool(np.allclose(output.sum(axis=1), 1, atol=1e-4)))


def _function(model: Callable[[Any], Any], table: Table, split: Split, name: str) -> Subject:
    """A function of columns; on tensors it keeps its gradient if it has one."""
    def f(points: Any) -> Any:
        output = model(split.scale.columns(points))
        if getattr(output, "ndim", 1) < 2:
            return output
        return output[:, _output(table, output.shape[1], name)]

    values = np.asarray(_tried(lambda points: predict(f, points), split.x_test, table, name))
    if table.classes and not _are_probabilities(values):
        result = f"{name} returned values between {values.min():.4g} and {values.max():.4g}"
        raise UserError(f"a classification needs probabilities in [0, 1]; {result}. Return probabilities.")
    return Subject(f, f"{name}, a function")


def _estimator(model: Any, table: Table, split: Split, name: str) -> Subject:
    """An estimator, fitted here to the training rows if it is not yet."""
    if table.classes and not hasattr(model, "predict_proba"):
        needed = "a classification needs predict_proba"
        raise UserTypeError(f"{needed}, which {name} lacks (an SVC needs probability=True).")
    text = _is_pipeline(model) and bool(table.codes)
    about = f"{name}, loaded"
    if not _is_fitted(model):
        rows = _frame(table, table.features.iloc[split.train].to_numpy(), text)
        model, about = copy.deepcopy(model).fit(rows, table.target[split.train]), f"{name}, fitted here"
    notes = (f"{name} is a Pipeline: it gets text as text, not as codes.",) if text else ()
    inputs = _names(model, table, name)
    ask = _probability(model, table, name) if table.classes else model.predict

    def f(points: np.ndarray) -> np.ndarray:
        columns = split.scale.columns(np.asarray(points))
        return ask(_frame(table, columns, text)[inputs] if inputs else columns)

    _tried(lambda points: predict(f, points), split.x_test[:1], table, name)
    return Subject(f, about, notes)


def _is_pipeline(model: Any) -> bool:
    """Whether a scikit-learn estimator is a Pipeline, or a search over one."""
    inner = getattr(model, "estimator", model)
    return hasattr(inner, "steps")


def _is_fitted(model: Any) -> bool:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, BaseEstimator):
        return True  # other libraries' objects come fitted
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _names(model: Any, table: Table, name: str) -> list[str]:
    """The columns that an estimator was fitted to, in its order; none if it was fitted to an array."""
    inputs = [str(column) for column in getattr(model, "feature_names_in_", [])]
    if set(inputs) - set(table.names):
        missing = ", ".join(sorted(set(inputs) - set(table.names)))
        raise UserError(f"{name} was fitted to columns that the table lacks: {missing}. Do not drop them.")
    return inputs


def _probability(model: Any, table: Table, name: str) -> Callable[[Any], np.ndarray]:
    """predict_proba of the explained class."""
    classes = [label(value) for value in model.classes_]
    if table.positive not in classes:
        raise UserError(f"{name} knows the classes {', '.join(classes)}, not {table.positive!r}. Set positive.")
    column = classes.index(table.positive)
    return lambda rows: model.predict_proba(rows)[:, column]


def _frame(table: Table, columns: np.ndarray, text: bool) -> pd.DataFrame:
    """Columns as a data frame, with the text that stood in the table instead of its codes if asked for."""
    frame = pd.DataFrame(columns, columns=table.names)
    for name, values in table.codes.items() if text else ():
        code = frame[name].to_numpy()
        if not (np.isin(code, range(len(values)))).all():
            reason = "a value between two texts, as the means of the policy average are"
            raise UserError(f"{name} has {reason}; this model needs texts. Choose another policy.")
        frame[name] = np.array(values, dtype=object)[code.astype(int)]
    return frame
