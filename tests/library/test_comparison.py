"""The tidy table of a comparison: right numbers, resumable, never mixed, the same on a cluster."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from pandas.testing import assert_frame_equal
from sklearn.ensemble import RandomForestClassifier

import insdel
from insdel import cluster
from insdel.comparison import COLUMNS

RNG = np.random.default_rng(0)
X, R = RNG.normal(size=(7, 5)).astype(np.float32), RNG.normal(size=(7, 5)).astype(np.float32)
R[2:, 1] = X[2:, 1]
METHODS = ("kernel_shap", "integrated_gradients", "random", "best", "expected")


def network(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.PReLU(), torch.nn.Linear(8, 1), torch.nn.Flatten(0))


def test_the_table_holds_every_method_mode_and_pair_with_the_curves_areas():
    f = network()
    table = insdel.compare(f, X, R, METHODS, seed=3).table
    assert list(table.columns) == COLUMNS
    assert len(table) == 7 * 5 * 2 and not table.duplicated(["pair", "method", "mode"]).any()
    attributions = insdel.explain("integrated_gradients", f, X, R)
    for mode in ("insertion", "deletion"):
        walks = insdel.curve(f, X, R, insdel.order(attributions, mode))
        rows = table.query("method == 'integrated_gradients' and mode == @mode")
        assert np.allclose(rows["abc"], insdel.abc(walks, mode), atol=1e-6)
        assert np.allclose(rows["auc"], insdel.auc(walks), atol=1e-6)
        assert np.allclose(rows["abc_per_feature"], insdel.abc(walks, mode, per_feature=True), atol=1e-6)


def test_best_and_expected_are_those_of_the_lattice():
    f = network()
    table = insdel.compare(f, X, R, METHODS).table.set_index(["pair", "method", "mode"])["abc"]
    for pair, lattice in enumerate(insdel.lattices(f, X, R)):
        for mode in ("insertion", "deletion"):
            assert table[pair, "best", mode] == pytest.approx(lattice.abc(lattice.best_order(mode), mode))
            assert table[pair, "expected", mode] == pytest.approx(lattice.expected_abc(mode), abs=1e-6)
            assert table[pair, "best", mode] >= table[pair, "kernel_shap", mode] - 1e-9


def test_without_lattices_the_curves_come_from_the_model():
    f, asked = network(), []
    f.register_forward_hook(lambda _, inputs, __: asked.append(len(inputs[0])))
    exact = insdel.compare(f, X, R, ["kernel_shap"], score=False).table
    lattices = sum(asked)
    table = insdel.compare(f, X, R, ["kernel_shap"], options={"kernel_shap": {"samples": 10_000}}, score=False).table
    assert_frame_equal(table, exact, atol=1e-5, rtol=1e-5)
    assert sum(asked) > 2 * lattices  # the walks came on top of as many hybrids


def test_random_orders_do_not_depend_on_the_other_methods_and_follow_the_seed():
    alone = insdel.compare(network(), X, R, ["random"], seed=3).table
    among = insdel.compare(network(), X, R, METHODS, seed=3).table.query("method == 'random'").reset_index(drop=True)
    assert_frame_equal(alone, among, atol=1e-6, rtol=1e-6)
    assert not np.allclose(alone["abc"], insdel.compare(network(), X, R, ["random"], seed=4).table["abc"])


def test_a_checkpoint_gives_the_same_table_and_finished_chunks_are_not_computed_again(tmp_path):
    whole = insdel.compare(network(), X, R, METHODS, chunk=2).table
    assert_frame_equal(insdel.compare(network(), X, R, METHODS, chunk=2, checkpoint=tmp_path).table, whole, check_exact=True)
    (tmp_path / "pairs_0000004.parquet").unlink()
    asked = []
    f = network()
    f.register_forward_hook(lambda _, inputs, __: asked.append(len(inputs[0])))
    assert_frame_equal(insdel.compare(f, X, R, METHODS, chunk=2, checkpoint=tmp_path).table, whole, check_exact=True)
    assert sum(asked) > 4 * len(X)
    asked.clear()
    insdel.compare(f, X, R, METHODS, chunk=2, checkpoint=tmp_path)
    assert sum(asked) == 4 * len(X)  # who f is: x, x′ and two hybrids of every pair


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 9}, "seed was 0, is 9"),
        ({"methods": ["random"]}, "methods was"),
        ({"chunk": 3}, "chunk was 2, is 3"),
        ({"options": {"kernel_shap": {"max_features": 9}}}, "options.kernel_shap was None"),
        ({"x": X + 1}, "x was"),
        ({"f": network(2)}, "model.weights was"),
    ],
)
def test_another_comparison_is_never_mixed_in(tmp_path, change, named):
    arguments = {"f": network(), "x": X, "reference": R, "methods": ["kernel_shap"], "chunk": 2, "checkpoint": tmp_path}
    insdel.compare(**arguments)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=f"holds another comparison.*{named}"):
        insdel.compare(**arguments | change)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


SLOW = """
    import sys, time, numpy as np, insdel
    w = np.linspace(-1, 1, 6)
    def f(z):
        time.sleep(0.05)
        return np.tanh(z @ w) * z[:, 0]
    rng = np.random.default_rng(5)
    X, R = rng.normal(size=(2, 24, 6))
    table = insdel.compare(f, X, R, ["kernel_shap", "random", "best"], chunk=2, checkpoint=sys.argv[1], progress=False).table
    table.to_parquet(sys.argv[2])
"""


def test_a_killed_run_goes_on_to_the_same_table_to_the_bit(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(SLOW))
    command = [sys.executable, script, tmp_path / "part", tmp_path / "part.parquet"]
    run = subprocess.Popen(command)
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "part").glob("pairs_*"))) < 3:
        assert run.poll() is None and time.monotonic() < deadline, "the run ended before it could be killed"
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    finished = len(list((tmp_path / "part").glob("pairs_*")))
    assert finished < 12 and not (tmp_path / "part.parquet").exists()
    subprocess.run(command, check=True)
    subprocess.run([sys.executable, script, tmp_path / "whole", tmp_path / "whole.parquet"], check=True)
    part, whole = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("part", "whole"))
    assert_frame_equal(part, whole, check_exact=True)


def slow_model(z):
    """A model slow enough that a worker can be killed in the middle of it."""
    time.sleep(0.1)
    return quick_model(z)


def test_a_cluster_loses_a_worker_and_gives_the_same_table(tmp_path):
    distributed = pytest.importorskip("distributed")
    rng = np.random.default_rng(6)
    x, reference = rng.normal(size=(2, 24, 5))
    expected = insdel.compare(slow_model, x, reference, ["kernel_shap", "random"], chunk=1).table
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=tmp_path
    ) as workers, distributed.Client(workers) as client:
        client.run(lambda path: sys.path.insert(0, path), str(Path(__file__).parent))
        client.submit(_kill_once, tmp_path / "killed", retries=3)  # a worker process ends while chunks are under way
        address = workers.scheduler_address
        options = {"chunk": 1, "scheduler": address}
        table = in_time(lambda: insdel.compare(slow_model, x, reference, ["kernel_shap", "random"], **options).table, 240)
    assert (tmp_path / "killed").exists()
    assert_frame_equal(table, expected, check_exact=True)


@pytest.fixture
def client():
    """A client of a cluster whose one worker has four threads of this process."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 4, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as workers, distributed.Client(workers) as client:
        yield client


@pytest.mark.parametrize("fault", ["forgotten", "cancelled", "unreadable"])
def test_what_a_cluster_loses_is_run_again(fault, client, monkeypatch):
    rng = np.random.default_rng(8)
    x, reference = rng.normal(size=(2, 3, 4))
    expected = insdel.compare(quick_model, x, reference, ["kernel_shap"], chunk=1).table
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    submit, sent = client.submit, []

    def unreliable(*task, **options):
        sent.append(task)
        if len(sent) == 2 and fault == "forgotten":
            return pytest.importorskip("distributed").Future("nobody-knows-this-task", client)  # stays pending for ever
        future = submit(*task, **options)
        if len(sent) == 2 and fault == "cancelled":
            future.cancel()
        if len(sent) == 2 and fault == "unreadable":
            monkeypatch.setattr(future, "result", lambda timeout: (_ for _ in ()).throw(TimeoutError()))
        return future

    monkeypatch.setattr(client, "submit", unreliable)
    table = in_time(lambda: insdel.compare(quick_model, x, reference, ["kernel_shap"], chunk=1, scheduler=client).table)
    assert_frame_equal(table, expected, check_exact=True)
    assert len(sent) == 3 + 1


class Slow(TimeoutError):
    """What a model raises that asks a service of its own."""


@pytest.mark.parametrize("kind", [TimeoutError, Slow, KeyError])
def test_what_a_model_raises_on_a_cluster_is_raised_and_not_tried_for_ever(kind, client):
    tried = []

    def f(z):
        tried.append(1)
        raise kind("the service does not answer")

    x, reference = np.random.default_rng(8).normal(size=(2, 1, 4))
    error = in_time(lambda: raised(lambda: insdel.compare(f, x, reference, ["occlusion"], scheduler=client).table))
    assert isinstance(error, kind) and "does not answer" in str(error)
    assert len(tried) <= 2 * (cluster.RETRIES + 1)  # twice: as an array and as a tensor


def raised(work):
    """What the work raises."""
    try:
        work()
    except Exception as error:
        return error


def test_what_a_cluster_loses_again_and_again_is_an_error(client, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.05)
    monkeypatch.setattr(cluster, "LOSSES", 3)
    sent = []

    def forgetful(*task, **options):
        sent.append(task)
        return pytest.importorskip("distributed").Future(f"nobody-knows-{len(sent)}", client)

    monkeypatch.setattr(client, "submit", forgetful)
    x, reference = np.random.default_rng(8).normal(size=(2, 1, 4))
    error = in_time(lambda: raised(lambda: insdel.compare(quick_model, x, reference, ["random"], scheduler=client).table))
    assert isinstance(error, RuntimeError) and "lost the same part of the work 4 times" in str(error)
    assert len(sent) == 4


def test_threads_of_a_cluster_do_not_switch_dropout_on_for_each_other(client):
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)).train()
    expected = insdel.compare(f, X, R, ["occlusion", "kernel_shap"], chunk=1).table
    for _ in range(3):
        table = insdel.compare(f, X, R, ["occlusion", "kernel_shap"], chunk=1, scheduler=client).table
        assert_frame_equal(table, expected, rtol=1e-6, atol=1e-6)
    assert f.training and not any(part.training for part in cluster.packed(f).module.modules())


def drawing(options):
    """Methods that draw, with few samples."""
    background = np.random.default_rng(1).normal(size=(30, 5))
    few = {"lime_tabular": {"background": background, "samples": 40}, "kernel_shap": {"samples": 20}}
    few |= {"gradient_shap": {"samples": 5, "deviation": 0.1}, "shapley_sampling": {"permutations": 2}}
    names = ["random", "lime", "lime_tabular", "shapley_sampling", "gradient_shap", "kernel_shap"]
    return {"methods": names, "options": {name: few.get(name, {}) | options for name in names}}


@pytest.mark.parametrize("options", [{}, {"seed": 5}])
@pytest.mark.parametrize("chunk", [1, 3, 7])
def test_any_chunk_gives_the_same_table(chunk, options):
    whole = insdel.compare(network(), X, R, **drawing(options), seed=3).table
    assert_frame_equal(insdel.compare(network(), X, R, **drawing(options), seed=3, chunk=chunk).table, whole, atol=1e-5)


@pytest.mark.parametrize("method", ["random", "lime", "lime_tabular", "shapley_sampling", "gradient_shap"])
def test_pair_i_draws_by_the_seed_and_its_number(method):
    given = drawing({})["options"][method]
    whole = insdel.explain(method, network(), X, R, seed=7, **given)
    last = insdel.explain(method, network(), X[4:6], R[4:6], seed=[[7, 4], [7, 5]], **given)
    assert np.allclose(whole[4:6], last, atol=1e-6)
    first = insdel.explain(method, network(), X[4:6], R[4:6], seed=7, **given)
    assert not np.allclose(first, last)
    twins = insdel.explain(method, network(), X[[0, 0]], R[[0, 0]], seed=7, **given)
    assert not np.allclose(twins[0], twins[1])


@pytest.mark.parametrize("seed", [-1, 0.5, [1, 2], [[1, 2]], "0"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(insdel.UserError, match="seed"):
        insdel.explain("random", network(), X, R, seed=seed)


def in_time(work, seconds=30):
    """What the work returns; a test that would wait for ever fails instead."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, f"no table after {seconds} seconds"
    return found[0]


def quick_model(z):
    return np.tanh(z @ np.linspace(-1, 1, z.shape[1])) * z[:, 0]


def _kill_once(flag):
    """End the worker's process, the first time that this is called."""
    if not flag.exists():
        flag.touch()
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)


def test_summary_of_a_table_by_hand():
    rows = [(p, m, "insertion", v) for p, values in enumerate([(1.0, 0.0), (2.0, 1.0), (6.0, 8.0)])
            for m, v in zip(("kernel_shap", "integrated_gradients"), values, strict=True)]
    table = pd.DataFrame(rows, columns=["pair", "method", "mode", "abc_per_feature"])
    found = insdel.summary(table, differences=[("kernel_shap", "integrated_gradients")]).set_index("method")
    assert found["mean"].tolist() == [3.0, 3.0, 0.0]
    assert found.loc["kernel_shap", "se"] == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))
    difference = found.loc["kernel_shap − integrated_gradients", "se"]
    assert difference == pytest.approx(np.std([1, 1, -2], ddof=1) / np.sqrt(3))
    assert found["wins"].tolist()[:2] == pytest.approx([2 / 3, 1 / 3]) and np.isnan(found["wins"].iloc[2])
    assert (found["low"] <= found["mean"]).all() and (found["mean"] <= found["high"]).all()
    assert (found["pairs"] == 3).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["kernel_shop"]}, "methods must be among kernel_shap"),
        ({"methods": []}, "methods must be among"),
        ({"modes": ["sideways"]}, "mode must be one of"),
        ({"modes": []}, "modes must be one or both of insertion and deletion, each once; found none"),
        ({"modes": ["deletion"] * 2}, "each once; found deletion, deletion"),
        ({"methods": {"best": "random"}}, "'best' is what attributions are measured against"),
        ({"methods": {"expected": insdel.attributions(X, sign="shap")}}, "'expected' is what"),
        ({"options": {"lime": {}}}, "options are for methods that are compared"),
        ({"options": {"random": 5}}, "options of random must be a dictionary from names to values; found 5"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"checkpoint": __file__}, "is a file"),
    ],
)
def test_bad_requests_are_refused(change, message):
    arguments = {"f": network(), "x": X, "reference": R, "methods": ["random"]}
    with pytest.raises(ValueError, match=message):
        insdel.compare(**arguments | change)


def test_a_mode_may_be_named_alone():
    one, both = (insdel.compare(network(), X, R, ["random"], modes=modes).table for modes in ("deletion", ("insertion", "deletion")))
    assert_frame_equal(one, both.query("mode == 'deletion'").reset_index(drop=True))


def test_options_of_a_method_that_a_lattice_could_answer_are_used():
    """Few samples give an estimate: its orders, not those of the exact values, are what is scored."""
    def f(z):
        return np.tanh(z @ np.linspace(-2, 2, 8)) * z[:, 0] + z[:, 1] * z[:, 2] * z[:, 3]

    x, reference = np.random.default_rng(2).normal(size=(2, 6, 8))
    few = {"samples": 18}
    table = insdel.compare(f, x, reference, ["kernel_shap"], options={"kernel_shap": few}).table
    attributions = insdel.explain("kernel_shap", f, x, reference, **few)
    exact = insdel.compare(f, x, reference, ["kernel_shap"]).table
    for mode in ("insertion", "deletion"):
        walks = insdel.curve(f, x, reference, insdel.order(attributions, mode))
        assert np.allclose(table.query("mode == @mode")["abc"], insdel.abc(walks, mode), atol=1e-9)
    assert np.abs(table["abc"] - exact["abc"]).max() > 0.1


@pytest.mark.parametrize("model", ["random", "scales the batch", "counts its calls"])
@pytest.mark.parametrize("m", [1, 6])
def test_a_model_that_is_random_or_looks_at_other_points_is_warned_of(model, m) -> None:
    """Its areas hold noise, with scores that look like any others."""
    rng, calls = np.random.default_rng(0), []
    x = rng.normal(size=(6, 4))
    f = {
        "random": lambda z: z.sum(axis=1) + 0.1 * rng.normal(size=len(z)),
        "scales the batch": lambda z: ((z - z.mean(axis=0)) / (z.std(axis=0) + 1e-9)).sum(axis=1),
        "counts its calls": lambda z: z.sum(axis=1) + 0.1 * (calls.append(1) or len(calls)),
    }[model]
    with pytest.warns(UserWarning, match=r"different predictions; pair \d has .* dropout"):
        insdel.compare(f, x[:m], x[::-1][:m], ["two_sided"], progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        insdel.compare(lambda z: 0 * z[:, 0], x, x[::-1], ["two_sided"], progress=False)
        insdel.compare(lambda z: 1e6 * z.sum(axis=1) + rng.normal(size=len(z)), x, x[::-1], ["two_sided"], progress=False)


def test_the_predicted_class_has_default_methods_and_checkpoints(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 22))
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(x, (x[:, 0] > 0) + 1 * (x[:, 1] > 1))
    f = insdel.proba(forest, "predicted")
    table = insdel.compare(f, x[:4], x[4:8], score=False, checkpoint=tmp_path, progress=False).table
    again = insdel.compare(f, x[:4], x[4:8], score=False, checkpoint=tmp_path, progress=False).table
    assert_frame_equal(table, again)
    with pytest.raises(insdel.UserError, match="holds another comparison"):
        insdel.compare(insdel.proba(forest, 0), x[:4], x[4:8], score=False, checkpoint=tmp_path, progress=False)
