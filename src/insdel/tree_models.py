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
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

from insdel.errors import UserError, UserTypeError

ZERO = float(np.float32(1e-35))  # LightGBM takes numbers up to this for zero
SUPPORTED = (
    "a fitted decision tree, extra tree, forest, GradientBoosting or HistGradientBoosting model of scikit-learn, "
    "or a model of XGBoost, LightGBM or CatBoost"
)
NODE = np.dtype([  # feature: −1 at leaves; left and right: nodes; threshold: the largest value that goes left
    ("feature", np.int64), ("threshold", np.float64), ("left", np.int64), ("right", np.int64), ("value", np.float64),
    ("missing_left", bool), ("nan_as_zero", bool), ("zero_missing", bool),
])  # fmt: skip

Rules = dict[int, tuple[Sequence[int], bool, bool, bool]]
Node = dict[str, Any]  # of a tree as its library writes it


@dataclass
class Tree:
    """One tree: its nodes, (nodes,) of type NODE, and the rules of those that split by categories.

    categories : node → (categories, whether these go left, whether NaN goes left, whether any other goes left)
    """

    nodes: np.ndarray
    categories: Rules = field(default_factory=dict)

    @classmethod
    def of(cls, categories: Rules | None = None, **columns: Any) -> Tree:
        """Make a tree of columns, an array over the nodes or one value for all each; what is not given is 0."""
        nodes = np.zeros(len(columns["feature"]), NODE)
        for name, column in columns.items():
            nodes[name] = column
        return cls(nodes, categories or {})

    @classmethod
    def nested(cls, root: Node, left: str, right: str, row: Callable[[Node, int], tuple[Any, ...]]) -> Tree:
        """Number nested nodes; by a stack, as deep trees exceed the recursion limit.

        left, right : the names under which a node holds its children
        row : node and its number → its row, whose left and right are filled in here
        """
        rows: list[list[Any]] = []
        waiting: list[tuple[Node, int, int]] = [(root, 0, 0)]
        while waiting:
            node, parent, side = waiting.pop()
            here = len(rows)
            rows.append(list(row(node, here)))
            rows[parent][side] = here if side else rows[parent][side]
            if rows[here][0] >= 0:
                waiting += [(node[left], here, 2), (node[right], here, 3)]
        return cls(np.array([tuple(row) for row in rows], NODE))


@dataclass(eq=False)
class Ensemble:
    """A sum of trees and a base value, with the model's own way to predict it.

    names : the columns' names if the model has any
    encode : rows as the user has them (arrays or frames, columns in the model's order) → (m, n) float64 codes
    predict : rows of the same kind → (m,) raw predictions by the model itself
    predict_codes : the same from (m, n) codes, where these are not rows themselves

    Of all trees together: `roots` (trees,), their first nodes; `feature` and `value` (nodes,); `children` (2, nodes),
    so that `children[goes_left]` is where to go; `internal`, the nodes that split, and `threshold` of these.
    """

    n: int
    names: tuple[str, ...] | None
    trees: list[Tree]
    base: float
    single: bool  # features and sums are float32
    predict: Callable[[Any], np.ndarray]
    encode: Callable[[Any], np.ndarray]
    predict_codes: Callable[[np.ndarray], np.ndarray] | None = None
    nan: bool = True  # whether NaN may be passed to the model
    tolerance: float = 1e-9
    small_is_zero: bool = False  # whether numbers up to ZERO are passed to the trees as 0
    default_names: bool = False  # whether the names are the library's own, as for a model fitted to an array

    def __post_init__(self) -> None:
        sizes = np.array([len(tree.nodes) for tree in self.trees], dtype=np.int64)
        self.roots = np.cumsum(sizes) - sizes
        nodes = np.concatenate([np.zeros(0, NODE), *(tree.nodes for tree in self.trees)])
        shift = np.repeat(self.roots, sizes)
        self.feature = nodes["feature"].copy()
        self.children = np.stack([nodes["right"] + shift, nodes["left"] + shift])
        self.value = np.where(self.feature < 0, nodes["value"], 0.0)
        self.internal = np.flatnonzero(self.feature >= 0)
        self.threshold, *self._rules = (
            nodes[name][self.internal] for name in ("threshold", "missing_left", "nan_as_zero", "zero_missing")
        )
        rules = [(root + node, *rule) for tree, root in zip(self.trees, self.roots, strict=True)
                 for node, rule in tree.categories.items()]  # fmt: skip
        self._categorical = np.searchsorted(self.internal, [node for node, *_ in rules]).astype(np.int64)
        width = 1 + max((max(codes, default=0) for _, codes, *_ in rules), default=0)
        self._goes_left = np.zeros((len(rules), width + 2), dtype=bool)  # code 0, 1, …, any other code, NaN
        for row, (_, codes, inside, nan, other) in zip(self._goes_left, rules, strict=True):
            row[:] = other
            row[list(codes)], row[-1] = inside, nan

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
        if len(self._categorical):
            values, width = codes[:, self.feature[self.internal[self._categorical]]], self._goes_left.shape[1] - 2
            code = np.where((values >= 0) & (values < width), values, width).astype(np.int64, casting="unsafe")
            code[np.isnan(values)] = width + 1
            left[:, self._categorical] = self._goes_left[np.arange(len(self._goes_left)), code]
        return left

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

    def probe(self, rows: int = 64) -> None:
        """Check random rows made of thresholds, numbers next to them, categories, zeros and NaN against the model."""
        rng = np.random.default_rng(0)
        codes = rng.normal(size=(rows, self.n))
        feature = self.feature[self.internal]
        for j in np.unique(feature):
            near = self.threshold[feature == j]
            near = np.r_[near, np.nextafter(near, np.inf), near + 1e-3 * np.abs(near), 0.0]
            table = self._goes_left[feature[self._categorical] == j]
            if len(table):
                near = np.arange(1.0 + np.flatnonzero((table != table[:, -2:-1]).any(axis=0)[:-2]).max(initial=0))
            near = near[np.abs(near) < 1e30]
            codes[:, j] = rng.choice(np.r_[near, np.nan] if self.nan else near, rows)
        own = codes if self.predict_codes else self.encode(codes)
        self.check(*self.sums(own), (self.predict_codes or self.predict)(codes))


def read(model: Any, output: int) -> Ensemble:
    """Read a fitted model; `output` is the class or target where it has several."""
    readers = {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost, "sklearn": _sklearn}
    known = (kind.__module__.split(".")[0] for kind in type(model).__mro__)
    library = next((name for name in known if name in readers), None)
    if library is None:
        raise UserTypeError(f"Trees.of needs {SUPPORTED}, but found a {type(model).__name__}.")
    ensemble = readers[library](model, output)
    ensemble.probe()
    return ensemble


def _select(predictions: Any, output: int) -> np.ndarray:
    """Column `output` of raw predictions, (m,) or (m, outputs), as float64."""
    values = np.asarray(predictions, dtype=np.float64)
    return values if values.ndim == 1 else values[:, output]


def _check_output(output: int, outputs: int) -> None:
    if not 0 <= output < outputs:
        raise UserError(f"output must be from 0 to {outputs - 1} for this model, but it is {output}.")


def _names(found: Any) -> tuple[str, ...] | None:
    return tuple(found) if found is not None and len(found) else None


def _codes_of(categories: Mapping[int, Sequence[Any]]) -> Callable[[Any], np.ndarray]:
    """What encodes rows: numbers as they are, the categories of frames by their place among the fitted ones."""

    def encode(rows: Any) -> np.ndarray:
        if not isinstance(rows, pd.DataFrame):
            return np.array(rows, dtype=np.float64, ndmin=2)
        codes = np.empty(rows.shape)
        for j, (_, column) in enumerate(rows.items()):
            if j in categories and not pd.api.types.is_numeric_dtype(column.dtype):
                codes[:, j] = pd.Index(categories[j]).get_indexer(pd.Index(column.astype(object)))
                codes[codes[:, j] < 0, j] = np.nan
            else:
                codes[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return codes

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


# scikit-learn ---------------------------------------------------------------------------------------------------------


def _sklearn(model: Any, output: int) -> Ensemble:
    name = next(kind.__name__ for kind in type(model).__mro__ if kind.__module__.split(".")[0] == "sklearn")
    if not hasattr(model, "n_features_in_"):
        raise UserError(f"this {name} is not fitted yet. Call its fit first.")
    if name.startswith("HistGradientBoosting"):
        return _sklearn_histogram(model, output)
    classifier, base = hasattr(model, "classes_"), 0.0
    if name.startswith("GradientBoosting"):
        first = model.init_
        if not (isinstance(first, str) or type(first).__name__.startswith("Dummy")):
            raise UserError(
                "a model in init= is itself a function of x and not supported. Fit with init=None or 'zero'."
            )
        _check_output(output, model.estimators_.shape[1])
        if not isinstance(first, str):
            base = float(model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0, output])
        parts = [estimator.tree_ for estimator in model.estimators_[:, output]]
        values = [tree.value[:, 0, 0] * model.learning_rate for tree in parts]
        predict = model.decision_function if classifier else model.predict
    elif name.startswith(("DecisionTree", "ExtraTree", "RandomForest")) and name.endswith(("Regressor", "Classifier")):
        parts = [estimator.tree_ for estimator in getattr(model, "estimators_", [model])]
        if classifier and parts[0].n_outputs > 1:
            raise UserError("classifiers with several targets are not supported. Fit one for each target.")
        _check_output(output, parts[0].value.shape[2 if classifier else 1])
        tables = [tree.value[:, 0, :] if classifier else tree.value[:, :, 0] for tree in parts]
        values = [table[:, output] / (table.sum(axis=1) if classifier else 1.0) / len(parts) for table in tables]
        predict = model.predict_proba if classifier else model.predict
    else:
        raise UserTypeError(f"Trees.of needs {SUPPORTED}, but found a {name}.")
    names = _names(getattr(model, "feature_names_in_", None))
    trees = [
        Tree.of(feature=np.where(tree.children_left < 0, -1, tree.feature), threshold=tree.threshold,
                left=tree.children_left, right=tree.children_right, value=value,
                missing_left=getattr(tree, "missing_go_to_left", False))
        for tree, value in zip(parts, values, strict=True)
    ]  # fmt: skip

    def call(rows: Any) -> np.ndarray:
        return _select(predict(_framed(rows, names)), output)

    return Ensemble(model.n_features_in_, names, trees, base, True, call, _codes_of({}), nan=False)


def _sklearn_histogram(model: Any, output: int) -> Ensemble:
    pre, n = model._preprocessor, model.n_features_in_
    _check_output(output, len(model._predictors[0]))
    flags = np.zeros(n, dtype=bool) if model.is_categorical_ is None else np.asarray(model.is_categorical_)
    place = np.arange(n) if pre is None else np.r_[np.flatnonzero(flags), np.flatnonzero(~flags)]
    known = model._bin_mapper.make_known_categories_bitsets()
    names = _names(getattr(model, "feature_names_in_", None))
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
    return Ensemble(n, names, trees, base, False, predict, encode, predict_codes)


def _histogram_tree(predictor: Any, place: np.ndarray) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    missing = nodes["missing_go_to_left"].astype(bool)
    categories: Rules = {}
    for i in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf):
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][i]]
        inside = np.flatnonzero(np.unpackbits(bits.astype("<u4").view(np.uint8), bitorder="little"))
        categories[int(i)] = (inside.tolist(), True, bool(missing[i]), False)
    feature, same = np.where(leaf, -1, place[nodes["feature_idx"]]), {k: nodes[k] for k in ("left", "right", "value")}
    return Tree.of(categories, feature=feature, threshold=nodes["num_threshold"], missing_left=missing, **same)


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
    missing = getattr(model, "missing", None) if wrapper else None
    missing = np.nan if missing is None else missing
    known = _xgboost_categories(forest.get("cats", {}))

    def predict(rows: Any) -> np.ndarray:
        named: dict[str, Any] = {}
        if not isinstance(rows, pd.DataFrame):
            named = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
        matrix = xgboost.DMatrix(_categorical(rows, known), missing=missing, enable_categorical=True, **named)
        return _select(booster.predict(matrix, output_margin=True, iteration_range=(0, end)), output)

    plain = _codes_of(known)

    def encode(rows: Any) -> np.ndarray:
        codes = plain(rows)
        return codes if np.isnan(missing) else np.where(codes.astype(np.float32) == np.float32(missing), np.nan, codes)

    n, scores = int(settings["num_feature"]), np.ravel(json.loads(settings["base_score"]))
    found = Ensemble(n, _names(booster.feature_names), trees, 0.0, True, predict, encode, tolerance=3e-6)
    row, score = np.zeros((1, n)), float(scores[min(output, len(scores) - 1)])
    with np.errstate(all="ignore"):  # a margin, or a mean that some link turns into one: the model itself decides
        margins = np.array([score, np.log(score), logit(score)])
    found.base = float(margins[np.nanargmin(np.abs(margins - (predict(row) - found.sums(encode(row))[0])))])
    return found


def _xgboost_tree(tree: Node, weight: float) -> Tree:
    left, condition = np.array(tree["left_children"]), np.array(tree["split_conditions"], np.float32)
    default = np.array(tree["default_left"], dtype=bool)
    segments = zip(*(tree[f"categories_{name}"] for name in ("nodes", "segments", "sizes")), strict=True)
    categories: Rules = {node: (tree["categories"][start : start + size], False, bool(default[node]), True)
                         for node, start, size in segments}  # fmt: skip
    with np.errstate(over="ignore"):
        below = np.nextafter(condition, np.float32(-np.inf))  # only what is less goes left
    feature, value = np.where(left < 0, -1, tree["split_indices"]), condition.astype(np.float64) * weight
    right = tree["right_children"]
    return Tree.of(categories, feature=feature, threshold=below, left=left, right=right, value=value,
                   missing_left=default)  # fmt: skip


def _xgboost_categories(stored: Mapping[str, Any]) -> dict[int, list[Any]]:
    """Categories of the frame that the model was fitted to, by feature."""
    known: dict[int, list[Any]] = {}
    for j, column in enumerate(stored.get("enc", [])):
        values, ends = column["values"], column.get("offsets")
        if ends is None:
            known[j] = list(values)
        elif ends:
            text = bytes(code % 256 for code in values)
            known[j] = [text[a:b].decode() for a, b in pairwise(ends)]
    return known


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
    categorical = {tree.nodes["feature"][i] for tree in trees for i in tree.categories}
    categories: dict[int, Sequence[Any]] = {}
    for j, name in enumerate(names):
        values = dump["feature_infos"].get(name, {}).get("values", [])
        if booster.pandas_categorical and (values or j in categorical):
            categories[j] = next(known)

    def predict(rows: Any) -> np.ndarray:
        return share * _select(booster.predict(_categorical(rows, categories), raw_score=True), output)

    default = booster.pandas_categorical is None and names == tuple(f"Column_{j}" for j in range(len(names)))
    found = Ensemble(len(names), names, trees, 0.0, False, predict, _codes_of(categories), small_is_zero=True,
                     default_names=default)  # fmt: skip
    row = np.zeros((1, len(names)))
    raw, margin = _select(booster.predict(row, raw_score=True), output)[0], found.sums(row)[0][0]
    share = min((1.0, scale), key=lambda part: abs(part * raw - margin))  # some return a forest's sums, some means
    return found


def _lightgbm_tree(root: Node, scale: float) -> Tree:
    categories: Rules = {}

    def row(node: Node, here: int) -> tuple[Any, ...]:
        if "split_feature" not in node:
            if "leaf_coeff" in node:
                raise UserError("linear leaves (linear_tree=True) are not supported. Use insdel.Lattice.")
            return -1, 0.0, 0, 0, node["leaf_value"] * scale, False, False, False
        missing, threshold = node["missing_type"], node["threshold"]
        if node["decision_type"] == "==":
            categories[here], threshold = ([int(code) for code in threshold.split("||")], True, False, False), 0.0
        default = node["default_left"]
        return node["split_feature"], threshold, 0, 0, 0.0, default, missing != "NaN", missing == "Zero"

    return Tree(Tree.nested(root, "left_child", "right_child", row).nodes, categories)


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
    names = _names(model.feature_names_)

    def predict(rows: Any) -> np.ndarray:
        return _select(model.predict(rows, prediction_type="RawFormulaVal", thread_count=1), output)

    n = len(names) if names else len(floats)
    default = names == tuple(str(j) for j in range(n))
    return Ensemble(n, names, trees, float(biases[output]), True, predict, _codes_of({}), nan=False,
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
    left, right = (np.minimum(2 * node + k, 2 * inner) for k in (1, 2))
    return Tree.of(feature=np.r_[feature[level], rest - 1], threshold=np.r_[border[level], rest], left=left,
                   right=right, value=np.r_[rest[1:], values],
                   missing_left=np.r_[~missing[level].astype(bool), rest > 0])  # fmt: skip


def _nested_tree(root: Node, floats: Any, output: int, scale: float) -> Tree:
    def row(node: Node, _: int) -> tuple[Any, ...]:
        if "split" not in node:
            return -1, 0.0, 0, 0, float(np.atleast_1d(node["value"])[output]) * scale, False, False, False
        feature, nan_right = floats[node["split"]["float_feature_index"]]
        return feature, node["split"]["border"], 0, 0, 0.0, not nan_right, False, False

    return Tree.nested(root, "left", "right", row)
