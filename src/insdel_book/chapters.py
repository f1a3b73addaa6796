"""Chapters: which ones the book has, and what the profiles set in them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from insdel.errors import UserError, require_one_of
from insdel_book.parameters import Parameter, cell_source, check_values, read_source

RECORD = "application/vnd.insdel.record+json"
PROFILES = ("smoke", "quick", "paper")

HEADING = re.compile(r"^\(([\w-]+)\)=\n# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """One entry `notebooks/NN_name` of the table of contents."""

    name: str
    source: Path

    @property
    def heading(self) -> tuple[str, str]:
        """Its label, by which other pages refer to it, and its title."""
        result = HEADING.search(self.source.read_text(encoding="utf-8"))
        if result is None:
            raise UserError(f"{self.source.name} needs a label and a title: `(label)=` and below it `# Title`.")
        return result[1], result[2]

    def read(self) -> Any:
        """Return the chapter as a notebook (nbformat 4) without outputs."""
        import jupytext
        from jupytext.myst import MystMetadataParsingError

        try:
            return jupytext.read(self.source, fmt="md:myst")
        except MystMetadataParsingError as error:
            raise UserError(f"{self.source.name} cannot be read as a notebook. {error}") from error

    def parameters(self) -> dict[str, Parameter]:
        """Return its parameters by name."""
        return read_source(cell_source(self.source.read_text(encoding="utf-8")))


def toc_files(entry: Any) -> Iterator[str]:
    """Every file named in a table of contents (or a part of one), in reading order."""
    if isinstance(entry, Mapping):
        yield from (entry[key] for key in ("root", "file") if key in entry)
        for part in ("parts", "chapters", "sections"):
            for child in entry.get(part, []):
                yield from toc_files(child)


def read_yaml(path: Path) -> Any:
    """What a YAML file holds."""
    import yaml  # `insdel report` does without it

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def list_chapters(root: Path) -> list[Chapter]:
    """Return the chapters that `_toc.yml` names, in reading order."""
    files = toc_files(read_yaml(root / "_toc.yml"))
    names = [Path(file).stem for file in files if file.startswith("notebooks/")]
    chapters = [Chapter(name, root / "notebooks" / f"{name}.md") for name in names]
    if missing := [chapter.source.name for chapter in chapters if not chapter.source.is_file()]:
        raise UserError(f"_toc.yml names {', '.join(missing)}, not found in notebooks/. Write or unlist it.")
    return chapters


def find_chapter(chapters: Iterable[Chapter], text: str) -> Chapter:
    """Return the one chapter that `text` means: its name, number, a part of its name, or nearly so."""
    by_name = {chapter.name: chapter for chapter in chapters}
    wanted = Path(text).name.removesuffix(".md").removesuffix(".ipynb").lower().replace("-", "_")
    if wanted in by_name:
        return by_name[wanted]
    if wanted.isdigit():
        result = [name for name in by_name if name.split("_")[0].lstrip("0") == wanted.lstrip("0")]
    else:
        titles = {name.partition("_")[2]: name for name in by_name}
        result = [titles[wanted]] if wanted in titles else [name for name in by_name if wanted in name]
        result = result or [titles[title] for title in difflib.get_close_matches(wanted, titles, n=1)]
    if len(result) == 1:
        return by_name[result[0]]
    problem = f"{text!r} may mean {' or '.join(result)}" if result else f"there is no chapter {text!r}"
    raise UserError(f"{problem}. The chapters are: {', '.join(by_name)}.")


def profile_values(root: Path, chapter: Chapter, profile: str) -> dict[str, Any]:
    """Return what a profile sets differently from the chapter's own parameter cell, checked."""
    require_one_of("profile", profile, PROFILES)
    profiles = read_yaml(root / "notebooks" / "profiles.yml") or {}
    values = (profiles.get(chapter.name) or {}).get(profile) or {}
    try:
        return check_values(chapter.parameters(), values)
    except UserError as error:
        raise UserError(f"profiles.yml, {chapter.name}, {profile}: {error}") from error


def record(data: str | None = None, evidence: str = "live", **facts: Any) -> None:
    """Note the source of a chapter's data, if it has any, and other facts about its run, for the status page.

    evidence : "recorded" where the page shows recorded runs beside its own
    """
    from IPython.display import display

    if data is not None:
        facts["data"] = f"{data} (this page's run), real (recorded runs)" if evidence == "recorded" else data
    display({RECORD: facts, "text/plain": ", ".join(f"{name}: {fact}" for name, fact in facts.items())}, raw=True)


def glue_numbers(prefix: str, **numbers: Any) -> None:
    """Hand numbers, or short texts, to the prose of a chapter: `last_one=0.5` becomes {glue:text}`prefix-last-one`."""
    from myst_nb import glue

    for name, value in numbers.items():
        glue(f"{prefix}-{name.replace('_', '-')}", value.item() if hasattr(value, "item") else value, display=False)


def run_cells(root: Path, chapter: Chapter, values: Mapping[str, Any], profile: str = "smoke") -> dict[str, Any]:
    """What the chapter's cells leave behind, run in this process: no kernel, no page, seconds."""
    import matplotlib.pyplot as plt
    import pandas as pd

    parameters = chapter.parameters()
    names = {name: parameter.default for name, parameter in parameters.items()} | {"__name__": "chapter"}
    names |= profile_values(root, chapter, profile) | check_values(parameters, values)
    code = [cell for cell in chapter.read().cells if cell.cell_type == "code"]
    with plt.rc_context(), pd.option_context("display.max_colwidth", 50):  # what it sets is its own
        for cell in code[2:]:  # after those that install and set
            try:
                exec(compile(cell.source, chapter.source.name, "exec"), names)
            except Exception as error:
                error.add_note(f"in this cell of {chapter.name}:\n{cell.source}")
                raise
    plt.close("all")
    return names
