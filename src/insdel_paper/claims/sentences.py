"""The sentences of the abstract and of the conclusion, each with the claims that it makes; and ours, in short."""

from __future__ import annotations

from dataclasses import dataclass

from insdel_paper.claims.verdict import HOLDS, NOT, PART, UNDECIDED


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper and the ids of its claims; none where it only sets the scene."""

    where: str
    text: str
    claims: tuple[str, ...] = ()


ABSTRACT = (
    ("A basic task in explainable AI (XAI) is to identify the most important features behind a prediction made by a "
     "black box function f.", ()),
    ("The insertion and deletion tests of Petsiuk et al. can be used to judge the quality of algorithms that rank "
     "pixels from most to least important for a classification.", ("image-reference", "image-forgets")),
    ("Motivated by regression problems we establish a formula for their area under the curve (AUC) criteria in terms "
     "of certain main effects and interactions in an anchored decomposition of f.",
     ("theorem-1", "deletion-auc", "lemma-1", "anchored-dividends")),
    ("We find an expression for the expected value of the AUC under a random ordering of inputs to f and propose an "
     "alternative area above a straight line for the regression setting.",
     ("expected-auc", "proposition-1", "expected-abc", "aul")),
    ("We use this criterion to compare feature importances computed by IG to those computed by Kernel SHAP as well as "
     "LIME, DeepLIFT, vanilla gradient and input × gradient methods.",
     ("houses-table", "events-table-2", "events-table-3", "tables-unit")),
    ("KS has the best overall performance in two datasets we consider but it is very expensive to compute.",
     ("overall-ks-best", "cost-exponential")),
    ("We find that IG is nearly as good as KS while being much faster.",
     ("overall-ig-nearly", "cost-ig-faster", "cost-ig-faster-houses")),
    ("Our comparison problems include some binary inputs that pose a challenge to IG because it must use values "
     "between the possible variable levels and so we consider ways to handle binary variables in IG.",
     ("houses-binary", "interpolation-cost", "jump-cost", "casting-fastest", "ig-interpolated-shapley")),
    ("We show that sorting variables by their Shapley value does not necessarily give the optimal ordering for an "
     "insertion-deletion test.", ("shapley-not-best", "two-features")),
    ("It will however do that for monotone functions of additive models, such as logistic regression.",
     ("monotone", "additive-shapley", "logistic-interactions", "naive-bayes")),
)  # fmt: skip

CONCLUSION = (
    ("In this paper we have extended insertion and deletion tests to regression problems.", ()),
    ("That includes getting formulas for the effects of interactions on the AUC and ABC measures, finding the "
     "expected area between the insertion/deletion curve under random variable ordering, and replacing the horizontal "
     "axis by a more appropriate straight line reference.",
     ("theorem-1", "deletion-abc", "abc-sum", "expected-abc", "both-tests-mean", "aul")),
    ("We gave a condition under which sorting variables by their Shapley value will optimize ABC as well as "
     "constructing an example where that does not happen.", ("monotone", "shapley-not-best")),
    ("We compared six methods and several policies on two datasets.",
     ("houses-table", "events-table-2", "events-table-3")),
    ("We find that overall the Kernel SHAP gave the best areas.",
     ("overall-ks-best", "houses-ks-first", "events-ks-first", "events-policies-ks")),
    ("The much faster Integrated Gradients method was nearly as good.",
     ("overall-ig-nearly", "cost-ig-faster", "cost-ig-faster-houses")),
    ("In order to even run IG in settings with binary variables, some strategy for using continuum values must be "
     "employed.", ("houses-binary",)),
    ("We opted for the simplest choice of just casting the booleans to real values.",
     ("casting-fastest", "houses-mimic")),
    ("A very natural policy question is whether to prefer insertion or deletion. Petsiuk et al. consider both and do "
     "not show a strong preference for one over the other.", ()),
    ("In the regression setting both inputs points could be real data. By studying both insertion and deletion we have "
     "seen that they can differ.", ("overall-tests-differ", "events-insertion-larger", "events-correlations")),
    ("A natural way to break the tie is to sum the ABC values for both insertion and deletion. Under a completely "
     "random permutation the expected value of that sum is zero.",
     ("both-tests-mean", "houses-random-sum", "events-random-sum")),
    ("In our examples, IG closely matches KS for both insertion and deletion, so it also matches their sum.",
     ("overall-ig-sum", "houses-mimic", "events-close-behind", "events-policies-ig")),
)  # fmt: skip

SENTENCES = [Sentence(where, *row) for where, rows in (("abstract", ABSTRACT), ("conclusion",
    CONCLUSION)) for row in rows]


# What we say in short, each with the verdicts it rests on: if one of them changes, a test fails and the text must.
HEADLINES: tuple[tuple[str, dict[str, str]], ...] = (
    ("**The theory holds**: the formula for the AUC, its mean over all orders, the example in which Shapley's order is "
     "not the best, and the condition under which it is.",
     {"theorem-1": HOLDS, "expected-abc": HOLDS, "shapley-not-best": HOLDS, "monotone": HOLDS}),
    ("Two statements need a condition that is not in the paper: IG find the best order of a monotone function of a "
     "*linear* score, not of every additive one; and for naive Bayes the Shapley order is the best with two classes, "
     "not for the posterior of one class among three.", {"monotone-ig": PART, "naive-bayes": PART}),
    ("**Kernel SHAP ranks best or in a tie with the best, and IG nearly as well**, on both data sets. Only "
     "in insertion on the houses is IG, at 89 % of Kernel SHAP, too near our limit of 87.5 % to call it close. "
     "Gradients at $x$ alone, which do not use $x'$, are behind.",
     {"overall-ks-best": HOLDS, "overall-ig-nearly": PART, "overall-ig-sum": HOLDS, "events-same-ranking": HOLDS}),
    ("**The order of the methods repeats; the level of the scores depends on network and data.** Table 1: 15 of 16 "
     "printed numbers are plausible draws from our splits and trainings. Table 2: none of 16 is clearly off, but only "
     "4 clearly agree. Table 3: 21 of 28 do not come back from our network, a single one that learned from fewer "
     "events.",
     {"houses-table": PART, "events-table-2": UNDECIDED, "events-table-3": NOT}),
    ("The tables print ABC divided by the number of features, not the sum that the text defines.",
     {"tables-unit": NOT, "events-unit": NOT}),
    ("Insertion and deletion agree where $x'$ is near $x$, and much less for other policies.",
     {"events-diagonal": HOLDS, "events-correlations": PART, "events-wider-gap": HOLDS}),
    ("IG is much faster where many features differ. On the houses few do, and exact Shapley values take fewer "
     "evaluations than the paper's samples.", {"cost-ig-faster": HOLDS, "cost-ig-faster-houses": PART}),
    ("**Remove and retrain does not give the paper's straight curves here.** On the houses both methods lose accuracy "
     "at once. On the events they are hardly better than random removal; redundant columns are a part of the reason. "
     "Signed orders lose little because *which* features are gone tells the network about the target.",
     {"roar-straight": NOT, "roar-signed": NOT, "roar-expected": HOLDS, "roar-redundancy": PART}),
    ("**The table about the photo is unlike those of other photos.** No albatross of CUB that was looked at has "
     "deletion above insertion in all four rows. With its columns exchanged it is much nearer to them; that they were "
     "exchanged is not proven.",
     {"image-table": NOT}),
)  # fmt: skip
