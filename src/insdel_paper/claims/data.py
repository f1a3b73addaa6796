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
    above,
    below,
    claim,
    claims_in,
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
    return judge(figures, "In each of the 19,979 genuine rows at hand.", ["data_facts"])


MISSING = "share of records that miss more than 90 % of the amenities"


@claim("houses-records", "section 5.1", "The Bangalore file has 6,207 records", "data-models")
def houses_records() -> Finding:
    return counted("bangalore", "records", "Bangalore: records")


@claim("houses-complete", "section 5.1", "1,591 of the 6,207 records are complete", "data-models")
def complete_rows() -> Finding:
    """1,591 rows, or 1,951?"""
    because = (
        "The published file has 1,951 rows without a missing amenity: two digits were swapped "
        "({ref}`erratum 1 <erratum-1>`). A fifth of 1,951, rounded up, is the 391 that the paper holds out."
    )
    return counted("bangalore", "complete rows", "Bangalore: complete rows", because)


@claim("houses-held-out", "section 5.1", "20 % of the complete points are 391 observations", "data-models")
def houses_held_out() -> Finding:
    return counted("bangalore", "a fifth of the complete rows, rounded up", "Bangalore: rows held out")


@claim("houses-columns", "section 5.1", "There are 39 columns beside the price", "data-models")
def houses_columns() -> Finding:
    return counted("bangalore", "columns beside the price", "Bangalore: columns beside the price")


@claim("houses-binary", "section 1", "All but two of the input variables are binary", "data-models")
def binary_features() -> Finding:
    """All features but two take at most two values."""
    name = "features with at most two values"
    printed = paper.size("Bangalore: features") - paper.size("Bangalore: continuous features")
    return judge([equal(name, fact("bangalore", name)[0], printed)], "Counted in the published file.", ["data_facts"])


@claim("houses-missing", "section 5.1", "Most data points were missing almost every predictor", "data-models")
def houses_missing() -> Finding:
    return over("bangalore", MISSING, LIMITS["most"])


@claim("houses-skewed", "section 1", "The values of the houses are heavily skewed", "data-models")
def houses_skewed() -> Finding:
    return over("bangalore", "skewness of the price", LIMITS["long tail"])


@claim("events-range", "section 5.2", "Events have an invariant mass between 2 and 110 GeV", "data-models")
def mass_range() -> Finding:
    """All masses lie between 2 and 110 GeV."""
    figures = [
        above("least mass (GeV)", fact("cern", "least mass (GeV)")[0], None, paper.size("CERN: least mass (GeV)")),
        below("largest mass (GeV)", fact("cern", "largest mass (GeV)")[0], None,
            paper.size("CERN: largest mass (GeV)")),
    ]
    return judge(figures, "From the list of all masses of the full file.", ["data_facts"])


@claim("events-features", "section 5.2", "The mass is predicted from 16 features", "data-models")
def events_features() -> Finding:
    return counted("cern", "features", "CERN: features")


@claim("events-training", "section 5.2", "80 % of the complete observations are 79,931 data points", "data-models")
def training_rows() -> Finding:
    """79,931 as 80 % of the complete rows."""
    name, printed = "100,000 rows less 85 without M, less a fifth", paper.size("CERN: rows trained on")
    distinct = "distinct complete rows less a fifth, rounded up"
    figures = [equal(name, fact("cern", name)[0], printed, 1), Figure(distinct, fact("cern", distinct)[0])]
    because = "To within one row of 79,932, which is of no consequence ({ref}`erratum 15 <erratum-15>`)."
    return judge(figures, because, ["data_facts"])


@claim("events-transverse", "section 5.2", r"$p_t^2 = p_x^2 + p_y^2$", "data-models")
def events_transverse() -> Finding:
    return relation("pt")


@claim("events-phi", "section 5.2", r"$p_t = p_x\cos\varphi$", "data-models")
def transverse() -> Finding:
    """p_t = p_x cos φ as printed, and the other way round."""
    wrong, right = (fact("cern", f"mean residual of {text} cos φ") for text in ("pt = px", "px = pt"))
    figures = (Figure("mean residual of pt = px cos φ (printed)", *wrong), Figure("mean residual of px = pt cos φ",
        *right))
    verdict = HOLDS if wrong[0] < DIGITS else PART if right[0] < DIGITS else NOT
    because = "Not as printed; with the two exchanged it does ({ref}`erratum 12 <erratum-12>`)."
    return Finding(verdict, because, figures, ("data_facts",))


@claim(
    "events-energy", "section 5.2",
    r"$E^2 \simeq p_x^2 + p_y^2 + p_z^2$: the electron's mass does not count",
    "data-models",
)
def events_energy() -> Finding:
    return relation("E")


@claim("events-eta", "section 5.2", r"$\eta = -\frac12\ln\frac{|p|-p_z}{|p|+p_z}$", "data-models")
def events_eta() -> Finding:
    return relation("eta")


@claim("events-independent", "section 5.2", "Only 8 of the 16 features are independent", "data-models")
def events_independent() -> Finding:
    return relation("pt", "E", "eta", "phi")


@claim(
    "events-mass", "section 5.2",
    r"$M^2 \simeq (E_1+E_2)^2 - |\boldsymbol p_1+\boldsymbol p_2|^2$ within 0.6 % on average",
    "data-models",
)
def mass_formula() -> Finding:
    """The formula gives M to 0.6 % on average."""
    name, printed = "mean residual of the mass formula", paper.size("CERN: mean residual of the mass formula")
    value, se = fact("cern", name)
    figures = [below(name, value, se, printed, paper=printed)]
    because = "The formula is better than stated: what is left over in the genuine rows is rounding, far below 0.6 %."
    return judge(figures, because, ["data_facts"])


@claim("events-skewed", "section 5.2", "The distribution of the masses is positively skewed", "data-models")
def events_skewed() -> Finding:
    return over("cern", "skewness of the mass", 0.0)


@claim(
    "events-average-charge", "section 5.2",
    "The average point is unphysical: it has near zero charge",
    "data-models",
)
def average_charge() -> Finding:
    """The mean charges are near zero, which no electron has."""
    figures = [within(f"mean of {q}", *fact("cern", f"mean of {q}"), 0.2) for q in ("Q1", "Q2")]
    return judge(figures, "A charge is +1 or −1; the limit is a fifth of that.", ["data_facts"])


@claim(
    "events-charges-differ", "section 5.2",
    "Random pairs nearly always differ in the continuous features and on average in one of two charges",
    "data-models",
)
def charges_differ() -> Finding:
    """One of two charges differs in a random pair, on average; all else nearly always."""
    charges = fact("cern", "charges that differ in a random pair")[0]
    others = fact("cern", "features that differ in a random pair")[0] - charges
    figures = [
        equal("charges that differ in a random pair", charges, 1.0, 0.05),
        above("of the 14 others, the share that differs", others / 14, None, LIMITS["almost every"]),
    ]
    return judge(figures, "Counted over all pairs of the 19,979 genuine rows at hand.", ["data_facts"])


CLAIMS = claims_in(__name__)
