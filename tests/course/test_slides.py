"""Slides of the lectures: what the table names is in the chapters, and a deck shows it, offline, within its frame.

One lecture is built here, from its chapter in the smoke profile. `INSDEL_SLIDES=build/course/slides` looks at the
decks of a finished course instead.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from docutils import nodes

from insdel.errors import UserError
from insdel_book import slides
from insdel_book.build import BuildError
from insdel_book.chapters import list_chapters
from insdel_book.slides import Lecture, Slide

TABLE = slides.read_lectures(ROOT / "course" / slides.FILE)
every_lecture = pytest.mark.parametrize("lecture", TABLE.values(), ids=list(TABLE))
CHAPTER = """(one)=
# One

:::{admonition} Predict first
:class: seealso
How much?
:::

  figure:
    name: fig-one

:::{prf:theorem} Sums
:label: thm-one
:::

:::{prf:proof}
:label: proof-one
:::

(part)=
## Part
    name: no-figure

:::{important}
One run.
:::

## Next

  figure:
    name: fig-two

:::{exercise} Title
:label: one-ex-1
:::
"""


@every_lecture
def test_the_chapters_have_what_a_lecture_names(lecture: Lecture) -> None:
    assert list(slides.lecture_chapters(ROOT, [lecture])) == list(lecture.chapters)


def test_the_guide_names_every_deck_with_its_chapters_and_its_day() -> None:
    text = (ROOT / "book" / "course.md").read_text(encoding="utf-8")
    rows = [row.split(" | ") for row in re.findall(r"^\| `(\d\d_[\w-]+` .*) \|$", text, re.MULTILINE)]
    assert [row[0].rstrip("`") for row in rows] == [lecture.page for lecture in TABLE.values()]
    assert [tuple(re.findall(r"\{ref\}`([\w-]+)`", row[2])) for row in rows] == [one.chapters for one in TABLE.values()]
    week = re.findall(r"^\| (\d) \|(?:[^|]*\|){2} ([\d, ]+) \|", text.split("## A week")[1], re.MULTILINE)
    days = {deck: [day for day, decks in week if deck in decks.split(", ")] for deck in (row[0][:2] for row in rows)}
    assert [" and ".join(days[row[0][:2]]) for row in rows] == [row[3] for row in rows]


def test_labels_are_found_by_their_kind() -> None:
    expected = {"aims": ["one"], "summary": ["one"], "passage": ["part"], "table": ["part"], "exercise": ["one-ex-1"]}
    expected |= {"figure": ["fig-one", "fig-two"], "statement": ["thm-one"]}
    expected |= {"question": ["fig-one", "thm-one"], "notice": ["fig-two"]}
    assert {kind: slides.labels_of(kind, CHAPTER) for kind in slides.KINDS} == expected


@pytest.mark.parametrize(
    "slide", [Slide("figure", "fig-gone"), Slide("statement", "fig-one"), Slide("question", "fig-two")]
)
def test_a_label_that_is_not_there_is_refused_in_one_sentence(slide: Slide) -> None:
    with pytest.raises(UserError) as refusal:
        slides.refuse_unknown(Lecture(1, "sums", ("one",), (Slide("figure", "fig-one"), slide)), {"one": CHAPTER})
    there = ", ".join(slides.labels_of(slide.kind, CHAPTER))
    assert str(refusal.value) == (
        f"lectures.yml, sums: there is no {slide.kind} {slide.label!r} in the chapters one. Labels for that: {there}."
    )


def test_unknown_kinds_lectures_and_chapters_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "lectures.yml"
    path.write_text("sums:\n  chapters: [one]\n  slides:\n    - picture: fig-one\n")
    with pytest.raises(UserError, match="lectures.yml, sums: the kind of a slide must be one of aims, .* found 'picture'"):
        slides.read_lectures(path)
    with pytest.raises(UserError, match="lecture must be one of walk, split, .* found 'walks'"):
        slides.build_slides(ROOT, tmp_path / "slides", ["walks"])
    with pytest.raises(UserError, match="lecture sums: there is no chapter 'one'. Chapters: "):
        slides.lecture_chapters(ROOT, [Lecture(1, "sums", ("one",), ())])


def test_a_folder_with_something_else_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slides, "run_chapters", lambda *_, **__: pytest.fail("it ran"))
    (tmp_path / "mine.html").write_text("my own slides")
    with pytest.raises(UserError, match="does not hold slides, so it is not overwritten"):
        slides.build_slides(ROOT, tmp_path, ["walk"])


def test_other_pages_are_staged_as_their_labelled_headings() -> None:
    assert slides.headings(CHAPTER) == "(one)=\n# One\n\n(part)=\n## Part\n"


def test_a_passage_ends_before_the_words_that_announce_code() -> None:
    from insdel_book.decks import passage

    box = nodes.admonition("", nodes.title("", "Predict first"))
    text = [nodes.paragraph("", line) for line in ("It is so.", "In code:")]
    section = nodes.section(
        "", nodes.title("", "Part"), box, *text, nodes.container(classes=["cell"]), text[0].deepcopy()
    )
    assert [part.astext() for part in passage(section)] == ["It is so."]


@pytest.fixture(scope="module")
def decks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the slides: built here with one lecture, or named by INSDEL_SLIDES."""
    if os.environ.get("INSDEL_SLIDES"):
        return Path(os.environ["INSDEL_SLIDES"]).resolve()
    folder = tmp_path_factory.mktemp("course") / "slides"
    said: list[str] = []
    written = slides.build_slides(ROOT, folder, ["walk"], "smoke", said.append)
    assert written == [folder / "index.html", folder / "01_walk.html"]
    assert not [line for line in said if "WARNING" in line or "plain text" in line]
    return folder


def slides_of(path: Path) -> list[Any]:
    """The slides of a deck, each as a tree."""
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    return list(page.select(".slides > section > section"))


def test_a_deck_shows_what_the_table_names_in_its_order(decks: Path) -> None:
    for lecture in TABLE.values():
        if not (decks / f"{lecture.page}.html").is_file():
            continue
        first, *rest = slides_of(decks / f"{lecture.page}.html")
        assert first.h1.get_text() == dict(chapter.heading for chapter in list_chapters(ROOT))[lecture.chapters[0]]
        assert [part.select_one(".slide")["class"][1] for part in rest] == [slide.kind for slide in lecture.slides]
        for part, slide in zip(rest, lecture.slides, strict=True):
            assert part.h2 and part.select_one("p.source") and len(part.select_one(".slide").get_text(strip=True)) > 20
            assert part.select_one("aside.notes").get_text() == f"{slide.minutes} min. {slide.note}".strip()
            if slide.kind in ("statement", "figure", "exercise"):
                assert part.find(id=slide.label), slide


def test_numbers_words_and_pictures_are_the_chapters(decks: Path) -> None:
    parts = {part.h2.get_text() + ", " + part.select_one(".slide")["class"][1]: part
             for part in slides_of(decks / "01_walk.html")[1:]}  # fmt: skip
    theorem = parts["When nothing interacts, sorting by effects is best, statement"]
    assert theorem.select_one(".admonition-title").get_text() == "Theorem 1.1  (Walks of additive functions)"
    assert "ABC is largest for the order of falling" in theorem.get_text()
    figure = parts["Take all six walks, figure"]
    assert figure.figcaption.get_text().strip().startswith("Fig. 1.2 One pair of houses, two orders.")
    assert figure.img["alt"].startswith("The curve of the order metro, garden, area")
    assert (decks / figure.img["src"]).read_text(encoding="utf-8").startswith("<?xml")
    assert "metro, garden, area" in parts["Take all six walks, table"].table.get_text()
    assert parts["Exercises, exercise"].select_one(".admonition-title").get_text().startswith("Exercise 1.1")


def test_slides_lead_nowhere_else_and_load_nothing_from_a_network(decks: Path) -> None:
    styles = set()
    for path in decks.glob("*.html"):
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        links = [tag.get("href") or tag["src"] for tag in page.select("[href], [src]")]
        here = [re.sub(r"[?#].*", "", link) for link in links]
        assert here and all((decks / link).is_file() for link in here), path
        assert path.name == "index.html" or not page.select("a[href]")
        assert not page.select(".xref.std-ref, .xref.std-numref, .xref.prf"), "a reference that was not found"
        styles |= {link for link in here if link.endswith(".css")}
    assert "_static/slides.css" in styles
    for style in styles:
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", (decks / style).read_text(encoding="utf-8")), (
            style
        )


TINY = """
(add-part)=
## Part

A part of {term}`ABC`, {ref}`draw` and {prf:ref}`thm-add`. In code:

:::{prf:theorem} Sums
:label: thm-add
All sums.
:::
"""


def test_a_deck_takes_slides_and_numbers_from_several_chapters(
    tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tiny_book / "notebooks" / "01_add.md").open("a", encoding="utf-8") as file:
        file.write(TINY)
    shown = (Slide("figure", "fig-line"), Slide("statement", "thm-add"), Slide("passage", "add-part"))
    both = Lecture(3, "both", ("draw", "add"), shown)
    monkeypatch.setattr(slides, "read_lectures", lambda path: {"both": both})
    _, page = slides.build_slides(tiny_book, tmp_path / "slides", None, "smoke", log=lambda _: None)
    assert page.name == "03_both.html"
    first, figure, theorem, passage = slides_of(page)
    assert [line.get_text() for line in first.select(".chapter")] == [
        "Chapter 1 Add two numbers",
        "Chapter 2 Draw a line",
    ]
    assert first.select_one(".remark").get_text() == "its own run: simulated, made up"
    assert figure.select_one(".caption-number").get_text().strip() == "Fig. 2.1"
    assert theorem.select_one(".caption-number").get_text().strip() == "Theorem 1.1"
    assert "A part of ABC, Draw a line and Theorem 1.1." in passage.get_text()
    assert not passage.select("a")
    both = Lecture(3, "both", ("draw", "add"), (Slide("table", "add-part"),))
    monkeypatch.setattr(slides, "read_lectures", lambda path: {"both": both})
    with pytest.raises(BuildError, match="03_both: there is no table at 'add-part'"):
        slides.build_slides(tiny_book, tmp_path / "slides", None, "smoke", log=lambda _: None)
    assert page.is_file(), "the old slides are left"


# what reaches beyond the frame, or into the line with the chapter, on the slide that is shown
BEYOND = """() => {
    const frame = document.querySelector(".slides").getBoundingClientRect();
    const slide = Reveal.getCurrentSlide();
    const line = slide.querySelector("p.source");
    const floor = line ? line.getBoundingClientRect().top : frame.bottom;
    const seen = [...slide.querySelectorAll("*")].filter((node) => node !== line && !node.closest("mjx-assistive-mml"));
    return seen.filter((node) => {
        const box = node.getBoundingClientRect();
        return box.width && box.height && (box.right > frame.right + 1 || box.bottom > floor + 1 || box.left < frame.left - 1);
    }).map((node) => `${node.tagName} ${node.className}`);
}"""


@pytest.mark.browser
def test_a_deck_opens_from_a_file_turns_its_pages_and_fits_its_frame(decks: Path, browser: Any) -> None:
    for path in sorted(decks.glob("0*.html")):
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        wrong: list[str] = []
        page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
        page.on("requestfailed", lambda request, wrong=wrong: wrong.append(request.url))
        page.on("request", lambda asked, wrong=wrong: asked.url.startswith("file:") or wrong.append(asked.url))
        page.goto(path.as_uri(), timeout=120_000)
        page.wait_for_function("window.MathJax?.startup?.promise && Reveal.isReady()", timeout=120_000)
        page.evaluate("() => Promise.all([MathJax.startup.promise, document.fonts.ready])")
        assert page.locator("mjx-container").count() == page.locator(".math").count() > 0
        assert page.locator("mjx-merror").count() == 0
        headings = [part.find(["h1", "h2"]).get_text() for part in slides_of(path)]
        for place, heading in enumerate(headings):
            page.wait_for_function("(place) => Reveal.getIndices().h === place", arg=place)
            assert page.locator("section.present section.present :is(h1, h2)").inner_text() == heading
            assert page.evaluate(BEYOND) == [], (path.name, place, heading)
            page.keyboard.press("ArrowRight")
        page.close()
        assert wrong == []
