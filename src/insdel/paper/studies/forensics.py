"""Which training prints the paper's Tables 2 to 4? The printed numbers as a fingerprint of the authors' network.

The appendix prints sizes, dropout, rate and Huber's δ, and leaves the rest open. `SPACE` lists what is open and
what is tried for each. Candidates are trained, explained at a low price (Kernel SHAP from samples, a few
hundred pairs) and compared with the print. Said beforehand, and nowhere looked at in the search:

* `STEERS`, the rows of Kernel SHAP and of random orders, lead the search;
* `JUDGES`, all other rows and the correlations of Table 4, are kept to judge what it finds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from insdel import policies
from insdel.attribution import explain
from insdel.curves import MODES, abc, curve, order
from insdel.evaluate import predict
from insdel.paper import data, networks, printed
from insdel.paper.networks.mlp import MLP, PAPER, Recipe
from insdel.paper.studies.experiments import INSPECTED, POLICIES
from insdel.store import replace

STEERS = ("kernel_shap", "random")
JUDGES = ("integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime")
RAW = {"vanilla_grad_raw": "vanilla_grad", "lime_raw": "lime"}  # the same method, shown features before z-scoring
FULL_ROWS = 79_931  # what the paper trained on
SPACE: dict[str, tuple[Any, ...]] = {
    "rows": ("genuine", "paper's number"),
    "optimiser": ("adam", "adamw", "rmsprop", "sgd"),
    "schedule": ("constant", "cosine"),
    "batch": (64, 256),
    "seen": (40_000, 120_000, 360_000),
    "keep_best": (True, False),
    "clip": (1.0, math.inf),
    "weight_decay": (0.0, 1e-4, 1e-2),
    "first_weights": ("torch", "glorot", "he"),
    "output_unit": ("target", "deviation", "range"),
    "loss_unit": ("target", "deviation"),
    "distance": ("z-scored", "raw"),
}
AT_RANDOM = 24  # candidates drawn at random before Optuna proposes: they show each choice's effect without favour
ACCURATE = 0.95  # R² from which on a training predicts well
PAIRS = 160  # per policy, in the search
SAMPLES, STEPS, ORDERS = 256, 50, 6  # of Kernel SHAP, of integrated gradients, of random orders per pair


@dataclass(frozen=True)
class Events:
    """Genuine events, those that teach and those that are inspected, and simulated ones to make up the paper's number.

    x_train, y_train : (17,979, 16) z-scored, (17,979,)
    x_extra, y_extra : simulated ones, in the same units
    x, y : the 2,000 that are inspected
    mean, scale : (16,) of the z-scores
    provenance : of the genuine ones
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_extra: np.ndarray
    y_extra: np.ndarray
    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, seed: int = 0) -> Events:
        """Read the sample of genuine events; simulate as many more as the paper had."""
        genuine = data.load("cern", "real")
        inspected = INSPECTED["cern"] or 0
        split = data.split(genuine, inspected / len(genuine.features), seed=seed)
        extra = data.load("cern", "simulated", n=FULL_ROWS, seed=1)
        x, y = split.transform(extra.features), extra.target.to_numpy(np.float32)
        taught, inspected_rows = (split.x_train, split.y_train), (split.x_test, split.y_test)
        return cls(*taught, x, y, *inspected_rows, split.mean, split.scale, genuine.provenance)

    def taught(self, genuine: int, simulated: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The first rows of either kind, together: x (m, 16) and y (m,)."""
        x = np.concatenate([self.x_train[:genuine], self.x_extra[:simulated]])
        return x, np.concatenate([self.y_train[:genuine], self.y_extra[:simulated]])


def train(events: Events, choice: Mapping[str, Any], seed: int = 0) -> MLP:
    """Fit the paper's network in the way that a choice from `SPACE` says."""
    genuine = len(events.x_train)
    simulated = FULL_ROWS - genuine if choice["rows"] == "paper's number" else 0
    x, y = events.taught(genuine, simulated)
    return networks.fit(x, y, PAPER["cern"], recipe(choice, len(x)), seed=seed, progress=False)


def recipe(choice: Mapping[str, Any], rows: int) -> Recipe:
    """The training that a choice means for so many rows; `seen` counts rows over all epochs."""
    named = {key: choice[key] for key in choice if key not in ("rows", "seen", "distance")}
    return Recipe(epochs=max(1, round(choice["seen"] / rows)), warmup=0.0, **named)


class Raw(nn.Module):
    """The same function of the features before z-scoring: what gradients and LIME see if that is a layer of f."""

    def __init__(self, f: nn.Module, mean: np.ndarray, scale: np.ndarray) -> None:
        super().__init__()
        self.f = f
        self.mean, self.scale = (torch.tensor(part, dtype=torch.float32) for part in (mean, scale))

    def forward(self, x: Tensor) -> Tensor:
        """Predict (m,) outputs for (m, n) raw features."""
        return self.f((x - self.mean) / self.scale)


@dataclass(frozen=True)
class Reading:
    """One network, read as the paper reads its own.

    pairs : how many pairs per policy, the first of each; None: all
    distance : in which scale the counterfactual policy measures distances
    samples : subsets of sampled Kernel SHAP
    raw : also show gradients and LIME the raw features
    """

    model: MLP
    events: Events
    pairs: int | None = PAIRS
    distance: str = "z-scored"
    samples: int = SAMPLES
    raw: bool = True

    @cached_property
    def prediction(self) -> np.ndarray:
        """(2,000,) at the inspected events."""
        return np.asarray(predict(self.model, self.events.x))

    def pick(self, policy: str) -> policies.Pairs:
        """The pairs of a policy."""
        x = self.events.x
        if policy == "one_to_one":
            return policies.one_to_one(x, 0)
        if policy == "average":
            return policies.average(x, self.events.x_train)
        seen = x if self.distance == "z-scored" else x * self.events.scale.astype(np.float32)
        return policies.counterfactual(lambda _: self.prediction, seen, all_differ=True)

    def areas(self, policy: str) -> pd.DataFrame:
        """ABC per feature: a row per pair, a column (method, mode)."""
        result = self.pick(policy)
        x, reference = (self.events.x[result.index], np.asarray(result.reference))
        if result.reference_index is not None:
            reference = self.events.x[result.reference_index]
        x, reference = x[: self.pairs], reference[: self.pairs]
        columns: dict[tuple[str, str], list[np.ndarray]] = {}
        for method, attributions in self._attributions(x, reference):
            for mode in MODES:
                walked = np.asarray(curve(self.model, x, reference, np.asarray(order(attributions, mode))))
                columns.setdefault((method, mode), []).append(np.asarray(abc(walked, mode, per_feature=True)))
        return pd.DataFrame({key: np.mean(parts, axis=0) for key, parts in columns.items()})

    def _attributions(self, x: np.ndarray, reference: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        options: dict[str, dict[str, Any]] = {
            "kernel_shap": {"samples": self.samples},
            "integrated_gradients": {"steps": STEPS},
        }
        for method in ("kernel_shap", *JUDGES):
            yield method, np.asarray(explain(method, self.model, x, reference, **options.get(method, {})))
        for seed in range(ORDERS):
            yield "random", np.random.default_rng(seed).random(x.shape)
        if self.raw:
            before = [part * self.events.scale + self.events.mean for part in (x, reference)]
            shown = [part.astype(np.float32) for part in before]
            raw = Raw(self.model, self.events.mean, self.events.scale).eval()
            for name, method in RAW.items():
                yield name, np.asarray(explain(method, raw, *shown))

    def fingerprint(self) -> pd.DataFrame:
        """Means and correlations as the paper prints them: policy, mode, method, value.

        Correlations of insertion with deletion areas have the mode "correlation".
        """
        rows = []
        for policy in POLICIES:
            table = self.areas(policy)
            rows += [(policy, mode, method, value) for (method, mode), value in table.mean().items()]
            for method in ("kernel_shap", "integrated_gradients"):
                value = np.corrcoef(table[method, "insertion"], table[method, "deletion"])[0, 1]
                rows.append((policy, "correlation", method, value))
        return pd.DataFrame(rows, columns=["policy", "mode", "method", "value"])

    def r2(self) -> float:
        """Share of variance explained at the inspected events."""
        return networks.r2(self.events.y, self.prediction)


def print_of_paper() -> pd.DataFrame:
    """Tables 2 to 4 in the form of `Reading.fingerprint`: policy, mode, method, value; and who steers."""
    areas = pd.concat([printed.table("cern_counterfactual"), printed.table("cern_policies")], ignore_index=True)
    areas = areas[areas["method"] != printed.DIFFERENCE].rename(columns={"mean": "value"})
    table = printed.table("cern_correlation").melt("policy", ["kernel_shap", "integrated_gradients"], "method")
    both = pd.concat([areas, table.assign(mode="correlation")], ignore_index=True)
    both["steers"] = both["method"].isin(STEERS) & (both["mode"] != "correlation")
    return both[["policy", "mode", "method", "value", "steers"]]


def distances(found: pd.DataFrame) -> dict[str, float]:
    """How far a fingerprint is from the print: root mean square in GeV of the numbers that steer and that judge.

    Correlations, which have no unit, are a third number.
    """
    both = print_of_paper().merge(found, on=["policy", "mode", "method"], suffixes=("", "_found"))
    off = both["value_found"] - both["value"]
    kinds = {
        "steers": both["steers"],
        "judges": ~both["steers"] & (both["mode"] != "correlation"),
        "correlations": both["mode"] == "correlation",
    }
    return {name: float(np.sqrt((off[kind] ** 2).mean())) for name, kind in kinds.items()}


def candidate(
    events: Events, choice: Mapping[str, Any], seed: int = 0, pairs: int | None = PAIRS, raw: bool = False
) -> dict[str, Any]:
    """Train and read one candidate: its choice, R², distances and fingerprint, as plain values."""
    model = train(events, choice, seed)
    reading = Reading(model, events, pairs, choice["distance"], raw=raw)
    result = reading.fingerprint()
    # a network that learned nothing also has a fingerprint; R² says so
    facts = {"choice": dict(choice), "seed": seed, "r2": reading.r2()}
    return {**facts, **distances(result), "fingerprint": _plain(result)}


def _plain(found: pd.DataFrame) -> list[list[Any]]:
    return [[row.policy, row.mode, row.method, float(row.value)] for row in found.itertuples()]


def search(folder: Path, candidates: int, events: Events, seed: int = 0, pairs: int = PAIRS) -> pd.DataFrame:
    """Try candidates, the first at random, the others by Optuna; `folder` keeps each, and none is tried twice.

    Returns
    -------
    DataFrame, one row per candidate: choice, r2, steers, judges, correlations
    """
    import optuna

    folder.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {name: optuna.distributions.CategoricalDistribution(_words(options)) for name, options in SPACE.items()}
    for number in range(candidates):
        path = folder / f"candidate_{number:04d}.json"
        if path.is_file():
            continue
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1000 * seed + number, n_startup_trials=1))
        if number >= AT_RANDOM:
            study.add_trials(_trials(folder, space))
        trial = study.ask(space)
        choice = {name: SPACE[name][_words(SPACE[name]).index(trial.params[name])] for name in SPACE}
        replace(path, json.dumps(_try(events, choice, seed, pairs)))
    return table(folder)


def _try(events: Events, choice: Mapping[str, Any], seed: int, pairs: int) -> dict[str, Any]:
    """A candidate; one whose training diverges has no fingerprint."""
    try:
        return candidate(events, choice, seed, pairs)
    except ValueError as error:
        return {"choice": dict(choice), "seed": seed, "r2": math.nan, "failed": str(error), "fingerprint": []}


def _words(options: tuple[Any, ...]) -> list[str]:
    return [str(option) for option in options]


def _trials(folder: Path, space: dict[str, Any]) -> list[Any]:
    """The candidates so far, as Optuna's finished trials."""
    import optuna

    result = [json.loads(path.read_text()) for path in sorted(folder.glob("candidate_*.json"))]
    return [
        optuna.trial.create_trial(
            params={name: str(one["choice"][name]) for name in SPACE}, distributions=space, value=one["steers"]
        )
        for one in result
        if math.isfinite(one.get("steers", math.nan))
    ]


def table(folder: Path) -> pd.DataFrame:
    """One row per candidate in a folder, without the fingerprints; the nearest first."""
    rows = []
    for path in sorted(folder.glob("candidate_*.json")):
        one = json.loads(path.read_text())
        rows.append({"candidate": int(path.stem[-4:]), **one.pop("choice"), **one})
    result = pd.DataFrame(rows).drop(columns=["fingerprint"], errors="ignore")
    return result.sort_values("steers", ignore_index=True) if "steers" in result else result


def fingerprints(folder: Path) -> pd.DataFrame:
    """All candidates' numbers: candidate, r2, policy, mode, method, value."""
    parts = []
    for path in sorted(folder.glob("candidate_*.json")):
        one = json.loads(path.read_text())
        part = pd.DataFrame(one["fingerprint"], columns=["policy", "mode", "method", "value"])
        parts.append(part.assign(candidate=int(path.stem[-4:]), r2=one["r2"]))
    return pd.concat(parts, ignore_index=True)[["candidate", "r2", "policy", "mode", "method", "value"]]


def nearest(folder: Path, count: int, events: Events, pairs: int | None = None, seed: int = 1) -> pd.DataFrame:
    """Train the nearest candidates again, from another seed, and read them on more pairs; `folder` keeps each.

    Returns
    -------
    DataFrame: candidate, r2, policy, mode, method, value
    """
    parts = []
    for number in table(folder)["candidate"].head(count):
        path = folder / f"again_{number:04d}.json"
        if not path.is_file():
            choice = json.loads((folder / f"candidate_{number:04d}.json").read_text())["choice"]
            replace(path, json.dumps(candidate(events, choice, seed, pairs, raw=True)))
        one = json.loads(path.read_text())
        result = pd.DataFrame(one["fingerprint"], columns=["policy", "mode", "method", "value"])
        parts.append(result.assign(candidate=int(number), r2=one["r2"]))
    return pd.concat(parts, ignore_index=True)[["candidate", "r2", "policy", "mode", "method", "value"]]


def beside_paper(numbers: pd.DataFrame) -> pd.DataFrame:
    """Fingerprints beside the print: rows (role, policy, mode, method), a column for the paper and per candidate.

    Parameters
    ----------
    numbers : as `fingerprints` or `nearest` give it

    Returns
    -------
    DataFrame; the role is "steers", "judges", or "not printed" for raw features
    """
    keys = ["policy", "mode", "method"]
    wide = numbers.pivot_table(index=keys, columns="candidate", values="value")
    paper = print_of_paper().set_index(keys).reindex(wide.index)
    wide.insert(0, "paper", paper["value"])
    role = paper["steers"].map({True: "steers", False: "judges"}).fillna("not printed").rename("role")
    return wide.set_index(role, append=True).reorder_levels(["role", *keys]).sort_index()


def ranges(numbers: pd.DataFrame, least_r2: float = ACCURATE) -> pd.DataFrame:
    """What trainings that predict well leave open: each number's range over them, and where the print lies.

    Returns
    -------
    DataFrame, rows (policy, mode, method): paper, least, most, inside
    """
    good = numbers[numbers["r2"] >= least_r2]
    keys = ["policy", "mode", "method"]
    result = good.groupby(keys)["value"].agg(least="min", most="max")
    result.insert(0, "paper", print_of_paper().set_index(keys)["value"])
    result = result.dropna(subset=["paper"])
    return result.assign(inside=result["paper"].between(result["least"], result["most"]))


def effects(found: pd.DataFrame, measure: str = "steers") -> pd.DataFrame:
    """What each choice does: the mean of a measure over the candidates that made it, minus that of the others.

    Parameters
    ----------
    found : as `table` gives it
    measure : "steers", "judges", "correlations" or "r2"

    Returns
    -------
    DataFrame: choice, option, candidates, effect, se; without favour for the candidates drawn at random
    """
    rows = []
    for name in SPACE:
        for option in sorted(found[name].unique(), key=str):
            choice = found[name] == option
            made, others = found.loc[choice, measure].dropna(), found.loc[~choice, measure].dropna()
            if len(made) > 1 and len(others) > 1:
                se = math.sqrt(made.var() / len(made) + others.var() / len(others))
                rows.append((name, str(option), len(made), made.mean() - others.mean(), se))
    return pd.DataFrame(rows, columns=["choice", "option", "candidates", "effect", "se"])


def statements(numbers: pd.DataFrame) -> pd.DataFrame:
    """Which statements of section 5.2 a network bears out: candidate → statement → True or False.

    Parameters
    ----------
    numbers : as `fingerprints` gives it
    """
    wide = numbers.pivot_table(index="candidate", columns=["policy", "mode", "method"], values="value")
    others = ("vanilla_grad", "input_x_gradient", "lime", "random")
    columns = [(policy, mode) for policy in POLICIES for mode in MODES]

    def area(policy: str, mode: str, method: str) -> pd.Series:
        return wide[policy, mode, method]

    def everywhere(better: str, worse: str) -> pd.Series:
        parts = [area(*place, better) > area(*place, worse) for place in columns]
        return pd.concat(parts, axis=1).all(axis=1)

    # sampled Kernel SHAP and IG are too near to tell which of them is first: the exact records do that
    ahead = pd.concat([everywhere("kernel_shap", method) for method in others], axis=1).all(axis=1)
    higher = [area(policy, "insertion", "kernel_shap") > area(policy, "deletion", "kernel_shap") for policy in POLICIES]
    average = [area("average", mode, "lime") < area("average", mode, "input_x_gradient") for mode in MODES]
    correlation = {policy: area(policy, "correlation", "kernel_shap") for policy in POLICIES}
    return pd.DataFrame(
        {
            "Kernel SHAP is above LIME, both gradients and random in all six columns": ahead,
            "insertion scores above deletion under each policy": pd.concat(higher, axis=1).all(axis=1),
            "LIME falls below Input × Gradient under the average policy": pd.concat(average, axis=1).all(axis=1),
            "random orders score above 0 in insertion, one-to-one": area("one_to_one", "insertion", "random") > 0,
            "random orders score above 0 in insertion, average": area("average", "insertion", "random") > 0,
            "insertion and deletion go against each other, one-to-one": correlation["one_to_one"] < 0,
            "their correlation is largest under the counterfactual policy": (
                pd.concat(correlation, axis=1).idxmax(axis=1) == "counterfactual"
            ),
        }
    )
