"""The whole book as one PDF, `build/book.pdf`: `make pdf` prints the built pages with Chromium and joins them."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import yaml
from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfWriter
from tqdm import tqdm

from insdel_book.chapters import toc_files
from insdel_book.doctor import find_browser

ROOT = Path(__file__).resolve().parents[1]
BOOK, TARGET = ROOT / "build" / "book", ROOT / "build" / "book.pdf"
MARGIN = {"top": "16mm", "bottom": "16mm", "left": "14mm", "right": "14mm"}
UNFOLD = """() => {
  document.querySelectorAll('details:is(.sd-dropdown, .proof-fold)').forEach(part => (part.open = true));
  document.querySelectorAll('.toggle-hidden').forEach(part => part.classList.remove('toggle-hidden'));
}"""
FOOTER = '<div style="font-size:8px;width:100%;text-align:center"><span class="pageNumber"></span></div>'


def page_files() -> list[Path]:
    """The built pages in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [BOOK / f"{file.removesuffix('.md')}.html" for file in toc_files(toc)]
    missing = [page.name for page in pages if not page.is_file()]
    if missing:
        sys.exit(f"the built book is needed, but {', '.join(missing)} is not in {BOOK}. Run: make book")
    return pages


def print_page(browser: Browser, page: Path) -> tuple[str, bytes]:
    """Title and PDF of one page, once its formulas are set and its folded parts are open."""
    tab = browser.new_page(color_scheme="light")
    tab.goto(page.as_uri())
    tab.evaluate("window.MathJax?.startup?.promise")
    tab.evaluate(UNFOLD)
    title = tab.locator("article h1").first.inner_text().rstrip("#").strip()
    content = tab.pdf(format="A4", scale=0.8, margin=MARGIN, print_background=True, display_header_footer=True,
                      header_template="<span></span>", footer_template=FOOTER)  # fmt: skip
    tab.close()
    return title, content


def main() -> None:
    """Print every page and write them as one file with an outline, whole or not at all."""
    command = find_browser()
    if command is None:
        sys.exit("a PDF needs Chromium, which is not installed. On Debian: apt-get install chromium")
    pages, writer = page_files(), PdfWriter()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(command), args=["--no-sandbox"])
        for page in tqdm(pages, unit=" pages"):
            title, content = print_page(browser, page)
            writer.append(io.BytesIO(content), outline_item=title)
        browser.close()
    writer.compress_identical_objects()
    partial = TARGET.with_suffix(".part")
    writer.write(partial)
    partial.replace(TARGET)
    print(f"{len(writer.pages)} sheets: {TARGET}")


if __name__ == "__main__":
    main()
