"""Pairs from the reader's own rows, and which methods can rank their features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from insdel import policies, statements
from insdel.attribution import METHODS, explain
from insdel.comparison import compare
from insdel.curves import MODES, curve, order
from insdel.errors import UserError
from insdel.evaluate import Model, predict
from insdel.lattice import MAX_FEATURES
from insdel.own.table import Split, Table
from insdel.stats import REFERENCES

POLICIES = ("counterfactual", "one_to_one", "average")
INSPECTED = 2000  # rows among which references are looked for: their distances fill a square table
EXACT = ("banzhaf", "ig_jump", "ig_interpolated", *REFERENCES)  # what needs all hybrids of a pair, and is not sampled
WITH_BINARY = ("input_x_gradient", "ig_jump", "ig_interpolated")  # methods that ask which features are binary


def pick(
    policy: str,
    f: Model,
    split: Split,
    *,
    n_pairs: int = 30,
    at_least: int | None = None,
    nearest: int = 20,
    seed: int = 0,
) -> policies.Pairs:
    """Pick pairs among the rows set aside.

    Parameters
    ----------
    policy : one of `POLICIES`
    n_pairs : how many, at most; drawn by `seed`
    at_least : in how many features the counterfactual policy lets x and x′ differ; by default half of them
    nearest : how many candidates the counterfactual policy compares
    """
    if policy not in POLICIES:
        raise UserError(f"policy must be one of {', '.join(POLICIES)}; found {policy!r}.")
    if n_pairs < 1:
        raise UserError(f"n_pairs must be at least 1; found {n_pairs}.")
    points = split.x_test[:INSPECTED]
    if policy == "counterfactual":
        needed = -(-points.shape[1] // 2) if at_least is None else at_least
        pairs = policies.counterfactual(f, points, at_least=needed, nearest=nearest)
    else:
        pairs = policies.one_to_one(points, seed) if policy == "one_to_one" else policies.average(points, split.x_train)
    if not len(pairs):
        reason = next(iter(pairs.without.values()), "there is one row only")
        raise UserError(f"no row has a reference: {reason}. Lower at_least, or choose another policy.")
    return _draw(pairs, n_pairs, seed)


def _draw(pairs: policies.Pairs, count: int, seed: int) -> policies.Pairs:
    """Some of the pairs, at random."""
    choice = np.sort(np.random.default_rng(seed).permutation(len(pairs))[:count])
    partner = None if pairs.reference_index is None else pairs.reference_index[choice]
    remaining = (pairs.x[choice], pairs.reference[choice], pairs.index[choice], partner, pairs.differing[choice])
    return policies.Pairs(*remaining, pairs.without)


@dataclass(frozen=True)
class Plan:
    """What is compared, with which options; and what is not, a sentence each."""

    methods: list[str]
    options: dict[str, dict[str, Any]]
    notes: tuple[str, ...]

    def table(self, f: Model, pairs: policies.Pairs, seed: int = 0, scheduler: Any = None) -> pd.DataFrame:
        """The tidy table of `compare`."""
        choice: dict[str, Any] = {"options": self.options, "seed": seed, "scheduler": scheduler, "progress": False}
        return compare(f, pairs.x, pairs.reference, self.methods, score=False, **choice).table


def plan(
    f: Model,
    pairs: policies.Pairs,
    table: Table,
    methods: Sequence[str],
    *,
    exact_up_to: int = 14,
    samples: int = 4096,
    background: np.ndarray | None = None,
) -> Plan:
    """Leave out what this model or these pairs do not allow, and say so.

    Parameters
    ----------
    exact_up_to : pairs that differ in more features are too dear for all hybrids: Kernel SHAP is sampled then,
        and the best and the mean of all orders are left out
    samples : evaluations per pair of a sampled Kernel SHAP
    background : rows that LIME's tabular form draws like, (m, n); without them it is left out
    """
    unknown = [method for method in methods if method not in {*METHODS, *REFERENCES}]
    if unknown or not methods:
        known = ", ".join([*METHODS, *REFERENCES])
        raise UserError(f"methods must be among {known}; found {', '.join(unknown) or 'none'}.")
    if not 1 <= exact_up_to <= MAX_FEATURES:
        raise UserError(f"exact_up_to needs a number between 1 and {MAX_FEATURES}; found {exact_up_to}.")
    remaining = list(dict.fromkeys(methods))
    options: dict[str, dict[str, Any]] = {}
    if table.binary:
        options = {method: {"binary": _binary(table)} for method in remaining if method in WITH_BINARY}
    gradient = [method for method in remaining if method in METHODS and METHODS[method].needs_gradient]
    tried = {method: _refusal(method, f, pairs, options.get(method, {})) for method in gradient}
    refused = {method: problem for method, problem in tried.items() if problem is not None}
    remaining, notes = [method for method in remaining if method not in refused], _told(refused)
    if "lime_tabular" in remaining and background is None:
        remaining.remove("lime_tabular")
        notes.append(f"{statements.title('lime_tabular')} is left out: it needs rows to draw like.")
    elif "lime_tabular" in remaining:
        options["lime_tabular"] = {"background": background}
    most = int(pairs.differing.max())
    if most > exact_up_to:
        remaining, options, text = _sampled(remaining, options, most, samples)
        notes += text
    if not remaining:
        raise UserError(f"no method is left to compare. {' '.join(notes)}")
    return Plan(remaining, {m: choice for m, choice in options.items() if m in remaining}, tuple(notes))


def _binary(table: Table) -> list[int]:
    return [table.names.index(name) for name in table.binary]


def _refusal(method: str, f: Model, pairs: policies.Pairs, options: dict[str, Any]) -> Exception | None:
    """What a gradient method says against this model, tried on one pair; None if it works."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="deeplift's attributions miss")  # then it is not DeepLIFT
            explain(method, f, pairs.x[:1], pairs.reference[:1], **options)
    except (TypeError, ValueError, UserWarning) as error:
        return error
    return None


def _told(refused: dict[str, Exception]) -> list[str]:
    """One sentence for the methods that miss a gradient or layers, and one for each that has another reason."""
    missing = [statements.title(method) for method, problem in refused.items() if isinstance(problem, TypeError)]
    reason = "This model is not made of torch operations, so methods that need its gradient (DeepLIFT: its layers)"
    text = [f"{reason} are left out: {', '.join(missing)}."] if missing else []
    others = {method: problem for method, problem in refused.items() if not isinstance(problem, TypeError)}
    return text + [f"{statements.title(method)} is left out: {problem}" for method, problem in others.items()]


def _sampled(
    kept: list[str], options: dict[str, dict[str, Any]], most: int, samples: int
) -> tuple[list[str], dict[str, dict[str, Any]], list[str]]:
    """What is compared where pairs differ in too many features for all their hybrids."""
    dropped = [statements.title(method) for method in kept if method in EXACT]
    text = [f"Up to {most} features differ, too many for all 2^{most} hybrids."]
    if dropped:
        text.append(f"Left out, for it needs them: {', '.join(dropped)}.")
    if "kernel_shap" in kept:
        text.append(f"Kernel SHAP is estimated from {samples:,} evaluations per pair.")
        options = {**options, "kernel_shap": {"samples": samples}}
    return [method for method in kept if method not in EXACT], options, text


def widest(f: Model, pairs: policies.Pairs) -> int:
    """The pair with the largest |f(x′) − f(x)|: the change that most needs explaining."""
    gap = np.asarray(predict(f, pairs.reference)) - np.asarray(predict(f, pairs.x))
    return int(np.abs(gap).argmax())


def attributions(f: Model, pairs: policies.Pairs, pair: int, chosen: Plan, seed: int = 0) -> dict[str, np.ndarray]:
    """A_j of one pair by every method of the plan that gives numbers, (n,) each; "random" and the references do not."""
    result = {}
    for method in chosen.methods:
        if method in METHODS and method != "random":
            options = dict(chosen.options.get(method, {}))
            if "seed" in METHODS[method].options:
                options.setdefault("seed", seed)
            result[method] = np.asarray(explain(method, f, pairs.x[pair], pairs.reference[pair], **options))
    return result


def walks(
    f: Model, pairs: policies.Pairs, pair: int, ranked: dict[str, np.ndarray]
) -> dict[str, dict[str, np.ndarray]]:
    """Curves of one pair: mode → method → (n + 1,)."""
    x, reference = pairs.x[pair], pairs.reference[pair]
    return {
        mode: {method: np.asarray(curve(f, x, reference, order(a, mode))) for method, a in ranked.items()}
        for mode in MODES
    }


def verdicts(table: pd.DataFrame, pairs: policies.Pairs | None = None, level: float = 2.0) -> pd.DataFrame:
    """For each test: is the method with the largest mean ABC really ahead of each other one, pair by pair?

    Parameters
    ----------
    table : from `compare`
    pairs : its pairs; without them standard errors are naive

    Returns
    -------
    DataFrame by test, leader and rival: difference, se, in standard errors, verdict, together; see `statements`
    """
    rivals = table[~table["method"].isin(REFERENCES)]
    parts = {}
    for mode, rows in rivals.groupby("mode", sort=False):
        means = rows.groupby("method", sort=False)["abc_per_feature"].mean().sort_values(ascending=False)
        first, *others = map(str, means.index)
        claims = {statements.title(other): ((first, mode), (other, mode)) for other in others}
        if claims:
            parts[mode, statements.title(first)] = statements.statements(rows, claims, pairs, level)
    names = ["test", "leader", "rival"]
    if not parts:  # one method has no rival
        columns = ["difference", "se", "in standard errors", "verdict", "together"]
        return pd.DataFrame(columns=columns, index=pd.MultiIndex.from_arrays([[], [], []], names=names))
    return pd.concat(parts, names=names)
