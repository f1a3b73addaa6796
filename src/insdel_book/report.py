"""The claims in a terminal: `insdel claims`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from insdel.errors import UserError
from insdel_book.pages.claims import SYMBOLS, chapters, number, plain
from insdel_paper.claims import CLAIMS, VERDICTS, Claim, Finding, derive, disagreements, state, stated


def report(
    verdict: str | None = None, chapter: str | None = None, as_json: bool = False, write: bool = False
) -> tuple[list[str], bool]:
    """Lines to print, and whether all derived verdicts are the stated ones.

    Parameters
    ----------
    verdict, chapter : show these claims only; all of them are derived in any case
    as_json : all numbers, for other programs
    write : save the derived verdicts as expected
    """
    choice = choose(verdict, chapter)
    findings = derive(CLAIMS)
    choice = [claim for claim in choice if verdict in (None, findings[claim.id].verdict)]
    if write:
        state(findings)
    wrong = disagreements(findings, stated())
    if as_json:
        result = [record(claim, findings[claim.id]) for claim in choice]
        return [json.dumps(result, indent=1, ensure_ascii=False)], not wrong
    lines = [line for claim in choice for line in told(claim, findings[claim.id], brief=len(choice) > 20)]
    return [*lines, "", totals(findings), *(f"!! {plain(line)}" for line in wrong)], not wrong


def choose(verdict: str | None, chapter: str | None) -> list[Claim]:
    """Claims of a chapter; a verdict that there is none of is refused before the work begins."""
    if verdict is not None and verdict not in VERDICTS:
        raise UserError(f"--verdict needs one of: {', '.join(VERDICTS)}; found {verdict!r}.")
    labels = [label for label, (file, name) in chapters().items() if chapter is None or chapter in (label, file, name)]
    if not labels:
        raise UserError(f"--chapter needs one of: {', '.join(chapters())}; found {chapter!r}.")
    return [claim for claim in CLAIMS if claim.chapter in labels]


def told(claim: Claim, finding: Finding, brief: bool) -> list[str]:
    """A claim in one line, or with its reason and numbers."""
    head = f"{SYMBOLS[finding.verdict]} {finding.verdict:<21} {claim.id}: {plain(claim.statement)} [{claim.where}]"
    if brief:
        return [head]
    rows = [
        f"      {f.label}: ours {number(f.ours, f.se)}"
        + (f", paper {number(f.paper, f.paper_se)}" if f.paper is not None else "")
        + (f", apart {f.apart:+.1f} se" if f.apart is not None else "")
        + (f"  ({f.rule}: {f.verdict})" if f.verdict else "")
        for f in finding.figures
    ]
    return [head, f"    {plain(finding.because)}", *rows]


def totals(findings: Mapping[str, Finding]) -> str:
    """How many claims have which verdict."""
    every = [finding.verdict for finding in findings.values()]
    return f"{len(every)} claims: " + ", ".join(f"{every.count(verdict)} {verdict}" for verdict in VERDICTS)


def record(claim: Claim, finding: Finding) -> dict[str, object]:
    """A claim with all that was found, as plain values."""
    facts = {"id": claim.id, "where": claim.where, "statement": claim.statement, "chapter": claim.chapter}
    shown = [{**asdict(figure), "apart": figure.apart} for figure in finding.figures]
    return {**facts, "verdict": finding.verdict, "because": finding.because, "figures": shown,
            "evidence": list(finding.evidence)}  # fmt: skip
