"""The pages that are derived when code or records change: claims, errata, benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from insdel.store import replace
from insdel_book import benchmark
from insdel_book.cache import SRC, folder_hash
from insdel_book.pages.claims import claims_page
from insdel_book.pages.errata import errata_page
from insdel_paper import results
from insdel_paper.claims import CLAIMS, derive


def write_pages(root: Path, folder: Path, staged: Collection[str]) -> None:
    """Write the pages that are derived from recorded results and frozen games into a staging tree.

    Parameters
    ----------
    root : of the repository, whose build/cache keeps what was derived from the same records by the same code
    folder : of the staging tree; its book/ holds the texts that are filled in
    staged : names of the chapters in this build
    """
    makers = {
        "claims": lambda text: claims_page(text, derive(CLAIMS), staged),
        "errata": errata_page,
        "benchmark": benchmark.page,
    }
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
