"""Data facts: counts, physics and skewness, from the real files  [sections 5.1, 5.2]."""

from __future__ import annotations

import insdel_paper as paper
from insdel.errors import UserError
from insdel_paper.claims import records
from insdel_paper.claims.verdict import (
    HOLDS,
    LIMITS,
    NOT,
    PART,
    Figure,
    Finding,
    Rule,
    above,
    below,
    equal,
    judge,
    within,
)

DIGITS = 1e-3  # six printed digits, in the worst of these relations


def fact(dataset: str, name: str) -> tuple[float, float | None]:
    """A recorded fact and its standard error, None where the number was counted."""
    table = records.table("data_facts")
    result = table[(table["dataset"] == dataset) & (table["fact"] == name)]
    if len(result) != 1:
        raise UserError(f"the record data_facts has no fact {name!r} of {dataset}. Run: insdel record data_facts")
    value, se = result[["value", "se"]].iloc[0]
    return float(value), None if se != se else float(se)


def counted(dataset: str, name: str, printed: str, because: str = "") -> Finding:
    """A number that can be counted equals the printed one."""
    figure = equal(name, fact(dataset, name)[0], paper.size(printed))
    return judge([figure], because or "Counted in the published file.", ["data_facts"])


def over(dataset: str, name: str, limit: float, because: str = "") -> Finding:
    """A recorded fact exceeds a limit."""
    return judge([above(name, *fact(dataset, name), limit)], because, ["data_facts"])


def relation(*names: str) -> Finding:
    """Relations between the columns hold in every genuine row, to the six digits of the file."""
    figures = [below(f"largest residual: {n}", fact("cern", f"largest residual: {n}")[0], None, DIGITS) for n in names]
    return judge(figures, "In each of the 19,979 genuine rows that we have.", ["data_facts"])


MISSING = "share of records that miss more than 90 % of the amenities"


def complete_rows() -> Finding:
    """1,591 rows, or 1,951?"""
    because = (
        "The published file has 1,951 rows without a missing amenity: two digits were swapped "
        "({ref}`erratum 1 <erratum-1>`). A fifth of 1,951, rounded up, is the 391 that the paper holds out."
    )
    return counted("bangalore", "complete rows", "Bangalore: complete rows", because)


def binary_features() -> Finding:
    """All features but two take at most two values."""
    name = "features with at most two values"
    printed = paper.size("Bangalore: features") - paper.size("Bangalore: continuous features")
    return judge([equal(name, fact("bangalore", name)[0], printed)], "Counted in the published file.", ["data_facts"])


def mass_range() -> Finding:
    """All masses lie between 2 and 110 GeV."""
    figures = [
        above("least mass (GeV)", fact("cern", "least mass (GeV)")[0], None, paper.size("CERN: least mass (GeV)")),
        below("largest mass (GeV)", fact("cern", "largest mass (GeV)")[0], None,
            paper.size("CERN: largest mass (GeV)")),
    ]
    return judge(figures, "From the list of all masses of the full file.", ["data_facts"])


def training_rows() -> Finding:
    """79,931 as 80 % of the complete rows."""
    name, printed = "100,000 rows less 85 without M, less a fifth", paper.size("CERN: rows trained on")
    distinct = "distinct complete rows less a fifth, rounded up"
    figures = [equal(name, fact("cern", name)[0], printed, 1), Figure(distinct, fact("cern", distinct)[0])]
    because = "To within one row of 79,932, which is of no consequence ({ref}`erratum 15 <erratum-15>`)."
    return judge(figures, because, ["data_facts"])


def transverse() -> Finding:
    """p_t = p_x cos φ as printed, and the other way round."""
    wrong, right = (fact("cern", f"mean residual of {text} cos φ") for text in ("pt = px", "px = pt"))
    figures = (Figure("mean residual of pt = px cos φ (printed)", *wrong), Figure("mean residual of px = pt cos φ",
        *right))
    verdict = HOLDS if wrong[0] < DIGITS else PART if right[0] < DIGITS else NOT
    because = "Not as printed; with the two exchanged it does ({ref}`erratum 12 <erratum-12>`)."
    return Finding(verdict, because, figures, ("data_facts",))


def mass_formula() -> Finding:
    """The formula gives M to 0.6 % on average."""
    name, printed = "mean residual of the mass formula", paper.size("CERN: mean residual of the mass formula")
    value, se = fact("cern", name)
    figures = [below(name, value, se, printed, paper=printed)]
    because = "The formula is better than stated: what is left over in the genuine rows is rounding, far below 0.6 %."
    return judge(figures, because, ["data_facts"])


def average_charge() -> Finding:
    """The mean charges are near zero, which no electron has."""
    figures = [within(f"mean of {q}", *fact("cern", f"mean of {q}"), 0.2) for q in ("Q1", "Q2")]
    return judge(figures, "A charge is +1 or −1; the limit is a fifth of that.", ["data_facts"])


def charges_differ() -> Finding:
    """One of two charges differs in a random pair, on average; all else nearly always."""
    charges = fact("cern", "charges that differ in a random pair")[0]
    others = fact("cern", "features that differ in a random pair")[0] - charges
    figures = [
        equal("charges that differ in a random pair", charges, 1.0, 0.05),
        above("of the 14 others, the share that differs", others / 14, None, LIMITS["almost every"]),
    ]
    return judge(figures, "Counted over all pairs of the 19,979 genuine rows that we have.", ["data_facts"])


RULES: dict[str, Rule] = {
    "houses-records": lambda: counted("bangalore", "records", "Bangalore: records"),
    "houses-complete": complete_rows,
    "houses-held-out": lambda: counted(
        "bangalore", "a fifth of the complete rows, rounded up", "Bangalore: rows held out"
    ),
    "houses-columns": lambda: counted("bangalore", "columns beside the price", "Bangalore: columns beside the price"),
    "houses-binary": binary_features,
    "houses-missing": lambda: over("bangalore", MISSING, LIMITS["most"]),
    "houses-skewed": lambda: over("bangalore", "skewness of the price", LIMITS["long tail"]),
    "events-range": mass_range,
    "events-features": lambda: counted("cern", "features", "CERN: features"),
    "events-training": training_rows,
    "events-transverse": lambda: relation("pt"),
    "events-phi": transverse,
    "events-energy": lambda: relation("E"),
    "events-eta": lambda: relation("eta"),
    "events-independent": lambda: relation("pt", "E", "eta", "phi"),
    "events-mass": mass_formula,
    "events-skewed": lambda: over("cern", "skewness of the mass", 0.0),
    "events-average-charge": average_charge,
    "events-charges-differ": charges_differ,
}
