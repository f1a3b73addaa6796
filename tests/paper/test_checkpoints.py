"""Studies that are killed go on after their last chunk, end in the same table, and never mix with another study's."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from insdel.store import Store
from insdel_paper import data
from insdel_paper.networks.training import Hyper, Recipe
from insdel_paper.studies import best_order, binary_ig, cost, experiments, manifold
from insdel_paper.studies.roar import removal


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()


X, REFERENCE = np.random.default_rng(0).normal(size=(2, 6, 5))


def best_orders(checkpoint, orders=20):
    found = best_order.study(network(), X, REFERENCE, ("occlusion",), orders=orders, checkpoint=checkpoint, progress=False)
    return pd.concat([getattr(found, part) for part in best_order.PARTS])


def binary(checkpoint, nodes=2):
    plan = binary_ig.Plan(10, nodes, 12, 5)
    return binary_ig.study(network(), X, REFERENCE, [0], plan, chunk=4, checkpoint=checkpoint, progress=False)


def costs(checkpoint, budgets=(32, 64)):
    both = {"kernel_shap": list(budgets), "occlusion": ()}
    return cost.cost_accuracy(network(), X, REFERENCE, budgets=both, checkpoint=checkpoint, progress=False)


def walks(checkpoint, seed=0):
    one = experiments.prepare("cern", source="simulated", policy="one_to_one", rows=100, epochs=1, n_pairs=2)
    return manifold.walks(one, manifold.Ruler.of(one), ("random",), seed=seed, chunk=1, checkpoint=checkpoint, progress=False)


def removed(checkpoint, seed=0):
    x = pd.DataFrame(X.repeat(10, axis=0) + np.arange(60)[:, None] % 7, columns=list("abcde"))
    rows = data.split(data.Dataset("t", x, x["a"].rename("y"), tuple(x), (), tuple(x), "simulated", {}))
    plan = removal.Plan(Hyper((4,), 0.1, 0.03), Recipe(epochs=1, batch=16), ("kernel_shap", "random"), (0.0, 0.5, 1.0), ig_steps=3)
    lines = []
    table = removal.run(rows, replace(plan, seed=seed, replicates=2), checkpoint=checkpoint, report=lines.append)
    assert "0 cells left" in lines[-1] or not any("left" in line for line in lines)
    return table


@pytest.mark.parametrize(
    ("run", "change", "message"),
    [
        (best_orders, {"orders": 21}, "orders was 20, is 21"),
        (binary, {"nodes": 3}, "nodes was 2, is 3"),
        (costs, {"budgets": (32,)}, "plan"),
        (walks, {"seed": 1}, "seed"),
        (removed, {"seed": 1}, ""),
    ],
)
def test_a_killed_run_goes_on_after_its_last_chunk_and_never_mixes(run, change, message, tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(best_order, "CHUNK", 4)
    whole = run(None)
    run(tmp_path / "kept")
    last = sorted((tmp_path / "kept").rglob("pairs_*.parquet"))[-1]
    last.unlink()
    computed, put = set(), Store.put
    monkeypatch.setattr(Store, "put", lambda self, first, table: computed.add(first) or put(self, first, table))
    again = run(tmp_path / "kept")
    assert computed == {int(last.stem.removeprefix("pairs_"))} and computed != {0}
    pd.testing.assert_frame_equal(*(table.drop(columns="seconds", errors="ignore") for table in (again, whole)))
    with pytest.raises(ValueError, match=f"another comparison: .*{message}"):
        run(tmp_path / "kept", **change)
