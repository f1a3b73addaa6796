"""Two pages that every build writes from the records, the claims and the numbers behind them; and `insdel claims`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache

from scipy.stats import t as student

from insdel.errors import UserError, require_one_of
from insdel.stats import holm_adjusted, plus_minus
from insdel_book.chapters import list_chapters
from insdel_book.course import clone
from insdel_book.pages import fill, table
from insdel_paper import claims as paper
from insdel_paper.claims import CLAIMS, HOLDS, NOT, VERDICTS, Claim, Figure, Finding, catalogue, verdict

SYMBOLS = dict(zip(VERDICTS, ("✓", "◐", "✗", "?", "–"), strict=True))


@cache
def chapters() -> dict[str, tuple[str, str]]:
    """Label of each chapter that a claim belongs to → its name and its title, in the order of the book."""
    labels, known = {claim.chapter for claim in CLAIMS}, [(*one.heading, one.name) for one in list_chapters(clone())]
    return {label: (name, title) for label, title, name in known if label in labels}


def claims_page(text: str, findings: Mapping[str, Finding], staged: Collection[str]) -> str:
    """Return a page as Markdown, from the text of its file in book/, findings by id, and the chapters in this build."""

    def verdicts(label: str | None = None) -> list[str]:  # of a chapter, or all
        return [findings[claim.id].verdict for claim in CLAIMS if label in (None, claim.chapter)]

    def without_verdict(shown: Iterable[Figure]) -> list[Figure]:
        return [replace(figure, verdict=None, rule="") for figure in shown]

    return fill(
        text, "claims.jinja", paper=paper, catalogue=catalogue, verdict=verdict, symbols=SYMBOLS, chapters=chapters(),
        findings=findings, staged=staged, verdicts=verdicts, figures=figures, without_verdict=without_verdict,
        judged=multiplicity(findings),
    )  # fmt: skip


def multiplicity(findings: Mapping[str, Finding]) -> dict[str, float]:
    """How many numbers are judged at once, and how many verdicts on them stand if that is counted."""
    judged = [one for finding in findings.values() for one in finding.figures if one.margin is not None]
    tails = student.sf([abs(one.margin or 0.0) for one in judged], [one.df or math.inf for one in judged])
    return {
        "numbers": len(judged), "chance": math.erfc(verdict.LEVEL / math.sqrt(2)) * len(judged),
        "decided": sum(one.verdict in (HOLDS, NOT) for one in judged),
        "together": int((holm_adjusted(2 * tails) <= 0.05).sum()),
    }  # fmt: skip


def figures(shown: Iterable[Figure]) -> str:
    """The table of numbers: paper, ours, difference in combined standard errors; without empty columns."""
    rows = [
        [f.label, number(f.paper, f.paper_se), number(f.ours, f.se),
         "" if f.apart is None else f"{f.apart:+.1f}".replace("-", "−"),
         f.rule, SYMBOLS[f.verdict] if f.verdict else ""]
        for f in shown
    ]  # fmt: skip
    columns = zip(["number", "paper", "ours", "apart", "required", ""], *rows, strict=True)
    header, *lines = zip(*(column for column in columns if any(column[1:])), strict=True)
    return table(header, lines)


def number(value: float | None, se: float | None = None) -> str:
    """A number, with its standard error to two digits where it has one."""
    if value is None:
        return ""
    is_large = abs(value) >= 1000 and value == round(value)
    text = plus_minus(value, se) if se and se == se else f"{value:,.0f}" if is_large else f"{value:.4g}"
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "−")


def plain(text: str) -> str:
    """Markdown as a terminal shows it: references by their words, no dollar signs."""
    return re.sub(r"\{ref\}`([^<`]+?) <[^>]+>`", r"\1", text).replace("$", "").replace("`", "")


def report(
    wanted: str | None = None, chapter: str | None = None, as_json: bool = False, write: bool = False
) -> tuple[list[str], bool]:
    """Lines to print, or all numbers as JSON, and whether all derived verdicts are the stated ones.

    wanted, chapter : show the claims with this verdict, of this chapter only; all of them are derived in any case
    write : save the derived verdicts as expected
    """
    if wanted is not None:  # refused before the work begins
        require_one_of("--verdict", wanted, VERDICTS)
    labels = [label for label, (file, name) in chapters().items() if chapter is None or chapter in (label, file, name)]
    if not labels:
        raise UserError(f"--chapter must be one of {', '.join(chapters())}; found {chapter!r}.")
    findings = paper.derive(CLAIMS)
    own = [(claim, findings[claim.id]) for claim in CLAIMS if claim.chapter in labels]
    shown = [(claim, finding) for claim, finding in own if wanted in (None, finding.verdict)]
    if write:
        paper.state(findings)
    wrong = paper.disagreements(findings, paper.stated())
    if as_json:
        facts = [
            {name: getattr(claim, name) for name in ("id", "where", "statement", "chapter")} | asdict(finding)
            | {"figures": [asdict(figure) | {"apart": figure.apart} for figure in finding.figures]}
            for claim, finding in shown
        ]  # fmt: skip
        return [json.dumps(facts, indent=1, ensure_ascii=False)], not wrong
    every = [finding.verdict for finding in findings.values()]
    totals = f"{len(every)} claims: " + ", ".join(f"{every.count(name)} {name}" for name in VERDICTS)
    lines = [line for one in shown for line in describe(*one)[: 1 if len(shown) > 20 else None]]
    return [*lines, "", totals, *(f"!! {plain(line)}" for line in wrong)], not wrong


def describe(claim: Claim, finding: Finding) -> list[str]:
    """A claim in one line, then its reason and its numbers."""
    head = f"{SYMBOLS[finding.verdict]} {finding.verdict:<21} {claim.id}: {plain(claim.statement)} [{claim.where}]"
    rows = [
        f"      {f.label}: ours {number(f.ours, f.se)}"
        + (f", paper {number(f.paper, f.paper_se)}" if f.paper is not None else "")
        + (f", apart {f.apart:+.1f} se" if f.apart is not None else "")
        + (f"  ({f.rule}: {f.verdict})" if f.verdict else "")
        for f in finding.figures
    ]
    return [head, f"    {plain(finding.because)}", *rows]
