"""A comparison as one self-contained HTML page that someone who writes no code can read."""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel.comparison_plots import method_title, plot_comparison, plot_walk
from insdel.errors import UserError
from insdel.plots import STYLE
from insdel.stats import plus_minus

WALKS = 3
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark; --text: #1a1a1a; --page: #fff; --line: #ccc; --soft: #f3f5f7; }}
@media (prefers-color-scheme: dark) {{ :root {{ --text: #e8e8e8; --page: #16181b; --line: #444; --soft: #22262b; }} }}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; line-height: 1.25; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; }}
.answer {{ background: var(--soft); border-left: 4px solid #0072B2; padding: .7rem 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }}
th, td {{ border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: right; }}
th:first-child, td:first-child {{ text-align: left; }}
.scroll {{ overflow-x: auto; }} figure {{ margin: 1rem 0; break-inside: avoid; }}
figure svg {{ width: 100%; height: auto; background: #fff; border-radius: 4px; }}
figcaption, .small {{ font-size: .9rem; opacity: .85; }}
@media print {{ body {{ margin: 0; max-width: none; }} }}
</style></head><body>
<h1>{title}</h1>
<p>Every explanation ranks the features of a prediction. Here each ranking was put to a test: starting from a row of the
data, its features were replaced one by one by those of {reference}, in the order that the ranking proposes. A good
ranking makes the prediction rise as early as possible (insertion), and fall as early as possible (deletion).</p>
<div class="answer">{answer}</div>
<h2>How good is each explanation?</h2>
<figure>{plot}<figcaption>Scores: 0 is what random rankings reach on average, 1 is the best of all rankings. Small dots
are single rows; large dots are the whole, with two standard errors.</figcaption></figure>
<div class="scroll">{table}</div>
{tests}
<h2>{walks_title}</h2>
{walks}
<h2>Settings</h2>
<ul>{settings}</ul>
<h2>What this does not mean</h2>
<ul>
<li>A high score says that a ranking orders features by their effect on this model. It does not say that the model is
right, or that the features cause the outcome.</li>
<li>The score depends on the reference that features are replaced by. Another reference asks another question.</li>
<li>Rows that mix two rows of the data may look like no real case; the model was not fitted to them.</li>
<li>The standard errors describe the choice of rows. They do not describe another model or other data.</li>
</ul>
</body></html>
"""


def write_report(comparison: Any, path: Path, title: str) -> Path:
    """Write the page, whole or not at all, and return where it is."""
    if not comparison.plan.score:
        raise UserError("a report needs scores, but this comparison was made with score=False. Leave that out.")
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"a report is an HTML page; name it so: {path.with_suffix('.html')}, not {path.name}.")
    page = render(comparison, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(page, encoding="utf-8")
    partial.replace(path)
    return path


def render(comparison: Any, title: str) -> str:
    """Return the page as text."""
    summary = comparison.summary(bootstrap=0)
    rows = _typical_rows(comparison)
    walks = "".join(
        f"<figure>{_svg(plot_walk, comparison, row)}<figcaption>Row {escape(str(row))}: predictions while features are "
        "replaced. The legend names the features that each ranking replaces first.</figcaption></figure>"
        for row in rows
    )
    background = comparison.pairs.background
    reference = "a reference row" if background is None else f"{len(background)} background rows, averaged"
    return PAGE.format(
        title=escape(title), reference=reference, answer=_answer(comparison, summary), walks=walks,
        plot=_svg(plot_comparison, comparison), table=_table(summary), tests=_tests(comparison, summary),
        walks_title=f"{len(rows)} rows, step by step", settings=_settings(comparison, summary),
    )  # fmt: skip


def _ranked(summary: pd.DataFrame) -> list[str]:
    """Methods by their mean score over both tests, best first; references left out."""
    rows = summary[~summary["method"].isin(["best", "expected"])]
    scores = rows.groupby("method", sort=False)["score"].mean().dropna()
    return list(scores.sort_values(ascending=False, kind="stable").index)


def _answer(comparison: Any, summary: pd.DataFrame) -> str:
    """One paragraph: who ranks best, how sure that is."""
    ranked = _ranked(summary)
    if not ranked:
        return "In all rows every ranking scores the same, so no ranking is better than another."
    mean = summary.groupby("method")["score"].mean()
    first = ranked[0]
    text = f"<strong>{escape(method_title(first))}</strong> ranks best, with a mean score of {mean[first]:.2f}."
    if len(ranked) == 1:
        return text
    test = comparison.test(first, ranked[1])
    sure = int((test["p_holm"] < 0.05).sum())
    text += f" Next is {escape(method_title(ranked[1]))} with {mean[ranked[1]]:.2f}. "
    verdicts = {
        0: "The difference is within what the choice of rows can explain.",
        len(test): "The difference is larger than the choice of rows explains, in every test (p &lt; 0.05, Holm).",
    }
    text += verdicts.get(sure, "The difference is larger than chance explains in one test only (p &lt; 0.05, Holm).")
    poor = [m for m in ranked if mean[m] < 0.1]
    if poor:
        text += f" Hardly better than random, or worse: {escape(', '.join(map(method_title, poor)))}."
    return text


def _table(summary: pd.DataFrame) -> str:
    """Score and area of every method, one row each."""
    modes = list(dict.fromkeys(summary["mode"]))
    head = "".join(f"<th scope='col'>{mode}: score</th><th scope='col'>area (ABC)</th>" for mode in modes)
    body = []
    for method in dict.fromkeys(summary["method"]):
        cells = ""
        for mode in modes:
            row = summary[(summary["method"] == method) & (summary["mode"] == mode)].iloc[0]
            cells += f"<td>{_plus(row['score'], row['score_se'])}</td><td>{_plus(row['mean'], row['se'])}</td>"
        body.append(f"<tr><th scope='row'>{escape(method_title(method))}</th>{cells}</tr>")
    top = f"<thead><tr><th scope='col'>explanation</th>{head}</tr></thead>"
    return f"<table>{top}<tbody>{''.join(body)}</tbody></table>"


def _plus(value: float, se: float) -> str:
    if np.isnan(value):
        return "–"
    return plus_minus(value, se) if se == se else f"{value:.3g}"


def _tests(comparison: Any, summary: pd.DataFrame) -> str:
    """The best explanation against each of the others."""
    ranked = _ranked(summary)
    rows = [row for other in ranked[1:] for row in comparison.test(ranked[0], other).to_dict("records")]
    if not rows:
        return ""
    body = "".join(
        f"<tr><th scope='row'>{escape(row['difference'])}</th><td>{row['mode']}</td><td>{row['mean']:.3g}</td>"
        f"<td>{row['low']:.3g} to {row['high']:.3g}</td><td>{row['p_holm']:.2g}</td></tr>"
        for row in rows
    )
    titles = ("difference of areas", "test", "mean", "95 %", "p (Holm)")
    head = "".join(f"<th scope='col'>{name}</th>" for name in titles)
    return f"<h2>Is the best one really better?</h2><div class='scroll'><table><tr>{head}</tr>{body}</table></div>"


def _typical_rows(comparison: Any) -> list[Any]:
    """Rows of x whose best score is low, middling and high."""
    table = comparison.table
    scores = table[~table["method"].isin(["best", "expected"])].groupby("pair")["score"].max().dropna().sort_values()
    if not len(scores):
        return []
    places = np.unique(np.linspace(0, len(scores) - 1, min(WALKS, len(scores))).round().astype(int))
    names = table.drop_duplicates("pair").set_index("pair")["row"]
    return [names[pair] for pair in scores.index[places]]


def _settings(comparison: Any, summary: pd.DataFrame) -> str:
    pairs, plan = comparison.pairs, comparison.plan
    names = pairs.names or [f"feature {j}" for j in range(pairs.n)]
    searched = (summary["best_is"] == "search").any()
    lines = [
        f"{len(pairs)} rows, {pairs.n} features or groups: {', '.join(map(str, names[:40]))}{' …' * (pairs.n > 40)}",
        f"explanations: {', '.join(map(method_title, plan.methods))}; seed {plan.seed}",
        "best ranking: " + ("found by search, so scores may be too high" if searched else "exact, of all rankings"),
        "standard errors count rows that are shared between pairs; p-values are adjusted by Holm's method",
    ]
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def _svg(draw: Any, *arguments: Any) -> str:
    """Draw, and return the figure as SVG that can stand inside a page."""
    import matplotlib.pyplot as plt

    with plt.style.context({**STYLE, "svg.fonttype": "path"}):
        figure = draw(*arguments).figure
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight")
        plt.close(figure)
    text = buffer.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
