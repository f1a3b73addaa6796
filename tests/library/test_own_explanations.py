"""Explanations that users bring, on the objects that they have: what could go wrong in silence is right, or refused."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import insdel
from insdel.errors import UserError
from insdel.frames import encode
from insdel.report import _grade, _walks


def table(rows=240, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=rows),
            "age": rng.normal(size=rows),
            "town": pd.Categorical(rng.choice(["north", "south", "west"], rows)),
            "branch": pd.Categorical(rng.choice([100, 200, 300], rows)),
            "rooms": rng.integers(1, 6, rows),
            "gap": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows)),
        },
        index=np.arange(rows) + 1000,
    )
    effect = frame["town"].map({"north": 2.0, "south": 0.0, "west": -1.0}).astype(float)
    branch = frame["branch"].map({100: 0.0, 200: 3.0, 300: -3.0}).astype(float)
    return frame, frame["size"] * frame["age"] + effect + branch + 0.5 * frame["rooms"] + frame["gap"].fillna(1)


FRAME, TARGET = table()
PIPE = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["town", "branch"]), remainder="passthrough"),
    HistGradientBoostingRegressor(max_iter=30),
).fit(FRAME, TARGET)
X, R = FRAME.iloc[:20], FRAME.iloc[20:40]
NUMBERS = FRAME[["size", "age", "rooms"]]
BOOSTED = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(NUMBERS, TARGET)
F, A, B = BOOSTED.predict, NUMBERS.iloc[:10], NUMBERS.iloc[10:20]


def by_hand(f, x, reference):
    """Kernel SHAP and its insertion areas with loops over data frames: nothing of the library but sums."""
    n, areas, shapley = x.shape[1], [], []
    for k in range(len(x)):
        rows = pd.concat([x.iloc[[k]]] * 2**n, ignore_index=True)
        for j, column in enumerate(x.columns):
            taken = [S for S in range(2**n) if S >> j & 1]
            kept = rows[column].astype(object)
            kept.iloc[taken] = reference[column].iloc[k]
            rows[column] = kept.astype(x[column].dtype)
        values = f(rows)
        lattice = insdel.Lattice(values, tuple(range(n)), n)
        shapley.append(lattice.shapley())
        areas.append(float(lattice.abc(insdel.order(shapley[-1]))))
    return np.array(shapley), np.array(areas)


def areas(comparison, method, mode="insertion"):
    rows = comparison.table.query("method == @method and mode == @mode")
    return rows.set_index("pair")["abc"].to_numpy()


def test_a_pipeline_gets_the_data_frame_with_categories_of_text_and_numbers_and_gaps():
    values, expected = by_hand(PIPE.predict, X, R)
    assert np.allclose(insdel.explain("kernel_shap", PIPE.predict, X, R), values)
    c = insdel.compare(PIPE.predict, X, R, ["kernel_shap"], progress=False)
    assert np.allclose(areas(c, "kernel_shap"), expected) and c.table["row"].iloc[0] == 1000


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_integer_categories_stay_categories(library):
    module = pytest.importorskip(library)
    options = {"enable_categorical": True} if library == "xgboost" else {"verbose": -1}
    kind = module.XGBRegressor if library == "xgboost" else module.LGBMRegressor
    model = kind(n_estimators=20, **options).fit(FRAME, TARGET)
    c = insdel.compare(model.predict, X, R, ["kernel_shap"], progress=False)
    assert np.allclose(areas(c, "kernel_shap"), by_hand(model.predict, X, R)[1], atol=1e-4)


def test_default_methods_fit_a_model_without_gradients(capsys):
    c = insdel.compare(BOOSTED.predict, NUMBERS.iloc[:4], NUMBERS.iloc[4:8])
    assert set(c.table["method"]) == {"kernel_shap", "two_sided", "lime", "occlusion", "random"}
    assert "no methods named, so kernel_shap, two_sided" in "".join(capsys.readouterr())


def explanation(values, base, names="abc", data=None):
    return shap.Explanation(values=np.asarray(values), base_values=base, data=data, feature_names=list(names))


@pytest.mark.parametrize("kind", ["explanation", "array", "frame", "shuffled", "dictionary of one ranking", "function"])
def test_attributions_of_every_kind_are_matched(kind):
    change = insdel.explain("kernel_shap", F, A, B)
    frame = pd.DataFrame(-change, index=A.index, columns=A.columns)
    mine = {
        "explanation": lambda: explanation(-change, F(B), A.columns),
        "array": lambda: insdel.attributions(-change, sign="shap"),
        "frame": lambda: insdel.attributions(frame, sign="shap"),
        "shuffled": lambda: insdel.attributions(frame[["rooms", "size", "age"]].iloc[::-1], sign="shap"),
        "dictionary of one ranking": lambda: insdel.attributions(dict(zip(A.columns[::-1], change[0, ::-1], strict=True)), sign="change"),
        "function": lambda: lambda f, x, r: insdel.explain("kernel_shap", f, x, r),
    }[kind]()
    c = insdel.compare(F, A, B, {"mine": mine, "ours": "kernel_shap"}, progress=False)
    if kind == "dictionary of one ranking":
        walks = insdel.curve(F, A, B, insdel.order(change[0]))
        assert np.allclose(areas(c, "mine"), insdel.abc(walks))
    else:
        assert np.allclose(areas(c, "mine"), areas(c, "ours"))
        assert np.allclose(areas(c, "mine", "deletion"), areas(c, "ours", "deletion"))


def test_unsigned_importances_take_the_largest_first_in_both_tests():
    gain = insdel.attributions(BOOSTED.feature_importances_, ranking="absolute")
    c = insdel.compare(F, A, B, {"gain": gain}, progress=False)
    walks = insdel.curve(F, A, B, np.argsort(-BOOSTED.feature_importances_, kind="stable"))
    assert np.allclose(areas(c, "gain"), insdel.abc(walks))
    assert np.allclose(areas(c, "gain", "deletion"), insdel.abc(walks, "deletion"))


@pytest.mark.parametrize("bare", [np.zeros((10, 3)), [[0.0] * 3] * 10, NUMBERS.iloc[:10], torch.zeros(10, 3)])
def test_a_bare_array_is_refused_with_both_signs_named(bare):
    with pytest.raises(insdel.UserError, match='(?s)insdel.attributions.*sign="shap".*sign="change"'):
        insdel.compare(F, A, B, {"mine": bare})
    with pytest.raises(insdel.UserError, match="attributions need a sign"):
        insdel.attributions(bare)


def test_the_wrong_sign_is_noticed_by_sums_and_by_chance():
    change = insdel.explain("kernel_shap", F, A, B)
    for unit in (1, 1e-6):
        with pytest.warns(UserWarning, match="mine: the attributions add up to f\\(x\\) − f\\(x′\\), the opposite"):
            mine = {"mine": insdel.attributions(unit * change, sign="shap")}
            insdel.compare(lambda z, unit=unit: unit * F(z), A, B, mine, progress=False)
    ranks = change.argsort(axis=1).argsort(axis=1).astype(float)
    for rows in (slice(None), [0]):
        with pytest.warns(UserWarning, match="clearly below chance"):
            mine = {"mine": insdel.attributions(-ranks[rows], sign="change")}
            insdel.compare(F, A.iloc[rows], B.iloc[rows], mine, progress=False)


def test_an_explanation_against_another_reference_is_noticed_with_both_numbers():
    values = -insdel.explain("kernel_shap", F, A, background=NUMBERS)
    other = explanation(values, np.full(10, F(NUMBERS).mean()), A.columns)
    with pytest.warns(UserWarning, match=r"different references. The explanation starts from .* but f\(x′\) is"):
        insdel.compare(F, A, B, {"shap": other}, progress=False)


def test_shap_values_of_a_tree_score_like_our_own_against_the_same_background():
    background = NUMBERS.iloc[100:120]
    explanation = shap.TreeExplainer(BOOSTED, background, feature_perturbation="interventional")(NUMBERS.iloc[:8])
    c = insdel.compare(BOOSTED.predict, NUMBERS.iloc[:8], background=background,
                       methods={"TreeSHAP": explanation, "ours": "kernel_shap"}, progress=False)  # fmt: skip
    scores = c.summary(bootstrap=0).set_index(["method", "mode"])["score"]
    assert np.allclose(scores["TreeSHAP"], scores["ours"], atol=0.02)


def test_groups_are_single_steps_everywhere():
    groups = {"place": ["town", "branch"]}
    x, reference = X.iloc[0], R.iloc[0]
    curve = insdel.curve(PIPE.predict, X.iloc[[0]], R.iloc[[0]], [2, 0, 1, 3, 4], groups)[0]
    middle = X.iloc[[0]].copy()
    middle["town"], middle["branch"] = R["town"].iloc[[0]].to_numpy(), R["branch"].iloc[[0]].to_numpy()
    assert curve[1] == pytest.approx(PIPE.predict(middle.astype(X.dtypes.to_dict()))[0]) and len(curve) == 6
    lattice = next(insdel.lattices(PIPE.predict, X.iloc[[0]], R.iloc[[0]], groups=groups))
    assert lattice.n == 5 and np.isclose(lattice.shapley().sum(), lattice.values[-1] - lattice.values[0])
    c = insdel.compare(PIPE.predict, X, R, ["kernel_shap", "best"], groups=groups, progress=False)
    columns = insdel.explain("kernel_shap", PIPE.predict, X, R)
    summed = {"summed": insdel.attributions(columns, sign="change"), "best": "best"}
    d = insdel.compare(PIPE.predict, X, R, summed, groups=groups, progress=False)
    assert c.pairs.names == ["size", "age", "place", "rooms", "gap"]
    assert (areas(c, "best") >= areas(d, "summed") - 1e-9).all() and x.shape == reference.shape
    with pytest.raises(insdel.UserError, match="'nowhere' is none of size"):
        insdel.compare(PIPE.predict, X, R, groups={"g": ["nowhere"]})
    with pytest.raises(insdel.UserError, match="a column in one group only; found 'town' twice"):
        insdel.compare(PIPE.predict, X, R, groups={"g": ["town"], "h": ["town"]})
    with pytest.raises(insdel.UserError, match="True is none of 0, 1, 2"):
        insdel.compare(F, A.to_numpy(), B.to_numpy(), groups={"a mask": [True, False, True]})


def test_gradients_are_summed_over_groups_and_averaged_over_a_background():
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    rng = np.random.default_rng(0)
    x, rows = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    each = np.mean([insdel.explain("integrated_gradients", net, x, row) for row in rows], axis=0)
    grouped = insdel.explain("integrated_gradients", net, x, background=rows, groups=[[0, 2]])
    assert np.allclose(grouped, np.stack([each[:, 0] + each[:, 2], each[:, 1], each[:, 3]], axis=1))


def test_a_background_averages_the_lattices_of_its_rows():
    rows = NUMBERS.iloc[50:57]
    lattice = next(insdel.lattices(BOOSTED.predict, NUMBERS.iloc[[0]], background=rows))
    each = [next(insdel.lattices(BOOSTED.predict, NUMBERS.iloc[[0]], rows.iloc[[k]])) for k in range(7)]
    mean = np.mean([part.shapley() for part in each], axis=0)
    assert np.allclose(lattice.shapley(), mean) and lattice.players == (0, 1, 2)
    with pytest.raises(insdel.UserError, match="pass them as background"):
        insdel.compare(BOOSTED.predict, NUMBERS.iloc[:3], rows)
    with pytest.raises(insdel.UserError, match="and not both"):
        insdel.compare(BOOSTED.predict, NUMBERS.iloc[:3], rows.iloc[0], background=rows)


def test_classes_of_a_classifier():
    labels = pd.qcut(TARGET, 3, labels=False)
    classifier = RandomForestClassifier(15, random_state=0).fit(NUMBERS, labels)
    x, reference = NUMBERS.iloc[:12], NUMBERS.iloc[12:24]
    predicted = classifier.predict_proba(x).argmax(axis=1)
    c = insdel.compare(insdel.proba(classifier, "predicted"), x, reference, ["kernel_shap"], progress=False)
    for k in range(3):
        one = insdel.compare(insdel.proba(classifier, k), x, reference, ["kernel_shap"], progress=False)
        assert np.allclose(areas(c, "kernel_shap")[predicted == k], areas(one, "kernel_shap")[predicted == k])
    stacked = np.stack([-insdel.explain("kernel_shap", insdel.proba(classifier, k), x, reference) for k in range(3)], axis=2)
    many = explanation(stacked, classifier.predict_proba(reference), x.columns)
    picked = insdel.compare(insdel.proba(classifier, "predicted"), x, reference, {"shap": many}, progress=False)
    assert np.allclose(areas(picked, "shap"), areas(c, "kernel_shap"))
    with pytest.raises(insdel.UserError, match="k must be a class from 0 to 2"):
        insdel.proba(classifier, 3)
    with pytest.raises(insdel.UserError, match="insdel.proba"):
        insdel.compare(lambda z: classifier.predict_proba(z)[:, 0], x, reference, {"shap": many}, progress=False)


def test_the_score_is_0_for_chance_and_1_for_the_best_and_marked_where_a_search_found_it():
    c = insdel.compare(F, A, B, ["best", "expected", "kernel_shap"], progress=False)
    scores = c.table.pivot_table(index=["pair", "mode"], columns="method", values="score")
    assert np.allclose(scores["best"], 1) and np.allclose(scores["expected"], 0)
    assert set(c.summary(bootstrap=0)["best_is"]) == {"exact"}
    rng = np.random.default_rng(0)
    weights = rng.normal(size=24)
    far = insdel.compare(lambda z: z @ weights, rng.normal(size=(2, 24)), rng.normal(size=(2, 24)), ["two_sided"], progress=False)
    assert set(far.summary(bootstrap=0)["best_is"]) <= {"search", "exact"}
    assert np.allclose(far.table["score"], 1)  # additive: this order is the best
    assert np.allclose(far.scale["expected"], 0, atol=1e-9)  # of an order and the same order reversed
    flat = insdel.compare(lambda z: z[:, 0] * 0.0, rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), ["two_sided"], progress=False)
    assert flat.table["score"].isna().all() and flat.summary(bootstrap=0)["score"].isna().all()


def test_a_difference_is_tested_by_shared_points():
    x, reference, f = NUMBERS.iloc[:30], NUMBERS.iloc[30:60], BOOSTED.predict
    c = insdel.compare(f, x, reference, ["kernel_shap", "random"], progress=False)
    test = c.test("kernel_shap", "random")
    gap = areas(c, "kernel_shap") - areas(c, "random")
    row = test.query("mode == 'insertion'").iloc[0]
    assert row["mean"] == pytest.approx(gap.mean()) and row["low"] < row["mean"] < row["high"]
    assert row["se"] == pytest.approx(insdel.stats.standard_error(gap, np.arange(30), np.arange(30, 60)))
    assert (test["p_holm"] >= test["p"]).all() and (test["p"] < 0.05).all()
    fixed = insdel.compare(f, x, reference.iloc[0], ["kernel_shap"], progress=False)
    assert (fixed.points["reference_row"] == -1).all()
    for call in (lambda: c.test("kernel_shap", "lime"), lambda: c.summary(differences=[("kernel_shap", "lmie")])):
        with pytest.raises(insdel.UserError, match="found 'l"):
            call()
    with pytest.raises(insdel.UserError, match="level must lie between 0 and 1, such as 0.95; found 95"):
        c.test("kernel_shap", "random", level=95)


def test_plots_and_report_show_names_and_stand_alone(tmp_path):
    c = insdel.compare(PIPE.predict, X, R, {"KS": "kernel_shap", "<mine>": "two_sided"}, progress=False)
    labels = [text.get_text() for text in c.plot().get_yticklabels()]
    assert labels == ["KS", "<mine>"]
    walk = c.plot_walk(1003)
    assert any(name in walk.get_legend().get_texts()[1].get_text() for name in FRAME.columns)
    with pytest.raises(insdel.UserError, match="row must be one of x's rows"):
        c.plot_walk(5)
    plt.close("all")
    page = c.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4 and "http" not in page.replace("http://www.w3.org", "") and "<mine>" not in page
    assert "&lt;mine&gt;" in page and "ranks best" in page
    assert float(re.search(r'height="([\d.]+)pt"', page)[1]) > 72 * (1.3 + 0.55 * 2) - 30  # room for two methods
    with pytest.raises(insdel.UserError, match="a report is an HTML page"):
        c.report(tmp_path / "r.pdf")


@pytest.mark.parametrize(
    ("scores", "error", "words"),
    [((-0.5, -0.4), 0.05, "clearly worse than"), ((-0.1, -0.1), 0.1, "hardly better than"), ((0.5, 0.2), 0.1, "hardly better than"),
     ((0.5, 0.3), 0.1, "clearly better than"), ((0.93, 0.99), 0.01, "close to the best"), ((0.9, 0.2), np.nan, "clearly better")],
)  # fmt: skip
def test_scores_in_words(scores, error, words):
    assert _grade(pd.DataFrame({"score": scores, "score_se": error})).startswith(words)


def test_a_report_gives_no_p_value_where_there_is_none(tmp_path):
    """One row, or areas that are equal in all rows, leave nothing to judge a difference by."""
    c = insdel.compare(PIPE.predict, X, R, {"KS": "kernel_shap", "again": "kernel_shap"}, progress=False)
    page = c.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "nan" not in page and "0.0001" not in page and page.count("<td>–</td>") == 4


def test_frames_come_back_as_they_were():
    frame = FRAME.assign(day=pd.Timestamp("2020-01-01"), text="a", big=2**60 + 1, flag=True, small=np.float32(0.1))
    frame["text"] = frame["text"].where(np.arange(len(frame)) % 2 == 0, None)
    frame["whole"] = pd.array([1, None] * (len(frame) // 2), dtype="Int64")
    columns, [numbers] = encode(frame)
    back = columns.frame(numbers)
    pd.testing.assert_frame_equal(back.fillna({"text": "-"}), frame.fillna({"text": "-"}).reset_index(drop=True))
    with pytest.raises(insdel.UserError, match="needs the same categories"):
        encode(frame[["town"]], frame[["town"]].assign(town=pd.Categorical(["east"] * len(frame))))


def test_many_features_of_a_tree_ensemble_are_graded_in_closed_form():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 24)), columns=[f"c{k}" for k in range(24)])
    target = frame["c0"] * frame["c1"] + frame["c2"] - np.abs(frame["c3"])
    model = HistGradientBoostingRegressor(max_iter=25, max_depth=4).fit(frame, target)
    x, reference = frame.iloc[:4], frame.iloc[4:8]
    calls = []
    f = model.predict
    c = insdel.compare(f, x, reference, ["kernel_shap", "two_sided", "expected", "best"], progress=False)
    shapley = np.stack([game.shapley() for game in insdel.Trees.of(model).games(x, reference)])
    walks = insdel.curve(f, x, reference, insdel.order(shapley))
    assert np.allclose(areas(c, "kernel_shap"), insdel.abc(walks), atol=1e-6)
    sampled = insdel.compare(lambda z: (calls.append(len(z)), f(z))[1], x, reference, ["two_sided"], progress=False)
    assert np.allclose(areas(c, "two_sided"), areas(sampled, "two_sided"), atol=1e-6) and sum(calls) > 1000
    found = c.scale.merge(sampled.scale, on=["pair", "mode"], suffixes=("", "_sampled"))
    assert np.allclose(found["expected"], found["expected_sampled"], atol=0.25 * found["best"].max())
    assert (found["best"] >= found["best_sampled"] - 1e-6).all()  # the search on leaves is no worse than the beam
    assert np.allclose(c.table.query("method == 'expected'")["score"], 0)


@pytest.mark.parametrize("gap", [None, "v"])
def test_text_columns_reach_the_model_as_text_and_gaps_as_gaps(gap):
    """As CatBoost takes them; pandas keeps text in several kinds of arrays."""
    x = pd.DataFrame({"kind": ["u", "v", gap], "size": [1.0, 2.0, 3.0]})
    reference = pd.DataFrame({"kind": ["v", "u", "u"], "size": 0.0})
    kinds = []

    def f(frame):
        kinds.append(frame["kind"].dtype)
        return frame["kind"].map({"u": 5.0, "v": 1.0}).astype(float).fillna(2).to_numpy() + frame["size"].to_numpy()

    for dtype in ("str", "object", "string"):
        x, reference = x.astype({"kind": dtype}), reference.astype({"kind": dtype})
        changes = insdel.explain("kernel_shap", f, x, reference)
        assert np.allclose(changes, [[-4, -1], [4, -2], [4 if gap else 3, -3]]) and kinds[-1] == x["kind"].dtype


def test_missing_objects_are_values():
    x = np.array([["a", pd.NA], ["b", 2.0]], dtype=object)
    reference = np.array([["b", pd.NA], ["b", pd.NA]], dtype=object)

    def f(z):
        return (z[:, 0] == "a") * 2.0 + np.array([-1.0 if v is pd.NA else v for v in z[:, 1]])

    assert np.allclose(insdel.explain("kernel_shap", f, x, reference), [[-2, 0], [0, -3]])


def test_whole_numbers_that_no_type_holds_are_refused():
    x, reference = np.array([[2**63 + 1]], dtype=np.uint64), np.array([[-5]], dtype=np.int64)
    with pytest.raises(UserError, match="uint64 and int64 have no common type for numbers as large"):
        insdel.explain("kernel_shap", lambda z: z[:, 0].astype(float), x, reference)


@pytest.mark.parametrize("data", [np.ones(3), None], ids=["with data", "values alone"])
def test_explanations_of_one_row_belong_to_one_row(data):
    weights = np.array([1.0, 2.0, 3.0])
    x, reference = pd.DataFrame(np.eye(3), columns=list("abc")), pd.DataFrame(np.zeros((1, 3)), columns=list("abc"))
    one = explanation([1.0, 0.0, 0.0], 0.0, data=data)
    f = lambda z: z.to_numpy() @ weights  # noqa: E731
    single = insdel.compare(f, x.iloc[[0]], reference, {"mine": one, "best": "best"}, progress=False)
    assert len(single.table) == 4
    with pytest.raises(UserError, match="needs a row for each of the 3 pairs; found 1 rows"):
        insdel.compare(f, x, reference, {"mine": one}, progress=False)


def test_interaction_values_are_not_taken_for_classes():
    symmetric = np.random.default_rng(0).normal(size=(4, 3, 3))
    symmetric = symmetric + symmetric.transpose(0, 2, 1)
    given = insdel.attributions(symmetric, sign="shap")
    for chosen in (None, 1, np.zeros(4, dtype=int)):
        with pytest.raises(UserError, match="look like interaction values"):
            given.for_class(chosen)


def test_a_list_of_arrays_is_one_for_each_class():
    """What shap returned for classifiers before version 0.45."""
    classes = list(np.random.default_rng(0).normal(size=(2, 5, 3)))
    given = insdel.attributions(classes, sign="shap")
    assert np.array_equal(given.for_class(1).values, -classes[1])
    with pytest.raises(UserError, match="class 2 is needed, but these attributions are for 2 outputs"):
        given.for_class(2)


def test_rows_may_have_equal_names_if_they_stand_in_the_same_order():
    rng = np.random.default_rng(0)
    index, columns = [7, 7, 1, 1], list("abc")
    x, reference = (pd.DataFrame(rng.normal(size=(4, 3)), index=index, columns=columns) for _ in range(2))
    f = lambda z: (z.to_numpy() ** 2).sum(axis=1)  # noqa: E731
    values = pd.DataFrame(np.asarray(insdel.explain("kernel_shap", f, x, reference)), index=index, columns=columns)
    mine = {"mine": insdel.attributions(values, sign="change"), "best": "best"}
    assert np.allclose(insdel.compare(f, x, reference, mine, progress=False).table["score"], 1)


TEN = pd.RangeIndex(10)


@pytest.mark.parametrize("x, given, rows", [  # the index of x, that of the attributions, and which of their rows count
    (TEN, TEN, TEN), (TEN + 40, TEN, TEN), (TEN, TEN + 45, TEN), (list("abcdefghij"), TEN, TEN), (TEN[::-1], TEN, TEN[::-1]),
    (TEN + 40, pd.RangeIndex(60), TEN + 40), (TEN + 40, TEN[::-1] + 40, TEN[::-1]), ([0] * 10, TEN, TEN),
    (TEN + 40, TEN + 45, "must have the rows of x"), (TEN + 40, list("abcdefghij"), "must have the rows of x"),
    (TEN, pd.RangeIndex(60), "a row for each of the 10 pairs"), (TEN + 55, pd.RangeIndex(60), "a row for each of the 10"),
    (TEN[::-1], None, TEN), (TEN + 40, None, TEN),
])  # fmt: skip
def test_rows_are_matched_by_label_and_counted_only_where_one_side_has_no_labels(x, given, rows):
    values = np.random.default_rng(0).normal(size=(10 if given is None else len(given), 3))
    brought = values if given is None else pd.DataFrame(values, index=given, columns=list("abc"))
    f, points = lambda z: z.to_numpy().sum(axis=1) ** 2, NUMBERS.iloc[:10].set_axis(x).set_axis(list("abc"), axis=1)

    def graded(values):
        mine = {"mine": insdel.attributions(values, sign="change")}
        return insdel.compare(f, points, np.zeros(3), mine, progress=False, score=False).table

    if isinstance(rows, str):
        with pytest.raises(UserError, match=rows):
            graded(brought)
    else:
        pd.testing.assert_frame_equal(graded(brought), graded(values[rows]))


def test_columns_of_attributions_with_one_name_are_refused():
    with pytest.raises(UserError, match="need different names, but 'b' occurs twice"):
        insdel.attributions(pd.DataFrame(np.zeros((2, 3)), columns=list("abb")), sign="shap")


def test_means_of_an_explanation_rank_for_all_pairs():
    values = np.random.default_rng(0).normal(size=(10, 3))
    one = insdel.attributions(explanation(values, np.zeros(10), A.columns, values).abs.mean(0), ranking="absolute")
    same = insdel.attributions(np.abs(values).mean(axis=0), ranking="absolute")
    c = insdel.compare(F, A, B, {"one": one, "same": same}, progress=False)
    assert np.array_equal(areas(c, "one"), areas(c, "same"))


def test_classifiers_are_told_about_proba():
    x = np.random.default_rng(0).normal(size=(2, 3))
    with pytest.raises(UserError, match=r"shape \(\d+, 2\).*insdel.proba\(classifier, k\)"):
        insdel.explain("kernel_shap", lambda z: np.ones((len(z), 2)), x, x + 1)
    with pytest.raises(UserError, match=r"'yes' \(str.*insdel.proba\(classifier, k\)"):
        insdel.explain("kernel_shap", lambda z: np.array(["yes"] * len(z), dtype=object), x, x + 1)


def test_a_report_shows_the_walks_of_the_lowest_and_the_highest_score() -> None:
    rng = np.random.default_rng(1)
    x, reference = rng.normal(size=(2, 7, 5))
    c = insdel.compare(lambda z: np.exp(z).prod(axis=1) + z[:, 0] * z[:, 1], x, reference, ["occlusion"], progress=False)
    scores = c.table.groupby("row")["score"].mean()
    rows = [row for row, *_ in _walks(c, ["occlusion"])]
    assert rows[0] == scores.idxmin() and rows[-1] == scores.idxmax() and len(rows) == 3
