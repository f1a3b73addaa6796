"""Tree ensembles in closed form: against Lattice on the model itself, against all n! orders, and against search."""

import warnings
from functools import partial, wraps
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn import ensemble, linear_model, tree

import insdel
from insdel import tree_pairs
from insdel import trees as trees_module
from insdel.evaluate import Pairs
from insdel.trees import MODES, TreeGame, _linger, _Moves, _pack

N = 6
RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(300, N)), 1)  # numbers on a grid, where float32 and float64 disagree
Y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0) + 0.1 * X[:, 5]
CLASSES = np.digitize(Y, [-0.7, 0.7])
HOLES = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
WORDS = ["ant", "bee", "cat", "dog"]
FRAME = pd.DataFrame(X, columns=[f"f{j}" for j in range(N)]).assign(
    f2=pd.Categorical(RNG.choice(WORDS, len(X)), categories=WORDS),
    f4=np.where(RNG.random(len(X)) < 0.2, np.nan, X[:, 4]),
)
FRAME_Y = X[:, 0] * X[:, 1] + 2.0 * FRAME["f2"].cat.codes.isin([0, 3]) * X[:, 3] + np.nan_to_num(FRAME["f4"])


def lightgbm(kind="LGBMRegressor", **options):
    library = pytest.importorskip("lightgbm")
    return getattr(library, kind)(**{"n_estimators": 15, "num_leaves": 12, "n_jobs": 1, "verbose": -1, **options})


def xgboost(kind="XGBRegressor", **options):
    library = pytest.importorskip("xgboost")
    return getattr(library, kind)(**{"n_estimators": 15, "max_depth": 4, "n_jobs": 1, **options})


def catboost(kind="CatBoostRegressor", **options):
    library = pytest.importorskip("catboost")
    fixed = {"iterations": 15, "depth": 4, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return getattr(library, kind)(**(fixed | options))


def raw(fitted, output=0):
    """The model's own raw prediction, (m, n) → (m,), by its public methods."""
    name, method, options = type(fitted).__name__, "predict", {}
    if name.startswith("LGBM"):
        options = {"raw_score": fitted.boosting_type != "rf"}  # a forest's raw scores are sums, its predictions means
    elif name.startswith("XGB"):
        options = {"output_margin": True}
    elif name.startswith("CatBoost"):
        options = {"prediction_type": "RawFormulaVal"}
    elif hasattr(fitted, "classes_"):
        method = "decision_function" if "Gradient" in name else "predict_proba"

    def call(rows):
        values = np.asarray(getattr(fitted, method)(rows, **options), dtype=np.float64)
        return values if values.ndim == 1 else values[:, output]

    return call


def boosted(rows=X, target=Y, **options):
    return ensemble.GradientBoostingRegressor(**{"n_estimators": 15, "random_state": 0, **options}).fit(rows, target)


def same(game, values, tolerance=1e-9):
    """Every method of the game equals that of the Lattice of the 2ᵈ values, up to rounding."""
    lattice = insdel.Lattice(np.asarray(values, dtype=np.float64), game.players, game.n)
    size = tolerance * max(1.0, float(np.abs(values).max()))
    close = lambda a, b, k=1: np.testing.assert_allclose(a, b, rtol=0, atol=k * size)  # noqa: E731
    n = game.n
    close(game.values, lattice.values)
    close(game.dividends(), lattice.dividends(), 2**game.d)
    close(game.shapley(), lattice.shapley(), 4)
    close(game.banzhaf(), lattice.banzhaf(), 4)
    close(game.expected_curve(), lattice.expected_curve())
    close(game.expected_auc(), lattice.expected_auc(), n + 1)
    close(game.aul(), lattice.aul(), n + 1)
    orders = np.random.default_rng(1).permuted(np.tile(np.arange(n), (5, 1)), axis=1)
    close(game.curve(orders), lattice.curve(orders))
    close(game.curve(orders[0]), lattice.curve(orders[0]))
    for mode in MODES:
        close(game.abc(orders, mode), lattice.abc(orders, mode), 4 * n)
        close(game.expected_abc(mode), lattice.expected_abc(mode), 2 * n)
        close(game.random_abc(7, 3, mode), lattice.random_abc(7, 3, mode), 4 * n)
        best = lattice.abc(lattice.best_order(mode), mode)
        found = game.search(mode)
        assert found.exact and found.bound == found.area
        close(found.area, best, 4 * n)
        close(game.abc(found.order, mode), found.area, 4 * n)
    return lattice


def subsets(n):
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


def hybrid_values(predict, x, r):
    """The 2ᵈ values over the features in which the rows differ, in the order of a Lattice."""
    players = [j for j in range(len(x)) if not (x[j] == r[j] or (x[j] != x[j] and r[j] != r[j]))]
    masks = np.zeros((2 ** len(players), len(x)), dtype=bool)
    masks[:, players] = subsets(len(players))
    return predict(np.where(masks, r, x)), tuple(players)


MODELS = {
    "tree": lambda: (tree.DecisionTreeRegressor(max_depth=6, random_state=0), X, Y),
    "tree classes": lambda: (tree.DecisionTreeClassifier(random_state=0), X, CLASSES),
    "extra tree": lambda: (tree.ExtraTreeRegressor(max_depth=6, random_state=0), X, Y),
    "stump": lambda: (tree.DecisionTreeRegressor(max_depth=1, random_state=0), X, Y),
    "forest": lambda: (ensemble.RandomForestRegressor(8, random_state=0), X, Y),
    "forest NaN": lambda: (ensemble.RandomForestRegressor(8, random_state=0), HOLES, Y),
    "forest classes": lambda: (ensemble.RandomForestClassifier(8, random_state=0), X, CLASSES),
    "extra trees": lambda: (ensemble.ExtraTreesRegressor(8, max_depth=7, random_state=0), X, Y),
    "boosting": lambda: (ensemble.GradientBoostingRegressor(n_estimators=15), X, Y),
    "boosting zero": lambda: (ensemble.GradientBoostingRegressor(n_estimators=15, init="zero"), X, Y),
    "boosting classes": lambda: (ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0), X, CLASSES),
    "boosting two": lambda: (ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0), X, Y > 0),
    "histogram": lambda: (ensemble.HistGradientBoostingRegressor(max_iter=15), X, Y),
    "histogram NaN": lambda: (ensemble.HistGradientBoostingRegressor(max_iter=15), HOLES, Y),
    "histogram classes": lambda: (ensemble.HistGradientBoostingClassifier(max_iter=8), HOLES, CLASSES),
    "lightgbm": lambda: (lightgbm(), X, Y),
    "lightgbm NaN": lambda: (lightgbm(), HOLES, Y),
    "lightgbm zero": lambda: (lightgbm(zero_as_missing=True), HOLES, Y),
    "lightgbm classes": lambda: (lightgbm("LGBMClassifier"), HOLES, CLASSES),
    "lightgbm forest": lambda: (lightgbm(boosting_type="rf", bagging_freq=1, bagging_fraction=0.7), X, Y),
    "lightgbm dart": lambda: (lightgbm(boosting_type="dart"), X, Y),
    "xgboost": lambda: (xgboost(), X, Y),
    "xgboost NaN": lambda: (xgboost(), HOLES, Y),
    "xgboost missing": lambda: (xgboost(missing=0.5), X, Y),
    "xgboost two": lambda: (xgboost("XGBClassifier"), HOLES, Y > 0),
    "xgboost classes": lambda: (xgboost("XGBClassifier"), HOLES, CLASSES),
    "xgboost dart": lambda: (xgboost(booster="dart", rate_drop=0.3), X, Y),
    "xgboost poisson": lambda: (xgboost(objective="count:poisson"), X, CLASSES),
    "catboost": lambda: (catboost(), X, Y),
    "catboost NaN": lambda: (catboost(), HOLES, Y),
    "catboost classes": lambda: (catboost("CatBoostClassifier"), X, CLASSES),
    "catboost lossguide": lambda: (catboost(grow_policy="Lossguide"), X, Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_equals_lattice(name):
    model, rows, target = MODELS[name]()
    model.fit(rows, target)
    outputs = (0, 2) if "classes" in name else (0,)
    tolerance = 1e-5 if name.startswith("xgboost") else 1e-9  # XGBoost adds up in float32
    for output in outputs:
        trees, predict = insdel.Trees.of(model, output), raw(model, output)
        order = np.argsort(predict(rows), kind="stable")
        low, high = rows[order[:3]], rows[order[-3:]]
        for game, x, r in zip(trees.games(low, high), low, high, strict=True):
            values, players = hybrid_values(predict, x, r)
            assert game.players == players and game.n == N
            same(game, values, tolerance)
            assert np.ptp(values) > 0


def fitted_frame(library):
    if library == "histogram":
        model = ensemble.HistGradientBoostingRegressor(max_iter=15, categorical_features="from_dtype")
    elif library == "lightgbm":
        model = lightgbm(min_data_per_group=5, cat_smooth=1)
    else:
        model = xgboost(enable_categorical=True, tree_method="hist", max_cat_to_onehot=2)
    return model.fit(FRAME, FRAME_Y)


@pytest.mark.parametrize("library", ["histogram", "lightgbm", "xgboost"])
def test_frames_with_categories(library):
    model = fitted_frame(library)
    trees, predict = insdel.Trees.of(model), raw(model)
    assert any(t.categories for t in trees.ensemble.trees)
    mixed, other = FRAME[["f4", "f2", "f0", "f5", "f3", "f1"]], FRAME.assign(extra=1.0)
    tolerance = 1e-5 if library == "xgboost" else 1e-9
    for i, j in ((0, 1), (2, 7), (5, 9)):
        both = FRAME.iloc[[i, j]]
        games = [trees.game(mixed.iloc[[i]], other.iloc[[j]]), trees.game(mixed.iloc[i], FRAME.iloc[j]),
                 next(trees.games(mixed.iloc[[i]], other.iloc[[j]]))]  # fmt: skip
        for game in games:
            masks = np.zeros((2**game.d, N), dtype=int)
            masks[:, list(game.players)] = subsets(game.d)
            hybrids = pd.DataFrame({name: both[name].array[masks[:, k]] for k, name in enumerate(FRAME)})
            same(game, predict(hybrids), tolerance)


@pytest.mark.parametrize("library", ["histogram", "lightgbm", "xgboost"])
def test_categories_of_arrays(library):
    codes = X.copy()
    codes[:, 2] = RNG.integers(0, 6, len(X))
    y = np.isin(codes[:, 2], [0, 3, 4]) * codes[:, 0] + codes[:, 1]
    if library == "histogram":
        model = ensemble.HistGradientBoostingRegressor(max_iter=15, categorical_features=[2]).fit(codes, y)
    elif library == "lightgbm":
        model = lightgbm(min_data_per_group=5).fit(codes, y, categorical_feature=[2])
    else:
        types = ["q", "q", "c", "q", "q", "q"]
        model = xgboost(feature_types=types, enable_categorical=True, max_cat_to_onehot=2).fit(codes, y)
    trees = insdel.Trees.of(model)
    assert any(t.categories for t in trees.ensemble.trees)
    values, _ = hybrid_values(raw(model), codes[0], codes[1])
    same(trees.game(codes[0], codes[1]), values, 1e-5 if library == "xgboost" else 1e-9)


@pytest.mark.parametrize("make", [lightgbm, xgboost, catboost, lambda: ensemble.RandomForestRegressor(5)])
def test_a_frame_for_a_model_of_arrays(make):
    """Names that a library gives by itself are none: columns are taken as they come, or by these names."""
    model = make().fit(X, Y)
    trees, frame = insdel.Trees.of(model), pd.DataFrame(X, columns=list("abcdef"))
    plain = trees.game(X[0], X[1])
    for x, r in ((frame.iloc[0], frame.iloc[1]), (frame.iloc[[0]], X[1]), (X[0], frame.iloc[[1]])):
        np.testing.assert_array_equal(trees.game(x, r).shapley(), plain.shapley())
    if trees.ensemble.names:
        named = pd.DataFrame(X, columns=list(trees.ensemble.names)).iloc[:, ::-1]
        np.testing.assert_array_equal(trees.game(named.iloc[[0]], named.iloc[[1]]).shapley(), plain.shapley())


def test_names_with_spaces():
    frame = pd.DataFrame(X, columns=[f"my {j}" for j in range(N)])
    model = lightgbm().fit(frame, Y)
    game = insdel.Trees.of(model).game(frame.iloc[[0], ::-1], frame.iloc[[1], ::-1])
    same(game, hybrid_values(lambda rows: model.predict(rows), X[0], X[1])[0])


def random_game(n, leaves, seed):
    """A game of random leaves, some features in none of them."""
    rng = np.random.default_rng(seed)
    state = rng.integers(0, rng.integers(3, 6), (leaves, n))  # 0: in A, 1: in B
    state[:, rng.random(n) < 0.2] = 2
    keep = (state < 2).any(axis=1)
    A, B = _pack(state == 0)[keep], _pack(state == 1)[keep]
    return TreeGame(float(rng.normal()), rng.normal(size=int(keep.sum())), A, B, tuple(range(n)), n)


def value_of(game, masks):
    """v at subsets, (m, n) booleans: the definition, leaf by leaf."""
    A, B = game._bits
    on = ~(A & ~masks[:, None]).any(axis=2) & ~(B & masks[:, None]).any(axis=2)
    return game.c + on @ game.w


@pytest.mark.parametrize("seed", range(30))
def test_random_games_against_all_orders(seed):
    n = 1 + seed % 6
    game = random_game(n, leaves=int(1 + seed**2 % 17), seed=seed)
    orders = np.array(list(permutations(range(n))))
    masks = subsets(n)
    values = value_of(game, masks)
    same(game, values, 1e-12)
    bits = 2**orders
    curves = values[np.pad(np.cumsum(bits, axis=1), ((0, 0), (1, 0)))]
    np.testing.assert_allclose(game.expected_curve(), curves.mean(axis=0), atol=1e-12)
    auc = curves.sum(axis=1)
    back = values[np.pad(np.cumsum(bits[:, ::-1], axis=1), ((0, 0), (1, 0)))].sum(axis=1)
    areas = {"insertion": auc - game.aul(), "deletion": game.aul() - auc, "both": auc - back}
    for mode, area in areas.items():
        moments = game.moments(mode)
        np.testing.assert_allclose(game.abc(orders, mode), area, atol=1e-11)
        np.testing.assert_allclose([moments.mean, moments.sd**2], [area.mean(), area.var()], atol=1e-11)
        np.testing.assert_allclose(game.abc(game.best_order(mode), mode), area.max(), atol=1e-11)
        climbed = game.search(mode, max_exact=0)
        np.testing.assert_allclose(climbed.area, area.max(), atol=1e-9)
        assert not len(game.active) or (climbed.bound == np.inf and not climbed.exact)


@pytest.mark.parametrize("w", [0.1, -0.3, 1 / 3])
@pytest.mark.parametrize("bit", ["A", "B"])
def test_best_order_lingers_where_one_feature_matters(w, bit):
    n = 5
    sets = {"A": _pack(np.zeros((1, n), bool)), "B": _pack(np.zeros((1, n), bool))}
    sets[bit][0, 0] = 4  # feature 2
    game = TreeGame(0.7, np.array([w]), sets["A"], sets["B"], (2,), n)
    first = (w > 0) == (bit == "A")
    for search in (game.search(), game.search(max_exact=0)):
        assert search.order[0 if first else -1] == 2
        np.testing.assert_allclose(search.area, abs(w) * (n - 1) / 2, atol=1e-12)


def test_best_order_lingers_whatever_the_rounding():
    n, empty, own = 7, np.zeros((1, 1), np.uint64), np.full((1, 1), 4, np.uint64)
    for c, w in np.random.default_rng(0).uniform(0.1, 1, (200, 2)):
        game = TreeGame(c, np.array([w]), own, empty, (2,), n)
        np.testing.assert_allclose(game.search().area, w * (n - 1) / 2, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_totals_of_all_moves(seed):
    game = random_game(7, 25, seed)
    d, rng = len(game.active), np.random.default_rng(seed)
    walk = rng.permutation(d)
    totals, total = _Moves(game).totals(walk)
    area = lambda steps: game.abc(_linger(game, steps)) + game.aul()  # noqa: E731
    np.testing.assert_allclose(total, area(walk), atol=1e-10)
    wanted = [[area(np.insert(walk[walk != j], k, j)) for k in range(d)] for j in range(d)]
    np.testing.assert_allclose(totals, wanted, atol=1e-10)


def test_groups():
    model = boosted()
    trees, steps = insdel.Trees.of(model), np.array([0, 1, 0, 2, 1, 3])
    values = raw(model)(np.where(subsets(4)[:, steps], X[1], X[0]))
    for groups in ([[2, 0], [1, 4]], {"one": [0, 2], "two": [4, 1]}):
        game = trees.game(X[0], X[1], groups)
        assert game.n == 4 and game.players == (0, 1, 2, 3)
        same(game, values)
        assert game._bound("insertion", 1.0) >= game.search().area - 1e-9
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = insdel.Trees.of(boosted(frame))
    for x, r in ((frame.iloc[0, ::-1], frame.iloc[1]), (X[0], X[1]), (X[:1], frame.iloc[1])):
        same(named.game(x, r, [["c", "a"], ["b", "e"]]), values)


def test_one_reference_for_all_and_chunks():
    model = ensemble.HistGradientBoostingRegressor(max_iter=15).fit(HOLES, Y)
    trees = insdel.Trees.of(model)
    single = [trees.game(x, HOLES[9]).shapley() for x in HOLES[:7]]
    for chunk in (None, 1, 3):
        games = list(trees.games(HOLES[:7], HOLES[9], chunk=chunk))
        np.testing.assert_allclose([game.shapley() for game in games], single, atol=1e-14)
        assert len({*games}) == 7  # games are equal to themselves alone
    refused("at least one pair", lambda: trees.games(HOLES[:0], HOLES[:0]))


def test_equal_points_and_idle_features():
    model = boosted()
    trees = insdel.Trees.of(model)
    game = trees.game(X[0], X[0])
    assert game.players == () and len(game.w) == 0
    np.testing.assert_allclose(game.curve(np.arange(N)), raw(model)(X[:1])[0], atol=1e-12)
    assert game.search().area == pytest.approx(0, abs=1e-10) and game.moments("both").sd == 0
    assert sorted(game.best_order()) == list(range(N))
    half = np.where(np.arange(N) < 3, X[1], X[0])
    same(trees.game(X[0], half), hybrid_values(raw(model), X[0], half)[0])


def wide(n, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(400, n))
    return points, points @ rng.uniform(0.5, 1.5, n) + 3 * points[:, 0] * points[:, 1] - points[:, 2] ** 2


@pytest.mark.parametrize("n", [20, 30])
def test_local_search_of_many_features(n):
    points, target = wide(n)
    model = ensemble.HistGradientBoostingRegressor(max_iter=80, max_leaf_nodes=8).fit(points, target)
    trees = insdel.Trees.of(model)
    games = zip(trees.games(points[:20], points[20:40]), points[:20], points[20:40], strict=True)
    for game, x, r in [case for case in games if len(case[0].active) > 16][:2]:
        for mode in MODES:
            found = game.search(mode, bound=True, seconds=0.7)
            np.testing.assert_allclose(game.abc(found.order, mode), found.area, atol=1e-9)
            phi = game.shapley() if mode != "deletion" else -game.shapley()
            assert found.area >= game.abc(insdel.order(phi), mode) - 1e-9
            assert found.area >= game.random_abc(500, mode=mode).max() - 1e-9
            assert found.area <= found.bound < np.inf
            assert found.area <= game._bound(mode, 0.7) + 1e-9
            assert found.bound - found.area < 0.5 * (found.area - game.expected_abc(mode))
            assert found.exact is bool(found.bound - found.area <= 1e-6)  # a gap is no proof
        curve = raw(model)(np.where(np.tri(n + 1, n, -1, dtype=bool)[:, np.argsort(found.order)], r, x))
        np.testing.assert_allclose(game.curve(found.order), curve, atol=1e-9)
        checked = True
    assert checked


@pytest.mark.parametrize("seed", range(6))
def test_local_search_equals_dynamic_programming(seed):
    points, target = wide(14, seed)
    points = points[:, : 9 + seed]
    game = insdel.Trees.of(boosted(points, target, n_estimators=40)).game(points[0], points[1])
    for mode in MODES:
        exact, found = game.search(mode), game.search(mode, max_exact=0, bound=True, seconds=1.0)
        np.testing.assert_allclose(found.area, exact.area, atol=1e-9)
        assert game._bound(mode, 1.0) >= exact.area - 1e-9  # itself, as `search` never returns less than its area


def test_the_duals_of_the_bound_give_all_that_the_relaxation_allows(monkeypatch):
    """By strong duality C + the largest π equals the value of the linear program, at every size."""
    points, target = wide(12)
    game, programs = insdel.Trees.of(boosted(points, target, n_estimators=80)).game(points[0], points[1]), []
    monkeypatch.setattr(trees_module, "_certificate", lambda program, *_: programs.append(program) or 0.0)
    game._bound("insertion", 1.0)
    assert len(game.active) > 5
    for size in range(1, len(game.active)):
        C, pi, value = programs[0].solve(size, 10.0)
        assert C + np.sort(pi)[-size:].sum() == pytest.approx(value, abs=1e-6)


def test_more_than_64_features():
    points, target = wide(150)
    model = boosted(points, target, n_estimators=60, max_depth=4)
    game = insdel.Trees.of(model).game(points[0], points[1])
    predict, rng = raw(model), np.random.default_rng(0)
    masks = rng.random((50, 150)) < 0.5
    np.testing.assert_allclose(value_of(game, masks), predict(np.where(masks, points[1], points[0])), atol=1e-9)
    orders = rng.permuted(np.tile(np.arange(150), (3, 1)), axis=1)
    for order, curve in zip(orders, game.curve(orders), strict=True):
        steps = np.tri(151, 150, -1, dtype=bool)[:, np.argsort(order)]
        np.testing.assert_allclose(curve, predict(np.where(steps, points[1], points[0])), atol=1e-9)
    ends = predict(points[:2])
    np.testing.assert_allclose(game.shapley().sum(), ends[1] - ends[0], atol=1e-9)
    np.testing.assert_allclose(game.expected_curve()[[0, -1]], ends, atol=1e-9)
    sample, moments = game.random_abc(4000), game.moments()
    assert abs(sample.mean() - moments.mean) < 5 * moments.sd / np.sqrt(4000)
    assert sample.std() == pytest.approx(moments.sd, rel=0.1)
    assert np.abs(game.shapley()[100:]).max() > 0
    found = game.search(bound=True, seconds=1.0)
    assert sample.max() <= found.area <= found.bound
    with pytest.raises(insdel.UserError, match="the limit is"):
        game.dividends()


def test_early_stopping_of_xgboost():
    model = xgboost(n_estimators=60, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(X[:200], Y[:200], eval_set=[(X[200:], Y[200:])], verbose=False)
    assert model.best_iteration < len(model.get_booster().get_dump()) - 1
    same(insdel.Trees.of(model).game(X[0], X[1]), hybrid_values(raw(model), X[0], X[1])[0], 1e-5)


def test_best_iteration_of_lightgbm():
    model = lightgbm().fit(X, Y)
    model.booster_.best_iteration = 3
    values, _ = hybrid_values(lambda rows: model.booster_.predict(rows, raw_score=True), X[0], X[1])
    game = insdel.Trees.of(model).game(X[0], X[1])
    same(game, values)
    assert np.ptp(values) > 0 and len(insdel.Trees.of(model).ensemble.trees) == 3


def test_the_margins_of_a_forest_of_lightgbm_are_means_behind_a_link_too():
    model = lightgbm("LGBMClassifier", boosting_type="rf", bagging_freq=1, bagging_fraction=0.7).fit(X, Y > 0)
    values, _ = hybrid_values(lambda rows: logit(model.predict_proba(rows)[:, 1]), X[0], X[1])
    same(insdel.Trees.of(model).game(X[0], X[1]), values)


@pytest.mark.parametrize("make, inner", [(lightgbm, lambda m: m.booster_), (xgboost, lambda m: m.get_booster())])
def test_boosters(make, inner):
    model = make().fit(HOLES, Y)
    booster = insdel.Trees.of(inner(model)).game(HOLES[0], HOLES[1])
    np.testing.assert_array_equal(booster.shapley(), insdel.Trees.of(model).game(HOLES[0], HOLES[1]).shapley())
    assert booster.shapley().any()


def refused(match, call, kind=insdel.UserError):
    with pytest.raises(kind, match=match) as caught:
        call()
    assert str(caught.value).endswith(".")


def test_refusals_of_models():
    of, line = insdel.Trees.of, linear_model.LinearRegression()
    refused("needs a fitted .* but found a LinearRegression", lambda: of(line.fit(X, Y)), TypeError)
    refused("but found a int", lambda: of(3), TypeError)
    refused("not fitted yet", lambda: of(tree.DecisionTreeRegressor()))
    small = tree.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    refused("output must be from 0 to 0", lambda: of(small, 1))
    refused("output must be from 0 to 0", lambda: of(xgboost().fit(X, Y), 1))
    refused("whole number", lambda: of(small, 0.5))
    several = tree.DecisionTreeClassifier(max_depth=2).fit(X, np.c_[CLASSES, CLASSES])
    refused("several targets", lambda: of(several))
    refused("init=", lambda: of(boosted(init=line)))
    refused("linear leaves", lambda: of(lightgbm(linear_tree=True).fit(X, Y)))
    refused("gblinear", lambda: of(xgboost(booster="gblinear", max_depth=None).fit(X, Y)))
    vectors = xgboost(multi_strategy="multi_output_tree", tree_method="hist").fit(X, np.c_[Y, X[:, 0]])
    refused("vector leaves", lambda: of(vectors))
    words = FRAME[["f0", "f2"]].astype({"f2": str})
    refused("categorical", lambda: of(catboost(cat_features=["f2"]).fit(words, FRAME_Y)))


def test_refusals_of_games():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    trees = insdel.Trees.of(tree.DecisionTreeRegressor(max_depth=4).fit(frame, Y))
    refused("needs the columns \\['c'\\]", lambda: trees.game(frame.drop(columns="c").iloc[0], X[1]))
    refused("one pair", lambda: trees.game(X[:2], X[2:4]))
    refused("shape \\(6,\\)", lambda: trees.game(X[0, :5], X[1, :5]))
    refused("same features", lambda: trees.game(X[0, :5], X[1]))
    refused("3 rows and reference has 2", lambda: trees.games(X[:3], X[:2]))
    refused("chunk must be at least 1", lambda: list(trees.games(X[:3], X[:3], chunk=0)))
    refused("'z' is none", lambda: trees.game(X[0], X[1], [["a", "z"]]))
    refused("one group only", lambda: trees.game(X[0], X[1], [["a", "b"], ["b", "c"]]))
    game = trees.game(X[0], X[1])
    refused("permutation", lambda: game.curve([0, 0, 1, 2, 3, 4]))
    refused("feature indices", lambda: game.curve(np.zeros(6)), TypeError)
    refused("shape \\(5,\\)|shape is", lambda: game.curve(np.arange(5)))
    refused("mode must be", lambda: game.abc(np.arange(6), "up"))
    refused("mode must be", lambda: game.search("up"))
    refused("at least 1", lambda: game.random_abc(0))
    refused("bound needs the trees", lambda: random_game(8, 30, 0).search(bound=True, max_exact=0))


def test_a_model_that_predicts_something_else_is_refused():
    class Twice(tree.DecisionTreeRegressor):
        def predict(self, X, check_input=True):
            return 2 * super().predict(X, check_input)

    model = Twice(max_depth=3).fit(X, Y)
    refused("cannot be used in closed form", lambda: insdel.Trees.of(model))
    plain = tree.DecisionTreeRegressor(max_depth=3).fit(X, Y)
    trees = insdel.Trees.of(plain)
    plain.fit(X, Y + 1)
    refused("cannot be used in closed form", lambda: trees.game(X[0], X[1]))


@pytest.fixture(autouse=True)
def no_chatter():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="(lightgbm|sklearn|xgboost|catboost)")
        yield


@pytest.mark.parametrize("groups", [None, [[2, 0], [1, 4]]])
def test_background(groups):
    """The mean over a background is a game of leaves too: all of a Lattice's methods, and a bound."""
    model = ensemble.HistGradientBoostingRegressor(max_iter=15).fit(HOLES, Y)
    trees, rows = insdel.Trees.of(model), HOLES[20:27]
    for chunk in (None, 3):
        games = list(trees.games(HOLES[:3], background=rows, groups=groups, chunk=chunk))
        for game, x in zip(games, HOLES[:3], strict=True):
            lattice = insdel.Lattice.evaluate(model.predict, x, background=rows, groups=groups)
            assert game.players == lattice.players and game.n == lattice.n
            same(game, lattice.values)
            assert game._bound("insertion", 1.0) >= game.search().area - 1e-9
    np.testing.assert_allclose(trees.game(HOLES[0], background=rows, groups=groups).shapley(), games[0].shapley())


@pytest.mark.parametrize("how", ["pairs", "groups", "background", "both"])
def test_compare_takes_trees_by_itself(how):
    """Whatever the order of the frame's columns, with groups and backgrounds, and it tells where its scale is from."""
    points, target = wide(24)
    points = pd.DataFrame(points, columns=[f"c{j}" for j in range(24)])
    model = ensemble.HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=6).fit(points, target)
    mixed = points.iloc[:, np.random.default_rng(0).permutation(24)]
    options = {"groups": {"few": ["c3", "c0", "c7"]}} if how in ("groups", "both") else {}
    if how in ("background", "both"):
        options["background"] = mixed.iloc[10:15]
    else:
        options["reference"] = mixed.iloc[10:13]
    c = insdel.compare(
        model.predict, mixed.iloc[:3], methods=["kernel_shap", "best", "random"], progress=False, **options
    )
    assert set(c.scale["scale_from"]) == {"trees"} == set(c.summary(bootstrap=0)["scale_from"])
    values = insdel.explain("kernel_shap", model.predict, mixed.iloc[:3], **options)
    walks = insdel.curve(model.predict, mixed.iloc[:3], options.pop("reference", None), insdel.order(values), **options)
    area = c.table.query("method == 'kernel_shap' and mode == 'insertion'")["abc"]
    np.testing.assert_allclose(area, insdel.abc(walks), atol=1e-8)
    best = c.table.query("method == 'best'")
    np.testing.assert_allclose(best["score"], 1, atol=1e-9)
    assert (c.table.query("method != 'best'")["score"] < 1).all()


def test_explain_by_trees_equals_the_lattice():
    model = boosted()
    f = lambda rows: model.predict(rows)  # noqa: E731  nobody can read trees from it
    for options in ({"reference": X[100:200]}, {"background": X[90:94]}, {"background": X[90:94], "groups": [[0, 3]]}):
        values = insdel.explain("kernel_shap", model.predict, X[:100], **options)
        np.testing.assert_allclose(values, insdel.explain("kernel_shap", f, X[:100], **options), atol=1e-10)
    assert len(tree_pairs.tree_games(model.predict, Pairs.of(X[:2], X[2:4]))) == 2
    assert not tree_pairs.tree_games(f, Pairs.of(X[:2], X[2:4]))


def linked(name):
    values, target = wide(24)
    classes = np.digitize(target, [-3, 3])
    if name == "forest":
        return ensemble.RandomForestClassifier(5, max_depth=6, random_state=0).fit(values, classes), 1, values
    if name == "exp":
        counts = np.round(np.exp(target / 5))
        return ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=15).fit(values, counts), None, values
    two = lightgbm("LGBMClassifier").fit(values, target > 0)
    if name.startswith("two"):
        return two, int(name[-1]), values
    return xgboost("XGBClassifier").fit(values, classes), 2, values


@pytest.mark.parametrize("name, kind", [("forest", "trees"), ("exp", "link"), ("two 0", "link"), ("two 1", "link"),
                                        ("three", "link")])  # fmt: skip
def test_probabilities_go_through_the_link(name, kind):
    model, k, values = linked(name)
    f = model.predict if k is None else insdel.proba(model, k)
    games = tree_pairs.tree_games(f, Pairs.of(values[:2], values[2:4]))
    assert isinstance(games[0], TreeGame if kind == "trees" else tree_pairs.LinkedGame) and len(games) == 2
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(24), (3, 1)), axis=1)
    walks = np.stack([insdel.curve(f, values[0], values[2], row) for row in orders])
    np.testing.assert_allclose(games[0].curve(orders), walks, atol=1e-6)
    np.testing.assert_allclose(games[0].abc(orders, "deletion"), insdel.abc(walks, "deletion"), atol=1e-5)
    c = insdel.compare(f, values[:2], values[2:4], ["random", "best"], progress=False)
    assert set(c.scale["scale_from"]) == ({"trees"} if kind == "trees" else {"trees and link"})
    if kind == "link":
        assert games[0].search().area >= games[0].abc(games[0]._sample).max()
        np.testing.assert_allclose(games[0].expected_curve()[[0, -1]], walks[0][[0, -1]], atol=1e-6)


def test_few_features_behind_a_link():
    f = insdel.proba(ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0).fit(X, CLASSES), 1)
    game = tree_pairs.tree_games(f, Pairs.of(X[:1], X[1:2]))[0]
    lattice = insdel.Lattice.evaluate(f, X[0], X[1])
    for mode in MODES:
        best = lattice.abc(lattice.best_order(mode), mode)
        np.testing.assert_allclose(game.search(mode).area, best, atol=1e-9)
        assert game.search(mode).exact and abs(game.expected_abc(mode) - lattice.expected_abc(mode)) < 0.1 * abs(best)


def labels(kind):
    return kind(random_state=0).fit(wide(12)[0], 1 + np.digitize(wide(12)[1], [-3, 3])).predict


def floored(fitted, method, honest):
    """A method of a subclass, with a floor under its predictions; not `honest`: under the library's name."""
    inherited = getattr(type(fitted), method)

    def predict(self, rows):
        return np.maximum(inherited(self, rows), 0.4)

    fitted.__class__ = type("Floored", (type(fitted),), {method: predict if honest else wraps(inherited)(predict)})
    return getattr(fitted, method) if method == "predict" else insdel.proba(fitted, 1)


@pytest.mark.parametrize("f", [
    labels(tree.DecisionTreeClassifier), partial(labels(tree.ExtraTreeClassifier), check_input=True),
    labels(ensemble.ExtraTreesClassifier),
    *(lambda kind=kind, honest=honest: floored(kind().fit(wide(12)[0], wide(12)[1]), "predict", honest)
      for kind in (lightgbm, xgboost) for honest in (True, False)),
    *(lambda honest=honest: floored(lightgbm("LGBMClassifier").fit(wide(12)[0], wide(12)[1] > 0), "predict_proba", honest)
      for honest in (True, False)),
])  # fmt: skip
@pytest.mark.parametrize("background", [False, True])
def test_a_method_that_is_no_sum_of_leaves_between_x_and_its_reference_is_called(f, background):
    """Labels that are 1 at both ends as the first class's probability is, and floors that neither end reaches."""
    f, points = f() if getattr(f, "__name__", "") == "<lambda>" else f, wide(12)[0]
    values = f(points)
    equal = np.flatnonzero(values == 1) if set(values) <= {1, 2, 3} else np.argsort(np.where(values > 0.4, values, np.inf))
    x, rest = points[equal[:2]], {("background" if background else "reference"): points[equal[5:7]]}
    assert not tree_pairs.tree_games(f, Pairs.of(x, **{"reference": None, **rest}))
    found = insdel.explain("kernel_shap", f, x, **rest)
    np.testing.assert_allclose(found, insdel.explain("kernel_shap", lambda z: f(z), x, **rest), atol=1e-6)
