"""LIME in two versions: captum's, which compares x with x′, and the lime package's, which does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tqdm.auto import tqdm

from insdel.arrays import Points, to_numpy
from insdel.attribution.coalitions import BLOCK_ELEMENTS, Group, Task, coalition_values
from insdel.errors import UserError, require
from insdel.evaluate import aligned, as_array, predict, progress_off
from insdel.seeds import Seed, generators, pair_seeds


def lime(task: Task, *, samples: int = 25, alpha: float = 0.01, width: float = 1.0, seed: Seed = 0) -> np.ndarray:
    """Minus the coefficients of a weighted Lasso on random hybrids of x and x′  [section 5, appendix].

    The estimator of captum's Lime with its defaults, the hybrids of all pairs evaluated together:
    every feature (unchanged ones too) keeps x's value with probability 1/2, hybrids weigh
    exp(−δ² / 2 width²) with δ = 1 − cos(x, hybrid), and the Lasso's penalty is `alpha`. As `alpha`
    is not relative, the result depends on the unit of f's output. Pair i draws by (`seed`, i).
    """
    if samples < 2 or alpha < 0 or width <= 0:
        raise UserError(f"lime needs samples ≥ 2, alpha ≥ 0 and width > 0; found {samples}, {alpha} and {width}.")
    pairs, how = task.pairs, {"unit": " blocks", "delay": 2, "disable": progress_off(task.progress)}
    draws, result = generators(seed, len(pairs)), np.zeros((len(pairs), pairs.n))
    size = max(1, BLOCK_ELEMENTS // (samples * pairs.n))
    blocks = np.split(np.arange(len(pairs)), range(size, len(pairs), size))
    for index in tqdm(blocks, **how):
        keys = np.stack([draws[p].random((samples, pairs.n), dtype=np.float32) for p in index])
        result[index] = lime_fit(replace(task, progress=False), index, keys < 0.5, alpha, width)
    return result


def lime_fit(task: Task, index: np.ndarray, keep: np.ndarray, alpha: float, width: float) -> np.ndarray:
    """A for the pairs `index` from given hybrids; keep (k, samples, n) says what stays as in x."""
    lasso = require("sklearn.linear_model", "lime").Lasso
    task = task.subset(index)
    pairs, shape = task.pairs, task.pairs.x.shape
    group = Group(task, index, np.broadcast_to(np.arange(pairs.n), (len(index), pairs.n)))
    values = coalition_values(group, ~keep)
    # what is no number (a category, a gap, the mean over a background) counts as 1 where it stays as in x, else 0
    x, reference = np.ones(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    if pairs.background is None and pairs.numeric:
        x, reference = (to_numpy(part).astype(np.float32) for part in (pairs.x, pairs.reference))
        coded = False if pairs.columns is None else pairs.columns.coded
        strange = coded | np.isnan(x) | np.isnan(reference)
        reference = np.where(strange, ~pairs.by_column().differing(), reference)
        x = np.where(strange, 1, x)
    hybrids = np.where(keep if pairs.group is None else keep[:, :, pairs.group], x[:, None], reference[:, None])
    lengths = [np.maximum(np.linalg.norm(part, axis=-1), 1e-8) for part in (x[:, None], hybrids)]
    distance = 1 - (x[:, None] * hybrids).sum(axis=2) / (lengths[0] * lengths[1])
    weights = np.exp(-(distance**2) / (2 * width**2))
    design, target = keep.astype(np.float32), values.astype(np.float32)  # as captum passes its samples on
    fits = (lasso(alpha=alpha).fit(*part, sample_weight=w) for *part, w in zip(design, target, weights, strict=True))
    return np.array([-model.coef_ for model in fits], dtype=np.float64)


def lime_tabular(
    task: Task,
    *,
    background: Points | None = None,
    binary: np.ndarray | None = None,
    samples: int = 5000,
    seed: Seed = 0,
) -> np.ndarray:
    """Minus the coefficients that the `lime` package's tabular explainer finds around x.

    It draws points from the distribution of the `background` rows, (m, n), cuts features into
    quartiles (`binary` ones are categories) and regresses f on sharing x's quartile. x′ plays no
    part. Library defaults, except that all features are kept, not the ten largest. Pair i draws by (`seed`, i).
    """
    if background is None:
        raise UserError("lime_tabular needs background=..., rows (m, n) that show how the features are distributed.")
    pairs = task.pairs
    rows = aligned(background, pairs.columns.names if pairs.columns else None, "background")
    rows, points = (np.atleast_2d(to_numpy(as_array(part, name)).astype(np.float64))
                    for part, name in ((rows, "background"), (pairs.x, "x")))  # fmt: skip
    categories = [] if binary is None else np.flatnonzero(binary).tolist()
    state = np.random.RandomState(0)
    package = require("lime.lime_tabular", "lime_tabular")
    explainer = package.LimeTabularExplainer(rows, "regression", categorical_features=categories, random_state=state)

    result = np.zeros((len(pairs), pairs.n))
    seeds = tqdm(pair_seeds(seed, len(pairs)), unit=" pairs", delay=2, disable=progress_off(task.progress))
    for p, own in enumerate(seeds):
        state.seed(np.random.SeedSequence(own.tolist()).generate_state(4))
        answer = explainer.explain_instance(
            points[p], lambda z: predict(task.f, pairs.as_passed(z), task.chunk),
            num_features=pairs.n, num_samples=samples,
        )  # fmt: skip
        for feature, coefficient in answer.local_exp[1]:  # under 0 the package keeps them with the sign turned
            result[p, feature] = -coefficient
    return result
