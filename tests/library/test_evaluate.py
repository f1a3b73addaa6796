"""Any model, any points, and clear words for bad ones."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

import insdel
from insdel.evaluate import predict

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
    assert np.array_equal(predict(model, X), predict(model, X))
    assert model.training and model.dropout.training


def test_outputs_of_shape_m_1_are_accepted_and_others_refused():
    assert predict(lambda z: z[:, :1], X).shape == (4,)
    with pytest.raises(ValueError, match=r"4 points gave an output of shape \(4, 3\)"):
        predict(lambda z: z, X)
    with pytest.raises(ValueError, match=r"4 points gave an output of shape \(3,\)"):
        predict(lambda z: z[:3, 0], X)


def test_the_users_own_error_comes_through():
    def f(z):
        raise KeyError("my bug")

    with pytest.raises(KeyError, match="my bug"):
        predict(f, X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad):
    points = X.copy()
    points[2, 1] = bad
    with pytest.raises(ValueError, match=r"x must be finite, but x\[2, 1\] is"):
        insdel.curve(numpy_only, points, X, [0, 1, 2])
    with pytest.raises(ValueError, match=r"reference must be finite"):
        insdel.curve(numpy_only, torch.tensor(X), torch.tensor(points), [0, 1, 2])
    with pytest.raises(ValueError, match="f must be finite, but it returned"):
        predict(lambda z: np.full(len(z), bad), X)


@pytest.mark.parametrize(
    ("x", "reference", "message"),
    [
        (np.zeros(3), np.zeros(4), "x has 3 and reference has 4"),
        (np.zeros((2, 3)), np.zeros((3, 3)), "x has 2 rows and reference has 3"),
        (np.zeros((2, 2, 3)), np.zeros(3), r"shape \(n,\) or \(pairs, n\)"),
        (np.zeros(0), np.zeros(0), "n ≥ 1"),
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
