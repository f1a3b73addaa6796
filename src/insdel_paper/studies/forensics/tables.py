"""What a search says: beside the print, over all trainings that predict well, choice by choice."""

from __future__ import annotations

import math

import pandas as pd

from insdel.curves import MODES
from insdel_paper.studies.experiments import POLICIES
from insdel_paper.studies.forensics.candidates import SPACE
from insdel_paper.studies.forensics.reading import KEYS, print_of_paper

ACCURATE = {"cern": 0.95, "bangalore": 0.75}  # R² from which on a training predicts well


def leaders(candidates: pd.DataFrame, name: str = "cern", count: int = 5) -> pd.DataFrame:
    """The nearest candidates, a column each: what was chosen, how well it predicts, how near it comes; as text.

    candidates : as `table` gives it, the nearest first
    """
    measures = [column for column in ("r2", "steers", "judges", "correlations") if column in candidates]
    table = candidates.head(count).set_index("candidate")[[*SPACE[name], *measures]].astype(object)
    numbers = table[measures].map("{:.3f}".format)
    return table.assign(**{column: numbers[column] for column in measures}).astype(str).T


def beside_paper(numbers: pd.DataFrame, name: str = "cern", by: str = "candidate") -> pd.DataFrame:
    """Fingerprints beside the print: rows (role, policy, mode, method), a column for the paper and per candidate.

    Parameters
    ----------
    numbers : as `fingerprints`, `nearest` or, with by="change", `variants` give it

    Returns
    -------
    DataFrame; the role is "steers", "judges", or "not printed" for raw features
    """
    wide = numbers.pivot_table(index=KEYS, columns=by, values="value", sort=False)
    paper = print_of_paper(name).set_index(KEYS).reindex(wide.index)
    wide.insert(0, "paper", paper["value"])
    role = paper["steers"].map({True: "steers", False: "judges"}).fillna("not printed").rename("role")
    return wide.set_index(role, append=True).reorder_levels(["role", *KEYS]).sort_index()


def ranges(numbers: pd.DataFrame, name: str = "cern", least_r2: float = ACCURATE["cern"]) -> pd.DataFrame:
    """What trainings that predict well leave open: each number's range over them, and where the print lies.

    Returns
    -------
    DataFrame, rows (policy, mode, method): paper, least, most, inside
    """
    good = numbers[numbers["r2"] >= least_r2]
    result = good.groupby(KEYS)["value"].agg(least="min", most="max")
    result.insert(0, "paper", print_of_paper(name).set_index(KEYS)["value"])
    result = result.dropna(subset=["paper"])
    return result.assign(inside=result["paper"].between(result["least"], result["most"]))


def effects(candidates: pd.DataFrame, name: str = "cern", measure: str = "steers") -> pd.DataFrame:
    """What each choice does: the mean of a measure over the candidates that made it, minus that of the others.

    Parameters
    ----------
    candidates : as `table` gives it
    measure : "steers", "judges", "correlations" or "r2"

    Returns
    -------
    DataFrame: choice, option, candidates, effect, se; without favour for the candidates drawn at random
    """
    rows = []
    for what in SPACE[name]:
        for option in sorted(candidates[what].unique(), key=str):
            choice = candidates[what] == option
            made, others = candidates.loc[choice, measure].dropna(), candidates.loc[~choice, measure].dropna()
            if len(made) > 1 and len(others) > 1:
                se = math.sqrt(made.var() / len(made) + others.var() / len(others))
                rows.append((what, str(option), len(made), made.mean() - others.mean(), se))
    return pd.DataFrame(rows, columns=["choice", "option", "candidates", "effect", "se"])


def statements(numbers: pd.DataFrame) -> pd.DataFrame:
    """Which statements of section 5.2 a network bears out: candidate → statement → True or False.

    Parameters
    ----------
    numbers : as `fingerprints` gives it
    """
    wide = numbers.pivot_table(index="candidate", columns=["policy", "mode", "method"], values="value")
    others = ("vanilla_grad", "input_x_gradient", "lime", "random")
    columns = [(policy, mode) for policy in POLICIES for mode in MODES]

    def area(policy: str, mode: str, method: str) -> pd.Series:
        return wide[policy, mode, method]

    def everywhere(better: str, worse: str) -> pd.Series:
        parts = [area(*place, better) > area(*place, worse) for place in columns]
        return pd.concat(parts, axis=1).all(axis=1)

    # sampled Kernel SHAP and IG are too near to tell which of them is first: the exact records do that
    ahead = pd.concat([everywhere("kernel_shap", method) for method in others], axis=1).all(axis=1)
    higher = [area(policy, "insertion", "kernel_shap") > area(policy, "deletion", "kernel_shap") for policy in POLICIES]
    average = [area("average", mode, "lime") < area("average", mode, "input_x_gradient") for mode in MODES]
    correlation = {policy: area(policy, "correlation", "kernel_shap") for policy in POLICIES}
    return pd.DataFrame(
        {
            "Kernel SHAP is above LIME, both gradients and random in all six columns": ahead,
            "insertion scores above deletion under each policy": pd.concat(higher, axis=1).all(axis=1),
            "LIME falls below Input × Gradient under the average policy": pd.concat(average, axis=1).all(axis=1),
            "random orders score above 0 in insertion, one-to-one": area("one_to_one", "insertion", "random") > 0,
            "random orders score above 0 in insertion, average": area("average", "insertion", "random") > 0,
            "insertion and deletion go against each other, one-to-one": correlation["one_to_one"] < 0,
            "their correlation is largest under the counterfactual policy": (
                pd.concat(correlation, axis=1).idxmax(axis=1) == "counterfactual"
            ),
        }
    )
