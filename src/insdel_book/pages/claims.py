"""Two pages that every build writes from the records, the claims and the numbers behind them; and `insdel claims`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import groupby

from scipy.stats import t as student

from insdel.errors import UserError, require_one_of
from insdel.stats import holm_adjusted, plus_minus
from insdel_book.chapters import list_chapters
from insdel_book.course import clone
from insdel_book.pages import table
from insdel_paper.claims import (
    CANNOT,
    CLAIMS,
    FINDINGS,
    HOLDS,
    NOT,
    PART,
    UNDECIDED,
    VERDICTS,
    Claim,
    Figure,
    Finding,
    derive,
    disagreements,
    state,
    stated,
)
from insdel_paper.claims.catalogue import HEADLINES, SENTENCES
from insdel_paper.claims.verdict import LEVEL, LIMITS, WORDS

SYMBOLS = dict(zip(VERDICTS, ("✓", "◐", "✗", "?", "–"), strict=True))
MARK = re.compile(r"^% (claims|errata): (\w+)$", re.MULTILINE)


@cache
def chapters() -> dict[str, tuple[str, str]]:
    """Label of each chapter that a claim belongs to → its name and its title, in the order of the book."""
    labels, known = {claim.chapter for claim in CLAIMS}, ((*one.heading, one.name) for one in list_chapters(clone()))
    return {label: (name, title) for label, title, name in known if label in labels}


def fill(text: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """Replace every line `% claims: NAME` (or errata) by the block of that name."""

    def block(match: re.Match[str]) -> str:
        if match[2] not in blocks:
            raise ValueError(f"the page asks for {match[2]!r}, but the blocks are: {', '.join(blocks)}.")
        return blocks[match[2]]()

    return MARK.sub(block, text)


BLOCKS = ("headlines", "counts", "limits", "multiplicity", "sentences", "list", "details", "book")


@dataclass(frozen=True)
class Page:
    """Findings by id, the names of the chapters that are in this build, and a method for each block of the page."""

    findings: Mapping[str, Finding]
    staged: Collection[str]

    def fill(self, text: str) -> str:
        """A page as Markdown, from the text of its file in book/."""
        return fill(text, {name: getattr(self, name) for name in BLOCKS})

    def chapter(self, label: str) -> str:
        """A link to a chapter, or its name alone where it is not in this build."""
        file, name = chapters()[label]
        return f"{{ref}}`{name} <{label}>`" if file in self.staged else name

    def links(self, claims: Iterable[str]) -> list[str]:
        """Verdicts as symbols, and ids as links to the details."""
        verdicts = {claim: self.findings[claim].verdict for claim in claims}
        return [f"{SYMBOLS[v]}\N{NO-BREAK SPACE}{{ref}}`{claim} <claim-{claim}>`" for claim, v in verdicts.items()]

    def headlines(self) -> str:
        """What was found, in a few sentences, each with the claims it rests on."""
        return "\n".join(f"- {text} ({', '.join(self.links(claims))})" for text, claims in HEADLINES)

    def counts(self) -> str:
        """How many claims have which verdict, by chapter."""
        rows = []
        for label in chapters():
            result = [self.findings[claim.id].verdict for claim in CLAIMS if claim.chapter == label]
            rows.append([self.chapter(label), *(str(result.count(v) or "") for v in VERDICTS), str(len(result))])
        every = [finding.verdict for finding in self.findings.values()]
        rows.append(["**all**", *(f"**{every.count(v)}**" for v in VERDICTS), f"**{len(every)}**"])
        return "\n".join(table(["chapter", *(f"{SYMBOLS[v]} {v}" for v in VERDICTS), "claims"], rows))

    def limits(self) -> str:
        """The meaning of the paper's words, as a list."""
        first = f"- “best”, “larger”, “worse”: a paired difference beyond {LEVEL:.0f} of its standard errors"
        return "\n".join([first, *(f"- {words.format(LIMITS[word])}" for word, words in WORDS.items())])

    def multiplicity(self) -> str:
        """How many numbers are judged at once, and how many verdicts on them stand if that is counted."""
        judged = [one for finding in self.findings.values() for one in finding.figures if one.margin is not None]
        tails = student.sf([abs(one.margin or 0.0) for one in judged], [one.df or math.inf for one in judged])
        decided = sum(figure.verdict in (HOLDS, NOT) for figure in judged)
        chance = math.erfc(LEVEL / math.sqrt(2)) * len(judged)
        together = int((holm_adjusted(2 * tails) <= 0.05).sum())
        return (
            f"Many numbers are judged at once: {len(judged)} with a standard error. Were each of them exactly at its "
            f"limit, chance alone would decide about {chance:.0f}. In fact {decided} are decided, and "
            f"{together} of these would remain so under Holm's correction for all of them, at 5 %."
        )

    def sentences(self) -> str:
        """Abstract and conclusion, sentence by sentence."""
        parts = []
        for where, own in groupby(SENTENCES, lambda sentence: sentence.where):
            rows = [[sentence.text, " · ".join(self.links(sentence.claims)) or "no claim"] for sentence in own]
            parts += [f"### {where.capitalize()}\n", *table(["the paper writes", "claims"], rows)]
        return "\n".join(parts)

    def list(self) -> str:
        """All claims in one table, which the script of the page can filter; first those that do not hold."""
        first = (NOT, PART, UNDECIDED, CANNOT, HOLDS)
        rows = []
        for claim in sorted(CLAIMS, key=lambda claim: first.index(self.findings[claim.id].verdict)):
            verdict, link = self.findings[claim.id].verdict, f"{{ref}}`{claim.where} <claim-{claim.id}>`"
            rows.append([f"{SYMBOLS[verdict]} {verdict}", claim.statement, link, self.chapter(claim.chapter)])
        lines = table(["verdict", "the paper states", "where", "chapter"], rows)
        return "\n".join([":::{container} claims-list", "", *lines, ":::"])

    def details(self) -> str:
        """Every claim with its reason and its numbers, folded, by chapter."""
        parts = []
        for label, (_, name) in chapters().items():
            parts += [f"### {name}\n", *(self.detail(claim) for claim in CLAIMS if claim.chapter == label)]
        return "\n".join(parts)

    def detail(self, claim: Claim) -> str:
        """One claim, folded."""
        finding = self.findings[claim.id]
        lines = [
            f"(claim-{claim.id})=", f"::::{{dropdown}} {SYMBOLS[finding.verdict]} {finding.verdict}: {claim.statement}",
            f":class-container: claim-card verdict-{VERDICTS.index(finding.verdict)} chapter-{claim.chapter}", "",
            f"*{claim.where}* · chapter {self.chapter(claim.chapter)} · `{claim.id}`", "", finding.because, "",
            *(figures(finding.figures) if finding.figures else []),
            f"Derived from: {', '.join(f'`{name}`' for name in finding.evidence) or 'nothing that is recorded'}.",
            "::::", "",
        ]  # fmt: skip
        return "\n".join(lines)

    def book(self) -> str:
        """Numbers about questions that the paper does not ask: no verdict."""
        parts = []
        for one in FINDINGS:
            finding = one.finding()
            bare = [replace(figure, verdict=None, rule="") for figure in finding.figures]
            parts += [f"**{one.statement}** (chapter {self.chapter(one.chapter)})", ""]
            parts += [re.split(" Of | The number is| Nothing here", finding.because)[0], "", *figures(bare)]
        return "\n".join(parts)


def figures(shown: Iterable[Figure]) -> list[str]:
    """Lines of the table of numbers: paper, ours, difference in combined standard errors; without empty columns."""
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
    if not se or math.isnan(se):
        text = f"{value:,.0f}" if abs(value) >= 1000 and value == round(value) else f"{value:.4g}"
    else:
        text = plus_minus(value, se)
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "−")


def plain(text: str) -> str:
    """Markdown as a terminal shows it: references by their words, no dollar signs."""
    return re.sub(r"\{ref\}`([^<`]+?) <[^>]+>`", r"\1", text).replace("$", "").replace("`", "")


def report(
    verdict: str | None = None, chapter: str | None = None, as_json: bool = False, write: bool = False
) -> tuple[list[str], bool]:
    """Lines to print, or all numbers as JSON, and whether all derived verdicts are the stated ones.

    verdict, chapter : show these claims only; all of them are derived in any case
    write : save the derived verdicts as expected
    """
    if verdict is not None:  # refused before the work begins
        require_one_of("--verdict", verdict, VERDICTS)
    labels = [label for label, (file, name) in chapters().items() if chapter is None or chapter in (label, file, name)]
    if not labels:
        raise UserError(f"--chapter must be one of {', '.join(chapters())}; found {chapter!r}.")
    findings = derive(CLAIMS)
    own = [(claim, findings[claim.id]) for claim in CLAIMS if claim.chapter in labels]
    shown = [(claim, finding) for claim, finding in own if verdict in (None, finding.verdict)]
    if write:
        state(findings)
    wrong = disagreements(findings, stated())
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
