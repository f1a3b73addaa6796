"""A comparison as one self-contained HTML page that someone who writes no code can read."""

from __future__ import annotations

import io
import platform
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel.attribution import METHODS
from insdel.comparison_plots import method_title, plot_comparison, plot_walk
from insdel.errors import UserError
from insdel.plots import PALETTE, STYLE
from insdel.store import replace

WALKS = ("where the best explanation ranks worst", "where it ranks about average", "where it ranks best")
CONTROLS = ("random", "expected", "best")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark; --text: #1a1a1a; --page: #fff; --line: #ccc; --soft: #f3f5f7; }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ --text: #e8e8e8; --page: #16181b; --line: #444; --soft: #22262b; }} }}
@media print {{ :root {{ color-scheme: light; }} body {{ margin: 0 !important; font-size: 11pt !important; }} }}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }}
h1 {{ font-size: 1.6rem; line-height: 1.25; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; break-after: avoid; }}
.answer {{ background: var(--soft); border-left: 4px solid #0072B2; padding: .3rem 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; font-size: .93rem; }}
th, td {{ border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: right; font-weight: normal; }}
td {{ white-space: nowrap; }}
thead th {{ font-weight: 600; }} th:first-child, td:first-child {{ text-align: left; }}
.scroll {{ overflow-x: auto; }} figure {{ margin: 1.2rem 0; break-inside: avoid; }}
figure svg {{ display: block; width: 100%; max-width: 40rem; height: auto; margin: 0 auto; }}
figcaption, .small {{ font-size: .9rem; opacity: .85; }}
dt {{ font-weight: 600; }} dd {{ margin: 0 0 .5rem; }}
</style></head><body>
<h1>{title}</h1>
<div class="answer">{answer}</div>
<h2>What was tested</h2>
<p>An explanation of a prediction ranks the features by what they contribute. Here each ranking was put to a test. The
features of a row were replaced one by one by those of {reference}, in the order that the ranking proposes, and the
model predicted after each step. A good ranking lets the prediction rise as early as possible (<em>insertion</em>) and,
used from its other end, fall as early as possible (<em>deletion</em>).</p>
<h2>How good is each explanation?</h2>
<figure>{plot}<figcaption>A score of 0 is what random rankings reach on average, 1 is the best of all rankings. Small
dots are single rows; large marks are the score of all rows together, with two standard errors.</figcaption></figure>
<div class="scroll">{table}</div>
{tests}
<h2>{walks_title}</h2>
{walks}
<h2>What this does not mean</h2>
<ul>
<li>A high score means that a ranking orders features by their effect on this model. It does not mean that the model is
right, or that the features cause the outcome.</li>
<li>The score depends on what features are replaced by. Another reference asks another question.</li>
<li>A row whose features are half replaced may look like no real case, and the model was not fitted to such rows.</li>
<li>The standard errors describe the choice of rows. They do not describe another model or other data.</li>
</ul>
<h2>Settings</h2>
<dl>{settings}</dl>
</body></html>
"""


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
    if not comparison.plan.score:
        raise UserError("a report needs scores, but this comparison was made with score=False. Leave that out.")
    check_name(path)
    page = render(comparison, title, facts or {}, notes, cautions, reference)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, page)
    return path


def render(
    comparison: Any, title: str, facts: Mapping[str, str], notes: Sequence[str] = (), cautions: Sequence[str] = (),
    reference: str = "",
) -> str:  # fmt: skip
    """Return the page as text."""
    summary = comparison.summary(bootstrap=0)
    ranked = _ranked(summary)
    background = comparison.pairs.background
    reference = reference.partition(":")[0] or (
        "a reference row" if background is None else f"the average over {len(background)} background rows"
    )
    rows = _typical_rows(comparison, ranked)
    return PAGE.format(
        title=escape(title), reference=escape(reference), answer=_answer(comparison, summary, ranked, cautions),
        plot=_svg(plot_comparison, comparison), table=_table(summary), tests=_tests(comparison, ranked),
        walks="".join(_walk(comparison, row, words) for row, words in rows.items()),
        walks_title="One row, step by step" if len(rows) == 1 else f"{len(rows)} rows, step by step",
        settings=_settings(comparison, summary, facts, notes),
    )  # fmt: skip


def _ranked(summary: pd.DataFrame) -> list[str]:
    """Methods by their mean score over both tests, best first; controls left out, unless there is nothing else."""
    rows = summary[~summary["method"].isin(CONTROLS)]
    rows = summary if rows.empty else rows
    scores = rows.groupby("method", sort=False)["score"].mean().dropna()
    return list(scores.sort_values(ascending=False, kind="stable").index)


def _answer(comparison: Any, summary: pd.DataFrame, ranked: list[str], cautions: Sequence[str]) -> str:
    """Who ranks best, how good that is and how sure, and the same of explanations that the user brought."""
    if not ranked:
        return "<p>Every ranking scores the same in all rows, so no ranking is better than another.</p>"
    first, count = ranked[0], len(comparison.pairs)
    ties = [m for m in ranked[1:] if not (comparison.test(first, m)["p_holm"] < 0.05).any()]
    names = " and ".join(escape(method_title(m)) for m in [first, *ties])
    verb = f"rank the features best; these {count} rows cannot tell them apart" if ties else "ranks the features best"
    text = [f"<strong>{names} {verb}.</strong> {_grade(summary, first)} (0 is chance, 1 is the best possible)."]
    others = [m for m in ranked[1:] if m not in ties]
    if others:
        text.append(f"{escape(method_title(others[0]))} follows. {_sure(comparison, first, others[0])}")
    text += [_grade(summary, m) + "." for m in ranked[1:] if m not in METHODS]
    text += [f"<strong>Caution.</strong> {escape(caution)}" for caution in cautions]
    return "".join(f"<p>{part}</p>" for part in text)


def _grade(summary: pd.DataFrame, method: str) -> str:
    """The scores of a method, and in words how good they are."""
    rows = summary[summary["method"] == method]
    errors = rows["score_se"].fillna(0)
    low, high = float((rows["score"] - 2 * errors).min()), float((rows["score"] + 2 * errors).max())
    words = (
        "clearly worse than random rankings" if high < 0 else "hardly better than random rankings" if low <= 0
        else "close to the best that any ranking can reach" if low > 0.9 else "clearly better than random rankings"
    )  # fmt: skip
    scores = " and ".join(f"{_plus(*row[1:])} in {row[0]}" for row in rows[["mode", "score", "score_se"]].to_numpy())
    return f"{escape(method_title(method))} scores {scores}: {words}"


def _sure(comparison: Any, first: str, second: str) -> str:
    """Whether the rows can tell the first method from the second, in words."""
    test = comparison.test(first, second)
    sure = test["p_holm"] < 0.05
    ahead, behind = (list(test.loc[sure & part, "mode"]) for part in (test["mean"] > 0, test["mean"] < 0))
    if behind:
        return f"In {' and '.join(behind)}, however, it is the better one of the two (p &lt; 0.05)."
    where = "in every test" if len(ahead) == len(test) else f"in {' and '.join(ahead)} only"
    return f"The difference is larger than the choice of rows explains, {where} (p &lt; 0.05)."


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first cell of every row names it."""
    top = "".join(f"<th scope='col'>{name}</th>" for name in head)
    body = "".join(f"<tr><th scope='row'>{row[0]}</th>{''.join(f'<td>{c}</td>' for c in row[1:])}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _table(summary: pd.DataFrame) -> str:
    """Score of every method in every test."""
    modes, rows = list(dict.fromkeys(summary["mode"])), summary.set_index(["method", "mode"])
    body = [
        [escape(method_title(m)), *(_plus(*rows.loc[(m, mode), ["score", "score_se"]]) for mode in modes)]
        for m in dict.fromkeys(summary["method"])
    ]
    return _grid(["score ± standard error", *modes], body)


def _plus(value: float, se: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}" + f" ± {se:.2f}" * (se == se)


def _tests(comparison: Any, ranked: list[str]) -> str:
    """The best explanation against each of the others."""
    rows = [row for other in ranked[1:] for row in comparison.test(ranked[0], other).to_dict("records")]
    if not rows:
        return ""
    body = [
        [escape(" − ".join(map(method_title, str(row["difference"]).split(" − ")))), row["mode"], f"{row['mean']:.3g}",
         f"{row['low']:.3g} to {row['high']:.3g}", f"{row['p_holm']:.2g}" if row["p_holm"] >= 1e-4 else "&lt; 0.0001"]
        for row in rows
    ]  # fmt: skip
    grid = _grid(["difference of areas", "test", "mean", "95 % interval", "p (Holm)"], body)
    return f"<h2>Is the best one really better?</h2><div class='scroll'>{grid}</div>"


def _typical_rows(comparison: Any, ranked: list[str]) -> dict[Any, str]:
    """Rows of x in which the best method scores low, middling and high, and in words which is which."""
    table = comparison.table
    scores = table[table["method"].isin(ranked[:1])].groupby("row", sort=False)["score"].mean().dropna().sort_values()
    count = min(len(WALKS), len(scores))
    places = np.linspace(0, len(scores) - 1, count).round().astype(int)
    return dict(zip(scores.index[places], WALKS if count == 3 else [""] * count, strict=True))


def _walk(comparison: Any, row: Any, words: str) -> str:
    """The walk of one row and what it shows."""
    curve = np.asarray(next(iter(comparison.curves(row)[0].values())))
    caption = f"Row {escape(str(row))}{', ' * bool(words)}{words}. The model predicts {curve[0]:.4g} for it, and "
    caption += f"{curve[-1]:.4g} once all features are replaced. The earlier a line rises, the better its ranking."
    return f"<figure>{_svg(plot_walk, comparison, row)}<figcaption>{caption}</figcaption></figure>"


def _settings(comparison: Any, summary: pd.DataFrame, facts: Mapping[str, str], notes: Sequence[str]) -> str:
    pairs, plan = comparison.pairs, comparison.plan
    names = [str(name) for name in pairs.names or [f"feature {j}" for j in range(pairs.n)]]
    searched = (summary["best_is"] == "search").any()
    background = pairs.background
    lines = {"Graded rows": str(len(pairs)), "Reference": "given by the user", **facts}
    if background is not None and "Reference" not in facts:
        lines["Reference"] = f"the average over {len(background)} rows"
    lines["Features or groups"] = f"{pairs.n}: {', '.join(names[:40])}{' …' * (pairs.n > 40)}"
    lines["Explanations"] = ", ".join(map(method_title, plan.methods))
    lines["Best ranking"] = "found by a search, so scores may be too high" if searched else "exact, of all rankings"
    lines["Uncertainty"] = "± is one standard error and counts rows that pairs share; p is adjusted by Holm's method"
    lines["Seed"] = str(plan.seed)
    packages = ", ".join(f"{name} {version(name)}" for name in ("insdel", "numpy", "pandas"))
    lines["Versions"] = f"{packages}, Python {platform.python_version()}"
    if notes:
        lines["What was noticed"] = " ".join(notes)
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines.items())


def _svg(draw: Any, *arguments: Any) -> str:
    """Draw, and return the figure as SVG that takes the page's text colour and background."""
    import matplotlib.pyplot as plt

    ink, lines = PALETTE["black"], len(arguments[0].plan.methods)
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
