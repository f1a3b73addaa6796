"""Bends, leaks and verdicts on tables whose answers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from insdel_paper import claims
from insdel_paper.studies.roar import tables

COUNTS = (0, 1, 5, 10)


def rows(ranking: str, values: list[float], spread: float = 0.0, kind: str = "features") -> list[dict]:
    """Losses at COUNTS of ten features (or one of them for a mask), shifted a little by replicate."""
    counts = COUNTS if kind == "features" else COUNTS[1:2]
    return [
        {"input": kind, "ranking": ranking, "fraction": k / 10, "removed": k, "share": k / 10, "replicate": r,
         "loss": value + spread * (r - 1) * (k not in (0, 10)), "r2": 0.0}
        for k, value in zip(counts, values, strict=True) for r in range(3)
    ]  # fmt: skip


def table(spread: float = 0.001, **curves: list[float]) -> pd.DataFrame:
    return pd.DataFrame([row for ranking, values in curves.items() for row in rows(ranking, values, spread)])


STRAIGHT, EARLY, LATE = [1.0, 1.2, 2.0, 3.0], [1.0, 3.0, 3.0, 3.0], [1.0, 1.0, 1.0, 3.0]


def test_areas_are_trapezoids_over_the_shares() -> None:
    found = table(kernel_shap=EARLY, integrated_gradients=LATE, random=STRAIGHT)
    shares = np.array(COUNTS) / 10
    for ranking, values in {"kernel_shap": EARLY, "integrated_gradients": LATE}.items():
        expected = np.trapezoid(values, shares) - 2.0  # the line from 1 to 3
        np.testing.assert_allclose(tables.areas(found, ranking).mean(), expected)
    bends = tables.bends(found)
    np.testing.assert_allclose(bends.loc["random", "bend"], 0, atol=1e-12)
    np.testing.assert_allclose(bends.loc["kernel_shap", "bend"], 0.5 - 0.05)  # 0.5 less the first step's triangle
    np.testing.assert_allclose(bends.loc["integrated_gradients", "bend"], -0.25)
    assert (bends["se"] > 0).all()


def test_standard_errors_are_over_replicates() -> None:
    found = table(spread=0.3, random=STRAIGHT)
    values = tables.bend(found, "random")
    assert values.shape == (3,)
    np.testing.assert_allclose(tables.bends(found).loc["random", "se"], values.std(ddof=1) / np.sqrt(3))
    paired = table(kernel_shap=EARLY, random=STRAIGHT)
    gap = tables.bend(paired, "kernel_shap") - tables.bend(paired, "random")
    np.testing.assert_allclose([gap.mean(), gap.std()], [0.45, 0], atol=1e-12)  # the shifts cancel


def test_losses_have_means_and_errors() -> None:
    found = tables.losses(table(spread=0.3, random=STRAIGHT)).set_index("fraction")
    np.testing.assert_allclose(found["loss"], STRAIGHT)
    np.testing.assert_allclose(found["se"], [0, 0.3 / np.sqrt(3), 0.3 / np.sqrt(3), 0])


def test_verdicts() -> None:
    """The rules of the claims on tables whose bends are known: early, straight, late."""
    found = table(
        kernel_shap=EARLY, kernel_shap_signed=STRAIGHT, integrated_gradients=LATE, integrated_gradients_signed=LATE,
        random=STRAIGHT,
    )  # fmt: skip
    judged = claims.check("roar", {"bangalore": found})
    assert judged["verdict"].to_dict() == {
        "roar-straight": claims.NOT, "roar-signed": claims.PART, "roar-expected": claims.PART,
        "roar-comparable": claims.NOT, "roar-ig-houses": claims.NOT, "roar-unable": claims.PART,
        "roar-redundancy": claims.CANNOT,
    }  # fmt: skip
    numbers = claims.numbers_behind(judged["figures"]).loc["roar-straight"]
    np.testing.assert_allclose(numbers["ours"], [0.45, -0.25], atol=1e-9)  # late is as little straight as early
    swapped = table(integrated_gradients=EARLY, kernel_shap=STRAIGHT)
    assert claims.check("roar", {"bangalore": swapped}).loc["roar-ig-houses", "verdict"] == claims.HOLDS
    unsure = table(spread=1.0, kernel_shap=[1.0, 1.2 + 0.8, 2.4, 3.0], integrated_gradients=STRAIGHT)
    assert claims.check("roar", {"bangalore": unsure}).loc["roar-straight", "verdict"] == claims.UNDECIDED


def test_a_rise_within_its_noise_is_called_noise() -> None:
    found = table(kernel_shap=STRAIGHT, integrated_gradients=STRAIGHT)
    assert not tables.is_noise(found)
    shaky = found.assign(loss=found["loss"] + 9.0 * (found["replicate"] - 1) * (found["removed"] == 10))
    assert tables.is_noise(shaky)
    assert set(tables.side_by_side({"shaky": shaky})["shaky"]) == {"noise"}
    falling = found.assign(loss=-found["loss"])
    assert tables.is_noise(falling)
    assert tables.is_noise(found[found["replicate"] == 0])  # one training has no error to compare with


def test_leaks_are_shares_of_the_rise() -> None:
    masked = pd.DataFrame(rows("kernel_shap_signed", [1.5], kind="mask") + rows("random", [3.0], kind="mask"))
    both = pd.concat([table(kernel_shap_signed=STRAIGHT, random=STRAIGHT), masked], ignore_index=True)
    found = tables.leaks(both).set_index("ranking")["undone"]
    np.testing.assert_allclose(found["kernel_shap_signed"], 0.75)  # 1.5 of the 2 that were lost
    np.testing.assert_allclose(found["random"], 0)
    assert len(tables.leaks(table(random=STRAIGHT))) == 0


def test_tables_for_the_page() -> None:
    found = table(random=STRAIGHT, kernel_shap=EARLY)
    shown = tables.summary(found)
    small = tables.summary(found.assign(loss=found["loss"] / 10))
    assert list(shown.index) == ["random", "Kernel SHAP, by size"]
    assert shown.loc["random", 0.5] == "2.00\u00a0±\u00a00.00" and small.loc["random", 0.5] == "0.200\u00a0±\u00a00.000"
    assert shown.loc["random", "bend"].startswith(("+0.00", "-0.00"))
    beside = tables.side_by_side({"a": found, "b": table(kernel_shap=LATE)})
    assert list(beside.index) == ["Kernel SHAP, by size", "random"]
    assert beside.loc["random", "b"] == "" and beside.loc["Kernel SHAP, by size", "b"].startswith("-0.25")


def test_changes_between_runs() -> None:
    runs = {"a": table(random=STRAIGHT, kernel_shap=EARLY), "b": table(random=LATE, kernel_shap=EARLY)}
    found = tables.changes(runs, [("a", "b"), ("a", "missing")]).loc[("a", "b")]
    assert found.loc["random", "change"] == pytest.approx(-0.25) and found.loc["random", "verdict"] == "less bent"
    assert found.loc["Kernel SHAP, by size", "verdict"] == "undecided"
    one = tables.bends(runs["a"]).loc["random", "se"], tables.bends(runs["b"]).loc["random", "se"]
    assert found.loc["random", "se"] == pytest.approx(np.hypot(*one))
    assert tables.changes(runs, [("b", "a")]).loc[("b", "a", "random"), "verdict"] == "more bent"
    assert len(tables.changes({"a": runs["a"]}, [("a", "b")])) == 0


def test_forms_have_curves_of_their_own() -> None:
    drawn = pd.DataFrame(rows("kernel_shap", LATE, 0.001)).assign(input="imputed")
    both = pd.concat([table(kernel_shap=EARLY), drawn])
    assert tables.bend(both, "kernel_shap").mean() > 0.3 > -0.2 > tables.bend(both, "kernel_shap", "imputed").mean()
    shown = tables.by_form(both)
    assert list(shown.columns) == [tables.FORM_TITLES["features"], tables.FORM_TITLES["imputed"]]
    assert shown.iloc[0, 0].startswith("+") and shown.iloc[0, 1].startswith("-")


def test_agreement_with_abc_knows_the_same_order_and_its_reverse() -> None:
    """Three methods whose bends rank as their insertion ABC does, and the other way round in deletion."""
    curves = {"kernel_shap": EARLY, "random": STRAIGHT, "integrated_gradients": LATE}
    found = table(**curves)
    rng = np.random.default_rng(0)
    pairs = pd.DataFrame({"pair": range(40), "row": range(40), "reference_row": rng.permutation(40)})
    level = {"kernel_shap": 3.0, "random": 2.0, "integrated_gradients": 1.0}
    areas = pd.DataFrame(
        {"pair": pair, "method": method, "mode": mode, "abc_per_feature": sign * value + 0.01 * rng.normal()}
        for pair in range(40) for method, value in level.items() for mode, sign in (("insertion", 1), ("deletion", -1))
    )  # fmt: skip
    shown = tables.agreement_with_abc(found, areas, pairs, draws=50)
    assert shown.loc[tables.FORM_TITLES["features"], "insertion"] == "+1.00 [+1.00, +1.00]"
    assert shown.loc[tables.FORM_TITLES["features"], "deletion"] == "-1.00 [-1.00, -1.00]"
