"""`insdel benchmark mine.py:method`: score a method on frozen games, beside those that the book compares."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import insdel
from insdel.errors import UserError
from insdel_paper.studies.breadth import games as frozen
from insdel_paper.studies.breadth.games import Games
from insdel_paper.studies.breadth.plan import NETWORKS, TITLES, evaluations

PER_PLAYER = 16  # the default budget is 16 d evaluations
CURVE = (2, 4, 8, 16, 32, 64)  # budgets per player of a curve; two more evaluations are granted with the smallest
SECONDS = 20.0  # that an answer may take, the start of the process included
MOST_D = 12  # differing features of a pair of a reader's own table
OWN_METHODS = ("kernel_shap", "two_sided", "lime_500", "lime_25", "occlusion", "random")
OPTIONS: dict[str, dict[str, Any]] = {"lime_500": {"samples": 500}, "lime_25": {"samples": 25}}


class Entry:
    """A method in a process of its own, asked game by game."""

    def __init__(self, text: str, seconds: float = SECONDS) -> None:
        self.text, self.seconds = text, seconds
        self.process = subprocess.Popen(
            [sys.executable, "-m", "insdel_book.entry", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.buffer = b""

    def send(self, message: dict[str, Any]) -> None:
        """Write one line to the process."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise UserError(f"{self.text} ended before it gave a result. Let the method return d numbers.") from None

    def receive(self, until: float) -> dict[str, Any]:
        """Read one line, or refuse an entry that is silent for too long, has ended, or failed."""
        assert self.process.stdout is not None
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise UserError(f"{self.text} gave no answer to a game within {self.seconds:g} seconds. Speed it up.")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise UserError(f"{self.text} ended before it gave a result. Let the method return d numbers.")
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise UserError(f"{self.text} failed: {message['error']}.")
        return message

    def attribute(self, values: np.ndarray, d: int, budget: int, seed: int) -> tuple[np.ndarray, int]:
        """What the method says about one game, (d,), and how many evaluations it asked for."""
        until, spent = time.monotonic() + self.seconds, 0
        self.send({"d": d, "budget": budget, "seed": seed})
        while "masks" in (message := self.receive(until)):
            masks = message["masks"]
            spent += len(masks)
            if spent > budget:
                raise UserError(f"{self.text} asked for {spent} evaluations; the budget is {budget} for d = {d}.")
            self.send({"values": values[masks].tolist()})
        result = np.array(message["result"], dtype=float)
        if result.shape != (d,) or not np.isfinite(result).all():
            raise UserError(f"{self.text} must return {d} finite numbers; found {_shown(result)}.")
        return result, spent


def _shown(result: np.ndarray) -> str:
    return f"{len(result)} of them" if np.isfinite(result).all() else f"{result[:8].tolist()}"


@contextmanager
def running(text: str, seconds: float = SECONDS) -> Iterator[Entry]:
    """Start an entry, wait until it is loaded, and end it afterwards whatever happens."""
    entry = Entry(text, seconds)
    try:
        entry.receive(time.monotonic() + seconds)
        yield entry
    finally:
        entry.process.kill()
        entry.process.communicate()


def grade(text: str, games: Games, per_player: int = PER_PLAYER, seconds: float = SECONDS) -> tuple[np.ndarray, float]:
    """Areas of an entry on every game, (games, 2), and its mean number of evaluations."""
    areas, spent = [], []
    with running(text, seconds) as entry:
        for k, lattice in enumerate(games.lattices):
            budget = max(per_player * lattice.d, 2 * lattice.d + 2)
            said, count = entry.attribute(np.asarray(lattice.values), lattice.d, budget, k)
            areas.append(frozen.areas_of(lattice, said))
            spent.append(count)
    return np.array(areas), float(np.mean(spent))


def standing(games: Games, areas: dict[str, np.ndarray], spent: dict[str, float] | None = None) -> pd.DataFrame:
    """Every method's score with its standard error over tables, on all models and on networks and trees alone.

    Returns
    -------
    DataFrame by method, best first: rank, score, se, networks, trees, worst (table), evaluations (mean per pair).
    Methods that do not fit all models have no score and no rank, as IG on trees.
    """
    rows, players = {}, np.array([lattice.d for lattice in games.lattices])
    for name, part in areas.items():
        cells = games.scores(part)
        by_table = cells.groupby("table")["score"].mean()
        fits_all = len(cells) == len(games.cells)
        near = cells["family"].isin(NETWORKS)
        count = (spent or {}).get(name, float(np.mean([evaluations(name, int(d)) for d in players])))
        rows[name] = {
            "score": by_table.mean() if fits_all else np.nan,
            "se": by_table.std() / len(by_table) ** 0.5 if fits_all else np.nan,
            "networks": cells.loc[near].groupby("table")["score"].mean().mean(),
            "trees": cells.loc[~near].groupby("table")["score"].mean().mean(),
            "worst": f"{by_table.idxmin()} ({by_table.min():.3f})",
            "evaluations": count,
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    shown = table["score"].fillna(table["networks"]).fillna(table["trees"])
    table = table.loc[shown.sort_values(ascending=False, kind="stable").index]
    table.insert(0, "rank", table["score"].rank(ascending=False, method="min"))
    return table


def own_cell(model: str, path: Path, target: str, seed: int = 0) -> Games:
    """A reader's own table and model as one more cell: the methods that fit any model, on up to 40 pairs."""
    from insdel.own import models
    from insdel.own.table import read

    loaded = models.load(model)
    table = read(path, target, fitted=models.fitted_columns(loaded))
    subject = models.prepare(loaded, table, Path(model).name)
    rows = subject.features
    chosen = insdel.policies.one_to_one(rows.sample(min(len(rows), 400), random_state=seed), seed)
    few = np.flatnonzero((chosen.differing >= 2) & (chosen.differing <= MOST_D))[:40]
    if not len(few):
        least = int(chosen.differing.min())
        raise UserError(f"a cell needs pairs that differ in 2 to {MOST_D} features; found at least {least}.")
    x, reference = chosen.x.iloc[few], chosen.reference.iloc[few]
    lattices = list(insdel.lattices(subject.f, x, reference, progress=False))
    own, areas = [_players_only(lattice) for lattice in lattices], {}
    for name in OWN_METHODS:
        method = "lime" if name.startswith("lime") else name
        said = np.asarray(insdel.explain(method, subject.f, x, reference, **OPTIONS.get(name, {})))
        players = [row[list(lattice.players)] for lattice, row in zip(lattices, said, strict=True)]
        areas[name] = np.array([frozen.areas_of(game, row) for game, row in zip(own, players, strict=True)])
    cells = pd.DataFrame({"table": [path.stem], "family": ["own model"], "policy": ["one_to_one"]})
    return Games(cells, np.zeros(len(own), dtype=int), own, np.array([frozen.scale_of(g) for g in own]), areas)


def _players_only(lattice: insdel.Lattice) -> insdel.Lattice:
    return insdel.Lattice(np.asarray(lattice.values), tuple(range(lattice.d)), lattice.d)


def report(
    text: str | None, own: Games | None = None, per_player: int = PER_PLAYER, curve: bool = False,
    seconds: float = SECONDS,
) -> list[str]:  # fmt: skip
    """What the command prints: the standing table, the entry's place in it, and its curve over budgets."""
    games = frozen.load()
    games = games.joined(own) if own is not None else games
    lines = [f"{len(games.lattices):,} games, {len(games.cells)} cells, {games.cells['table'].nunique()} tables; "
             "score: 0 chance, 1 the best order; ± standard error over tables"]  # fmt: skip
    areas, spent, points = dict(games.areas), {}, []
    if text is not None:
        for multiple in CURVE if curve else (per_player,):
            own_areas, count = grade(text, games, multiple, seconds)
            by_table = games.scores(own_areas).groupby("table")["score"].mean()
            reached = f"{by_table.mean():.3f} ± {_error(by_table):.3f}, {count:.0f} evaluations"
            points.append(f"  budget {multiple:3d} d: {reached}")
            if multiple == per_player or (multiple == CURVE[-1] and text not in areas):
                areas[text], spent[text] = own_areas, count
    table = standing(games, areas, spent)
    lines += _printed(table, text)
    if own is not None:
        name = own.cells["table"][0]
        shown = {TITLES.get(m, m): games.scores(a).set_index("table")["score"].get(name) for m, a in areas.items()}
        lines += [f"your table {name}: " + ", ".join(f"{m} {v:.3f}" for m, v in shown.items() if v is not None)]
    if text is not None:
        here, fitting = table.loc[text], int(table["score"].notna().sum())
        lines += [f"{text}: {here['score']:.3f} ± {here['se']:.3f}, rank {here['rank']:.0f} of {fitting}, "
                  f"worst table {here['worst']}, {here['evaluations']:.0f} evaluations per game"]  # fmt: skip
    return [*lines, *(points if curve else [])]


def page(text: str) -> str:
    """Fill the standing table into the benchmark's page."""
    return text.replace("% benchmark", "\n".join(report(None)))


def _error(by_table: pd.Series) -> float:
    return float(by_table.std() / len(by_table) ** 0.5)


def _printed(table: pd.DataFrame, entry: str | None) -> list[str]:
    """The standing table as lines of text; the entry is marked."""
    shown = table.assign(method=[("→ " if name == entry else "") + TITLES.get(name, name) for name in table.index])
    shown["rank"] = [f"{rank:.0f}" if rank == rank else "" for rank in shown["rank"]]
    shown["evaluations"] = shown["evaluations"].round().astype(int)
    columns = ["rank", "method", "score", "se", "networks", "trees", "worst", "evaluations"]
    return shown[columns].to_string(index=False, float_format="{:.3f}".format, na_rep="").splitlines()
