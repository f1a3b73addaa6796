"""Slides for lectures: run their chapters, stage them beside the headings of all other pages, let Sphinx make decks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from insdel.errors import UserError, require_one_of
from insdel_book.build import Log, keep_files, publish, run_chapters, typeset, write_yaml
from insdel_book.chapters import Chapter, list_chapters, profile_values, read_yaml, toc_files
from insdel_book.space import check_room, scratch

HEADING = re.compile(r"^\(([\w-]+)\)=\n#+ (.+)$", re.MULTILINE)
WHOLE = ("book/glossary", "book/references")  # pages that terms and citations need
FILE = "lectures.yml"  # in the folder course/
CHAPTER, SECTION = r"^\(([\w-]+)\)=\n# ", r"^\(([\w-]+)\)=\n##+ "
# a line of a chapter's source that gives a label to something of this kind
LABELS = {
    "aims": CHAPTER,
    "exercise": r"^:::+\{exercise\}.*\n:label: ([\w-]+)$",
    "figure": r"^  figure:\n    name: ([\w-]+)$",
    "passage": SECTION,
    "statement": r"^:::+\{prf:(?!proof)\w+\}.*\n:label: ([\w-]+)$",
    "summary": CHAPTER,
    "table": SECTION,
}
# boxes have no label: a slide names a figure or a statement that stands below the box
QUESTION, NOTICE = ":::{admonition} Predict first\n", ":::{important}\n"
PICTURED = ("figure", "statement")
KINDS = (*LABELS, "notice", "question")


class Slide(NamedTuple):
    """What is shown, and by which label it is found; how long it takes, and what to say."""

    kind: str
    label: str
    minutes: int = 0
    note: str = ""


@dataclass(frozen=True)
class Lecture:
    """A deck: the labels of its chapters, the first of which gives the title, and its slides after the title."""

    number: int
    name: str
    chapters: tuple[str, ...]
    slides: tuple[Slide, ...]

    @property
    def page(self) -> str:
        """The name of its file, without ending."""
        return f"{self.number:02d}_{self.name}"


def read_lectures(path: Path) -> dict[str, Lecture]:
    """Return the lectures by name, in the order of the table."""
    lectures = {}
    for number, (name, entry) in enumerate(read_yaml(path).items(), start=1):
        slides = []
        for line in entry["slides"]:
            minutes, note = line.pop("minutes", 0), line.pop("note", "")
            ((kind, label),) = line.items()
            require_one_of(f"{path.name}, {name}: the kind of a slide", kind, KINDS)
            slides.append(Slide(kind, label, minutes, note))
        lectures[name] = Lecture(number, name, tuple(entry["chapters"]), tuple(slides))
    return lectures


def find_lectures(root: Path, names: Iterable[str] | None = None) -> list[Lecture]:
    """Return the lectures of these names, or all of the table."""
    table = read_lectures(root / "course" / FILE)
    return [table[require_one_of("lecture", name, table)] for name in names or table]


def labels_of(kind: str, text: str) -> list[str]:
    """Return the labels that a slide of this kind may name in a chapter's source."""
    if kind in LABELS:
        return re.findall(LABELS[kind], text, re.MULTILINE)
    parts = [text.partition(NOTICE)] if kind == "notice" else [s.partition(QUESTION) for s in text.split("\n## ")]
    return [label for *_, below in parts for pictured in PICTURED for label in labels_of(pictured, below)]


def refuse_unknown(lecture: Lecture, texts: Mapping[str, str]) -> None:
    """Refuse a lecture that names what its chapters (label → source) do not have."""
    for slide in lecture.slides:
        known = [label for text in texts.values() for label in labels_of(slide.kind, text)]
        if slide.label not in known:
            raise UserError(
                f"{FILE}, {lecture.name}: there is no {slide.kind} {slide.label!r} in the chapters {', '.join(texts)}. "
                f"Labels for that: {', '.join(known) or 'none'}."
            )


def build_slides(
    root: Path, target: Path, names: Iterable[str] | None = None, profile: str = "quick", log: Log = print
) -> list[Path]:
    """Make the decks of the named lectures, or of all, in the folder `target`; return the pages, `index.html` first."""
    lectures = find_lectures(root, names)
    chapters = lecture_chapters(root, lectures)
    if target.exists() and not (target / "_static" / "revealjs").is_dir():
        raise UserError(f"{target} does not hold slides, so it is not overwritten. Move it, or name another with -o.")
    values = {chapter.name: profile_values(root, chapter, profile) for chapter in chapters.values()}
    check_room(root / "build", "run")
    executed = run_chapters(root, chapters.values(), values, profile, log=log)
    with scratch(root / "build") as work:
        stage_slides(root, lectures, chapters, executed, work / "stage")
        log("making the slides …")
        publish(typeset(work, strict=False, log=log, builder="revealjs"), target)
    return [target / f"{page}.html" for page in ("index", *(lecture.page for lecture in lectures))]


def lecture_chapters(root: Path, lectures: Iterable[Lecture]) -> dict[str, Chapter]:
    """Return the chapters of the lectures by their label; refuse what is not, or no longer, in the book."""
    known = {chapter.heading[0]: chapter for chapter in list_chapters(root)}
    chapters: dict[str, Chapter] = {}
    for lecture in lectures:
        for label in lecture.chapters:
            if label not in known:
                raise UserError(f"lecture {lecture.name}: there is no chapter {label!r}. Chapters: {', '.join(known)}.")
        own = {label: known[label] for label in lecture.chapters}
        refuse_unknown(lecture, {label: chapter.source.read_text("utf-8") for label, chapter in own.items()})
        chapters |= own
    return chapters


def stage_slides(
    root: Path, lectures: Iterable[Lecture], chapters: Mapping[str, Chapter], executed: Mapping[str, Path], folder: Path
) -> None:
    """Make the tree that the decks are built from: executed chapters, and the labelled headings of all other pages.

    So numbers and references are those of the book.

    chapters : label → chapter; executed : name of a chapter → its executed notebook
    """
    toc, config, changes = (read_yaml(root / name) for name in ("_toc.yml", "_config.yml", "course/slides.yml"))
    for file in toc_files(toc):
        source, target = root / f"{file}.md", folder / f"{file}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.stem in executed:
            shutil.copyfile(executed[source.stem], target.with_suffix(".ipynb"))
        elif source.is_file():  # the page about the book's status is only there in a build
            text = source.read_text(encoding="utf-8")
            target.write_text(text if file in WHOLE else headings(text), encoding="utf-8")
    (folder / "static").mkdir()
    shutil.copy(root / "course" / "slides.css", folder / "static")
    shutil.copy(root / "book" / "references.bib", folder / "book")
    decks, links = {}, []
    for lecture in lectures:
        page, (title, *others) = lecture.page, [chapters[label].heading[1] for label in lecture.chapters]
        remarks = {}
        for name in (chapters[label].name for label in lecture.chapters):
            noted = nbformat.read(executed[name], as_version=4).metadata["insdel"]["recorded"]
            about = ", ".join(noted[key] for key in ("data", "note") if key in noted)
            remarks[f"notebooks/{name}"] = about and f"its own run: {about}"
        decks[page] = {"chapters": remarks, "slides": list(map(list, lecture.slides))}
        (folder / f"{page}.md").write_text(f"# {title}\n", encoding="utf-8")
        links.append("; ".join([f"1. [{title}]({page}.md)", *others]))
    (folder / "index.md").write_text("\n".join([f"# {config['title']}\n", *links, ""]), encoding="utf-8")
    toc = keep_files(toc | {"root": "index"}, folder)
    toc["parts"].append({"caption": "Slides", "chapters": [{"file": page} for page in decks]})
    write_yaml(folder / "_toc.yml", toc)
    write_yaml(folder / "_config.yml", adapt(config, changes, decks))


def headings(text: str) -> str:
    """Return the labelled headings of a page, all but the first on one level."""
    labelled = enumerate(HEADING.findall(text))
    return "\n".join(f"({label})=\n{'##' if place else '#'} {title}\n" for place, (label, title) in labelled)


def adapt(config: dict[str, Any], changes: Mapping[str, Any], decks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the book's configuration, changed for slides as course/slides.yml has it."""
    without = changes["without"]
    settings = {key: value for key, value in config["sphinx"]["config"].items() if key not in without["settings"]}
    extensions = [name for name in settings["extensions"] if name not in without["extensions"]]
    settings |= {"extensions": [*extensions, "insdel_book.decks"], "insdel_decks": dict(decks)}
    html = {key: value for key, value in config["html"].items() if key != "favicon"}
    return config | {"html": html, "sphinx": config["sphinx"] | {"config": settings | changes["settings"]}}
