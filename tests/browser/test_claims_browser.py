"""The page of claims in a real browser: filters, links, keyboard, no scripts, phones."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from insdel_book.pages.claims import chapters
from insdel_paper.claims import CLAIMS, stated

pytestmark = pytest.mark.browser
PAGE, DETAILS = "book/claims.html", "book/claims_details.html"


def counted(page: Any) -> tuple[int, int]:
    """How many claims the page says it shows, and how many rows are not hidden."""
    said = page.locator(".claims-filter output").inner_text()
    return int(said.split()[0]), page.locator(".claims-list tbody tr:not([hidden])").count()


def test_filters_show_what_was_asked_for(open_page: Any) -> None:
    page = open_page(PAGE)
    assert counted(page) == (len(CLAIMS), len(CLAIMS))
    page.select_option("#claims-verdict", label="✗ does not hold")
    expected = sum(verdict == "does not hold" for verdict in stated().values())
    assert counted(page) == (expected, expected) and "verdict=does+not+hold" in page.url
    page.select_option("#claims-chapter", label=chapters()["data-models"][1])
    assert 0 < counted(page)[0] < expected
    page.locator(".claims-filter button").click()
    page.wait_for_function(f"document.querySelector('.claims-filter output').textContent.startsWith('{len(CLAIMS)}')")


def test_an_address_can_hold_a_filter_and_words_narrow_it(open_page: Any) -> None:
    page = open_page(f"{PAGE}?chapter={quote(chapters()['bangalore'][1])}")
    own = sum(claim.chapter == "bangalore" for claim in CLAIMS)
    assert counted(page)[0] == own
    page.fill("#claims-words", "vanilla")
    assert 0 < counted(page)[0] < own


def test_the_keyboard_reaches_the_filters(open_page: Any) -> None:
    page = open_page(PAGE)
    page.focus("#claims-verdict")
    reached = []
    for _ in range(3):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.type"))
    assert reached == ["claims-chapter", "claims-words", "reset"]


def test_what_does_not_hold_comes_first_in_a_frame_of_moderate_height(open_page: Any) -> None:
    page = open_page(PAGE)
    verdicts = page.locator(".claims-list tbody tr td:first-child").all_inner_texts()
    misses = sum(verdict == "does not hold" for verdict in stated().values())
    assert all("does not hold" in text for text in verdicts[:misses]) and "✓" in verdicts[-1]
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000


def test_a_link_opens_its_claim(open_page: Any) -> None:
    page = open_page(PAGE)
    page.click(".claims-list a[href$='#claim-houses-complete']")
    page.wait_for_url(f"**/{DETAILS}#claim-houses-complete")
    page.wait_for_function("document.querySelectorAll('.claim-card[open]').length === 1")
    assert "1,951" in page.locator(".claim-card[open]").inner_text()


def test_without_scripts_there_is_a_plain_table(open_page: Any) -> None:
    page = open_page(PAGE, scripts=False)
    assert page.locator(".claims-list tbody tr").count() == len(CLAIMS)
    assert page.locator(".claims-filter").count() == 0
