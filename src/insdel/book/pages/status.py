"""The status page: how each chapter of this very book was run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

INTRODUCTION = """(status)=
# Status of this book

Written by the build itself. A chapter whose text, parameters, code and data are unchanged is not run again;
its row then tells of the run that the page shows. The profiles are explained in {ref}`run-it-yourself`.
"""


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |" for line in lines] + [""]


def code(text: str) -> str:
    """Any text as code: between more backticks than it has itself, so that nothing in it is Markdown or HTML."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{' '.join(text.split())}{pad}{fence}"


def plain(text: Any) -> str:
    """Any text as text: a backslash before each sign that Markdown or HTML would take for its own."""
    return re.sub(r"([\\`*_{}\[\]<>#!$&~^@])", r"\\\1", " ".join(str(text).split()))


def _summary(name: str, facts: Mapping[str, Any]) -> list[str]:
    """Return one chapter's row: what ran, with what, for how long, and when."""
    recorded = facts["recorded"]
    seed, data = facts["parameters"].get("seed", "–"), recorded.get("data", "none")
    return [f"`{name}`", facts["profile"], plain(data), str(seed), f"{facts['seconds']:.1f} s", facts["date"]]


def _parameters(name: str, facts: Mapping[str, Any]) -> list[str]:
    """Return one chapter's row of parameter values and of further facts that it recorded."""
    values = ", ".join(code(f"{key} = {value!r}") for key, value in facts["parameters"].items())
    noted = ", ".join(plain(f"{key}: {value}") for key, value in facts["recorded"].items() if key != "data")
    return [f"`{name}`", values or "–", noted or "–"]


def status_page(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page as Markdown, from the facts of each chapter's run by the chapter's name."""
    result: dict[str, list[str]] = {}
    for name, fact in facts.items():
        versions = ", ".join(f"{package} {number}" for package, number in fact["versions"].items())
        result.setdefault(f"{fact['hardware']}; {versions}", []).append(name)
    machines = [[", ".join(f"`{name}`" for name in names), machine] for machine, names in result.items()]
    runs = [_summary(*item) for item in facts.items()]
    parameters = [_parameters(*item) for item in facts.items()]
    lines = [
        INTRODUCTION,
        "## Runs\n",
        *table(["chapter", "profile", "data", "seed", "wall time", "date"], runs),
        "## Parameters\n",
        *table(["chapter", "parameters", "noted by the chapter"], parameters),
        "## Machines and versions\n",
        *table(["chapters", "hardware and versions"], machines),
    ]
    return "\n".join(lines)
