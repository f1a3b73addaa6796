"""The claims: each verdict is derived anew from `results/` and compared with the stated one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import insdel_paper as paper
from insdel.stats import naive_error
from insdel_book.cli import main
from insdel_book.pages import claims as page
from insdel_paper import results
from insdel_paper.claims import (
    CANNOT,
    CLAIMS,
    HOLDS,
    NOT,
    PART,
    UNDECIDED,
    VERDICTS,
    Figure,
    Finding,
    all_claims,
    check,
    derive,
    disagreements,
    over_runs,
    records,
    roar,
    state,
    stated,
    theory,
)
from insdel_paper.claims.catalogue import HEADLINES, NUMBERS, ROWS, SENTENCES, STATED, numbers
from insdel_paper.claims.comparisons import larger, printed_numbers, wider_gap
from insdel_paper.claims.runs import IG, KS, MODES, RANDOM, D, I, Run
from insdel_paper.claims.verdict import LIMITS, MissingRecordError, rule
from insdel_paper.studies import outcome, variation
from insdel_paper.studies.breadth import analysis, protocol
from insdel_paper.studies.roar.tables import STRAIGHT

BY_ID = {claim.id: claim for claim in CLAIMS}


@pytest.fixture(scope="module")
def findings() -> dict[str, Finding]:
    return derive(CLAIMS)


def test_every_verdict_is_the_stated_one(findings: dict[str, Finding]) -> None:
    assert not disagreements(findings, stated())


def test_every_number_behind_a_verdict_is_the_stated_one(findings: dict[str, Finding]) -> None:
    """If records were made anew on purpose, `insdel claims --state` writes verdicts and numbers."""
    derived, known = numbers(findings), json.loads(STATED.with_name(NUMBERS).read_text(encoding="utf-8"))
    assert {name: list(figures) for name, figures in derived.items()} == {name: list(figures) for name, figures in known.items()}
    for name, figures in derived.items():
        assert figures == pytest.approx(known[name], rel=1e-4, abs=1e-9), name


def test_every_finding_has_a_reason_and_evidence(findings: dict[str, Finding]) -> None:
    assert len(CLAIMS) >= 35 and len(BY_ID) == len(CLAIMS) and all_claims() == CLAIMS
    for name, found in findings.items():
        assert re.fullmatch(r"[a-z0-9-]+", name) and BY_ID[name].where and BY_ID[name].statement
        assert found.verdict in VERDICTS and found.because.strip(), name
        assert found.evidence or found.verdict == CANNOT, name
        named = [e for e in found.evidence if not e.startswith(("symbolic: ", "counted: ", "insdel.", "insdel_paper."))]
        assert all(results.exists(record) for record in named) or found.verdict == CANNOT, name
        judged = [figure.verdict for figure in found.figures if figure.verdict]
        assert found.verdict != HOLDS or set(judged) <= {HOLDS}, name
        assert found.verdict != NOT or judged.count(HOLDS) < len(judged) / 2 or not judged, name
        assert found.verdict != UNDECIDED or NOT not in judged, name


@pytest.mark.parametrize(("text", "verdicts"), HEADLINES)
def test_what_we_say_in_short_is_what_the_verdicts_say(text: str, verdicts: dict[str, str]) -> None:
    assert verdicts and {name: stated()[name] for name in verdicts} == verdicts, text


def test_counts_in_the_headlines_are_those_of_the_verdicts(findings: dict[str, Finding]) -> None:
    [text] = [text for text, verdicts in HEADLINES if "events-table-3" in verdicts]
    first, second, third = (
        [figure.verdict for figure in findings[name].figures if figure.verdict]
        for name in ("houses-table", "events-table-2", "events-table-3")
    )
    assert f"{first.count(HOLDS)} of {len(first)} printed numbers" in text
    assert f"none of {len(second)} is clearly off, but only {second.count(HOLDS)} clearly agree" in text
    assert NOT not in second and f"{third.count(NOT)} of {len(third)} are not reproduced" in text


def test_sentences_lead_to_claims() -> None:
    assert {claim for sentence in SENTENCES for claim in sentence.claims} <= set(BY_ID)
    for where in ("abstract", "conclusion"):
        assert sum(bool(sentence.claims) for sentence in SENTENCES if sentence.where == where) >= 8


def test_a_wrong_check_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = theory.settled([theory.Check("a", "", "", True), theory.Check("b", "", "", False)])
    assert wrong.verdict == PART and theory.settled([theory.Check("a", "", "", False)]).verdict == NOT
    table = records.table("data_facts").replace({"value": {1951.0: 1591.0}})
    monkeypatch.setattr(records, "table", lambda name: table)
    assert BY_ID["houses-complete"].finding().verdict == HOLDS
    with pytest.raises(ValueError, match="found \\['theorem_9'\\]"):
        theory.proved("theorem_1", "theorem_9")


def test_a_rule_has_a_name_of_its_own() -> None:
    with pytest.raises(ValueError, match="two called 'proved'"):
        rule()(type(theory.proved)(theory.proved.__code__, {}))


def test_disagreements_name_both_verdicts() -> None:
    lines = disagreements({"a": Finding(NOT, "Because."), "b": Finding(HOLDS, "")}, {"a": HOLDS, "b": HOLDS, "c": NOT})
    assert len(lines) == 2 and HOLDS in lines[0] and NOT in lines[0] and lines[1].startswith("c: ")


def test_state_writes_what_stated_reads(tmp_path: Path) -> None:
    path = state({"a": Finding(PART, "", (Figure("b", 1 / 3), Figure("c", None)))}, tmp_path / "stated.json")
    assert stated(path) == {"a": PART} and stated(tmp_path / "none.json") == {}
    assert json.loads((tmp_path / NUMBERS).read_text()) == {"a": {"b": 0.333333, "c": None}}


def areas_of(columns: dict) -> pd.DataFrame:
    """Table of areas with given ABC / n per (method, mode)."""
    rows = [
        {"pair": pair, "method": method, "mode": mode, "auc": 0.0, "abc": 16 * value, "abc_per_feature": value}
        for (method, mode), values in columns.items()
        for pair, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def fake(name: str, folder: Path, columns: dict, ends: list[tuple[int, int]]) -> None:
    """A record of a comparison with given ABC / n per (method, mode)."""
    pairs = pd.DataFrame(ends, columns=["row", "reference_row"]).rename_axis("pair").reset_index()
    pairs = pairs.assign(differing=16, f_x=1.0, f_reference=2.0)
    results.save(name, {"areas": areas_of(columns), "pairs": pairs}, {}, into=folder)


LEVELS = dict(zip(paper.SIX, (10, 9.8, 9.7, 0.2, 2, 9, 0), strict=True)) | {"expected": 0.0}


def scores(levels: dict[str, float]) -> dict:
    """ABC / n of fifty pairs per (method, mode), about given means."""
    rng = np.random.default_rng(2)
    return {(method, mode): level + rng.normal(0, 0.1, 50) for method, level in levels.items() for mode in (I, D)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of records."""
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path))
    return tmp_path


def test_numbers_of_a_run_are_those_of_plain_formulas(folder: Path) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(3, 1, 40), rng.normal(2, 1, 40)
    fake("cern_average", folder, {(KS, I): a, (IG, I): b}, [(k, -1) for k in range(40)])
    run = Run("cern_average", "average")
    assert run.mean((KS, I)) == pytest.approx((a.mean(), a.std(ddof=1) / np.sqrt(40)))
    assert run.difference((KS, I), (IG, I)) == pytest.approx(((a - b).mean(), (a - b).std(ddof=1) / np.sqrt(40)))
    value, se = run.ratio((KS, I), (IG, I))
    draws = [rng.integers(40, size=40) for _ in range(4000)]
    spread = np.std([a[d].mean() / b[d].mean() for d in draws])
    assert value == pytest.approx(a.mean() / b.mean()) and se == pytest.approx(spread, rel=0.15)
    assert run.correlation((KS, I), (IG, I))[0] == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert larger(run, (KS, I), (IG, I)).verdict == HOLDS and larger(run, (IG, I), (KS, I)).verdict == NOT


def test_both_directions_of_a_pair_are_one_observation(folder: Path) -> None:
    values = np.random.default_rng(0).normal(size=30)
    ends = [(2 * k, 2 * k + 1) for k in range(30)]
    fake("cern_one_to_one", folder, {(KS, I): [*values, *values]}, ends + [(b, a) for a, b in ends])
    run = Run("cern_one_to_one", "one_to_one")
    mean, se = run.mean((KS, I))
    assert (mean, se) == pytest.approx((values.mean(), values.std(ddof=1) / np.sqrt(30)), rel=0.02)
    assert naive_error([*values, *values]) < 0.75 * se


def test_a_planted_order_of_methods_is_found_and_its_opposite_refused(folder: Path) -> None:
    names = ("events-ks-first", "events-close-behind", "events-gradients-poor", "events-lime-nearly")
    ends = [(k, k + 100) for k in range(50)]
    fake("cern_counterfactual", folder, scores(LEVELS), ends)
    assert {BY_ID[name].finding().verdict for name in names} == {HOLDS}
    fake("cern_counterfactual", folder, scores({**LEVELS, KS: -10}), ends)
    assert BY_ID["events-ks-first"].finding().verdict == NOT


def test_missing_records_name_their_command(findings: dict[str, Finding], folder: Path) -> None:
    """Whatever rests on a record cannot be tested without it."""
    needy = [name for name, found in findings.items() if ":" not in found.evidence[0] and "." not in found.evidence[0]]
    assert len(needy) > 90
    for name in needy:
        found = BY_ID[name].finding()
        assert found.verdict == CANNOT and "To make it: `" in found.because, name
    with pytest.raises(MissingRecordError, match="insdel record cern_genuine_average"):
        records.load("cern_genuine_average", "charges")
    with pytest.raises(ValueError, match="no command is known"):
        records.command("moon")


def test_bends_of_planted_losses(folder: Path) -> None:
    share = np.array([0, 0.5, 1])
    rows = [
        {"input": "features", "ranking": ranking, "fraction": s, "removed": 2 * s, "share": s, "replicate": k,
         "loss": loss + 0.001 * k * (0.5 - abs(s - 0.5)), "r2": 0.0}
        for ranking, middle in {KS: 0.5, IG: 1.0, f"{KS}_signed": 0.5, f"{IG}_signed": 0.0, RANDOM: 0.5}.items()
        for s, loss in zip(share, (0.0, middle, 1.0), strict=True)
        for k in range(5)
    ]  # fmt: skip
    for name in roar.DATA:
        results.save(f"roar_{name}", {"losses": pd.DataFrame(rows)}, {}, into=folder)
    assert roar.Losses().bends("cern_genuine", KS).mean() == pytest.approx(0, abs=0.01)
    assert roar.Losses().bends("cern_genuine", IG).mean() == pytest.approx(0.25, abs=0.01)
    verdicts = {row["id"]: BY_ID[row["id"]].finding().verdict for row in ROWS if row.get("about") == "roar"}
    assert verdicts["roar-straight"] == PART and verdicts["roar-ig-houses"] == HOLDS
    assert verdicts["roar-redundancy"] == CANNOT and verdicts["roar-comparable"] == NOT
    # the same rules on tables of now, without a record
    results.folder().joinpath("roar_bangalore", "about.json").unlink()
    table = pd.DataFrame(rows)
    judged = check("roar", dict.fromkeys(roar.DATA, table))
    assert judged["verdict"].to_dict() == {**verdicts, "roar-redundancy": CANNOT}
    assert "bangalore_independent was not run" in judged.loc["roar-redundancy", "because"]
    flat = check("roar", {"bangalore": table.assign(loss=0.1 * table["replicate"])})
    assert flat.loc["roar-straight", "verdict"] == CANNOT and "hardly larger" in flat.loc["roar-straight", "because"]
    few = check("roar", {"bangalore": table[table["ranking"] != f"{IG}_signed"]})["verdict"]
    assert few["roar-signed"] == CANNOT and few["roar-ig-houses"] == HOLDS


def test_margins_are_those_of_the_studies() -> None:
    assert LIMITS["straight"] == STRAIGHT and LIMITS["ahead"] == protocol.SMALLEST


def breadth(gap: float, share: float = 0.95, seed: int = 0) -> pd.DataFrame:
    """Cells of twelve tables in which all methods are behind KS by a gap, and IG reaches a share of its score."""
    rng = np.random.default_rng(seed)
    rows = []
    for table in range(12):
        for family in protocol.NETWORKS:
            for method in ("kernel_shap", "kernel_shap_128", *protocol.methods("MLP")[3:], "treeshap"):
                score = 0.9 - gap * (method != KS) + rng.normal(0, 0.004)
                score = share * 0.9 + rng.normal(0, 0.004) if method == IG else score
                rows.append({"method": method, "score": score, "insertion": score, "deletion": score, "family": family,
                             "table": f"t{table}", "policy": "one_to_one", "seed": 0,
                             "evaluations": protocol.evaluations(method, 12 if method == KS else 8)})  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("cells", "verdicts"),
    [
        (breadth(0.05), {"breadth-ks-best": HOLDS, "breadth-ig-nearly": HOLDS, "breadth-ig-faster": HOLDS}),
        (breadth(0.005, 0.994), {"breadth-ks-best": NOT, "breadth-ig-nearly": HOLDS}),  # practically equal
        (breadth(-0.05, 0.8), {"breadth-ks-best": NOT, "breadth-ig-nearly": NOT}),
    ],
)
def test_statements_about_many_tables_follow_the_numbers(folder: Path, cells: pd.DataFrame, verdicts: dict) -> None:
    results.save("breadth", {"cells": cells}, {}, into=folder)
    assert {name: BY_ID[name].finding().verdict for name in verdicts} == verdicts
    slow = cells.assign(evaluations=100)
    results.save("breadth", {"cells": slow}, {}, into=folder)
    assert BY_ID["breadth-ig-faster"].finding().verdict == NOT
    if verdicts["breadth-ks-best"] == HOLDS:  # the study's own test says the same
        assert analysis.differences(cells, KS, IG, protocol.NETWORKS).median() > protocol.SMALLEST


def test_the_command_exits_with_1_when_records_and_statements_disagree(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = [BY_ID[name] for name in ("houses-complete", "events-phi")]
    page.chapters()  # kept, as those of all claims
    monkeypatch.setattr(page, "CLAIMS", few)
    monkeypatch.setattr(page.paper, "stated", lambda: {"houses-complete": NOT, "events-phi": PART})
    assert main(["claims"]) == 0
    told = capsys.readouterr().out
    assert "2 claims: 0 holds, 1 holds in part, 1 does not hold" in told and "ours 1,951, paper 1,591" in told
    assert main(["claims", "--verdict", NOT, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == ["houses-complete"] and rows[0]["figures"][0]["ours"] == 1951
    monkeypatch.setattr(page.paper, "stated", lambda: {"houses-complete": HOLDS, "events-phi": PART})
    assert main(["claims", "--chapter", "walk"]) == 1
    assert "!! houses-complete: stated “holds”, but the records say “does not hold”" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--verdict", "perhaps"], ["--chapter", "nowhere"]])
def test_misuse_of_the_command_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", *arguments]) == 2
    assert "must be one of" in capsys.readouterr().err


def planted(levels: dict[str, float]) -> outcome.Outcome:
    """A run of now in which the methods have given mean scores."""
    pairs = pd.DataFrame({"pair": range(50), "row": range(50), "reference_row": range(50, 100), "differing": 16,
                          "f_x": 1.0 + np.random.default_rng(2).random(50), "f_reference": 2.0})  # fmt: skip
    walks = pd.DataFrame({"what": "asymmetric", "method": KS, "mode": I, "step": range(3), "value": [1.0, 9.0, 2.0]})
    return outcome.Outcome(areas_of(scores(levels)), pairs, walks, None, "planted")


def test_a_run_of_now_gets_verdicts_of_its_own() -> None:
    """No record is asked, and the same rules turn round with the numbers."""
    judged = check("bangalore", planted(LEVELS))["verdict"]
    assert judged["houses-ks-first"] == judged["houses-gradients-poor"] == HOLDS
    turned = check("bangalore", planted({**LEVELS, KS: -10}))["verdict"]
    assert turned["houses-ks-first"] == NOT and "houses-table" not in judged


def test_a_policy_or_a_method_that_was_not_run_cannot_be_tested() -> None:
    few = {method: level for method, level in LEVELS.items() if method != "lime"}
    judged = check("cern", {"counterfactual": planted(few)})
    assert judged.loc["events-close-behind", "verdict"] == HOLDS
    assert judged.loc["events-lime-nearly", ["verdict", "because"]].tolist() == [CANNOT, "LIME was not run."]
    assert judged.loc["events-policies-ks", "because"] == "The one-to-one policy was not run."
    assert judged.loc["events-charges", "verdict"] == CANNOT
    with pytest.raises(ValueError, match="bangalore, cern and roar; found 'moon'"):
        check("moon", planted(few))


def test_claims_are_counted_over_runs() -> None:
    tables_, ends = [], []
    for training, levels in enumerate((LEVELS, {**LEVELS, KS: 9.0})):
        one, key = planted(levels), {"duplicates": "kept", "split": 0, "training": training}
        tables_.append(one.table.assign(**key))
        ends.append(one.pairs.assign(**key))
    counted = over_runs(pd.concat(tables_), pd.concat(ends))
    assert len(counted) == 12 and {"houses-ks-ig", "houses-deeplift"} < set(counted.index) and (counted.drop(columns="statement").sum(axis=1) == 2).all()
    assert counted.loc["houses-ks-first", HOLDS] == 1 and counted.loc["houses-ig-second", HOLDS] == 2


def test_another_training_widens_errors(folder: Path) -> None:
    """Five networks whose means differ by a known amount: that spread joins the error of the pairs."""
    rng = np.random.default_rng(4)
    fake("cern_genuine_average", folder, {(KS, I): rng.normal(3, 1, 40), (IG, I): rng.normal(2, 1, 40)}, [(k, -1) for k in range(40)])
    run = Run("cern_genuine_average", "average", "genuine")
    alone = run.mean((KS, I))
    shifts = [-2.0, -1.0, 0.0, 1.0, 2.0]
    rows = [{"policy": "average", "split": 0, "training": k, "pair": pair, "method": method, "mode": I,
             "abc_per_feature": shift + pair} for k, shift in enumerate(shifts) for method in (KS, IG) for pair in range(3)]  # fmt: skip
    results.save("cern_variation", {"areas": pd.DataFrame(rows)}, {}, into=folder)
    again = Run("cern_genuine_average", "average", "genuine")
    value, se = again.mean((KS, I))
    assert value == alone[0] and se == pytest.approx(np.hypot(alone[1], np.std(shifts, ddof=1) * 2.776 / 2), rel=1e-3)
    assert again.difference((KS, I), (IG, I)) == pytest.approx(run.difference((KS, I), (IG, I)))  # shifted alike
    again.printed = again.printed.loc[[(KS, I)]]  # the printed training counts as ours does
    [figure] = [part for part in printed_numbers(again) if isinstance(part, Figure)]
    shared = again.printed["se"].item() * again.enlarged(again[KS, I])
    assert figure.paper_se == pytest.approx(np.hypot(shared, np.std(shifts, ddof=1) * 2.776 / 2), rel=1e-3)


def test_trainings_that_two_policies_share_cancel_in_their_difference(folder: Path) -> None:
    """Every training moves the gap of both policies alike: the errors of both have its spread, their difference has not."""
    rng, rows = np.random.default_rng(5), []
    policies = {"counterfactual": [(k, 300 + k) for k in range(200)], "average": [(k, -1) for k in range(200)]}
    common = rng.normal(size=200)  # of x, which both policies share
    for policy, ends in policies.items():
        gap = common + rng.normal(0, 0.1, 200)
        fake(f"cern_genuine_{policy}", folder, {(KS, I): 9 + gap, (KS, D): np.zeros(200)}, ends)
        rows += [{"policy": policy, "split": 0, "training": k, "pair": pair, "method": KS, "mode": mode,
                  "abc_per_feature": (k + pair) * (mode == I)} for k in range(5) for mode in MODES for pair in range(3)]  # fmt: skip
    results.save("cern_variation", {"areas": pd.DataFrame(rows)}, {}, into=folder)
    base, run = (Run(f"cern_genuine_{policy}", policy, "genuine") for policy in policies)
    [figure] = wider_gap([run, base])
    values = (run[KS, I] - base[KS, I]).to_numpy()
    assert figure.ours == pytest.approx(values.mean()) and figure.se == pytest.approx(values.std(ddof=1) / 200**0.5, rel=0.1)
    assert run.difference((KS, I), (KS, D))[1] > 1.5


@pytest.mark.parametrize(("level", "verdict"), [(0.0, HOLDS), (5.0, NOT), (1.0, UNDECIDED)])
def test_random_orders_that_were_drawn_decide_about_their_sum(level: float, verdict: str) -> None:
    """The mean over all orders is 0 for any data; what was drawn need not be."""
    few = planted({**LEVELS, RANDOM: level, "expected": 0.0})
    assert check("bangalore", few).loc["houses-random-sum", "verdict"] == verdict


@pytest.mark.parametrize(("blurred", "verdict"), [(0.95, HOLDS), (0.1, NOT), (0.5, UNDECIDED)])
def test_the_photo_chosen_by_its_table_does_not_decide_about_photos(
    folder: Path, blurred: float, verdict: str
) -> None:
    """A share of photos has the blurred reference on top; the nearest one, shown alone, always has."""
    albatross = paper.table("albatross").set_index("reference")
    rows = [
        {"photo": f"p{k:02}", "preparation": "resized", "reference": name, "mode": mode, "start": 0.5 + 0.45 * (k < 60 * blurred),
         "auc": albatross.loc[name, mode] * (1 if k < 60 * blurred or name != "blurred" else 0.1), "end": 0.0, "gap": 0.0}
        for k in range(60) for name in albatross.index for mode in MODES
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    results.save("images_albatrosses", {"areas": table}, {}, into=folder)
    results.save("images_nearest", {"areas": table[table["photo"] == "p00"]}, {}, into=folder)
    assert {BY_ID[name].finding().verdict for name in ("image-blurred", "image-confident")} == {verdict}


def test_every_training_of_the_events_draws_its_own_orders() -> None:
    planned = variation.event_runs()
    assert len(planned) == 15 and len({tuple(run.values()) for run in planned}) == 15
    assert planned[0] == {"policy": "counterfactual", "split": 0, "training": 0}
