"""The page of claims, as text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT

from insdel_book.pages import claims as page
from insdel_book.pages import derive
from insdel_paper.claims import CLAIMS, HOLDS, VERDICTS, Figure, Finding
from insdel_paper.claims.catalogue import HEADLINES, SENTENCES
from insdel_paper.claims.verdict import WORDS, above

TEXT = "\n".join((ROOT / "book" / f"{name}.md").read_text(encoding="utf-8") for name in ("claims", "claims_details"))
CHAPTERS = [path.stem for path in (ROOT / "notebooks").glob("[0-9]*.md")]


NUMBERS = (above("|a| of b", 0.0768, 0.0101, paper=0.057, paper_se=0.007), Figure("c", 1951, None, 1591))
FOUND = {claim.id: Finding(VERDICTS[k % len(VERDICTS)], "Why $|u|$.", NUMBERS) for k, claim in enumerate(CLAIMS)}


@pytest.fixture(scope="module")
def made() -> str:
    return page.claims_page(TEXT, FOUND, CHAPTERS)


def test_every_claim_is_on_the_page_twice_and_can_be_linked(made: str) -> None:
    for claim in CLAIMS:
        assert made.count(f"(claim-{claim.id})=") == 1
        assert made.count(f"<claim-{claim.id}>`") >= 1
    assert "% claims:" not in made


def test_every_link_has_a_target(made: str) -> None:
    targets = set(re.findall(r"^\(([\w-]+)\)=$", made, re.MULTILINE))
    inside = set(re.findall(r"<(claim[\w-]*)>`", made))
    assert inside <= targets
    labels = {re.search(r"^\(([\w-]+)\)=", (ROOT / "notebooks" / f"{name}.md").read_text(), re.MULTILINE)[1]
              for name in CHAPTERS}  # fmt: skip
    known = {label for label, (file, _) in page.chapters().items() if file in CHAPTERS}
    assert known <= labels


def test_chapters_that_are_not_in_the_build_are_not_linked() -> None:
    table = page.claims_page("% claims: counts", FOUND, ["11_bangalore"])
    titles = {label: title for label, (_, title) in page.chapters().items()}
    assert f"| {{ref}}`{titles['bangalore']} <bangalore>` |" in table and f"| {titles['cern']} |" in table
    assert {claim.chapter for claim in CLAIMS} <= set(page.chapters())


def test_counts_add_up(made: str) -> None:
    rows = re.findall(r"^\| \*\*all\*\* \| (.+) \|$", made, re.MULTILINE)[0].replace("*", "").split(" | ")
    assert int(rows[-1]) == len(CLAIMS) == sum(int(cell) for cell in rows[:-1])


def test_numbers_stand_side_by_side(made: str) -> None:
    plain = made.replace("\N{NO-BREAK SPACE}", " ")
    assert r"| \|a\| of b | 0.0570 ± 0.0070 | 0.077 ± 0.010 | +1.6 | > 0 | ✓ |" in plain
    assert "| c | 1,591 | 1,951 |  |  |  |" in made


def test_sentences_and_limits_are_there(made: str) -> None:
    assert all(sentence.text in made for sentence in SENTENCES)
    assert all(text in made for text, _ in HEADLINES)
    assert page.claims_page("% claims: limits", FOUND, []).count("\n- ") == len(WORDS)
    assert f"judged at once: {len(CLAIMS)} with a standard error" in made


@pytest.mark.parametrize(
    ("value", "se", "text"),
    [(0.07683, 0.0101, "0.077 ± 0.010"), (-18.535, 0.215, "−18.54 ± 0.21"), (6170.2, 288.7, "6,170 ± 289"),
     (None, None, ""), (79932.0, None, "79,932"), (1.0, 0.0, "1"), (-0.5, float("nan"), "−0.5")],
)  # fmt: skip
def test_numbers_are_rounded_to_their_error(value: float | None, se: float | None, text: str) -> None:
    assert page.number(value, se) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_markdown_becomes_plain_text() -> None:
    assert page.plain("See {ref}`erratum 1 <erratum-1>`: $|u|$ `x`.") == "See erratum 1: |u| x."


def test_many_claims_get_a_line_each_and_few_all_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.paper, "derive", lambda _: FOUND)
    lines, agree = page.report()
    assert not agree and lines.index("") == len(CLAIMS) > 20 and lines[-1].startswith("!! ")
    own = [claim for claim in CLAIMS if claim.chapter == "walk"]
    lines, _ = page.report(chapter="walk")
    assert 0 < len(own) <= 20 and lines.index("") == len(own) * (2 + len(NUMBERS))
    facts = json.loads(page.report(as_json=True)[0][0])
    assert [fact["id"] for fact in facts] == [claim.id for claim in CLAIMS] and facts[0]["figures"][0]["apart"] > 1


def test_an_unknown_block_is_refused() -> None:
    with pytest.raises(ValueError, match="'nothing'.*counts"):
        page.claims_page("% claims: nothing", FOUND, [])


TEXTS = {
    "claims": "% claims: counts",
    "claims_details": "% claims: limits",
    "errata": "% errata: brief",
    "benchmark": "# Benchmark",
}


def test_pages_are_derived_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "build" / "cache").mkdir(parents=True)
    (tmp_path / "stage" / "book").mkdir(parents=True)
    calls = []
    monkeypatch.setattr(derive, "derive", lambda claims: calls.append(1) or {c.id: Finding(HOLDS, "") for c in claims})
    for _ in range(2):
        for name, text in TEXTS.items():
            (tmp_path / "stage" / "book" / f"{name}.md").write_text(text)
        derive.write_pages(tmp_path, tmp_path / "stage", [])
    assert len(calls) == 1
    assert "✓ holds" in (tmp_path / "stage" / "book" / "claims.md").read_text()
    assert "depsite" in (tmp_path / "stage" / "book" / "errata.md").read_text()
