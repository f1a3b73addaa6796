"""A comparison as one self-contained HTML page that someone who writes no code can read."""

from __future__ import annotations

import io
import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import StrictUndefined, Template

from insdel.errors import UserError
from insdel.plots import PALETTE, STYLE, method_title, plot_comparison, plot_walk
from insdel.store import replace

WALKS = ("where the best explanation ranks worst", "where it ranks about average", "where it ranks best")
CONTROLS = ("random", "expected", "best")


def check_name(path: Path) -> None:
    """Refuse a name that is not one of an HTML page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"a report is an HTML page; name it {path.with_suffix('.html')}, not {path.name}.")


def write_report(
    comparison: Any, path: Path, title: str, facts: Mapping[str, str] | None = None, notes: Sequence[str] = (),
    cautions: Sequence[str] = (), reference: str = "",
) -> Path:  # fmt: skip
    """Write the page, whole or not at all, and return where it is.

    Parameters
    ----------
    facts, notes : settings that the comparison does not know, and what was noticed about the data
    cautions : warnings that a reader must see beside the answer
    reference : in words, what features were replaced by
    """
    if not comparison.settings.score:
        raise UserError("a report needs scores, but this comparison was made with score=False. Leave that out.")
    check_name(path)
    summary, pairs = comparison.summary(bootstrap=0), comparison.pairs
    sources = comparison.settings.methods
    others = summary[~summary["method"].map(sources).isin(CONTROLS)]  # controls are not ranked, unless alone
    means = (summary if others.empty else others).groupby("method", sort=False)["score"].mean().dropna()
    ranked = list(means.sort_values(ascending=False, kind="stable").index)
    tests = {other: comparison.test(ranked[0], other) for other in ranked[1:]}
    gaps = {other: table.loc[table["p_holm"] < 0.05, ["mode", "mean"]].to_numpy() for other, table in tests.items()}
    packages = ", ".join(f"{package} {version(package)}" for package in ("insdel", "numpy", "pandas"))
    template = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    page = Template(template, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined).render(
        title=title, reference=reference.partition(":")[0], pairs=pairs, settings=comparison.settings, ranked=ranked,
        names=pairs.names or [f"feature {j}" for j in range(pairs.n)], searched=(summary["best_is"] == "search").any(),
        versions=f"{packages}, Python {platform.python_version()}", facts=facts or {}, notes=notes,
        tests=tests, sure={other: dict(found) for other, found in gaps.items() if len(found)},
        brought=[method for method in ranked[1:] if not isinstance(sources[method], str)], cautions=cautions,
        scores={method: rows.set_index("mode") for method, rows in summary.groupby("method", sort=False)},
        name=method_title, grade=_grade, modes=list(dict.fromkeys(summary["mode"])),
        plot=_svg(plot_comparison, comparison), walks=_walks(comparison, ranked),
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, page)
    return path


def _grade(rows: pd.DataFrame) -> str:
    """In words, how good the scores of a method are."""
    errors = rows["score_se"].fillna(0)
    low, high = float((rows["score"] - 2 * errors).min()), float((rows["score"] + 2 * errors).max())
    return (
        "clearly worse than random rankings" if high < 0 else "hardly better than random rankings" if low <= 0
        else "close to the best that any ranking can reach" if low > 0.9 else "clearly better than random rankings"
    )  # fmt: skip


def _walks(comparison: Any, ranked: list[str]) -> list[tuple[Any, str, np.ndarray, str]]:
    """Walks of the rows in which the best method scores low, middling and high, and what they show."""
    table, walks = comparison.table, []
    scores = table[table["method"].isin(ranked[:1])].groupby("row", sort=False)["score"].mean().dropna().sort_values()
    places = np.linspace(0, len(scores) - 1, min(len(WALKS), len(scores))).round().astype(int)
    for row, words in zip(scores.index[places], WALKS, strict=False):
        curve = next(iter(comparison.curves(row)[0].values()))
        words = words if len(places) == len(WALKS) else ""
        walks.append((row, words, curve, _svg(plot_walk, comparison, row)))
    return walks


def _svg(draw: Any, *arguments: Any) -> str:
    """Draw, and return the figure as SVG that takes the page's text colour and background."""
    import matplotlib.pyplot as plt

    ink, lines = PALETTE["black"], len(arguments[0].settings.methods)
    inks = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), ink)
    clear = {f"{part}.facecolor": "none" for part in ("figure", "axes", "savefig")}
    with plt.style.context({**STYLE, **inks, **clear, "svg.fonttype": "path"}):
        height = 1.3 + 0.55 * lines if draw is plot_comparison else 3.3 + 0.2 * lines
        figure, axes = plt.subplots(figsize=(5.2, height))  # a phone shows this width without shrinking it much
        draw(*arguments, axes=axes)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    return text.replace(ink.lower(), "currentColor").replace("#ffffff", "var(--page)")
