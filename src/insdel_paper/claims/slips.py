"""Slips of the paper: printed version, correction, consequence, and the check that shows it.

Those about theory are checked by `insdel_paper.theory`; the others here, on data, on records, or by the paper's words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import insdel_paper as paper
from insdel import order, stats
from insdel_paper.claims import bangalore, cern, data, records
from insdel_paper.claims.runs import IG, KS, MODES, Run
from insdel_paper.claims.theory import slip_of
from insdel_paper.claims.verdict import CANNOT, HOLDS, LEVEL, Finding, MissingRecordError
from insdel_paper.studies.images import exchange
from insdel_paper.theory import Check, direction_symmetry


@dataclass(frozen=True)
class Shown:
    """What a check of a slip found.

    confirmed : None where it cannot be checked here
    evidence : Markdown
    words : the outcome in words where "confirmed" would say too much
    """

    confirmed: bool | None
    evidence: str
    words: str = ""


@dataclass(frozen=True)
class Slip:
    """One slip.

    number : of the list of errata
    printed, corrected : both versions, Markdown
    consequence : what follows from it for the paper
    check : shows that the printed version is wrong, and the other right
    matters : whether it changes a number, a formula that is used, or a reading; others get a line each
    """

    number: int
    where: str
    printed: str
    corrected: str
    consequence: str
    check: Callable[[], Shown]
    matters: bool = True

    def shown(self) -> Shown:
        """Carry out the check; a missing record leaves it open."""
        try:
            return self.check()
        except MissingRecordError as missing:
            return Shown(None, f"Needs the recorded run `{missing.record}`: `{missing.command}`.")


def by_sympy(number: int) -> Shown:
    """Both versions in exact arithmetic."""
    result = slip_of(number)
    lines = [f"- *{label}*: {check.verdict}. {check.statement}" for label, check in result.versions()]
    words = "a matter of reading" if result.reading else ""
    return Shown(bool(result), "\n".join(["In exact arithmetic:", "", *lines]), words)


def by_claim(name: str, check: Callable[[], Finding]) -> Shown:
    """A claim that tests the printed version: it must not hold."""
    finding = check()
    confirmed = None if finding.verdict == CANNOT else finding.verdict != HOLDS
    words = finding.because.split(" ({ref}")[0].rstrip(".")
    return Shown(confirmed, f"{words}. Numbers: {{ref}}`{name} <claim-{name}>`.")


def one_row() -> Shown:
    """79,931 printed rows against 79,932 counted ones."""
    counted, printed = data.fact("cern", "100,000 rows less 85 without M, less a fifth")[0], paper.size(
        "CERN: rows trained on")  # fmt: skip
    return Shown(counted - printed == 1, f"Counted: {counted:,.0f}; printed: {printed:,.0f}.")


def least_or_most() -> Shown:
    """The paper's own two descriptions of ROAR."""
    text = (
        "The sentence after it says that performance falls rapidly “as the most important inputs are removed”, and "
        "section 6 overwrites “the important features”."
    )
    return Shown(True, text)


def insertion_increasing() -> Shown:
    """Increasing order of the predicted change is the order of a deletion test."""
    change = np.array([0.3, -0.2, 0.9, -0.7])
    increasing = np.argsort(change)
    same = np.array_equal(increasing, order(change, "deletion"))
    other = not np.array_equal(increasing, order(change, "insertion"))
    text = (
        f"For predicted changes {change.tolist()}, increasing order is {(increasing + 1).tolist()}: what starts with "
        "the most negative change, which the same sentence calls deletion. Insertion is "
        f"{(order(change) + 1).tolist()}."
    )
    return Shown(bool(same and other), text)


def caption_direction() -> Shown:
    """The walk back with the ranking turned round has the same areas, so the caption misleads but costs nothing."""
    check: Check = direction_symmetry()
    text = f"Section 3.1 changes components of $x$ to those of $x'$. {check.verdict}: {check.statement}"
    return Shown(bool(check), text)


def shared_points() -> Shown:
    """Factors by which printed errors are too small, from our pairs, and which printed differences survive them."""
    used = {"Table 1": [bangalore.run()], "Table 2": cern.runs(cern.CF), "Table 3, one-to-one": cern.runs(cern.OTO)}
    factors, lines = [], []
    for name, runs in used.items():
        for mode in MODES:
            means = [bangalore.enlarged(one, one.columns[KS, mode]) for one in runs]
            gaps = [bangalore.enlarged(one, one.columns[KS, mode] - one.columns[IG, mode]) for one in runs]
            factors += means
            lines.append([f"{name}, {mode}", _range(means), _range(gaps), *_survives(runs[0], mode, max(gaps))])
    header = ["", "KS, mean", "KS − IG", "printed KS − IG", "in its error", "in the corrected error", "beyond 2"]
    text = "\n".join(["Standard errors that count shared points over naive ones, on our pairs:", "",
                      *_markdown(header, lines)])  # fmt: skip
    return Shown(min(factors) > 1.1, text, "a comment on method, not a slip")


def _range(numbers: list[float]) -> str:
    low, high = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    return low if low == high else f"{low} to {high}"


def _survives(one: Run, mode: str, factor: float) -> list[str]:
    """The printed difference KS − IG, in the printed standard errors, and in those times a factor."""
    if (paper.DIFFERENCE, mode) not in one.printed.index:
        return ["", "", "", ""]
    mean, se = (float(one.printed.loc[(paper.DIFFERENCE, mode), name]) for name in ("mean", "se"))
    margin = mean / se
    after = margin / factor
    return [stats.plus_minus(mean, se, 3), f"{margin:.1f}", f"{after:.1f}", "yes" if abs(after) > LEVEL else "no"]


def _markdown(header: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *rows)]


def exchanged_columns() -> Shown:
    """Both readings of the printed table against all of CUB's albatrosses, by a rule that was fixed beforehand."""
    result = exchange.verdict(records.table("images_albatrosses"))
    lines = [
        f"- *{row.reading}*, photos {row.preparation}: p = {row.gain_p:.3f} (gain) and {row.strangeness_p:.3f} "
        f"(strangeness) among {row.photos} photos; the nearest is {row.nearest:.3f} away."
        for row in result.itertuples()
    ]
    backwards = int(result.drop_duplicates("preparation")["reversed_in_all"].sum())
    text = (
        f"{backwards or 'No'} albatross of CUB that was looked at has deletion above insertion in all four rows. Ranks "
        "among the photos ({ref}`images` explains both statistics, which were fixed beforehand):"
    )
    proven = {True: "is found", False: "is **not proven**: the direction fits, some numbers do not"}
    rule = (
        f"By the rule that was fixed with them, an exchange of the columns {proven[exchange.is_exchanged(result)]}. "
        f"These tables have {cheap()} baselines where the paper has 300, and that alone moves an AUC by "
        f"{baselines_shift():.2f} (root mean square, the photos that were walked with both)."
    )
    return Shown(exchange.is_refuted(result), "\n".join([text, "", *lines, "", rule]), "not proven")


def cheap() -> int:
    """How many baselines the tables of all photos have."""
    return int(records.about("images_albatrosses")["parameters"]["baselines"])


def baselines_shift() -> float:
    """Root mean square by which the AUCs of a photo move when all the paper's baselines are used."""
    keys = ["photo", "preparation", "reference", "mode"]
    few, many = (records.table(name).set_index(keys)["auc"] for name in ("images_albatrosses", "images_nearest"))
    return float(np.sqrt(((many - few).dropna() ** 2).mean()))


ROWS: list[tuple[int, str, str, str, str, Callable[[], Shown]]] = [
    (1, "section 5.1", "1,591 complete data points", "1,951",
     "Two digits swapped. 391 held-out points, a fifth, fit 1,951 only.",
     partial(by_claim, "houses-complete", data.complete_rows)),
    (2, "Tables 1 to 3", "“ABC”, which eq. 2 defines as a sum over the walk", "ABC / n, per feature",
     "No comparison changes. “Over 150 GeV” in the text is per feature, too.",
     partial(by_claim, "tables-unit", bangalore.sum_or_mean)),
    (3, "section 4", r"$\int_0^1 \nabla f(x + t(x'-x))\,dt$", r"$(x'-x)\odot\int_0^1 \nabla f(x + t(x'-x))\,dt$",
     "As printed, the attributions are not complete and give another order. The tables fit the usual definition.",
     partial(by_sympy, 3)),
    (4, "section 3.2", "the best order sorts by decreasing $f_j(x_j) - f_j(x'_j)$",
     "by decreasing $f_j(x'_j) - f_j(x_j)$",
     "As printed, it is the worst order. The formula right above it is right.", partial(by_sympy, 4)),
    (5, "section 3.3", r"an interaction's contribution to ABC has the opposite sign, “because $|u|-1<0$ for $|u|\ge2$”",
     r"its contribution to $E(\mathrm{ABC})$ has, because $1-|u|<0$",
     "The formula is right. In the ABC of one order an interaction can have either sign.", partial(by_sympy, 5)),
    (6, "section 3.4", r"$3\Delta_1+2\Delta_2+\Delta_1+\dots$", r"$3\Delta_1+2\Delta_2+\Delta_3+\dots$",
     "The value $14+2A$ is right.", partial(by_sympy, 6)),
    (7, "appendix B", r"$e_u = \mathbf 0_u{:}\mathbf 1_{-u}$, $g(e_u) = f(x_u{:}x'_{-u})$ in one place",
     r"$e_u = \mathbf 1_u{:}\mathbf 0_{-u}$, $g(e_u) = f(x'_u{:}x_{-u})$, as in the theorem",
     "Mixed, the two give the AUC of the way back. The theorem is right.", partial(by_sympy, 7)),
    (8, "appendix B.2", "second sum to $r+1$", "to $r$", "The conclusion is right.", partial(by_sympy, 8)),
    (9, "appendix B.2", r"a maximiser has $\beta_{\pi(r+1)}\ge\beta_{\pi(r)}$", r"$\le$",
     "As printed, it contradicts the sentence before it.", partial(by_sympy, 9)),
    (11, "appendix B.2", r"$\sigma(\beta_0+\sum_j z_j(x'_j-x_j)\beta_j)$; gradient $h'(z)\beta$; order of $\beta$",
     r"$\sigma(\beta_0+x^\top\beta+\sum_j z_j\gamma_j)$; gradient $h'(a(z))\gamma$; order of "
     r"$\gamma_j=(x'_j-x_j)\beta_j$",
     r"Where an $x'_j - x_j$ is negative, the order of $\beta$ is not the best one.", partial(by_sympy, 11)),
    (12, "section 5.2", r"$p_t = p_x\cos\varphi$", r"$p_x = p_t\cos\varphi$", "None; the columns are right.",
     partial(by_claim, "events-phi", data.transverse)),
    (13, "section 3.3", r"$u\subseteq1{:}d$", r"$u\subseteq1{:}n$", "None.", partial(by_sympy, 13)),
    (14, "section 2", "ROAR removes information “from the least important columns”", "most important first",
     "None for section 6.", least_or_most),
    (15, "section 5.2", "79,931 data points are 80 % of the complete observations",
     "79,932 (of 99,915 complete rows), or 79,913 (of 99,892 distinct ones)", "One row; none.",
     one_row),
    (16, "sections 1, 3; appendix B.2",
     "IG finds the best order for differentiable increasing functions of additive ones",
     "… of functions that are linear along the path, such as logistic regression",
     "For curved additive parts IG may choose another order than the best.", partial(by_sympy, 16)),
    (17, "section 4, option b", "IG equal Shapley values for functions like $g$, interpolated in the binary features",
     "interpolated in all features (plus an additive function)",
     "With continuous features beside the binary ones, interpolating does not give Shapley values.",
     partial(by_sympy, 17)),
    (18, "appendix B", r"$g_u(z) = \sum_v (-1)^{|u-v|} g_v(z_v{:}\mathbf 0_{-v})$", r"$g$, not $g_v$, in the sum",
     "The proof of lemma 1 uses the right formula.", partial(by_sympy, 18)),
    (19, "appendix B", r"“$\mathbf 0, \mathbf 1$ for vectors of all ones and all zeros, respectively”",
     "all zeros and all ones", "None.", partial(by_sympy, 19)),
    (21, "section 3.1", "insertion as replacing “in increasing order of predicted change to $f$”",
     "in decreasing order",
     "None: it is about a convention that the paper rejects.", insertion_increasing),
    (22, "Figure 2, caption", "“changing components of $x'$ to those of $x$”", "of $x$ to those of $x'$",
     "None for attributions that turn their sign with the direction, as KS and IG do.", caption_direction),
    (23, "Tables 1 to 3, standard errors", "errors of means over pairs, apparently as if pairs were independent",
     "errors that count shared points: one house is the reference of many others, one-to-one pairs come twice",
     "Not a slip but a choice that most work in this field makes. Intervals for a population of houses or events are "
     "longer by the factors below; under the average policy, where $x'$ is one fixed point, they are not. Differences "
     "between methods are affected less than means, and those that the paper relies on survive.",
     shared_points),
    (24, "Table 5; section 1", "deletion AUC above insertion AUC in all four rows",
     "perhaps insertion above deletion: the columns exchanged, or the ranking turned round, which gives the same table",
     "None for the regression results. As printed, the map would rank pixels worse than chance with every reference. "
     "Were the columns exchanged, the 27 % of section 1 would be 20 %.",
     exchanged_columns),
    (25, "section 3; appendix B.2", "the Shapley order is the best for naive Bayes",
     "for its joint density, and for the posterior of one of two classes",
     "For one class among three or more, another order can be better. The same is true of a softmax regression.",
     partial(by_sympy, 25)),
]  # fmt: skip

BRIEF = {6, 7, 8, 12, 13, 14, 15, 18, 19, 21, 22}  # no number, formula in use or reading depends on these
WITHDRAWN = {10, 20}  # the printed word of 10 can be defended; 20 is a part of 5
SLIPS = [Slip(*row, matters=row[0] not in BRIEF) for row in ROWS]


def random_sum() -> str:
    """The printed means of random orders in Table 2, whose sum should be zero."""
    rows = paper.table("cern_counterfactual").query("method == 'random'")
    total, error = rows["mean"].sum(), float(np.linalg.norm(rows["se"]))
    return (
        "Insertion and deletion ABC of random orders have means that add up to zero exactly. The printed ones add up "
        f"to {total:.3f}, which is {abs(total) / error:.1f} of their combined standard errors away from it. The other "
        "three printed sums are near zero; see {ref}`events-random-sum <claim-events-random-sum>`."
    )


# where → what is open, and what can be said
OPEN = {
    "Table 2, random": random_sum(),
    "Tables 1 to 3, standard errors": (
        "The paper does not say how its errors were computed. Their sizes fit errors that take all pairs for "
        "independent ({ref}`erratum 23 <erratum-23>`)."
    ),
    "section 5.2, mass formula": (
        "A mean residual of 0.6 % is far more than the file's six digits give. Fewer digits, or the neglect of a term, "
        "would explain it; see {ref}`events-mass <claim-events-mass>`."
    ),
    "section 1 and appendix A.1": (
        "Section 1 describes the saliency map as IG of the pixels, summed over the three colours; appendix A.1 as IG "
        "of the first layer, summed over windows that contain the pixel. The book follows the appendix."
    ),
}

TYPOGRAPHIC = (
    ("section 1", "“used help humans”", "used to help"),
    ("section 1", "“organized as following”", "as follows"),
    ("section 1", "“depsite”", "despite"),
    ("section 1", "“the same ordering that optimizes an area criterion also optimizes a Shapley value”",
     "is that of the Shapley values"),
    ("section 2", "“saliency mathods”", "methods"),
    ("section 2", "“adversarily”", "adversarially"),
    ("section 3.1", "“the straight line connecting connecting the endpoints”", "one “connecting” too many"),
    ("section 3.1", r"$(j, f(\tilde x^{(j)})$", "a parenthesis is missing"),
    ("section 3.3", r"“The next proposition gives $E(\lceil u\rceil)$”", r"$E(\lceil\pi(u)\rceil)$"),
    ("section 3.3, proof", r"$u\binom{n+1}{|u|+1}$", r"$|u|\binom{n+1}{|u|+1}$"),
    ("section 3.3", "“Next we work out the expected value of AUC”", "of ABC"),
    ("section 3.3", "“the decomposition in Appendix B.1”", "in appendix B"),
    ("section 5", "“our variance importance measures”", "variable importance"),
    ("section 5.2", r"“the angle between $p_x$ and $p_y$”", r"the angle of the vector $(p_x, p_y)$"),
    ("section 5.2", "“replacing real pixels in order by average ones”", "features; these data have no pixels"),
    ("section 5.2", "“has comparatively scores”", "comparatively high scores"),
    ("Figure 8, caption", "“Deletion test outliers”", "the upper row shows an outlier of the insertion test"),
    ("Figure 10, caption", "“Each dot correspond to two data that configure a pair”", "corresponds"),
    ("appendix A.1", "“The model output are distributed”", "is distributed"),
    ("appendix B", r"$g(z_j{:}c_{-j})$, $g(z_k{:}c_{-k})$", r"$\mathbf 0$ for the anchor, as everywhere else"),
    ("appendix B, lemma 1", r"“let $f:\{0,1\}^n\to\mathbb R$ have the anchored decomposition $g(z)=\dots$”",
     "$g$ for $f$"),
    ("appendix B, lemma 1", r"$g(z_v{:}\mathbf 0_{-v}) - f(z_{v+j}{:}\mathbf 0_{-v-j})$", "$g$ for $f$"),
    ("appendix B, lemma 1", "“Suppose that $z_j=0$ for $j\\in u$”", "for some $j\\in u$"),
    ("appendix B, theorem 1", r"“Let $f:x\to\mathbb R$”", r"$f:\mathcal X\to\mathbb R$"),
    ("appendix B.2", "“$a(x)$ is an additive function on $\\{0,1\\}^n$”", "$a(z)$"),
    ("appendix B.2", "“and $j=0$ indicating that we choose $x_j$”", "$z_j=0$"),
    ("appendix B.2", r"$\sum_{j=1}^d z_j(x'_j-x_j)\beta_j$", "to $n$"),
    ("appendix B.2", "“$h$ is differentiable with $h'>0$”, after leaky ReLU as an example",
     "leaky ReLU has no derivative at 0; almost everywhere is enough"),
)  # fmt: skip
