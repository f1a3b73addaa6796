"""Rules about data: counts, physics and skewness, from the real files  [sections 5.1, 5.2]."""

from __future__ import annotations

from insdel.errors import UserError
from insdel_paper.claims import records
from insdel_paper.claims.verdict import HOLDS, NOT, PART, Answer, Figure, Finding, above, equal, limit, required, rule

DIGITS = 1e-3  # six printed digits, in the worst of the relations between columns


def fact(dataset: str, name: str) -> tuple[float, float | None]:
    """A recorded fact and its standard error, None where the number was counted."""
    table = records.table("data_facts")
    result = table[(table["dataset"] == dataset) & (table["fact"] == name)]
    if len(result) != 1:
        raise UserError(f"the record data_facts has no fact {name!r} of {dataset}. Run: insdel record data_facts")
    value, se = result[["value", "se"]].iloc[0]
    return float(value), None if se != se else float(se)


@rule()
def counted(dataset: str, name: str, equals: str | float | None = None, tolerance: float = 0.0) -> Answer:
    """A number that can be counted equals the printed one; without that it is only shown."""
    value = fact(dataset, name)[0]
    return [Figure(name, value) if equals is None else equal(name, value, limit(equals), tolerance)]


@rule()
def measured(dataset: str, name: str, paper: str = "", **limits: str | float) -> Answer:
    """A recorded fact beside one limit; paper : the printed number, if there is one."""
    return [required(name, *fact(dataset, name), **limits, paper=limit(paper) if paper else None)]


@rule()
def transverse() -> Finding:
    """p_t = p_x cos φ as printed, and the other way round."""
    wrong, right = (fact("cern", f"mean residual of {text} cos φ") for text in ("pt = px", "px = pt"))
    names = "mean residual of pt = px cos φ (printed)", "mean residual of px = pt cos φ"
    verdict = HOLDS if wrong[0] < DIGITS else PART if right[0] < DIGITS else NOT
    return Finding(verdict, "", (Figure(names[0], *wrong), Figure(names[1], *right)), ("data_facts",))


@rule()
def charges_differ() -> Answer:
    """One of two charges differs in a random pair, on average; all else nearly always."""
    charges = fact("cern", "charges that differ in a random pair")[0]
    others = fact("cern", "features that differ in a random pair")[0] - charges
    return [
        equal("charges that differ in a random pair", charges, 1.0, 0.05),
        above("of the 14 others, the share that differs", others / 14, None, limit("almost every")),
    ]
