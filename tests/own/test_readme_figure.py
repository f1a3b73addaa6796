"""The README's figure is what the README's example draws, and it prints what the README says."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT


def test_the_figure_and_the_printed_lines_are_those_of_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import readme_figure

    for name in ("display.float_format", "display.precision", "display.max_colwidth"):
        pd.reset_option(name)  # a chapter that ran in this process may have set it
    printed = readme_figure.write(tmp_path / "figure.svg")
    assert f"```text\n{printed}```" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "figure.svg").read_text() == readme_figure.PATH.read_text(), "run python tools/readme_figure.py"
    assert readme_figure.PATH.stat().st_size < 60_000
