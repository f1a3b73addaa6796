"""The status page: how each chapter of this very book was run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from insdel_book.pages import table

INTRODUCTION = """(status)=
# Status of this book

The build writes this page. A chapter whose text, parameters, code and data are unchanged is not run again;
its row then describes the run that the page shows. {ref}`run-it-yourself` explains the profiles.
"""


def code(text: str) -> str:
    """Any text as code: between more backticks than it has itself, so that nothing in it is Markdown or HTML."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{' '.join(text.split())}{pad}{fence}"


def plain(text: Any) -> str:
    """Any text as text: a backslash before each sign that Markdown or HTML would take for its own."""
    return re.sub(r"([\\`*_{}\[\]<>#!$&~^@])", r"\\\1", " ".join(str(text).split()))


def _summary(name: str, facts: Mapping[str, Any]) -> list[str]:
    """Return one chapter's row: what ran, on what, for how long, and when."""
    data = facts["recorded"].get("data", "none")
    return [f"`{name}`", facts["profile"], plain(data), f"{facts['seconds']:.1f} s", facts["date"]]


def _parameters(name: str, facts: Mapping[str, Any]) -> str:
    """Return one chapter's item: its parameter values, and further facts that it recorded."""
    values = ", ".join(code(f"{key} = {value!r}") for key, value in facts["parameters"].items())
    notes = [plain(value if key == "note" else f"{key}: {value}")
             for key, value in facts["recorded"].items() if key != "data"]  # fmt: skip
    return f"- `{name}`: {'. '.join([values or 'no parameters', *notes])}."


def status_page(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page as Markdown, from the facts of each chapter's run by the chapter's name."""
    result: dict[str, list[str]] = {}
    for name, fact in facts.items():
        versions = ", ".join(f"{package} {number}" for package, number in fact["versions"].items())
        result.setdefault(f"{fact['hardware']}; {versions}", []).append(name)
    machines = [f"- {machine}: {', '.join(f'`{name}`' for name in names)}." for machine, names in result.items()]
    runs = [_summary(*item) for item in facts.items()]
    lines = [
        INTRODUCTION,
        "## Runs\n",
        *table(["chapter", "profile", "data", "time", "date"], runs),
        "## Parameters\n",
        "What each chapter was run with, and what it noted about its data.\n",
        *(_parameters(*item) for item in facts.items()),
        "\n## Machines and versions\n",
        *machines,
        "",
    ]
    return "\n".join(lines)
