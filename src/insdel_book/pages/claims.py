"""The page of claims, from `book/claims.md` and what the records say: rewritten by every build."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache

from scipy.stats import norm
from scipy.stats import t as student

from insdel.stats import holm, plus_minus
from insdel_book.chapters import by_label
from insdel_book.clone import clone
from insdel_book.pages import table
from insdel_paper.claims import CLAIMS, FINDINGS, HOLDS, NOT, VERDICTS, Claim, Figure, Finding
from insdel_paper.claims.sentences import HEADLINES, SENTENCES, Sentence
from insdel_paper.claims.verdict import LEVEL, LIMITS, WORDS

SYMBOLS = dict(zip(VERDICTS, ("✓", "◐", "✗", "?", "–"), strict=True))
MARK = re.compile(r"^% (claims|errata): (\w+)$", re.MULTILINE)


@cache
def chapters() -> dict[str, tuple[str, str]]:
    """Label of each chapter that a claim belongs to → its name and its title, in the order of the book."""
    wanted = {claim.chapter for claim in CLAIMS}
    return {label: known for label, known in by_label(clone()).items() if label in wanted}


@dataclass(frozen=True)
class Context:
    """What the blocks of the page are made from: findings by id, and the chapters that are in this build."""

    findings: Mapping[str, Finding]
    staged: Collection[str]

    def chapter(self, label: str) -> str:
        """A link to a chapter, or its name alone where it is not in this build."""
        file, name = chapters()[label]
        return f"{{ref}}`{name} <{label}>`" if file in self.staged else name


def fill(text: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """Replace every line `% claims: NAME` (or errata) by the block of that name."""
    def block(match: re.Match[str]) -> str:
        if match[2] not in blocks:
            raise ValueError(f"the page asks for {match[2]!r}, but the blocks are: {', '.join(blocks)}.")
        return blocks[match[2]]()

    return MARK.sub(block, text)


def claims_page(text: str, findings: Mapping[str, Finding], staged: Collection[str]) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    text : of book/claims.md
    findings : from `claims.derive`
    staged : names of the chapters in this build
    """
    context = Context(findings, staged)
    blocks = {
        "headlines": lambda: headlines(context),
        "counts": lambda: counts(context),
        "limits": limits,
        "multiplicity": lambda: multiplicity(context),
        "sentences": lambda: sentences(context),
        "list": lambda: listing(context),
        "details": lambda: details(context),
        "book": lambda: book_findings(context),
    }
    return fill(text, blocks)


def sign(verdict: str) -> str:
    """Symbol and words of a verdict."""
    return f"{SYMBOLS[verdict]} {verdict}"


def counts(context: Context) -> str:
    """How many claims have which verdict, by chapter."""
    rows = []
    for label in chapters():
        result = [context.findings[claim.id].verdict for claim in CLAIMS if claim.chapter == label]
        rows.append([context.chapter(label), *(str(result.count(v) or "") for v in VERDICTS), str(len(result))])
    every = [finding.verdict for finding in context.findings.values()]
    rows.append(["**all**", *(f"**{every.count(v)}**" for v in VERDICTS), f"**{len(every)}**"])
    return "\n".join(table(["chapter", *map(sign, VERDICTS), "claims"], rows))


def limits() -> str:
    """The meaning of the paper's words, as a list."""
    first = f"- “best”, “larger”, “worse”: a paired difference beyond {LEVEL:.0f} of its standard errors"
    return "\n".join([first, *(f"- {words.format(LIMITS[word])}" for word, words in WORDS.items())])


def multiplicity(context: Context) -> str:
    """How many numbers are judged at once, and how many verdicts on them stand if that is counted."""
    shown = [figure for finding in context.findings.values() for figure in finding.figures]
    judged = [figure for figure in shown if figure.margin is not None]
    margins = [as_normal(figure) for figure in judged]
    decided = sum(figure.verdict in (HOLDS, NOT) for figure in judged)
    chance = math.erfc(LEVEL / math.sqrt(2)) * len(margins)
    together = int(holm(margins).sum())
    return (
        f"Many numbers are judged at once: {len(margins)} with a standard error. Were each of them exactly at its "
        f"limit, chance alone would decide about {chance:.0f}. In fact {decided} are decided, and {together} of these "
        "would be if all were judged together by Holm's correction at 5 %."
    )


def as_normal(figure: Figure) -> float:
    """The margin of a number, in errors of a normal distribution with the same probability."""
    margin = figure.margin or 0.0
    return margin if figure.df is None else math.copysign(norm.isf(student.sf(abs(margin), figure.df)), margin)


def book_findings(context: Context) -> str:
    """Numbers about questions that the paper does not ask: no verdict."""
    parts = []
    for one in FINDINGS:
        finding = one.finding()
        bare = [replace(figure, verdict=None, rule="") for figure in finding.figures]
        head = f"**{one.statement}** (chapter {context.chapter(one.chapter)})"
        parts += [head, "", finding.because.split(" Of ")[0].split(" The number is")[0], "", *figures(bare)]
    return "\n".join(parts)


def link(claim: str, context: Context) -> str:
    """A claim's verdict as a symbol, and its id as a link to the details."""
    return f"{SYMBOLS[context.findings[claim].verdict]} {{ref}}`{claim} <claim-{claim}>`"


def headlines(context: Context) -> str:
    """What was found, in a few sentences, each with the claims it rests on."""
    rows = [f"- {text} ({', '.join(link(claim, context) for claim in claims)})" for text, claims in HEADLINES]
    return "\n".join(rows)


def sentences(context: Context) -> str:
    """Abstract and conclusion, sentence by sentence."""
    def row(sentence: Sentence) -> list[str]:
        return [sentence.text, " · ".join(link(claim, context) for claim in sentence.claims) or "no claim"]

    parts = []
    for where in dict.fromkeys(sentence.where for sentence in SENTENCES):
        rows = [row(sentence) for sentence in SENTENCES if sentence.where == where]
        parts += [f"### {where.capitalize()}\n", *table(["the paper writes", "claims"], rows)]
    return "\n".join(parts)


def listing(context: Context) -> str:
    """All claims in one table, which the script of the page can filter."""
    rows = [
        [sign(context.findings[c.id].verdict), c.statement, f"{{ref}}`{c.where} <claim-{c.id}>`",
         context.chapter(c.chapter)]
        for c in CLAIMS
    ]  # fmt: skip
    lines = table(["verdict", "the paper states", "where", "chapter"], rows)
    return "\n".join([":::{container} claims-list", "", *lines, ":::"])


def details(context: Context) -> str:
    """Every claim with its reason and its numbers, folded, by chapter."""
    parts = []
    for label, (_, name) in chapters().items():
        own = [claim for claim in CLAIMS if claim.chapter == label]
        if own:
            parts.append(f"### {name}\n")
            parts += [detail(claim, context) for claim in own]
    return "\n".join(parts)


def detail(claim: Claim, context: Context) -> str:
    """One claim, folded."""
    finding = context.findings[claim.id]
    marks = f"claim-card verdict-{VERDICTS.index(finding.verdict)} chapter-{claim.chapter}"
    lines = [
        f"(claim-{claim.id})=", f"::::{{dropdown}} {sign(finding.verdict)}: {claim.statement}",
        f":class-container: {marks}", "",
        f"*{claim.where}* · chapter {context.chapter(claim.chapter)} · `{claim.id}`", "", finding.because, "",
        *(figures(finding.figures) if finding.figures else []),
        f"Derived from: {', '.join(f'`{name}`' for name in finding.evidence) or 'nothing that is recorded'}.",
        "::::", "",
    ]  # fmt: skip
    return "\n".join(lines)


def figures(shown: Collection[Figure]) -> list[str]:
    """Lines of the table of numbers: paper, ours, difference in combined standard errors."""
    rows = [
        [f.label, number(f.paper, f.paper_se), number(f.ours, f.se),
         "" if f.apart is None else f"{f.apart:+.1f}".replace("-", "−"),
         f.rule, SYMBOLS[f.verdict] if f.verdict else ""]
        for f in shown
    ]  # fmt: skip
    return table(["number", "paper", "ours", "apart", "required", ""], rows)


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
