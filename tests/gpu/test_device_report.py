"""`insdel device`, on the pretended device and without one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from insdel_book import device
from insdel_book.device import Absent, DeviceCheck, checks, network, pairs


@pytest.fixture
def add_chapter(tiny_book, monkeypatch):
    monkeypatch.chdir(tiny_book)
    monkeypatch.setattr(device, "CHAPTER", "add")


def test_without_a_gpu_it_says_so(monkeypatch, command) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert command("device", 2).startswith("insdel: there is no GPU that torch can use here")


def test_every_check_agrees_on_the_device(cuda, add_chapter, command) -> None:
    said = command("device")
    assert "pretended CUDA device" in said and "TF32: matrix products" in said and "torch" in said
    count = len(checks()) + 1
    assert f"{count} checks: {count} ok, 0 DIFFERS, 0 FAILED, 0 skipped" in said
    assert "chapter add, smoke profile" in said


def wrong(place: torch.device) -> np.ndarray:
    return np.ones(3) + (place.type == "cuda") * np.array([0.0, 0.0, 0.1])


def broken(place: torch.device) -> torch.Tensor:
    return network(place)(torch.from_numpy(pairs()[0]))  # forgets to move the points


def absent(place: torch.device) -> np.ndarray:
    raise Absent("no weights here")


@pytest.mark.parametrize(
    ("work", "code", "words"),
    [(wrong, 1, ["DIFFERS a check", "1.0e-01"]), (broken, 1, ["FAILED  a check", "RuntimeError", "same device"]),
     (absent, 0, ["skipped a check", "no weights here"])],
)  # fmt: skip
def test_what_differs_or_fails_is_told(cuda, add_chapter, monkeypatch, command, work, code, words) -> None:
    monkeypatch.setattr(device, "checks", lambda: [DeviceCheck("a check", work)])
    said = command("device", code)
    assert all(word in said for word in words), said
    assert "site-packages" not in said


def test_a_chapter_that_fails_or_is_not_there_is_told(cuda, add_chapter, tiny_book, monkeypatch, command) -> None:
    path = tiny_book / "notebooks" / "01_add.md"
    path.write_text(path.read_text() + "\n```{code-cell} ipython3\n1 / 0\n```\n")
    monkeypatch.setattr(device, "checks", lambda: [])
    assert "FAILED  chapter add, smoke profile        ZeroDivisionError" in command("device", 1)
    monkeypatch.setattr(device, "clone", lambda: device.find_chapter([], "none"))
    assert "there is no clone here" in command("device")
