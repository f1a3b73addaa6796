"""`insdel device`, on the pretended device and without one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from insdel_book import device
from insdel_book.cli import main
from insdel_book.device import Absent, DeviceCheck, checks, network, pairs


@pytest.fixture
def add_chapter(tiny_book, monkeypatch):
    monkeypatch.chdir(tiny_book)
    monkeypatch.setattr(device, "CHAPTER", "add")


def test_without_a_gpu_it_says_so(monkeypatch, capsys) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["device"]) == 2
    said = capsys.readouterr()
    assert "there is no GPU that torch can use here" in said.err and not said.out and "Traceback" not in said.err


def test_every_check_agrees_on_the_device(cuda, add_chapter, capsys) -> None:
    assert main(["device"]) == 0
    said = capsys.readouterr().out
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
def test_what_differs_or_fails_is_told(cuda, add_chapter, monkeypatch, capsys, work, code, words) -> None:
    monkeypatch.setattr(device, "checks", lambda: [DeviceCheck("a check", work)])
    assert main(["device"]) == code
    said = capsys.readouterr().out
    assert all(word in said for word in words), said
    assert "Traceback" not in said and "site-packages" not in said


def test_a_failing_chapter_is_told(cuda, add_chapter, tiny_book, monkeypatch, capsys) -> None:
    path = tiny_book / "notebooks" / "01_add.md"
    path.write_text(path.read_text() + "\n```{code-cell} ipython3\n1 / 0\n```\n")
    monkeypatch.setattr(device, "checks", lambda: [])
    assert main(["device"]) == 1
    assert "FAILED  chapter add, smoke profile        ZeroDivisionError" in capsys.readouterr().out


def test_outside_a_clone_the_chapter_is_skipped(cuda, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(device, "clone", lambda: device.find_chapter([], "none"))
    monkeypatch.setattr(device, "checks", lambda: [])
    assert main(["device"]) == 0
    assert "there is no clone here" in capsys.readouterr().out
