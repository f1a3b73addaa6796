"""One cell of the breadth study: a table, a family, a policy and a seed; every method on the same pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch

import insdel
from insdel import Lattice, Trees, compare, lattices, policies, stats
from insdel.curves import MODES
from insdel.lattice import MAX_FEATURES
from insdel.trees import TreeGame
from insdel_paper import data
from insdel_paper.data import tables
from insdel_paper.studies.best_order import spectrum
from insdel_paper.studies.breadth.models import Fitted
from insdel_paper.studies.breadth.protocol import OPTIONS, Size, evaluations

POLICIES = ("counterfactual", "one_to_one")
HELD, INSPECTED = 0.2, 400  # share of rows held out, and how many of them may become pairs
SHARED = 12  # pairs of a cell that may be frozen
FROZEN_D, FROZEN_VALUES = 12, 2**12  # players of a frozen game, and values per cell


def material(name: str, seed: int) -> data.Split:
    """A table split, standardised by its training rows: features and target have mean 0 and deviation 1.

    The features of the book's own tables all get standardised here too.
    """
    dataset = tables.load(name)
    part = data.split(replace(dataset, standardise=dataset.names), HELD, seed)
    part = replace(part, x_train=part.x_train[: tables.MOST_ROWS], train=part.train[: tables.MOST_ROWS],
                   x_test=part.x_test[:INSPECTED], test=part.test[:INSPECTED])  # fmt: skip
    y = part.y_train[: tables.MOST_ROWS]
    own, test = (((rows - y.mean()) / y.std()).astype(np.float32) for rows in (y, part.y_test[:INSPECTED]))
    return replace(part, y_train=own, y_test=test)


def points(fitted: Fitted, rows: np.ndarray) -> Any:
    """Rows as the model takes them."""
    return rows if fitted.trees is not None else torch.as_tensor(rows)


def pairs(
    fitted: Fitted, rows: np.ndarray, policy: str, seed: int, size: Size, wide: bool = False
) -> policies.PolicyPairs:
    """The first pairs that differ in few enough features, as many as the size allows; wide: any pairs, but few."""
    x, n = points(fitted, rows), rows.shape[1]
    if policy == "counterfactual":
        found = policies.counterfactual(fitted.f, x, at_least=min((n + 1) // 2, 12))
    else:
        found = policies.one_to_one(x, seed)
    fits = (found.differing >= 2) & (wide | (found.differing <= size.most))
    few = np.flatnonzero(fits)[: size.wide_pairs if wide else size.pairs]
    if not wide:
        few = few[np.cumsum(2.0 ** found.differing[few]) <= size.hybrids]
    partners = None if found.reference_index is None else found.reference_index[few]
    x, reference = found.x[few], found.reference[few]
    return policies.PolicyPairs(x, reference, found.index[few], partners, found.differing[few], {})


def games_of(fitted: Fitted, chosen: policies.PolicyPairs) -> Sequence[Lattice | TreeGame]:
    """The game of every pair: lattices, closed forms of tree ensembles, or none where nobody can enumerate."""
    if chosen.differing.max() <= MAX_FEATURES:
        return list(lattices(fitted.f, chosen.x, chosen.reference, progress=False))
    return [] if fitted.trees is None else list(Trees.of(fitted.trees).games(chosen.x, chosen.reference))


BUILT_IN = {"kernel_shap_128": "kernel_shap", "kernel_shap_1024": "kernel_shap", "lime_500": "lime", "lime_25": "lime"}


def attributed(
    fitted: Fitted, chosen: policies.PolicyPairs, names: list[str], games: Sequence[Lattice | TreeGame], seed: int
) -> dict[str, np.ndarray]:
    """Attributions of every method, name → (pairs, n); exact Shapley values come from the games."""
    result = {}
    for name in names:
        method = BUILT_IN.get(name, name)
        if name == "kernel_shap":
            result[name] = np.stack([np.asarray(game.shapley()) for game in games])
        elif name == "treeshap":  # φ(x′) − φ(x), path-dependent: it knows no reference
            import shap

            explain = shap.TreeExplainer(fitted.trees, feature_perturbation="tree_path_dependent").shap_values
            result[name] = explain(np.asarray(chosen.reference)) - explain(np.asarray(chosen.x))
        else:
            options = OPTIONS.get(name, {}) | ({"seed": seed} if "seed" in insdel.METHODS[method].options else {})
            result[name] = np.asarray(insdel.explain(method, fitted.f, chosen.x, chosen.reference, **options))
    return result


def areas(
    fitted: Fitted,
    chosen: policies.PolicyPairs,
    values: dict[str, np.ndarray],
    games: Sequence[Lattice | TreeGame],
    seed: int,
) -> pd.DataFrame:
    """Areas of every method on every pair: pair, method, mode, abc, expected, best (searched without games)."""
    if not games:
        brought = {name: insdel.attributions(part, sign="change") for name, part in values.items()}
        result = compare(fitted.f, chosen.x, chosen.reference, brought, seed=seed, progress=False)
        table = result.table.merge(result.scale, on=["pair", "mode"])
        return table[["pair", "method", "mode", "abc", "expected", "best"]]
    rows = []
    for (pair, game), mode in product(enumerate(games), MODES):
        expected, best = game.expected_abc(mode), float(game.abc(game.best_order(mode), mode))
        orders = insdel.order(np.stack([part[pair] for part in values.values()]), mode)
        for name, area in zip(values, np.asarray(game.abc(orders, mode)), strict=True):
            rows.append((pair, name, mode, float(area), expected, best))
    return pd.DataFrame(rows, columns=["pair", "method", "mode", "abc", "expected", "best"])


def scored(areas: pd.DataFrame, chosen: policies.PolicyPairs) -> pd.DataFrame:
    """Score of every method, Σ (ABC − E) / Σ (best − E), mean of both tests, with its standard error over the pairs.

    `behind` is what it lacks to the first method, exact Kernel SHAP where that is there.
    """
    table = areas.assign(above=areas["abc"] - areas["expected"], room=areas["best"] - areas["expected"])
    sums = table.groupby(["method", "mode"], sort=False)[["above", "room"]]
    table["share"] = sums.transform("sum")["above"] / sums.transform("sum")["room"]
    table["rest"] = (table["above"] - table["share"] * table["room"]) / sums.transform("mean")["room"]
    names, ends = list(dict.fromkeys(areas["method"])), stats.PairIds.of(chosen)
    shares = table.pivot_table("share", "method", "mode").loc[names, list(MODES)]
    score, rest = shares.mean(axis=1), table.pivot_table("rest", "pair", "method")
    first = names[0]
    columns = {
        "score": score, "se": [stats.mean(rest[name], ends)[1] for name in names], **shares,
        "behind": score[first] - score, "behind_se": [stats.mean(rest[first] - rest[name], ends)[1] for name in names],
    }  # fmt: skip
    return pd.DataFrame(columns, index=pd.Index(names, name="method")).reset_index()


def not_additive(games: list[Lattice]) -> float:
    """Share of the variance over all hybrids that no additive function explains, over all games together."""
    total = additive = 0.0
    for game in games:
        values = np.asarray(game.values, dtype=float)
        spread = float(values.var())
        if spread:
            total, additive = total + spread, additive + spread * spectrum(torch.as_tensor(values))[1]
    return 1 - additive / total if total else 0.0


def frozen(games: list[Lattice], values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is kept of the first small games of a cell: the values of all hybrids, and what every method said.

    Returns
    -------
    values : (Σ 2ᵈ,) float32; d : (games,); methods : (k,) names; said : (k, Σ d) float32, players only
    """
    sizes = np.cumsum([2**game.d if game.d <= FROZEN_D else 0 for game in games])
    few = [k for k, game in enumerate(games) if game.d <= FROZEN_D and (sizes[k] <= FROZEN_VALUES or k == 0)]
    said = [[part[k][list(games[k].players)] for k in few] for part in values.values()]
    return {
        "values": np.concatenate([np.asarray(games[k].values) for k in few] or [np.empty(0)]).astype(np.float32),
        "d": np.array([games[k].d for k in few], dtype=np.int8),
        "methods": np.array(list(values)),
        "said": np.array([np.concatenate(part or [np.empty(0)]) for part in said], dtype=np.float32),
    }


def cell(
    fitted: Fitted, rows: np.ndarray, policy: str, names: list[str], seed: int, size: Size, wide: bool = False
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Scores of all methods with the facts about their pairs, and the games that are kept; empty without pairs."""
    chosen = pairs(fitted, rows, policy, seed, size, wide)
    if len(chosen) < 2:
        return pd.DataFrame(), {}
    games = games_of(fitted, chosen)
    values = attributed(fitted, chosen, names, games, seed)
    result = scored(areas(fitted, chosen, values, games, seed), chosen)
    d = float(chosen.differing.mean())
    spent = [evaluations(name, round(d)) for name in names]
    small = [game for game in games if isinstance(game, Lattice)]
    result = result.assign(evaluations=spent, pairs=len(chosen), d=d, n=rows.shape[1],
                           not_additive=not_additive(small) if small else np.nan)  # fmt: skip
    return result, frozen(small[:SHARED], values)
