"""Remove and retrain (ROAR): overwrite the features that a ranking puts first, and train again  [section 6].

Per row, the highest ranked share of the features is overwritten by the training rows' mean (continuous) or
mode (discrete), in training and held-out rows alike; networks are trained on what is left, and Huber's loss
on the held-out rows says what was lost. Everything that is overwritten or averaged over rows comes from
training rows. One network, the first of the replicates, is explained; all replicates share its rankings.

Next to that stand two other forms: removed features drawn given the kept ones (`imputation`) with retraining, and
the same without retraining, which is ROAD (Rong, Leemann, Borisov, Kasneci and Kasneci 2022).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from insdel.attribution import explain
from insdel.curves import order
from insdel.errors import UserError
from insdel.identity import code_hash, plain
from insdel.own import mlp
from insdel.own.mlp import MLP, Hyper, Recipe
from insdel.policies import counterfactual
from insdel.store import Store
from insdel_paper import networks
from insdel_paper.data import Split
from insdel_paper.networks import stacked
from insdel_paper.studies.roar import imputation, reading
from insdel_paper.studies.roar.imputation import Fill, filler
from insdel_paper.studies.roar.reading import named, named_by_habit, read_mask

FRACTIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # 0.1 to 1.0 are the paper's
METHODS = ("kernel_shap", "integrated_gradients")  # the paper's
EXPLAINED = (*METHODS, "deeplift", "lime", "input_x_gradient", "vanilla_grad")  # those that rankings may come from
BY_SIZE = ("kernel_shap", "integrated_gradients", "global", "random")
RANKINGS = (*METHODS, *(f"{method}_signed" for method in METHODS), "global", "random")
REFERENCES = ("statistics", "counterfactual")
FORMS = ("features", "imputed", "road")  # mean and mode; drawn given the kept ones; the same without retraining
SIGHTS = ("mask", "read", "read_imputed")  # networks that see the mask, or what can be read of it off the rows


@dataclass(frozen=True)
class Plan:
    """All that decides a table, apart from the rows.

    hyper, recipe : the original network and its training; every retraining uses the same
    rankings : a method of `EXPLAINED`, by |attribution|, or signed (`…_signed`): the highest contribution of x's own
        value first;
        "global" has one order for all rows, by mean |Kernel SHAP| of the training rows; "random" one per row
    fractions : shares of the features to remove; 0 and 1 are always among them
    forms : among `FORMS`, how features are removed and whether networks are trained again
    leak : shares at which networks are also trained on nothing but what `sights` says
    sights : among `SIGHTS`: the mask itself, who was removed, or the mask as a network reads it off the rows
    replicates : trainings per cell, with the seeds 0, 1, …
    reference : what rows are explained against, "statistics" (mean and mode) or "counterfactual" (another row).
        What removed features are overwritten by is the statistics in any case
    at_least : features in which a counterfactual differs
    samples : of Kernel SHAP; rows with few enough differing features are exact
    ig_steps : of integrated gradients
    seed : of Kernel SHAP's samples and the random orders
    device : of the trainings; "auto" is a GPU if there is one
    threads : cores of a training; another number rounds differently
    """

    hyper: Hyper
    recipe: Recipe
    rankings: tuple[str, ...] = RANKINGS
    fractions: tuple[float, ...] = FRACTIONS
    forms: tuple[str, ...] = ("features",)
    leak: tuple[float, ...] = ()
    sights: tuple[str, ...] = ("mask",)
    replicates: int = 5
    reference: str = "statistics"
    at_least: int = 12
    samples: int = 1024
    ig_steps: int = 50
    seed: int = 0
    device: str = "auto"
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be carried out."""
        known = {*EXPLAINED, *(f"{name}_signed" for name in EXPLAINED), "global", "random"}
        unknown = [name for name in self.rankings if name not in known]
        if unknown or not self.rankings:
            raise UserError(f"rankings are among {', '.join(sorted(known))}; found {', '.join(unknown) or 'none'}.")
        strange = [name for name in (*self.forms, *self.sights) if name not in (*FORMS, *SIGHTS)]
        if strange or "features" not in self.forms:
            raise UserError(f"forms are among {', '.join(FORMS)}, the first always; found {', '.join(self.forms)}.")
        if self.reference not in REFERENCES:
            raise UserError(f"reference must be one of {', '.join(REFERENCES)}; found {self.reference!r}.")
        shares = (*self.fractions, *self.leak)
        if not all(0 <= share <= 1 for share in shares) or self.replicates < 1:
            raise UserError(f"shares lie in [0, 1] and replicates ≥ 1; found {shares} and {self.replicates}.")

    @property
    def place(self) -> torch.device:
        """Where the networks are."""
        return networks.pick_device(self.device)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that have to be asked: those of the rankings, and the paper's two."""
        named = [name.removesuffix("_signed") for name in self.rankings]
        return tuple(method for method in EXPLAINED if method in (*METHODS, *named))


@dataclass(frozen=True)
class Cell:
    """Trainings on one kind of input: features with the first ones of a ranking removed, or the mask alone.

    `input` is one of `FORMS` or `SIGHTS`. `ranking` is "any" where none or all features are removed: the order is idle.
    """

    input: str
    ranking: str
    fraction: float


def cells(plan: Plan) -> list[Cell]:
    """The grid: the two ends once, every ranking at the shares between, then the masks.

    A mask of "global" is the same for all rows, so a network that sees it is that of share 1.
    """
    between = sorted({share for share in plan.fractions if 0 < share < 1})
    grid = [Cell("features", "any", 0.0), *(Cell(form, "any", 1.0) for form in plan.forms)]
    grid += [Cell(form, ranking, share) for form in plan.forms for ranking in plan.rankings for share in between]
    masked = [ranking for ranking in plan.rankings if ranking != "global"]
    return grid + [Cell(sight, name, share) for sight in plan.sights for name in masked for share in plan.leak]


def reference_point(split: Split) -> np.ndarray:
    """The training rows' mean of continuous features and mode of discrete ones, (n,) float32."""
    point = split.x_train.astype(np.float64).mean(axis=0).astype(np.float32)
    for j in np.flatnonzero(np.isin(split.names, split.binary)):
        values, counts = np.unique(split.x_train[:, j], return_counts=True)
        point[j] = values[counts.argmax()]
    return point


def removed_count(fraction: float, n: int) -> int:
    """How many of n features a share is: the nearest whole number, halves upwards."""
    return int(np.floor(fraction * n + 0.5))


def removal_mask(orders: np.ndarray, count: int) -> np.ndarray:
    """Mark the first `count` features of each order, (m, n) booleans."""
    mask = np.zeros(orders.shape, dtype=bool)
    np.put_along_axis(mask, orders[:, :count], True, axis=1)
    return mask


def remove(x: np.ndarray, orders: np.ndarray, count: int, point: np.ndarray) -> np.ndarray:
    """Overwrite the first `count` features of each row's order by those of `point`.

    Parameters
    ----------
    x, orders : (m, n)
    point : (n,), from `reference_point`
    """
    return np.where(removal_mask(orders, count), point, x).astype(np.float32)


def references(model: MLP, x: np.ndarray, point: np.ndarray, plan: Plan) -> np.ndarray:
    """What each row is explained against, (m, n): `point`, or the row's counterfactual where it has one."""
    against = np.tile(point, (len(x), 1))
    if plan.reference == "counterfactual":
        pairs = counterfactual(model, x, at_least=min(plan.at_least, x.shape[1]))
        against[pairs.index] = np.asarray(pairs.reference)
    return against


def attributions(model: MLP, x: np.ndarray, point: np.ndarray, plan: Plan) -> dict[str, np.ndarray]:
    """Attributions of every row by the methods of the plan, each (m, n)."""
    against = references(model, x, point, plan)
    options: dict[str, dict[str, Any]] = {
        "kernel_shap": {"samples": plan.samples, "seed": plan.seed},
        "integrated_gradients": {"steps": plan.ig_steps},
        "lime": {"seed": plan.seed},
    }
    return {
        method: np.asarray(explain(method, model, x, against, **options.get(method, {}))) for method in plan.methods
    }


def exact_share(x: np.ndarray, against: np.ndarray, samples: int) -> float:
    """Share of the rows whose Kernel SHAP is exact: 2ᵈ ≤ samples for d differing features."""
    return float((2.0 ** (x != against).sum(axis=1) <= samples).mean())


@dataclass(frozen=True)
class Ranked:
    """Attributions of training and held-out rows, method → (m, n), and the orders that follow from them."""

    train: dict[str, np.ndarray]
    test: dict[str, np.ndarray]
    seed: int

    def orders(self, ranking: str, part: str) -> np.ndarray:
        """Features of every row of a part ("train" or "test"), first to be removed first, (m, n)."""
        result = self.train if part == "train" else self.test
        shape = result["kernel_shap"].shape
        if ranking == "random":
            rng = np.random.default_rng([self.seed, part == "train"])
            return rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1)
        if ranking == "global":
            return np.tile(order(np.abs(self.train["kernel_shap"]).mean(axis=0)), (shape[0], 1))
        method = ranking.removesuffix("_signed")
        # attributions are effects of leaving x; what x's own value contributes has the other sign
        return np.asarray(order(-result[method] if ranking.endswith("_signed") else np.abs(result[method])))


def inputs(
    cell: Cell, split: Split, ranked: Ranked, point: np.ndarray, fill: Fill | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What the networks of a cell see of training and held-out rows, (m, n) each.

    fill : draws removed features given the kept ones, for the cells that need it
    """
    ranking = "random" if cell.ranking == "any" else cell.ranking
    count = removed_count(cell.fraction, split.x_train.shape[1])
    rows = {"train": split.x_train, "test": split.x_test}
    masks = {part: removal_mask(ranked.orders(ranking, part), count) for part in rows}
    if cell.input == "mask":
        return masks["train"].astype(np.float32), masks["test"].astype(np.float32)
    if cell.input in ("features", "read"):
        seen = {part: np.where(masks[part], point, x).astype(np.float32) for part, x in rows.items()}
    else:
        assert fill is not None
        # one seed for each part and share: the rows of all rankings are filled by the same random numbers
        seen = {part: fill(x, masks[part], 2 * count + (part == "test")) for part, x in rows.items()}
    if cell.input in ("read", "read_imputed"):
        return read_mask(seen["train"], masks["train"], seen["test"])
    return seen["train"], seen["test"]


def original(split: Split, plan: Plan, seed: int = 0) -> MLP:
    """The original training: all features, alone, by `networks.fit`."""
    options: dict[str, Any] = {"seed": seed, "device": plan.device, "threads": plan.threads, "progress": False}
    return networks.fit(split.x_train, split.y_train, plan.hyper, plan.recipe, **options)


def originals(split: Split, plan: Plan) -> list[MLP]:
    """The original training with the seed of every replicate."""
    return [original(split, plan, seed) for seed in range(plan.replicates)]


def retrain(
    cell: Cell,
    split: Split,
    plan: Plan,
    seen: tuple[np.ndarray, np.ndarray],
    trained: Callable[[], list[MLP]] | None = None,
) -> np.ndarray:
    """Predictions of every replicate for the held-out rows, (replicates, m).

    trained : gives the original networks (default: trains them); they are asked where nothing is removed, and by ROAD
    """
    rows = torch.from_numpy(seen[1])
    if cell.input == "road" or (cell.input == "features" and cell.fraction == 0):
        models = trained() if trained else originals(split, plan)
        return np.stack([model(rows.to(plan.place)).cpu().numpy() for model in models])
    where: dict[str, Any] = {"device": plan.device, "threads": plan.threads}
    stack = stacked.fit(seen[0], split.y_train, plan.hyper, plan.recipe, seeds=range(plan.replicates), **where)
    return stack.predict(rows).cpu().numpy()


def scores(cell: Cell, split: Split, plan: Plan, predictions: np.ndarray) -> pd.DataFrame:
    """One row per replicate: Huber's loss and R² on the held-out rows."""
    truth = torch.from_numpy(split.y_test)
    n = split.x_train.shape[1]
    removed = removed_count(cell.fraction, n)
    rows = [
        {
            **asdict(cell), "removed": removed, "share": removed / n, "replicate": k,
            "loss": float(torch.nn.functional.huber_loss(torch.from_numpy(row), truth, delta=plan.hyper.huber)),
            "r2": networks.r2(truth, row),
        }
        for k, row in enumerate(predictions)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def run(
    split: Split,
    plan: Plan,
    *,
    checkpoint: str | Path | None = None,
    report: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Remove and retrain over the whole grid.

    Parameters
    ----------
    split : training and held-out rows; its binary features are the discrete ones
    checkpoint : a folder; finished cells are kept there, and a run that was cut off goes on after them
    report : gets a line after every cell, with the time that is left

    Returns
    -------
    DataFrame, one row per input, ranking, fraction and replicate: removed (features), share (of the features),
    loss, r2; where networks read the mask off the rows, the share of the removed features that they name, and that
    they would name by_habit. The ends of the curves, trained once, are repeated for every ranking
    """
    ranked, point = rank(split, plan, checkpoint, report), reference_point(split)
    fill, trained, grid = filler(split, plan.seed), cache(lambda: originals(split, plan)), cells(plan)
    start, done = time.perf_counter(), count(1)

    def train(part: slice) -> pd.DataFrame:
        cell = grid[part.start]
        seen = inputs(cell, split, ranked, point, fill)
        table = scores(cell, split, plan, retrain(cell, split, plan, seen, trained))
        names = dict.fromkeys(("named", "by_habit"), np.nan)
        if cell.input in ("read", "read_imputed"):
            removed = removed_count(cell.fraction, seen[0].shape[1])
            masks = [removal_mask(ranked.orders(cell.ranking, rows), removed) for rows in ("train", "test")]
            names = {"named": named(seen[1], masks[1]), "by_habit": named_by_habit(*masks)}
        if report is not None:
            left = len(grid) - part.start - 1
            minutes = left * (time.perf_counter() - start) / next(done) / 60
            what = f"{cell.input}, {cell.ranking}, share {cell.fraction:g}: loss {table['loss'].mean():.4f}"
            report(f"{what}; {left} cells left, about {minutes:.1f} minutes")
        return table.assign(**names)

    tables = _store(split, plan, checkpoint, "cells").chunks(len(grid), 1, train, progress=False)
    return pd.concat(list(_by_ranking(pd.concat(tables, ignore_index=True), plan)), ignore_index=True)


def rank(
    split: Split,
    plan: Plan,
    checkpoint: str | Path | None = None,
    report: Callable[[str], None] | None = None,
) -> Ranked:
    """Explain the original network at all rows, or find the attributions in the checkpoint."""
    rows = {"train": split.x_train, "test": split.x_test}

    def explained(_: slice) -> pd.DataFrame:
        if report is not None:
            report(f"training the original network, and explaining it at {sum(map(len, rows.values())):,} rows")
        model, point = original(split, plan), reference_point(split)
        found = {part: attributions(model, x, point, plan) for part, x in rows.items()}
        # one column per feature; parts and methods one below the other
        return pd.DataFrame(np.concatenate([found[part][method] for part in rows for method in plan.methods]))

    [table] = _store(split, plan, checkpoint, "attributions").chunks(1, 1, explained, progress=False)
    ends = np.cumsum([len(x) for x in rows.values() for _ in plan.methods])
    parts = iter(np.split(table.to_numpy(), ends[:-1]))
    train, test = ({method: next(parts) for method in plan.methods} for _ in rows)
    return Ranked(train, test, plan.seed)


def _store(split: Split, plan: Plan, checkpoint: str | Path | None, name: str) -> Store:
    """Chunks of this name in a checkpoint, identified by all that decides the table."""
    rows = (split.x_train, split.y_train, split.x_test, split.y_test)
    files = [str(module.__file__) for module in (mlp, stacked, imputation, reading)]
    known = {"rows": rows, **vars(plan), "code": code_hash(*files, __file__)}
    return Store(checkpoint and Path(checkpoint) / name, lambda: plain(known))


def _by_ranking(table: pd.DataFrame, plan: Plan) -> Iterator[pd.DataFrame]:
    """The rows of every kind of input and ranking, with the ends of the curves, in the order of the plan."""
    ends = table[table["ranking"] == "any"]
    start = ends[ends["fraction"] == 0]
    for kind in (*plan.forms, *plan.sights):
        for ranking in plan.rankings:
            own = table[(table["ranking"] == ranking) & (table["input"] == kind)]
            if kind in plan.forms:
                whole = pd.concat([start.assign(input=kind), ends[(ends["fraction"] == 1) & (ends["input"] == kind)]])
                own = pd.concat([whole.assign(ranking=ranking), own])
            yield own.sort_values(["fraction", "replicate"], kind="stable")
