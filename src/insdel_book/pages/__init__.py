"""Pages that the build writes: claims, errata, benchmark; and the status page, how each chapter was run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

MARK = re.compile(r"^% (?:claims|errata): (\w+)$", re.MULTILINE)


def cell(text: str) -> str:
    """Any text as a cell of a Markdown table: bars inside it stay bars."""
    return text.replace("|", "\\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def code(text: str) -> str:
    """Any text as code: between more backticks than it has itself, so that nothing in it is Markdown or HTML."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{' '.join(text.split())}{pad}{fence}"


def plain(text: Any) -> str:
    """Any text as text: a backslash before each sign that Markdown or HTML would take for its own."""
    return re.sub(r"([\\`*_{}\[\]<>#!$&~^@])", r"\\\1", " ".join(str(text).split()))


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
TEMPLATES.filters |= {"cell": cell, "code": code, "plain": plain}


def fill(text: str, template: str, **names: Any) -> str:
    """Replace every line `% claims: NAME` (or errata) by what the macro of that name makes of these names."""
    module = TEMPLATES.get_template(template).make_module(names)
    macros = {name: macro for name, macro in vars(module).items() if not name.startswith("_")}

    def block(match: re.Match[str]) -> str:
        if match[1] not in macros:
            raise ValueError(f"the page asks for {match[1]!r}, but the blocks are: {', '.join(macros)}.")
        return str(macros[match[1]]())

    return MARK.sub(block, text)


def status_page(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page as Markdown, from the facts of each chapter's run by the chapter's name."""
    machines = defaultdict(list)
    for name, fact in facts.items():
        versions = ", ".join(f"{package} {number}" for package, number in fact["versions"].items())
        machines[f"{fact['hardware']}; {versions}"].append(name)
    return TEMPLATES.get_template("status.jinja").render(facts=facts, machines=machines)
