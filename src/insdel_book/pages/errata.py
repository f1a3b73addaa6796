"""The page of errata, from `book/errata.md` and the checks of every slip: rewritten by every build."""

from __future__ import annotations

from insdel_book.pages.claims import fill
from insdel_paper.claims.slips import SLIPS, TYPOGRAPHIC, Slip, open_questions

STATES = {True: "✓ confirmed", False: "✗ refuted: the printed version holds", None: "– cannot be checked here"}


def errata_page(text: str) -> str:
    """Return the page as Markdown, from the text of book/errata.md."""
    return fill(text, {"slips": slips, "open": questions, "brief": brief})


def slips() -> str:
    """Every slip that changes a number, a formula or a reading, with its consequence and its check."""
    return "\n".join(_entry(slip) for slip in SLIPS if slip.matters)


def _entry(slip: Slip) -> str:
    shown = slip.shown()
    state = f"◐ {shown.words}" if shown.words and shown.confirmed else STATES[shown.confirmed]
    lines = [
        f"(erratum-{slip.number})=", f"### Erratum {slip.number}, {slip.where}", "",
        f"- **Printed:** {slip.printed}", f"- **Should be:** {slip.corrected}",
        f"- **Consequence:** {slip.consequence}", f"- **Check:** {state}", "",
        ":::{dropdown} The check", shown.evidence, ":::", "",
    ]  # fmt: skip
    return "\n".join(lines)


def questions() -> str:
    """What cannot be settled from the paper alone."""
    return "\n".join(f"- **{where}.** {text}" for where, text in open_questions().items())


def brief() -> str:
    """All else, a line each: slips with a number, which other pages link to, then slips of the pen."""
    lines = []
    for slip in SLIPS:
        if not slip.matters:
            mark = STATES[slip.shown().confirmed].split()[0]
            line = f"**{slip.number}** · {slip.where}: {slip.printed} → {slip.corrected} {mark}"
            lines += [f"(erratum-{slip.number})=", line, ""]
    return "\n".join([*lines, *(f"- {where}: {printed} → {corrected}" for where, printed, corrected in TYPOGRAPHIC)])
