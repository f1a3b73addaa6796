"""The sentences of the abstract and of the conclusion, each with the claims that it makes; and ours, in short."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper and the ids of its claims; none where it only sets the scene."""

    where: str
    text: str
    claims: tuple[str, ...] = ()


TEXTS = yaml.safe_load(Path(__file__).with_name("sentences.yml").read_text(encoding="utf-8"))
SENTENCES = [Sentence(row["where"], row["text"], tuple(row["claims"])) for row in TEXTS["sentences"]]
HEADLINES: list[tuple[str, dict[str, str]]] = [(row["text"], row["verdicts"]) for row in TEXTS["headlines"]]
