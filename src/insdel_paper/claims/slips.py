"""Slips of the paper: printed version, correction, consequence, and the check that shows it.

Those about theory are checked by `insdel_paper.theory`; the others here, on data, on records, or by the paper's words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import yaml

import insdel_paper as paper
from insdel import order, stats
from insdel_paper.claims import data, records
from insdel_paper.claims.catalogue import BY_ID
from insdel_paper.claims.runs import CF, IG, KS, MODES, OTO, recorded
from insdel_paper.claims.theory import exact, slip_of
from insdel_paper.claims.verdict import CANNOT, HOLDS, LEVEL, Finding, MissingRecordError
from insdel_paper.studies.images import exchange


@dataclass(frozen=True)
class Shown:
    """What a check of a slip found.

    confirmed : None where it cannot be checked here
    evidence : Markdown
    words : the outcome in words where "confirmed" would say too much
    """

    confirmed: bool | None
    evidence: str
    words: str = ""


@dataclass(frozen=True)
class Slip:
    """One slip.

    number : of the list of errata
    printed, corrected : both versions, Markdown
    consequence : what follows from it for the paper
    check : shows that the printed version is wrong, and the other right
    matters : whether it changes a number, a formula that is used, or a reading; others get a line each
    """

    number: int
    where: str
    printed: str
    corrected: str
    consequence: str
    check: Callable[[], Shown]
    matters: bool = True

    def shown(self) -> Shown:
        """Carry out the check; a missing record leaves it open."""
        try:
            return self.check()
        except MissingRecordError as missing:
            return Shown(None, f"Needs the recorded run `{missing.record}`: `{missing.command}`.")


def by_sympy(number: int) -> Shown:
    """Both versions in exact arithmetic."""
    result = slip_of(number)
    lines = [f"- *{label}*: {check.verdict}. {check.statement}" for label, check in result.versions()]
    words = "a matter of reading" if result.reading else ""
    return Shown(bool(result), "\n".join(["In exact arithmetic:", "", *lines]), words)


def by_claim(name: str, check: Callable[[], Finding]) -> Shown:
    """A claim that tests the printed version: it must not hold."""
    finding = check()
    confirmed = None if finding.verdict == CANNOT else finding.verdict != HOLDS
    words = finding.because.split(" ({ref}")[0].rstrip(".")
    return Shown(confirmed, f"{words}. The numbers are on {{ref}}`the page of claims <claim-{name}>`.")


def by_text(text: str, proof: str = "") -> Shown:
    """The paper's own words, beside an exact check if it takes one."""
    check = exact(proof) if proof else None
    return Shown(check is None or bool(check), f"{text} {check.verdict}: {check.statement}" if check else text)


def one_row() -> Shown:
    """79,931 printed rows against 79,932 counted ones."""
    counted = data.fact("cern", "100,000 rows less 85 without M, less a fifth")[0]
    printed = paper.size("CERN: rows trained on")
    return Shown(counted - printed == 1, f"Counted: {counted:,.0f}; printed: {printed:,.0f}.")


def insertion_increasing() -> Shown:
    """Increasing order of the predicted change is the order of a deletion test."""
    change = np.array([0.3, -0.2, 0.9, -0.7])
    increasing = np.argsort(change)
    same = np.array_equal(increasing, order(change, "deletion"))
    other = not np.array_equal(increasing, order(change, "insertion"))
    text = (
        f"For predicted changes {change.tolist()}, increasing order is {(increasing + 1).tolist()}: what starts with "
        "the most negative change, which the same sentence calls deletion. Insertion is "
        f"{(order(change) + 1).tolist()}."
    )
    return Shown(bool(same and other), text)


def shared_points() -> Shown:
    """Factors by which printed errors are too small, from our pairs, and which printed differences survive them."""
    factors, rows = [], []
    for name, subject in {"Table 1": "houses", "Table 2": CF, "Table 3, one-to-one": OTO}.items():
        for mode in MODES:
            runs = recorded(subject)
            means = [run.enlarged(run[KS, mode]) for run in runs]
            gaps = [run.enlarged(run[KS, mode] - run[IG, mode]) for run in runs]
            row, printed = [f"{name}, {mode}", _range(means), _range(gaps)], runs[0].printed
            if (paper.DIFFERENCE, mode) in printed.index:
                mean, se = map(float, printed.loc[(paper.DIFFERENCE, mode)])
                after = mean / se / max(gaps)
                row += [stats.plus_minus(mean, se, 3), f"{mean / se:.1f}", f"{after:.1f}"]
                row.append("yes" if abs(after) > LEVEL else "no")
            else:
                row += [""] * 4
            factors += means
            rows.append(row)
    header = ["", "KS, mean", "KS − IG", "printed KS − IG", "in its error", "in the corrected error", "beyond 2"]
    lines = [f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *rows)]
    text = "\n".join(["Standard errors that account for shared points, over naive ones, on our pairs:", "", *lines])
    return Shown(min(factors) > 1.1, text, "a comment on method, not a slip")


def _range(numbers: list[float]) -> str:
    low, high = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    return low if low == high else f"{low} to {high}"


def exchanged_columns() -> Shown:
    """Both readings of the printed table against all of CUB's albatrosses, by a rule that was fixed beforehand."""
    result = exchange.verdict(records.table("images_albatrosses"))
    lines = [
        f"- *{row.reading}*, photos {row.preparation}: p = {row.gain_p:.3f} (gain) and {row.strangeness_p:.3f} "
        f"(strangeness) among {row.photos} photos; the nearest is {row.nearest:.3f} away."
        for row in result.itertuples()
    ]
    backwards = int(result.drop_duplicates("preparation")["reversed_in_all"].sum())
    keys = ["photo", "preparation", "reference", "mode"]
    few, many = (records.table(name).set_index(keys)["auc"] for name in ("images_albatrosses", "images_nearest"))
    baselines = records.about("images_albatrosses")["parameters"]["baselines"]
    shift = float(np.sqrt(((many - few).dropna() ** 2).mean()))
    text = (
        f"{backwards or 'No'} albatross of CUB that was looked at has deletion above insertion in all four rows. Ranks "
        "among the photos ({ref}`photo-search` explains both statistics, which were fixed in advance):"
    )
    proven = {True: "is found", False: "is **not proven**: the direction fits, some numbers do not"}
    rule = (
        f"By the rule that was fixed with them, an exchange of the columns {proven[exchange.is_exchanged(result)]}. "
        f"These tables have {baselines} baselines where the paper has 300, and that alone moves an AUC by {shift:.2f} "
        "(root mean square, the photos that were walked with both)."
    )
    return Shown(exchange.is_refuted(result), "\n".join([text, "", *lines, "", rule]), "not proven")


def random_sum() -> str:
    """The printed means of random orders in Table 2, whose sum should be zero."""
    rows = paper.table("cern_counterfactual").query("method == 'random'")
    total, error = rows["mean"].sum(), float(np.linalg.norm(rows["se"]))
    return (
        "Insertion and deletion ABC of random orders have means that add up to zero exactly. The printed ones add up "
        f"to {total:.3f}, which is {abs(total) / error:.1f} of their combined standard errors away from it. The other "
        "three printed sums are near zero; see {ref}`the claim about them <claim-events-random-sum>`."
    )


TEXTS = yaml.safe_load(Path(__file__).with_name("errata.yml").read_text(encoding="utf-8"))
CHECKS: dict[str, Callable[[], Shown]] = {
    check.__name__: check for check in (one_row, insertion_increasing, shared_points, exchanged_columns)
}


def check_of(number: int, name: str | dict[str, str]) -> Callable[[], Shown]:
    """The check that a row names."""
    if isinstance(name, dict):
        return partial(by_text, **name)
    if name == "sympy":
        return partial(by_sympy, number)
    kind, _, claim = name.partition(" ")
    return partial(by_claim, claim, BY_ID[claim].check) if kind == "claim" else CHECKS[name]


SLIPS = [
    Slip(check=check_of(row["number"], row.pop("check")), matters=not row.pop("brief", False), **row)
    for row in map(dict, TEXTS["slips"])
]
WITHDRAWN: set[int] = set(TEXTS["withdrawn"])
TYPOGRAPHIC: list[list[str]] = TEXTS["typographic"]


def open_questions() -> dict[str, str]:
    """Where → what is open, and what can be said."""
    return {row["where"]: row["text"].replace("{random_sum}", random_sum()) for row in TEXTS["open"]}
