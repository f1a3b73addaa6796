"""Any model, any points, and clear words for bad ones."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.linear_model import LinearRegression

import insdel
from insdel import attribution
from insdel.evaluate import BatchModel, chunk_rows, predict, progress_off

W = np.array([1.0, -2.0, 0.5])
X = np.random.default_rng(0).normal(size=(4, 3))


class Linear(torch.nn.Module):
    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(W, dtype=dtype))
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, z):
        return self.dropout(z) @ self.weight


def numpy_only(z):
    if not isinstance(z, np.ndarray):
        raise TypeError("arrays only")
    return z @ W


def tensor_only(z):
    return torch.einsum("mn,n->m", z, torch.tensor(W, dtype=z.dtype))


sklearn = LinearRegression(fit_intercept=False).fit(np.eye(3), W).predict
MODELS = [Linear(), Linear(torch.float64), numpy_only, tensor_only, sklearn]


@pytest.mark.parametrize("f", MODELS)
@pytest.mark.parametrize("points", [X, torch.tensor(X), torch.tensor(X, dtype=torch.float32), X.tolist()])
def test_every_model_takes_every_kind_of_points(f, points):
    values = predict(f, points)
    assert isinstance(values, torch.Tensor if isinstance(points, torch.Tensor) else np.ndarray)
    assert np.allclose(np.asarray(values), X @ W, atol=1e-6)


@pytest.mark.parametrize("f", MODELS)
def test_curves_keep_kind_and_rank(f):
    reference, order = np.zeros(3), [2, 0, 1]
    for x in (X[0], torch.tensor(X[0])):
        walk = insdel.curve(f, x, reference, order)
        assert type(walk) is type(x) and walk.shape == (4,)
        assert np.allclose(np.asarray(walk), [X[0] @ W, X[0][:2] @ W[:2], X[0][1] * W[1], 0], atol=1e-6)
        assert insdel.curve(f, x[None], reference, order).shape == (1, 4)


def test_dropout_is_off_and_the_mode_is_put_back():
    model = Linear().train()
    for f in (model, model.forward):
        assert np.allclose(predict(f, X), X @ W, atol=1e-6)
        assert model.training and model.dropout.training


def test_outputs_of_shape_m_1_are_accepted_and_others_refused():
    assert predict(lambda z: z[:, :1], X).shape == (4,)
    with pytest.raises(ValueError, match=r"4 points gave an output of shape \(4, 3\)"):
        predict(lambda z: z, X)
    with pytest.raises(ValueError, match=r"4 points gave an output of shape \(3,\)"):
        predict(lambda z: z[:3, 0], X)
    with pytest.raises(insdel.UserError, match="real numbers"):
        predict(lambda z: z[:, 0] + 1j, X)
    with pytest.raises(insdel.UserError, match="a masked array, whose mask would be lost"):
        predict(lambda z: np.ma.masked_greater(z[:, 0], 0), X)


def test_nan_is_a_value_where_f_accepts_it_and_equals_nan():
    f = lambda z: np.where(np.isnan(z), 10.0, z).sum(axis=1)  # noqa: E731
    x, reference = np.array([np.nan, 1.0, np.nan]), np.array([np.nan, 2.0, 5.0])
    lattice = insdel.Lattice.evaluate(f, x, reference)
    assert lattice.players == (1, 2) and lattice.values.tolist() == [21.0, 22.0, 16.0, 17.0]
    assert insdel.explain("two_sided", f, x, reference).tolist() == [0.0, 1.0, -5.0]
    with pytest.raises(ValueError, match="f must be finite, but it returned nan"):
        insdel.curve(numpy_only, x, reference, [0, 1, 2])


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad):
    points = X.copy()
    points[2, 1] = bad
    with pytest.raises(ValueError, match=r"x must be finite, but x\[2, 1\] is"):
        insdel.curve(numpy_only, points, X, [0, 1, 2])
    with pytest.raises(ValueError, match=r"reference must be finite"):
        insdel.curve(numpy_only, torch.tensor(X), torch.tensor(points), [0, 1, 2])
    with pytest.raises(ValueError, match="f must be finite, but it returned"):
        predict(lambda z: np.full(len(z), bad), X)
    coloured_x = np.array(["red", 1.0, bad], dtype=object)
    with pytest.raises(insdel.UserError, match=r"x must be finite, but x\[2\] is"):
        insdel.Lattice.evaluate(coloured, coloured_x, np.array(["blue", 1.0, 2.0], dtype=object))


@pytest.mark.parametrize(
    ("x", "reference", "message"),
    [
        (np.zeros(3), np.zeros(4), "x has 3 and reference has 4"),
        (np.zeros((2, 3)), np.zeros((3, 3)), "x has 2 rows and reference has 3"),
        (np.zeros((2, 2, 3)), np.zeros(3), r"shape \(n,\) or \(pairs, n\)"),
        (np.zeros(0), np.zeros(0), "n ≥ 1"),
        (scipy.sparse.csr_array(np.eye(3)), np.zeros(3), r"it is a csr_array of shape \(\)\. .*x\.toarray\(\)"),
        (np.zeros(3), (row for row in np.eye(3)), r"it is a generator of shape \(\)\. .*list\(reference\) of a generator"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(x, reference, message):
    with pytest.raises(ValueError, match=message):
        insdel.curve(numpy_only, x, reference, [0, 1, 2])


def test_an_estimator_is_not_a_function():
    with pytest.raises(TypeError, match="Pass its predict method"):
        predict(LinearRegression(), X)
    with pytest.raises(ValueError, match="chunk must be at least 1"):
        predict(numpy_only, X, chunk=0)


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
OTHER = pd.DataFrame(X[::-1] + 1, columns=["a", "b", "c"])


@pytest.mark.parametrize("shuffled", [OTHER[["c", "a", "b"]], OTHER.iloc[0][["b", "c", "a"]]])
def test_frames_are_paired_by_the_names_of_their_columns(shuffled):
    plain = shuffled[["a", "b", "c"]]
    product = lambda z: z["a"] * z["b"] + z["c"]  # noqa: E731
    for call in (
        lambda r: insdel.curve(product, FRAME, r, [0, 1, 2]),
        lambda r: insdel.compare(product, FRAME, r, ["occlusion", "best"]).table["abc"],
        lambda r: np.stack([lattice.dividends() for lattice in insdel.lattices(product, FRAME, r)]),
        lambda r: attribution.completeness(product, FRAME, r, insdel.explain("occlusion", product, FRAME, plain)),
        lambda r: insdel.policies.average(FRAME, data=pd.DataFrame(r).T if r.ndim == 1 else r).reference,
    ):
        assert np.array_equal(call(shuffled), call(plain))


def test_a_background_frame_is_read_by_its_names():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)) * [1, 5, 20], columns=["a", "b", "c"])
    found = [
        insdel.explain("lime_tabular", lambda z: z[["a", "b", "c"]].to_numpy() @ W, FRAME, OTHER, background=table, samples=100)
        for table in (rows, rows[["c", "b", "a"]])
    ]
    assert np.array_equal(*found)


def test_frames_with_other_columns_are_refused_with_both_lists():
    renamed = OTHER.rename(columns={"c": "d"})
    with pytest.raises(insdel.UserError, match="x has a, b, c; reference has a, b, d; missing: c; not in x: d"):
        insdel.explain("random", numpy_only, FRAME, renamed)
    with pytest.raises(insdel.UserError, match="points has a, b, c; data has a, b, d"):
        insdel.policies.average(FRAME, data=renamed)
    doubled = pd.DataFrame(X, columns=["a", "b", "b"])
    with pytest.raises(insdel.UserError, match="each once"):
        insdel.curve(numpy_only, FRAME, doubled, [0, 1, 2])


def test_frames_without_names_and_arrays_are_paired_by_position():
    expected = insdel.curve(numpy_only, X, X[::-1] + 1, [0, 1, 2])
    for reference in (pd.DataFrame(X[::-1] + 1), X[::-1] + 1, torch.tensor(X[::-1] + 1)):
        assert np.allclose(insdel.curve(lambda z: z.to_numpy() @ W, FRAME, reference, [0, 1, 2]), expected)


@pytest.mark.parametrize("wrap", [lambda m: m.predict, lambda m: partial(m.predict)])
def test_columns_in_another_order_than_the_model_was_fitted_to_reach_it_in_its_own(wrap):
    model = LinearRegression().fit(FRAME, X @ W)
    f, swapped = wrap(model), FRAME[["b", "a", "c"]]
    assert np.allclose(predict(f, swapped), predict(f, FRAME))
    values = insdel.explain("kernel_shap", f, swapped, OTHER)
    assert np.allclose(values[:, [1, 0, 2]], insdel.explain("kernel_shap", f, FRAME, OTHER))
    with pytest.raises(insdel.UserError, match="fitted to the columns a, b, c, but x has a, b, d"):
        predict(f, FRAME.rename(columns={"c": "d"}))


def test_a_function_gets_the_columns_as_they_stand_whatever_models_it_mentions():
    model = LinearRegression().fit(FRAME.rename(columns=str.upper), X @ W)

    def f(z):
        return model.predict(z.rename(columns=str.upper)[["A", "B", "C"]]) * (list(z) == ["b", "a", "c"])

    swapped = FRAME[["b", "a", "c"]]
    assert np.allclose(predict(f, swapped), X @ W)
    values = insdel.explain("kernel_shap", f, swapped, OTHER)
    assert np.allclose(values[:, [1, 0, 2]], (OTHER - FRAME) * W)


def test_a_booster_of_lightgbm_gets_its_columns_in_its_own_order():
    library = pytest.importorskip("lightgbm")
    small = {"verbose": -1, "min_data_in_leaf": 1, "min_data_in_bin": 1}
    booster = library.train(small, library.Dataset(FRAME, X @ W), 5)
    assert np.allclose(predict(booster.predict, FRAME[["b", "c", "a"]]), booster.predict(FRAME))


def test_a_function_of_arrays_is_told_what_a_data_frame_is_turned_into():
    with pytest.raises(TypeError) as caught:
        insdel.curve(numpy_only, FRAME, OTHER, [0, 1, 2])
    assert "pass x.to_numpy()" in caught.value.__notes__[0]


class TwoOutputs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.dropout = torch.nn.Linear(3, 2), torch.nn.Dropout(0.5)

    def forward(self, z):
        return self.dropout(self.inner(z))


def test_one_output_of_several_keeps_mode_gradients_and_precision():
    torch.manual_seed(0)
    model = TwoOutputs().double()
    for k in (0, 1, -1):
        f = insdel.output(model, k)
        wanted = model.inner(torch.tensor(X))[:, k].detach().numpy()
        assert np.array_equal(predict(f, X), predict(f, X)) and np.allclose(predict(f, X), wanted)
        assert f.training and model.training and model.dropout.training
        gradient = insdel.explain("vanilla_grad", f, X, X + 1)
        assert np.allclose(gradient, -model.inner.weight[k].detach().numpy())
        assert np.allclose(insdel.explain("deeplift", f, X, X + 1), gradient * -1)
    assert next(insdel.output(model, 0).parameters()) is model.inner.weight


def test_the_advice_for_several_outputs_names_it():
    with pytest.raises(insdel.UserError, match=r"insdel\.output\(model, k\)"):
        predict(TwoOutputs(), X)
    with pytest.raises(insdel.UserError, match=r"output 2 was asked for, but .* shape \(4, 2\)"):
        predict(insdel.output(TwoOutputs(), 2), X)
    with pytest.raises(TypeError, match="needs a torch module"):
        insdel.output(numpy_only, 0)
    with pytest.raises(TypeError, match="number of an output"):
        insdel.output(TwoOutputs(), "price")


@pytest.mark.parametrize("points", [np.zeros((0, 3)), torch.zeros(0, 3), pd.DataFrame(np.zeros((0, 3)))])
@pytest.mark.parametrize("f", MODELS)
def test_no_rows_give_no_predictions(f, points):
    values = predict(f, points)
    assert values.shape == (0,) and isinstance(values, torch.Tensor if isinstance(points, torch.Tensor) else np.ndarray)
    assert "64" in str(values.dtype)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, r: insdel.compare(numpy_only, x, r).table,
        lambda x, r: insdel.explain("random", numpy_only, x, r),
        lambda x, r: insdel.explain("kernel_shap", numpy_only, x, r),
        lambda x, r: insdel.curve(numpy_only, x, r, [0, 1, 2]),
        lambda x, r: list(insdel.lattices(numpy_only, x, r)),
        lambda x, r: insdel.Lattice.evaluate(numpy_only, x, r),
    ],
)
@pytest.mark.parametrize("reference", [np.zeros((0, 3)), np.zeros((1, 3)), np.zeros(3)])
def test_no_pairs_are_refused_in_one_sentence(call, reference):
    with pytest.raises(insdel.UserError, match=r"^at least one pair is needed, but x has 0 rows[^.]*\.$"):
        call(np.zeros((0, 3)), reference)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ([[1.0, 2.0], [3.0]], "rows equally long"),
        (X + 1j, "complex numbers"),
        (torch.tensor(X + 1j), "complex numbers"),
        (np.ma.masked_greater(X, 0), "masked array"),
        (X.astype(np.longdouble), "which no model computes in"),
        (torch.tensor(X).to_sparse(), "sparse"),
        (np.array([(1.0, 2.0, 3.0)], dtype="f8,f8,f8"), "structured"),
    ],
)
def test_numbers_that_would_be_cut_are_refused(bad, named):
    with pytest.raises(insdel.UserError, match=named):
        predict(numpy_only, bad)
    with pytest.raises(insdel.UserError, match=named):
        insdel.explain("kernel_shap", numpy_only, X, bad)
    with pytest.raises(insdel.UserError, match=named):
        insdel.compare(numpy_only, bad, X, ["random"])


def coloured(z):
    """A model of text and numbers, as pipelines with one-hot columns are."""
    return np.array([float(row[0] == "red") * row[1] + row[2] for row in z])


def test_features_of_any_type_in_every_call():
    x = np.array([["red", 2.0, 1.0], ["blue", 1.0, 5.0]], dtype=object)
    reference = np.array([["blue", 3.0, 1.0], ["red", 4.0, 0.0]], dtype=object)
    table = insdel.compare(coloured, x, reference, ["kernel_shap", "occlusion", "greedy", "random", "best"]).table
    lattices = list(insdel.lattices(coloured, x, reference))
    best = table.query("method == 'best' and mode == 'insertion'")["abc"].tolist()
    assert best == pytest.approx([lattice.abc(lattice.best_order()) for lattice in lattices])
    assert np.allclose(insdel.explain("kernel_shap", coloured, x, reference), [lat.shapley() for lat in lattices])
    assert np.isfinite(insdel.explain("lime", coloured, x, reference, samples=50)).all()
    with pytest.raises(insdel.UserError, match="numbers are needed here, but 'red'"):
        predict(Linear(), x)


def test_frames_with_booleans_and_numbers_reach_a_network():
    frame = pd.DataFrame({"a": [1.5, 2.0], "b": [True, False], "c": [1, 2]})
    assert np.asarray(frame).dtype == object
    values = frame.to_numpy().astype(float)
    assert np.allclose(predict(Linear(torch.float64), frame), values @ W)
    both = [insdel.compare(Linear(), part, part[::-1], ["kernel_shap", "occlusion"]).table for part in (frame, values)]
    assert np.allclose(*(table["abc"] for table in both))


class Greedy(torch.nn.Module):
    """A network on a device with little memory: more than `room` rows do not fit."""

    def __init__(self, room, error):
        super().__init__()
        self.inner, self.room, self.error, self.sizes = torch.nn.Linear(4, 1), room, error, []

    def forward(self, z):
        self.sizes.append(len(z))
        if len(z) > self.room:
            raise self.error
        return self.inner(z)


MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:125] DefaultCPUAllocator: can't allocate memory: you tried to"),
    MemoryError(),
]


@pytest.mark.parametrize("error", MEMORY)
@pytest.mark.parametrize(
    "method, options",
    [
        ("kernel_shap", {}),
        ("integrated_gradients", {"steps": 30}),
        ("deeplift", {}),
        ("vanilla_grad", {}),
        ("ig_interpolated", {"binary": [0, 1]}),
        ("ig_jump", {"binary": [0, 1]}),
    ],
)
def test_batches_shrink_where_memory_runs_out(error, method, options):
    x, reference = np.random.default_rng(0).normal(size=(2, 20, 4)).astype(np.float32)
    f = Greedy(7, error)
    found = insdel.explain(method, f, x, reference, **options)
    assert max(f.sizes) > 7 and np.isfinite(found).all()
    sizes, f.room = len(f.sizes), 10**9
    assert np.allclose(found, insdel.explain(method, f, x, reference, **options), atol=1e-6)
    assert sum(size > 7 for size in f.sizes[:sizes]) < 40  # it remembers


@pytest.mark.parametrize("error", MEMORY)
def test_a_function_that_runs_out_of_memory_is_called_with_less(error):
    f, points = Greedy(50, error), np.random.default_rng(0).normal(size=(400, 4))
    predict(f, points)
    assert f.sizes == [400, 200, 100] + 8 * [50]
    with pytest.raises(type(error)):  # one row is too many
        predict(Greedy(0, error), points)


def test_batches_know_the_widest_layer():
    cpu = torch.device("cpu")
    assert chunk_rows(4, cpu) == 2**13
    assert chunk_rows(4, cpu, width=2**17) == 2**6
    wide = torch.nn.Sequential(torch.nn.Linear(3, 2**15), torch.nn.ReLU(), torch.nn.Linear(2**15, 1))
    rows = []
    wide.register_forward_hook(lambda _, inputs, __: rows.append(len(inputs[0])))
    predict(wide, np.zeros((600, 3)))
    assert max(rows) == 2**8


@pytest.mark.parametrize("good", [0, 1])
def test_the_users_own_error_comes_through_and_the_kind_of_points_that_worked_is_kept(good):
    kinds = []

    def f(z):
        kinds.append(type(z))
        if len(kinds) > good:
            raise KeyError(f"my bug {len(kinds)}")
        return z[:, 0]

    model = BatchModel(f, X)
    for _ in range(good):
        model(X)
    with pytest.raises(KeyError, match=f"my bug {good + 1}"):  # of the kind that the user passed
        model(X)
    assert kinds == [np.ndarray, np.ndarray if good else torch.Tensor]  # tensors only where nothing has worked yet


def test_a_bar_is_shown_to_who_works_in_a_notebook_and_not_in_one_that_a_program_runs():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    code, shown = "from insdel.evaluate import progress_off; print(progress_off(None))", {}
    try:
        for someone in (True, False):
            client.execute_interactive(
                code, allow_stdin=someone, timeout=120,
                output_hook=lambda m, someone=someone: shown.setdefault(someone, m["content"]["text"].strip())
                if m["msg_type"] == "stream" else None,
                stdin_hook=lambda m: None,
            )  # fmt: skip
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert shown == {True: "False", False: "None"}
    assert progress_off(True) is False and progress_off(False) is True
