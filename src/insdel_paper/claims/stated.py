"""The verdicts that the book states and the numbers behind them, beside those that the records give now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from insdel.store import replace
from insdel_paper.claims.verdict import Claim, Finding

FILE = Path(__file__).with_name("stated.json")
NUMBERS = "numbers.json"  # beside it


def derive(claims: Iterable[Claim]) -> dict[str, Finding]:
    """Derive the finding of every claim, by id."""
    return {claim.id: claim.finding() for claim in claims}


def stated(path: Path = FILE) -> dict[str, str]:
    """Verdicts as stated, by the id of the claim."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def state(findings: Mapping[str, Finding], path: Path = FILE) -> Path:
    """Write the derived verdicts as the stated ones, and beside them their numbers."""
    verdicts = {name: finding.verdict for name, finding in findings.items()}
    for file, content in ((path, verdicts), (path.with_name(NUMBERS), numbers(findings))):
        replace(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def numbers(findings: Mapping[str, Finding]) -> dict[str, dict[str, float | None]]:
    """Our numbers by claim and label, to six digits; processors differ in the last ones."""
    return {
        name: {f.label: None if f.ours is None else float(f"{f.ours:.6g}") for f in finding.figures}
        for name, finding in findings.items()
    }


def disagreements(findings: Mapping[str, Finding], known: Mapping[str, str]) -> list[str]:
    """One line for each claim whose derived verdict is not the stated one, and for claims stated but gone."""
    lines = [
        f"{name}: stated “{known.get(name, 'nothing')}”, but the records say “{finding.verdict}”. {finding.because}"
        for name, finding in findings.items()
        if known.get(name) != finding.verdict
    ]
    return lines + [f"{name}: stated, but there is no such claim" for name in known if name not in findings]
