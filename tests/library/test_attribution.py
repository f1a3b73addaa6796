"""`explain`: closed forms, captum and shap as second implementations, and what it refuses."""

import captum.attr as captum
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor

from insdel import METHODS, Lattice, UserError, explain
from insdel.attribution import completeness

W = np.array([3.0, -1.0, 2.0, 0.5, -4.0, 1.5])
COMPLETE = ["kernel_shap", "integrated_gradients", "deeplift", "gradient_shap", "shapley_sampling", "ig_jump"]
COMPLETE += ["ig_interpolated"]
NEEDS = {"ig_jump": {"binary": [0, 2]}, "ig_interpolated": {"binary": [0, 2]}}


class Curved(torch.nn.Module):
    """A smooth function with interactions, in float64."""

    def __init__(self, n=6, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.a = torch.nn.Parameter(torch.randn(n, 8, generator=generator, dtype=torch.float64))
        self.b = torch.nn.Parameter(torch.randn(8, generator=generator, dtype=torch.float64))
        self.drop = torch.nn.Dropout(0.5)  # must be off for every attribution

    def forward(self, x):
        return self.drop(torch.tanh(x @ self.a)) @ self.b


def linear():
    layer = torch.nn.Linear(6, 1).double()
    layer.weight.data, layer.bias.data = torch.tensor(W)[None], torch.tensor([7.0]).double()
    return layer


def some_pairs(count=9, n=6, seed=0):
    rng = np.random.default_rng(seed)
    x, reference = rng.normal(size=(2, count, n))
    reference[0, :3] = x[0, :3]
    if count > 1:
        reference[1] = x[1]
    return x, reference


@pytest.mark.parametrize("method", [*COMPLETE, "banzhaf", "occlusion", "two_sided"])
def test_linear_f_gives_the_change_times_the_weight(method):
    x, reference = some_pairs()
    A = explain(method, linear(), x, reference, **NEEDS.get(method, {}))
    assert isinstance(A, np.ndarray) and A.shape == x.shape and A.dtype == np.float64
    assert np.allclose(A, (reference - x) * W, atol=1e-10)


@pytest.mark.parametrize("method", [m for m in COMPLETE if m not in ("gradient_shap", "deeplift")])
def test_complete_methods_divide_up_the_change(method):
    x, reference = some_pairs()
    f = Curved().train()
    A = explain(method, f, x, reference, **NEEDS.get(method, {}))
    assert f.training and f.drop.training
    assert np.abs(completeness(f, x, reference, A)).max() < 1e-4
    assert np.all(A[x == reference] == 0)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"lime_tabular"}))
def test_kind_rank_and_chunks_do_not_matter(method):
    x, reference = some_pairs()
    f, options = linear(), NEEDS.get(method, {}) | ({"steps": 7} if "steps" in METHODS[method].options else {})
    if "chunk" in METHODS[method].options:
        whole = explain(method, f, x, reference, **options)
        assert np.allclose(explain(method, f, x, reference, **options, chunk=5), whole, atol=1e-12)
    one = explain(method, f, torch.tensor(x[0]), torch.tensor(reference[0]), **options)
    assert isinstance(one, torch.Tensor) and one.shape == (6,) and one.dtype == torch.float64
    assert torch.equal(one, torch.tensor(explain(method, f, x[:1], reference[0], **options)[0]))


CAPTUM_RULES = {  # captum walks from x′ to x, so its left is our right
    "riemann_middle": "riemann_middle",
    "riemann_left": "riemann_right",
    "riemann_right": "riemann_left",
    "gauss_legendre": "gausslegendre",
}


@pytest.mark.parametrize("rule, theirs", CAPTUM_RULES.items())
def test_integrated_gradients_is_captums(rule, theirs):
    x, reference = map(torch.tensor, some_pairs())
    f = Curved().eval()
    scores = captum.IntegratedGradients(f).attribute(x, reference, n_steps=50, method=theirs)
    ours = explain("integrated_gradients", f, x, reference, steps=50, rule=rule)
    assert torch.allclose(ours, -scores.detach(), atol=2e-7)  # captum's nodes are float32


def test_trapezoid_rule_integrates_a_linear_gradient():
    options = {"rule": "riemann_trapezoid", "steps": 2}
    A = explain("integrated_gradients", lambda z: (z**2).sum(1), np.zeros(3), np.arange(3.0), **options)
    assert np.allclose(A, [0, 1, 4], atol=1e-12)


def test_integrated_gradients_is_500_midpoints_by_default():
    assert METHODS["integrated_gradients"].options["steps"] == 500
    x, reference = some_pairs()
    middle = explain("integrated_gradients", Curved(), x, reference, rule="riemann_middle", steps=500)
    assert np.array_equal(explain("integrated_gradients", Curved(), x, reference), middle)


def test_gradients_at_x_are_captums_with_the_sign_turned():
    x, reference = map(torch.tensor, some_pairs())
    f = Curved().eval()
    assert torch.allclose(explain("vanilla_grad", f, x, reference), -captum.Saliency(f).attribute(x, abs=False))
    assert torch.allclose(explain("input_x_gradient", f, x, reference), -captum.InputXGradient(f).attribute(x).detach())


def test_input_x_gradient_sees_binary_zeros():
    x, reference = np.array([0.0, 0.0, 1.0, 2.0, 0.0, 1.0]), np.ones(6)
    plain = explain("input_x_gradient", linear(), x, reference)
    A = explain("input_x_gradient", linear(), x, reference, binary=[0, 2])
    assert np.allclose(plain, -x * W) and np.allclose(A, [1e-4 * W[0], 0, -W[2], -2 * W[3], 0, -W[5]])


def test_expected_gradients_tend_to_integrated_gradients():
    x, reference = some_pairs(3)
    exact = explain("integrated_gradients", Curved(), x, reference)
    rough, fine = (explain("gradient_shap", Curved(), x, reference, samples=s) for s in (4, 4000))
    assert np.abs(fine - exact).max() < 0.1 * np.abs(rough - exact).max()
    noisy = explain("gradient_shap", linear(), x, reference, samples=4000, deviation=0.1)
    assert not np.allclose(noisy, (reference - x) * W) and np.allclose(noisy, (reference - x) * W, atol=0.05)
    assert not np.array_equal(explain("gradient_shap", Curved(), x, reference, seed=1), rough)


def test_occlusion_is_captums_ablation_and_the_first_dividends():
    x, reference = map(torch.tensor, some_pairs())
    f = Curved().eval()
    A = explain("occlusion", f, x, reference)
    assert torch.allclose(A, -captum.FeatureAblation(f).attribute(x, reference).detach())
    lat = Lattice.evaluate(f, x[2], reference[2])
    assert torch.allclose(A[2], lat.dividends()[2 ** torch.arange(6)])


def test_banzhaf_weighs_all_subsets_alike():
    f, (x, reference) = Curved().eval(), some_pairs(3)
    expected = np.zeros(6)
    for j in range(6):
        subsets = np.array([[s >> k & 1 for k in range(6)] for s in range(64) if not s >> j & 1], dtype=bool)
        with_j = subsets | (np.arange(6) == j)
        after, before = (f(torch.tensor(np.where(m, reference[2], x[2]))).detach().numpy() for m in (with_j, subsets))
        expected[j] = (after - before).mean()
    assert np.allclose(explain("banzhaf", f, x[2], reference[2]), expected)


def test_shapley_sampling_is_exact_in_expectation():
    x, reference = some_pairs(2)
    exact = explain("kernel_shap", Curved(), x, reference)
    rough, fine = (explain("shapley_sampling", Curved(), x, reference, permutations=m) for m in (4, 6400))
    assert np.abs(fine - exact).max() < 0.1 * np.abs(rough - exact).max()
    one = explain("shapley_sampling", Curved(), x[0], reference[0], permutations=1)
    assert one.sum() == pytest.approx(exact[0].sum()) and np.all(one[:3] == 0)


def test_shapley_sampling_spends_what_it_says():
    rows = []

    def f(z):
        rows.append(len(z))
        return z.prod(1)

    explain("shapley_sampling", f, np.zeros((3, 5)), np.ones((3, 5)), permutations=7)
    assert sum(rows) == 3 * (7 * 4 + 2)


def brute_greedy(f, x, reference, signs):
    """Ranks, (n,): the walks of all signs take turns, each takes the free feature with the best next value."""
    points, ranks = [x.copy() for _ in signs], np.zeros(len(x))
    for step in range(len(x)):
        sign, point = signs[step % len(signs)], points[step % len(signs)]
        free = np.flatnonzero(ranks == 0)
        values = sign * f(np.where(free[:, None] == np.arange(len(x)), reference, point))
        best = free[values.argmax()]  # the first of equals
        point[best], ranks[best] = reference[best], sign * (len(x) - step // len(signs))
    return ranks


@given(seed=st.integers(0, 10**6), n=st.integers(1, 7), equal=st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_greedy_is_the_myopic_walk(seed, n, equal):
    rng = np.random.default_rng(seed)
    x, reference = rng.integers(-2, 3, size=(2, 3, n)).astype(float)
    reference[:, :equal] = x[:, :equal]
    a, b = rng.integers(-2, 3, size=(2, n, 3))

    def f(z):
        return ((z @ a) * (z @ b)).sum(1)  # whole numbers: ties are ties

    for mode, signs in (("insertion", [1]), ("deletion", [-1]), ("both", [1, -1])):
        expected = [brute_greedy(f, *pair, signs) for pair in zip(x, reference, strict=True)]
        assert np.array_equal(explain("greedy", f, x, reference, mode=mode), expected)
    assert np.array_equal(explain("greedy", f, x, reference), expected)


def test_random_follows_its_seed():
    x, reference = some_pairs()
    first, second, again = (explain("random", linear(), x, reference, seed=s) for s in (1, 2, 1))
    assert np.array_equal(first, again) and not np.isin(first, second).any() and np.unique(first).size == first.size
    assert {method.options.get("seed", 0) for method in METHODS.values()} == {0}


@pytest.mark.parametrize("method", sorted(m for m in METHODS if METHODS[m].needs_gradient))
def test_methods_that_need_a_gradient_say_so(method):
    x = np.random.default_rng(0).normal(size=(30, 5))
    model = GradientBoostingRegressor(n_estimators=2).fit(x, x[:, 0])
    options = {"binary": [0]} if method.startswith("ig_") else {}
    for f in (model.predict, lambda z: np.sin(np.asarray(z)).sum(1), lambda z: torch.as_tensor(z).detach().sum(1)):
        with pytest.raises(TypeError, match=f"{method} needs the (layers and the )?gradient of f"):
            explain(method, f, x[0], x[1], **options)


def test_binary_methods_need_no_gradient_if_only_binary_features_differ():
    x, reference = np.zeros((2, 4)), np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]])

    def f(z):
        return np.asarray(z)[:, :3].prod(1) + np.asarray(z) @ [1, 2, 3, 4]

    shapley = explain("kernel_shap", f, x, reference)
    for method in ("ig_jump", "ig_interpolated"):
        assert np.allclose(explain(method, f, x, reference, binary=[0, 1, 2]), shapley)


@pytest.mark.parametrize(
    "method, options, message",
    [
        ("kernelshap", {}, "'kernelshap'. Did you mean 'kernel_shap'"),
        ("integrated_gradients", {"step": 3}, "no option 'step'. Did you mean 'steps'.*rule"),
        ("integrated_gradients", {"steps": 0}, "at least 1 steps"),
        ("integrated_gradients", {"rule": "simpson"}, "rule must be one of riemann_middle"),
        ("gradient_shap", {"samples": 0}, "samples ≥ 1"),
        ("ig_jump", {}, "needs binary="),
        ("ig_jump", {"binary": [0], "at": 2.0}, "between 0 and 1"),
        ("ig_interpolated", {"binary": range(6), "max_features": 3}, "2\\*\\*6|2\\*\\*5"),
        ("input_x_gradient", {"binary": [6]}, "indices below n = 6"),
        ("input_x_gradient", {"binary": ["A"]}, "no column names"),
        ("lime", {"samples": 1}, "samples ≥ 2"),
        ("lime_tabular", {}, "needs background"),
        ("shapley_sampling", {"permutations": 0}, "at least 1 permutation"),
        ("greedy", {"mode": "up"}, "mode must be one of"),
        ("occlusion", {"chunk": 0}, "chunk must be at least 1"),
    ],
)
def test_bad_options_are_refused(method, options, message):
    with pytest.raises(TypeError if "no option" in message else ValueError, match=message):
        explain(method, Curved(), *some_pairs(), **options)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_bad_points_are_refused(method):
    with pytest.raises(ValueError, match="same features"):
        explain(method, linear(), np.zeros(6), np.zeros(5))
    with pytest.raises(ValueError, match="must be finite"):
        explain(method, linear(), np.full(6, np.inf), np.zeros(6))
    if method != "random":  # needs neither f nor numbers
        options = {"background": np.eye(6)} if method == "lime_tabular" else {}
        options |= {"binary": [0]} if method in ("ig_interpolated", "ig_jump") else {}
        with pytest.raises(ValueError, match="must be finite|made of numbers"):
            explain(method, linear(), np.full(6, np.nan), np.zeros(6), **options)


def test_infinite_gradients_are_refused():
    with pytest.raises(ValueError, match="vanilla_grad needs a finite gradient"):
        explain("vanilla_grad", lambda z: z.sqrt().sum(1), np.zeros(2), np.ones(2))


def test_binary_features_by_index_mask_and_name():
    x, reference = some_pairs()
    frame = pd.DataFrame(x, columns=list("abcdef"))
    results = [explain("ig_jump", Curved(), frame, reference, binary=b, steps=20)
               for b in ([0, -2], ["a", "e"], ("a", "e"), np.array([True, False, False, False, True, False]),
                         torch.tensor([4, 0]))]  # fmt: skip
    assert all(np.array_equal(results[0], r) for r in results[1:])
    with pytest.raises(ValueError, match="binary names z, but x has the columns a, b"):
        explain("ig_jump", Curved(), frame, reference, binary=["z"])


def test_float32_models_and_integer_points():
    f = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.PReLU(), torch.nn.Linear(8, 1))
    x, reference = np.array([[0, 1, 2, 3]]), np.array([[1, 0, 2, 5]])
    for method in sorted(set(METHODS) - {"lime_tabular"}):
        options = {"binary": [0, 1]} if "binary" in METHODS[method].options else {}
        assert explain(method, f, x, reference, **options).shape == (1, 4)
    assert np.abs(completeness(f, x, reference, explain("kernel_shap", f, x, reference))).max() < 1e-6


COUNTS = [(name, option) for name, method in METHODS.items() for option in method.options
          if option in ("samples", "steps", "permutations", "chunk", "max_features")]  # fmt: skip


@pytest.mark.parametrize(("name", "option"), COUNTS)
def test_counts_are_whole_numbers_of_any_kind(name: str, option: str) -> None:
    f = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    x, reference = np.random.default_rng(0).normal(size=(2, 2, 4)).astype(np.float32)
    needed = {"binary": [3]} if "binary" in METHODS[name].options else {}
    needed |= {"background": x} if name == "lime_tabular" else {}
    plain, numpys = (explain(name, f, x, reference, **needed, **{option: n}) for n in (12, np.int64(12)))
    assert np.array_equal(plain, numpys)
    for wrong in (12.0, "12", [12]):
        with pytest.raises(UserError, match=f"{option} must be a whole number, but it is"):
            explain(name, f, x, reference, **needed, **{option: wrong})


def test_completeness_of_other_shapes_is_refused() -> None:
    with pytest.raises(UserError, match=r"must have shape \(1, 3\); found \(2,\)"):
        completeness(lambda z: z.sum(axis=1), np.zeros(3), np.ones(3), [1.0, 2.0])
