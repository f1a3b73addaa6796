"""Fit the simulators' parameters to the real files: `INSDEL_DATA=... python -m insdel.paper.data.fit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

from . import bangalore, cern, simulate_bangalore, simulate_cern
from .files import data_folder

COMPONENTS = 12  # best likelihood of held-out events among 4, 8, 12, 16, 24, 32
ENHANCE = 12  # hard pairs are at most that many times as frequent as in the mixture, or drawing gets slow
MASS_BINS = 200
CONTINUUM_FROM = 60.0  # GeV: from here on an exponential describes what lies beneath the Z
CLASSES = 30
CORRELATION_WEIGHT, SHARE_WEIGHT = 1e6, 1e4  # against the mean log likelihood of a house
QUANTILES = np.concatenate([[0, 0.002, 0.005], np.arange(1, 100) / 100, [0.995, 0.998, 1]])


def fit_cern(rows: pd.DataFrame, masses: np.ndarray) -> dict[str, Any]:
    """Fit mixture, thinning, numbering and charges.

    Parameters
    ----------
    rows : genuine events, (events, 17)
    masses : M of the full file
    """
    pairs, first = ordered_pairs(rows)
    fitted = _fit_mixture(pairs)
    fitted |= _thinning(fitted, masses, pairs)
    inside = (np.abs(pairs[:, 2:4]) < simulate_cern.BARREL).astype(int)
    fitted["harder_first"] = [
        [first[(inside == (hard, soft)).all(axis=1)].mean() for soft in (0, 1)] for hard in (0, 1)
    ]
    opposite, kind = (rows["Q1"] != rows["Q2"]).to_numpy(), simulate_cern.charge_class(pairs)
    fitted["opposite"] = [opposite[kind == k].mean() for k in range(3)]
    return fitted


def _fit_mixture(pairs: np.ndarray) -> dict[str, Any]:
    """Gaussian mixture of the events and their mirror images; weights, means and Cholesky factors."""
    z = simulate_cern.to_unbounded(pairs)
    mirrored = z * np.array([1, 1, -1, -1, 1])
    mixture = GaussianMixture(COMPONENTS, reg_covar=1e-2, n_init=4, random_state=0)
    mixture.fit(np.vstack([z, mirrored]))
    factors = np.linalg.cholesky(mixture.covariances_)
    return {"weights": mixture.weights_, "means": mixture.means_, "factors": factors}


def ordered_pairs(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Harder and softer p_t, their η, |Δφ|, M, (events, 6); and whether electron 1 is the harder one."""
    first = (rows["pt1"] >= rows["pt2"]).to_numpy()
    turn = np.abs(np.angle(np.exp(1j * (rows["phi1"] - rows["phi2"]).to_numpy())))
    columns = [
        np.where(chosen, rows[f"{name}1"], rows[f"{name}2"]) for name in ("pt", "eta") for chosen in (first, ~first)
    ]
    return np.column_stack([*columns, turn, rows["M"]]), first


def _thinning(fitted: dict[str, Any], masses: np.ndarray, genuine: np.ndarray) -> dict[str, Any]:
    """Chance to keep an event, per bin of M and kind of pair: wanted share over share in the mixture."""
    edges = np.quantile(masses, np.linspace(0, 1, MASS_BINS + 1))
    edges[[0, -1]] = simulate_cern.LEAST, simulate_cern.MOST
    pairs = simulate_cern.draw_pairs(np.random.default_rng(0), 4_000_000, fitted)
    mass, kind = pairs[:, 5], pairs[:, 1] > simulate_cern.HARD_PAIR
    drawn = np.column_stack([np.histogram(mass[kind == k], edges)[0] for k in (False, True)]) / len(mass)
    peak = z_share(masses, edges)
    share = peak + (1 - peak) * _hard_share(genuine, (edges[1:] + edges[:-1]) / 2)
    hard = np.minimum(share / MASS_BINS, ENHANCE * drawn[:, 1])
    wanted = np.column_stack([1 / MASS_BINS - hard, hard])
    ratio = np.divide(wanted, drawn, out=np.zeros_like(wanted), where=drawn > 0)
    return {"mass_edges": edges, "keep": ratio / ratio.max()}


def _hard_share(genuine: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Share of pairs with two hard electrons beside the peak of the Z, smooth in log M, at the given masses."""

    def terms(m: np.ndarray) -> np.ndarray:
        low = np.log(np.minimum(m, 70.0))  # above, too few events beside the peak to extrapolate a curve
        return np.column_stack([low, low**2])

    beside = genuine[(genuine[:, 5] < 80) | (genuine[:, 5] > 100)]
    model = LogisticRegression(C=100.0).fit(terms(beside[:, 5]), beside[:, 1] > simulate_cern.HARD_PAIR)
    return model.predict_proba(terms(mass))[:, 1]


def z_share(masses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Share of Z decays per bin: what stands above an exponential through both sides of the peak."""
    counts, fine = np.histogram(masses, np.arange(CONTINUUM_FROM, 111, 2.5))
    middle = (fine[1:] + fine[:-1]) / 2
    beside = (middle < 80) | (middle > 100)
    line = np.polyfit(middle[beside], np.log(counts[beside] / 2.5), 1)
    centre, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    density = np.histogram(masses, edges)[0] / width
    above = np.clip(1 - np.exp(np.polyval(line, centre)) / density, 0, 1)
    return np.where((centre > 80) & (centre < 100), above, 0.0)


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


def main() -> None:
    """Refit both simulators and write their parameters into the package."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("INSDEL_DATA must name the folder with the real files; it is unset.")
    target = Path(__file__).parent
    masses = pd.read_csv(folder / "dielectron_invariant_mass.csv")["M"].to_numpy()
    events, _ = cern.read(folder / "dielectron_first1000.csv")
    print(write("cern", fit_cern(events, masses), target))
    houses, _ = bangalore.read(folder / "Bangalore.csv")
    print(write("bangalore", fit_bangalore(houses), target))


if __name__ == "__main__":
    main()
