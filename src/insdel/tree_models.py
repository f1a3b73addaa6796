"""Read fitted tree ensembles of scikit-learn, XGBoost, LightGBM and CatBoost into flat arrays of nodes.

Every library compares in its own way: XGBoost, CatBoost and scikit-learn's trees round the features to float32, XGBoost
goes left below the threshold and the others at it, too; each has its own rules for NaN, zeros and categories.
The libraries are recognised by the module of the model's class and never imported before a model of theirs is here.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from insdel.errors import UserError, UserTypeError

ZERO = float(np.float32(1e-35))  # LightGBM takes numbers up to this for zero
SUPPORTED = (
    "a fitted decision tree, extra tree, forest, GradientBoosting or HistGradientBoosting model of scikit-learn, "
    "or a model of XGBoost, LightGBM or CatBoost"
)

Rules = dict[int, tuple[Sequence[int], bool, bool, bool]]
Node = dict[str, Any]  # of a tree as its library writes it


@dataclass
class Tree:
    """One tree: arrays over its nodes, or one value for all; `feature` is −1 at leaves, `left` and `right` are nodes.

    categories : node → (categories, whether these go left, whether NaN goes left, whether any other goes left)
    """

    feature: Any
    threshold: Any
    left: Any
    right: Any
    value: Any
    missing_left: Any = False
    strict: Any = False  # left below the threshold only, not at it
    nan_as_zero: Any = False
    zero_missing: Any = False
    categories: Rules = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A sum of trees and a base value, with the model's own way to predict it.

    names : the columns' names if the model has any
    encode : rows as the user has them (arrays or frames, columns in the model's order) → (m, n) float64 codes
    predict : rows of the same kind → (m,) raw predictions by the model itself
    predict_codes : the same from (m, n) codes
    """

    n: int
    names: tuple[str, ...] | None
    trees: list[Tree]
    base: float
    single: bool  # features and sums are float32
    predict: Callable[[Any], np.ndarray]
    predict_codes: Callable[[np.ndarray], np.ndarray]
    encode: Callable[[Any], np.ndarray]
    nan: bool = True  # whether NaN may be passed to the model
    tolerance: float = 1e-9
    small_is_zero: bool = False  # whether numbers up to ZERO are passed to the trees as 0
    default_names: bool = False  # whether the names are the library's own, as for a model fitted to an array

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of nodes of each tree, (trees,)."""
        return np.array([len(tree.feature) for tree in self.trees], dtype=np.int64)

    @cached_property
    def roots(self) -> np.ndarray:
        """First node of each tree, (trees,)."""
        return np.cumsum(self.sizes) - self.sizes

    def _joined(self, name: str, dtype: Any, shift: bool = False) -> np.ndarray:
        parts = [np.broadcast_to(np.asarray(getattr(tree, name), dtype=dtype), size) + (root if shift else 0)
                 for tree, size, root in zip(self.trees, self.sizes, self.roots, strict=True)]  # fmt: skip
        return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)

    @cached_property
    def feature(self) -> np.ndarray:
        """Feature that each node splits, (nodes,); −1 at leaves."""
        return self._joined("feature", np.int64)

    @cached_property
    def children(self) -> np.ndarray:
        """Right and left child of each node, (2, nodes), so that `children[goes_left]` is where to go."""
        return np.stack([self._joined("right", np.int64, True), self._joined("left", np.int64, True)])

    @cached_property
    def value(self) -> np.ndarray:
        """Values of the leaves, (nodes,)."""
        return np.where(self.feature < 0, self._joined("value", np.float64), 0.0)

    @cached_property
    def internal(self) -> np.ndarray:
        """Nodes that split, in order."""
        return np.flatnonzero(self.feature >= 0)

    @cached_property
    def threshold(self) -> np.ndarray:
        """Largest value that goes left, at each node that splits; strict comparisons are turned into others."""
        here, strict = (self._joined(name, t)[self.internal] for name, t in (("threshold", float), ("strict", bool)))
        with np.errstate(over="ignore"):
            below = np.nextafter(here.astype(np.float32 if self.single else np.float64), -np.inf)
        return np.where(strict, below.astype(np.float64), here)

    @cached_property
    def _rules(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        missing_left, nan_as_zero, zero_missing = (
            self._joined(name, bool)[self.internal] for name in ("missing_left", "nan_as_zero", "zero_missing")
        )
        return missing_left, nan_as_zero, zero_missing

    @cached_property
    def _category_table(self) -> tuple[np.ndarray, np.ndarray]:
        """Which splitting nodes are categorical, and for each: does code 0, 1, …, any other code, NaN go left?"""
        rows = [(root + node, *rule) for tree, root in zip(self.trees, self.roots, strict=True)
                for node, rule in tree.categories.items()]  # fmt: skip
        width = 1 + max((max(codes, default=0) for _, codes, *_ in rows), default=0)
        table = np.zeros((len(rows), width + 2), dtype=bool)
        for row, (_, codes, inside, nan, other) in zip(table, rows, strict=True):
            row[:] = other
            row[list(codes)], row[-1] = inside, nan
        return np.searchsorted(self.internal, [node for node, *_ in rows]).astype(np.int64), table

    def goes_left(self, codes: np.ndarray) -> np.ndarray:
        """Whether each row goes left at each node that splits, (m, n) → (m, splits)."""
        if self.single:
            with np.errstate(over="ignore"):
                codes = codes.astype(np.float32).astype(np.float64)
        if self.small_is_zero:
            codes = np.where(np.abs(codes) <= ZERO, 0.0, codes)
        values = codes[:, self.feature[self.internal]]
        missing_left, nan_as_zero, zero_missing = self._rules
        nan = np.isnan(values)
        if nan_as_zero.any():
            values[nan & nan_as_zero] = 0.0
            nan = (nan & ~nan_as_zero) | (zero_missing & (np.abs(values) <= ZERO))
        left = np.where(nan, missing_left, values <= self.threshold)
        nodes, table = self._category_table
        if len(nodes):
            left[:, nodes] = self._categories_left(codes[:, self.feature[self.internal[nodes]]], table)
        return left

    @staticmethod
    def _categories_left(values: np.ndarray, table: np.ndarray) -> np.ndarray:
        width = table.shape[1] - 2
        known = (values >= 0) & (values < width)
        code = np.where(known, values, width).astype(np.int64, casting="unsafe")
        code[np.isnan(values)] = width + 1
        return table[np.arange(len(table)), code]

    def sums(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The prediction of each row, and the sum of the sizes of what it adds up, (m, n) → (m,) and (m,)."""
        left = np.zeros((len(codes), len(self.feature)), dtype=np.int8)
        left[:, self.internal] = self.goes_left(codes)
        node = np.tile(self.roots, (len(codes), 1))
        row = np.arange(len(codes))[:, None]
        while (inner := self.feature[node] >= 0).any():
            node = np.where(inner, self.children[left[row, node], node], node)
        value = self.value[node]
        return self.base + value.sum(axis=1), abs(self.base) + np.abs(value).sum(axis=1)

    def check(self, own: np.ndarray, sizes: np.ndarray | float, model: np.ndarray) -> None:
        """Raise unless the sums over the trees are the model's own predictions, up to its rounding."""
        error = np.abs(own - model)
        allowed = self.tolerance * np.maximum(sizes, 1e-30)
        if not (error <= allowed).all():
            worst = int(np.nanargmax(np.where(np.isnan(error), np.inf, error) - allowed))
            raise UserError(
                f"the trees that were read add up to {own[worst]:.9g} where the model itself predicts "
                f"{model[worst]:.9g}, so this model cannot be used in closed form. Use insdel.Lattice, and report it."
            )

    def probe(self, rows: int = 64, seed: int = 0) -> None:
        """Check random rows made of thresholds, numbers next to them, categories, zeros and NaN against the model."""
        rng = np.random.default_rng(seed)
        codes = rng.normal(size=(rows, self.n))
        feature, nodes = self.feature[self.internal], self._category_table[0]
        for j in np.unique(feature):
            near = self.threshold[feature == j]
            near = np.r_[near, np.nextafter(near, np.inf), near + 1e-3 * np.abs(near), 0.0]
            if np.isin(nodes, np.flatnonzero(feature == j)).any():
                table = self._category_table[1][np.isin(nodes, np.flatnonzero(feature == j))]
                near = np.arange(1.0 + np.flatnonzero((table != table[:, -2:-1]).any(axis=0)[:-2]).max(initial=0))
            near = near[np.abs(near) < 1e30]
            codes[:, j] = rng.choice(np.r_[near, np.nan] if self.nan else near, rows)
        self.check(*self.sums(codes), self.predict_codes(codes))


def read(model: Any, output: int) -> Ensemble:
    """Read a fitted model; `output` is the class or target where it has several."""
    library, name = type(model).__module__.split(".")[0], type(model).__name__
    readers = {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost, "sklearn": _sklearn}
    if library not in readers:
        kind = next((base for base in type(model).__mro__ if base.__module__.split(".")[0] in readers), None)
        if kind is None:
            raise UserTypeError(f"Trees.of needs {SUPPORTED}, but found a {name}.")
        library = kind.__module__.split(".")[0]
    ensemble = readers[library](model, output)
    ensemble.probe()
    return ensemble


def _select(predictions: Any, output: int) -> np.ndarray:
    """Column `output` of raw predictions, (m,) or (m, outputs), as float64."""
    values = np.asarray(predictions, dtype=np.float64)
    return values if values.ndim == 1 else values[:, output]


def _check_output(output: int, outputs: int) -> int:
    if not 0 <= output < outputs:
        raise UserError(f"output must be from 0 to {outputs - 1} for this model, but it is {output}.")
    return output


def _codes_of(categories: Mapping[int, Sequence[Any]]) -> Callable[[Any], np.ndarray]:
    """What encodes rows: numbers as they are, the categories of frames by their place among the fitted ones."""

    def encode(rows: Any) -> np.ndarray:
        if not isinstance(rows, pd.DataFrame):
            return np.array(rows, dtype=np.float64, ndmin=2)
        columns = []
        for j in range(rows.shape[1]):
            column = rows.iloc[:, j]
            if j in categories and not pd.api.types.is_numeric_dtype(column.dtype):
                codes = pd.Index(categories[j]).get_indexer(pd.Index(column.astype(object))).astype(np.float64)
                columns.append(np.where(codes < 0, np.nan, codes))
            else:
                columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.stack(columns, axis=1)

    return encode


def _categorical(rows: Any, categories: Mapping[int, Sequence[Any]]) -> Any:
    """A frame whose columns of objects hold the fitted categories again, as in rows that were taken one by one."""
    if not isinstance(rows, pd.DataFrame):
        return rows
    rows = rows.copy()
    for j, known in categories.items():
        if not pd.api.types.is_numeric_dtype(rows.dtypes.iloc[j]):
            rows[rows.columns[j]] = pd.Categorical(rows.iloc[:, j], categories=list(known))
    return rows


def _framed(rows: Any, names: tuple[str, ...] | None) -> Any:
    """Rows as a frame where the model was fitted to one."""
    return rows if names is None or isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=list(names))


def _numbered(root: Node, split: tuple[str, str], row: Callable[[Node, int], list[Any]]) -> list[np.ndarray]:
    """Number nested nodes and return the columns of their rows; a stack, as deep trees exceed the recursion limit.

    split : the names under which a node holds its left and its right child
    row : node and its number → feature (−1 at leaves), threshold, 0, 0 (left and right: filled in here), value, …
    """
    rows: list[list[Any]] = []
    waiting: list[tuple[Node, int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        here = len(rows)
        if parent >= 0:
            rows[parent][side] = here
        rows.append(row(node, here))
        if rows[here][0] >= 0:
            waiting += [(node[split[0]], here, 2), (node[split[1]], here, 3)]
    return [np.array(column) for column in zip(*rows, strict=True)]


# scikit-learn ---------------------------------------------------------------------------------------------------------


def _sklearn(model: Any, output: int) -> Ensemble:
    name = next(kind.__name__ for kind in type(model).__mro__ if kind.__module__.split(".")[0] == "sklearn")
    if not hasattr(model, "n_features_in_"):
        raise UserError(f"this {name} is not fitted yet. Call its fit first.")
    if name.startswith("HistGradientBoosting"):
        return _sklearn_histogram(model, output)
    if name.startswith("GradientBoosting"):
        return _sklearn_boosting(model, output)
    kinds = ("DecisionTree", "ExtraTree", "RandomForest")
    if not (name.startswith(kinds) and name.endswith(("Regressor", "Classifier"))):
        raise UserTypeError(f"Trees.of needs {SUPPORTED}, but found a {name}.")
    trees = [estimator.tree_ for estimator in getattr(model, "estimators_", [model])]
    classifier = hasattr(model, "classes_")
    if classifier and trees[0].n_outputs > 1:
        raise UserError("classifiers with several targets are not supported. Fit one for each target.")
    _check_output(output, trees[0].value.shape[2 if classifier else 1])

    def values(tree: Any) -> np.ndarray:
        parts = tree.value[:, 0, :] if classifier else tree.value[:, :, 0]
        return parts[:, output] / (parts.sum(axis=1) if classifier else 1.0) / len(trees)

    predict = model.predict_proba if classifier else model.predict
    return _sklearn_ensemble(model, [_sklearn_tree(tree, values(tree)) for tree in trees], 0.0, predict, output)


def _sklearn_tree(tree: Any, value: np.ndarray) -> Tree:
    leaf = tree.children_left < 0
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=bool))
    feature = np.where(leaf, -1, tree.feature)
    return Tree(feature, tree.threshold, tree.children_left, tree.children_right, value, missing)


def _sklearn_ensemble(model: Any, trees: list[Tree], base: float, predict: Any, output: int) -> Ensemble:
    names = tuple(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None

    def call(rows: Any) -> np.ndarray:
        return _select(predict(_framed(rows, names)), output)

    return Ensemble(model.n_features_in_, names, trees, base, True, call, call, _codes_of({}), nan=False)


def _sklearn_boosting(model: Any, output: int) -> Ensemble:
    first = model.init_
    if not (isinstance(first, str) or type(first).__name__.startswith("Dummy")):
        raise UserError("a model in init= is itself a function of x and not supported. Fit with init=None or 'zero'.")
    _check_output(output, model.estimators_.shape[1])
    base = 0.0
    if not isinstance(first, str):
        base = float(model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0, output])
    trees = [_sklearn_tree(e.tree_, e.tree_.value[:, 0, 0] * model.learning_rate) for e in model.estimators_[:, output]]
    predict = model.decision_function if hasattr(model, "classes_") else model.predict
    return _sklearn_ensemble(model, trees, base, predict, output)


def _sklearn_histogram(model: Any, output: int) -> Ensemble:
    pre, n = model._preprocessor, model.n_features_in_
    _check_output(output, len(model._predictors[0]))
    flags = np.zeros(n, dtype=bool) if model.is_categorical_ is None else np.asarray(model.is_categorical_)
    place = np.arange(n) if pre is None else np.r_[np.flatnonzero(flags), np.flatnonzero(~flags)]
    known = model._bin_mapper.make_known_categories_bitsets()
    names = tuple(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None
    base = float(np.ravel(model._baseline_prediction)[output])
    predictors = [step[output] for step in model._predictors]

    def encode(rows: Any) -> np.ndarray:
        if pre is None:
            return _codes_of({})(rows)
        codes = np.empty((len(rows), n))
        codes[:, place] = pre.transform(_framed(rows, names))
        codes[:, flags] = np.where(codes[:, flags] < 0, np.nan, codes[:, flags])
        return codes

    def predict_codes(codes: np.ndarray) -> np.ndarray:
        inner = np.ascontiguousarray(codes[:, place])
        return base + sum(predictor.predict(inner, *known, 1) for predictor in predictors)

    def predict(rows: Any) -> np.ndarray:
        return _select(model._raw_predict(_framed(rows, names)), output)

    trees = [_histogram_tree(predictor, place) for predictor in predictors]
    return Ensemble(n, names, trees, base, False, predict, predict_codes, encode)


def _histogram_tree(predictor: Any, place: np.ndarray) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    missing = nodes["missing_go_to_left"].astype(bool)
    categories: Rules = {}
    for i in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf):
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][i]]
        inside = np.flatnonzero(np.unpackbits(bits.astype("<u4").view(np.uint8), bitorder="little"))
        categories[int(i)] = (inside.tolist(), True, bool(missing[i]), False)
    return Tree(np.where(leaf, -1, place[nodes["feature_idx"]]), nodes["num_threshold"], nodes["left"].astype(np.int64),
                nodes["right"].astype(np.int64), nodes["value"], missing, categories=categories)  # fmt: skip


# XGBoost --------------------------------------------------------------------------------------------------------------


def _xgboost(model: Any, output: int) -> Ensemble:
    import xgboost

    wrapper = hasattr(model, "get_booster")
    booster = model.get_booster() if wrapper else model
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosting, settings = learner["gradient_booster"], learner["learner_model_param"]
    if boosting["name"] == "gblinear":
        raise UserError("a gblinear model has no trees. Use insdel.Lattice, or booster='gbtree'.")
    weights, forest = boosting.get("weight_drop"), boosting.get("gbtree", boosting)["model"]
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in forest["trees"]):
        raise UserError("trees with vector leaves are not supported. Fit with multi_strategy='one_output_per_tree'.")
    _check_output(output, max(1, int(settings["num_class"]), int(settings.get("num_target", 1))))
    stop, end = len(forest["trees"]), 0
    if wrapper and "best_iteration" in learner["attributes"]:
        end = int(learner["attributes"]["best_iteration"]) + 1
        stop = forest["iteration_indptr"][end]
    trees = [_xgboost_tree(tree, weights[i] if weights else 1.0) for i, tree in enumerate(forest["trees"][:stop])
             if forest["tree_info"][i] == output]  # fmt: skip
    names = tuple(booster.feature_names) if booster.feature_names else None
    missing = getattr(model, "missing", None) if wrapper else None
    missing = np.nan if missing is None else missing

    known = _xgboost_categories(forest.get("cats", {}))

    def predict(rows: Any, missing: float = missing) -> np.ndarray:
        named: dict[str, Any] = {}
        if not isinstance(rows, pd.DataFrame):
            named = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
        matrix = xgboost.DMatrix(_categorical(rows, known), missing=missing, enable_categorical=True, **named)
        return _select(booster.predict(matrix, output_margin=True, iteration_range=(0, end)), output)

    def predict_codes(codes: np.ndarray) -> np.ndarray:
        return predict(codes, np.nan)

    plain = _codes_of(known)

    def encode(rows: Any) -> np.ndarray:
        codes = plain(rows)
        return codes if np.isnan(missing) else np.where(codes.astype(np.float32) == np.float32(missing), np.nan, codes)

    n = int(settings["num_feature"])
    base = _xgboost_base(settings["base_score"], output, trees, n, predict_codes)
    return Ensemble(n, names, trees, base, True, predict, predict_codes, encode, tolerance=3e-6)


def _xgboost_tree(tree: dict[str, Any], weight: float) -> Tree:
    left, condition = np.array(tree["left_children"]), np.array(tree["split_conditions"], np.float32).astype(np.float64)
    default = np.array(tree["default_left"], dtype=bool)
    categories: Rules = {}
    for node, start, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        categories[node] = (tree["categories"][start : start + size], False, bool(default[node]), True)
    return Tree(np.where(left < 0, -1, tree["split_indices"]), condition, left, np.array(tree["right_children"]),
                condition * weight, default, strict=True, categories=categories)  # fmt: skip


def _xgboost_base(stored: str, output: int, trees: list[Tree], n: int, predict: Any) -> float:
    """The base value as a margin: some objectives store it as a mean, so the model itself decides between the links."""
    scores = np.atleast_1d(np.asarray(json.loads(stored), dtype=np.float64))
    score = float(scores[min(output, len(scores) - 1)])
    row = np.zeros((1, n))
    bare = Ensemble(n, None, trees, 0.0, True, predict, predict, _codes_of({}))
    rest = float(predict(row)[0] - bare.sums(row)[0][0]) if trees else float(predict(row)[0])
    candidates = [score]
    if score > 0:
        candidates.append(float(np.log(score)))
    if 0 < score < 1:
        candidates.append(float(np.log(score) - np.log1p(-score)))
    return min(candidates, key=lambda candidate: abs(candidate - rest))


def _xgboost_categories(stored: Mapping[str, Any]) -> dict[int, list[Any]]:
    """Categories of the frame that the model was fitted to, by feature."""
    result: dict[int, list[Any]] = {}
    for j, column in enumerate(stored.get("enc", [])):
        values, ends = column["values"], column.get("offsets")
        if ends is None:
            result[j] = list(values)
        elif ends:
            text = bytes(code % 256 for code in values)
            result[j] = [text[a:b].decode() for a, b in pairwise(ends)]
    return result


# LightGBM -------------------------------------------------------------------------------------------------------------


def _lightgbm(model: Any, output: int) -> Ensemble:
    booster = getattr(model, "booster_", model)
    dump = booster.dump_model()
    outputs, infos = dump["num_tree_per_iteration"], dump["tree_info"]
    _check_output(output, outputs)
    scale = outputs / len(infos) if dump["average_output"] and infos else 1.0
    trees = [_lightgbm_tree(info["tree_structure"], scale) for info in infos[output::outputs]]
    names = tuple(dump["feature_names"])
    known = iter(booster.pandas_categorical or [])
    categorical = {node: True for tree in trees for node in {tree.feature[i] for i in tree.categories}}
    categories: dict[int, Sequence[Any]] = {}
    for j, name in enumerate(names):
        values = dump["feature_infos"].get(name, {}).get("values", [])
        if booster.pandas_categorical and (values or j in categorical):
            categories[j] = next(known)

    share = 1.0
    if scale != 1.0:  # a random forest predicts means, and some versions return sums as raw scores
        bare = Ensemble(len(names), names, trees, 0.0, False, np.zeros, np.zeros, _codes_of({}))
        row = np.zeros((1, len(names)))
        means, raw = bare.sums(row)[0], _select(booster.predict(row, raw_score=True), output)
        share = scale if abs(raw[0] * scale - means[0]) < abs(raw[0] - means[0]) else 1.0

    def predict(rows: Any) -> np.ndarray:
        return share * _select(booster.predict(_categorical(rows, categories), raw_score=True), output)

    default = booster.pandas_categorical is None and names == tuple(f"Column_{j}" for j in range(len(names)))
    return Ensemble(len(names), names, trees, 0.0, False, predict, predict, _codes_of(categories),
                    small_is_zero=True, default_names=default)  # fmt: skip


def _lightgbm_tree(root: dict[str, Any], scale: float) -> Tree:
    categories: Rules = {}

    def row(node: Node, here: int) -> list[Any]:
        if "split_feature" not in node:
            if "leaf_coeff" in node:
                raise UserError("linear leaves (linear_tree=True) are not supported. Use insdel.Lattice.")
            return [-1, 0.0, 0, 0, node["leaf_value"] * scale, False, False, False]
        missing, threshold = node["missing_type"], node["threshold"]
        if node["decision_type"] == "==":
            categories[here], threshold = ([int(code) for code in threshold.split("||")], True, False, False), 0.0
        default = node["default_left"]
        return [node["split_feature"], threshold, 0, 0, 0.0, default, missing != "NaN", missing == "Zero"]

    columns = _numbered(root, ("left_child", "right_child"), row)
    feature, limit, left, right, value, missing, as_zero, zero = columns
    return Tree(feature, limit, left, right, value, missing, False, as_zero, zero, categories)


# CatBoost -------------------------------------------------------------------------------------------------------------


def _catboost(model: Any, output: int) -> Ensemble:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json")
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    info = stored["features_info"]
    if set(info) - {"float_features"}:
        raise UserError("CatBoost's categorical, text and embedding features are not supported. Encode them.")
    floats = {f["feature_index"]: (f["flat_feature_index"], f["nan_value_treatment"] == "AsTrue")
              for f in info["float_features"]}  # fmt: skip
    scale, biases = stored["scale_and_bias"]
    _check_output(output, len(biases))
    if "oblivious_trees" in stored:
        trees = [_oblivious_tree(tree, floats, output, len(biases), scale) for tree in stored["oblivious_trees"]]
    else:
        trees = [_nested_tree(tree, floats, output, scale) for tree in stored["trees"]]
    names = tuple(model.feature_names_) if model.feature_names_ else None

    def predict(rows: Any) -> np.ndarray:
        return _select(model.predict(rows, prediction_type="RawFormulaVal", thread_count=1), output)

    n = len(names) if names else len(floats)
    default = names == tuple(str(j) for j in range(n))
    return Ensemble(n, names, trees, float(biases[output]), True, predict, predict, _codes_of({}), nan=False,
                    default_names=default)  # fmt: skip


def _oblivious_tree(tree: dict[str, Any], floats: Any, output: int, outputs: int, scale: float) -> Tree:
    """One question for each level; the answer to question i is bit i of the leaf's number, so the last is the root."""
    splits = tree.get("splits") or []
    values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(2 ** len(splits), outputs)[:, output] * scale
    inner = 2 ** len(splits) - 1
    node = np.arange(2 * inner + 1)  # a heap: the children of node i are 2i + 1 and 2i + 2
    level = np.floor(np.log2(node[:inner] + 1)).astype(np.int64)
    feature, missing = (np.array([floats[s["float_feature_index"]][i] for s in reversed(splits)]) for i in (0, 1))
    border = np.array([s["border"] for s in reversed(splits)])
    rest = np.zeros(inner + 1)
    return Tree(np.r_[feature[level], rest - 1].astype(np.int64), np.r_[border[level], rest],
                np.minimum(2 * node + 1, 2 * inner), np.minimum(2 * node + 2, 2 * inner), np.r_[rest[1:], values],
                np.r_[~missing[level].astype(bool), rest > 0])  # fmt: skip


def _nested_tree(root: dict[str, Any], floats: Any, output: int, scale: float) -> Tree:
    def row(node: Node, _: int) -> list[Any]:
        if "split" not in node:
            return [-1, 0.0, 0, 0, float(np.atleast_1d(node["value"])[output]) * scale, False]
        feature, nan_right = floats[node["split"]["float_feature_index"]]
        return [feature, node["split"]["border"], 0, 0, 0.0, not nan_right]

    feature, border, left, right, value, missing = _numbered(root, ("left", "right"), row)
    return Tree(feature, border, left, right, value, missing)
