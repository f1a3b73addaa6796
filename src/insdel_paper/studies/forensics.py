"""Which training prints the paper's tables? The printed numbers as a fingerprint of the authors' networks.

The appendix prints sizes, dropout, rate and Huber's δ, and leaves the rest open. `forensics.yml` lists what is open
and what is tried for each. Candidates are trained, explained at a low price (Kernel SHAP from samples) and compared
with the printed tables. Fixed in advance, and never looked at in the search:

* `STEERS`, the rows of Kernel SHAP and of random orders, lead the search;
* `JUDGES`, all other rows and the correlations of Table 4, are kept to judge what it finds.

A learning curve says how much the number of events matters: the paper had 79,931 to learn from.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml
from torch import Tensor, nn

from insdel import policies
from insdel.attribution import explain
from insdel.attribution.own import attributions
from insdel.comparison import compare
from insdel.evaluate import predict
from insdel.identity import plain
from insdel.store import Store
from insdel_paper import data, networks, printed
from insdel_paper.networks.training import MLP, PAPER, RECIPES, Recipe
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies import experiments
from insdel_paper.studies.experiments import COUNTERFACTUAL, POLICIES, Rows
from insdel_paper.studies.tables import wide

STEERS = ("kernel_shap", "random")
JUDGES = ("integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime")
RAW = {"vanilla_grad_raw": "vanilla_grad", "lime_raw": "lime"}  # the same method, shown features before z-scoring
READ = {"cern": POLICIES, "bangalore": POLICIES[:1]}  # the policies that the paper has
KEYS = ["policy", "mode", "method"]
SAMPLES, STEPS, ORDERS = 256, 50, 6  # of Kernel SHAP, of integrated gradients, of random orders per pair
FULL_ROWS, GENUINE = 79_931, 17_979  # events that the paper trained on, and those that this project has
SIZES = ((2_000, 0), (4_000, 0), (8_000, 0), (GENUINE, 0), (0, GENUINE), (0, FULL_ROWS))  # genuine and simulated
SEEN = 360_000  # rows over all epochs: 20 epochs of the genuine events

_CHOICES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
SPACE, PLAIN = {name: _CHOICES[name] for name in READ}, _CHOICES["plain"]
NOT_OF_RECIPE = ("rows", "seen", "distance", "split")
ATTEMPTS = 40  # proposals until one is new
AT_RANDOM = 40  # candidates drawn at random before Optuna proposes: they show each choice's effect without favour
EPOCHS = (1, 5, 20)  # of the plain training


@cache
def load(name: str, seed: int = 0) -> Rows:
    """Genuine houses or events, divided as in the experiments."""
    return experiments.load(name, "real", split_seed=seed)


def taught(rows: Rows, genuine: int, simulated: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The first genuine rows, and simulated events in the same units, together: x (m, n) and y (m,)."""
    x, y = rows.split.x_train[:genuine], rows.split.y_train[:genuine]
    if not simulated:
        return x, y
    events = data.load("cern", "simulated", n=FULL_ROWS, seed=1)
    x_extra, y_extra = rows.split.transform(events.features), events.target.to_numpy(np.float32)
    return np.concatenate([x, x_extra[:simulated]]), np.concatenate([y, y_extra[:simulated]])


def facts(name: str) -> dict[str, Any]:
    """Provenance of a record: where its rows come from."""
    genuine, simulated = load(name).dataset, name == "cern"
    what = f"{len(genuine.features):,} real rows{', and simulated ones' if simulated else ''}"
    about = {"what": what, "source": "real", **genuine.provenance}
    return {"data": about, "pairs_are": "per policy", "trained_on": "real and simulated" if simulated else "real"}


def unscaled(f: nn.Module, mean: np.ndarray, scale: np.ndarray) -> Callable[[Tensor], Tensor]:
    """The same function of the features before z-scoring: what gradients and LIME see if that is a layer of f."""
    center, width = (torch.tensor(part, dtype=torch.float32) for part in (mean, scale))
    return lambda x: f((x - center) / width)


class Dropping(nn.Module):
    """The same network with dropout left on, as if nobody had called `eval`."""

    def __init__(self, model: MLP, seed: int = 0) -> None:
        super().__init__()
        self.layers, self.ratio = model.layers, model.dropout
        self.generator = torch.Generator().manual_seed(seed)

    def forward(self, x: Tensor) -> Tensor:
        """Predict (m,) outputs for (m, n) features, each with units of its own dropped."""
        for layer in self.layers:
            if isinstance(layer, nn.Dropout):
                draws = torch.rand(x.shape, generator=self.generator).to(x.device)
                x = x * (draws >= self.ratio) / (1 - self.ratio)
            else:
                x = layer(x)
        return x.squeeze(-1)


@dataclass(frozen=True)
class Reading:
    """One network, read as the paper reads its own.

    pairs : how many pairs per policy, the first of each; None: all
    distance : in which scale the counterfactual policy measures distances, "z-scored" or "raw"
    samples : subsets of sampled Kernel SHAP
    dropout : whether dropout stays on while curves are walked and methods asked
    raw : also show gradients and LIME the raw features
    """

    model: MLP
    rows: Rows
    pairs: int | None = None
    distance: str = "z-scored"
    samples: int = SAMPLES
    dropout: bool = False
    raw: bool = False

    @cached_property
    def f(self) -> nn.Module:
        """What is explained."""
        return Dropping(self.model).eval() if self.dropout else self.model

    @cached_property
    def prediction(self) -> np.ndarray:
        """(m,) at the inspected rows."""
        return np.asarray(predict(self.model, self.rows.x_test))

    def pick(self, policy: str) -> tuple[np.ndarray, np.ndarray]:
        """x and x′ of a policy's pairs, (pairs, n) each."""
        x = seen = self.rows.x_test
        if policy == "counterfactual" and self.distance == "raw":
            seen = x * self.rows.split.scale.astype(np.float32)
        given: dict[str, Any] = {"data": self.rows.split.x_train, **COUNTERFACTUAL[self.rows.dataset.name]}
        found = policies.choose(policy, lambda _: self.prediction, seen, **given).first(self.pairs)
        reference = found.reference if found.reference_index is None else x[found.reference_index]
        return x[found.index], np.asarray(reference)

    def areas(self, policy: str) -> pd.DataFrame:
        """ABC per feature: a row per pair, a column (method, mode); of random orders the mean over some."""
        x, reference = self.pick(policy)
        # DeepLIFT compares the activations of x and x′ unit by unit: with units dropped at random it has no meaning
        methods: dict[str, Any] = {name: name for name in ("kernel_shap", *JUDGES)}
        if self.dropout:
            del methods["deeplift"]
        draws = (np.random.default_rng(seed).random(x.shape) for seed in range(ORDERS))
        methods |= {f"random {k}": attributions(values, sign="change") for k, values in enumerate(draws)}
        if self.raw:
            mean, scale = self.rows.split.mean, self.rows.split.scale
            f = unscaled(self.f, mean, scale)
            shown = [torch.tensor(part * scale + mean).float() for part in (x, reference)]
            methods |= {name: attributions(explain(method, f, *shown), sign="change") for name, method in RAW.items()}
        own = {"kernel_shap": {"samples": self.samples}, "integrated_gradients": {"steps": STEPS}}
        with warnings.catch_warnings():
            if self.dropout:
                warnings.filterwarnings("ignore", "f gives the same point different predictions")  # on purpose
            options = {**own, **self.rows.options}
            found = compare(self.f, x, reference, methods, options=options, score=False, progress=False)
        names = found.table["method"].astype(str).str.replace(r" \d+$", "", regex=True)
        return wide(found.table.assign(method=names))

    def fingerprint(self) -> pd.DataFrame:
        """Means and correlations as the paper prints them: policy, mode, method, value.

        Correlations of insertion with deletion areas have the mode "correlation".
        """
        result = []
        for policy in READ[self.rows.dataset.name]:
            areas = self.areas(policy)
            result += [(policy, mode, method, value) for (method, mode), value in areas.mean().items()]
            for method in ("kernel_shap", "integrated_gradients"):
                value = np.corrcoef(areas[method, "insertion"], areas[method, "deletion"])[0, 1]
                result.append((policy, "correlation", method, value))
        return pd.DataFrame(result, columns=[*KEYS, "value"])


def print_of_paper(name: str = "cern") -> pd.DataFrame:
    """Table 1, or Tables 2 to 4, in the form of `Reading.fingerprint`: policy, mode, method, value; and who steers."""
    names = ["bangalore"] if name == "bangalore" else ["cern_counterfactual", "cern_policies"]
    areas = pd.concat([printed.table(one) for one in names], ignore_index=True)
    parts = [areas[areas["method"] != printed.DIFFERENCE].rename(columns={"mean": "value"})]
    if name == "cern":
        correlations = printed.table("cern_correlation")
        correlations = correlations.melt("policy", ["kernel_shap", "integrated_gradients"], "method")
        parts.append(correlations.assign(mode="correlation"))
    both = pd.concat(parts, ignore_index=True)
    both["steers"] = both["method"].isin(STEERS) & (both["mode"] != "correlation")
    return both[[*KEYS, "value", "steers"]]


def distances(numbers: pd.DataFrame, name: str = "cern") -> dict[str, float]:
    """How far a fingerprint is from the printed one: root mean square of the numbers that steer and that judge.

    The unit is that of the target; correlations, which have no unit, are a third number.
    """
    both = print_of_paper(name).merge(numbers[[*KEYS, "value"]], on=KEYS, suffixes=("", "_read"))
    off = both["value_read"] - both["value"]
    correlation = both["mode"] == "correlation"
    kinds = {"steers": both["steers"], "judges": ~both["steers"] & ~correlation, "correlations": correlation}
    return {kind: float(np.sqrt((off[which] ** 2).mean())) for kind, which in kinds.items() if which.any()}


def train(rows: Rows, choice: Mapping[str, Any], seed: int = 0) -> MLP:
    """Fit the paper's network in the way that a choice from `SPACE` says; `seen` counts rows over all epochs."""
    genuine = len(rows.split.x_train)
    x, y = taught(rows, genuine, FULL_ROWS - genuine if choice.get("rows") == "paper's number" else 0)
    named = {key: choice[key] for key in choice if key not in NOT_OF_RECIPE}
    recipe = Recipe(epochs=max(1, round(choice["seen"] / len(x))), warmup=0.0, **named)
    return networks.fit(x, y, PAPER[rows.dataset.name], recipe, seed=seed, progress=False)


def candidate(name: str, choice: Mapping[str, Any], seed: int = 0, **reading: Any) -> pd.DataFrame:
    """Train and read one candidate: its fingerprint, with R², its choice and seed in every row.

    A network that learned nothing also has a fingerprint; R² says so. A training that diverges has a row without one.

    reading : fields of `Reading`
    """
    rows = load(name, choice.get("split", 0))
    try:
        read = Reading(train(rows, choice, seed), rows, distance=choice["distance"], **reading)
        numbers = read.fingerprint().assign(r2=networks.r2(rows.y_test, read.prediction))
    except ValueError as error:
        nothing = {**dict.fromkeys(KEYS, ""), "value": math.nan, "r2": math.nan}
        numbers = pd.DataFrame([{**nothing, "failed": str(error)}])
    return numbers.assign(**choice, seed=seed)


def search(folder: Path, name: str, candidates: int, pairs: int | None, seed: int = 0) -> pd.DataFrame:
    """Try candidates, the first at random, the others by Optuna; `folder` keeps each, and none is tried twice.

    Returns a DataFrame: candidate, and as `candidate` gives it
    """
    store, found = Store(folder, lambda: plain({"space": SPACE[name], "pairs": pairs, "seed": seed})), pd.DataFrame()
    for number in range(candidates):
        if not store.has(number):
            tried = table(found, name).to_dict("records") if number else []
            store.put(number, candidate(name, _propose(SPACE[name], tried, number, seed), seed, pairs=pairs))
        found = pd.concat([found, store.get(number).assign(candidate=number)], ignore_index=True)
    return found


def table(numbers: pd.DataFrame, name: str) -> pd.DataFrame:
    """One row per candidate, the nearest first: candidate, its choice, seed, r2, steers, judges, correlations."""
    first = numbers.drop_duplicates("candidate").drop(columns=[*KEYS, "value"])
    far = {number: {"steers": math.nan, **distances(part, name)} for number, part in numbers.groupby("candidate")}
    apart = pd.DataFrame.from_dict(far, orient="index").rename_axis("candidate").reset_index()
    return first.merge(apart).sort_values("steers", ignore_index=True)


def _propose(
    options: Mapping[str, Sequence[Any]], tried: Sequence[Mapping[str, Any]], number: int, seed: int
) -> dict[str, Any]:
    """A choice that has not been tried: drawn at random, later by Optuna from what was found."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    values = {key: {str(value): value for value in choices} for key, choices in options.items()}
    space = {key: optuna.distributions.CategoricalDistribution(list(words)) for key, words in values.items()}
    before = [{key: str(one[key]) for key in space} for one in tried]
    known = [
        optuna.trial.create_trial(params=params, distributions=space, value=one["steers"])
        for params, one in zip(before, tried, strict=True)
        if number >= AT_RANDOM and math.isfinite(one["steers"])
    ]
    for attempt in range(ATTEMPTS):
        draw = (1000 * seed + number + 100_000 * attempt) % 2**32
        sampler: optuna.samplers.BaseSampler = optuna.samplers.RandomSampler(draw)
        if known and attempt < ATTEMPTS // 2:  # Optuna may insist on what it knows
            sampler = optuna.samplers.TPESampler(seed=draw, n_startup_trials=1)
        study = optuna.create_study(sampler=sampler)
        study.add_trials(known)
        words = study.ask(space).params
        if words not in before:
            return {key: values[key][word] for key, word in words.items()}
    raise ValueError(f"{ATTEMPTS} proposals in a row were choices that had been tried: the space is exhausted.")


def trained(folder: Path, name: str, asked: Mapping[Any, Mapping[str, Any]], by: str) -> pd.DataFrame:
    """Numbers of other trainings, label → arguments of `candidate`: the label as column `by`, r2, policy, …, value."""
    choices = list(asked.values())
    store = Store(folder, lambda: plain({"asked": choices}))
    parts = store.chunks(len(choices), 1, lambda part: candidate(name, **choices[part.start]), unit=" networks")
    found = pd.concat(dict(zip(asked, parts, strict=True)), names=[by]).reset_index(by)
    return found[[by, "r2", *KEYS, "value"]].reset_index(drop=True)


def variants(folder: Path, name: str, choice: Mapping[str, Any], pairs: int | None) -> pd.DataFrame:
    """A choice, changed in one way at a time, and for events a plain training: change, r2, policy, …, value."""
    other = {"raw": "z-scored", "z-scored": "raw"}[choice["distance"]]
    changes: dict[str, dict[str, Any]] = {  # what is changed → other arguments of `candidate`
        "as it is": {},
        "another seed": {"seed": 1},
        f"distances {other}": {"choice": {**choice, "distance": other}},
        "dropout left on": {"dropout": True},
    }
    if name == "cern":
        changes |= {f"plain, {n} epochs": {"choice": {**PLAIN, "seen": n * FULL_ROWS}} for n in EPOCHS}
    asked = {change: {"choice": choice, "pairs": pairs, **others} for change, others in changes.items()}
    return trained(folder, name, asked, "change")


def beside_paper(numbers: pd.DataFrame, name: str = "cern", by: str = "candidate") -> pd.DataFrame:
    """Fingerprints beside the print: rows (role, policy, mode, method), a column for the paper and per candidate.

    numbers : as `search`, `again` or, with by="change", `variants` give it

    Returns a DataFrame; the role is "steers", "judges", or "not printed" for raw features
    """
    wide = numbers.pivot_table(index=KEYS, columns=by, values="value", sort=False)
    paper = print_of_paper(name).set_index(KEYS).reindex(wide.index)
    wide.insert(0, "paper", paper["value"])
    role = paper["steers"].map({True: "steers", False: "judges"}).fillna("not printed").rename("role")
    return wide.set_index(role, append=True).reorder_levels(["role", *KEYS]).sort_index()


def find_training(
    name: str, context: RunContext, *, candidates: int, pairs: int | None, nearest: int, nearest_pairs: int | None
) -> Recording:
    """Candidates for the authors' training; the nearest again, from another seed and on more pairs; single changes."""
    numbers = search(context.folder / "candidates", name, candidates, pairs)
    found = table(numbers, name)
    choices = found.set_index("candidate")[list(SPACE[name])].head(nearest).to_dict("index")
    other = {"seed": 1, "pairs": nearest_pairs, "raw": name == "cern"}
    again = {number: {"choice": choice, **other} for number, choice in choices.items()}
    tables = {
        "candidates": found,
        "numbers": numbers.loc[numbers["policy"] != "", ["candidate", "r2", *KEYS, "value"]],
        "again": trained(context.folder / "again", name, again, "candidate"),
        "variants": variants(context.folder / "variants", name, next(iter(choices.values())), nearest_pairs),
    }
    return Recording(tables, facts(name))


PARTS = ("candidates", "numbers", "again", "variants")
record("forensics", "which training prints Tables 2 to 4", PARTS,
       candidates=60, pairs=160, nearest=5, nearest_pairs=500)(partial(find_training, "cern"))  # fmt: skip
record("forensics_houses", "which training prints Table 1", PARTS,
       candidates=64, pairs=None, nearest=5, nearest_pairs=None)(partial(find_training, "bangalore"))  # fmt: skip


@record(
    "learning_curve", "levels of Tables 2 to 4, by how many events taught the network", ("points",),
    sizes=SIZES, seen=SEEN, pairs=160,
)  # fmt: skip
def vary_size(context: RunContext, *, sizes: Sequence[tuple[int, int]], pairs: int, seen: int) -> Recording:
    """Networks that learned from fewer and more genuine and simulated events: do the tables change?

    Each sees equally many rows over all its epochs, so that only their variety differs; all are inspected at the same
    genuine events.

    sizes : how many genuine and simulated events teach
    pairs : per policy
    seen : rows over all epochs

    The table: genuine, simulated, epochs, r2, policy, mode, method, value
    """
    events = load("cern")

    def point(part: slice) -> pd.DataFrame:
        genuine, simulated = sizes[part.start]
        x, y = taught(events, genuine, simulated)
        epochs = max(1, round(seen / len(x)))
        reading = Reading(networks.fit(x, y, "cern", RECIPES["cern"], progress=False, epochs=epochs), events, pairs)
        numbers, r2 = reading.fingerprint(), networks.r2(events.y_test, reading.prediction)
        return pd.DataFrame({"genuine": genuine, "simulated": simulated, "epochs": epochs, "r2": r2, **numbers})

    known = plain({"sizes": sizes, "pairs": pairs, "seen": seen, "rows": events.split.x_train})
    parts = Store(context.folder / "points", lambda: known).chunks(len(sizes), 1, point, unit=" networks")
    return Recording({"points": pd.concat(parts, ignore_index=True)}, facts("cern"))
