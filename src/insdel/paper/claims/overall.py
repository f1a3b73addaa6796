"""What the abstract and the conclusion say of both data sets together."""

from __future__ import annotations

from insdel import stats
from insdel.paper.claims import bangalore, cern, records
from insdel.paper.claims.runs import IG, KS, MODES, SHORT, D, I, Run
from insdel.paper.claims.verdict import (
    LIMITS,
    Figure,
    Finding,
    MissingRecordError,
    above,
    claim,
    claims_in,
    differs,
    judge,
)


def everywhere() -> list[Run]:
    """All recorded comparisons; an error about the houses if none is there."""
    result: list[Run] = []
    for get in (lambda: [bangalore.run()], *(lambda p=policy: cern.runs(p) for policy in cern.ALL)):
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


def _sum(one: Run) -> Figure:
    total = {method: one.columns[method, I] + one.columns[method, D] for method in (KS, IG)}
    value, se = stats.ratio(total[IG], total[KS], one.ends)
    printed = [sum(one.paper((method, mode)) or 0.0 for mode in MODES) for method in (IG, KS)]
    return above(f"share of KS that IG reaches, insertion + deletion ({named(one)})", value, se, 1 - LIMITS["close"],
                 paper=printed[0] / printed[1])  # fmt: skip


@claim(
    "overall-ks-best", "abstract; section 7",
    "Kernel SHAP has the best overall performance in both datasets",
    "cern",
)
def kernel_shap_best() -> Finding:
    """In every experiment and test KS has the largest mean of all methods, or ties with the one that has."""
    used, figures = everywhere(), []
    for one in used:
        for mode in MODES:
            rivals = {method: one.mean((method, mode))[0] for method in cern.RIVALS}
            rival = max(rivals, key=lambda name: rivals[name])
            value, se = one.ratio((KS, mode), (rival, mode))
            text = f"KS over the best other, {SHORT[rival]}, {mode} ({named(one)})"
            printed = one.paper_ratio((KS, mode), (rival, mode))
            figures.append(above(text, value, se, 1 - LIMITS["tie"], paper=printed))
    return judge(figures, "Best, or in a tie with the best.", [one.name for one in used])


@claim("overall-ig-nearly", "abstract; section 7", "IG is nearly as good as Kernel SHAP", "cern")
def ig_nearly() -> Finding:
    """In every experiment and test IG is close to KS."""
    used, figures = everywhere(), []
    for one in used:
        for mode in MODES:
            value, se = one.ratio((IG, mode), (KS, mode))
            text = f"share of KS that IG reaches, {mode} ({named(one)})"
            printed = one.paper_ratio((IG, mode), (KS, mode))
            figures.append(above(text, value, se, 1 - LIMITS["close"], paper=printed))
    return judge(figures, "", [one.name for one in used])


@claim(
    "overall-ig-sum", "section 7",
    "IG closely matches KS for insertion and deletion, so it also matches their sum",
    "cern",
)
def ig_matches_sum() -> Finding:
    """IG is close to KS in the sum of both tests."""
    used = everywhere()
    return judge([_sum(one) for one in used], "", [one.name for one in used])


@claim("overall-tests-differ", "section 7", "Insertion and deletion can differ", "cern")
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


@claim(
    "overall-not-monotone", "section 1",
    "In regression the way from $x$ to $x'$ can be much less monotone",
    "bangalore",
)
def not_monotone() -> Finding:
    """Walks of regression models go up and down: share of recorded curves with steps of both signs."""
    curves = records.table("bangalore", "curves")
    walks = curves[curves["mode"].isin(MODES)].pivot_table(
        index=["what", "method", "mode"], columns="step", values="value"
    )
    steps = walks.diff(axis=1).iloc[:, 1:]
    both = ((steps > 1e-6).any(axis=1) & (steps < -1e-6).any(axis=1)).astype(float)
    text = "share of the drawn curves with steps up and down (houses)"
    return judge([above(text, *stats.mean(both), LIMITS["most"])], "", ["bangalore"])


CLAIMS = claims_in(__name__)
