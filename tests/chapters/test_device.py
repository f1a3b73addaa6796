"""Chapters on a pretended CUDA device, every cell to the end: those that do most there, and with INSDEL_ALL the rest."""

from __future__ import annotations

import os

import pytest
import torch
from conftest import ROOT
from running import run_cells

from insdel_book.chapters import Chapter, list_chapters

WITH_DEVICE = [chapter for chapter in list_chapters(ROOT) if "device" in chapter.parameters()]
MOST = ("data", "bangalore", "cern", "images", "roar", "spend")
CHOSEN = [chapter for chapter in WITH_DEVICE if os.environ.get("INSDEL_ALL") or chapter.name[3:] in MOST]
SMALL = {"cern": {"n_pairs": 1, "policy": "counterfactual"}}  # nothing is folded there: a pair takes 2^16 evaluations


@pytest.mark.parametrize("chapter", CHOSEN, ids=lambda chapter: chapter.name)
def test_a_chapter_on_the_device(
    chapter: Chapter, cuda: torch.device, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pretend import Queue

    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path))  # networks that were fitted on the processor are none of this
    monkeypatch.setattr(Queue, "asked", 0)
    live = {"evidence": "live"} if "evidence" in chapter.parameters() else {}
    run_cells(chapter, device="cuda", **live, **SMALL.get(chapter.name[3:], {}))
    assert Queue.asked > 100


def test_every_chapter_with_a_device_takes_what_there_is() -> None:
    assert len(WITH_DEVICE) > 10
    assert {chapter.parameters()["device"].default for chapter in WITH_DEVICE} == {"auto"}
