import re

import numpy as np
import pandas as pd
import pytest

import insdel
from insdel_book import benchmark
from insdel_paper.studies.breadth import games
from insdel_paper.studies.breadth.games import Games

ENTRIES = """
import os, sys, time
import numpy as np

def two_sided(f, d, budget, seed):
    print("this must not disturb the pipe")
    eye = np.eye(d, dtype=bool)
    first, last = f(eye), f(~eye)
    return (first - f(np.zeros(d)) + f(np.ones(d)) - last) / 2

def spends(f, d, budget, seed):
    return f(np.zeros((budget + 1, d), dtype=bool))[:d]

def spends_bit_by_bit(f, d, budget, seed):
    return [sum(f(np.zeros(d)) for _ in range(budget + 1))] * d

def sleeps(f, d, budget, seed):
    time.sleep(60)

def nan(f, d, budget, seed):
    return [float("nan")] * d

def short(f, d, budget, seed):
    return [1.0]

def fails(f, d, budget, seed):
    return 1 / 0

def wrong_masks(f, d, budget, seed):
    return f(np.zeros((1, d + 1)))

def reads(f, d, budget, seed):
    from insdel_paper.studies.breadth import games
    games.load()

def starts(f, d, budget, seed):
    os.system("true")

def quits(f, d, budget, seed):
    os._exit(0)

def rolls_dice(f, d, budget, seed):
    return np.random.random(d)

def by_seed(f, d, budget, seed):
    return np.random.default_rng(seed).random(d)
"""


@pytest.fixture(scope="module")
def few():
    """Six random games of three tables, networks and trees, with what two methods reach."""
    rng = np.random.default_rng(0)
    lattices = [insdel.Lattice(rng.standard_normal(2**d), tuple(range(d)), d) for d in (3, 4, 3, 4, 3, 4)]
    table = pd.DataFrame([(t, m, "one_to_one") for t in "abc" for m in ("MLP", "random forest")],
                         columns=["table", "family", "policy"])  # fmt: skip
    scale = np.array([games.scale_of(game) for game in lattices])
    areas = {"kernel_shap": np.array([games.areas_of(game, game.shapley()) for game in lattices])}
    areas["integrated_gradients"] = np.where((np.arange(6) % 2 == 0)[:, None], areas["kernel_shap"], np.nan)
    return Games(table, np.arange(6), lattices, scale, areas)


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(ENTRIES)
    return str(path)


def test_an_entry_is_scored_like_the_method_that_it_is(few, mine):
    areas, spent = benchmark.grade(f"{mine}:two_sided", few)
    own = [_two_sided(game) for game in few.lattices]
    np.testing.assert_allclose(areas, [games.areas_of(g, a) for g, a in zip(few.lattices, own, strict=True)])
    assert spent == pytest.approx(np.mean([2 * game.d + 2 for game in few.lattices]))


def _two_sided(game):
    def f(points):
        return game.values[(np.asarray(points) @ (1 << np.arange(game.d))).astype(int)]

    return insdel.explain("two_sided", f, np.zeros(game.d), np.ones(game.d))


def test_the_standing_counts_tables(few):
    table = benchmark.standing(few, few.areas)
    by_table = few.scores(few.areas["kernel_shap"]).groupby("table")["score"].mean()
    row = table.loc["kernel_shap"]
    assert row["score"] == pytest.approx(by_table.mean()) and row["se"] == pytest.approx(by_table.std() / 3**0.5)
    assert np.isnan(table.loc["integrated_gradients", "score"]) and np.isnan(table.loc["integrated_gradients", "rank"])
    assert table.loc["integrated_gradients", "networks"] == pytest.approx(row["networks"])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("spends", "budget is 48 for d = 3"),
        ("spends_bit_by_bit", "asked for 49 evaluations"),
        ("nan", "3 finite numbers"),
        ("short", "3 finite numbers; found 1 of them"),
        ("fails", "ZeroDivisionError"),
        ("wrong_masks", r"masks need shape \(m, 3\)"),
        ("reads", "reading the games is refused"),
        ("starts", "os.system is refused"),
        ("quits", "ended before it gave a result"),
        ("missing", "has no 'missing'"),
        ("rolls_dice", "returns other numbers when it is asked again"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_a_sentence(few, mine, name, why, monkeypatch, command):
    monkeypatch.setattr(games, "load", lambda: few)
    said = command(f"benchmark {mine}:{name}", 2).strip().splitlines()[-1]
    assert said.startswith("insdel: ") and re.search(why, said)


def test_an_entry_that_hangs_is_ended(few, mine):
    with pytest.raises(insdel.errors.UserError, match="no answer to a game within 6 seconds"):
        benchmark.grade(f"{mine}:sleeps", few, seconds=6)


def test_a_curve_over_budgets_and_a_table_of_ones_own(few, mine, tmp_path, monkeypatch, command):
    monkeypatch.setattr(games, "load", lambda: few)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((120, 4)), columns=list("pqrs"))
    frame.assign(y=frame["p"] + frame["q"] * frame["r"]).to_csv(tmp_path / "own.csv", index=False)
    (tmp_path / "model.py").write_text("import numpy as np\ndef f(z):\n    z = np.asarray(z)\n"
                                       "    return z[:, 0] + z[:, 1] * z[:, 2]\n")  # fmt: skip
    assert benchmark.own_cell(f"{tmp_path}/model.py:f", tmp_path / "own.csv", "y", 2**40).lattices
    own = f"--data {tmp_path}/own.csv"
    said = command(f"benchmark {mine}:two_sided --curve --model {tmp_path}/model.py:f --target y {own}")
    assert said.count("  budget ") == len(benchmark.CURVE) and "7 cells, 4 tables" in said and "your table own:" in said
    assert "needs --model, --data and --target" in command(f"benchmark {own}", 2)
