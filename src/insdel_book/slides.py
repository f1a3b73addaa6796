"""Slides for lectures: run their chapters, stage them beside the headings of all other pages, let Sphinx make decks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from insdel.errors import UserError
from insdel_book.build import Log, keep_files, publish, run_chapters, typeset
from insdel_book.chapters import Chapter, list_chapters, profile_values, toc_files
from insdel_book.course.lectures import FILE, Lecture, read_lectures, refuse_unknown
from insdel_book.space import check_room, scratch

HEADING = re.compile(r"^\(([\w-]+)\)=\n#+ (.+)$", re.MULTILINE)
STYLE = "slides.css"  # in the folder course/
WHOLE = ("book/glossary", "book/references")  # pages that terms and citations need
# what serves the book's own pages only: extensions, and settings that name its files
FOR_PAGES = {"sphinx_book_theme", "sphinx_copybutton", "sphinx_togglebutton"}
SETTINGS_FOR_PAGES = {"html_css_files", "html_extra_path", "html_js_files", "html_static_path", "html_theme_options",
                      "togglebutton_selector"}  # fmt: skip
OUTPUTS = ("image/svg+xml", "image/png", "text/html", "text/markdown", "text/plain")  # of an output the first there is
FRAME = {"width": 1280, "height": 720, "margin": 0.06, "center": False, "hash": True, "slideNumber": "c/t",
         "transition": "none"}  # fmt: skip
SETTINGS = {
    "html_copy_source": False,
    "html_domain_indices": False,
    "nb_mime_priority_overrides": [["revealjs", kind, place] for place, kind in enumerate(OUTPUTS)],
    "revealjs_css_files": [STYLE],
    "revealjs_static_path": ["static"],
    "revealjs_script_conf": FRAME,
    "revealjs_style_theme": "white",
    "suppress_warnings": ["mystnb.unknown_mime_type"],
}


def build_slides(
    root: Path, target: Path, names: Iterable[str] | None = None, profile: str = "quick", log: Log = print
) -> list[Path]:
    """Make the decks of the named lectures, or of all, in the folder `target`; return the pages, `index.html` first."""
    if find_spec("sphinx_revealjs") is None:
        raise UserError('slides need sphinx-revealjs, which is missing: pip install "insdel[book]"')
    table = read_lectures(root / "course" / FILE)
    unknown = [name for name in names or () if name not in table]
    if unknown:
        raise UserError(f"there is no lecture {unknown[0]!r}. The lectures are: {', '.join(table)}.")
    lectures = [table[name] for name in names or table]
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
    by_label = {chapter.heading[0]: chapter for chapter in list_chapters(root)}
    chapters: dict[str, Chapter] = {}
    for lecture in lectures:
        for label in lecture.chapters:
            if label not in by_label:
                known = ", ".join(by_label)
                raise UserError(f"lecture {lecture.name}: there is no chapter {label!r}. Chapters: {known}.")
            chapters[label] = by_label[label]
        refuse_unknown(lecture, {label: chapters[label].source.read_text("utf-8") for label in lecture.chapters})
    return chapters


def stage_slides(
    root: Path,
    lectures: Iterable[Lecture],
    chapters: Mapping[str, Chapter],
    executed: Mapping[str, Path],
    folder: Path,
) -> None:
    """Make the tree that the decks are built from.

    The executed chapters stand in it whole; of all other pages it has the labelled headings, so that numbers and
    references are those of the book.

    chapters : label → chapter; executed : name of a chapter → its executed notebook
    """
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    for file in toc_files(toc):
        source, target = root / f"{file}.md", folder / f"{file}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.stem in executed:
            shutil.copyfile(executed[source.stem], target.with_suffix(".ipynb"))
        elif source.is_file():  # the page about the book's status is only there in a build
            text = source.read_text(encoding="utf-8")
            target.write_text(text if file in WHOLE else headings(text), encoding="utf-8")
    (folder / "static").mkdir()
    shutil.copy(root / "course" / STYLE, folder / "static")
    shutil.copy(root / "book" / "references.bib", folder / "book")
    decks = {lecture.page: deck(lecture, chapters, executed) for lecture in lectures}
    titles = {lecture.page: [chapters[label].heading[1] for label in lecture.chapters] for lecture in lectures}
    for page, (title, *_) in titles.items():
        (folder / f"{page}.md").write_text(f"# {title}\n", encoding="utf-8")
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    links = [
        f"1. [{title}]({page}.md){''.join(f'; {other}' for other in rest)}" for page, (title, *rest) in titles.items()
    ]
    (folder / "index.md").write_text("\n".join([f"# {config['title']}\n", *links, ""]), encoding="utf-8")
    toc = keep_files(toc | {"root": "index"}, folder)
    toc["parts"].append({"caption": "Slides", "chapters": [{"file": page} for page in decks]})
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf-8")
    (folder / "_config.yml").write_text(yaml.safe_dump(adapt(config, decks), allow_unicode=True), encoding="utf-8")


def headings(text: str) -> str:
    """Return the labelled headings of a page, all but the first on one level."""
    labelled = enumerate(HEADING.findall(text))
    return "\n".join(f"({label})=\n{'##' if place else '#'} {title}\n" for place, (label, title) in labelled)


def deck(lecture: Lecture, chapters: Mapping[str, Chapter], executed: Mapping[str, Path]) -> dict[str, Any]:
    """Return what `insdel_book.course.decks` needs to fill a deck: slides, and chapters with a remark on their data."""
    import nbformat

    remarks = {}
    for label in lecture.chapters:
        name = chapters[label].name
        facts = nbformat.read(executed[name], as_version=4).metadata["insdel"]
        noted = [facts["recorded"][key] for key in ("data", "note") if key in facts["recorded"]]
        remarks[f"notebooks/{name}"] = f"its own run: {', '.join(noted)}" if noted else ""
    return {"chapters": remarks, "slides": [list(slide) for slide in lecture.slides]}


def adapt(config: dict[str, Any], decks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the book's configuration, changed for slides."""
    settings = {key: value for key, value in config["sphinx"]["config"].items() if key not in SETTINGS_FOR_PAGES}
    extensions = [name for name in settings["extensions"] if name not in FOR_PAGES]
    settings |= SETTINGS | {"extensions": [*extensions, "insdel_book.course.decks"], "insdel_decks": dict(decks)}
    html = {key: value for key, value in config["html"].items() if key != "favicon"}
    return config | {"html": html, "sphinx": config["sphinx"] | {"config": settings}}
