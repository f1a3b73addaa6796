"""All claims by id: the rows of `claims.yml`, carried out on the records or on a run of your own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

from insdel.errors import UserError
from insdel.store import replace as replace_file
from insdel_paper import results
from insdel_paper.claims import breadth, comparisons, cost, data, images, records, roar, runs, theory
from insdel_paper.claims.runs import POLICIES, Run
from insdel_paper.claims.verdict import (
    CANNOT,
    HOLDS,
    LIMITS,
    NOT,
    PART,
    RULES,
    UNDECIDED,
    Claim,
    Figure,
    Finding,
    MissingRunError,
    NoNumberError,
    judge,
)
from insdel_paper.studies import variation

MODULES = (breadth, comparisons, cost, data, images, roar, theory)  # where the rules are
HERE = Path(__file__).parent
STATED, NUMBERS = HERE / "stated.json", "numbers.json"
ROWS: list[dict[str, Any]] = yaml.safe_load((HERE / "claims.yml").read_text(encoding="utf-8"))
SUBJECTS = {"bangalore": ("houses",), "cern": POLICIES, "roar": ("roar",)}  # what the claims about an experiment are on
Given = Mapping[str, Any]  # subject → run; for ROAR, task → table


def derived(row: Mapping[str, Any], given: Given | None = None) -> Finding:
    """The finding about a row of `claims.yml`, on the recorded runs, or on those that are given."""
    with records.noted() as asked:
        answers = [[answer] if isinstance(answer, Finding) else list(answer) for answer in _answers(row, given)]
    parts = [part for answer in answers for part in answer]
    sentences = [_with_limits(row.get("because", "")), *(part for part in parts if isinstance(part, str))]
    because = " ".join(filter(None, dict.fromkeys(sentences)))
    for found in parts:
        if isinstance(found, Finding):
            because = " ".join(filter(None, [because, found.because]))
            return replace(found, because=because, evidence=tuple(dict.fromkeys([*found.evidence, *asked])))
    return judge((part for part in parts if isinstance(part, Figure)), because, asked or row.get("from", ()))


def _answers(row: Mapping[str, Any], given: Given | None) -> Iterable[Any]:
    """What the rules of a row answer: for each run those about one, then those about all of them."""
    steps = [_step(step) for step in (row["check"] if isinstance(row["check"], list) else [row["check"]])]
    subjects = row.get("about", [])
    if subjects == "roar":
        yield from (rule(roar.Losses(given)) for rule, _ in steps)
        return
    found = _runs(subjects, given)
    always = subjects == "everywhere"
    rules = [rule for rule, needs in steps if needs == "run"]
    yield from (comparisons.with_data(run, rule(run), always) for run in found for rule in rules)
    yield from (rule(found) if needs else rule() for rule, needs in steps if needs != "run")


def _step(step: str | dict[str, Any]) -> tuple[Callable[..., Any], str]:
    """A rule with the arguments of its row, and what else it needs."""
    [(name, given)] = step.items() if isinstance(step, dict) else [(step, {})]
    rule, needs = RULES[name]
    words = given if isinstance(given, dict) else {}
    values = [] if isinstance(given, dict) else comparisons.listed(given)
    return lambda *first: rule(*first, *values, **words), needs


def _runs(subjects: str | list[str], given: Given | None) -> list[Run]:
    """The runs that a claim is about; "everywhere" is all that are recorded."""
    if subjects == "everywhere":
        every = ["houses", *POLICIES]
        subjects = [subject for subject in every if any(map(results.exists, runs.names(subject)))] or every[:1]
    result: list[Run] = []
    for subject in comparisons.listed(subjects):
        if given is None:
            result += runs.recorded(subject)
        elif subject in given:
            result.append(given[subject])
        else:
            raise MissingRunError(f"The {runs.WORDS[subject]} policy was not run")
    return result


def _with_limits(text: str) -> str:
    """The limits of words that stand in braces."""
    for word, limit in LIMITS.items():
        text = text.replace(f"{{{word}}}", f"{100 * limit:g}%")
    return text


ALL = [Claim(row["id"], row["where"], row["says"], row["chapter"], partial(derived, row)) for row in ROWS]
CLAIMS = [claim for claim in ALL if claim.where != "this book"]
FINDINGS = [claim for claim in ALL if claim.where == "this book"]  # no statements of the paper
BY_ID = {claim.id: claim for claim in CLAIMS}


class Sentence(NamedTuple):
    """A sentence of the abstract or the conclusion, and the ids of its claims; none where it only sets the scene."""

    where: str
    text: str
    claims: tuple[str, ...]


_TEXTS = yaml.safe_load((HERE / "sentences.yml").read_text(encoding="utf-8"))
SENTENCES = [Sentence(row["where"], row["text"], tuple(row["claims"])) for row in _TEXTS["sentences"]]
HEADLINES: list[tuple[str, dict[str, str]]] = [(row["text"], row["verdicts"]) for row in _TEXTS["headlines"]]


def all_claims() -> list[Claim]:
    """Return every claim of the paper, each with its place, its statement and a check on recorded results."""
    return list(CLAIMS)


def check(name: str, run: Any) -> pd.DataFrame:
    """The paper's claims about an experiment, judged on a run of your own: the rules are those of the page of claims.

    Parameters
    ----------
    name : "bangalore", "cern" or "roar"
    run : what `outcome.live` or `outcome.gather` returns; for "cern" {policy: such a run}; for "roar" {task: table of
        `removal.run`}

    Returns
    -------
    DataFrame by the claim's id: statement, verdict, because, figures
    """
    if name not in SUBJECTS:
        raise UserError(f"claims about runs are those of bangalore, cern and roar; found {name!r}.")
    tasks = {"houses": run} if name == "bangalore" else dict(run)
    given: Given = tasks if name == "roar" else {subject: live(one, subject) for subject, one in tasks.items()}
    rows = {}
    for row in ROWS:
        subjects = comparisons.listed(row.get("about", []))
        if row["id"] in BY_ID and subjects and set(subjects) <= set(SUBJECTS[name]):
            try:
                finding = replace(BY_ID[row["id"]], check=partial(derived, row, given)).finding()
            except NoNumberError:
                finding = Finding(CANNOT, "Too few pairs for one of its numbers.")
            rows[row["id"]] = {"statement": row["says"], **{key: getattr(finding, key) for key in
                                                           ("verdict", "because", "figures")}}  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")


def numbers_behind(figures: Mapping[str, Iterable[Figure]] | pd.Series) -> pd.DataFrame:
    """The numbers behind verdicts by claim and label: ours, se, paper, required, verdict.

    figures : id of the claim → figures of its finding
    """
    rows = [{"claim": name, **vars(figure)} for name, shown in figures.items() for figure in shown]
    columns = {"label": "number", "rule": "required"}
    table = pd.DataFrame(rows, columns=["claim", "label", "ours", "se", "paper", "rule", "verdict"])
    numbers = table.rename(columns=columns).set_index(["claim", "number"])
    return numbers.astype({"ours": float, "se": float, "paper": float})


def live(run: Any, subject: str) -> Run:
    """The tables of an `outcome.Outcome` as a run that rules can be asked about."""
    parts = {"areas": run.table, "pairs": run.pairs, "curves": run.curves, "charges": run.charges}
    given = {part: table for part, table in parts.items() if table is not None}
    return Run("this run", subject, "" if subject == "houses" else "this run", given)


def over_runs(areas: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """In how many runs of the houses each claim about the order of the methods gets which verdict.

    Parameters
    ----------
    areas, pairs : of `variation`: tables of many runs, told apart by the columns `variation.RUN`

    Returns
    -------
    DataFrame by the claim's id: statement and a count for each verdict
    """
    about_order = {*comparisons.RELATIONS, "survives"}  # rules that need nothing of a run but areas and pairs
    houses = [row for row in ROWS if row.get("about") == "houses" and isinstance(row["check"][0], dict)]
    rows = [row for row in houses if {name for step in row["check"] for name in step} <= about_order]
    ends, verdicts = dict(list(pairs.groupby(variation.RUN))), []
    for key, table in areas.groupby(variation.RUN):
        run = Run("this run", "houses", tables={"areas": table, "pairs": ends[key]})
        verdicts.append({row["id"]: derived(row, {"houses": run}).verdict for row in rows})
    counts = pd.DataFrame(verdicts).apply(pd.Series.value_counts).T.reindex(columns=[HOLDS, PART, UNDECIDED, NOT])
    counts = counts.fillna(0).astype(int).rename_axis("claim")
    counts.insert(0, "statement", [row["says"] for row in rows])
    return counts


# The verdicts that the book states and the numbers behind them, beside those that the records give now.


def derive(claims: Iterable[Claim]) -> dict[str, Finding]:
    """Derive the finding of every claim, by id."""
    return {claim.id: claim.finding() for claim in claims}


def stated(path: Path = STATED) -> dict[str, str]:
    """Verdicts as stated, by the id of the claim."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def state(findings: Mapping[str, Finding], path: Path = STATED) -> Path:
    """Write the derived verdicts as the stated ones, and beside them their numbers."""
    verdicts = {name: finding.verdict for name, finding in findings.items()}
    for file, content in ((path, verdicts), (path.with_name(NUMBERS), numbers(findings))):
        replace_file(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def numbers(findings: Mapping[str, Finding]) -> dict[str, dict[str, float | None]]:
    """Our numbers by claim and label, to six digits; processors differ in the last ones."""
    return {
        name: {f.label: None if f.ours is None else float(f"{f.ours:.6g}") for f in finding.figures}
        for name, finding in findings.items()
    }


def disagreements(findings: Mapping[str, Finding], known: Mapping[str, str]) -> list[str]:
    """One line for each claim whose derived verdict is not the stated one, and for claims stated but gone."""
    lines = [
        f"{name}: stated “{known.get(name, 'nothing')}”, but the records say “{finding.verdict}”. {finding.because}"
        for name, finding in findings.items()
        if known.get(name) != finding.verdict
    ]
    return lines + [f"{name}: stated, but there is no such claim" for name in known if name not in findings]
