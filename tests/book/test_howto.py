"""The how-to page: it fits a screen, and every snippet on it runs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

import insdel
from insdel_book.chapters import find_chapter, list_chapters
from insdel_book.cli import parser, user_values
from insdel_book.parameters import check_values

PAGE = (ROOT / "book" / "howto.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_it_fits_a_screen() -> None:
    assert len(PAGE.splitlines()) <= 65 and max(map(len, PAGE.splitlines())) <= 130


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    """What the snippets leave behind, run one after the other as a reader would."""
    names: dict = {}
    here = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("reader"))
    for snippet in SNIPPETS:
        exec(compile(snippet, "howto.md", "exec"), names)
    plt.close("all")
    yield names
    os.chdir(here)


def test_the_snippets_run_and_say_what_they_claim(names: dict, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SNIPPETS) == 3
    assert names["X"].shape == (442, 10)
    assert names["A"].shape == (20, 10)
    best, mine = (insdel.abc(names["pair"].curve(order)) for order in
                  (names["pair"].best_order(), insdel.order(names["A"][0])))  # fmt: skip
    assert best >= mine >= names["pair"].expected_abc()
    ours = insdel.explain("kernel_shap", names["f"], names["x"], names["reference"])
    np.testing.assert_allclose(ours[0], names["pair"].shapley())
    assert set(names["c"].table["method"]) == {"LIME", "ours", "gain"} and Path("build/report.html").is_file()


LINES = dict(re.findall(r"^\| ([^|]+?) \| `(.*)` \|$", PAGE, re.MULTILINE))


def rows_of(names: dict) -> tuple:
    """Training rows, answers, and three patients with one reference, as NumPy holds them."""
    return names["X"][:350], names["y"][:350], names["x"][:3], names["reference"]


def trees(names: dict) -> dict:
    from sklearn.ensemble import RandomForestClassifier

    X, y, x, _ = rows_of(names)
    return {"clf": RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y > 150), "x": x}


def networks(names: dict) -> dict:
    torch, captum = pytest.importorskip("torch"), pytest.importorskip("captum.attr")
    _, _, x, reference = rows_of(names)
    torch.manual_seed(0)
    point, base = (torch.tensor(np.asarray(part), dtype=torch.float32) for part in (x, reference))
    wide = torch.nn.Sequential(torch.nn.Linear(10, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    net = torch.nn.Sequential(torch.nn.Linear(10, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    values = captum.IntegratedGradients(net).attribute(point, base.expand(3, -1))
    return {"net": net, "net3": wide, "captum_values": values, "x": point, "reference": base}


def lime(names: dict) -> dict:
    tabular = pytest.importorskip("lime.lime_tabular")
    X, _, x, _ = rows_of(names)
    explainer = tabular.LimeTabularExplainer(X.to_numpy(), mode="regression", discretize_continuous=False, random_state=0)
    predict = lambda z: names["f"](pd.DataFrame(z, columns=list(X)))  # noqa: E731
    found = [dict(explainer.explain_instance(row, predict, num_features=10).as_map()[1]) for row in x.to_numpy()]
    return {"lime_frame": pd.DataFrame(found)[range(10)].set_axis(list(X), axis=1).set_index(x.index), "x": x}


def boosted(names: dict) -> dict:
    xgboost, lightgbm, catboost = map(pytest.importorskip, ("xgboost", "lightgbm", "catboost"))
    X, y, x, _ = rows_of(names)
    xgb = xgboost.XGBRegressor(n_estimators=5).fit(X, y)
    lgb = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y)
    cat = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False).fit(X, y)
    return {"xgb": xgb, "lgb": lgb, "cat": cat, "x": x,
            "xgb_values": xgb.get_booster().predict(xgboost.DMatrix(x), pred_contribs=True),
            "lgb_values": lgb.predict(x, pred_contrib=True),
            "cat_values": cat.get_feature_importance(catboost.Pool(x), type="ShapValues")}  # fmt: skip


def ebm(names: dict) -> dict:
    glassbox = pytest.importorskip("interpret.glassbox")
    X, y, x, _ = rows_of(names)
    return {"ebm": glassbox.ExplainableBoostingRegressor(interactions=0).fit(X, y), "x": x}


MADE = {"shap": trees, "shap of a classifier": trees, "captum": networks, "torch": networks, "lime": lime,
        "torch, several outputs": networks, "scikit-learn": trees, "XGBoost": boosted, "LightGBM": boosted,
        "CatBoost": boosted, "EBM (interpret)": ebm, "a classifier": trees, "a method of your own": trees}  # fmt: skip


@pytest.mark.parametrize("have", MADE)
@pytest.mark.filterwarnings("ignore:.*different references:UserWarning", "ignore::UserWarning:shap")
def test_each_line_of_the_table_runs(names: dict, have: str) -> None:
    """What you have → what you write, executed as it stands on the page."""
    import shap

    assert set(LINES) >= set(MADE)
    here = {**names, "shap": shap, **MADE[have](names)}
    f, methods = eval(f"({LINES[have]})", here)
    c = insdel.compare(f, here["x"], here["reference"], methods, progress=False)
    assert list(c.table["method"].unique()) == list(methods) and c.table["score"].notna().all()
    if have not in ("scikit-learn", "a method of your own"):  # importances have no sign; x′ − x is no explanation
        assert c.summary()["score"].mean() > 0.2, c.summary()


def test_the_options_of_the_page_work(names: dict) -> None:
    f, x, reference = names["f"], names["x"][:2], names["reference"]
    texts = re.findall(r"`(groups|background|options)=([^`]+)`", PAGE)
    assert {name for name, _ in texts} == {"groups", "background", "options"}
    for name, text in texts:
        value = eval(text, dict(names))
        base = {} if name == "background" else {"reference": reference}
        c = insdel.compare(f, x, methods=["kernel_shap"], progress=False, **base, **{name: value})
        assert c.pairs.n == (9 if name == "groups" else 10)
    assert "checkpoint" in insdel.compare.__kwdefaults__ and "scheduler" in insdel.compare.__kwdefaults__


def test_the_numbers_of_the_page_are_the_records() -> None:
    from insdel_paper import results

    table, _ = results.load("cost")
    row = table[(table["method"] == "kernel_shap") & (table["budget"] == 256) & (table["mode"] == "insertion")].iloc[0]
    lost = row["shortfall"] / (row["abc_per_feature"] + row["shortfall"])  # the table has it in GeV per feature
    assert f"they lost {100 * lost:.2f} % of the area" in PAGE


def test_commands_exist_and_their_parameters_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(text)[1:] for text in re.findall(r"`(insdel [^`]+)`", PAGE)]
    assert {command[0] for command in commands} == {"report"}
    for command in commands:
        options = parser().parse_args(command)
        if command[0] == "run":
            chapter = find_chapter(list_chapters(ROOT), options.chapter)
            values = user_values(options)
            for name in values.values():
                (tmp_path / name.partition(":")[0]).touch()  # the page's own files
            check_values(chapter.parameters(), values)
