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
    above,
    below,
    claim,
    claims_in,
    equal,
    judge,
    plausible,
    repeats,
    within,
)
from insdel_paper.studies import variation

BEST = (IG, DL, VG, IXG, LIME, RANDOM)  # what Kernel SHAP is compared with
MARGIN = (
    f"A mean comes back if it is nearer to the printed one than {LIMITS['close']:.1%} of Kernel SHAP's in that column "
    f"(differences: {LIMITS['tie']:.0%}), both errors counted; the printed ones are enlarged by the factor by which "
    "pairs that share points enlarge ours."
)
USING_REFERENCE, LOCAL = (KS, IG, DL, LIME), (VG, IXG)


def run() -> Run:
    """The recorded run at full size."""
    records.there("bangalore")
    return _run(results.folder())


@lru_cache(maxsize=4)
def _run(folder: Path) -> Run:
    return Run("bangalore", paper.table("bangalore"))


def found(figures: Iterable[Figure], because: str = "") -> Finding:
    """A finding from the record, and from the study of other splits and trainings where that is recorded."""
    evidence = ["bangalore"]
    if results.exists("bangalore_variation"):
        evidence.append("bangalore_variation")
    return judge(figures, because, evidence)


def first(method: str, mode: str, rivals: Iterable[str]) -> Finding:
    """A method has the largest mean among the rivals."""
    rivals = tuple(rivals)
    text = f"{SHORT[method]} ahead of {'all' if len(rivals) > 1 else SHORT[rivals[0]]} in {mode}"
    ahead = survives(text, lambda m: all(m[mode, method] > m[mode, rival] for rival in rivals))
    return found([larger(run(), (method, mode), (rival, mode)) for rival in rivals] + ahead)


def chain(mode: str, methods: Iterable[str], text: str) -> Finding:
    """Each method is ahead of the next."""
    order = list(methods)
    steps = list(pairwise(order))
    remaining = survives(text, lambda m: all(m[mode, a] > m[mode, b] for a, b in steps))
    return found([larger(run(), (a, mode), (b, mode)) for a, b in steps] + remaining)


def _ahead(a: str, b: str, mode: str, means: dict) -> bool:
    return bool(means[mode, a] > means[mode, b])


def difference(one: Run, mode: str) -> Figure:
    """KS − IG beside the printed one."""
    printed = one.printed.loc[(paper.DIFFERENCE, mode)]
    ours = one.difference((KS, mode), (IG, mode))
    margin = LIMITS["tie"] * (one.paper((KS, mode)) or 0.0)
    error = float(printed["se"]) * enlarged(one, one.columns[KS, mode] - one.columns[IG, mode])
    return repeats(one.tell(f"KS − IG, {mode}"), *ours, float(printed["mean"]), error, margin)


def enlarged(one: Run, values: pd.Series) -> float:
    """The standard error that counts shared points, over the naive one of the mean of (pairs,) values."""
    return one.average(values)[1] / float(stats.naive_error(values))


def share_better(one: Run, mode: str) -> Figure:
    """Share of pairs with KS above IG, among those in which they differ."""
    gap = (one.columns[KS, mode] - one.columns[IG, mode]).to_numpy()
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
    gaps = {mode: (one.columns[KS, mode] - one.columns[IG, mode]).abs() for mode in MODES}
    figures = []
    for mode, other in ((I, D), (D, I)):
        pair = gaps[mode].idxmax()
        share = float(gaps[other][pair] / gaps[mode][pair])
        text = one.tell(f"pair with the largest |KS − IG| in {mode}: {other} over {mode}")
        figures.append(below(text, share, None, 0.5))
    return figures


def random_zero(one: Run) -> list[Figure]:
    """The mean over all orders decides; one random order per pair, ours and the printed, only scatters about it."""
    sums = {name: one.average(one.columns[name, I] + one.columns[name, D]) for name in ("expected", RANDOM)}
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
        error = float(number["se"]) * enlarged(one, one.columns[method, mode])
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
    table = records.table(one.name)
    rows = table[(table["method"] == KS) & (table["mode"] == I)]
    total, each, printed = float(rows["abc"].mean()), float(rows["abc_per_feature"].mean()), one.paper((KS, I)) or 0.0
    nearer = abs(np.log(each / printed)) - abs(np.log(total / printed))
    return [
        Figure(one.tell("KS, insertion: our mean sum"), total, None, printed),
        Figure(one.tell("KS, insertion: our mean sum / n"), each, None, printed),
        above(one.tell("how much nearer the sum is to the printed number (logarithm of the factor)"), float(nearer)),
    ]


@claim("houses-ks-first", "section 5.1, Table 1", "Kernel SHAP is best for the insertion ABC", "bangalore")
def houses_ks_first() -> Finding:
    return first(KS, I, BEST)


@claim("houses-ig-second", "section 5.1, Table 1", "IG is second best for the insertion ABC", "bangalore")
def houses_ig_second() -> Finding:
    return first(IG, I, BEST[1:])


@claim(
    "houses-order-insertion", "Table 1",
    "Insertion: KS, IG, DeepLIFT, LIME, Input × Gradient, random, Vanilla Grad",
    "bangalore",
)
def houses_order_insertion() -> Finding:
    return chain(I, (KS, IG, DL, LIME, IXG, RANDOM, VG), "the whole order of insertion")


@claim(
    "houses-order-deletion", "Table 1",
    "Deletion: IG, then LIME, Input × Gradient, random, Vanilla Grad",
    "bangalore",
)
def houses_order_deletion() -> Finding:
    return chain(D, (IG, LIME, IXG, RANDOM, VG), "this order of deletion")


@claim(
    "houses-deletion-tie", "section 5.1",
    "For deletion it is essentially a three way tie: KS, IG, DeepLIFT",
    "bangalore",
)
def deletion_tie() -> Finding:
    """KS, IG and DeepLIFT are level in deletion."""
    def level(m: dict) -> bool:
        three = [m[D, method] for method in (KS, IG, DL)]
        return max(three) - min(three) <= LIMITS["tie"] * max(three)

    pairs = [(KS, IG), (KS, DL), (IG, DL)]
    return found([tie(run(), (a, D), (b, D)) for a, b in pairs] + survives("a tie in deletion", level))


@claim("houses-gradients-poor", "section 5.1", "The simple gradient based methods are disappointing", "bangalore")
def disappointing() -> Finding:
    """Both simple gradient methods fall short of Kernel SHAP by more than “reasonably well” allows."""
    def far(m: dict) -> bool:
        limit = 1 - LIMITS["reasonably well"]
        return all(m[mode, method] <= limit * m[mode, KS] for mode in MODES for method in LOCAL)

    figures = [short(run(), (method, mode), (KS, mode), "reasonably well") for mode in MODES for method in LOCAL]
    return found(figures + survives("both below three quarters of Kernel SHAP, in both tests", far))


@claim("houses-vanilla-random", "section 5.1", "Vanilla Grad is worse than random", "bangalore")
def worse_than_random() -> Finding:
    """Random orders are ahead of Vanilla Grad."""
    figures = [larger(run(), (RANDOM, mode), (VG, mode)) for mode in MODES]
    for mode in MODES:
        ahead = partial(_ahead, RANDOM, VG, mode)
        figures += survives(f"random ahead of Vanilla Grad in {mode}", ahead)
    return found(figures)


@claim("houses-ks-ig", "section 5.1", "The difference between KS and IG is not very large", "bangalore")
def near() -> Finding:
    """IG falls short of Kernel SHAP by little."""
    def little(m: dict) -> bool:
        return all(m[mode, IG] >= (1 - LIMITS["close"]) * m[mode, KS] for mode in MODES)

    figures = [close(run(), (IG, mode), (KS, mode)) for mode in MODES]
    return found(figures + survives("IG close to KS, both tests", little))


@claim(
    "houses-ks-ig-numbers", "Table 1",
    "KS − IG is 0.057 ± 0.007 for insertion and 0.001 ± 0.003 for deletion",
    "bangalore",
)
def differences() -> Finding:
    """The printed paired differences KS − IG."""
    because = f"Number by number; the margin is {LIMITS['tie']:.0%} of Kernel SHAP's printed mean."
    return found([difference(run(), mode) for mode in MODES], because)


@claim(
    "houses-mimic", "section 5.1, Figure 4",
    "With many binary predictors IG closely mimics KS, point by point",
    "bangalore",
)
def mimics() -> Finding:
    """IG follows Kernel SHAP pair by pair."""
    return found([alike(run(), (IG, mode), (KS, mode)) for mode in MODES])


@claim("houses-insertion-higher", "section 5.1", "Insertion ABCs are on average higher than deletion ABCs", "bangalore")
def insertion_higher() -> Finding:
    """Insertion ABCs are larger than deletion ABCs."""
    methods = (KS, IG, DL, VG, IXG, LIME)
    figures = [larger(run(), (method, I), (method, D)) for method in methods]
    return found(figures + survives("insertion above deletion for KS", lambda m: m[I, KS] > m[D, KS]))


@claim("houses-reference-pays", "section 5.1", "Methods that use the reference get larger ABCs", "bangalore")
def reference_pays() -> Finding:
    """Each method that knows the reference is ahead of each that does not."""
    def ahead(m: dict) -> bool:
        return all(m[mode, a] > m[mode, b] for mode in MODES for a in USING_REFERENCE for b in LOCAL)

    figures = [larger(run(), (a, mode), (b, mode)) for mode in MODES for a in USING_REFERENCE for b in LOCAL]
    return found(figures + survives("each method with a reference ahead of each without", ahead))


@claim(
    "houses-input-gradient", "section 5.1",
    "Input × Gradient, which does not know the baseline, still does well: "
    "above random",
    "bangalore",
)
def input_gradient() -> Finding:
    """Input × gradient is ahead of random orders."""
    def ahead(m: dict) -> bool:
        return all(m[mode, IXG] > m[mode, RANDOM] for mode in MODES)

    figures = [larger(run(), (IXG, mode), (RANDOM, mode)) for mode in MODES]
    return found(figures + survives("Input × Gradient ahead of random in both tests", ahead))


@claim("houses-deeplift", "section 5.1", "DeepLIFT does reasonably well compared to KS and IG", "bangalore")
def deeplift_well() -> Finding:
    """DeepLIFT reaches three quarters of Kernel SHAP."""
    return found([close(run(), (DL, mode), (KS, mode), "reasonably well") for mode in MODES])


@claim("houses-tail", "section 5.1, Figure 4", "The ABCs of KS and IG have a long tail", "bangalore")
def tails() -> Finding:
    """ABCs of KS and IG have a long right tail."""
    figures = []
    for method in (KS, IG):
        for mode in MODES:
            values = run().columns[method, mode].to_numpy()
            text = f"skewness of {label((method, mode))}"
            figures.append(above(text, *run().bootstrapped(values, skewness), LIMITS["long tail"]))
    return found(figures)


@claim("houses-ks-usually", "section 5.1, Figure 4", "KS usually attains a somewhat better ABC than IG", "bangalore")
def usually_better() -> Finding:
    """In more than half of the pairs in which they differ, KS has the larger ABC."""
    return found([share_better(run(), mode) for mode in MODES])


@claim(
    "houses-random-symmetric", "section 5.1, Figure 4",
    "ABCs of random orders are nearly symmetric, with a few more outliers in insertion",
    "bangalore",
)
def random_symmetric() -> Finding:
    """Random orders: nearly symmetric distributions, a few more outliers in insertion."""
    values = {mode: run().columns[RANDOM, mode].to_numpy() for mode in MODES}
    figures = [
        below(f"unevenness of the quartiles, random, {mode}", *run().bootstrapped(v, unevenness), LIMITS["symmetric"])
        for mode, v in values.items()
    ]
    both = np.column_stack([values[I], values[D]])
    gap = run().bootstrapped(both, lambda v: outliers(v[:, 0]) - outliers(v[:, 1]))
    return found([*figures, above("share of outliers, insertion minus deletion", *gap)])


@claim(
    "houses-outliers", "section 5.1, Figure 6",
    "A very large difference between KS and IG in one test need not come with one in the other",
    "bangalore",
)
def houses_outliers() -> Finding:
    return judge(apart_once(run()), "", ["bangalore"])


@claim(
    "houses-random-sum", "Table 1; appendix B.1",
    "Random orders: insertion and deletion ABC add up to zero",
    "bangalore",
)
def houses_random_sum() -> Finding:
    return judge(random_zero(run()), "", ["bangalore"])


@claim(
    "houses-policy", "section 5.1",
    "Each of the 391 points has a reference that differs in at least 12 features",
    "bangalore",
)
def policy_rule() -> Finding:
    """Every held-out house has a reference that differs in at least 12 features."""
    pairs = run().pairs
    at_least = paper.size("Bangalore: features that differ, at least")
    figures = [
        equal("pairs", len(pairs), paper.size("Bangalore: rows held out")),
        above("fewest features that differ", float(pairs["differing"].min()), None, at_least - 1),
        Figure("features that differ, mean", float(pairs["differing"].mean())),
    ]
    return judge(figures, "", ["bangalore"])


@claim("houses-table", "Table 1", "Table 1, number by number", "bangalore")
def table_1() -> Finding:
    """Table 1, number by number: a plausible draw from our splits and trainings, or not."""
    because = (
        "The printed table is one split and one training. A number comes back if it is a plausible draw from "
        "{ref}`our recorded ones <bangalore-variation>`: inside their 95 % prediction interval, with Student's t. "
        "The spread of a run is beside our mean."
    )
    records.there("bangalore_variation")
    return judge(draws(run()), because, ["bangalore_variation"])


@claim("tables-unit", "Tables 1 to 3", "The tables print ABC as eq. 2 defines it, a sum over the walk", "bangalore")
def sum_or_mean() -> Finding:
    """Tables print ABC, which is defined as a sum."""
    because = "The printed numbers are ABC divided by the number of features ({ref}`erratum 2 <erratum-2>`)."
    return judge(unit(run()), because, ["bangalore"])


CLAIMS = claims_in(__name__)
