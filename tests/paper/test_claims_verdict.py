"""The rule by which numbers become verdicts."""

import math

import pytest

from insdel import paper
from insdel.paper.claims.verdict import (
    CANNOT,
    HOLDS,
    LIMITS,
    NOT,
    PART,
    VERDICTS,
    WORDS,
    Claim,
    Figure,
    Finding,
    MissingRecordError,
    above,
    around,
    below,
    combine,
    equal,
    judge,
    mostly,
    repeats,
    zero,
)


@pytest.mark.parametrize(
    ("ours", "se", "verdict", "near"),
    [(3.0, 1.0, HOLDS, False), (1.0, 1.0, PART, True), (-1.0, 1.0, NOT, True), (-3.0, 1.0, NOT, False),
     (0.1, None, HOLDS, False), (0.0, None, NOT, False)],
)  # fmt: skip
def test_one_rule_for_all_numbers(ours, se, verdict, near):
    larger, smaller = above("a", ours, se), below("a", -ours, se, -0.0)
    assert (larger.verdict, larger.near) == (verdict, near)
    assert smaller.near == near and (smaller.verdict == verdict or ours == 0)


def test_a_limit_that_is_met_exactly_counts_for_at_most_but_not_for_more_than():
    assert below("a", 2.0, None, 2.0).verdict == HOLDS and above("a", 2.0, None, 2.0).verdict == NOT


def test_no_verdict_on_nothing():
    with pytest.raises(ValueError, match="NaN"):
        above("a", math.nan)


def test_apart_combines_both_errors():
    assert Figure("a", 5.0, 3.0, 0.0, 4.0).apart == pytest.approx(1.0)
    assert Figure("a", 5.0, 3.0, 0.0).apart is None and Figure("a", 5.0, None, 0.0, 4.0).apart is None
    assert repeats("a", 5.0, 3.0, 0.0, 4.0).verdict == HOLDS and repeats("a", 11.0, 3.0, 0.0, 4.0).verdict == NOT


def test_counted_and_printed_numbers():
    assert equal("a", 1951, 1591).verdict == NOT and equal("a", 0.0561, 0.056, 5e-4).verdict == HOLDS
    assert zero("a", 1.9, 1.0).verdict == HOLDS and zero("a", -2.1, 1.0).verdict == NOT
    assert around("a", 1.0, 0.2, 1.3).verdict == HOLDS and around("a", 1.0, 0.1, 1.3).verdict == NOT


def test_several_numbers_decide_together():
    assert combine([HOLDS, HOLDS, None]) == HOLDS and combine([NOT, NOT]) == NOT
    assert combine([HOLDS, NOT]) == combine([PART]) == combine([PART, NOT]) == PART
    assert combine([]) == combine([None, CANNOT]) == CANNOT and combine([CANNOT, HOLDS]) == HOLDS


def test_a_finding_says_how_many_numbers_are_as_claimed():
    numbers = [above("a", 3, 1), above("b", 1, 1), above("c", -1, 1), above("d", -3, 1), Figure("e", 0)]
    found = judge(numbers, "So.", "x")
    near = "within 2 standard errors of the limit"
    told = f"So. Of 4 numbers: 1 as claimed, 1 as claimed but {near}, 1 not as claimed but {near}, 1 not as claimed."
    assert found.verdict == PART and found.because == told and found.evidence == ("x",)
    assert judge([above("a", -1, 1)]).because.startswith("The number is not on the claimed side, though within 2")


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
    assert set(WORDS) == set(LIMITS) and len(VERDICTS) == 4
    assert all("{" in words for words in WORDS.values())


def share(name: str, a: str, b: str, mode: str, policy: str = "counterfactual") -> float:
    """Printed mean of a over that of b."""
    means = paper.table(name).query("policy == @policy and mode == @mode").set_index("method")["mean"]
    return means[a] / means[b]


KS = "kernel_shap"
CLOSE = [
    *(("bangalore", "integrated_gradients", mode, "counterfactual") for mode in ("insertion", "deletion")),
    *(("cern_counterfactual", m, mode, "counterfactual") for m in ("integrated_gradients", "deeplift", "lime")
      for mode in ("insertion", "deletion")),
    *(("cern_policies", "integrated_gradients", mode, policy) for mode in ("insertion", "deletion")
      for policy in ("one_to_one", "average")),
    *(("cern_policies", "lime", mode, "one_to_one") for mode in ("insertion", "deletion")),
]  # fmt: skip


@pytest.mark.parametrize(("table", "method", "mode", "policy"), CLOSE)
def test_the_papers_own_numbers_are_close_where_it_says_close(table, method, mode, policy):
    assert share(table, method, KS, mode, policy) >= 1 - LIMITS["close"]


def test_the_papers_own_numbers_fulfil_its_other_words():
    deletion = [share("bangalore", a, b, "deletion") for a, b in
                ((KS, "deeplift"), ("integrated_gradients", "deeplift"), (KS, "integrated_gradients"))]  # fmt: skip
    assert all(abs(1 - value) <= LIMITS["tie"] for value in deletion)
    for mode in ("insertion", "deletion"):
        for table in ("bangalore", "cern_counterfactual"):
            assert share(table, "input_x_gradient", KS, mode) <= LIMITS["poor"]
            assert share(table, "vanilla_grad", KS, mode) <= LIMITS["poor"]
        assert share("cern_policies", "lime", KS, mode, "average") <= 1 - LIMITS["not well"]
        assert share("bangalore", "deeplift", KS, mode) >= 1 - LIMITS["reasonably well"]
    rows = paper.table("cern_policies").query("method == @KS")
    rows = rows.pivot_table(index="policy", columns="mode", values="mean")
    assert (rows["insertion"] / rows["deletion"]).min() >= LIMITS["much larger"]


@pytest.mark.parametrize(("agree", "verdict"), [(0, NOT), (1, NOT), (2, PART), (3, PART), (4, HOLDS)])
def test_a_table_holds_in_part_if_half_of_its_numbers_agree(agree: int, verdict: str) -> None:
    figures = [repeats("a", 0.0 if k < agree else 9.0, 1.0, 0.0, 1.0) for k in range(4)]
    assert mostly(judge([*figures, Figure("only shown", 1.0)])).verdict == verdict
