"""A model of one's own, from a file, as a function of data frames that the tests can walk on.

A model gets the columns as `pandas.read_csv` gives them; if it does not take text, as categories; if it takes no data
frame, as an array. What it was fitted to decides which columns are features, where it knows.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from insdel.arrays import loaded_torch
from insdel.errors import UserError, UserTypeError, listed
from insdel.evaluate import predict
from insdel.frames import fitted_names
from insdel.own.table import Table, is_text
from insdel.probability import proba

PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".sav")
LOOKED_AT = 256  # rows on which a model is tried


def load(text: str) -> Any:
    """Return the model that a text means.

    Parameters
    ----------
    text : "file.py:name", "module:name", or the path of a file: .safetensors as `insdel.own.mlp.save` writes it, .json
        or .ubj of XGBoost, .txt of LightGBM, .cbm of CatBoost, .onnx. Pickles are refused: they run whatever is in them
    """
    kinds: dict[str, Callable[[Path], Any]] = {
        ".safetensors": _network, ".json": _xgboost, ".ubj": _xgboost, ".cbm": _catboost, ".onnx": Onnx,
        ".txt": lambda path: importlib.import_module("lightgbm").Booster(model_file=path),
    }  # fmt: skip
    path = Path(text)
    if path.suffix.lower() in PICKLES:
        raise UserError(
            f"{path.name} looks like a pickle, which runs whatever is in it, so it is not opened. If you trust it, "
            f"load it in a file mine.py (model = joblib.load({path.name!r})) and pass mine.py:model."
        )
    if path.suffix.lower() in kinds:
        if not path.is_file():
            raise FileNotFoundError(f"a model needs an existing file; found none at {path}. Check its name and folder.")
        try:
            return kinds[path.suffix.lower()](path)
        except ImportError as error:
            raise UserError(f"{path.name} needs a package that is not installed: pip install {error.name}") from None
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{path.name} cannot be read as a model: {str(error).strip().splitlines()[0]}") from error
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise UserError(f"a model is file.py:name, module:name or a file ({', '.join(kinds)}); found {text!r}.")
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except ModuleNotFoundError as error:
        raise UserError(f"there is no module {place} ({error}). For a file of your own write file.py:name.") from error
    if not hasattr(module, name):
        present = ", ".join(key for key in vars(module) if not key.startswith("_")) or "nothing"
        raise UserError(f"{Path(place).name} has no {name!r}; it has: {present}.")
    return getattr(module, name)


def _from_file(path: Path) -> Any:
    """Run a Python file; what lies beside it can be imported by it."""
    if not path.is_file():
        raise FileNotFoundError(f"a model needs an existing Python file; found none at {path}. Check its folder.")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return SimpleNamespace(**runpy.run_path(str(path), run_name=path.stem))
    except SystemExit as error:
        raise UserError(f"{path.name} ends Python (sys.exit({error.code})) when it is imported. Remove that.") from None
    except Exception as error:
        raise UserError(f"{path.name} fails when it is run: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)


def _network(path: Path) -> Any:
    """A network of `insdel.own.mlp.save`, from the table's columns to its output."""
    import torch

    from insdel.own import mlp

    network = mlp.load(path, "cpu")
    inputs = network.config.get("inputs")
    if inputs is None:
        return network
    center, width = (torch.tensor(inputs[key], dtype=torch.float32) for key in ("center", "width"))
    standardise = torch.nn.Linear(len(center), len(center))
    standardise.load_state_dict({"weight": torch.diag(1 / width), "bias": -center / width})
    joined = torch.nn.Sequential(standardise, *network.layers).eval().requires_grad_(False)
    joined.feature_names = list(inputs["names"])  # type: ignore[assignment]
    return joined


def _xgboost(path: Path) -> Any:
    """An XGBoost model; classifiers get their probabilities."""
    import xgboost

    objective = json.loads(xgboost.Booster(model_file=path).save_config())["learner"]["objective"]["name"]
    model = xgboost.XGBClassifier() if objective.startswith(("binary:", "multi:")) else xgboost.XGBRegressor()
    model.load_model(path)
    return model


def _catboost(path: Path) -> Any:
    import catboost

    model = catboost.CatBoost().load_model(str(path))
    return catboost.CatBoostClassifier().load_model(str(path)) if len(model.classes_) else model


class Onnx:
    """An ONNX graph that takes one tensor of all columns, or a tensor for each column by name."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        self.session = onnxruntime.InferenceSession(str(path))
        self.inputs = self.session.get_inputs()
        several = len(self.inputs) > 1
        self.feature_names = [given.name for given in self.inputs] if several else None

    def __call__(self, rows: pd.DataFrame) -> np.ndarray:
        """Predict (m,) numbers, or (m, k) probabilities where the graph has them."""
        if self.feature_names is None:
            given = {self.inputs[0].name: rows.to_numpy(np.float32)}
        else:
            kinds = {"tensor(string)": object, "tensor(int64)": np.int64, "tensor(double)": np.float64}
            given = {part.name: rows[[part.name]].to_numpy(kinds.get(part.type, np.float32)) for part in self.inputs}
        outputs = [part for part in self.session.run(None, given) if isinstance(part, np.ndarray)]
        floats = [part for part in outputs if part.dtype.kind == "f"]
        if not floats:
            raise UserError("this ONNX graph has no output of numbers; for skl2onnx set the option zipmap to False.")
        return np.asarray(floats[-1]).reshape(len(rows), -1).squeeze(1 if floats[-1].size == len(rows) else ())


def categorical_columns(model: Any) -> list[str]:
    """Names of the columns that a tree ensemble takes as categories, where its file says so."""
    names = fitted_names(model) or []
    if hasattr(model, "get_booster"):  # XGBoost
        types = model.get_booster().feature_types or []
        return [name for name, kind in zip(names, types, strict=False) if kind == "c"]
    booster = getattr(model, "booster_", model)
    if hasattr(booster, "dump_model"):  # LightGBM: categories have the list of their codes where numbers have a range
        kinds = booster.model_to_string(num_iteration=1).partition("feature_infos=")[2].partition("\n")[0].split(" ")
        return [name for name, kind in zip(names, kinds, strict=False) if kind[:1] not in ("[", "n")]
    marked = getattr(model, "is_categorical_", None)  # scikit-learn's histogram gradient boosting
    return [] if marked is None else [name for name, is_one in zip(names, marked, strict=False) if is_one]


@dataclass(frozen=True)
class Subject:
    """A model under test, and the rows that it takes.

    f : data frame of m rows → (m,) numbers or probabilities
    features : (rows, n) as f takes them
    output : what f predicts, in words
    notes : what was noticed about it, a sentence each
    """

    f: Any
    features: pd.DataFrame
    output: str
    notes: tuple[str, ...] = ()

    def quality(self, target: pd.Series) -> str:
        """How well f predicts numbers, as R² on all rows; empty for classes."""
        truth = pd.to_numeric(target.loc[self.features.index], errors="coerce").astype(float)
        known = truth.notna()
        if self.output.startswith("probability") or known.mean() < 0.5 or truth.nunique() < 2:
            return ""
        errors = truth[known] - np.asarray(predict(self.f, self.features[known]))
        r2 = 1 - float((errors**2).sum() / ((truth[known] - truth[known].mean()) ** 2).sum())
        return f"R² = {r2:.2f} on the rows of the table, to which it may have been fitted"


def prepare(model: Any, table: Table, name: str, positive: str | None = None) -> Subject:
    """Try a model on the table, in the forms in which models take rows, and choose the output that is explained.

    Parameters
    ----------
    positive : the class whose probability is explained, or "predicted"; by default the second of two, and of more
        classes for each row the one that is predicted
    """
    if isinstance(model, type) or not (callable(model) or hasattr(model, "predict")):
        kind = "class" if isinstance(model, type) else type(model).__name__
        raise UserTypeError(f"{name} is a {kind}. A model is a torch module, a fitted estimator or a function.")
    raw = getattr(model, "predict_proba", None) or getattr(model, "predict", None) or model
    complete = table.features.notna().all(axis=1).to_numpy()
    looked_at = np.flatnonzero(complete if complete.any() else ~complete)[:LOOKED_AT]
    text = {column: "category" for column in table.features if is_text(table.features[column])}
    features, note = table.features, ""
    try:
        sample = call(raw, features.iloc[looked_at])
    except Exception as error:  # a user's model may raise anything
        try:
            features, note = features.astype(text), "Text was passed to the model as categories."
            sample = call(raw, features.iloc[looked_at])
        except Exception:
            raise UserError(f"{name} failed on rows with the columns {listed(list(features))}: {error}") from error
    f, output = _output(model, raw, sample, table, name, positive)
    kept, gaps = _without_gaps(raw, features, ~complete)
    return Subject(f, kept, output, tuple(part for part in (note, gaps) if part))


def call(f: Any, rows: pd.DataFrame) -> np.ndarray:
    """What f gives for a data frame or, if it takes none, for an array or a float32 tensor."""
    torch, errors = loaded_torch(), []
    forms: list[Callable[[], Any]] = [lambda: rows, lambda: rows.to_numpy(float)]
    if torch is not None:
        forms.append(lambda: torch.tensor(rows.to_numpy(float), dtype=torch.float32))
    for form in forms[2:] if torch is not None and isinstance(f, torch.nn.Module) else forms:
        try:
            result = f(form())
            return np.asarray(result.detach() if hasattr(result, "detach") else result)
        except Exception as error:  # a user's model may raise anything
            errors.append(error)
    raise errors[0]


def _without_gaps(raw: Any, features: pd.DataFrame, gaps: np.ndarray) -> tuple[pd.DataFrame, str]:
    """All rows if the model takes missing values, else those without, and a sentence about the others."""
    if not gaps.any():
        return features, ""
    missing = features.isna().sum()
    where = ", ".join(f"{name} ({count})" for name, count in missing[missing > 0].items())
    with suppress(Exception):  # a user's model may raise anything
        if np.isfinite(call(raw, features[gaps].iloc[:LOOKED_AT])).all():
            return features, f"Missing values are values, as the model takes them: {where}."
    left = f"{gaps.sum()} of {len(gaps)} rows are left out, as the model does not take missing values: {where}."
    if (~gaps).sum() < 2:
        raise UserError(f"at least two rows must be complete. {left} Drop columns or fill gaps.")
    return features[~gaps], left


def _output(model: Any, raw: Any, sample: np.ndarray, table: Table, name: str, positive: str | None) -> tuple[Any, str]:
    """The function that is explained, and what it predicts in words.

    sample : what the model gives for some rows, (m,) or (m, classes)
    """
    target = str(table.target.name)
    labels = [str(label) for label in sorted(table.target.dropna().unique())]
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        names = [str(label) for label in model.classes_]
        known = len(names) != len(labels) or bool({*names} & {*labels})
        return _probability(model, names if known else labels, target, positive)
    if isinstance(first := next(iter(sample.flat), 0.0), str):
        raise UserError(f"{name} gives classes such as {str(first)!r}; probabilities are needed, as of predict_proba.")
    shares = bool(((sample >= 0) & (sample <= 1)).all())
    if sample.ndim == 2 and sample.shape[1] > 1:
        if sample.shape[1] != len(labels):
            found = f"{sample.shape[1]} outputs per row, but {target} has {len(labels)} different values"
            raise UserError(f"{name} gives {found}. Choose one in a function of your own.")
        chosen, words = _probability(Classes(raw, np.array(labels)), labels, target, positive)
        return chosen, words if shares else words.replace("probability", "score")
    f = raw if hasattr(raw, "__self__") or hasattr(raw, "parameters") else partial(call, raw)  # a plain function
    if len(labels) == 2 and shares:  # one probability, of the second class
        if positive in (None, labels[1]):
            return f, f"probability of {target} = {labels[1]}"
        return _probability(Classes(raw, np.array(labels)), labels, target, positive)
    if positive is not None:
        raise UserError(f"{name} gives one number per row, so there is no class {positive!r} to choose.")
    return f, f"predicted {target}"


@dataclass(frozen=True)
class Classes:
    """A function with one column per class, or with the probability of the second of two, as a classifier."""

    f: Any
    classes_: np.ndarray

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        """Probabilities, (m, classes)."""
        table = call(self.f, rows).reshape(len(rows), -1)
        return np.concatenate([1 - table, table], axis=1) if table.shape[1] == 1 else table


def _probability(model: Any, names: list[str], target: str, positive: str | None) -> tuple[Any, str]:
    """The probability of a class by its name."""
    positive = positive or (names[-1] if len(names) == 2 else "predicted")
    if positive == "predicted":
        return proba(model, "predicted"), f"probability of the predicted {target}"
    if positive not in names:
        raise UserError(f"the model knows the classes {', '.join(names)}; found {positive!r}. Choose one of them.")
    return proba(model, names.index(positive)), f"probability of {target} = {positive}"
