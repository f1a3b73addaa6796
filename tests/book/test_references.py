"""The list of references holds what the book cites, and nothing else."""

from __future__ import annotations

import re

from conftest import ROOT

KEY = re.compile(r"^@\w+\{([^,]+),", re.MULTILINE)
CITED = re.compile(r"\{cite(?::[a-z]+)?\}`([^`]+)`")


def test_every_entry_is_cited_and_every_citation_has_an_entry() -> None:
    keys = KEY.findall((ROOT / "book" / "references.bib").read_text(encoding="utf-8"))
    pages = [*(ROOT / "book").glob("*.md"), *(ROOT / "notebooks").glob("[0-9]*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    cited = {key.strip() for text in texts for found in CITED.findall(text) for key in found.split(",")}
    assert len(keys) == len(set(keys)), "an entry stands twice"
    assert set(keys) == cited
