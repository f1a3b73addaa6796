"""Recorded runs: complete, resumable, apart from trials, and reproduced by today's code."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from pandas.testing import assert_frame_equal

import insdel
from insdel.comparison import compare
from insdel_book import cli
from insdel_paper import data, networks, results
from insdel_paper.data import simulate_cern
from insdel_paper.records import registry, run
from insdel_paper.records.registry import RUNS
from insdel_paper.records.run import Clock, Recording, carry_out
from insdel_paper.studies import best_order, comparisons, experiments, outcome, tables
from insdel_paper.studies.manifold import judged

SMALL = {"pairs": 2, "rows": 400, "epochs": 1, "charged": 1}
TABLES = [name for name in RUNS if name.startswith("cern_") and "charges" in RUNS[name].tables] + ["bangalore"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Records, trials and their unfinished chunks of this test alone."""
    settle(monkeypatch, tmp_path)
    return tmp_path


def settle(patch, place):
    patch.setenv("INSDEL_RESULTS", str(place / "results"))
    patch.setenv("INSDEL_CACHE", str(place / "cache"))


def trial(name, **changes):
    """Carry out a trial, and look at trials from now on."""
    path = carry_out(RUNS[name], changes)
    assert path == run.trials() / name
    return path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A small record of simulated events."""
    place = tmp_path_factory.mktemp("cern")
    with pytest.MonkeyPatch.context() as patch:
        settle(patch, place)
        trial("cern_one_to_one", **SMALL)
        assert results.names() == []
    return place


@pytest.fixture
def cern(recorded, monkeypatch):
    settle(monkeypatch, recorded)
    monkeypatch.setenv("INSDEL_RESULTS", str(recorded / "build" / "trials"))
    return recorded


def prepare(name, **changes):
    """The experiment of a record; changes : parameters of a trial."""
    policy = next((policy for policy in experiments.POLICIES if name.endswith(policy)), "counterfactual")
    parameters = {**RUNS[name].parameters, **changes}
    size = {key: parameters[key] for key in ("source", "rows", "epochs") if key in parameters}
    return experiments.prepare(name.split("_")[0], policy=policy, n_pairs=parameters["pairs"], **size)


def small_events():
    return prepare("cern_one_to_one", **SMALL)


def test_a_small_cern_record_has_all_its_parts(cern):
    found, methods = outcome.recorded("cern_one_to_one"), comparisons.METHODS
    assert len(found.table) == 2 * len(methods) * 2 and set(found.table["method"]) == set(methods)
    assert found.pairs["pair"].tolist() == [0, 1] and set(found.curves["what"]) == {
        "example", "insertion", "deletion", "asymmetric"
    }  # fmt: skip
    about = results.about("cern_one_to_one")
    words = "-p pairs 2 -p rows 400 -p epochs 1 -p charged 1"
    assert about["command"] == f"insdel record cern_one_to_one {words}"
    assert about["parameters"]["policy"] == "one_to_one" and about["parameters"]["pairs"] == 2
    assert about["data"]["source"] == "simulated" and about["seconds"] > 0
    assert about["evaluations"] == (2**found.pairs["differing"]).sum()
    assert "2 pairs, 400 simulated rows" in found.about and str(cern) not in json.dumps(about)
    flip = found.charges.query("quantity == 'flip'")["value"]
    network, one = networks.load(results.network("cern_one_to_one")), small_events()
    charged = [one.split.names.index(name) for name in ("Q1", "Q2")]
    hybrid = one.pairs.x[:1].copy()
    hybrid[:, charged] = one.pairs.reference[:1, charged]
    change = experiments.predict(network, hybrid) - experiments.predict(network, one.pairs.x[:1])
    assert flip.to_numpy() == pytest.approx(change, abs=1e-4)


def test_the_charges_get_what_shapley_values_say_and_ranking_them_matters_as_computed_by_hand(cern):
    found = outcome.recorded("cern_one_to_one").charges
    one = small_events()
    x, reference = one.pairs.x[:1], one.pairs.reference[:1]
    exact = np.asarray(insdel.explain("kernel_shap", one.model, x, reference))
    rows = found.query("method == 'kernel_shap' and quantity == 'attribution'")
    assert rows["value"].to_numpy() == pytest.approx(exact[0], abs=1e-5)
    blind = exact.copy()
    blind[:, [one.split.names.index("Q1"), one.split.names.index("Q2")]] = 0
    for mode in ("insertion", "deletion"):
        areas = [
            insdel.abc(insdel.curve(one.model, x, reference, insdel.order(a, mode)), mode, per_feature=True)
            for a in (exact, blind)
        ]
        gain = found.query("method == 'kernel_shap' and quantity == @mode")["value"]
        assert gain.to_numpy() == pytest.approx(areas[0] - areas[1], abs=1e-4)


def test_the_extreme_walk_off_the_manifold(place, monkeypatch):
    path = trial("manifold_extreme", source="simulated", rows=200, epochs=1, pairings=1)
    trial("manifold_cern", source="simulated", rows=200, epochs=1, pairs=1)
    monkeypatch.setenv("INSDEL_RESULTS", str(path.parent))
    found, about = results.load("manifold_extreme")
    assert len(found) == about["pairs"] == 20
    top = judged(results.load("manifold_extreme", "walks")[0], results.load("manifold_cern", "real")[0])
    top = top.query("method == 'kernel_shap' and mode == 'insertion' and what == 'of one pairing'")
    assert top["excess"].sum() == pytest.approx(found["insertion"].max(), rel=0.1)  # exact there, sampled here


def test_killed_and_started_again_a_run_is_the_same_and_counts_its_time(place, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    changes = {"source": "simulated", "pairs": 24, "epochs": 1}
    words = [word for name, value in changes.items() for word in ("-p", name, str(value))]
    command = [sys.executable, "-m", "insdel_book.cli", "record", "manifold_bangalore", *words]
    unfinished = RUNS["manifold_bangalore"].folder(RUNS["manifold_bangalore"].changed(changes))
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not list(unfinished.rglob("pairs_*.parquet")) and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert running.returncode == -signal.SIGKILL and not run.trials().exists()
    first = next(unfinished.rglob("pairs_0000000.parquet"))
    before = first.stat().st_mtime_ns
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "written: build/trials/manifold_bangalore" in done.stdout, done.stdout + done.stderr
    assert first.stat().st_mtime_ns == before  # not computed again
    assert len(json.loads((unfinished / "starts.json").read_text())) == 2
    monkeypatch.setenv("INSDEL_RESULTS", str(run.trials()))
    resumed, about = results.load("manifold_bangalore")
    assert about["seconds"] > 0
    shutil.rmtree(unfinished)
    monkeypatch.setenv("INSDEL_RESULTS", str(place / "results"))
    trial("manifold_bangalore", **changes)
    monkeypatch.setenv("INSDEL_RESULTS", str(run.trials()))
    assert_frame_equal(resumed, results.load("manifold_bangalore")[0])  # in one go: the same to the bit


def fake(rows=3):
    """A run that takes no time: its table has as many rows as it is told."""

    def work(context, pairs):
        return Recording({"areas": pd.DataFrame({"pair": range(pairs or rows)})}, {"data": "none"})

    return run.FullRun("fake", "nothing", ("areas",), {"pairs": None}, work)


def test_a_trial_never_touches_the_record(place):
    assert carry_out(fake(), log=lambda _: None) == place / "results" / "fake"
    before = {path: path.read_bytes() for path in (place / "results").rglob("*.*")}
    assert carry_out(fake(), {"pairs": "2"}) == place / "build" / "trials" / "fake"
    assert {path: path.read_bytes() for path in (place / "results").rglob("*.*")} == before
    assert fake().folder() != fake().folder({"pairs": 2}) != fake().folder({"pairs": 4})


def test_a_smaller_run_never_takes_the_place_of_a_larger_one(place):
    carry_out(fake(3))
    with pytest.raises(ValueError, match="areas has 2 rows, recorded are 3. It is kept in build/trials/fake"):
        carry_out(fake(2))
    assert len(results.load("fake")[0]) == 3 and (place / "build" / "trials" / "fake" / "areas.parquet").is_file()
    carry_out(fake(4))
    assert len(results.load("fake")[0]) == 4


def test_stopped_it_says_what_is_kept_and_how_to_go_on(place):
    def stop(context, pairs):
        (context.folder / "pairs_0.parquet").touch()
        raise KeyboardInterrupt

    said = []
    with pytest.raises(KeyboardInterrupt):
        carry_out(replace(fake(), work=stop), log=said.append)
    assert said[-1] == "stopped: 1 finished parts are in build/records/fake; to continue: insdel record fake"
    assert not results.exists("fake")


def test_a_log_gets_a_line_now_and_then(place, monkeypatch):
    monkeypatch.setattr(run, "LOG_SECONDS", 0.01)
    said = []

    def wait(context, pairs):
        while len(said) < 3:
            time.sleep(0.01)
        return Recording({"areas": pd.DataFrame({"pair": [0]})})

    carry_out(replace(fake(), work=wait), log=said.append)
    assert said[1] == "  0 parts finished, 0 minutes of work"


def test_a_run_that_writes_other_tables_than_it_says_is_refused(place):
    with pytest.raises(RuntimeError, match="should write"):
        carry_out(replace(fake(), tables=("curves",)))


def test_misuse_is_explained(place, capsys):
    with pytest.raises(ValueError, match="no run 'mars'. The runs are: .*bangalore"):
        registry.find("mars")
    with pytest.raises(ValueError, match="no parameter size. Its parameters, at full size: pairs"):
        carry_out(fake(), {"size": 1})
    with pytest.raises(ValueError, match="pairs of fake is a whole number, at least 1, at full size None; found 'few'"):
        carry_out(fake(), {"pairs": "few"})
    with pytest.raises(ValueError, match="no command is known that records 'moon'"):
        registry.command("moon")
    assert cli.main(["record", "mars"]) == 2 and "no run 'mars'" in capsys.readouterr().err
    assert cli.main(["record", "manifold_cern", "-p", "pairs", "-1", "-p", "rows", "200", "-p", "epochs", "1"]) == 2
    assert "at least 1, at full size 100; found '-1'" in capsys.readouterr().err
    assert cli.main(["record", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{name}: " in listed for name in RUNS) and "not recorded" in listed


def test_all_does_what_can_be_done_and_tells_the_rest(place, monkeypatch, capsys):
    def fail(context, pairs):
        raise FileNotFoundError("there is no photo here")

    runs = {"fake": fake(), "bad": replace(fake(), name="bad", work=fail), "last": replace(fake(), name="last")}
    monkeypatch.setattr(registry, "RUNS", runs)
    assert registry.carry_out(["all"], {}, log=lambda _: None) == 1
    assert results.names() == ["fake", "last"]
    assert capsys.readouterr().err.endswith("1 of 3 runs could not be done:\nbad could not be done: there is no photo here\n")


def test_every_record_of_the_repository_is_one_of_the_registry(monkeypatch):
    monkeypatch.delenv("INSDEL_RESULTS", raising=False)
    assert set(results.names()) <= {*RUNS, *registry.ELSEWHERE}
    for name in set(results.names()) & set(RUNS):
        assert tuple(results.tables(name)) == RUNS[name].tables, name
        assert results.about(name)["command"] == registry.command(name) == f"insdel record {name}"


def test_the_clock_counts_cut_off_starts_until_their_last_chunk(tmp_path):
    (tmp_path / "starts.json").write_text("[1000.0, 2000.0]")
    for name, end in {"pairs_0000000": 1010, "pairs_0000032": 1025, "pairs_0000064": 2007}.items():
        path = tmp_path / f"{name}.parquet"
        path.touch()
        os.utime(path, (end, end))
    before = time.time()
    clock = Clock(tmp_path)
    assert clock.seconds() == pytest.approx(25 + 7, abs=time.time() - before + 0.01)


def _reproducible(name):
    if not results.exists(name):
        pytest.skip(f"{name} is not recorded in {results.folder().name}/")
    recorded = results.load(name)[1]["data"]
    if "genuine" in name or name == "bangalore":
        real = {entry["name"]: entry for entry in data.available()}[name.split("_")[0]]
        if real["sha256"] != recorded["sha256"]:
            pytest.skip(f"the real file that {name} was recorded on is not here: set INSDEL_DATA")
    elif recorded["origin"] != simulate_cern.ORIGIN:
        pytest.skip(f"{name} was recorded on events of another simulator: {recorded['origin']}")


SMALL_RECORDS = {
    "bangalore": {"pairs": 3},
    "bangalore_variation": {"pairs": 2, "splits": 2, "trainings": 2},
    "best_order_cern_average": {"pairs": 1, "rows": 300, "orders": 20},
    "binary_ig": {"pairs": 2, "steps": 4, "nodes": 1, "samples": 64, "largest": 38},
    "cern_one_to_one": {"pairs": 2, "rows": 400, "charged": 1},
    "cost": {"pairs": 2, "rows": 400, "budgets": {"kernel_shap": [64], "lime": [25], "vanilla_grad": []}},
    "manifold_bangalore": {"pairs": 1},
    "manifold_cern": {"pairs": 1, "rows": 200},
    "roar_planted": {"rows": 100, "epochs": 1, "replicates": 1, "samples": 32},
}  # one of each kind that needs neither real rows nor photos, by the recorded networks: weights depend on the machine


FACTS = {
    "bangalore_variation": {"runs": 6},
    "best_order_cern_average": {"pairs": 1, "skipped": 0, "evaluations": 2**16},
    "binary_ig": {"pairs": 2, "left_out": 0},
    "cost": {"pairs": 2},
}  # what their provenance says


def recorded_network(name, *_, **__):
    folder = {"cern": "cern_genuine_counterfactual"}.get(name, name)
    return networks.load(ROOT / "results" / folder / "network.safetensors")


@pytest.mark.parametrize("name", SMALL_RECORDS)
def test_a_small_record_of_each_kind_is_reproduced_from_the_repository_alone(name, place, monkeypatch):
    """If a change is meant: INSDEL_WRITE_RECORDS=1 pytest tests/paper/test_records.py -k small_record writes them anew."""
    monkeypatch.delenv("INSDEL_DATA", raising=False)
    monkeypatch.setattr(experiments, "fitted", recorded_network)
    monkeypatch.setenv("INSDEL_RESULTS", str(trial(name, source="simulated", **SMALL_RECORDS[name]).parent))
    now, about = results.load(name)
    now = now.drop(columns="seconds", errors="ignore")
    assert about["command"].startswith(f"insdel record {name} -p ") and about["parameters"]["threads"] == 1
    assert all(f" -p {parameter} " in about["command"] for parameter in SMALL_RECORDS[name])
    assert about["data"]["source"] == "simulated" and {**about, **FACTS.get(name, {})} == about
    assert all(len(results.load(name, table)[0]) for table in results.tables(name))
    if name.startswith("best_order"):
        [(run, shown)] = best_order.together({}, "recorded").items()
        assert run == "events, average" and "simulated" in shown.about and len(shown.areas) == 13 * 3
    if name == "bangalore_variation":
        assert len(results.load(name, "runs")[0]) == now.groupby(["duplicates", "split", "training"]).ngroups == 6
    stored = Path(__file__).parent / "records" / f"{name}.parquet"
    if os.environ.get("INSDEL_WRITE_RECORDS"):
        stored.parent.mkdir(exist_ok=True)
        now.to_parquet(stored)
    before, numbers = pd.read_parquet(stored), list(now.select_dtypes(np.floating))
    assert_frame_equal(now.drop(columns=numbers), before.drop(columns=numbers))
    assert numbers and len(now) and np.nanstd(now[numbers]) > 0
    close = np.isclose(now[numbers], before[numbers], atol=2e-3, rtol=2e-3, equal_nan=True)
    # another processor rounds otherwise: now and then two nearly equal attributions change places
    assert close.mean() > 0.97, pd.concat([now, before], axis=1, keys=["now", "recorded"])


@pytest.mark.parametrize("name", TABLES)
def test_a_sample_of_recorded_rows_is_reproduced(name, monkeypatch):
    _reproducible(name)
    table, about = results.load(name)
    network = networks.load(results.network(name))
    assert networks.fingerprint(network.config) == about["network"]
    monkeypatch.setattr(experiments, "fitted", lambda *_, **__: network)  # trained again, weights depend on the machine
    one = prepare(name)
    pairs = results.load(name, "pairs")[0]
    assert np.array_equal(one.pairs.index, pairs["row"]) and np.array_equal(one.pairs.differing, pairs["differing"])
    first = 8 if name == "bangalore" else 2
    methods = [m for m in comparisons.METHODS if m not in ("lime", "random")]  # recorded when a chunk, not a pair, had a seed
    again = compare(one.model, one.pairs.x[:first], one.pairs.reference[:first], methods, options=one.options).table
    both = [tables.wide(part[part["pair"] < first])[methods] for part in (again, table)]
    close = np.isclose(both[0], both[1], atol=2e-3, rtol=2e-3)
    # another processor rounds differently: now and then two nearly equal attributions change places
    assert close.mean() > 0.97, pd.concat(both, axis=1, keys=["now", "recorded"])
