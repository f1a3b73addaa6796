"""One network, read as the paper reads its: the numbers of its tables, and how far they are from the printed ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from insdel import policies
from insdel.attribution import explain
from insdel.curves import MODES, abc, curve, order
from insdel.evaluate import predict
from insdel.own.mlp import MLP
from insdel_paper import networks, printed
from insdel_paper.studies.experiments import COUNTERFACTUAL, POLICIES
from insdel_paper.studies.forensics.rows import Rows

STEERS = ("kernel_shap", "random")
JUDGES = ("integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime")
RAW = {"vanilla_grad_raw": "vanilla_grad", "lime_raw": "lime"}  # the same method, shown features before z-scoring
READ = {"cern": POLICIES, "bangalore": POLICIES[:1]}  # the policies that the paper has
KEYS = ["policy", "mode", "method"]
SAMPLES, STEPS, ORDERS = 256, 50, 6  # of Kernel SHAP, of integrated gradients, of random orders per pair


class Raw(nn.Module):
    """The same function of the features before z-scoring: what gradients and LIME see if that is a layer of f."""

    def __init__(self, f: nn.Module, mean: np.ndarray, scale: np.ndarray) -> None:
        super().__init__()
        self.f = f
        self.mean, self.scale = (torch.tensor(part, dtype=torch.float32) for part in (mean, scale))

    def forward(self, x: Tensor) -> Tensor:
        """Predict (m,) outputs for (m, n) raw features."""
        return self.f((x - self.mean) / self.scale)


class Dropping(nn.Module):
    """The same network with dropout left on, as if nobody had called `eval`."""

    def __init__(self, model: MLP, seed: int = 0) -> None:
        super().__init__()
        self.layers, self.ratio = model.layers, model.dropout
        self.generator = torch.Generator().manual_seed(seed)

    def forward(self, x: Tensor) -> Tensor:
        """Predict (m,) outputs for (m, n) features, each with units of its own dropped."""
        for layer in self.layers:
            if isinstance(layer, nn.Dropout):
                draws = torch.rand(x.shape, generator=self.generator).to(x.device)
                x = x * (draws >= self.ratio) / (1 - self.ratio)
            else:
                x = layer(x)
        return x.squeeze(-1)


@dataclass(frozen=True)
class Reading:
    """One network, read as the paper reads its own.

    pairs : how many pairs per policy, the first of each; None: all
    distance : in which scale the counterfactual policy measures distances, "z-scored" or "raw"
    samples : subsets of sampled Kernel SHAP
    dropout : whether dropout stays on while curves are walked and methods asked
    raw : also show gradients and LIME the raw features
    """

    model: MLP
    rows: Rows
    pairs: int | None = None
    distance: str = "z-scored"
    samples: int = SAMPLES
    dropout: bool = False
    raw: bool = False

    @cached_property
    def f(self) -> nn.Module:
        """What is explained."""
        return Dropping(self.model).eval() if self.dropout else self.model

    @cached_property
    def prediction(self) -> np.ndarray:
        """(m,) at the inspected rows."""
        return np.asarray(predict(self.model, self.rows.x))

    def pick(self, policy: str) -> tuple[np.ndarray, np.ndarray]:
        """x and x′ of a policy's pairs, (pairs, n) each."""
        x = seen = self.rows.x
        if policy == "counterfactual" and self.distance == "raw":
            seen = x * self.rows.scale.astype(np.float32)
        given: dict[str, Any] = {"data": self.rows.x_train, **COUNTERFACTUAL[self.rows.name]}
        result = policies.choose(policy, lambda _: self.prediction, seen, **given)
        partner = result.reference_index
        reference = np.asarray(result.reference) if partner is None else x[partner]
        return x[result.index][: self.pairs], reference[: self.pairs]

    def areas(self, policy: str) -> pd.DataFrame:
        """ABC per feature: a row per pair, a column (method, mode)."""
        x, reference = self.pick(policy)
        columns: dict[tuple[str, str], list[np.ndarray]] = {}
        for method, attributions in self._attributions(x, reference):
            for mode in MODES:
                walk = np.asarray(curve(self.f, x, reference, np.asarray(order(attributions, mode))))
                columns.setdefault((method, mode), []).append(np.asarray(abc(walk, mode, per_feature=True)))
        return pd.DataFrame({key: np.mean(parts, axis=0) for key, parts in columns.items()})

    def _attributions(self, x: np.ndarray, reference: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        options: dict[str, dict[str, Any]] = {
            "kernel_shap": {"samples": self.samples},
            "integrated_gradients": {"steps": STEPS},
            "input_x_gradient": {"binary": list(self.rows.binary)} if self.rows.binary else {},
        }
        # DeepLIFT compares the activations of x and x′ unit by unit: with units dropped at random it has no meaning
        for method in ("kernel_shap", *(name for name in JUDGES if not (self.dropout and name == "deeplift"))):
            yield method, np.asarray(explain(method, self.f, x, reference, **options.get(method, {})))
        for seed in range(ORDERS):
            yield "random", np.random.default_rng(seed).random(x.shape)
        if self.raw:
            before = [part * self.rows.scale + self.rows.mean for part in (x, reference)]
            shown = [part.astype(np.float32) for part in before]
            raw = Raw(self.f, self.rows.mean, self.rows.scale).eval()
            for name, method in RAW.items():
                yield name, np.asarray(explain(method, raw, *shown))

    def fingerprint(self) -> pd.DataFrame:
        """Means and correlations as the paper prints them: policy, mode, method, value.

        Correlations of insertion with deletion areas have the mode "correlation".
        """
        result = []
        for policy in READ[self.rows.name]:
            table = self.areas(policy)
            result += [(policy, mode, method, value) for (method, mode), value in table.mean().items()]
            for method in ("kernel_shap", "integrated_gradients"):
                value = np.corrcoef(table[method, "insertion"], table[method, "deletion"])[0, 1]
                result.append((policy, "correlation", method, value))
        return pd.DataFrame(result, columns=[*KEYS, "value"])

    def r2(self) -> float:
        """Share of variance explained at the inspected rows."""
        return networks.r2(self.rows.y, self.prediction)


def print_of_paper(name: str = "cern") -> pd.DataFrame:
    """Table 1, or Tables 2 to 4, in the form of `Reading.fingerprint`: policy, mode, method, value; and who steers."""
    names = ["bangalore"] if name == "bangalore" else ["cern_counterfactual", "cern_policies"]
    areas = pd.concat([printed.table(one) for one in names], ignore_index=True)
    parts = [areas[areas["method"] != printed.DIFFERENCE].rename(columns={"mean": "value"})]
    if name == "cern":
        table = printed.table("cern_correlation").melt("policy", ["kernel_shap", "integrated_gradients"], "method")
        parts.append(table.assign(mode="correlation"))
    both = pd.concat(parts, ignore_index=True)
    both["steers"] = both["method"].isin(STEERS) & (both["mode"] != "correlation")
    return both[[*KEYS, "value", "steers"]]


def distances(numbers: pd.DataFrame, name: str = "cern") -> dict[str, float]:
    """How far a fingerprint is from the printed one: root mean square of the numbers that steer and that judge.

    The unit is that of the target; correlations, which have no unit, are a third number.
    """
    both = print_of_paper(name).merge(numbers, on=KEYS, suffixes=("", "_read"))
    off = both["value_read"] - both["value"]
    correlation = both["mode"] == "correlation"
    kinds = {"steers": both["steers"], "judges": ~both["steers"] & ~correlation, "correlations": correlation}
    return {kind: float(np.sqrt((off[which] ** 2).mean())) for kind, which in kinds.items() if which.any()}
