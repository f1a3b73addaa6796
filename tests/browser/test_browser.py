"""The built pages in a real browser that is cut off from the network."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import ROOT

from insdel_book.chapters import list_chapters

pytestmark = pytest.mark.browser
HOME = "book/index.html"
CHAPTER = f"notebooks/{list_chapters(ROOT)[0].name}.html"


def visible_text(page: Any) -> str:
    return page.evaluate("document.querySelector('article').innerText")


@pytest.mark.parametrize("path", ["index.html", HOME, CHAPTER])
def test_page_opens(open_page: Any, path: str) -> None:
    page = open_page(path)
    page.wait_for_selector("article h1")
    assert page.title()
    assert page.locator("article h1").inner_text().strip("# \n")


@pytest.mark.parametrize("path", ["notebooks/01_walk.html", "notebooks/05_when_shapley_is_best.html", "book/notation.html"])
def test_math_is_rendered(open_page: Any, path: str) -> None:
    page = open_page(path)
    page.wait_for_selector("mjx-container")
    page.wait_for_function("document.querySelectorAll('.math').length <= "
                           "document.querySelectorAll('.math mjx-container').length")  # fmt: skip
    text = visible_text(page)
    assert "\\frac" not in text and "\\Delta" not in text and "$$" not in text
    assert page.locator("mjx-merror").count() == 0


def test_search_finds_shapley(open_page: Any) -> None:
    page = open_page("search.html?q=Shapley")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a").count() >= 2
    page.locator("#search-results li a").first.click()
    page.wait_for_selector("article h1")
    assert "shapley" in visible_text(page).lower()


def background(page: Any) -> float:
    """Lightness of the page's background, from 0 (black) to 255 (white)."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    channels = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(channels) / 3


def test_light_and_dark(open_page: Any) -> None:
    assert background(open_page(CHAPTER, scheme="light")) > 200
    assert background(open_page(CHAPTER, scheme="dark")) < 60


def test_theme_button_changes_the_theme(open_page: Any) -> None:
    page = open_page(CHAPTER)
    seen = set()
    for _ in range(3):
        page.locator("button.theme-switch-button:visible").first.click()
        seen.add(page.evaluate("document.documentElement.dataset.theme"))
    assert seen == {"light", "dark"}


def all_pages() -> list[str]:
    chapters = [f"notebooks/{chapter.name}.html" for chapter in list_chapters(ROOT)]
    names = ("run", "notation", "glossary", "status", "references", "claims", "claims_details", "errata")
    return [HOME, *chapters, *(f"book/{name}.html" for name in names)]


@pytest.mark.parametrize("path", all_pages())
def test_fits_a_phone(open_page: Any, path: str) -> None:
    page = open_page(path, width=390)
    page.wait_for_timeout(300)  # mathematics may still be growing
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = page.evaluate("""() => [...document.querySelectorAll('article p, article h1, article h2, article img')]
        .filter(e => !e.closest('table') && e.getBoundingClientRect().right > 391)
        .filter(e => !['auto', 'scroll'].includes(getComputedStyle(e.closest('figure') ?? e).overflowX))
        .map(e => e.outerHTML.slice(0, 80))""")
    assert not wide


def test_figures_are_drawn(open_page: Any) -> None:
    page = open_page(CHAPTER)
    sizes = page.evaluate("[...document.querySelectorAll('article img')].map(i => [i.naturalWidth, i.complete])")
    assert sizes and all(width > 50 and complete for width, complete in sizes)
