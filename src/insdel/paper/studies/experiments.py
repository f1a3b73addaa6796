"""One experiment of the paper's section 5: a dataset, a network fitted to it, and pairs (x, x′)."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from insdel import policies
from insdel.errors import UserError
from insdel.evaluate import predict
from insdel.identity import short_hash
from insdel.paper import data, networks
from insdel.paper.data import Dataset, Split
from insdel.paper.networks import mlp

POLICIES = ("counterfactual", "one_to_one", "average")
COUNTERFACTUAL: dict[str, dict[str, Any]] = {"bangalore": {"at_least": 12}, "cern": {"all_differ": True}}
INSPECTED = {"bangalore": None, "cern": 2000}  # held-out points that are looked at; None: all
ENOUGH = 5000  # fewer CERN rows than this cannot train the paper's network: it is trained on simulated ones
FULL = 50_000  # with fewer genuine events than this all but the inspected ones teach
SAMPLE_EPOCHS = 80  # over 17,979 events: as many steps as the recipe's 20 over the full file's 79,931


@dataclass(frozen=True)
class Experiment:
    """What a comparison needs, and where it comes from.

    dataset : the rows that x and x′ are among
    trained_on : "real" or "simulated", the rows that the network was fitted to
    split : training and held-out rows as the network sees them
    x_test, y_test : the points that were inspected, and their true targets
    model : the fitted network
    pairs : x, x′ and who is whose reference
    """

    dataset: Dataset
    trained_on: str
    split: Split
    x_test: np.ndarray
    y_test: np.ndarray
    model: networks.MLP
    policy: str
    pairs: policies.Pairs

    @property
    def r2(self) -> float:
        """Share of variance explained at the inspected points."""
        return networks.r2(self.y_test, np.asarray(predict(self.model, self.x_test)))

    @property
    def options(self) -> dict[str, dict[str, Any]]:
        """Options of methods that have to know the binary features (0 and 1, not standardised)  [appendix A.3]."""
        binary = [self.split.names.index(name) for name in self.split.binary if name not in self.dataset.standardise]
        return {"input_x_gradient": {"binary": binary}} if binary else {}

    @property
    def source(self) -> str:
        """In one line, for pages and records: which rows, and which rows the network learned from."""
        rows = f"{len(self.dataset.features):,} {self.dataset.source} rows"
        return rows if self.trained_on == self.dataset.source else f"{rows}; network trained on {self.trained_on} rows"


def prepare(
    name: str,
    *,
    source: str = "auto",
    path: str | Path | None = None,
    policy: str = "counterfactual",
    n_pairs: int | None = None,
    rows: int | None = None,
    drop_duplicates: bool = False,
    split_seed: int = 0,
    train_seed: int = 0,
    pair_seed: int = 0,
    **recipe: Any,
) -> Experiment:
    """Load the data, fit the network (or find it in the cache) and pick pairs.

    Parameters
    ----------
    name : "bangalore" or "cern"
    source, path : as for `data.load`
    policy : one of `POLICIES`
    n_pairs : keep the first pairs only; the references are still picked among all inspected points
    rows : how many rows to draw where they are simulated
    split_seed, train_seed, pair_seed : which rows are held out, how the network is fitted, who is paired with whom
    **recipe : changes to the training, such as ``epochs=5``
    """
    if policy not in POLICIES:
        raise UserError(f"policy must be one of {', '.join(POLICIES)}; found {policy!r}.")
    dataset = data.load(name, source, path, drop_duplicates=drop_duplicates, n=rows)
    training = dataset
    if name == "cern" and len(dataset.features) < ENOUGH and dataset.source == "real":
        training = data.load(name, "simulated", n=rows)
    share, recipe = _few_genuine(training, recipe)
    split = data.split(training, share, seed=split_seed)
    x, y = (split.x_test, split.y_test) if training is dataset else _all_rows(dataset, split)
    x, y = x[: INSPECTED[name]], y[: INSPECTED[name]]
    model = fitted(name, split, train_seed, **recipe)
    pairs = _pick(policy, name, model, x, split.x_train, pair_seed).first(n_pairs)
    return Experiment(dataset, training.source, split, x, y, model, policy, pairs)


def _few_genuine(training: Dataset, recipe: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Share of rows to hold out, and the recipe; a sample of the genuine events teaches as much as it can."""
    rows, inspected = len(training.features), INSPECTED[training.name]
    if inspected is None or training.source != "real" or rows >= FULL:
        return 0.2, recipe
    return min(0.2, inspected / rows), {"epochs": SAMPLE_EPOCHS, **recipe}


def _all_rows(dataset: Dataset, split: Split) -> tuple[np.ndarray, np.ndarray]:
    return split.transform(dataset.features), dataset.target.to_numpy(np.float32)


def fitted(name: str, split: Split, seed: int, **recipe: Any) -> networks.MLP:
    """Return the network fitted to the training rows, from the cache if this very training was done before."""
    chosen = networks.choose(name, **recipe)
    config = networks.training_config(split.x_train, split.y_train, *chosen, seed, "auto")
    config["code"] = short_hash(Path(mlp.__file__).read_bytes())  # another way to train is another network
    path = data.files.cache() / "models" / f"{name}_{networks.fingerprint(config)}.safetensors"
    if path.is_file():
        try:
            return networks.load(path)
        except Exception as error:  # truncated or foreign: whatever its reader makes of it
            print(f"insdel: {path.name} in the cache is damaged ({error}): dropped, fitted anew", file=sys.stderr)
            path.unlink()
    model = networks.fit(split.x_train, split.y_train, *chosen, seed=seed)
    partial = networks.save(model, path.with_suffix(f".{os.getpid()}"))
    os.replace(partial, path)
    return model


def _pick(policy: str, name: str, model: networks.MLP, x: np.ndarray, train: np.ndarray, seed: int) -> policies.Pairs:
    if policy == "counterfactual":
        return policies.counterfactual(model, x, **COUNTERFACTUAL[name])
    return policies.one_to_one(x, seed) if policy == "one_to_one" else policies.average(x, train)
