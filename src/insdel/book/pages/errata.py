"""The page of errata, from `book/errata.md` and the checks of every slip: written anew with every build."""

from __future__ import annotations

from insdel.book.pages.claims import fill, table
from insdel.paper.claims.slips import OPEN, SLIPS, TYPOGRAPHIC, Slip

STATES = {True: "✓ confirmed", False: "✗ refuted: the printed version holds", None: "– cannot be checked here"}


def errata_page(text: str) -> str:
    """Return the page as Markdown, from the text of book/errata.md."""
    return fill(text, {"slips": slips, "summary": summary, "open": questions, "typographic": typographic})


def summary() -> str:
    """All slips in one table."""
    rows = [[f"{{ref}}`{s.number} <erratum-{s.number}>`", s.where, s.printed, s.corrected] for s in SLIPS]
    lines = table(["no.", "where", "printed", "should be"], rows)
    return "\n".join([":::{container} errata-list", "", *lines, ":::"])


def slips() -> str:
    """Every slip with its consequence and its check."""
    return "\n".join(_entry(slip) for slip in SLIPS)


def _entry(slip: Slip) -> str:
    shown = slip.shown()
    lines = [
        f"(erratum-{slip.number})=", f"### Erratum {slip.number}: {slip.where}", "",
        f"- **Printed:** {slip.printed}", f"- **Should be:** {slip.corrected}",
        f"- **Consequence:** {slip.consequence}", f"- **Check:** {STATES[shown.confirmed]}", "", shown.evidence, "",
    ]  # fmt: skip
    return "\n".join(lines)


def questions() -> str:
    """What cannot be settled from the paper alone."""
    return "\n".join(f"- **{where}.** {text}" for where, text in OPEN.items())


def typographic() -> str:
    """Slips of the pen that nobody stumbles over for long."""
    return "\n".join(table(["where", "printed", "should be"], [list(row) for row in TYPOGRAPHIC]))
