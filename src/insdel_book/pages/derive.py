"""The pages that are derived when code or records change: claims, errata, benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import cache
from pathlib import Path

from insdel.store import replace
from insdel_book import benchmark
from insdel_book.cache import SRC, folder_hash
from insdel_book.pages import fill, table
from insdel_book.pages.claims import claims_page
from insdel_paper import results
from insdel_paper.claims import CLAIMS, derive, slips
from insdel_paper.studies.breadth import games as frozen


def errata_page(text: str) -> str:
    """Return the page as Markdown, from the text of book/errata.md."""
    return fill(text, "errata.jinja", errata=slips, questions=slips.open_questions())


def benchmark_page(text: str) -> str:
    """Fill in the standing table."""
    games = frozen.load()
    shown = benchmark.readable(benchmark.standing(games, games.areas))
    about = f"{len(games.lattices):,} games, {len(games.cells)} cells, {games.cells['table'].nunique()} tables."
    return text.replace("% benchmark", f"{about}\n\n{table(list(shown.columns), shown.to_numpy().tolist())}")


def write_pages(root: Path, folder: Path, staged: Collection[str]) -> None:
    """Fill in the texts of a staging tree, for a build with these chapters.

    root : of the repository, whose build/cache keeps what was derived from the same records by the same code
    """
    found = cache(lambda: derive(CLAIMS))
    makers = {
        **dict.fromkeys(("claims", "claims_details"), lambda text: claims_page(text, found(), staged)),
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
