"""Tables in a real browser: header cells have a scope, and wide ones scroll, with a cue and by key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT

pytestmark = pytest.mark.browser
STATIC = ROOT / "book" / "_static"
INDEX = pd.MultiIndex.from_product([["insertion", "deletion"], ["Kernel SHAP", "IG"]])
NARROW = pd.DataFrame({"mean": 1.5}, INDEX)
NAMED = pd.DataFrame({"mean": 1.5, "verdict": "holds"}, INDEX.set_names(["test", "method"]))
WIDE = pd.DataFrame({("a long heading", f"column {k}"): 123456.5 for k in range(12)}, INDEX)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    style, script = ((STATIC / name).read_text(encoding="utf-8") for name in ("insdel.css", "insdel.js"))
    opened = browser.new_page(viewport={"width": 390, "height": 700})
    tables = NARROW.to_html() + "<details>" + WIDE.to_html() + "</details>"
    opened.set_content(f"<style>{style}</style><script>{script}</script><article class='bd-article'>{tables}</article>")
    yield opened
    opened.close()


def test_header_cells_have_a_scope(page: Any) -> None:
    scopes = page.evaluate("[...document.querySelectorAll('th')].map(cell => [cell.textContent, cell.scope])")
    assert ["mean", "col"] in scopes and ["a long heading", "colgroup"] in scopes
    assert ["insertion", "rowgroup"] in scopes and ["IG", "row"] in scopes
    assert all(scope for _, scope in scopes)


def test_names_of_an_index_share_the_header_row_and_words_begin_at_the_left(page: Any) -> None:
    page.set_content(page.content().replace("<details>", NAMED.to_html() + "<details>"))
    table = page.locator("table").nth(1)
    table.locator("th.words").first.wait_for(timeout=10_000)
    assert table.locator("thead tr").all_inner_texts() == ["test\tmethod\tmean\tverdict"]
    aligned = "cells => cells.map(cell => [cell.textContent, getComputedStyle(cell).textAlign])"
    found = dict(table.locator(":is(th, td)").evaluate_all(aligned))
    assert {found[text] for text in ("test", "IG", "verdict", "holds")} == {"left"}
    assert {found[text] for text in ("mean", "1.5")} == {"right"}


def test_only_the_wide_table_scrolls_and_says_so(page: Any) -> None:
    narrow, wide = page.locator(".table-frame").all()
    assert narrow.get_attribute("tabindex") is None
    page.locator("details").evaluate("fold => fold.open = true")
    page.wait_for_selector(".table-frame.scrolls", timeout=10_000)
    assert wide.get_attribute("role") == "region" and wide.get_attribute("aria-label")
    cue = "frame => getComputedStyle(frame, '::before').content"
    assert "scroll" in wide.evaluate(cue) and narrow.evaluate(cue) == "none"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_arrow_keys_scroll_a_wide_table(page: Any) -> None:
    page.locator("details").evaluate("fold => fold.open = true")
    wide = page.locator(".table-frame.scrolls")
    wide.wait_for(timeout=10_000)
    wide.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.table-frame.scrolls').scrollLeft > 0", timeout=10_000)
