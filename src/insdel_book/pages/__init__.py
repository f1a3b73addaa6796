"""Pages that the build writes: claims, errata, benchmark; and here the status page, how each chapter was run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

INTRODUCTION = """(status)=
# Status of this book

The build writes this page. A chapter whose text, parameters, code and data are unchanged is not run again;
its row then describes the run that the page shows. {ref}`run-it-yourself` explains the profiles.
Chapters have the names of their files in `notebooks`, whose numbers are not those on the pages.
"""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; bars inside cells stay bars."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines] + [""]


def code(text: str) -> str:
    """Any text as code: between more backticks than it has itself, so that nothing in it is Markdown or HTML."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{' '.join(text.split())}{pad}{fence}"


def plain(text: Any) -> str:
    """Any text as text: a backslash before each sign that Markdown or HTML would take for its own."""
    return re.sub(r"([\\`*_{}\[\]<>#!$&~^@])", r"\\\1", " ".join(str(text).split()))


def status_page(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page as Markdown, from the facts of each chapter's run by the chapter's name."""
    machines, runs, parameters = defaultdict(list), [], []
    for name, fact in facts.items():
        versions = ", ".join(f"{package} {number}" for package, number in fact["versions"].items())
        machines[f"{fact['hardware']}; {versions}"].append(f"`{name}`")
        noted = dict(fact["recorded"])
        data = plain(noted.pop("data", "none"))
        runs.append([f"`{name}`", fact["profile"], data, f"{fact['seconds']:.1f} s", fact["date"]])
        values = ", ".join(code(f"{key} = {value!r}") for key, value in fact["parameters"].items())
        notes = [plain(value if key == "note" else f"{key}: {value}") for key, value in noted.items()]
        parameters.append(f"- `{name}`: {'. '.join([values or 'no parameters', *notes])}.")
    lines = [
        INTRODUCTION,
        "## Runs\n",
        *table(["chapter", "profile", "data", "time", "date"], runs),
        "## Parameters\n",
        "What each chapter was run with, and what it noted about its data.\n",
        *parameters,
        "\n## Machines and versions\n",
        *(f"- {machine}: {', '.join(names)}." for machine, names in machines.items()),
        "",
    ]
    return "\n".join(lines)
