"""The figure of the README, drawn by the README's own example: `python tools/readme_figure.py` writes it anew."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import matplotlib.pyplot as plt

from insdel.plots import STYLE

ROOT = Path(__file__).resolve().parents[1]
PATH = ROOT / "book" / "_static" / "readme_figure.svg"


def example() -> str:
    """The example's code, as it stands in the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def write(path: Path = PATH) -> str:
    """Run the example, write its figure, and return what it printed; the same code gives the same file."""
    printed = io.StringIO()
    with plt.style.context(STYLE), contextlib.redirect_stdout(printed):
        exec(compile(example(), "README.md", "exec"), {})
        plt.gcf().savefig(path, metadata={"Date": None})
    plt.close("all")
    return printed.getvalue()


if __name__ == "__main__":
    print(write())
