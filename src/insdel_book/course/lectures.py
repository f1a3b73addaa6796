"""The lectures: which slides each has, by the labels of its chapters; and whether the chapters have those labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

from insdel.errors import UserError

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
KINDS = (*LABELS, "notice", "question")


class Slide(NamedTuple):
    """What is shown, and by which label it is found."""

    kind: str
    label: str


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
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    lectures = {}
    for number, (name, entry) in enumerate(table.items(), start=1):
        slides = tuple(Slide(*item) for line in entry["slides"] for item in line.items())
        for slide in slides:
            if slide.kind not in KINDS:
                raise UserError(f"{path.name}, {name}: there is no kind {slide.kind!r}. Kinds: {', '.join(KINDS)}.")
        lectures[name] = Lecture(number, name, tuple(entry["chapters"]), slides)
    return lectures


def labels_of(kind: str, text: str) -> list[str]:
    """Return the labels that a slide of this kind may name in a chapter's source."""
    if kind == "notice":
        return _pictured(text.partition(NOTICE)[2])
    if kind == "question":
        return [label for section in text.split("\n## ") for label in _pictured(section.partition(QUESTION)[2])]
    return re.findall(LABELS[kind], text, re.MULTILINE)


def _pictured(text: str) -> list[str]:
    """Return the labels of figures and statements."""
    return [label for kind in ("figure", "statement") for label in labels_of(kind, text)]


def refuse_unknown(lecture: Lecture, texts: Mapping[str, str]) -> None:
    """Refuse a lecture that names what its chapters (label → source) do not have."""
    for slide in lecture.slides:
        known = [label for text in texts.values() for label in labels_of(slide.kind, text)]
        if slide.label not in known:
            raise UserError(
                f"{FILE}, {lecture.name}: there is no {slide.kind} {slide.label!r} in the chapters "
                f"{', '.join(texts)}. Labels for that: {', '.join(known) or 'none'}."
            )
