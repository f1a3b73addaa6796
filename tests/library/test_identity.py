"""A table is never taken for that of another model, other points or other options, nor refused to its own."""

import copy
import enum
import functools
import json
import logging
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from pandas.testing import assert_frame_equal
from sklearn.tree import DecisionTreeRegressor
from torch import nn

import insdel
from insdel.evaluate import Pairs
from insdel.identity import differences, identity, plain

RNG = np.random.default_rng(0)
X, R = RNG.normal(size=(2, 6, 4)).astype(np.float32)


def network(activation=nn.ReLU, seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), activation(), nn.Linear(8, 1), nn.Flatten(0))


class Pick(nn.Module):
    """One of two outputs, chosen by a plain attribute."""

    def __init__(self, k):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.k = nn.Linear(4, 2), k

    def forward(self, z):
        return self.inner(z)[:, self.k]


class Holder(nn.Module):
    """A module with something of any kind."""

    def __init__(self, held):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.held = nn.Linear(4, 1), held
        self.register_buffer("shift", torch.zeros(1), persistent=False)

    def forward(self, z):
        return self.inner(z)[:, 0] + self.shift


def with_buffer(value):
    f = Holder(None)
    f.shift += value
    return f


FACTOR = 1.0


class Global(Holder):
    """A module that depends on something outside it."""

    def forward(self, z):
        return FACTOR * super().forward(z)


class Settings:
    def __init__(self, k):
        self.k = k


def compared(f, folder, **change):
    return insdel.compare(f, **{"x": X, "reference": R, "methods": ["occlusion"], "checkpoint": folder} | change).table


def scaled(k, z):
    return k * z[:, 0]


OTHERS = {
    "another activation": (network(nn.ReLU), network(nn.Tanh)),
    "the index of an output": (Pick(0), Pick(1)),
    "insdel.output": (insdel.output(Pick(0).inner, 0), insdel.output(Pick(0).inner, 1)),
    "a slope": (network(lambda: nn.LeakyReLU(0.1)), network(lambda: nn.LeakyReLU(0.2))),
    "weights": (network(), network(seed=2)),
    "a buffer that is not saved": (with_buffer(0.0), with_buffer(1e-6)),
    "an array held": (Holder(np.arange(2000.0)), Holder(np.where(np.arange(2000) == 1000, -1.0, np.arange(2000.0)))),
    "a setting held": (Holder(Settings(1)), Holder(Settings(2))),
    "a function held": (Holder(lambda z: z + 1), Holder(lambda z: z + 2)),
    "a class of the same shape": (Holder(None), Global(None)),
    "functions with equal values at the ends": (lambda z: z.sum(1), lambda z: 2 * z[:, 0] * z[:, 1]),
    "functions that differ at one x": (lambda z: z[:, 0], lambda z: z[:, 0] + (z == X[4]).all(1)),
    "functions that differ at one x′": (lambda z: z[:, 0], lambda z: z[:, 0] + (z == R[4]).all(1)),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_model_is_never_taken_for_this_one(what, tmp_path):
    one, other = OTHERS[what]
    change = {}
    if "ends" in what:  # from (0, 0) to (1, 1) both are 0 and 2
        change = {"x": np.zeros((6, 2)), "reference": np.ones((6, 2))}
    table = compared(one, tmp_path, **change)
    with pytest.raises(ValueError, match="holds another comparison: model") as error:
        compared(other, tmp_path, **change)
    assert what != "the index of an output" or "model.attributes.k was 0, is 1" in str(error.value)
    assert_frame_equal(compared(one, tmp_path, **change), table)


def test_what_stands_outside_a_module_shows_in_its_predictions(tmp_path, monkeypatch):
    compared(Global(None), tmp_path)
    compared(Global(None), tmp_path)
    monkeypatch.setitem(globals(), "FACTOR", 1.001)
    with pytest.raises(ValueError, match="model.predictions differ"):
        compared(Global(None), tmp_path)


class Odd:
    """Holds itself, and things that cannot be compared."""

    def __init__(self):
        self.lock, self.log, self.self = threading.Lock(), logging.getLogger("insdel"), self


@pytest.mark.parametrize("held", [Odd, nn.ReLU, threading.Lock, lambda: functools.partial(scaled, 2), lambda: np])
def test_a_module_may_hold_anything_and_finds_its_own_table_again(held, tmp_path):
    compared(Holder(held()), tmp_path)
    compared(Holder(held()), tmp_path)


def test_modes_threads_and_rounding_do_not_make_another_model(tmp_path):
    f = network()
    table = compared(f.train(), tmp_path)
    with torch.no_grad():
        assert_frame_equal(compared(f.eval().requires_grad_(False), tmp_path), table)
    scrambled = lambda z: network().double()(torch.as_tensor(z).double())[:, None].numpy()  # noqa: E731
    exact = lambda z: network()(torch.as_tensor(z))[:, None].detach().numpy()  # noqa: E731
    compared(exact, tmp_path / "functions")
    compared(lambda z: scrambled(z).astype(np.float32), tmp_path / "functions")  # the last bits are others
    sums = identity(lambda z: 1 + 0 * z[:, 0], Pairs.of(np.zeros((900, 2)), np.ones(2)))["model"]["predictions"]["sums"]
    assert np.abs(sums).max() < 5  # they do not grow with the number of pairs, as rounding would with them
    long = {"a": "x" * 300, "b": 1}
    compared(Holder(long), tmp_path / "held")
    compared(Holder(dict(reversed(long.items()))), tmp_path / "held")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Given:
    a: int
    b: np.ndarray


LONG = np.arange(5000.0)
CHANGED = np.where(np.arange(5000) == 2500, -1.0, LONG)
VALUES = {
    "long arrays": (LONG, CHANGED),
    "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
    "dtypes": (np.zeros(2, np.int64), np.zeros(2, np.float64)),
    "tensors": (torch.tensor(LONG), torch.tensor(CHANGED)),
    "half tensors": (torch.zeros(3, dtype=torch.bfloat16), torch.ones(3, dtype=torch.bfloat16)),
    "frames": (pd.DataFrame({"a": LONG}), pd.DataFrame({"a": CHANGED})),
    "columns": (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
    "objects": (np.array(["a", 1], dtype=object), np.array(["a", 2], dtype=object)),
    "numbers": (1, 2), "floats": (0.1, np.nextafter(0.1, 1)), "kinds": (1, True), "texts": ("1", 1), "none": (None, 0),
    "not finite": (np.nan, np.inf), "nested": ({"a": [1, {"b": LONG}]}, {"a": [1, {"b": CHANGED}]}),
    "dataclasses": (Given(1, LONG), Given(1, CHANGED)), "enums": (Colour.RED, Colour.BLUE),
    "keyword defaults": (lambda z, *, k=1: z + k, lambda z, *, k=2: z + k),
    "functions": (lambda z: z + 1, lambda z: z + 2), "partial": (functools.partial(scaled, 1), functools.partial(scaled, 2)),
    "generators": (np.random.default_rng(1), np.random.default_rng(2)), "sets": ({1, 2}, {1, 3}),
    "methods": (np.random.default_rng(1).normal, np.random.default_rng(2).normal), "bytes": (b"1", b"2"),
    "queues": (deque([1]), deque([2])), "cached": (functools.cache(lambda z: z + 1), functools.cache(lambda z: z + 2)),
    "sparse tensors": (torch.eye(2).to_sparse(), 2 * torch.eye(2).to_sparse()), "paths": (Path("a"), Path("b")),
    "text columns": (pd.DataFrame({"a": ["b"]}, dtype="string"), pd.DataFrame({"a": ["c"]}, dtype="string")),
    "text arrays": (pd.array(["b"], dtype="string"), pd.array(["c"], dtype="string")),
    "fitted models": (DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0]), DecisionTreeRegressor(max_depth=1).fit(X, X[:, 1])),
}  # fmt: skip


@pytest.mark.parametrize("what", VALUES)
def test_values_are_told_apart_and_recognised(what):
    one, other = VALUES[what]
    written = json.loads(json.dumps(plain(copy.deepcopy(one))))
    assert not list(differences(written, plain(one)))
    assert list(differences(written, plain(other)))


def test_equal_values_are_written_alike_whether_they_are_one_object_or_two():
    one = Given(1, LONG)
    assert plain([one, one, [one]]) == plain([one, copy.deepcopy(one), [one]])


def test_what_cannot_be_identified_is_refused(tmp_path):
    with pytest.raises(insdel.UserError, match="a checkpoint needs to know what it belongs to"):
        insdel.compare(network(), X, R, ["occlusion"], options={"occlusion": {"chunk": iter([1])}}, checkpoint=tmp_path)


def test_chunks_say_themselves_what_they_belong_to(tmp_path):
    table = compared(network(), tmp_path, chunk=2)
    (tmp_path / "comparison.json").unlink()
    assert_frame_equal(compared(network(), tmp_path, chunk=2), table)
    (tmp_path / "comparison.json").unlink()
    with pytest.raises(ValueError, match=r"holds another comparison: model\.weights was"):
        compared(network(seed=2), tmp_path, chunk=2)
    assert not (tmp_path / "comparison.json").exists()


def test_a_foreign_chunk_beside_the_note_is_not_adopted(tmp_path):
    compared(network(), tmp_path / "one", chunk=2)
    compared(network(seed=2), tmp_path / "other", chunk=2)
    chunk = "pairs_0000002.parquet"
    (tmp_path / "one" / chunk).write_bytes((tmp_path / "other" / chunk).read_bytes())
    with pytest.raises(ValueError, match="holds another comparison: model.weights was"):
        compared(network(), tmp_path / "one", chunk=2)
    pd.DataFrame({"pair": [2, 3]}).to_parquet(tmp_path / "one" / chunk)
    with pytest.raises(ValueError, match="pairs_0000002.parquet does not say of what"):
        compared(network(), tmp_path / "one", chunk=2)


@pytest.mark.parametrize("name", ["pairs_0000002.parquet", "comparison.json"])
@pytest.mark.parametrize("content", [b"", b"PAR1 broken", None])
def test_damaged_files_are_made_anew_with_a_word(tmp_path, name, content):
    table = compared(network(), tmp_path, chunk=2)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if content is None else content)
    with pytest.warns(UserWarning, match=f"{name} is damaged") as told:
        assert_frame_equal(compared(network(), tmp_path, chunk=2), table)
    assert told[0].lineno == compared.__code__.co_firstlineno + 1  # where insdel.compare was called
    assert_frame_equal(compared(network(), tmp_path, chunk=2), table)


BUILDS = {
    "script": torch.jit.script,
    "trace": lambda f: torch.jit.trace(f.eval(), torch.zeros(2, 4)),
    "fx": torch.fx.symbolic_trace,
    "compile": lambda f: torch.compile(f, backend="eager"),
    "quantised": lambda f: torch.ao.quantization.quantize_dynamic(f.eval(), {nn.Linear}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("build", BUILDS)
def test_models_that_torch_rebuilt_are_explained_and_known_again(build, tmp_path):
    f = BUILDS[build](network())
    assert np.allclose(insdel.explain("kernel_shap", f, X, R), insdel.explain("kernel_shap", network(), X, R), atol=0.05)
    table = compared(f, tmp_path)
    assert_frame_equal(compared(BUILDS[build](network()), tmp_path), table)
    with pytest.raises(ValueError, match="holds another comparison: model"):
        compared(BUILDS[build](network(seed=2)), tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_a_model_without_a_gradient_is_refused_in_words():
    with pytest.raises(insdel.UserError, match="needs the gradient of f, but f's output does not depend"):
        insdel.explain("integrated_gradients", BUILDS["quantised"](network()), X, R)
