"""The benchmark compares like with like: on a small network all contestants give the same values."""

from __future__ import annotations

import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
from conftest import load_benchmark

import insdel
from insdel.own.mlp import MLP

pytest.importorskip("shapiq", reason="the extra `bench` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # what the other libraries warn of is not ours to test

N = 5
COLUMNS = ["task", "who", "seconds", "spread", "gap", "ratio", "least", "most", "agrees", "mebibytes"]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return load_benchmark("bench")


@pytest.fixture(scope="module")
def model() -> MLP:
    torch.manual_seed(0)
    return MLP(N, (16, 8)).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    x, reference = np.random.default_rng(1).normal(size=(2, 3, N)).astype(np.float32)
    return x, reference


def by_hand(model: MLP, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Shapley values of one pair from its dividends: each is shared equally among its members."""
    dividends = insdel.Lattice.evaluate(model, x, reference).dividends()
    members = [[j for j in range(N) if u >> j & 1] for u in range(2**N)]
    return np.array([sum(dividends[u] / len(m) for u, m in enumerate(members) if j in m) for j in range(N)])


@pytest.mark.parametrize(
    "who", ["insdel", "insdel, not folded", "shap ExactExplainer", "shap KernelExplainer", "shapiq ExactComputer"]
)
def test_exact_contestants_give_shapley_values(bench, model, points, who) -> None:
    x, reference = points
    expected = np.stack([by_hand(model, *pair) for pair in zip(x, reference, strict=True)])
    value = bench.exact_shapley(model, x, reference)[who]()
    assert value.shape == (3, N)
    assert np.abs(value - expected).max() < 1e-4 * np.abs(expected).max()


def test_another_process_takes_a_core_and_is_stopped_where_nothing_is_to_disturb(bench, model, points) -> None:
    threads, before = torch.get_num_threads(), set(psutil.Process().children())
    rows = pd.DataFrame(bench.beside_another(model, *points, 2)).set_index("who")
    assert torch.get_num_threads() == threads and set(psutil.Process().children()) == before
    assert rows.agrees.all() and rows.gap["shap ExactExplainer"] < 1e-4 and rows.gap[bench.ALONE] == 0
    with bench.another_process() as busy:
        process = psutil.Process(busy.pid)
        start = sum(process.cpu_times()[:2])
        time.sleep(0.5)
        assert sum(process.cpu_times()[:2]) > start
    assert not process.is_running()


def test_captums_estimate_has_our_sign(bench, points) -> None:
    x, reference = points[0][0], points[1][0]
    torch.manual_seed(0)
    linear = torch.nn.Sequential(torch.nn.Linear(N, 1), torch.nn.Flatten(0)).requires_grad_(False)
    value = bench.sampled_shapley(linear, x, reference)["captum KernelShap"]()
    expected = linear[0].weight[0].numpy() * (reference - x)  # for a linear f the regression has no error to make
    np.testing.assert_allclose(value, expected, atol=1e-3)


def test_folding_agrees_where_it_folds(bench) -> None:
    torch.manual_seed(0)
    n = insdel.fold.WORTHWHILE
    network = MLP(n, (24, 16, 8)).eval().requires_grad_(False)
    assert insdel.fold.Fold.of(network).pays(n)
    x, reference = np.random.default_rng(2).normal(size=(2, 2, n)).astype(np.float32)
    work = bench.exact_shapley(network, x, reference)
    folded, plain = work["insdel"](), work["insdel, not folded"]()
    assert plain.shape == (2, n) and bench.difference(folded, plain) < 1e-4


def test_integrated_gradients_agree_with_captum_and_curves_with_walking_step_by_step(bench, model, points) -> None:
    ours, captums = (work() for work in bench.integrated_gradients(model, *points, steps=50).values())
    assert ours.shape == (3, N) and bench.difference(captums, ours) < 1e-4
    together, slow = (work() for work in list(bench.curves(model, *points).values())[:2])
    assert together.shape == (3, N + 1) and bench.difference(slow, together) < 1e-5


class PixelFlipping:
    """Quantus's walk as its manual has it: largest scores first, each replaced by the baseline; no start."""

    def __init__(self, *, features_in_step, perturb_baseline, abs, **_) -> None:
        assert features_in_step == 1 and not abs
        self.baseline = perturb_baseline

    def __call__(self, *, model, x_batch, y_batch, a_batch, softmax, **_) -> list[np.ndarray]:
        assert not softmax and len(y_batch) == len(x_batch)
        walks, rows = [], np.arange(len(x_batch))
        flipped = np.array(x_batch)
        for place in np.argsort(-a_batch[:, 0], axis=1).T:
            flipped[rows, 0, place] = self.baseline
            walks.append(model(torch.from_numpy(flipped))[:, 0].detach().numpy())
        return list(np.stack(walks, axis=1))


def test_quantus_walks_the_same_curves(bench, model, points, monkeypatch) -> None:
    """Nothing that is pinned has Quantus, so what it does stands in for it."""
    monkeypatch.setitem(sys.modules, "quantus", SimpleNamespace(PixelFlipping=PixelFlipping))
    x, reference = points
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(N), (len(x), 1)), axis=1)
    walks = bench.pixel_flipping(model, x, reference, orders)()
    np.testing.assert_allclose(walks, insdel.curve(model, x, reference, orders), atol=1e-5)


def test_a_network_of_differences_is_the_same_network(bench, model, points) -> None:
    x, reference = points
    shifted = bench.Shifted(model, reference)(torch.from_numpy((x - reference)[:, None]))
    np.testing.assert_allclose(shifted[:, 0].numpy(), np.asarray(bench.predict(model, x)), atol=1e-5)


def test_trainings_are_as_many_and_as_long(bench, monkeypatch) -> None:
    asked: list[tuple] = []
    monkeypatch.setattr(bench.stacked, "fit", lambda *data, seeds, epochs: asked.append((list(seeds), epochs)))
    alone = lambda *data, seed, epochs, **_: asked.append(([seed], epochs))  # noqa: E731
    monkeypatch.setattr(bench.networks, "fit", alone)
    for work in bench.trainings(400, 3, 2).values():
        assert work() is None
    assert asked == [([0, 1], 3), ([0], 3), ([1], 3)]


def test_the_limit_is_all_of_the_networks_products(bench, model, monkeypatch) -> None:
    asked = []
    linear = lambda rows, weight, bias: asked.append((len(rows), *weight.shape))  # noqa: E731
    monkeypatch.setattr(torch.nn.functional, "linear", linear)
    bench.matrix_products(model, 64, chunk=16)()
    assert len(asked) == 4 * 3  # 64 / 16 batches of three layers
    assert sum(rows * a * b for rows, a, b in asked) == 64 * (N * 16 + 16 * 8 + 8 * 1)


def test_a_race_tells_who_disagrees(bench) -> None:
    value = np.array([1.0, -2.0])
    contestants = {"insdel": lambda: value, "same": lambda: value + 1e-6, "wrong": lambda: -value,
                   "captum KernelShap": lambda: value + 0.5, "nothing": lambda: None}  # fmt: skip
    rows = pd.DataFrame(bench.race("task", contestants, 2)).set_index("who")
    assert list(rows.index[~rows.agrees]) == ["wrong"]
    assert rows.gap["wrong"] == 2 and np.isnan(rows.gap["nothing"])
    assert rows.ratio["insdel"] == 1 and (rows.spread >= 1).all()


def test_ratios_are_medians_within_rounds(bench, monkeypatch) -> None:
    clock = iter([1.0, 2.0, 10.0, 40.0, 1.0, 3.0])  # the second round is ten times slower for both
    monkeypatch.setattr(bench, "seconds", lambda work: next(clock))
    rows = pd.DataFrame(bench.race("task", {"insdel": lambda: None, "other": lambda: None}, 3)).set_index("who")
    assert rows.ratio["other"] == 3 and (rows.least["other"], rows.most["other"]) == (2, 4)
    assert rows.seconds["other"] == 3 and rows.spread["insdel"] == 10


def test_estimators_get_the_same_budget(bench, model) -> None:
    x, reference = np.random.default_rng(3).normal(size=(2, 2, N)).astype(np.float32)
    for who, work in bench.estimated_shapley(model, x, reference, budget=20).items():
        value = work()
        assert who == "matrix products alone" or value.shape == (2, N)
        if value is not None:  # complete, and turned to our sign
            ends = [np.asarray(bench.predict(model, points)) for points in (x, reference)]
            assert np.allclose(value.sum(axis=1), ends[1] - ends[0], atol=1e-3), who


def test_the_comparison_is_of_nine_rows_a_pair(bench, model, points) -> None:
    assert bench.comparison(model, *points)["insdel"]().shape == (3 * 9 * 2,)


def test_all_rows_fit_one_table_that_can_be_recorded(bench, model, points, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path))
    rows = bench.race("curves, 3 pairs", bench.curves(model, *points), 1) + bench.growth([2, 3]) + bench.memory([2], [1])
    table = pd.DataFrame(rows).astype({"agrees": "boolean"})
    assert sorted(table.columns) == sorted(COLUMNS)
    bench.results.save("bench", {"times": table}, {"command": "make bench"})
    pd.testing.assert_frame_equal(bench.results.load("bench")[0], table)
    bench.show(table)
    bench.show(table[:1].assign(task=f"{bench.TABLE}, 8 pairs", seconds=2.4))
    printed = capsys.readouterr().out
    assert 1 < table.mebibytes.max() < 1536  # the first lattice alone is larger than nothing
    assert all(who in printed for who in ("one pair at a time", "3 features", "2 pairs")) and "MiB" in printed
    assert "0.30 s per pair: 2,000 pairs in 10 minutes" in printed


@pytest.mark.parametrize(
    ("task", "who", "least", "mebibytes", "said"),
    [("exact Shapley values", "shapiq ExactComputer", 2.9, np.nan, "at least 3.00"),
     ("exact Shapley values", "shapiq ExactComputer", 3.1, np.nan, ""),
     ("exact Shapley values", "matrix products alone", 1.5, np.nan, "at least 1.82"),
     ("Shapley values from 128 evaluations", "matrix products alone", 0.2, np.nan, ""),
     ("one core busy: exact Shapley values", "shap ExactExplainer", 2.4, np.nan, "at least 2.50"),
     ("one core busy: exact Shapley values", "insdel, one thread, undisturbed", 0.4, np.nan, "at least 0.50"),
     ("peak memory", "2000 pairs", np.nan, 2000.0, "at most 1536 MiB"), ("growth", "8 features", np.nan, np.nan, "")],
)  # fmt: skip
def test_missed_bars_are_said(bench, task, who, least, mebibytes, said) -> None:
    [row] = pd.DataFrame([{"task": task, "who": who, "least": least, "mebibytes": mebibytes}]).itertuples()
    assert said in bench.verdict(row) and bool(bench.verdict(row)) == bool(said)
