"""The search: candidates are drawn, trained, read, and kept one file each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from insdel.own.mlp import MLP, PAPER, Recipe
from insdel.store import replace
from insdel_paper import networks
from insdel_paper.studies.forensics import rows
from insdel_paper.studies.forensics.reading import KEYS, Reading, distances
from insdel_paper.studies.forensics.rows import Rows

OPEN: dict[str, tuple[Any, ...]] = {  # what the appendix leaves open, for both networks
    "optimiser": ("adam", "adamw", "rmsprop", "sgd"),
    "schedule": ("constant", "cosine"),
    "keep_best": (True, False),
    "clip": (1.0, math.inf),
    "weight_decay": (0.0, 1e-4, 1e-2),
    "first_weights": ("torch", "glorot", "he"),
    "output_unit": ("target", "deviation", "range"),
    "loss_unit": ("target", "deviation"),
    "distance": ("z-scored", "raw"),
}
SPACE: dict[str, dict[str, tuple[Any, ...]]] = {
    # the rows that teach; passes are counted in rows, over all epochs
    "cern": {**OPEN, "rows": ("genuine", "paper's number"), "batch": (64, 256), "seen": (80_000, 240_000, 720_000)},
    # which fifth of the houses is held out is open, too
    "bangalore": {**OPEN, "split": tuple(range(8)), "batch": (32, 128), "seen": (16_000, 78_000, 312_000)},
}
NOT_OF_RECIPE = ("rows", "seen", "distance", "split")
ATTEMPTS = 40  # proposals until one is new
AT_RANDOM = 40  # candidates drawn at random before Optuna proposes: they show each choice's effect without favour


def rows_for(name: str, choice: Mapping[str, Any]) -> Rows:
    """The rows of a candidate."""
    return rows.events() if name == "cern" else rows.houses(choice["split"])


def train(divided: Rows, choice: Mapping[str, Any], seed: int = 0) -> MLP:
    """Fit the paper's network in the way that a choice from `SPACE` says."""
    genuine = len(divided.x_train)
    simulated = rows.FULL_ROWS - genuine if choice.get("rows") == "paper's number" else 0
    x, y = divided.taught(genuine, simulated)
    return networks.fit(x, y, PAPER[divided.name], recipe(choice, len(x)), seed=seed, progress=False)


def recipe(choice: Mapping[str, Any], count: int) -> Recipe:
    """The training that a choice means for so many rows; `seen` counts rows over all epochs."""
    named = {key: choice[key] for key in choice if key not in NOT_OF_RECIPE}
    return Recipe(epochs=max(1, round(choice["seen"] / count)), warmup=0.0, **named)


def candidate(divided: Rows, choice: Mapping[str, Any], seed: int = 0, **reading: Any) -> dict[str, Any]:
    """Train and read one candidate: its choice, R², distances and fingerprint, as plain values.

    reading : fields of `Reading`
    """
    read = Reading(train(divided, choice, seed), divided, distance=choice["distance"], **reading)
    numbers = read.fingerprint()
    # a network that learned nothing also has a fingerprint; R² says so
    facts = {"choice": dict(choice), "seed": seed, "r2": read.r2()}
    plain = [[row.policy, row.mode, row.method, float(row.value)] for row in numbers.itertuples()]
    return {**facts, **distances(numbers, divided.name), "fingerprint": plain}


def search(folder: Path, name: str, candidates: int, pairs: int | None, seed: int = 0) -> pd.DataFrame:
    """Try candidates, the first at random, the others by Optuna; `folder` keeps each, and none is tried twice.

    Returns
    -------
    DataFrame, one row per candidate: choice, r2, steers, judges, correlations
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(candidates):
        path = folder / f"candidate_{number:04d}.json"
        if not path.is_file():
            choice = _propose(folder, SPACE[name], number, seed)
            try:
                found = candidate(rows_for(name, choice), choice, seed, pairs=pairs)
            except ValueError as error:  # a training that diverges has no fingerprint
                found = {"choice": choice, "seed": seed, "r2": math.nan, "failed": str(error), "fingerprint": []}
            replace(path, json.dumps(found))
    return table(folder)


def _propose(folder: Path, options: Mapping[str, tuple[Any, ...]], number: int, seed: int) -> dict[str, Any]:
    """A choice that no candidate before this number has made: drawn at random, later by Optuna from what was found."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {key: optuna.distributions.CategoricalDistribution(_words(values)) for key, values in options.items()}
    tried = [one["choice"] for _, one in files_of(folder)]
    known = [
        optuna.trial.create_trial(
            params={key: str(one["choice"][key]) for key in space}, distributions=space, value=one["steers"]
        )
        for _, one in files_of(folder)
        if number >= AT_RANDOM and math.isfinite(one.get("steers", math.nan))
    ]
    for attempt in range(ATTEMPTS):
        draw = 1000 * seed + number + 100_000 * attempt
        sampler: optuna.samplers.BaseSampler = optuna.samplers.RandomSampler(draw)
        if known and attempt < ATTEMPTS // 2:  # Optuna may insist on what it knows
            sampler = optuna.samplers.TPESampler(seed=draw, n_startup_trials=1)
        study = optuna.create_study(sampler=sampler)
        study.add_trials(known)
        words = study.ask(space).params
        choice = {key: options[key][_words(options[key]).index(words[key])] for key in options}
        if choice not in tried:
            return choice
    raise ValueError(f"{ATTEMPTS} proposals in a row were choices that had been tried: the space is exhausted.")


def _words(options: tuple[Any, ...]) -> list[str]:
    return [str(option) for option in options]


def files_of(folder: Path, kind: str = "candidate") -> list[tuple[int, dict[str, Any]]]:
    """Number and content of each candidate in a folder."""
    return [(int(path.stem[-4:]), json.loads(path.read_text())) for path in sorted(folder.glob(f"{kind}_*.json"))]


def table(folder: Path) -> pd.DataFrame:
    """One row per candidate in a folder, without the fingerprints; the nearest first."""
    parts = [{"candidate": number, **one.pop("choice"), **one} for number, one in files_of(folder)]
    result = pd.DataFrame(parts).drop(columns=["fingerprint"], errors="ignore")
    return result.sort_values("steers", ignore_index=True) if "steers" in result else result


def fingerprints(folder: Path, kind: str = "candidate") -> pd.DataFrame:
    """All numbers in a folder: candidate, r2, policy, mode, method, value."""
    parts = [
        pd.DataFrame(one["fingerprint"], columns=[*KEYS, "value"]).assign(candidate=number, r2=one["r2"])
        for number, one in files_of(folder, kind)
    ]
    return pd.concat(parts, ignore_index=True)[["candidate", "r2", *KEYS, "value"]]


def nearest(folder: Path, name: str, count: int, pairs: int | None = None, seed: int = 1) -> pd.DataFrame:
    """Train the nearest candidates again, from another seed, and read them on more pairs; `folder` keeps each.

    Returns
    -------
    DataFrame: candidate, r2, policy, mode, method, value
    """
    choices = {number: one["choice"] for number, one in files_of(folder)}
    numbers = table(folder)["candidate"].head(count).tolist()
    for number in numbers:
        path = folder / f"again_{number:04d}.json"
        if not path.is_file():
            divided = rows_for(name, choices[number])
            replace(path, json.dumps(candidate(divided, choices[number], seed, pairs=pairs, raw=name == "cern")))
    again = fingerprints(folder, "again")
    return again[again["candidate"].isin(numbers)].reset_index(drop=True)
