"""The page of errata: every slip is confirmed by its check."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

from insdel_book.pages.derive import errata_page
from insdel_paper.claims import CLAIMS, HOLDS, NOT, Finding
from insdel_paper.claims.slips import SLIPS, TYPOGRAPHIC, WITHDRAWN, Slip, by_claim
from insdel_paper.claims.verdict import MissingRecordError
from insdel_paper.theory import ERRATA

TEXT = (ROOT / "book" / "errata.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"erratum {slip.number}")
def test_every_slip_is_confirmed_or_waits_for_its_record(slip: Slip) -> None:
    shown = slip.shown()
    assert shown.confirmed is not False, shown.evidence
    assert shown.confirmed or "Needs the recorded run" in shown.evidence


def test_the_list_is_complete() -> None:
    numbers = [slip.number for slip in SLIPS]
    assert sorted({*numbers, *WITHDRAWN}) == list(range(1, numbers[-1] + 1)) and not WITHDRAWN & set(numbers)
    assert set(ERRATA) <= {slip.number for slip in SLIPS} and len(TYPOGRAPHIC) > 20


def test_a_check_can_refute_a_slip() -> None:
    assert by_claim("a", lambda: Finding(HOLDS, "It does.")).confirmed is False
    assert by_claim("a", lambda: Finding(NOT, "It does not.")).confirmed is True

    def missing() -> Finding:
        raise MissingRecordError("bench", "make bench")

    assert Slip(99, "", "", "", "", lambda: by_claim("a", missing)).shown().confirmed is None


def test_the_page_holds_every_slip_and_links_that_have_targets() -> None:
    made = errata_page(TEXT)
    assert "% errata:" not in made and "refuted" not in made
    for slip in SLIPS:
        assert made.count(f"(erratum-{slip.number})=") == 1 and slip.printed in made
    assert made.count("### ") == sum(slip.matters for slip in SLIPS) < len(SLIPS)
    assert "a matter of reading" in made and "a comment on method" in made and "◐ not proven" in made
    claims = set(re.findall(r"<claim-([\w-]+)>`", made))
    assert claims and claims <= {claim.id for claim in CLAIMS}


def test_claims_refer_to_slips_that_exist() -> None:
    from insdel_paper.claims import derive

    numbers = {int(n) for f in derive(CLAIMS[5:80]).values() for n in re.findall(r"<erratum-(\d+)>", f.because)}
    assert numbers and numbers <= {slip.number for slip in SLIPS}
