"""Tree ensembles: certified gaps by family, values of other packages, a wide table, and pairs in bulk."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

import insdel
from insdel_paper.data import tables
from insdel_paper.records.run import Recording, RunContext, record

TOLERANCE = 1e-4  # of the largest change of a prediction: beyond all rounding to float32


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


MODELS = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
FAMILIES, CASES = MODELS["families"], MODELS["cases"]


def unfitted(row: Mapping[str, Any], seed: int = 0) -> Any:
    """The model that a row of `trees.yml` describes."""
    module, name = row["model"].rsplit(".", 1)
    options = {key: seed % 2**32 if value == "seed" else value for key, value in row["options"].items()}
    return getattr(import_module(module), name)(**options)


def certified_gaps(
    features: int = 40, pairs: int = 5, seconds: float = 2.0, families: Sequence[str] = tuple(FAMILIES)
) -> pd.DataFrame:
    """How far above the order found its certificate lies, pair by pair, as shares of the way from chance to that order.

    Returns the columns family, pair, features (that matter), leaves, gap (bound − area), shapley (area − that of
    Shapley's order), seconds
    """
    rows = []
    for family in families:
        points, target = simulated(features, signal=not FAMILIES[family].get("noise"))
        model = unfitted(FAMILIES[family]).fit(points, target)
        games = insdel.Trees.of(model).games(points[:pairs], points[pairs : 2 * pairs])
        for number, game in enumerate(games):
            start = time.perf_counter()
            found = game.search("insertion", bound=True, seconds=seconds)
            spent, room = time.perf_counter() - start, found.area - game.expected_abc()
            lost = found.area - game.abc(insdel.order(game.shapley()))
            rows.append({
                "family": family, "pair": number, "features": len(game.active), "leaves": len(game.w),
                "gap": (found.bound - found.area) / room, "shapley": lost / room, "seconds": spent,
            })  # fmt: skip
    return pd.DataFrame(rows)


class Case(NamedTuple):
    """A model fitted to rows with eight features, the rows that pairs are made of, and the prediction explained."""

    model: Any
    rows: np.ndarray
    predict: Callable[[Any], np.ndarray]


def few_features(seed: int = 0, count: int = 400, decimals: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows with so many decimals, as measurements often have, (count, 8), and a target with interactions, (count,)."""
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(count, 8)), decimals)
    return rows, rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) + rows[:, 3] * (rows[:, 4] > 0) + rows[:, 5]


def with_gaps(rows: np.ndarray, value: float = np.nan, seed: int = 1) -> np.ndarray:
    """Rows with a fifth of their numbers replaced."""
    return np.where(np.random.default_rng(seed).random(rows.shape) < 0.2, value, rows)


def cases(seed: int = 0) -> Iterator[tuple[str, Case]]:
    """Fitted models of eight features, label by label."""
    plain, target = few_features(seed)
    many, many_targets = few_features(seed, 4000, 2)
    codes = plain.copy()
    codes[:, 0] = np.random.default_rng(2).integers(0, 6, len(plain))
    by_category = target + 2 * np.isin(codes[:, 0], [0, 3, 4]) * codes[:, 1]
    known = {
        "plain": (plain, target), "gaps": (with_gaps(plain), target), "zeros": (with_gaps(plain, 0.0), target),
        "many": (with_gaps(many), many_targets), "codes": (codes, by_category),
        "classes": (plain, np.digitize(target, [-1, 1])),
    }  # fmt: skip
    for label, row in CASES.items():
        points, y = known[row.get("rows", "plain")]
        fitted = known[row["fitted"]][0] if "fitted" in row else points
        model = unfitted(row, seed).fit(fitted, y, **row.get("fit", {}))
        yield label, Case(model, points, partial(margins, model) if label.startswith("XGBoost") else model.predict)


def margins(model: Any, points: Any) -> np.ndarray:
    """XGBoost's raw predictions, (m,), of the first class where there are several."""
    found = np.asarray(model.predict(points, output_margin=True), dtype=np.float64)
    return found if found.ndim == 1 else found[:, 0]


def by_shap(case: Case, x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """shap's interventional values of one pair, (8,), in this book's sign."""
    import shap

    explainer = shap.TreeExplainer(case.model, reference[None], feature_perturbation="interventional")
    values = np.asarray(explainer.shap_values(x[None], check_additivity=False))[0]
    return -(values if values.ndim == 1 else values[:, 0])


PACKAGES: Mapping[str, Callable[[Case, np.ndarray, np.ndarray], np.ndarray]] = {
    "shap": by_shap,
    "insdel": lambda case, x, reference: insdel.Trees.of(case.model).game(x, reference).shapley(),
}


def judge(case: Case, pairs: int, package: Callable[..., np.ndarray]) -> dict[str, Any]:
    """How many of the pairs a package gets wrong, and the largest error as a share of the largest |A_j| of its pair.

    The answer that it has to meet is a `Lattice` of 2⁸ predictions of the model itself.
    """
    gaps = []
    for x, reference in zip(case.rows[:pairs], case.rows[pairs : 2 * pairs], strict=True):
        right = insdel.Lattice.evaluate(case.predict, x, reference, progress=False).shapley()
        try:
            found = package(case, x, reference)
        except Exception as error:
            return {"wrong": None, "largest_error": np.nan, "raised": type(error).__name__}
        gaps.append(float(np.abs(found - right).max() / np.abs(right).max()))
    return {"wrong": sum(gap > TOLERANCE for gap in gaps), "largest_error": max(gaps), "raised": ""}


def package_errors(pairs: int = 30, seed: int = 0) -> pd.DataFrame:
    """Pairs whose interventional values a package gets wrong: case, package, pairs, wrong, largest_error, raised."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (label, case), (name, package) in product(cases(seed), PACKAGES.items()):
            rows.append({"case": label, "package": name, "pairs": pairs, **judge(case, pairs, package)})
    return pd.DataFrame(rows)


def path_dependent(model: Any, points: Any) -> np.ndarray:
    """Path-dependent TreeSHAP values by LightGBM itself, (m, n) → (m, n), in the sign of SHAP."""
    return np.asarray(model.predict(points, pred_contrib=True))[:, :-1]


def scores(model: Any, x: Any, reference: Any) -> pd.DataFrame:
    """Mean scores (0 chance, 1 best) of exact Shapley values, two uses of path-dependent TreeSHAP, and the best order.

    Returns the columns method, mode, mean, se, score, score_se, best_is, …
    """
    at_x, at_reference = path_dependent(model, x), path_dependent(model, reference)
    compared = {
        "interventional, exact": "kernel_shap",
        "path-dependent at x": insdel.attributions(at_x, sign="shap"),
        "path-dependent, x′ minus x": insdel.attributions(at_reference - at_x, sign="change"),
        "best": "best",
    }
    return insdel.compare(model.predict, x, reference, compared, progress=False).summary(bootstrap=0)


def wide_table(pairs: int = 200, trees: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A model of the riders of a Chicago station by day, from other stations two weeks before, weather and games.

    Returns scores of the model's explanations; facts of table, model and runs, one per row
    """
    table = tables.raw("modeldata/Chicago").drop(columns=["rownames", "date"])
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

    Returns the columns way, pairs (that were timed), seconds (of the processor), seconds_for_all, mean_score
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
    written = {
        "packages": package_errors(package_pairs),
        "gaps": certified_gaps(features, gap_pairs, seconds),
        "scores": found,
        "facts": facts,
        "bulk": in_bulk(bulk_rows, searched),
    }
    return Recording(written, {"data": "simulated, and modeldata's Chicago"})
