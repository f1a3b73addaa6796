"""What the abstract and the conclusion say of both data sets together."""

from __future__ import annotations

import insdel_paper as paper
from insdel import stats
from insdel_paper.claims import bangalore, cern
from insdel_paper.claims.runs import IG, KS, MODES, SHORT, D, I, Run, Side, ratio_of_runs
from insdel_paper.claims.verdict import (
    LIMITS,
    Figure,
    Finding,
    MissingRecordError,
    Rule,
    above,
    differs,
    judge,
)

BY_RUNS = "On the houses the mean over the recorded splits and trainings decides, with the error over the splits."


def everywhere() -> list[Run]:
    """All recorded comparisons; an error about the houses if none is there."""
    result: list[Run] = []
    for get in (lambda: [bangalore.recorded()], *(lambda p=policy: cern.recorded(p) for policy in cern.ALL)):
        try:
            result += get()
        except MissingRecordError as error:
            missing = error
    if not result:
        raise missing
    return result


def named(one: Run) -> str:
    """Which data and policy, for labels."""
    return one.kind or "houses"


def reaches(one: Run, a: Side, b: Side, text: str, word: str) -> Figure:
    """The mean of a falls short of that of b by at most what a word allows; on houses over all splits and trainings."""
    where, printed = f"{text}, {a[1]} ({named(one)})", one.paper_ratio(a, b)
    runs = ratio_of_runs(a, b) if one.name == "bangalore" else None
    value, se, df = runs or (*one.ratio(a, b), None)
    return above(where, value, se, 1 - LIMITS[word], paper=printed, df=df)


def _sum(one: Run) -> Figure:
    total = {method: one[method, I] + one[method, D] for method in (KS, IG)}
    value, se = stats.ratio(total[IG], total[KS], one.ends)
    printed = [sum(one.paper((method, mode)) or 0.0 for mode in MODES) for method in (IG, KS)]
    return above(f"share of KS that IG reaches, insertion + deletion ({named(one)})", value, se, 1 - LIMITS["close"],
                 paper=printed[0] / printed[1])  # fmt: skip


def kernel_shap_best() -> Finding:
    """In every experiment and test KS has the largest mean of all methods, or ties with the one that has."""
    used, figures = everywhere(), []
    for one in used:
        for mode in MODES:
            rivals = {method: one.mean((method, mode))[0] for method in cern.RIVALS}
            rival = max(rivals, key=lambda name: rivals[name])
            figures.append(reaches(one, (KS, mode), (rival, mode), f"KS over the best other, {SHORT[rival]}", "tie"))
    return judge(figures, f"Best, or in a tie with the best. {BY_RUNS}", [one.name for one in used])


def ig_nearly() -> Finding:
    """In every experiment and test IG is close to KS."""
    used = everywhere()
    text = "share of KS that IG reaches"
    figures = [reaches(one, (IG, mode), (KS, mode), text, "close") for one in used for mode in MODES]
    return judge(figures, BY_RUNS, [one.name for one in used])


def ig_matches_sum() -> Finding:
    """IG is close to KS in the sum of both tests."""
    used = everywhere()
    return judge([_sum(one) for one in used], "", [one.name for one in used])


def tests_differ() -> Finding:
    """Insertion and deletion give KS different means."""
    used, figures = everywhere(), []
    for one in used:
        value, se = one.difference((KS, I), (KS, D))
        margin = LIMITS["tie"] * max(abs(one.mean((KS, mode))[0]) for mode in MODES)
        text = f"KS, insertion minus deletion ({named(one)})"
        figures.append(differs(text, value, se, margin, paper=one.paper((KS, I), (KS, D))))
    because = f"By more than a tie, {LIMITS['tie']:.0%} of the larger mean, in either direction."
    return judge(figures, because, [one.name for one in used])


def not_monotone() -> Finding:
    """Share of pairs in which one of Kernel SHAP's two walks leaves the range between its ends.

    A walk that stays between f(x) and f(x′) has an ABC / n of at most (n − 1) / 2n times their distance.
    """
    one, n = bangalore.recorded(), paper.size("Bangalore: features")
    ends = one.pairs.set_index("pair").loc[one.columns.index]
    most = (n - 1) / (2 * n) * (ends["f_reference"] - ends["f_x"]).abs()
    outside = (one.columns[[(KS, mode) for mode in MODES]].max(axis=1) > most).astype(float)
    text = "share of pairs in which a walk of KS must leave the range between its ends (houses)"
    because = "A walk inside that range has an ABC / n of at most about half the distance of its ends."
    return judge([above(text, *one.average(outside), LIMITS["most"])], because, ["bangalore"])


RULES: dict[str, Rule] = {
    "overall-ks-best": kernel_shap_best,
    "overall-ig-nearly": ig_nearly,
    "overall-ig-sum": ig_matches_sum,
    "overall-tests-differ": tests_differ,
    "overall-not-monotone": not_monotone,
}
