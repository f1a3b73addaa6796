"""LIME in two versions: captum's, which compares x with x′, and the lime package's, which does not."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from insdel.attribution.coalitions import Group, coalition_values
from insdel.errors import UserError
from insdel.evaluate import BatchModel, Model, Pairs, Points, as_array, chunk_rows, progress_off, to_tensor
from insdel.seeds import Seed, generators, pair_seeds

BLOCK = 2**22  # entries of a block of masks


def lime(
    f: Model,
    pairs: Pairs,
    *,
    samples: int = 25,
    alpha: float = 0.01,
    width: float = 1.0,
    seed: Seed = 0,
    chunk: int | None = None,
    progress: bool | None = False,
) -> Tensor:
    """Minus the coefficients of a weighted Lasso on random hybrids of x and x′  [section 5, appendix].

    The estimator of captum's Lime with its defaults, the hybrids of all pairs evaluated together:
    every feature (unchanged ones too) keeps x's value with probability 1/2, hybrids weigh
    exp(−δ² / 2 width²) with δ = 1 − cos(x, hybrid), and the Lasso's penalty is `alpha`. As `alpha`
    is not relative, the result depends on the unit of f's output. Pair i draws by (`seed`, i).
    """
    if samples < 2 or alpha < 0 or width <= 0:
        raise UserError(f"lime needs samples ≥ 2, alpha ≥ 0 and width > 0; found {samples}, {alpha} and {width}.")
    draws, result = generators(seed, len(pairs)), torch.zeros(len(pairs), pairs.n, dtype=torch.float64)
    blocks = torch.arange(len(pairs)).split(max(1, BLOCK // (samples * pairs.n)))
    for index in tqdm(blocks, unit=" blocks", delay=2, disable=progress_off(progress)):
        keys = np.stack([draws[p].random((samples, pairs.n), dtype=np.float32) for p in index.tolist()])
        result[index] = lime_fit(f, pairs, index, torch.from_numpy(keys < 0.5), alpha, width, chunk)
    return result


def lime_fit(
    f: Model, pairs: Pairs, index: Tensor, keep: Tensor, alpha: float, width: float, chunk: int | None = None
) -> Tensor:
    """A for the pairs `index` from given hybrids; keep (k, samples, n) says what stays as in x."""
    from sklearn.linear_model import Lasso

    choice = pairs.some(index)
    group = Group(choice, index, torch.arange(pairs.n).expand(len(index), -1))
    values = coalition_values(f, group, ~keep, chunk, False)
    weights = _similarity(choice, keep, width).cpu().numpy()
    result = np.empty((len(index), pairs.n))
    # float32, as captum passes its samples on
    design, target = keep.numpy().astype(np.float32), values.cpu().numpy().astype(np.float32)
    for k in range(len(index)):
        model = Lasso(alpha=alpha).fit(design[k], target[k], sample_weight=weights[k])
        result[k] = -model.coef_
    return torch.from_numpy(result)


def _similarity(pairs: Pairs, keep: Tensor, width: float) -> Tensor:
    """exp(−(1 − cos(x, hybrid))² / 2 width²), (pairs, samples).

    What is no number (a category, a gap, the mean over a background) counts as 1 where it stays as in x, else 0.
    """
    if pairs.group is not None:
        keep = keep[:, :, pairs.group.to(keep.device)]
    shape = (len(pairs), pairs.x.shape[1])
    x, reference = torch.ones(shape), torch.zeros(shape)
    if pairs.background is None and isinstance(pairs.x, Tensor) and isinstance(pairs.reference, Tensor):
        coded = torch.zeros(shape[1], dtype=torch.bool)
        if pairs.columns is not None:
            coded = torch.from_numpy(pairs.columns.coded)
        numbers = ~(coded.to(pairs.device) | torch.isnan(pairs.x.float()) | torch.isnan(pairs.reference.float()))
        same = torch.where(pairs.by_column().differing(), 0.0, 1.0)
        x = torch.where(numbers, pairs.x.float(), 1.0)
        reference = torch.where(numbers, pairs.reference.float(), same)
    x, reference = x[:, None], reference[:, None]
    hybrids = torch.where(keep.to(x.device), x, reference)
    distance = 1 - torch.nn.functional.cosine_similarity(x, hybrids, dim=2)
    return torch.exp(-(distance**2) / (2 * width**2))


def lime_tabular(
    f: Model,
    pairs: Pairs,
    *,
    background: Points | None = None,
    binary: Tensor | None = None,
    samples: int = 5000,
    seed: Seed = 0,
    chunk: int | None = None,
    progress: bool | None = False,
) -> Tensor:
    """Minus the coefficients that the `lime` package's tabular explainer finds around x.

    It draws points from the distribution of the `background` rows, (m, n), cuts features into
    quartiles (`binary` ones are categories) and regresses f on sharing x's quartile. x′ plays no
    part. Library defaults, except that all features are kept, not the ten largest. Pair i draws by (`seed`, i).
    """
    from lime.lime_tabular import LimeTabularExplainer

    if background is None:
        raise UserError("lime_tabular needs background=..., rows (m, n) that show how the features are distributed.")
    model = BatchModel(f, pairs.template, pairs.columns)
    rows, points = (_rows(part, name) for part, name in ((background, "background"), (pairs.x, "x")))
    categories = [] if binary is None else torch.nonzero(binary)[:, 0].tolist()
    state = np.random.RandomState(0)
    explainer = LimeTabularExplainer(rows, mode="regression", categorical_features=categories, random_state=state)
    result = torch.zeros(len(pairs), pairs.n, dtype=torch.float64)
    for p, own in enumerate(tqdm(pair_seeds(seed, len(pairs)), unit=" pairs", delay=2, disable=progress_off(progress))):
        state.seed(np.random.SeedSequence(own.tolist()).generate_state(4))
        answer = explainer.explain_instance(
            points[p], lambda z: _predict(model, z, chunk), num_features=pairs.n, num_samples=samples
        )
        for feature, coefficient in answer.local_exp[1]:  # under 0 the package keeps them with the sign turned
            result[p, feature] = -coefficient
    return result


def _predict(model: BatchModel, points: np.ndarray, chunk: int | None) -> np.ndarray:
    """f on (m, n) points that the package drew, in chunks, (m,)."""
    size = chunk_rows(points.shape[1], model.device or torch.device("cpu"), chunk, model.width)
    return np.concatenate([model(points[k : k + size]).cpu().numpy() for k in range(0, len(points), size)])


def _rows(values: Points, name: str) -> np.ndarray:
    """Rows as the float64 array that the package computes with, (m, n)."""
    rows = to_tensor(as_array(values, name)).cpu().double().numpy()
    return rows.reshape(-1, rows.shape[-1])
