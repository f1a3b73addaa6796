"""Table 1 and the text around it: houses in Bangalore, counterfactual pairs  [section 5.1]."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import skew as skewness

import insdel_paper as paper
from insdel import stats
from insdel_paper import results
from insdel_paper.claims import records
from insdel_paper.claims.runs import (
    DL,
    IG,
    IXG,
    KS,
    LIME,
    MODES,
    RANDOM,
    SHORT,
    VG,
    D,
    I,
    Run,
    alike,
    close,
    label,
    larger,
    short,
    survives,
    tie,
)
from insdel_paper.claims.verdict import (
    LIMITS,
    Figure,
    Finding,
    Rule,
    above,
    below,
    equal,
    judge,
    plausible,
    repeats,
    within,
)
from insdel_paper.studies import variation

BEST = (IG, DL, VG, IXG, LIME, RANDOM)  # what Kernel SHAP is compared with
MARGIN = (
    f"A mean is reproduced if it is nearer to the printed one than {LIMITS['close']:.1%} of Kernel SHAP's in that "
    f"column (differences: {LIMITS['tie']:.0%}), both errors counted; the printed ones are enlarged by the factor by "
    "which pairs that share points enlarge ours."
)
USING_REFERENCE, LOCAL = (KS, IG, DL, LIME), (VG, IXG)


def recorded() -> Run:
    """The recorded run at full size."""
    records.there("bangalore")
    return _run(results.folder())


@lru_cache(maxsize=4)
def _run(folder: Path) -> Run:
    return Run("bangalore", paper.table("bangalore"))


def found(one: Run, figures: Iterable[Figure], because: str = "") -> Finding:
    """A finding from a run; from the recorded splits and trainings, too, if it is the recorded one."""
    study = "bangalore_variation"
    return judge(figures, because, [one.name, study] if one.tables is None and results.exists(study) else [one.name])


def first(one: Run, method: str, mode: str, rivals: Iterable[str]) -> Finding:
    """A method has the largest mean among the rivals."""
    rivals = tuple(rivals)
    text = f"{SHORT[method]} ahead of {'all' if len(rivals) > 1 else SHORT[rivals[0]]} in {mode}"
    ahead = survives(one, text, lambda m: all(m[mode, method] > m[mode, rival] for rival in rivals))
    return found(one, [larger(one, (method, mode), (rival, mode)) for rival in rivals] + ahead)


def chain(one: Run, mode: str, methods: Iterable[str], text: str) -> Finding:
    """Each method is ahead of the next."""
    order = list(methods)
    steps = list(pairwise(order))
    remaining = survives(one, text, lambda m: all(m[mode, a] > m[mode, b] for a, b in steps))
    return found(one, [larger(one, (a, mode), (b, mode)) for a, b in steps] + remaining)


def _ahead(a: str, b: str, mode: str, means: dict) -> bool:
    return bool(means[mode, a] > means[mode, b])


def difference(one: Run, mode: str) -> Figure:
    """KS − IG beside the printed one."""
    printed = one.printed.loc[(paper.DIFFERENCE, mode)]
    ours = one.difference((KS, mode), (IG, mode))
    margin = LIMITS["tie"] * (one.paper((KS, mode)) or 0.0)
    error = float(printed["se"]) * enlarged(one, one[KS, mode] - one[IG, mode])
    return repeats(one.tell(f"KS − IG, {mode}"), *ours, float(printed["mean"]), error, margin)


def enlarged(one: Run, values: pd.Series) -> float:
    """The standard error that counts shared points, over the naive one of the mean of (pairs,) values."""
    return one.average(values)[1] / float(stats.naive_error(values))


def share_better(one: Run, mode: str) -> Figure:
    """Share of pairs with KS above IG, among those in which they differ."""
    gap = (one[KS, mode] - one[IG, mode]).to_numpy()
    differ = np.abs(gap) > 1e-6
    better = (gap[differ] > 0).astype(float)
    text = one.tell(f"share of pairs with KS above IG, {mode}")
    return above(text, *stats.mean(better, one.ends.take(differ)), LIMITS["most"])


def unevenness(values: np.ndarray) -> float:
    """How unevenly the quartiles lie around the median, as a share of their distance; 0 if symmetric."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(abs(high + low - 2 * middle) / (high - low))


def outliers(values: np.ndarray) -> float:
    """Share of values beyond 1.5 quartile distances from the quartiles."""
    low, high = np.quantile(values, [0.25, 0.75])
    reach = 1.5 * (high - low)
    return float(((values < low - reach) | (values > high + reach)).mean())


def apart_once(one: Run) -> list[Figure]:
    """Where KS and IG differ most in one test, the difference in the other is less than half of it."""
    gaps = {mode: (one[KS, mode] - one[IG, mode]).abs() for mode in MODES}
    figures = []
    for mode, other in ((I, D), (D, I)):
        pair = gaps[mode].idxmax()
        share = float(gaps[other][pair] / gaps[mode][pair])
        text = one.tell(f"pair with the largest |KS − IG| in {mode}: {other} over {mode}")
        figures.append(below(text, share, None, 0.5))
    return figures


def random_zero(one: Run) -> list[Figure]:
    """The mean over all orders decides; one random order per pair, ours and the printed, only scatters about it."""
    sums = {name: one.average(one[name, I] + one[name, D]) for name in ("expected", RANDOM)}
    errors = [float(one.printed.loc[(RANDOM, mode), "se"]) for mode in MODES]
    printed = sum(one.paper((RANDOM, mode)) or 0.0 for mode in MODES)
    margin = LIMITS["near zero"] * sum(one.mean((KS, mode))[0] for mode in MODES)
    drawn = one.tell("one random order per pair, insertion + deletion")
    return [
        within(one.tell("mean of all orders, insertion + deletion"), *sums["expected"], margin),
        Figure(drawn, *sums[RANDOM], printed, float(np.linalg.norm(errors))),
    ]


def printed_numbers(one: Run) -> list[Figure]:
    """Every printed mean of the experiment beside ours."""
    figures = []
    for (method, mode), number in one.printed.iterrows():
        if method == paper.DIFFERENCE:
            figures.append(difference(one, mode))
            continue
        text, margin = one.tell(label((method, mode))), LIMITS["close"] * (one.paper((KS, mode)) or 0.0)
        error = float(number["se"]) * enlarged(one, one[method, mode])
        figures.append(repeats(text, *one.mean((method, mode)), float(number["mean"]), error, margin))
    return figures


def draws(one: Run) -> list[Figure]:
    """Every printed mean: is it a plausible draw from the recorded splits and trainings?

    The spread of a new run is that between runs, with the error of their mean. It has the degrees of freedom of the
    splits. All runs share the seed of their random orders, so these get the error of a run on top.
    """
    record = "bangalore_variation"
    means = variation.run_means(records.table(record), records.table(record, "pairs")).query("duplicates == 'kept'")
    figures, splits = [], means["split"].nunique()
    for row in variation.components(means).itertuples():
        ours_too = row.split**2 / splits + row.training**2 / row.runs
        spread = np.sqrt(row.total**2 + ours_too + (row.within**2 if row.method == RANDOM else 0.0))
        text = "KS − IG" if row.method == variation.DIFFERENCE else SHORT[row.method]
        printed = float(one.printed.loc[(row.method, row.mode), "mean"])
        figures.append(plausible(f"{text}, {row.mode}", row.mean, float(spread), splits - 1, printed))
    return figures


def unit(one: Run) -> list[Figure]:
    """Whether the printed tables hold sums over the walk: which is nearer to them, the sum or the sum over n."""
    table = one.table()
    rows = table[(table["method"] == KS) & (table["mode"] == I)]
    total, each, printed = float(rows["abc"].mean()), float(rows["abc_per_feature"].mean()), one.paper((KS, I)) or 0.0
    nearer = abs(np.log(abs(each / printed))) - abs(np.log(abs(total / printed)))
    return [
        Figure(one.tell("KS, insertion: our mean sum"), total, None, printed),
        Figure(one.tell("KS, insertion: our mean sum / n"), each, None, printed),
        above(one.tell("how much nearer the sum is to the printed number (logarithm of the factor)"), float(nearer)),
    ]


def deletion_tie(one: Run) -> Finding:
    """KS, IG and DeepLIFT are level in deletion."""
    def level(m: dict) -> bool:
        three = [m[D, method] for method in (KS, IG, DL)]
        return max(three) - min(three) <= LIMITS["tie"] * max(three)

    pairs = [(KS, IG), (KS, DL), (IG, DL)]
    return found(one, [tie(one, (a, D), (b, D)) for a, b in pairs] + survives(one, "a tie in deletion", level))


def disappointing(one: Run) -> Finding:
    """Both simple gradient methods fall short of Kernel SHAP by more than “reasonably well” allows."""
    def far(m: dict) -> bool:
        limit = 1 - LIMITS["reasonably well"]
        return all(m[mode, method] <= limit * m[mode, KS] for mode in MODES for method in LOCAL)

    figures = [short(one, (method, mode), (KS, mode), "reasonably well") for mode in MODES for method in LOCAL]
    return found(one, figures + survives(one, "both below three quarters of Kernel SHAP, in both tests", far))


def worse_than_random(one: Run) -> Finding:
    """Random orders are ahead of Vanilla Grad."""
    figures = [larger(one, (RANDOM, mode), (VG, mode)) for mode in MODES]
    for mode in MODES:
        ahead = partial(_ahead, RANDOM, VG, mode)
        figures += survives(one, f"random ahead of Vanilla Grad in {mode}", ahead)
    return found(one, figures)


def near(one: Run) -> Finding:
    """IG falls short of Kernel SHAP by little."""
    def little(m: dict) -> bool:
        return all(m[mode, IG] >= (1 - LIMITS["close"]) * m[mode, KS] for mode in MODES)

    figures = [close(one, (IG, mode), (KS, mode)) for mode in MODES]
    return found(one, figures + survives(one, "IG close to KS, both tests", little))


def differences(one: Run) -> Finding:
    """The printed paired differences KS − IG."""
    because = f"Number by number; the margin is {LIMITS['tie']:.0%} of Kernel SHAP's printed mean."
    return found(one, [difference(one, mode) for mode in MODES], because)


def mimics(one: Run) -> Finding:
    """IG follows Kernel SHAP pair by pair."""
    return found(one, [alike(one, (IG, mode), (KS, mode)) for mode in MODES])


def insertion_higher(one: Run) -> Finding:
    """Insertion ABCs are larger than deletion ABCs."""
    methods = (KS, IG, DL, VG, IXG, LIME)
    figures = [larger(one, (method, I), (method, D)) for method in methods]
    return found(one, figures + survives(one, "insertion above deletion for KS", lambda m: m[I, KS] > m[D, KS]))


def reference_pays(one: Run) -> Finding:
    """Each method that uses the reference is ahead of each that does not."""
    def ahead(m: dict) -> bool:
        return all(m[mode, a] > m[mode, b] for mode in MODES for a in USING_REFERENCE for b in LOCAL)

    figures = [larger(one, (a, mode), (b, mode)) for mode in MODES for a in USING_REFERENCE for b in LOCAL]
    return found(one, figures + survives(one, "each method with a reference ahead of each without", ahead))


def input_gradient(one: Run) -> Finding:
    """Input × gradient is ahead of random orders."""
    def ahead(m: dict) -> bool:
        return all(m[mode, IXG] > m[mode, RANDOM] for mode in MODES)

    figures = [larger(one, (IXG, mode), (RANDOM, mode)) for mode in MODES]
    return found(one, figures + survives(one, "Input × Gradient ahead of random in both tests", ahead))


def deeplift_well(one: Run) -> Finding:
    """DeepLIFT reaches three quarters of Kernel SHAP."""
    return found(one, [close(one, (DL, mode), (KS, mode), "reasonably well") for mode in MODES])


def tails(one: Run) -> Finding:
    """ABCs of KS and IG have a long right tail."""
    figures = []
    for method in (KS, IG):
        for mode in MODES:
            values = one[method, mode].to_numpy()
            text = f"skewness of {label((method, mode))}"
            figures.append(above(text, *one.bootstrapped(values, skewness), LIMITS["long tail"]))
    return found(one, figures)


def usually_better(one: Run) -> Finding:
    """In more than half of the pairs in which they differ, KS has the larger ABC."""
    return found(one, [share_better(one, mode) for mode in MODES])


def random_symmetric(one: Run) -> Finding:
    """Random orders: nearly symmetric distributions, a few more outliers in insertion."""
    values = {mode: one[RANDOM, mode].to_numpy() for mode in MODES}
    figures = [
        below(f"unevenness of the quartiles, random, {mode}", *one.bootstrapped(v, unevenness), LIMITS["symmetric"])
        for mode, v in values.items()
    ]
    both = np.column_stack([values[I], values[D]])
    gap = one.bootstrapped(both, lambda v: outliers(v[:, 0]) - outliers(v[:, 1]))
    return found(one, [*figures, above("share of outliers, insertion minus deletion", *gap)])


def policy_rule(one: Run) -> Finding:
    """Every held-out house has a reference that differs in at least 12 features."""
    pairs = one.pairs
    at_least = paper.size("Bangalore: features that differ, at least")
    figures = [
        equal("pairs", len(pairs), paper.size("Bangalore: rows held out")),
        above("fewest features that differ", float(pairs["differing"].min()), None, at_least - 1),
        Figure("features that differ, mean", float(pairs["differing"].mean())),
    ]
    return judge(figures, "", [one.name])


def table_1(one: Run) -> Finding:
    """Table 1, number by number: a plausible draw from our splits and trainings, or not."""
    because = (
        "The printed table is one split and one training. A number is reproduced if it is a plausible draw from "
        "{ref}`our recorded ones <bangalore-variation>`: inside their 95 % prediction interval, with Student's t. "
        "The spread of a run is given with our mean."
    )
    records.there("bangalore_variation")
    return judge(draws(one), because, ["bangalore_variation"])


def sum_or_mean(one: Run) -> Finding:
    """Tables print ABC, which is defined as a sum."""
    because = "The printed numbers are ABC divided by the number of features ({ref}`erratum 2 <erratum-2>`)."
    return judge(unit(one), because, [one.name])


RULES: dict[str, Rule] = {
    "houses-ks-first": lambda one: first(one, KS, I, BEST),
    "houses-ig-second": lambda one: first(one, IG, I, BEST[1:]),
    "houses-order-insertion": lambda one: chain(
        one, I, (KS, IG, DL, LIME, IXG, RANDOM, VG), "the whole order of insertion"
    ),
    "houses-order-deletion": lambda one: chain(one, D, (IG, LIME, IXG, RANDOM, VG), "this order of deletion"),
    "houses-deletion-tie": deletion_tie,
    "houses-gradients-poor": disappointing,
    "houses-vanilla-random": worse_than_random,
    "houses-ks-ig": near,
    "houses-ks-ig-numbers": differences,
    "houses-mimic": mimics,
    "houses-insertion-higher": insertion_higher,
    "houses-reference-pays": reference_pays,
    "houses-input-gradient": input_gradient,
    "houses-deeplift": deeplift_well,
    "houses-tail": tails,
    "houses-ks-usually": usually_better,
    "houses-random-symmetric": random_symmetric,
    "houses-outliers": lambda one: judge(apart_once(one), "", [one.name]),
    "houses-random-sum": lambda one: judge(random_zero(one), "", [one.name]),
    "houses-policy": policy_rule,
    "tables-unit": sum_or_mean,
}
TABLE: dict[str, Rule] = {"houses-table": table_1}  # about many runs
ORDER = (  # claims about the order of the methods, which need nothing of a run but areas and pairs
    "houses-ks-first", "houses-ig-second", "houses-order-insertion", "houses-order-deletion", "houses-deletion-tie",
    "houses-gradients-poor", "houses-vanilla-random", "houses-ks-ig", "houses-insertion-higher",
    "houses-reference-pays", "houses-input-gradient", "houses-deeplift",
)  # fmt: skip
