"""The built pages as files: complete without a network, no dead link, readable to everyone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT

from insdel_book.chapters import list_chapters

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
           "embed": "src", "object": "data"}  # fmt: skip
LOADING_LINKS = {"stylesheet", "icon", "shortcut", "preload", "prefetch", "modulepreload", "manifest"}


@cache
def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def ids(path: Path) -> set[str]:
    return {str(element["id"]) for element in soup(path).find_all(id=True)}


def pages(book: Path) -> list[Path]:
    found = [path for path in sorted(book.rglob("*.html")) if "_static" not in path.relative_to(book).parts]
    assert found, f"no pages in {book}"
    return found


def articles(book: Path) -> Iterator[tuple[str, BeautifulSoup]]:
    for path in pages(book):
        article = soup(path).select_one("article.bd-article")
        if article is not None and path.name not in ("search.html", "genindex.html"):
            yield str(path.relative_to(book)), article


def loaded(page: BeautifulSoup) -> Iterator[str]:
    """Addresses that a browser loads by itself while it shows the page."""
    for tag, attribute in LOADING.items():
        yield from (element[attribute] for element in page.find_all(tag, attrs={attribute: True}))
    for link in page.find_all("link", href=True):
        if LOADING_LINKS & set(link.get("rel", [])):
            yield link["href"]


def is_external(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def test_pages_load_nothing_from_elsewhere(real_book: Path) -> None:
    external = {(path.name, url) for path in pages(real_book) for url in loaded(soup(path)) if is_external(url)}
    assert not external


def test_inline_scripts_and_styles_name_no_other_host(real_book: Path) -> None:
    inline = [
        (path.name, element.text[:80])
        for path in pages(real_book)
        for element in soup(path).find_all(["script", "style"])
        if not element.get("src") and re.search(r"https?://|[\"'(]//\w", element.text)
    ]
    assert not inline


def test_style_sheets_load_nothing_from_elsewhere(real_book: Path) -> None:
    pattern = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']+")
    assert not [(path.name, hit) for path in real_book.rglob("*.css")
                for hit in pattern.findall(path.read_text(encoding="utf-8"))]  # fmt: skip


def test_loaded_files_exist(real_book: Path) -> None:
    missing = {
        url
        for path in pages(real_book)
        for url in loaded(soup(path))
        if not url.startswith("data:") and not is_external(url)
        and not (path.parent / unquote(urlsplit(url).path)).is_file()
    }
    assert not missing


def test_figures_of_several_panels_are_wide(real_book: Path) -> None:
    """A phone would shrink them until nothing can be read; marked as wide they scroll."""
    for path in (real_book / "notebooks").glob("*.html"):
        for image in soup(path).select("figure img:not(.wide)"):
            drawing = (path.parent / str(image["src"])).read_text(encoding="utf-8")
            width, panels = re.search(r'width="([\d.]+)pt"', drawing), drawing.count('id="axes_')
            assert width is None or float(width[1]) < 600 or panels < 2, (path.name, image["alt"])


def test_no_dead_link_or_anchor(real_book: Path) -> None:
    dead = []
    for path in pages(real_book):
        for element in soup(path).find_all("a", href=True):
            parts = urlsplit(element["href"])
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in ids(target)):
                dead.append((path.name, element["href"]))
    assert not dead


def test_articles_can_be_read_by_everyone_and_show_no_error(real_book: Path) -> None:
    for name, article in articles(real_book):
        for image in article.find_all("img"):
            alt = image.get("alt", "")
            assert len(alt.split()) >= 3 and not alt.endswith((".png", ".svg")), (name, image.get("src"))
        for image in article.select(".cell_output img"):
            figure = image.find_parent("figure")
            assert figure is not None and figure.find("figcaption") is not None, (name, image.get("alt"))
        levels = [int(heading.name[1]) for heading in article.find_all(re.compile(r"^h[1-6]$"))]
        assert levels.count(1) == 1 and levels[0] == 1, (name, levels)
        assert all(after - before <= 1 for before, after in pairwise(levels)), (name, levels)
        text = article.get_text()
        assert "Traceback" not in text and not re.search(r"\b\w*Warning:", text), name
        assert not article.select(".output.stderr, .output.traceback, .system-message, .problematic"), name
        assert "pasted-text" not in text and "{glue" not in text and "{term}" not in text, name


def test_no_trace_of_the_machine(real_book: Path) -> None:
    traces = re.compile(rf"{re.escape(str(ROOT))}|{re.escape(str(Path.home()))}/|ipykernel_\d+|\"papermill\"")
    for path in real_book.rglob("*"):
        if path.suffix in (".html", ".ipynb", ".svg", ".txt", ".md") or path.name == "searchindex.js":
            assert not traces.search(path.read_text(encoding="utf-8")), path


def test_every_chapter_has_a_page_and_a_row_of_status(real_book: Path) -> None:
    status = soup(real_book / "book" / "status.html").get_text()
    for chapter in list_chapters(ROOT):
        assert (real_book / "notebooks" / f"{chapter.name}.html").is_file()
        assert status.count(chapter.name) >= 3


def test_launch_buttons_lead_to_the_repository_that_was_named(real_book: Path) -> None:
    name = list_chapters(ROOT)[0].name
    links = {a["href"] for a in soup(real_book / "notebooks" / f"{name}.html").find_all("a", href=True)}
    if not any("mybinder.org" in link for link in links):
        pytest.skip("this book was built without a repository address")
    assert any("mybinder.org/v2/gh/" in link and f"notebooks/{name}.ipynb" in link for link in links)
    assert any(re.search(rf"colab\.research\.google\.com/github/.+/notebooks/{name}\.ipynb", u) for u in links)


def test_search_index_knows_shapley(real_book: Path) -> None:
    assert "shapley" in (real_book / "searchindex.js").read_text(encoding="utf-8").lower()
