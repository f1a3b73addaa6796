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
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from insdel.attribution import explain
from insdel.curves import order
from insdel.errors import UserError, require_one_of
from insdel.identity import code_hash, plain
from insdel.policies import counterfactual
from insdel.store import Store
from insdel_paper import networks
from insdel_paper.data import Split
from insdel_paper.networks import stacked
from insdel_paper.networks.training import MLP, Hyper, Recipe
from insdel_paper.studies.roar import imputation, mask_reader
from insdel_paper.studies.roar.imputation import Fill, filler
from insdel_paper.studies.roar.mask_reader import named, named_by_habit, read_mask

FRACTIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # 0.1 to 1.0 are the paper's
METHODS = ("kernel_shap", "integrated_gradients")  # the paper's
EXPLAINED = (*METHODS, "deeplift", "lime", "input_x_gradient", "vanilla_grad")  # those that rankings may come from
RANKINGS = (*METHODS, *(f"{method}_signed" for method in METHODS), "global", "random")
REFERENCES = ("statistics", "counterfactual")
FORMS = ("features", "imputed", "road")  # mean and mode; drawn given the kept ones; the same without retraining
SIGHTS = ("mask", "read", "read_imputed")  # networks that see the mask, or what can be read of it off the rows


@dataclass(frozen=True)
class Plan:
    """All that decides a table, apart from the rows.

    hyper, recipe : the original network and its training; every retraining uses the same
    rankings : a method of `EXPLAINED`, by |attribution|, or signed (`…_signed`): the highest contribution of x's own
        value first; "global" has one order for all rows, by mean |Kernel SHAP| of the training rows; "random" one per
        row
    fractions : shares of the features to remove; 0 and 1 are always among them
    forms : among `FORMS`, how features are removed and whether networks are trained again
    leak, sights : shares at which networks are also trained on nothing but one of `SIGHTS`
    replicates : trainings per cell, with the seeds 0, 1, …
    reference : what rows are explained against, "statistics" (mean and mode) or "counterfactual" (another row, which
        differs in `at_least` features). What removed features are overwritten by is the statistics in any case
    samples, ig_steps : of Kernel SHAP (rows with few enough differing features are exact), of integrated gradients
    seed : of Kernel SHAP's samples and the random orders
    device, threads : of the trainings; "auto" is a GPU if there is one; another number of threads rounds differently
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
        if not self.rankings or not known.issuperset(self.rankings):
            found = ", ".join(self.rankings) or "none"
            raise UserError(f"rankings are among {', '.join(sorted(known))}; found {found}.")
        if "features" not in self.forms or not {*FORMS, *SIGHTS}.issuperset([*self.forms, *self.sights]):
            raise UserError(f"forms are among {', '.join(FORMS)}, the first always; found {', '.join(self.forms)}.")
        require_one_of("reference", self.reference, REFERENCES)
        shares = (*self.fractions, *self.leak)
        if not all(0 <= share <= 1 for share in shares) or self.replicates < 1:
            raise UserError(f"shares lie in [0, 1] and replicates ≥ 1; found {shares} and {self.replicates}.")

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
    return np.asarray(np.argsort(orders, axis=1) < count)


def references(model: MLP, x: np.ndarray, point: np.ndarray, plan: Plan) -> np.ndarray:
    """What each row is explained against, (m, n): `point`, or the row's counterfactual where it has one."""
    against = np.tile(point, (len(x), 1))
    if plan.reference == "counterfactual":
        pairs = counterfactual(model, x, at_least=min(plan.at_least, x.shape[1]))
        against[pairs.index] = np.asarray(pairs.reference)
    return against


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
        if ranking in ("random", "any"):
            rng = np.random.default_rng([self.seed, part == "train"])
            return rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1)
        if ranking == "global":
            return np.tile(order(np.abs(self.train["kernel_shap"]).mean(axis=0)), (shape[0], 1))
        method = ranking.removesuffix("_signed")
        # attributions are effects of leaving x; what x's own value contributes has the other sign
        return np.asarray(order(-result[method] if ranking.endswith("_signed") else np.abs(result[method])))

    def mask(self, ranking: str, part: str, share: float) -> np.ndarray:
        """The features of every row of a part that a ranking removes, (m, n) booleans."""
        orders = self.orders(ranking, part)
        return removal_mask(orders, removed_count(share, orders.shape[1]))


def inputs(
    cell: Cell, split: Split, ranked: Ranked, point: np.ndarray, fill: Fill | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What the networks of a cell see of training and held-out rows, (m, n) each.

    fill : draws removed features given the kept ones, for the cells that need it
    """
    count, rows = removed_count(cell.fraction, split.x_train.shape[1]), {"train": split.x_train, "test": split.x_test}
    masks = {part: ranked.mask(cell.ranking, part, cell.fraction) for part in rows}
    if cell.input == "mask":
        seen = {part: mask.astype(np.float32) for part, mask in masks.items()}
    elif cell.input in ("features", "read"):
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


def retrain(
    cell: Cell,
    split: Split,
    plan: Plan,
    seen: tuple[np.ndarray, np.ndarray],
    trained: Callable[[int], MLP] | None = None,
) -> np.ndarray:
    """Predictions of every replicate for the held-out rows, (replicates, m).

    trained : gives the original network of a seed (default: trains it); asked where nothing is removed, and by ROAD
    """
    rows, seeds = torch.from_numpy(seen[1]), range(plan.replicates)
    if cell.input == "road" or (cell.input == "features" and cell.fraction == 0):
        models = [trained(seed) if trained else original(split, plan, seed) for seed in seeds]
        rows = rows.to(networks.pick_device(plan.device))
        return np.stack([model(rows).cpu().numpy() for model in models])
    where: dict[str, Any] = {"device": plan.device, "threads": plan.threads}
    stack = stacked.fit(seen[0], split.y_train, plan.hyper, plan.recipe, seeds=seeds, **where)
    return stack.predict(rows).cpu().numpy()


def scores(cell: Cell, split: Split, plan: Plan, predictions: np.ndarray) -> pd.DataFrame:
    """One row per replicate: Huber's loss and R² on the held-out rows."""
    truth, n = torch.from_numpy(split.y_test), split.x_train.shape[1]
    removed = removed_count(cell.fraction, n)
    huber = partial(torch.nn.functional.huber_loss, target=truth, delta=plan.hyper.huber)
    return pd.DataFrame({
        **asdict(cell), "removed": removed, "share": removed / n, "replicate": range(len(predictions)),
        "loss": [float(huber(torch.from_numpy(row))) for row in predictions],
        "r2": [networks.r2(truth, row) for row in predictions],
    })  # fmt: skip


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
    fill, trained, grid = filler(split, plan.seed), cache(lambda seed: original(split, plan, seed)), cells(plan)
    start, done = time.perf_counter(), count(1)

    def train(part: slice) -> pd.DataFrame:
        cell = grid[part.start]
        seen = inputs(cell, split, ranked, point, fill)
        table = scores(cell, split, plan, retrain(cell, split, plan, seen, trained))
        table[["named", "by_habit"]] = np.nan
        if cell.input in ("read", "read_imputed"):
            train_mask, mask = (ranked.mask(cell.ranking, rows, cell.fraction) for rows in ("train", "test"))
            table = table.assign(named=named(seen[1], mask), by_habit=named_by_habit(train_mask, mask))
        if report is not None:
            left = len(grid) - part.start - 1
            minutes = left * (time.perf_counter() - start) / next(done) / 60
            what = f"{cell.input}, {cell.ranking}, share {cell.fraction:g}: loss {table['loss'].mean():.4f}"
            report(f"{what}; {left} cells left, about {minutes:.1f} minutes")
        return table

    tables = _store(split, plan, checkpoint, "cells").chunks(len(grid), 1, train, progress=False)
    return _by_ranking(pd.concat(tables, ignore_index=True), plan)


def rank(
    split: Split,
    plan: Plan,
    checkpoint: str | Path | None = None,
    report: Callable[[str], None] | None = None,
) -> Ranked:
    """Explain the original network at all rows, or find the attributions in the checkpoint."""
    options: dict[str, dict[str, Any]] = {
        "kernel_shap": {"samples": plan.samples, "seed": plan.seed},
        "integrated_gradients": {"steps": plan.ig_steps},
        "lime": {"seed": plan.seed},
    }
    parts = {"train": split.x_train, "test": split.x_test}
    model, point, jobs = cache(lambda: original(split, plan)), reference_point(split), [*product(parts, plan.methods)]

    def explained(job: slice) -> pd.DataFrame:
        """One column per feature."""
        part, method = jobs[job.start]
        x = parts[part]
        if report is not None:
            report(f"explaining the original network by {method} at {len(x):,} {part} rows")
        against = references(model(), x, point, plan)
        return pd.DataFrame(explain(method, model(), x, against, **options.get(method, {})))

    tables = _store(split, plan, checkpoint, "attributions").chunks(len(jobs), 1, explained, progress=False)
    found = {job: table.to_numpy() for job, table in zip(jobs, tables, strict=True)}
    train, test = ({method: found[part, method] for method in plan.methods} for part in parts)
    return Ranked(train, test, plan.seed)


def _store(split: Split, plan: Plan, checkpoint: str | Path | None, name: str) -> Store:
    """Chunks of this name in a checkpoint, identified by all that decides the table."""
    rows = (split.x_train, split.y_train, split.x_test, split.y_test)
    files = [str(module.__file__) for module in (networks.training, stacked, imputation, mask_reader)]
    known = {"rows": rows, **vars(plan), "code": code_hash(*files, __file__)}
    return Store(checkpoint and Path(checkpoint) / name, lambda: plain(known))


def _by_ranking(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The rows of every kind of input and ranking, with the ends of the curves, in the order of the plan."""
    parts, ends = [], table[table["ranking"] == "any"]
    for kind in (*plan.forms, *plan.sights):
        whole = ends[(ends["fraction"] == 0) | (ends["input"] == kind)] if kind in plan.forms else ends[:0]
        for ranking in plan.rankings:
            own = table[(table["ranking"] == ranking) & (table["input"] == kind)]
            own = pd.concat([whole.assign(input=kind, ranking=ranking), own])
            parts.append(own.sort_values(["fraction", "replicate"], kind="stable"))
    return pd.concat(parts, ignore_index=True)
