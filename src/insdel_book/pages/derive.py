"""The pages that are derived when code or records change: claims, errata, benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import cache
from pathlib import Path

from insdel.store import replace
from insdel_book import benchmark
from insdel_book.cache import SRC, folder_hash
from insdel_book.pages import table
from insdel_book.pages.claims import Page, fill
from insdel_paper import results
from insdel_paper.claims import CLAIMS, derive
from insdel_paper.claims.slips import SLIPS, TYPOGRAPHIC, open_questions
from insdel_paper.studies.breadth import games as frozen

STATES = {True: "✓ confirmed", False: "✗ refuted: the printed version holds", None: "– cannot be checked here"}


def errata_page(text: str) -> str:
    """Return the page as Markdown, from the text of book/errata.md."""
    lines = (f"- **{where}.** {question}" for where, question in open_questions().items())
    return fill(text, {"slips": slips, "open": lambda: "\n".join(lines), "brief": brief})


def slips() -> str:
    """Every slip that changes a number, a formula or a reading, with its consequence and its check."""
    lines = []
    for slip in SLIPS:
        if slip.matters:
            shown = slip.shown()
            state = f"◐ {shown.words}" if shown.words and shown.confirmed else STATES[shown.confirmed]
            lines += [
                f"(erratum-{slip.number})=", f"### Erratum {slip.number}, {slip.where}", "",
                f"- **Printed:** {slip.printed}", f"- **Should be:** {slip.corrected}",
                f"- **Consequence:** {slip.consequence}", f"- **Check:** {state}", "",
                ":::{dropdown} The check", shown.evidence, ":::", "",
            ]  # fmt: skip
    return "\n".join(lines)


def brief() -> str:
    """All else, a line each: slips with a number, which other pages link to, then slips of the pen."""
    lines = []
    for slip in SLIPS:
        if not slip.matters:
            mark = STATES[slip.shown().confirmed].split()[0]
            line = f"**{slip.number}** · {slip.where}: {slip.printed} → {slip.corrected} {mark}"
            lines += [f"(erratum-{slip.number})=", line, ""]
    return "\n".join([*lines, *(f"- {where}: {printed} → {corrected}" for where, printed, corrected in TYPOGRAPHIC)])


def benchmark_page(text: str) -> str:
    """Fill in the standing table."""
    games = frozen.load()
    shown = benchmark.readable(benchmark.standing(games, games.areas))
    about = f"{len(games.lattices):,} games, {len(games.cells)} cells, {games.cells['table'].nunique()} tables."
    lines = [about, "", *table(list(shown.columns), shown.to_numpy().tolist())]
    return text.replace("% benchmark", "\n".join(lines))


def write_pages(root: Path, folder: Path, staged: Collection[str]) -> None:
    """Fill in the texts of a staging tree, for a build with these chapters.

    root : of the repository, whose build/cache keeps what was derived from the same records by the same code
    """
    claims = cache(lambda: Page(derive(CLAIMS), staged))
    makers = {
        **dict.fromkeys(("claims", "claims_details"), lambda text: claims().fill(text)),
        "errata": errata_page, "benchmark": benchmark_page,
    }  # fmt: skip
    packages = [folder_hash(SRC / name) for name in ("insdel", "insdel_paper", "insdel_book")]
    state = [*packages, folder_hash(results.folder()), *sorted(staged)]
    for name, make in makers.items():
        page = folder / "book" / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        key = hashlib.sha256("\n".join([*state, text]).encode()).hexdigest()[:24]
        remaining = root / "build" / "cache" / f"{name}-{key}.md"
        if not remaining.is_file():
            replace(remaining, make(text))
        page.write_text(remaining.read_text(encoding="utf-8"), encoding="utf-8")
