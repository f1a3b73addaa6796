"""Tables 2 to 4 and the text around them: electron pairs, three policies  [section 5.2].

Each statement is tested on genuine events, a random fifth of the file that the paper used (2,000 inspected, the
others taught the network). Where none is recorded, it is tested on simulated events (network and pairs) and on
genuine x and x′ with the network fitted to simulated events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import skew as skewness

import insdel_paper as paper
from insdel import stats
from insdel.stats import PairIds
from insdel_paper import results
from insdel_paper.claims import records
from insdel_paper.claims.bangalore import MARGIN, apart_once, difference, printed_numbers, random_zero, unit
from insdel_paper.claims.runs import (
    DL,
    IG,
    IXG,
    KS,
    LIME,
    MODES,
    RANDOM,
    SHORT,
    TRAININGS,
    VG,
    WORDS,
    D,
    I,
    Run,
    alike,
    close,
    larger,
    short,
)
from insdel_paper.claims.verdict import (
    LIMITS,
    Figure,
    Finding,
    Rule,
    above,
    around,
    below,
    differs,
    equal,
    judge,
    within,
)
from insdel_paper.data.cern import CHARGES
from insdel_paper.studies import tables

CF, OTO, AVERAGE = "counterfactual", "one_to_one", "average"
ALL, TABLE_3 = (CF, OTO, AVERAGE), (OTO, AVERAGE)
RIVALS = (IG, DL, VG, IXG, LIME, RANDOM)
Runs = Callable[..., list[Run]]  # policies → their runs; `MissingRecordError` if one has none
KINDS = {"cern_genuine": "genuine", "cern": "simulated"}


def names(policy: str) -> list[str]:
    """Names of the records of a policy: the genuine one alone if its network was fitted to genuine events, too."""
    genuine = f"cern_genuine_{policy}"
    if results.exists(genuine) and records.about(genuine).get("trained_on") == "real":
        return [genuine]
    return [f"{prefix}_{policy}" for prefix in KINDS]


def recorded(*policies: str) -> list[Run]:
    """The recorded runs of these policies; `MissingRecordError` if one of the policies has none."""
    return [_run(name, policy, results.folder()) for policy in policies for name in records.there(*names(policy))]


@lru_cache(maxsize=16)
def _run(name: str, policy: str, folder: Path) -> Run:
    """One record as a run."""
    return Run(name, tables.printed("cern", policy), policy, KINDS[name.removesuffix(f"_{policy}")])


def found(figures: Iterable[Figure], used: Iterable[Run], because: str = "") -> Finding:
    """A finding with the names of the records it rests on."""
    trainings = [TRAININGS for one in used if one.trainings]
    return judge(figures, because, [*(one.name for one in used), *trainings])


def each(policies: tuple[str, ...], make: Callable[[Run], Iterable[Figure]], because: str = "") -> Rule:
    """The rule that asks for the same numbers of every run of these policies."""

    def rule(runs: Runs) -> Finding:
        used = runs(*policies)
        return found([figure for one in used for figure in make(one)], used, because)

    return rule


def ks_first(one: Run) -> list[Figure]:
    """Kernel SHAP has the largest mean in both tests."""
    return [larger(one, (KS, mode), (rival, mode)) for mode in MODES for rival in RIVALS]


def near(*methods: str) -> Callable[[Run], list[Figure]]:
    """These methods are close to Kernel SHAP in both tests."""
    return lambda one: [close(one, (method, mode), (KS, mode)) for mode in MODES for method in methods]


def poor(one: Run) -> list[Figure]:
    """Both simple gradient methods stay below half of Kernel SHAP."""
    return [short(one, (method, mode), (KS, mode)) for mode in MODES for method in (VG, IXG)]


def above_ig(one: Run) -> list[Figure]:
    """KS − IG is positive in both tests."""
    return [larger(one, (KS, mode), (IG, mode)) for mode in MODES]


def tests_alike(one: Run) -> list[Figure]:
    """Deletion gives KS and IG nearly the mean that insertion gives."""
    figures = []
    for method in (KS, IG):
        value, se = one.ratio((method, D), (method, I))
        text, printed = one.tell(f"{SHORT[method]}: deletion over insertion"), one.paper_ratio((method, D), (method, I))
        figures.append(within(text, value, se, LIMITS["close"], 1.0, paper=printed))
    return figures


def few_far(one: Run) -> list[Figure]:
    """Most pairs on the line, and a few in which KS is much larger."""
    gap = one[KS, I] - one[IG, I]
    spread = float(gap.max() / gap.abs().median())
    text = one.tell("largest KS − IG in insertion, over the median |KS − IG|")
    return [alike(one, (IG, I), (KS, I)), above(text, spread, None, LIMITS["far"])]


def diagonal(one: Run) -> list[Figure]:
    """Insertion and deletion of a pair are alike."""
    return [alike(one, (method, I), (method, D), LIMITS["diagonal"]) for method in (KS, IG)]


def correlation_figures(one: Run) -> list[Figure]:
    """Correlation of insertion and deletion for KS and IG, beside the printed one."""
    printed = paper.table("cern_correlation").set_index("policy").loc[one.policy]
    text = "correlation of insertion and deletion, {}"
    return [
        around(one.tell(text.format(SHORT[method])), *one.correlation((method, I), (method, D)), float(printed[method]),
               LIMITS["same correlation"])
        for method in (KS, IG)
    ]  # fmt: skip


def _vary(part: dict[str, Run], method: str, kind: str) -> list[Figure]:
    value = {policy: one.correlation((method, I), (method, D)) for policy, one in part.items()}
    printed = paper.table("cern_correlation").set_index("policy")[method]
    figures = [below(f"correlation of insertion and deletion, {SHORT[method]} (one-to-one, {kind})", *value[OTO], 0.0,
                     paper=float(printed[OTO]))]  # fmt: skip
    for a, b in ((CF, AVERAGE), (AVERAGE, OTO)):
        gap, se = value[a][0] - value[b][0], float(np.hypot(value[a][1], value[b][1]))
        text = f"correlation, {SHORT[method]}: {WORDS[a]} minus {WORDS[b]} ({kind})"
        figures.append(above(text, gap, se, paper=float(printed[a] - printed[b])))
    return figures


def differing(one: Run) -> list[Figure]:
    """Number of features that differ, beside Table 4."""
    policy = one.policy
    printed = float(paper.table("cern_correlation").set_index("policy").loc[policy, "differing"])
    values = one.pairs["differing"].astype(float)
    text = one.tell("features that differ")
    if policy != OTO:
        return [equal(text, float(values.mean()), printed)]
    return [around(text, *one.average(values), printed, LIMITS["as many"])]


def much_larger(one: Run) -> list[Figure]:
    """Insertion ABCs are much larger than deletion ABCs."""
    figures = []
    for method in (KS, IG, DL, LIME):
        value, se = one.ratio((method, I), (method, D))
        text = one.tell(f"{SHORT[method]}, insertion over deletion")
        printed = one.paper_ratio((method, I), (method, D))
        figures.append(above(text, value, se, LIMITS["much larger"], paper=printed))
    return figures


def predictions(one: Run) -> list[Figure]:
    """Predictions at the inspected points are positive, and skewed to the right."""
    values = one.pairs["f_x"].to_numpy()
    return [
        above(one.tell("least prediction at an inspected point (GeV)"), float(values.min())),
        above(one.tell("skewness of these predictions"), skewness(values)),
    ]


def both_directions(one: Run) -> list[Figure]:
    """A pair walked from either end has the same ABC, for KS and IG."""
    figures = []
    for method in (KS, IG):
        values = pd.concat([one[method, mode] for mode in MODES], axis=1)
        groups = values.groupby(one.ends.groups()[1])
        largest = float((groups.max() - groups.min()).max().max())
        scale = float(values.abs().mean().max())
        text = one.tell(f"{SHORT[method]}: largest difference between the directions, over the mean")
        figures.append(below(text, largest / scale, None, 0.01))
    return figures


def extreme(one: Run) -> list[Figure]:
    """A pair with an insertion ABC above 150 GeV, and a deletion ABC near zero."""
    skew = (one[KS, I] - one[KS, D]).abs()
    insertion, deletion = (float(one.columns.loc[skew.idxmax(), (KS, mode)]) for mode in MODES)
    printed, largest = paper.size("CERN: extreme insertion ABC (GeV)"), paper.size("CERN: largest mass (GeV)")
    return [
        above(one.tell("most asymmetric pair: insertion ABC / n, against 110 GeV"), insertion, None, largest),
        above(one.tell("the same against 150 GeV"), insertion, None, printed, paper=printed),
        below(one.tell("its |deletion ABC| over the insertion ABC"), abs(deletion) / insertion, None,
            LIMITS["near zero"]),
    ]


def off_manifold(one: Run) -> list[Figure]:
    """On the way the prediction leaves what masses can be."""
    curves = one.table("curves")
    walk = curves[(curves["what"] == "asymmetric") & (curves["method"] == KS) & (curves["mode"] == I)]
    top, ends = float(walk["value"].max()), walk.set_index("step")["value"].iloc[[0, -1]].max()
    largest = paper.size("CERN: largest mass (GeV)")
    return [
        above(one.tell("largest prediction on the way (GeV)"), top, None, largest),
        below(one.tell("larger prediction at its two ends (GeV)"), float(ends), None, largest),
    ]


def both_find_it(one: Run) -> list[Figure]:
    """IG reaches nearly Kernel SHAP's insertion ABC at the extreme pair."""
    skew = (one[KS, I] - one[KS, D]).abs()
    at = one.columns.loc[skew.idxmax()]
    text = one.tell("most asymmetric pair: IG over KS, insertion")
    return [above(text, float(at[IG, I] / at[KS, I]), None, 1 - LIMITS["close"])]


def sign_matters(one: Run) -> list[Figure]:
    """Means of both ABCs differ between pairs with f(x′) > f(x) and the others, by a good part of the larger one."""
    facts = one.pairs.set_index("pair").loc[one.columns.index]
    rises = (facts["f_reference"] > facts["f_x"]).to_numpy()
    figures = []
    for mode in MODES:
        values = one[KS, mode].to_numpy()
        means = values[rises].mean(), values[~rises].mean()
        pulls = np.where(rises, (values - means[0]) / rises.mean(), -(values - means[1]) / (~rises).mean())
        gap, se = float(means[0] - means[1]), stats.mean(pulls, one.ends)[1]
        text = one.tell(f"KS, {mode}: mean where f(x′) > f(x), minus mean elsewhere")
        figures.append(differs(text, gap, se, LIMITS["strongly"] * max(map(abs, means))))
    return figures


def _ranking(base: Run, one: Run, mode: str) -> Figure:
    methods = [(method, mode) for method in paper.SIX]
    ours = [pd.Series([run.mean(what)[0] for what in methods]) for run in (base, one)]
    printed = [run.printed.loc[methods, "mean"].reset_index(drop=True) for run in (base, one)]
    value, theirs = (float(a.corr(b, method="spearman")) for a, b in (ours, printed))
    return above(one.tell(f"order of the methods beside that of the counterfactual policy, {mode}"), value, None,
                 LIMITS["order"], paper=theirs)  # fmt: skip


def input_gradient(one: Run) -> list[Figure]:
    """Input × gradient does comparatively well under the average policy."""
    return [close(one, (IXG, mode), (KS, mode), "reasonably well") for mode in MODES]


def random_sign(one: Run) -> list[Figure]:
    """The mean over all orders is above zero in insertion, below in deletion: interactions show."""
    figures = []
    for mode, make in ((I, above), (D, below)):
        value, se = one.mean(("expected", mode))
        printed = one.printed.loc[(RANDOM, mode)]
        text = one.tell(f"mean of all orders, {mode}")
        figures.append(make(text, value, se, 0.0, float(printed["mean"]), float(printed["se"])))
    return figures


def numbers(*policies: str) -> Rule:
    """A printed table, number by number."""

    def rule(runs: Runs) -> Finding:
        used = runs(*policies)
        again = min(len(one.trainings) for one in used)
        covered = f"cover what {again} trainings" if again else "do not cover what another training"
        because = f"{MARGIN} Ours learned from fewer events; the errors {covered} would change."
        return found([figure for one in used for figure in printed_numbers(one)], used, because)

    return rule


def evaluations(one: Run) -> list[Figure]:
    """Exact Kernel SHAP takes 2¹⁶ evaluations per pair."""
    spent = (2.0 ** one.pairs["differing"]).mean()
    return [equal(one.tell("hybrids in a lattice"), float(spent), paper.size("CERN: evaluations of exact Kernel SHAP"))]


def charges(one: Run) -> list[Figure]:
    """The charges get next to nothing of what Kernel SHAP hands out."""
    table = one.table("charges")
    rows = table[(table["method"] == KS) & (table["quantity"] == "attribution")]
    size = rows["value"].abs()
    total, own = (part.groupby(rows["pair"]).sum() for part in (size, size * rows["feature"].isin(CHARGES)))
    share = stats.ratio(own, total, PairIds.of(one.pairs, own.index))
    return [below(one.tell("share of the charges in KS's attributions"), *share, LIMITS["nothing"])]


def accurate() -> Finding:
    """R² of the network on held-out events; and the largest masses come out too small."""
    table, about = records.load("cern_accuracy")
    last = table.iloc[-1]
    text = f"mean of prediction − truth for {last['low']:.0f} < M ≤ {last['high']:.0f} GeV"
    figures = [
        above("R² on held-out events", float(about["r2"]), None, LIMITS["accurate"]),
        below(text, float(last["error"]), float(last["se"]), 0.0),
    ]
    return judge(figures, f"{about['data']['what']}.", ["cern_accuracy"])


def not_second(runs: Runs) -> Finding:
    """IG close in all four columns of Table 3, and not second in every one."""
    used = runs(*TABLE_3)
    figures = [figure for one in used for figure in near(IG)(one)]
    for one in used:
        best = [max(one.mean((method, mode))[0] for method in RIVALS if method != IG) for mode in MODES]
        ahead = [top - one.mean((IG, mode))[0] for top, mode in zip(best, MODES, strict=True)]
        figures.append(Figure(one.tell("best method after KS, minus IG, larger of both tests"), max(ahead)))
    passed = max(figure.ours or 0.0 for figure in figures[-len(used) :])
    return found([*figures, above("the largest of these", passed)], used)


def simple_explanation() -> Finding:
    """How much of the gap between deletion and insertion goes if the target is log M, which has neither property."""
    table = records.table("asymmetry").set_index(["policy", "model"])
    figures = []
    for policy in ALL:
        gaps = {model: 1 - table.loc[(policy, model), "ratio"] for model in ("as it is", "network for log M")}
        errors = {model: table.loc[(policy, model), "ratio se"] for model in gaps}
        plain, log = (float(gaps[model]) for model in gaps)
        se = float(np.hypot(errors["network for log M"] / plain, errors["as it is"] * log / plain**2))
        text = f"share of 1 − deletion / insertion that goes with log M as the target ({WORDS[policy]})"
        figures.append(above(text, 1 - log / plain, se, LIMITS["most"]))
        ratio, error = (float(table.loc[(policy, "clipped at 0"), name]) for name in ("ratio", "ratio se"))
        figures.append(Figure(f"deletion over insertion, clipped at 0 ({WORDS[policy]})", ratio, error))
    because = (
        "A logarithm takes away the bound and the skewness together, so the two cannot be told apart here. Clipping "
        "adds a bound and cannot take away one that the network has learned. One network per target."
    )
    return judge(figures, because, ["asymmetry"])


def lime(runs: Runs) -> Finding:
    """LIME: close under two policies, not well under the average one."""
    used = runs(*ALL)
    figures = []
    for one in used:
        if one.policy == AVERAGE:
            figures += [short(one, (LIME, mode), (KS, mode), "not well") for mode in MODES]
        else:
            figures += near(LIME)(one)
    return found(figures, used)


def correlations_vary(runs: Runs) -> Finding:
    """Counterfactual above average above one-to-one, the last negative."""
    used, figures = runs(*ALL), []
    for kind in dict.fromkeys(one.data for one in used):
        part = {one.policy: one for one in used if one.data == kind}
        if len(part) == len(ALL):
            figures += [figure for method in (KS, IG) for figure in _vary(part, method, kind)]
    return found(figures, used)


def same_ranking(runs: Runs) -> Finding:
    """Methods come in nearly the same order under the other policies as under the counterfactual one."""
    used, figures = runs(*ALL), []
    for one in used:
        base = [other for other in used if other.policy == CF and other.data == one.data]
        if one.policy == CF or not base:
            continue
        figures += [_ranking(base[0], one, mode) for mode in MODES]
    return found(figures, used, "Spearman's correlation of the seven means.")


def wider_gap(runs: Runs) -> Finding:
    """Insertion minus deletion is larger under the other policies than under the counterfactual one."""
    used, figures = runs(*ALL), []
    for one in used:
        base = [other for other in used if other.policy == CF and other.data == one.data]
        if one.policy == CF or not base:
            continue
        gaps = [run.difference((KS, I), (KS, D)) for run in (one, base[0])]
        value, se = gaps[0][0] - gaps[1][0], float(np.hypot(gaps[0][1], gaps[1][1]))
        theirs = (one.paper((KS, I), (KS, D)) or 0.0) - (base[0].paper((KS, I), (KS, D)) or 0.0)
        figures.append(above(one.tell("KS, insertion − deletion, minus that of the counterfactual policy"), value, se,
                             paper=theirs))  # fmt: skip
    return found(figures, used)


def printed_errors(runs: Runs) -> Finding:
    """Printed standard errors of the one-to-one policy against ours, which count a pair once."""
    used, figures = runs(OTO), []
    for one in used:
        for mode in MODES:
            values, printed = one[KS, mode], float(one.printed.loc[(KS, mode), "se"])
            spread = one.average(values)[1] / stats.naive_error(values)
            text = one.tell(f"KS, {mode}: standard error, a pair counted once, over a pair counted twice")
            figures.append(Figure(text, spread))
            figures.append(Figure(one.tell(f"KS, {mode}: standard error, a pair counted once"), one.average(values)[1],
                                  None, printed))  # fmt: skip
    because = (
        "Both directions of a pair have the same ABC, so 2,000 points are 1,000 observations. The paper does not say "
        "whether its errors allow for that."
    )
    return found(figures, used, because)


RULES: dict[str, Rule] = {
    "events-ks-first": each((CF,), ks_first),
    "events-close-behind": each((CF,), near(IG, DL)),
    "events-lime-nearly": each((CF,), near(LIME)),
    "events-gradients-poor": each((CF,), poor),
    "events-ks-ig": each((CF,), above_ig),
    "events-ks-ig-numbers": each((CF,), lambda one: [difference(one, mode) for mode in MODES]),
    "events-tests-alike": each((CF,), tests_alike),
    "events-few-far": each((CF,), few_far),
    "events-outliers": each((CF,), apart_once),
    "events-diagonal": each((CF,), diagonal),
    "events-charges": each((CF,), charges),
    "events-exact": each((CF,), evaluations),
    "events-policies-ks": each(TABLE_3, ks_first),
    "events-policies-ig": not_second,
    "events-insertion-larger": each(TABLE_3, much_larger),
    "events-never-negative": each((CF,), predictions),
    "events-lime-policies": lime,
    "events-both-directions": each((OTO,), both_directions),
    "events-extreme": each((OTO,), extreme),
    "events-artificial": each((OTO,), off_manifold),
    "events-both-find": each((OTO,), both_find_it),
    "events-correlations": correlations_vary,
    "events-table-4": each(ALL, correlation_figures, "The paper prints no standard errors; ours are counted."),
    "events-differing": each(ALL, differing),
    "events-sign": each((AVERAGE,), sign_matters),
    "events-same-ranking": same_ranking,
    "events-wider-gap": wider_gap,
    "events-input-gradient": each((AVERAGE,), input_gradient),
    "events-random-sum": each(ALL, random_zero),
    "events-random-sign": each(TABLE_3, random_sign),
    "events-unit": each(ALL, unit, "They print ABC / n ({ref}`erratum 2 <erratum-2>`)."),
    "events-table-2": numbers(CF),
    "events-table-3": numbers(*TABLE_3),
}
RECORDED: dict[str, Rule] = {"events-accurate": accurate, "events-simple-explanation": simple_explanation}
OWN: dict[str, Rule] = {"events-errors": printed_errors}  # a question of this book
