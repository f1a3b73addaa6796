"""The rule by which numbers become verdicts."""

import math

import numpy as np
import pytest

import insdel_paper as paper
from insdel_paper.claims.verdict import (
    CANNOT,
    HOLDS,
    LIMITS,
    NOT,
    PART,
    UNDECIDED,
    VERDICTS,
    WORDS,
    Claim,
    Figure,
    Finding,
    MissingRecordError,
    above,
    below,
    combine,
    differs,
    equal,
    judge,
    plausible,
    repeats,
    within,
)


@pytest.mark.parametrize(
    ("ours", "se", "verdict"),
    [(3.0, 1.0, HOLDS), (1.0, 1.0, UNDECIDED), (-1.0, 1.0, UNDECIDED), (-3.0, 1.0, NOT), (0.1, None, HOLDS),
     (-0.1, None, NOT), (0.0, 1.0, UNDECIDED)],
)  # fmt: skip
def test_one_rule_for_all_limits(ours, se, verdict):
    larger, smaller = above("a", ours, se), below("a", -ours, se, -0.0)
    assert larger.verdict == smaller.verdict == verdict
    assert larger.margin == (ours / se if se else None)


# a rule, a number that is clearly as claimed, one that clearly is not; each with standard error 1
RULES = {
    "above": (lambda ours: above("a", ours, 1.0), 5.0, -5.0, 0.0),
    "above, another limit": (lambda ours: above("a", ours, 1.0, 2.0), 7.0, -3.0, 2.0),
    "below": (lambda ours: below("a", ours, 1.0, 2.0), -3.0, 7.0, 2.0),
    "within": (lambda ours: within("a", ours, 1.0, 4.0, 1.0), 1.0, 9.0, 5.0),
    "differs": (lambda ours: differs("a", ours, 1.0, 0.5), -4.0, None, 0.0),
    "differs, large margin": (lambda ours: differs("a", ours, 1.0, 5.0), 9.0, 1.0, 5.0),
    "within, printed": (lambda ours: within("a", ours, 1.0, 4.0, 10.0, paper=10.0), 10.5, 17.0, 14.0),
    "repeats": (lambda ours: repeats("a", ours, 0.6, 10.0, 0.8, 4.0), 11.0, 3.0, 6.0),
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_says_yes_no_and_nothing_to_noise(rule):
    make, clear_yes, clear_no, limit = RULES[rule]
    assert make(clear_yes).verdict == HOLDS
    assert clear_no is None or make(clear_no).verdict == NOT
    noise = [make(ours).verdict for ours in np.random.default_rng(0).normal(limit, 1.0, 4000)]
    assert noise.count(UNDECIDED) > 0.93 * len(noise), "at its limit a number is decided by chance, 5 % of the time"


@pytest.mark.parametrize(("df", "quantile"), [(4, 2.776), (5, 2.571)])
def test_few_replicates_need_a_larger_distance(df, quantile):
    for ours, verdict in ((quantile + 0.01, HOLDS), (quantile - 0.01, UNDECIDED), (-quantile - 0.01, NOT)):
        assert above("a", ours, 1.0, df=df).verdict == below("a", -ours, 1.0, -0.0, df=df).verdict == verdict
        assert within("a", 0.0, 1.0, ours, df=df).verdict == verdict
    assert above("a", 2.1, 1.0).verdict == HOLDS and above("a", 2.1, 1.0, df=df).df == df


def test_a_printed_run_is_a_plausible_draw_or_not():
    """19 of 20 new runs from the same distribution are, and one from another is not."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(2000):
        runs, new = rng.normal(size=6), rng.normal()
        spread = runs.std(ddof=1) * math.sqrt(1 + 1 / 6)
        drawn.append(plausible("a", runs.mean(), spread, 5, new).verdict)
    assert 0.93 < drawn.count(HOLDS) / len(drawn) < 0.97
    assert plausible("a", 0.0, 1.0, 5, 3.0).verdict == NOT


def test_noise_and_wide_errors_decide_nothing():
    """|difference| > 0 holds for every number; "not significantly different" is not "equal"."""
    draws = [differs("a", ours, 1.0, 0.0).verdict for ours in np.random.default_rng(0).normal(size=10_000)]
    assert 0.03 < draws.count(HOLDS) / len(draws) < 0.06 and draws.count(UNDECIDED) > 9000
    assert repeats("a", 5.0, 30.0, 5.0, 1.0, 1.0).verdict == UNDECIDED  # the errors are larger than the margin
    assert within("a", 0.0, 1.0, 1.0).verdict == UNDECIDED
    with pytest.raises(ValueError, match="NaN"):
        above("a", math.nan)


def test_apart_combines_both_errors():
    assert Figure("a", 5.0, 3.0, 0.0, 4.0).apart == pytest.approx(1.0)
    assert Figure("a", 5.0, 3.0, 0.0).apart is None and Figure("a", 5.0, None, 0.0, 4.0).apart is None
    assert repeats("a", 1.0, 3.0, 0.0, 4.0, 20.0).verdict == HOLDS
    assert repeats("a", 31.0, 3.0, 0.0, 4.0, 20.0).verdict == NOT


def test_counted_and_printed_numbers_and_limits_that_are_met_exactly():
    assert equal("a", 1951, 1591).verdict == NOT and equal("a", 0.0561, 0.056, 5e-4).verdict == HOLDS
    assert equal("a", 1591, 1951).verdict == NOT and equal("a", 16, 16).verdict == HOLDS
    assert within("a", 1.0, 0.1, 0.6, 1.3).verdict == HOLDS and within("a", 1.0, 0.0, 0.2, 1.3).verdict == NOT
    assert below("a", 2.0, None, 2.0).verdict == HOLDS and above("a", 2.0, None, 2.0).verdict == NOT


def test_several_numbers_decide_together():
    assert combine([HOLDS, HOLDS, None]) == HOLDS and combine([NOT, NOT]) == NOT
    assert combine([HOLDS, NOT]) == combine([PART]) == combine([PART, NOT]) == combine([HOLDS, UNDECIDED]) == PART
    assert combine([UNDECIDED]) == combine([UNDECIDED, UNDECIDED, HOLDS]) == UNDECIDED
    assert combine([UNDECIDED, NOT]) == combine([NOT, NOT, HOLDS]) == combine([HOLDS, UNDECIDED, NOT]) == NOT
    assert combine([]) == combine([None, CANNOT]) == CANNOT and combine([CANNOT, HOLDS]) == HOLDS


def test_a_finding_says_how_many_numbers_are_as_claimed():
    numbers = [above("a", 3, 1), above("b", 1, 1), above("c", -1, 1), above("d", -3, 1), Figure("e", 0)]
    found = judge(numbers, "So.", "x")
    near = "too near the limit to tell"
    told = f"So. Of 4 numbers: 1 as claimed, 2 {near}, 1 not as claimed."
    assert found.verdict == NOT and found.because == told and found.evidence == ("x",)
    assert judge([above("a", -1, 1)]).because == f"The number is {near}."


def test_a_missing_record_is_no_error_but_a_bug_is():
    def missing() -> Finding:
        raise MissingRecordError("cern_average", "insdel record cern_average")

    def broken() -> Finding:
        raise FileNotFoundError("something else")

    found = Claim("a", "", "", "cern", missing).finding()
    assert found.verdict == CANNOT and "`insdel record cern_average`" in found.because
    with pytest.raises(FileNotFoundError):
        Claim("a", "", "", "cern", broken).finding()


def test_every_limit_is_explained():
    assert set(WORDS) == set(LIMITS) and len(VERDICTS) == 5
    assert all("{" in words for words in WORDS.values())


def test_the_papers_own_numbers_are_close_where_it_says_close_and_fulfil_its_other_words():
    wide = {name: paper.table(name).pivot_table(index=["policy", "mode"], columns="method", values="mean")
            for name in ("bangalore", "cern_counterfactual", "cern_policies")}  # fmt: skip
    houses, events, others = ({m: t[m] / t["kernel_shap"] for m in t} for t in wide.values())
    near = [houses["integrated_gradients"], others["integrated_gradients"], others["lime"].loc["one_to_one"],
            *(events[method] for method in ("integrated_gradients", "deeplift", "lime"))]  # fmt: skip
    assert all((ratio >= 1 - LIMITS["close"]).all() for ratio in near)
    ks, ig, lift = (wide["bangalore"].xs("deletion", level="mode")[m].item() for m in
                    ("kernel_shap", "integrated_gradients", "deeplift"))  # fmt: skip
    assert all(abs(1 - ratio) <= LIMITS["tie"] for ratio in (ks / lift, ig / lift, ks / ig))
    for ratios in (houses, events):
        assert all((ratios[method] <= LIMITS["poor"]).all() for method in ("input_x_gradient", "vanilla_grad"))
    assert (others["lime"].loc["average"] <= 1 - LIMITS["not well"]).all()
    assert (houses["deeplift"] >= 1 - LIMITS["reasonably well"]).all()
    tests = wide["cern_policies"]["kernel_shap"].unstack("mode")
    assert (tests["insertion"] / tests["deletion"]).min() >= LIMITS["much larger"]


@pytest.mark.parametrize(("agree", "verdict"), [(0, NOT), (1, NOT), (2, PART), (3, PART), (4, HOLDS)])
def test_a_table_holds_in_part_if_half_of_its_numbers_agree(agree: int, verdict: str) -> None:
    figures = [repeats("a", 0.0 if k < agree else 9.0, 1.0, 0.0, 1.0, 4.0) for k in range(4)]
    assert judge([*figures, Figure("only shown", 1.0)]).verdict == verdict
