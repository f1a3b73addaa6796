"""The verdicts that the book states, beside those that the records give now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from insdel.paper.claims.verdict import Claim, Finding
from insdel.store import replace

FILE = Path(__file__).with_name("stated.json")


def derive(claims: Iterable[Claim]) -> dict[str, Finding]:
    """Derive the finding of every claim, by id."""
    return {claim.id: claim.finding() for claim in claims}


def stated(path: Path = FILE) -> dict[str, str]:
    """Verdicts as stated, by the id of the claim."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def state(findings: Mapping[str, Finding], path: Path = FILE) -> Path:
    """Write the derived verdicts as the stated ones."""
    verdicts = {name: finding.verdict for name, finding in findings.items()}
    replace(path, json.dumps(verdicts, indent=1, ensure_ascii=False) + "\n")
    return path


def disagreements(findings: Mapping[str, Finding], known: Mapping[str, str]) -> list[str]:
    """One line for each claim whose derived verdict is not the stated one, and for claims stated but gone."""
    lines = [
        f"{name}: stated “{known.get(name, 'nothing')}”, but the records say “{finding.verdict}”. {finding.because}"
        for name, finding in findings.items()
        if known.get(name) != finding.verdict
    ]
    return lines + [f"{name}: stated, but there is no such claim" for name in known if name not in findings]
