"""One experiment of the paper's section 5: a dataset, a network fitted to it, and pairs (x, x′)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel import policies
from insdel.errors import require_one_of
from insdel.evaluate import predict
from insdel.identity import short_hash
from insdel.policies import POLICIES
from insdel.store import atomic
from insdel_paper import data, networks
from insdel_paper.data import Dataset, Split

COUNTERFACTUAL: dict[str, dict[str, Any]] = {"bangalore": {"at_least": 12}, "cern": {"all_differ": True}}
INSPECTED = {"bangalore": None, "cern": 2000}  # held-out points that are looked at; None: all
ENOUGH = 5000  # fewer CERN rows than this cannot train the paper's network: it is trained on simulated ones
FULL = 50_000  # with fewer genuine events than this all but the inspected ones teach
HOUSES: dict[str, Any] = {"source": "real", "pairs": None, "epochs": None}  # full size of what is recorded
EVENTS: dict[str, Any] = {"pairs": None, "rows": 100_000, "epochs": None}
SAMPLE_EPOCHS = 80  # over 17,979 events: as many steps as the recipe's 20 over the full file's 79,931


@dataclass(frozen=True)
class Rows:
    """Rows of an experiment, before there is a network.

    dataset : the rows that x and x′ are among
    trained_on : "real" or "simulated", the rows that the network is fitted to
    split : training and held-out rows as the network sees them
    x_test, y_test : the points that are inspected, and their true targets
    recipe : changes to the training that few rows ask for
    """

    dataset: Dataset
    trained_on: str
    split: Split
    x_test: np.ndarray
    y_test: np.ndarray
    recipe: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def binary(self) -> list[int]:
        """Indices of the features that take two values only."""
        return [self.split.names.index(name) for name in self.split.binary]

    @property
    def options(self) -> dict[str, dict[str, Any]]:
        """Options of methods that have to know which features are 0 or 1, not standardised  [appendix A.3]."""
        binary = [j for j in self.binary if self.split.names[j] not in self.dataset.standardise]
        return {"input_x_gradient": {"binary": binary}} if binary else {}


@dataclass(frozen=True)
class Experiment(Rows):
    """What a comparison needs, and where it comes from: `Rows`, the fitted network, and who is whose reference."""

    model: networks.MLP
    policy: str
    pairs: policies.PolicyPairs

    @property
    def ends(self) -> pd.DataFrame:
        """Per pair: pair, row, reference_row; the last is −1 where the reference is no row (the average policy)."""
        count, partner = len(self.pairs), self.pairs.reference_index
        reference = np.full(count, -1) if partner is None else partner
        return pd.DataFrame({"pair": np.arange(count), "row": self.pairs.index, "reference_row": reference})

    @property
    def r2(self) -> float:
        """Share of variance explained at the inspected points."""
        return networks.r2(self.y_test, np.asarray(predict(self.model, self.x_test)))

    @property
    def facts(self) -> dict[str, Any]:
        """Provenance that every record of an experiment has."""
        return {
            "data": {"what": self.source, "source": self.dataset.source, **self.dataset.provenance},
            "trained_on": self.trained_on,
            "network": networks.fingerprint(self.model.config),
            "features": list(self.split.names),
            "r2": self.r2,
            "pairs": len(self.pairs),
            "without_reference": len(self.pairs.without),
            "seconds_are": "data, training and comparison, over all starts",
        }

    @property
    def source(self) -> str:
        """In one line, for pages and records: which rows, and which rows the network learned from."""
        rows = f"{len(self.dataset.features):,} {self.dataset.source} rows"
        return rows if self.trained_on == self.dataset.source else f"{rows}; network trained on {self.trained_on} rows"


def prepare(
    name: str,
    *,
    policy: str = "counterfactual",
    n_pairs: int | None = None,
    train_seed: int = 0,
    pair_seed: int = 0,
    device: str = "auto",
    **given: Any,
) -> Experiment:
    """Load the rows, fit the network (or find it in the cache) and pair the inspected points.

    policy : one of `POLICIES`
    n_pairs : keep the first pairs only; the references are still picked among all inspected points
    train_seed, pair_seed : how the network is fitted, who is paired with whom
    device : what the network is fitted and run on; auto takes a GPU if there is one
    given : options of `load`, and changes to the training such as ``epochs=5`` (None: no change)
    """
    require_one_of("policy", policy, POLICIES)
    rows = load(name, **{key: given.pop(key) for key in list(given) if key in signature(load).parameters})
    changes = {key: value for key, value in given.items() if value is not None}
    model = fitted(name, rows.split, train_seed, device, **{**rows.recipe, **changes})
    return Experiment(**vars(rows), model=model, policy=policy, pairs=pair(rows, model, policy, pair_seed, n_pairs))


def load(
    name: str,
    source: str = "auto",
    path: str | Path | None = None,
    rows: int | None = None,
    drop_duplicates: bool = False,
    split_seed: int = 0,
) -> Rows:
    """Load the rows of "bangalore" or "cern" and divide them into those that teach and those that are looked at.

    source, path, drop_duplicates : as for `data.load`
    rows : how many rows to draw where they are simulated
    split_seed : which rows are held out
    """
    dataset = data.load(name, source, path, drop_duplicates=drop_duplicates, n=rows)
    training = dataset
    if name == "cern" and len(dataset.features) < ENOUGH and dataset.source == "real":
        training = data.load(name, "simulated", n=rows)
    share, recipe, inspected, taught = 0.2, {}, INSPECTED[name], len(training.features)
    if inspected is not None and training.source == "real" and taught < FULL:
        # a sample of the genuine events teaches all it can
        share, recipe = min(share, inspected / taught), {"epochs": SAMPLE_EPOCHS}
    split = data.split(training, share, seed=split_seed)
    x, y = split.x_test, split.y_test
    if training is not dataset:
        x, y = split.transform(dataset.features), dataset.target.to_numpy(np.float32)
    return Rows(dataset, training.source, split, x[:inspected], y[:inspected], recipe=recipe)


def pair(rows: Rows, model: networks.MLP, policy: str, seed: int = 0, first: int | None = None) -> policies.PolicyPairs:
    """Pair every inspected point with its reference, and keep the first pairs."""
    given: dict[str, Any] = {"data": rows.split.x_train, "seed": seed, **COUNTERFACTUAL[rows.dataset.name]}
    return policies.choose(policy, model, rows.x_test, **given).first(first)


def fitted(name: str, split: Split, seed: int, device: str = "auto", **recipe: Any) -> networks.MLP:
    """Return the network fitted to the training rows, from the cache if this very training was done before."""
    choice = networks.choose(name, **recipe)
    config = networks.training_config(split.x_train, split.y_train, *choice, seed, device)
    code = Path(networks.training.__file__).read_bytes()  # another way to train is another network
    config["code"] = short_hash(code)
    path = data.files.cache() / "models" / f"{name}_{networks.fingerprint(config)}.safetensors"
    if path.is_file():
        try:
            return networks.load(path, device)
        except Exception as error:  # truncated or foreign: whatever its reader makes of it
            print(f"insdel: {path.name} in the cache is damaged ({error}): dropped, fitted again", file=sys.stderr)
            path.unlink()
    model = networks.fit(split.x_train, split.y_train, *choice, seed=seed, device=device)
    with atomic(path) as partial:
        networks.save(model, partial)
    return model
