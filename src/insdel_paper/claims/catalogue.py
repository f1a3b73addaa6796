"""All claims by id: the statements of `claims.yml` with the rules that check them; and the verdicts on any run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from insdel.errors import UserError
from insdel_paper.claims import bangalore, cern, cost, data, images, overall, roar, theory
from insdel_paper.claims.runs import Run
from insdel_paper.claims.verdict import (
    CANNOT,
    HOLDS,
    NOT,
    PART,
    UNDECIDED,
    Claim,
    Finding,
    MissingRunError,
    NoNumberError,
    Rule,
)
from insdel_paper.studies import tables, variation

ON_RUNS: dict[str, dict[str, Rule]] = {"bangalore": bangalore.RULES, "cern": cern.RULES}
STATEMENTS: list[dict[str, str]] = yaml.safe_load(Path(__file__).with_name("claims.yml").read_text(encoding="utf-8"))


def houses(rule: Rule) -> Callable[[], Finding]:
    """A rule about a run of houses, on the recorded one."""
    return lambda: rule(bangalore.recorded())


def events(rule: Rule) -> Callable[[], Finding]:
    """A rule about runs of events, on the recorded ones."""
    return partial(rule, cern.recorded)


CHECKS: dict[str, Callable[[], Finding]] = {
    **overall.RULES,
    **theory.RULES,
    **data.RULES,
    **{name: houses(rule) for name, rule in {**bangalore.RULES, **bangalore.TABLE}.items()},
    **{name: events(rule) for name, rule in {**cern.RULES, **cern.OWN}.items()},
    **cern.RECORDED,
    **images.RULES,
    **roar.RULES,
    **cost.RULES,
    **cost.OWN,
}
ALL = [Claim(row["id"], row["where"], row["says"], row["chapter"], CHECKS[row["id"]]) for row in STATEMENTS]
CLAIMS = [claim for claim in ALL if claim.id not in {**cern.OWN, **cost.OWN}]
FINDINGS = [claim for claim in ALL if claim.id in {**cern.OWN, **cost.OWN}]  # of the book, not of the paper
BY_ID = {claim.id: claim for claim in CLAIMS}


def check(name: str, run: Any) -> pd.DataFrame:
    """The paper's claims about an experiment, judged on a run of your own: the rules are those of the page of claims.

    Parameters
    ----------
    name : "bangalore" or "cern"
    run : what `outcome.live` or `outcome.gather` returns; for "cern" {policy: such a run}

    Returns
    -------
    DataFrame by the claim's id: statement, verdict, because
    """
    if name == "bangalore":
        given: Any = live(run, "bangalore")
    elif name == "cern":
        given = selector({policy: live(one, "cern", policy) for policy, one in run.items()})
    else:
        raise UserError(f"claims about runs are those of {' and '.join(ON_RUNS)}; found {name!r}.")
    rows = {}
    for id, rule in ON_RUNS[name].items():
        try:
            finding = Claim(id, "", "", "", partial(rule, given)).finding()
        except NoNumberError:
            finding = Finding(CANNOT, "Too few pairs for one of its numbers.")
        rows[id] = {"statement": BY_ID[id].statement, "verdict": finding.verdict, "because": finding.because}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")


def over_runs(areas: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """In how many runs of the houses each claim about the order of the methods gets which verdict.

    Parameters
    ----------
    areas, pairs : of `variation`: tables of many runs, told apart by the columns `variation.RUN`

    Returns
    -------
    DataFrame by the claim's id: statement and a count for each verdict
    """
    ends, verdicts = dict(list(pairs.groupby(variation.RUN))), []
    for key, table in areas.groupby(variation.RUN):
        one = Run("this run", tables.printed("bangalore"), tables={"areas": table, "pairs": ends[key]})
        verdicts.append({name: bangalore.RULES[name](one).verdict for name in bangalore.ORDER})
    counts = pd.DataFrame(verdicts).apply(pd.Series.value_counts).T
    counts = counts.reindex(columns=[HOLDS, PART, UNDECIDED, NOT]).fillna(0).astype(int).loc[list(bangalore.ORDER)]
    counts.insert(0, "statement", [BY_ID[name].statement for name in counts.index])
    return counts.rename_axis("claim")


def live(run: Any, name: str, policy: str = "") -> Run:
    """The tables of an `outcome.Evidence` as a run that rules can be asked about."""
    parts = {"areas": run.table, "pairs": run.pairs, "curves": run.curves, "charges": run.charges}
    given = {part: table for part, table in parts.items() if table is not None}
    return Run("this run", tables.printed(name, policy), policy, "this run" if policy else "", given)


def selector(runs: Mapping[str, Run]) -> cern.Runs:
    """What gives the runs of some policies; a claim about a policy that was not run cannot be tested."""

    def of(*policies: str) -> list[Run]:
        for policy in policies:
            if policy not in runs:
                raise MissingRunError(f"The {policy.replace('_', '-')} policy was not run")
        return [runs[policy] for policy in policies]

    return of
