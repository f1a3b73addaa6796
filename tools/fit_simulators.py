"""Fit the simulators to the real files: `INSDEL_DATA=... python tools/fit_simulators.py [bangalore] [cern]`.

The events' simulator sees one half of the sample (`check.halves`); `check.simulator_report` judges it on the other.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from torch import nn

from insdel_paper.data import bangalore, cern, check, simulate_bangalore, simulate_cern
from insdel_paper.data.files import data_folder

KNOTS = 257  # quantiles that are kept of each coordinate
HIDDEN, EPOCHS, BATCH, RATE, DECAY = 64, 80, 256, 3e-3, 2e-2  # chosen on a quarter of the half that is fitted
CURVE_KNOTS, PENALTY, DRAWN, CUT = 14, 0.1, 60_000, 0.998  # curves of the chance to keep an event; the same way
CLASSES = 30
CORRELATION_WEIGHT, SHARE_WEIGHT = 1e6, 1e4  # against the mean log likelihood of a house
QUANTILES = np.concatenate([[0, 0.002, 0.005], np.arange(1, 100) / 100, [0.995, 0.998, 1]])


def fit_cern(rows: pd.DataFrame, hidden: int = HIDDEN, epochs: int = EPOCHS) -> dict[str, np.ndarray]:
    """Quantiles of the coordinates, and a network per coordinate and for the charges, from genuine events (m, 17)."""
    event = simulate_cern.coordinates(rows)
    quantiles = np.quantile(event, np.linspace(0, 1, KNOTS), axis=0)
    fitted: dict[str, np.ndarray] = {"quantiles": quantiles.astype(np.float32)}
    places = zip(event.T, quantiles.T, strict=True)
    share = np.column_stack([np.interp(*pair, np.linspace(0, 1, KNOTS)) for pair in places])  # of the events below
    classes = np.minimum((share * simulate_cern.CLASSES).astype(int), simulate_cern.CLASSES - 1)
    charges = ((rows["Q1"] + 1) + (rows["Q2"] + 1) / 2).to_numpy(int)
    waves = torch.tensor(simulate_cern.waves()).float()
    for k in range(1, 6):
        seen = torch.tensor(simulate_cern.inputs(event, share[:, :k])).float()
        kind, basis = (classes[:, k], waves) if k < 5 else (charges, torch.eye(4))
        network = _classifier(seen, torch.tensor(kind), basis, hidden, epochs)
        layers = [layer for layer in network if isinstance(layer, nn.Linear)]
        for layer, linear in enumerate(layers):
            fitted[f"{k}.{layer}.weight"] = linear.weight.detach().numpy()
            fitted[f"{k}.{layer}.bias"] = linear.bias.detach().numpy()
    return fitted | fit_curves(event, fitted)


def fit_curves(event: np.ndarray, fitted: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Curves whose sum is the log of genuine over simulated density: logistic regression tells the two apart.

    Parameters
    ----------
    event : (events, 5) genuine coordinates
    fitted : the networks

    Returns
    -------
    knots, heights : (CURVE_KNOTS, 8), one curve for each of `simulate_cern.sizes`; the largest ratios are cut
    """
    genuine = simulate_cern.sizes(event)
    knots = np.quantile(genuine, np.linspace(0.002, 0.998, CURVE_KNOTS), axis=0)
    all_kept = {"knots": knots, "heights": np.zeros_like(knots)}
    drawn = simulate_cern.coordinates(simulate_cern.simulate(DRAWN, fitted={**fitted, **all_kept}))
    hats = [_hats(sizes, knots) for sizes in (simulate_cern.sizes(drawn), genuine)]
    label = np.repeat([0, 1], [len(part) for part in hats])
    model = LogisticRegression(C=PENALTY, class_weight="balanced", max_iter=1000).fit(np.concatenate(hats), label)
    heights = model.coef_[0].reshape(-1, CURVE_KNOTS).T
    most = np.quantile(hats[0] @ model.coef_[0], CUT)
    heights = heights - most / heights.shape[1]
    # safetensors writes memory as it lies: a transposed array would come back scrambled
    return {name: value.astype(np.float32, order="C") for name, value in (("knots", knots), ("heights", heights))}


def _hats(sizes: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Weights of the two knots around each size, (events, 8 · knots): linear interpolation as a matrix."""
    peaks = np.eye(len(knots))
    columns = zip(sizes.T, knots.T, strict=True)
    return np.column_stack([np.interp(size, places, peak) for size, places in columns for peak in peaks])


def _classifier(seen: torch.Tensor, kind: torch.Tensor, basis: torch.Tensor, hidden: int, epochs: int) -> nn.Sequential:
    """A network whose outputs, times `basis`, are the log odds of the classes; m rows seen, (m,) classes."""
    torch.manual_seed(0)
    sizes = (seen.shape[1], hidden, hidden, basis.shape[1])
    first, second, last = (nn.Linear(*pair) for pair in pairwise(sizes))
    network = nn.Sequential(first, nn.SiLU(), second, nn.SiLU(), last)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(seen)).split(BATCH):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(seen[rows]) @ basis.T, kind[rows]).backward()
            optimiser.step()
        schedule.step()
    return network


def fit_bangalore(rows: pd.DataFrame) -> dict[str, Any]:
    """Fit classes, bedrooms, area and price to the complete real rows, (houses, 39)."""
    amenities = rows[list(bangalore.AMENITIES)].to_numpy(float)
    area, bedrooms, price = (rows[name].to_numpy(float) for name in (*bangalore.CONTINUOUS, bangalore.TARGET))
    fitted = fit_classes(amenities)
    member = fitted.pop("member")
    terms = simulate_bangalore.price_terms(area, bedrooms, amenities)
    # the ridge only keeps equal columns (all furniture comes together) from taking opposite coefficients
    coefficients = np.linalg.solve(terms.T @ terms + 0.1 * np.eye(terms.shape[1]), terms.T @ np.log(price))
    fitted |= _fit_rooms(member, bedrooms, np.log(area))
    fitted |= {"price": coefficients, "price_sd": float((np.log(price) - terms @ coefficients).std())}
    for name, values in (("area", area), ("price", price)):
        fitted[f"{name}_quantiles"] = [QUANTILES, np.log(np.quantile(values, QUANTILES))]
    return fitted


def _fit_rooms(member: np.ndarray, bedrooms: np.ndarray, log_area: np.ndarray) -> dict[str, Any]:
    """Bedrooms per class; log area per class plus a common step per bedroom."""
    size = member.sum(axis=0)
    share = member.T @ (bedrooms[:, None] == np.arange(1, bedrooms.max() + 1)) / size[:, None]
    mean_bedrooms, mean_area = member.T @ bedrooms / size, member.T @ log_area / size
    inner, outer = bedrooms - member @ mean_bedrooms, log_area - member @ mean_area
    step = float((inner @ outer) / (inner @ inner))
    mean = mean_area - step * mean_bedrooms
    rest = (log_area - step * bedrooms)[:, None] - mean
    return {
        "bedrooms": share,
        "area_bedroom": step,
        "area_mean": mean,
        "area_sd": np.sqrt((member * rest**2).sum(axis=0) / size),
    }


def fit_classes(amenities: np.ndarray, steps: int = 1500) -> dict[str, Any]:
    """Latent classes by likelihood, with a penalty on wrong shares and correlations over all houses.

    Likelihood alone leaves some of the 561 correlations off by 0.18.

    Returns
    -------
    weights (classes,), amenities (classes, columns), member (houses, classes): chance of each class
    """
    weights, chance = _expectation_maximisation(amenities)
    x = torch.tensor(amenities)
    a = torch.tensor(weights).log().requires_grad_()
    q = torch.tensor(chance).logit().requires_grad_()
    optimiser = torch.optim.Adam([a, q], lr=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = _class_loss(x, a, q)
        loss.backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        member = torch.softmax(_log_joint(x, a, q), dim=1).numpy()
        chance = torch.sigmoid(q).numpy() * (amenities.std(axis=0) > 0)  # columns that are never 1 stay so
    return {"weights": torch.softmax(a, 0).detach().numpy(), "amenities": chance, "member": member}


def _log_joint(x: torch.Tensor, a: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    log = torch.nn.functional.logsigmoid
    return x @ log(q).T + (1 - x) @ log(-q).T + torch.log_softmax(a, 0)


def _class_loss(x: torch.Tensor, a: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Mean negative log likelihood, plus penalties on the shares and on the correlations the classes imply."""
    varying = x.std(dim=0) > 0
    weights, chance, real = torch.softmax(a, 0), torch.sigmoid(q[:, varying]), x[:, varying]
    share = weights @ chance
    covariance = (weights[:, None] * (chance - share)).T @ (chance - share)
    scale = torch.sqrt(share * (1 - share))
    wrong = (covariance / torch.outer(scale, scale) - torch.corrcoef(real.T)).triu(1)
    pairs = wrong.shape[0] * (wrong.shape[0] - 1) / 2
    likelihood = torch.logsumexp(_log_joint(x, a, q), dim=1).mean()
    off = ((share - real.mean(dim=0)) ** 2).mean()
    return -likelihood + CORRELATION_WEIGHT * (wrong**4).sum() / pairs + SHARE_WEIGHT * off


def _expectation_maximisation(x: np.ndarray, starts: int = 4, rounds: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Best of some random starts; weights (classes,) and chances (classes, columns)."""
    found = []
    for seed in range(starts):
        member = np.random.default_rng(seed).dirichlet(np.full(CLASSES, 0.3), len(x))
        for _ in range(rounds):
            size = member.sum(axis=0)
            chance = (member.T @ x + 0.02) / (size[:, None] + 0.04)
            joint = x @ np.log(chance).T + (1 - x) @ np.log(1 - chance).T + np.log((size + 0.1) / len(x))
            total = np.logaddexp.reduce(joint, axis=1)
            member = np.exp(joint - total[:, None])
        found.append((total.sum(), seed, (size + 0.1) / (size + 0.1).sum(), chance))
    _, _, weights, chance = max(found)
    return weights, chance


def write(name: str, fitted: dict[str, Any], folder: Path) -> Path:
    """Write parameters as JSON, with five digits."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(_rounded(fitted), separators=(",", ":")) + "\n", encoding="utf-8")
    return path


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, np.ndarray):
        return _rounded(value.tolist())
    return float(f"{float(value):.5g}") if abs(value) > 1e-5 else 0.0


def main(names: list[str]) -> None:
    """Refit the named simulators, by default both, and write their parameters into the package."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("INSDEL_DATA must name the folder with the real files; it is unset.")
    target = Path(simulate_cern.__file__).parent
    if "cern" in (names or ["cern"]):
        events, _ = cern.read(folder / cern.SAMPLE)
        save_file(fit_cern(check.halves(events)[0]), target / simulate_cern.FILE)
        print(target / simulate_cern.FILE)
    if "bangalore" in (names or ["bangalore"]):
        houses, _ = bangalore.read(folder / "Bangalore.csv")
        print(write("bangalore", fit_bangalore(houses), target))


if __name__ == "__main__":
    main(sys.argv[1:])
