"""Who was removed, read off the rows that a network gets to see: what a mask can tell, and what it cannot."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import nn

from insdel_paper.networks.training import seeded

HIDDEN, EPOCHS, BATCH, RATE = 128, 40, 256, 3e-3


def read_mask(train: np.ndarray, mask: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mask as it can be read off the rows, for training and held-out rows, (m, n) of 0 and 1.

    A network learns from half of the training rows which of their features were removed, and reads the other half;
    the held-out rows are read by both. Each row has as many ones as features were removed.

    Parameters
    ----------
    train, test : (m, n) rows with filled features
    mask : (m, n) booleans, the features removed from the training rows
    """
    count = int(mask[0].sum())
    half, chance, held = np.arange(len(train)) % 2, np.empty(train.shape), np.zeros(test.shape, np.float32)
    for part in (0, 1):
        own = half == part
        chance[~own], read = _chances(train[own], mask[own], (train[~own], test), seed=part)
        held += read / 2
    return _largest(chance, count), _largest(held, count)


def named(read: np.ndarray, mask: np.ndarray) -> float:
    """Share of the removed features that a reading names, (m, n) both."""
    return float(((read > 0.5) & mask).sum() / max(int(mask.sum()), 1))


def named_by_habit(train: np.ndarray, test: np.ndarray) -> float:
    """The same for a reader who looks at no row: it names the features that are removed most often."""
    count = int(train[0].sum())
    return named(np.tile(_largest(train.mean(axis=0)[None], count), (len(test), 1)), test)


def _chances(x: np.ndarray, mask: np.ndarray, others: Iterable[np.ndarray], seed: int) -> list[np.ndarray]:
    """How likely each feature of other rows was removed, by a network fitted to which ones were, (m, n) all."""
    with seeded(seed):
        n = x.shape[1]
        inner = (nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, n))
        network = nn.Sequential(nn.Linear(n, HIDDEN), nn.ReLU(), *inner)
        rows = torch.from_numpy(x.astype(np.float32))
        truth = torch.from_numpy(mask.astype(np.float32))
        optimiser = torch.optim.Adam(network.parameters(), RATE)
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(rows)).split(BATCH):
                loss = nn.functional.binary_cross_entropy_with_logits(network(rows[batch]), truth[batch])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    with torch.no_grad():
        return [network(torch.from_numpy(rows.astype(np.float32))).sigmoid().numpy() for rows in others]


def _largest(chance: np.ndarray, count: int) -> np.ndarray:
    """Mark the `count` largest of each row."""
    result = np.zeros(chance.shape, dtype=np.float32)
    np.put_along_axis(result, np.argsort(-chance, axis=1, kind="stable")[:, :count], 1.0, axis=1)
    return result
