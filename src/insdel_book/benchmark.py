"""`insdel benchmark mine.py:method`: score a method on frozen games, beside those that the book compares."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import insdel
from insdel.errors import UserError
from insdel_book import entry
from insdel_paper.studies.breadth import games as frozen
from insdel_paper.studies.breadth.games import Games
from insdel_paper.studies.breadth.protocol import NETWORKS, TITLES, evaluations

PER_PLAYER = 16  # the default budget is 16 d evaluations
CURVE = (2, 4, 8, 16, 32, 64)  # budgets per player of a curve; two more evaluations are granted with the smallest
SECONDS = 20.0  # that an answer may take, the start of the process included
MOST_D = 12  # differing features of a pair of a reader's own table
OWN_METHODS: dict[str, tuple[str, dict[str, Any]]] = {  # those that fit any model, and how they are called
    **{name: (name, {}) for name in ("kernel_shap", "two_sided", "occlusion", "random")},
    **{f"lime_{samples}": ("lime", {"samples": samples}) for samples in (500, 25)},
}


class Entry:
    """A method in a process of its own, asked game by game."""

    def __init__(self, text: str, seconds: float = SECONDS) -> None:
        self.text, self.seconds = text, seconds
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=entry.main, args=(other, text), daemon=True)
        self.process.start()
        other.close()

    def ask(self, message: Any, until: float) -> dict[str, Any]:
        """Send a message, if it is one, and return the answer; refuse an entry that is silent, has ended, or failed."""
        try:
            if message is not None:
                self.pipe.send(message)
            if not self.pipe.poll(max(0.0, until - time.monotonic())):
                raise UserError(f"{self.text} gave no answer to a game within {self.seconds:g} seconds. Speed it up.")
            answer: dict[str, Any] = self.pipe.recv()
        except (EOFError, OSError):
            raise UserError(f"{self.text} ended before it gave a result. Let the method return d numbers.") from None
        if "error" in answer:
            raise UserError(f"{self.text} failed: {answer['error']}.")
        return answer

    def attribute(self, values: np.ndarray, d: int, budget: int, seed: int) -> tuple[np.ndarray, int]:
        """What the method says about one game, (d,), and how many evaluations it asked for."""
        until, spent = time.monotonic() + self.seconds, 0
        answer = self.ask({"d": d, "budget": budget, "seed": seed}, until)
        while "masks" in answer:
            spent += len(answer["masks"])
            if spent > budget:
                raise UserError(f"{self.text} asked for {spent} evaluations; the budget is {budget} for d = {d}.")
            answer = self.ask(values[answer["masks"]], until)
        result = answer["result"]
        if result.shape != (d,) or not np.isfinite(result).all():
            found = f"{len(result)} of them" if np.isfinite(result).all() else f"{result[:8].tolist()}"
            raise UserError(f"{self.text} must return {d} finite numbers; found {found}.")
        return result, spent


def grade(text: str, games: Games, per_player: int = PER_PLAYER, seconds: float = SECONDS) -> tuple[np.ndarray, float]:
    """Areas of an entry on every game, (games, 2), and its mean number of evaluations."""
    areas, spent, one = [], [], Entry(text, seconds)
    try:
        one.ask(None, time.monotonic() + seconds)  # until it is loaded
        for k, lattice in enumerate(games.lattices):
            budget = max(per_player * lattice.d, 2 * lattice.d + 2)
            said, count = one.attribute(np.asarray(lattice.values), lattice.d, budget, k)
            areas.append(frozen.areas_of(lattice, said))
            spent.append(count)
            if k == 0 and not np.allclose(said, one.attribute(np.asarray(lattice.values), lattice.d, budget, k)[0]):
                raise UserError(f"{text} returns other numbers when it is asked again. Draw by the seed that it gets.")
    finally:
        one.process.kill()
        one.process.join()
    return np.array(areas), float(np.mean(spent))


def standing(games: Games, areas: dict[str, np.ndarray], spent: dict[str, float] | None = None) -> pd.DataFrame:
    """Every method's score with its standard error over tables, on all models and on networks and trees alone.

    Returns
    -------
    DataFrame by method, best first: rank, score, se, networks, trees, worst (table), evaluations (mean per pair).
    Methods that do not fit all models have no score and no rank, as IG on trees.
    """
    cells = pd.concat({name: games.scores(part) for name, part in areas.items()}, names=["method"])
    by_table = cells.groupby(["method", "table"])["score"].mean()
    models = np.where(cells["family"].isin(NETWORKS), "networks", "trees")
    by_model = cells.assign(models=models).groupby(["method", "models", "table"], as_index=False)["score"].mean()
    fits_all = cells.groupby("method").size() == len(games.cells)
    table = by_table.groupby("method").agg(["mean", "sem"]).where(fits_all, axis=0).set_axis(["score", "se"], axis=1)
    table = table.join(by_model.pivot_table("score", "method", "models").reindex(columns=["networks", "trees"]))
    table["worst"] = [f"{part.idxmin()[1]} ({part.min():.3f})" for _, part in by_table.groupby("method")]
    counts = {name: np.mean([evaluations(name, lattice.d) for lattice in games.lattices]) for name in areas}
    table["evaluations"] = pd.Series(counts | (spent or {}))
    shown = table["score"].fillna(table["networks"]).fillna(table["trees"]).reindex(list(areas))
    table = table.loc[shown.sort_values(ascending=False, kind="stable").index]
    table.insert(0, "rank", table["score"].rank(ascending=False, method="min"))
    return table


def readable(table: pd.DataFrame, entry: str | None = None) -> pd.DataFrame:
    """The standing table as text; the entry is marked."""
    shown = table.assign(method=[("→ " if name == entry else "") + TITLES.get(name, name) for name in table.index])
    for column, kind in table.select_dtypes("number").items():
        form = ".0f" if column in ("rank", "evaluations") else ".3f"
        shown[column] = [f"{value:{form}}" if value == value else "" for value in kind]
    return shown[["rank", "method", "score", "se", "networks", "trees", "worst", "evaluations"]]


def own_cell(model: str, path: Path, target: str, seed: int = 0) -> Games:
    """A reader's own table and model as one more cell: the methods that fit any model, on up to 40 pairs."""
    from insdel.frames import fitted_names
    from insdel.own import models
    from insdel.own.table import read

    loaded = models.load(model)
    table = read(path, target, fitted=fitted_names(loaded))
    subject = models.prepare(loaded, table, Path(model).name)
    sample = subject.features.sample(min(len(subject.features), 400), random_state=seed % 2**32)
    chosen = insdel.policies.one_to_one(sample, seed)
    few = np.flatnonzero((chosen.differing >= 2) & (chosen.differing <= MOST_D))[:40]
    if not len(few):
        found = f"found at least {chosen.differing.min()}"
        raise UserError(f"a cell needs pairs that differ in 2 to {MOST_D} features; {found}.")
    x, reference = chosen.x.iloc[few], chosen.reference.iloc[few]
    lattices = list(insdel.lattices(subject.f, x, reference, progress=False))
    own = [insdel.Lattice(np.asarray(one.values), tuple(range(one.d)), one.d) for one in lattices]  # the players only
    areas = {}
    for name, (method, options) in OWN_METHODS.items():
        said = np.asarray(insdel.explain(method, subject.f, x, reference, **options))
        rows = [row[list(lattice.players)] for lattice, row in zip(lattices, said, strict=True)]
        areas[name] = np.array([frozen.areas_of(game, row) for game, row in zip(own, rows, strict=True)])
    cells = pd.DataFrame({"table": [path.stem], "family": ["own model"], "policy": ["one_to_one"]})
    return Games(cells, np.zeros(len(own), dtype=int), own, np.array([frozen.scale_of(g) for g in own]), areas)


def report(
    text: str | None, own: Games | None = None, per_player: int = PER_PLAYER, curve: bool = False,
    seconds: float = SECONDS,
) -> list[str]:  # fmt: skip
    """What the command prints: the standing table, the entry's place in it, and its curve over budgets."""
    games = frozen.load()
    games = games.joined(own) if own is not None else games
    areas, spent, points = dict(games.areas), {}, []
    if text is not None:
        for multiple in CURVE if curve else (per_player,):
            own_areas, count = grade(text, games, multiple, seconds)
            means = games.scores(own_areas).groupby("table")["score"].mean()
            points.append(f"  budget {multiple:3d} d: {means.mean():.3f} ± {means.sem():.3f}, {count:.0f} evaluations")
            if multiple == per_player or (multiple == CURVE[-1] and text not in areas):
                areas[text], spent[text] = own_areas, count
    table = standing(games, areas, spent)
    lines = [f"{len(games.lattices):,} games, {len(games.cells)} cells, {games.cells['table'].nunique()} tables; "
             "score: 0 chance, 1 the best order; ± standard error over tables"]  # fmt: skip
    lines += readable(table, text).to_string(index=False).splitlines()
    if own is not None:
        name = own.cells["table"][0]
        scores = {TITLES.get(m, m): games.scores(a).set_index("table")["score"].get(name) for m, a in areas.items()}
        lines += [f"your table {name}: " + ", ".join(f"{m} {v:.3f}" for m, v in scores.items() if v is not None)]
    if text is not None:
        here, fitting = table.loc[text], int(table["score"].notna().sum())
        lines += [f"{text}: {here['score']:.3f} ± {here['se']:.3f}, rank {here['rank']:.0f} of {fitting}, "
                  f"worst table {here['worst']}, {here['evaluations']:.0f} evaluations per game"]  # fmt: skip
    return [*lines, *(points if curve else [])]
