"""axe-core, in a real browser, finds nothing on the pages that keeps people from reading them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from conftest import ROOT

from insdel_book.chapters import toc_files

pytestmark = pytest.mark.browser
PLAY = "notebooks/22_beat_shapley.html"
PAGES = ["book/index.html", "notebooks/00_tour.html", "book/claims.html", PLAY]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
LOADING = 120_000  # milliseconds; only a failure takes that long
SEVERE = {"serious", "critical"}
# without preload: axe would load the style sheets once more, and look for what they import beside the page
OPTIONS = {"preload": False, "resultTypes": ["violations"]}


def faults(page: Any) -> list[tuple[str, str]]:
    """The severe violations that axe-core finds: (rule, where)."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=OPTIONS).response["violations"]
    return [(one["id"], node["html"][:200]) for one in found if one["impact"] in SEVERE for node in one["nodes"]]


def ready(page: Any) -> Any:
    """Wait until fonts, mathematics and the interactive figures are there."""
    page.wait_for_selector("article h1", state="attached", timeout=LOADING)
    page.evaluate("async () => { await document.fonts.ready; await window.MathJax?.startup?.promise; }")
    every = "[...document.querySelectorAll('.play')].every(figure => figure.dataset.ready)"
    page.wait_for_function(every, timeout=LOADING)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_no_severe_fault(open_page: Callable[..., Any], path: str, scheme: str) -> None:
    assert path.removesuffix(".html") in toc_files(TOC), f"{path} is not in the book"
    page = ready(open_page(path, scheme=scheme))
    page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=scheme, timeout=LOADING)
    assert faults(page) == []


PLANTED = {
    "image-alt": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    "color-contrast": '<p style="color: #ccc; background: #fff">Hard to read.</p>',
    "button-name": "<button></button>",
    "label": '<input type="range">',
}


def test_planted_faults_are_found(open_page: Callable[..., Any]) -> None:
    page = ready(open_page(PLAY))
    plant = "html => document.querySelector('article h1').insertAdjacentHTML('afterend', html)"
    page.evaluate(plant, "".join(PLANTED.values()))
    assert {rule for rule, _ in faults(page)} == set(PLANTED)


def test_cards_have_names_places_and_help(open_page: Callable[..., Any]) -> None:
    page = ready(open_page(PLAY))
    cards = page.get_by_role("list", name="Cards in the order of insertion")
    assert cards.count() == 1
    first = cards.get_by_role("listitem").first.get_by_role("button").first
    assert first.inner_text().split() == ["1.", "area", "80", "→", "180"]
    described = page.locator(f"#{first.get_attribute('aria-describedby')}")
    assert "arrow keys" in described.inner_text()


def test_charts_say_what_they_show(open_page: Callable[..., Any]) -> None:
    page = ready(open_page(PLAY))
    labels = [chart.get_attribute("aria-label") for chart in page.locator(".play svg[role=img]").all()]
    assert len(labels) == 2
    assert labels[0].startswith("Insertion curve: 210, ") and "Deletion curve: 210, " in labels[0]
    assert labels[1].startswith("Curves of six orders. The best, 1, 3, 2: 0, 3, 4, 4.5")
