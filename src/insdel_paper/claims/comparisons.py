"""Rules about comparisons of methods  [sections 5.1 and 5.2; the abstract and section 7 on both data sets].

A rule gets one run, or the runs of all data that a claim is about, and the arguments of its row in `claims.yml`; it
returns numbers with their verdicts, and sentences for the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import skew as skewness

import insdel_paper as paper
from insdel import stats
from insdel.stats import Number, PairIds
from insdel_paper.claims import records, runs
from insdel_paper.claims.runs import AVERAGE, CF, IG, KS, MODES, OTO, POLICIES, RANDOM, D, I, Run, Side, label
from insdel_paper.claims.verdict import (
    LIMITS,
    Answer,
    Figure,
    MissingRunError,
    above,
    below,
    differs,
    equal,
    plausible,
    repeats,
    rule,
    within,
)
from insdel_paper.data.cern import CHARGES
from insdel_paper.studies import variation

Names = str | Sequence[str]


def listed(names: Any) -> list[Any]:
    """One name (or number) or several, as a list."""
    return list(names) if isinstance(names, list | tuple) else [names]


def with_data(run: Run, figures: Answer, always: bool = False) -> Answer:
    """The same numbers with the data they are about in their labels; houses are named only if asked for."""
    kind = f" ({run.kind})" if always or run.subject != "houses" else ""
    return (replace(part, label=part.label + kind) if isinstance(part, Figure) else part for part in figures)


def couples(
    of: Names = (), than: Names = (), tests: Names = MODES, against: str = "", chain: Names = (), among: Names = ()
) -> Iterator[tuple[Side, Side]]:
    """Two methods in a test, for every test.

    of, than : each of the first beside each of the second; without `than` each beside itself in the test `against`
    chain : each beside the next; among : all couples
    """
    methods = [(a, b) for a in listed(of) for b in (listed(than) or [a])]
    methods += [*pairwise(listed(chain)), *combinations(listed(among), 2)]
    for mode in listed(tests):
        yield from (((runs.METHOD[a], mode), (runs.METHOD[b], against or mode)) for a, b in methods)


# Relations of two means: each as a number of a run, and as true or false of means alone.


def larger(run: Run, a: Side, b: Side) -> Figure:
    """The paired difference a − b is positive."""
    text = f"{label(a)}, minus {label(b) if a[1] != b[1] else runs.SHORT[b[0]]}"
    value, se = run.difference(a, b)
    if (a[0], b[0]) == (KS, IG) and a[1] == b[1] and (paper.DIFFERENCE, a[1]) in run.printed.index:
        mean, error = run.printed.loc[(paper.DIFFERENCE, a[1])]
        return above(text, value, se, paper=float(mean), paper_se=float(error))
    return above(text, value, se, paper=run.paper(a, b))


def close(run: Run, a: Side, b: Side, word: str = "close") -> Figure:
    """The mean of a falls short of that of b by at most what the word allows."""
    return above(*_share(run, a, b), 1 - LIMITS[word], paper=run.paper_ratio(a, b))


def short(run: Run, a: Side, b: Side, word: str = "poor") -> Figure:
    """The mean of a falls short of that of b by at least what the word says."""
    return below(*_share(run, a, b), 1 - LIMITS[word], paper=run.paper_ratio(a, b))


def _share(run: Run, a: Side, b: Side) -> tuple[str, float, float]:
    return f"share of {label(b)} that {runs.SHORT[a[0]]} reaches", *run.ratio(a, b)


def tie(run: Run, a: Side, b: Side) -> Figure:
    """Two means differ by at most what the word tie allows."""
    value, se = run.difference(a, b)
    largest = max(abs(run.mean(side)[0]) for side in (a, b))
    printed = (run.paper(a, b) or 0.0) / max(abs(run.paper(side) or 0.0) for side in (a, b))
    text = f"{label(a)}, minus {runs.SHORT[b[0]]}, as a share"
    return within(text, value / largest, se / largest, LIMITS["tie"], paper=printed)


def alike(run: Run, a: Side, b: Side, word: str = "point by point") -> Figure:
    """The correlation of a and b over the pairs is larger than a limit."""
    return above(f"correlation of {label(a)} with {label(b)}", *run.correlation(a, b), LIMITS[word])


RELATIONS: dict[str, tuple[Callable[..., Figure], Callable[..., bool]]] = {
    "larger": (larger, lambda a, b: a > b),
    "close": (close, lambda a, b, word="close": a >= (1 - LIMITS[word]) * b),
    "short": (short, lambda a, b, word="poor": a <= (1 - LIMITS[word]) * b),
    "tie": (tie, lambda a, b: abs(a - b) <= LIMITS["tie"] * max(a, b)),
}


def relation(make: Callable[..., Figure]) -> None:
    """Enter the rule that asks for a relation of every couple, in these words if any, under these policies if any."""

    @rule("run")
    @wraps(make)
    def of_run(run: Run, only: Names = (), word: str = "", **choice: Any) -> Answer:
        words = {"word": word} if word else {}
        return [make(run, a, b, **words) for a, b in couples(**choice)] if run.subject in (only or runs.WORDS) else []


for _make in (larger, close, short, tie, alike):
    relation(_make)


@rule("run")
def survives(run: Run, text: str, **choice: Any) -> Answer:
    """In which share of the recorded splits and trainings a relation is true of the means; the error is over splits.

    A run of now is judged by itself.

    choice : one relation and its couples
    """
    [(name, given)] = choice.items()
    given = dict(given)
    words = {"word": given.pop("word")} if "word" in given else {}
    pairs, holds = list(couples(**given)), RELATIONS[name][1]
    true = {key: all(holds(m[a], m[b], **words) for a, b in pairs) for key, m in runs.run_means().items()}
    if run.tables is not None or not true:
        return []
    shares = pd.Series(true, dtype=float).groupby(level=0).mean()
    said = f"share of {len(true)} splits and trainings: {text}"
    return [above(said, *stats.mean(shares), LIMITS["most"], df=len(shares) - 1)]


# Both data sets.


def _reaches(run: Run, a: Side, b: Side, text: str, word: str) -> Figure:
    """Mean of a over that of b: short by at most what a word allows; on houses over all splits and trainings."""
    value, se, df = _over_runs(run, run.ratio(a, b), lambda means: means[a] / means[b])
    return above(f"{text}, {a[1]}", value, se, 1 - LIMITS[word], paper=run.paper_ratio(a, b), df=df)


def _over_runs(
    run: Run, number: Number, of_means: Callable[[dict[Side, float]], float]
) -> tuple[float, float, int | None]:
    """A number of a run; of the recorded houses its mean over all splits and trainings, the error over the splits."""
    means = runs.run_means() if run.name == "bangalore" else {}
    if not means:
        return *number, None
    splits = pd.Series({key: of_means(m) for key, m in means.items()}).groupby(level=0).mean()
    return *stats.mean(splits), len(splits) - 1


@rule("run")
def best_or_tied(run: Run) -> Answer:
    """KS has the largest mean of all methods, or ties with the one that has."""
    for mode in MODES:
        rival = max((method for method in runs.SHORT if method != KS), key=lambda name: run.mean((name, mode))[0])
        yield _reaches(run, (KS, mode), (rival, mode), f"KS over the best other, {runs.SHORT[rival]}", "tie")


@rule("run")
def nearly(run: Run) -> Answer:
    """IG is close to KS."""
    return [_reaches(run, (IG, mode), (KS, mode), "share of KS that IG reaches", "close") for mode in MODES]


@rule("run")
def nearly_in_sum(run: Run) -> Answer:
    """IG is close to KS in the sum of both tests."""
    sides = [(method, mode) for method in (IG, KS) for mode in MODES]
    total = {method: run[method, I] + run[method, D] for method in (KS, IG)}
    printed = {method: sum(run.paper((method, mode)) or 0.0 for mode in MODES) for method in (KS, IG)}

    def share(ig: Any, more: Any, ks: Any, most: Any) -> float:  # of pairs or of means, insertion and deletion
        return float(np.mean(ig + more) / np.mean(ks + most))

    ours = run.widened(stats.ratio(total[IG], total[KS], run.ends), share, *sides)
    value, se, df = _over_runs(run, ours, lambda means: share(*(means[side] for side in sides)))
    text = "share of KS that IG reaches, insertion + deletion"
    return [above(text, value, se, 1 - LIMITS["close"], paper=printed[IG] / printed[KS], df=df)]


@rule("run")
def tests_differ(run: Run) -> Answer:
    """Insertion and deletion give KS different means."""
    margin = LIMITS["tie"] * max(abs(run.mean((KS, mode))[0]) for mode in MODES)
    text, printed = "KS, insertion minus deletion", run.paper((KS, I), (KS, D))
    return [differs(text, *run.difference((KS, I), (KS, D)), margin, paper=printed)]


@rule("run")
def leaves_range(run: Run) -> Answer:
    """Share of pairs in which one of Kernel SHAP's two walks leaves the range between its ends.

    A walk that stays between f(x) and f(x′) has an ABC / n of at most (n − 1) / 2n times their distance.
    """
    n, ends = paper.size("Bangalore: features"), run.pairs.set_index("pair").loc[run.columns.index]
    most = (n - 1) / (2 * n) * (ends["f_reference"] - ends["f_x"]).abs()
    outside = (run.columns[[(KS, mode) for mode in MODES]].max(axis=1) > most).astype(float)
    text = "share of pairs in which a walk of KS must leave the range between its ends (houses)"
    return [above(text, *run.average(outside), LIMITS["most"])]


# Printed numbers.


@rule("run")
def difference(run: Run, tests: Names = MODES) -> Answer:
    """KS − IG beside the printed one; each is of one training, whose spread is in its error."""
    for mode in listed(tests):
        mean, error = run.printed.loc[(paper.DIFFERENCE, mode)]
        error *= run.enlarged(run[KS, mode] - run[IG, mode])
        error = np.hypot(error, runs.spread(run.retrained(lambda x, y: (x - y).mean(), (KS, mode), (IG, mode))))
        ours, margin = run.difference((KS, mode), (IG, mode)), LIMITS["tie"] * (run.paper((KS, mode)) or 0.0)
        yield repeats(f"KS − IG, {mode}", *ours, float(mean), float(error), margin)


@rule("run")
def printed_numbers(run: Run) -> Answer:
    """Every printed mean beside ours: both are of a single training, whose spread is in both errors."""
    counted = f"Both tables are of one training, so the spread between {len(run.trainings)} of ours is in both errors"
    yield "Our networks learned from fewer events."
    yield f"{counted if run.trainings else 'The errors leave the training out'}."
    for (method, mode), (mean, error) in run.printed.iterrows():
        if method == paper.DIFFERENCE:
            yield from difference(run, mode)
            continue
        error = np.hypot(error * run.enlarged(run[method, mode]), runs.spread(run.retrained(np.mean, (method, mode))))
        margin = LIMITS["close"] * (run.paper((KS, mode)) or 0.0)
        yield repeats(label((method, mode)), *run.mean((method, mode)), float(mean), float(error), margin)


@rule()
def draws() -> Answer:
    """Every printed mean: is it a plausible draw from the recorded splits and trainings?

    The spread of a new run is that between runs, with the error of their mean. It has the degrees of freedom of the
    splits.
    """
    areas, pairs = (records.table(runs.SPLITS, part) for part in ("areas", "pairs"))
    means = variation.run_means(areas, pairs).query("duplicates == 'kept'")
    splits, table = means["split"].nunique(), runs.printed("houses").set_index(["method", "mode"])["mean"]
    for row in variation.components(means).itertuples():
        ours_too = row.split**2 / splits + row.training**2 / row.runs
        spread = float(np.sqrt(row.total**2 + ours_too))
        text = "KS − IG" if row.method == variation.DIFFERENCE else runs.SHORT[row.method]
        theirs = float(table[row.method, row.mode])
        yield plausible(f"{text}, {row.mode}", row.mean, spread, splits - 1, theirs)


@rule("run")
def unit(run: Run) -> Answer:
    """Whether the printed tables hold sums over the walk: which is nearer to them, the sum or the sum over n."""
    rows, printed = run.table().query("method == @KS and mode == @I"), run.paper((KS, I)) or 0.0
    total, each = float(rows["abc"].mean()), float(rows["abc_per_feature"].mean())
    nearer = abs(np.log(abs(each / printed))) - abs(np.log(abs(total / printed)))
    return [
        Figure("KS, insertion: our mean sum", total, None, printed),
        Figure("KS, insertion: our mean sum / n", each, None, printed),
        above("how much nearer the sum is to the printed number (logarithm of the factor)", float(nearer)),
    ]


@rule("run")
def correlations(run: Run) -> Answer:
    """Correlation of insertion and deletion for KS and IG, beside the printed one."""
    for method in (KS, IG):
        text = f"correlation of insertion and deletion, {runs.SHORT[method]}"
        error = runs.spread(run.retrained(lambda x, y: x.corr(y), (method, I), (method, D)))
        found, printed = run.correlation((method, I), (method, D)), _table_4(run.subject, method)
        yield repeats(text, *found, printed, error, LIMITS["same correlation"])


def _table_4(policy: str, column: str) -> float:
    return float(paper.table("cern_correlation").set_index("policy").loc[policy, column])


@rule("run")
def differing(run: Run) -> Answer:
    """Number of features that differ, beside Table 4."""
    values, printed = run.pairs["differing"].astype(float), _table_4(run.subject, "differing")
    text = "features that differ"
    if run.subject != OTO:
        return [equal(text, float(values.mean()), printed)]
    return [within(text, *run.average(values), LIMITS["as many"], printed, paper=printed)]


@rule("run")
def evaluations(run: Run) -> Answer:
    """Exact Kernel SHAP takes 2¹⁶ evaluations per pair."""
    spent = (2.0 ** run.pairs["differing"]).mean()
    return [equal("hybrids in a lattice", float(spent), paper.size("CERN: evaluations of exact Kernel SHAP"))]


@rule("run")
def policy(run: Run) -> Answer:
    """Every held-out house has a reference that differs in at least 12 features."""
    least = paper.size("Bangalore: features that differ, at least")
    return [
        equal("pairs", len(run.pairs), paper.size("Bangalore: rows held out")),
        above("fewest features that differ", float(run.pairs["differing"].min()), None, least - 1),
        Figure("features that differ, mean", float(run.pairs["differing"].mean())),
    ]


@rule("run")
def errors(run: Run) -> Answer:
    """Printed standard errors of the one-to-one policy beside ours, which count a pair once."""
    for mode in MODES:
        values, printed = run[KS, mode], float(run.printed.loc[(KS, mode), "se"])
        text = f"KS, {mode}: standard error, a pair counted once"
        yield Figure(f"{text}, over a pair counted twice", run.enlarged(values))
        yield Figure(text, run.average(values)[1], None, printed)


# Distributions over the pairs.


@rule("run")
def ratio(run: Run, of: Names, over: str, word: str) -> Answer:
    """Mean in one test over that in the other: near 1 ("close"), or much larger; over : the test below the line."""
    other = D if over == I else I
    for a in (runs.METHOD[name] for name in of):
        found, printed = run.ratio((a, other), (a, over)), run.paper_ratio((a, other), (a, over))
        if word == "close":
            text = f"{runs.SHORT[a]}: {other} over {over}"
            yield within(text, *found, LIMITS[word], 1.0, paper=printed)
        else:
            yield above(f"{runs.SHORT[a]}, {other} over {over}", *found, LIMITS[word], paper=printed)


@rule("run")
def tails(run: Run) -> Answer:
    """ABCs of KS and IG have a long right tail."""
    for side in ((method, mode) for method in (KS, IG) for mode in MODES):
        found = run.bootstrapped(run[side].to_numpy(), skewness)
        yield above(f"skewness of {label(side)}", *found, LIMITS["long tail"])


@rule("run")
def usually_better(run: Run) -> Answer:
    """In more than half of the pairs in which they differ, KS has the larger ABC."""
    for mode in MODES:
        gap = run[KS, mode] - run[IG, mode]
        gap = gap[gap.abs() > 1e-6]
        share = stats.mean(gap > 0, PairIds.of(run.pairs, gap.index))
        yield above(f"share of pairs with KS above IG, {mode}", *share, LIMITS["most"])


def _unevenness(values: np.ndarray) -> float:
    """How unevenly the quartiles lie around the median, as a share of their distance; 0 if symmetric."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(abs(high + low - 2 * middle) / (high - low))


def _outliers(values: np.ndarray) -> float:
    """Share of values beyond 1.5 quartile distances from the quartiles."""
    low, high = np.quantile(values, [0.25, 0.75])
    reach = 1.5 * (high - low)
    return float(((values < low - reach) | (values > high + reach)).mean())


@rule("run")
def random_symmetric(run: Run) -> Answer:
    """Random orders: nearly symmetric distributions, a few more outliers in insertion."""
    both = run.columns[[(RANDOM, mode) for mode in MODES]].to_numpy()
    for mode, values in zip(MODES, both.T, strict=True):
        text, found = f"unevenness of the quartiles, random, {mode}", run.bootstrapped(values, _unevenness)
        yield below(text, *found, LIMITS["symmetric"])
    gap = run.bootstrapped(both, lambda v: _outliers(v[:, 0]) - _outliers(v[:, 1]))
    yield above("share of outliers, insertion minus deletion", *gap)


@rule("run")
def apart_once(run: Run) -> Answer:
    """Where KS and IG differ most in one test, the difference in the other is less than half of it."""
    gaps = {mode: (run[KS, mode] - run[IG, mode]).abs() for mode in MODES}
    for mode, other in ((I, D), (D, I)):
        pair = gaps[mode].idxmax()
        share = float(gaps[other][pair] / gaps[mode][pair])
        yield below(f"pair with the largest |KS − IG| in {mode}: {other} over {mode}", share, None, 0.5)


@rule("run")
def random_zero(run: Run) -> Answer:
    """The orders that were drawn, one per pair, decide; the mean over all orders is 0 by a theorem, and only shown."""
    sums = {name: run.average(run[name, I] + run[name, D]) for name in ("expected", RANDOM)}
    error = float(np.linalg.norm([run.printed.loc[(RANDOM, mode), "se"] for mode in MODES]))
    printed = sum(run.paper((RANDOM, mode)) or 0.0 for mode in MODES)
    margin = LIMITS["near zero"] * sum(run.mean((KS, mode))[0] for mode in MODES)
    text = "one random order per pair, insertion + deletion"
    yield replace(within(text, *sums[RANDOM], margin), paper=printed, paper_se=error)
    yield Figure("mean of all orders, insertion + deletion", *sums["expected"])


@rule("run")
def random_sign(run: Run) -> Answer:
    """The mean over all orders is above zero in insertion, below in deletion: interactions show."""
    for mode, make in ((I, above), (D, below)):
        printed, error = map(float, run.printed.loc[(RANDOM, mode)])
        text = f"mean of all orders, {mode}"
        yield make(text, *run.mean(("expected", mode)), 0.0, paper=printed, paper_se=error)


# Events.


@rule("run")
def few_far(run: Run) -> Answer:
    """In a few pairs KS is much larger."""
    gap = run[KS, I] - run[IG, I]
    text = "largest KS − IG in insertion, over the median |KS − IG|"
    return [above(text, float(gap.max() / gap.abs().median()), None, LIMITS["far"])]


@rule("run")
def predictions(run: Run) -> Answer:
    """Predictions at the inspected points are positive, and skewed to the right."""
    values = run.pairs["f_x"].to_numpy()
    yield above("least prediction at an inspected point (GeV)", float(values.min()))
    yield above("skewness of these predictions", skewness(values))


@rule("run")
def both_directions(run: Run) -> Answer:
    """A pair walked from either end has the same ABC, for KS and IG."""
    for method in (KS, IG):
        values = pd.concat([run[method, mode] for mode in MODES], axis=1)
        groups = values.groupby(run.ends.groups()[1])
        largest, scale = float((groups.max() - groups.min()).max().max()), float(values.abs().mean().max())
        text = f"{runs.SHORT[method]}: largest difference between the directions, over the mean"
        yield below(text, largest / scale, None, 0.01)


def _most_asymmetric(run: Run) -> pd.Series:
    """ABC / n of the pair in which KS differs most between the tests."""
    return run.columns.loc[(run[KS, I] - run[KS, D]).abs().idxmax()]


@rule("run")
def extreme(run: Run) -> Answer:
    """A pair with an insertion ABC above 150 GeV, and a deletion ABC near zero."""
    insertion, deletion = (float(_most_asymmetric(run)[KS, mode]) for mode in MODES)
    printed, largest = paper.size("CERN: extreme insertion ABC (GeV)"), paper.size("CERN: largest mass (GeV)")
    share = abs(deletion) / insertion
    yield above("most asymmetric pair: insertion ABC / n, against 110 GeV", insertion, None, largest)
    yield above("the same against 150 GeV", insertion, None, printed, paper=printed)
    yield below("its |deletion ABC| over the insertion ABC", share, None, LIMITS["near zero"])


@rule("run")
def off_manifold(run: Run) -> Answer:
    """On the way the prediction leaves what masses can be."""
    curves = run.table("curves")
    walk = curves[(curves["what"] == "asymmetric") & (curves["method"] == KS) & (curves["mode"] == I)]
    top, ends = float(walk["value"].max()), walk.set_index("step")["value"].iloc[[0, -1]].max()
    largest = paper.size("CERN: largest mass (GeV)")
    yield above("largest prediction on the way (GeV)", top, None, largest)
    yield below("larger prediction at its two ends (GeV)", float(ends), None, largest)


@rule("run")
def both_find_it(run: Run) -> Answer:
    """IG reaches nearly Kernel SHAP's insertion ABC at the extreme pair."""
    pair = _most_asymmetric(run)
    text = "most asymmetric pair: IG over KS, insertion"
    return [above(text, float(pair[IG, I] / pair[KS, I]), None, 1 - LIMITS["close"])]


@rule("run")
def sign_matters(run: Run) -> Answer:
    """Means of both ABCs differ between pairs with f(x′) > f(x) and the others, by a good part of the larger one."""
    facts = run.pairs.set_index("pair").loc[run.columns.index]
    rises = (facts["f_reference"] > facts["f_x"]).to_numpy()
    if len(set(rises)) < 2:
        raise MissingRunError("All pairs rise, or all of them fall")
    signs = pd.Series(rises, run.columns.index)  # of the network shown: those of other trainings are not recorded

    def rise(values: pd.Series) -> float:
        return float(values.groupby(signs).mean().diff().iloc[-1])

    for mode in MODES:
        values = run[KS, mode].to_numpy()
        means = values[rises].mean(), values[~rises].mean()
        pulls = np.where(rises, (values - means[0]) / rises.mean(), -(values - means[1]) / (~rises).mean())
        gap, se = run.widened((float(means[0] - means[1]), stats.mean(pulls, run.ends)[1]), rise, (KS, mode))
        text = f"KS, {mode}: mean where f(x′) > f(x), minus mean elsewhere"
        yield differs(text, gap, se, LIMITS["strongly"] * max(map(abs, means)))


@rule("run")
def charges(run: Run) -> Answer:
    """The charges get next to nothing of what Kernel SHAP hands out."""
    table = run.table("charges")
    rows = table[(table["method"] == KS) & (table["quantity"] == "attribution")]
    size = rows["value"].abs()
    total, own = (part.groupby(rows["pair"]).sum() for part in (size, size * rows["feature"].isin(CHARGES)))
    share = stats.ratio(own, total, PairIds.of(run.pairs, own.index))
    return [below("share of the charges in KS's attributions", *share, LIMITS["nothing"])]


# Policies beside each other.


@rule("runs")
def not_second(given: list[Run]) -> Answer:
    """IG is close in all columns and not second in every one."""
    for run in given:
        yield from with_data(run, [close(run, (IG, mode), (KS, mode)) for mode in MODES])
    behind = []
    for run in given:
        best = [max(run.mean((method, mode))[0] for method in runs.SHORT if method not in (KS, IG)) for mode in MODES]
        behind.append(max(top - run.mean((IG, mode))[0] for top, mode in zip(best, MODES, strict=True)))
        yield from with_data(run, [Figure("best method after KS, minus IG, larger of both tests", behind[-1])])
    yield above("the largest of these", max(behind))


def _beside_counterfactual(given: list[Run]) -> list[tuple[Run, Run]]:
    """Each run under another policy, with the counterfactual one on the same data."""
    return [
        (run, base) for run in given for base in given
        if run.subject != CF and base.subject == CF and base.data == run.data
    ]  # fmt: skip


def _minus(
    run: Run, base: Run, pulls: Callable[..., pd.Series], statistic: Callable[..., float], method: str
) -> Number:
    """A statistic of a method's two tests under a policy, minus that under another, on the same events and trainings.

    pulls : what each pair adds to the statistic, about a mean of 0
    """
    sides, both = [(method, mode) for mode in MODES], (run, base)
    pairs = pd.concat([one.pairs.set_index("pair").loc[one.columns.index] for one in both], ignore_index=True)
    weights = len(pairs) / len(run.columns), -len(pairs) / len(base.columns)
    pulled = [w * pulls(*(one[side] for side in sides)) for w, one in zip(weights, both, strict=True)]
    partner = pairs["reference_row"].where(pairs["reference_row"] >= 0, pairs["row"])  # a fixed x′ is no shared event
    se = stats.mean(pd.concat(pulled), PairIds.of(pairs.assign(reference_row=partner)))[1]
    here, there = (statistic(*(one[side] for side in sides)) for one in both)
    again = [one.retrained(statistic, *sides) for one in both]
    return here - there, float(np.hypot(se, runs.spread(again[0] - again[1])))


def _pulls(x: pd.Series, y: pd.Series) -> pd.Series:
    """What each pair adds to the correlation of x and y, to first order; the mean is 0."""
    a, b = ((values - values.mean()) / values.std(ddof=0) for values in (x, y))
    return a * b - x.corr(y) * (a**2 + b**2) / 2


@rule("runs")
def correlations_vary(given: list[Run]) -> Answer:
    """Counterfactual above average above one-to-one, the last negative."""
    for kind in dict.fromkeys(run.data for run in given):
        part = {run.subject: run for run in given if run.data == kind}
        for method in (KS, IG) if set(part) >= {CF, OTO, AVERAGE} else ():
            value = {policy: run.correlation((method, I), (method, D)) for policy, run in part.items()}
            printed = {policy: _table_4(policy, method) for policy in part}
            text = f"correlation of insertion and deletion, {runs.SHORT[method]} (one-to-one, {kind})"
            yield below(text, *value[OTO], 0.0, paper=printed[OTO])
            for a, b in ((CF, AVERAGE), (AVERAGE, OTO)):
                gap = _minus(part[a], part[b], _pulls, lambda x, y: x.corr(y), method)
                text = f"correlation, {runs.SHORT[method]}: {runs.WORDS[a]} minus {runs.WORDS[b]} ({kind})"
                yield above(text, *gap, paper=printed[a] - printed[b])


@rule("runs")
def same_ranking(given: list[Run]) -> Answer:
    """Methods come in nearly the same order under the other policies as under the counterfactual one."""
    for run, base in _beside_counterfactual(given):
        for mode in MODES:
            methods = [(method, mode) for method in paper.SIX]
            ours = [pd.Series([one.mean(what)[0] for what in methods]) for one in (base, run)]
            printed = [one.printed.loc[methods, "mean"].reset_index(drop=True) for one in (base, run)]
            value, theirs = (float(a.corr(b, method="spearman")) for a, b in (ours, printed))
            text = f"order of the methods beside that of the counterfactual policy, {mode}"
            yield from with_data(run, [above(text, value, None, LIMITS["order"], paper=theirs)])


@rule("runs")
def wider_gap(given: list[Run]) -> Answer:
    """Insertion minus deletion is larger under the other policies than under the counterfactual one."""
    for run, base in _beside_counterfactual(given):
        gap = _minus(run, base, lambda x, y: x - y - (x - y).mean(), lambda x, y: (x - y).mean(), KS)
        theirs = (run.paper((KS, I), (KS, D)) or 0.0) - (base.paper((KS, I), (KS, D)) or 0.0)
        text = "KS, insertion − deletion, minus that of the counterfactual policy"
        yield from with_data(run, [above(text, *gap, paper=theirs)])


@rule()
def accurate() -> Answer:
    """R² of the network on held-out events; and the largest masses come out too small."""
    table, about = records.load("cern_accuracy")
    last = table.iloc[-1]
    text = f"mean of prediction − truth for {last['low']:.0f} < M ≤ {last['high']:.0f} GeV"
    yield f"{about['data']['what']}."
    yield above("R² on held-out events", float(about["r2"]), None, LIMITS["accurate"])
    yield below(text, float(last["error"]), float(last["se"]), 0.0)


@rule()
def simple_explanation() -> Answer:
    """How much of the gap between deletion and insertion goes if the target is log M, which has neither property."""
    table = records.table("asymmetry").set_index(["policy", "model"])
    for policy in POLICIES:
        (plain, plain_se), (log, log_se), (clipped, clipped_se) = (
            map(float, table.loc[(policy, model), ["ratio", "ratio se"]])
            for model in ("as it is", "network for log M", "clipped at 0")
        )
        plain, log = 1 - plain, 1 - log
        se = float(np.hypot(log_se / plain, plain_se * log / plain**2))
        text = f"share of 1 − deletion / insertion that goes with log M as the target ({runs.WORDS[policy]})"
        yield above(text, 1 - log / plain, se, LIMITS["most"])
        yield Figure(f"deletion over insertion, clipped at 0 ({runs.WORDS[policy]})", clipped, clipped_se)
