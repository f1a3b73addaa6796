"""Loading, validating, finding and splitting the data."""

import contextlib
import csv
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from insdel.errors import UserError
from insdel_paper import data as datasets
from insdel_paper.data import DataError, FetchError, bangalore, cern, files, physics, simulate_bangalore, simulate_cern

real_data = pytest.mark.real_data
needs_files = pytest.mark.skipif(not os.environ.get("INSDEL_DATA"), reason="INSDEL_DATA is unset: no real files")


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """No INSDEL_DATA, an empty cache, no network, and nothing remembered."""
    monkeypatch.delenv("INSDEL_DATA", raising=False)
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "_failures", {})
    datasets._announce.cache_clear()
    attempts = []

    def unreachable(url, timeout):
        attempts.append(url)
        raise FetchError(f"no answer from {url}")

    monkeypatch.setattr(files, "_reach", unreachable)
    return attempts


def house_lines(n=30):
    """Lines of a well-formed Bangalore file; row 3 has missing amenities, row 5 repeats row 4."""
    rows = simulate_bangalore.simulate(n, seed=1)
    rows.insert(0, "Location", [f'"Street {i}, Nagar"' for i in range(n)])
    rows = rows[["Price", "Area", "Location", *bangalore.NAMES[1:]]].astype(object)
    rows.loc[2, list(bangalore.AMENITIES[1:])] = 9
    rows.loc[4] = rows.loc[3]
    return [",".join(rows.columns)] + [",".join(map(str, row)) for row in rows.to_numpy()]


def event_lines(n=30):
    """Lines of a well-formed dielectron file, with the blank in the header; row 4 has no M, row 6 repeats 5."""
    rows = simulate_cern.simulate(n, seed=1)
    values = [[f"{v:.6g}" for v in row] for row in rows.to_numpy()]
    values[3][-1] = ""
    values[5] = values[4]
    names = ["px1 " if name == "px1" else name for name in rows.columns]
    return [",".join(["Run", "Event", *names])] + [",".join(["1", "7", *row]) for row in values]


LINES = {"bangalore": house_lines, "cern": event_lines}


def written(tmp_path, lines, name="file.csv"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def replaced(lines, row, column, text):
    """The lines with one cell replaced; cells with a comma inside stay quoted."""
    names, cells = csv.reader([lines[0], lines[row]])
    cells[names.index(column)] = text
    quoted = [f'"{cell}"' if "," in cell else cell for cell in cells]
    return [*lines[:row], ",".join(quoted), *lines[row + 1 :]]


def test_counts_names_and_units_of_a_bangalore_file(tmp_path):
    path = written(tmp_path, house_lines())
    data = datasets.load("bangalore", path=path)
    assert data.source == "real" and data.features.shape == (29, 38)
    assert data.names == tuple(data.features) == bangalore.NAMES
    assert set(data.names) - set(data.binary) == {"Area", "No. of Bedrooms"}
    assert data.provenance["rows_dropped"] == {"an amenity is 9 (missing)": 1, "duplicate of an earlier row": 0}
    assert data.provenance["duplicates"] == 1 and data.provenance["note"].startswith("not the published file")
    np.testing.assert_allclose(data.target * 1e7, pd.read_csv(path)["Price"].drop(2), rtol=1e-12)


@pytest.mark.parametrize("name", LINES)
def test_duplicates_are_dropped_on_request(tmp_path, name):
    data = datasets.load(name, path=written(tmp_path, LINES[name]()), drop_duplicates=True)
    assert len(data.features) == len(data.target) == 28
    assert data.provenance["rows_dropped"]["duplicate of an earlier row"] == 1


def test_a_cern_file_with_other_columns_and_names(tmp_path):
    lines = event_lines()
    header = lines[0].replace("Q1", "charge1").replace("Q2", " Charge2").replace("E1", "e1")
    lines = [header + ",extra"] + [line + ",text" for line in lines[1:]]
    data = datasets.load("cern", path=written(tmp_path, lines))
    assert data.names == cern.NAMES and data.binary == ("Q1", "Q2")
    assert data.provenance["rows_dropped"]["M is missing"] == 1
    assert set(data.features["Q1"]) == {-1, 1}


def test_muons_are_physical_too(tmp_path):
    rows = simulate_cern.simulate(200, seed=3)
    for i in (1, 2):
        rows[f"E{i}"] = np.hypot(rows[f"pt{i}"] * np.cosh(rows[f"eta{i}"]), physics.MUON_MASS)
    rows["M"] = physics.invariant_mass(rows, physics.MUON_MASS)
    rows.to_csv(tmp_path / "muons.csv", index=False)
    assert len(datasets.load("cern", path=tmp_path / "muons.csv").features) == 200


BAD_CELLS = [
    ("bangalore", "Gymnasium", "yes", "not a number"),
    ("bangalore", "Gymnasium", "2", "none of 0, 1, 9"),
    ("bangalore", "Wifi", "", "is empty"),
    ("bangalore", "Area", "-5", "positive whole number"),
    ("bangalore", "Area", "inf", "not finite"),
    ("cern", "Q1", "0", "no charge"),
    ("cern", "eta2", "abc", "not a number"),
    ("cern", "pt1", "-3", "transverse momentum is positive"),
    ("cern", "phi2", "7", "between -π and π"),
    ("cern", "pt2", "1e5", "pt² is not px² + py²"),
    ("cern", "E1", "0.0001", "energy is below the momentum"),
    ("cern", "eta1", "40", "pz is not pt sinh η"),
    ("cern", "M", "5000", "not the mass"),
    ("cern", "M", "-1", "not the mass"),
    ("cern", "pz1", "", "is empty"),
]


@pytest.mark.parametrize(("name", "column", "text", "what"), BAD_CELLS)
def test_a_bad_cell_is_named_with_row_and_column(tmp_path, name, column, text, what):
    path = written(tmp_path, replaced(LINES[name](), 12, column, text))
    with pytest.raises(DataError) as caught:
        datasets.load(name, path=path)
    assert any(p.row == 12 and p.column == column and what in p.what for p in caught.value.problems)
    assert all(p.row == 12 for p in caught.value.problems)
    assert f"row 12, column '{column}'" in str(caught.value)


def test_everything_wrong_is_in_one_error_and_a_long_list_is_cut_in_its_message(tmp_path):
    lines = replaced(replaced(house_lines(), 3, "ATM", "x"), 8, "TV", "5")
    lines[15] += ",1"
    with pytest.raises(DataError) as caught:
        datasets.load("bangalore", path=written(tmp_path, lines))
    assert [(p.row, p.column) for p in caught.value.problems] == [(3, "ATM"), (8, "TV"), (15, None)]
    for row in range(1, 30):
        lines = replaced(lines, row, "ATM", "x") if row != 15 else lines
    with pytest.raises(DataError, match="and 10 more") as caught:
        datasets.load("bangalore", path=written(tmp_path, lines))
    assert len(caught.value.problems) == 30


def _conflict(lines):
    return [*lines[:5], "<<<<<<< HEAD", *lines[5:7], "=======", *lines[5:7], ">>>>>>> branch", *lines[7:]]


BAD_FILES = {
    "empty": (lambda lines: [""], "is empty"),
    "header only": (lambda lines: lines[:1], "no rows"),
    "conflict": (_conflict, "row 5: git conflict marker"),
    "truncated": (lambda lines: [*lines[:-1], lines[-1][: len(lines[-1]) // 2]], r"row 30: .*truncated"),
    "semicolons": (lambda lines: [line.replace(",", ";") for line in lines], "separated by semicolons"),
    "tabs": (lambda lines: [line.replace(",", "\t") for line in lines], "separated by tabs"),
    "lfs": (lambda lines: ["version https://git-lfs.github.com/spec/v1", "size 1"], "Git LFS"),
    "binary": (lambda lines: [lines[0], "a\0b"], "NUL"),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("damage", BAD_FILES)
def test_a_damaged_file_is_refused(tmp_path, name, damage):
    change, message = BAD_FILES[damage]
    with pytest.raises(DataError, match=message):
        datasets.load(name, path=written(tmp_path, change(LINES[name]())))


@pytest.mark.parametrize(("name", "column"), [("bangalore", "School"), ("cern", "eta1")])
def test_missing_and_doubled_columns(tmp_path, name, column):
    lines = LINES[name]()
    renamed = written(tmp_path, [lines[0].replace(f",{column},", ",other,"), *lines[1:]], "missing.csv")
    with pytest.raises(DataError, match=f"column '{column}': is missing"):
        datasets.load(name, path=renamed)
    doubled = written(tmp_path, [f"{lines[0]},{column}", *(f"{line},1" for line in lines[1:])], "doubled.csv")
    with pytest.raises(DataError, match=f"column '{column}': stands 2 times"):
        datasets.load(name, path=doubled)


@pytest.mark.parametrize(("name", "row", "message"), [("bangalore", 3, "no complete row"), ("cern", 4, "no value in any row")])
def test_no_complete_row_is_an_error(tmp_path, name, row, message):
    lines = LINES[name]()
    with pytest.raises(DataError, match=message):
        datasets.load(name, path=written(tmp_path, [lines[0], lines[row]]))


def test_a_file_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes("\n".join(house_lines()).replace("Street", "Straße").encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        datasets.load("bangalore", path=tmp_path / "latin.csv")


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_give_an_error_that_explains(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "x.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        datasets.load("cern", path=path)
    assert caught.value.problems


def test_auto_goes_from_folder_to_cache_to_simulator(alone, monkeypatch, tmp_path, capsys):
    def rows_read() -> int:
        return datasets.load("cern").provenance["rows_read"]

    assert datasets.load("cern", n=10).source == "simulated"
    assert "SIMULATED cern" in capsys.readouterr().err
    for folder in ("cache", "data"):
        (tmp_path / folder).mkdir(exist_ok=True)
    written(tmp_path / "cache", event_lines(20), "dielectron.csv")
    assert rows_read() == 20
    monkeypatch.setenv("INSDEL_DATA", str(tmp_path / "data"))
    first, sample = (written(tmp_path / "data", event_lines(n), name) for n, name in ((25, cern.FIRST), (22, cern.SAMPLE)))
    assert rows_read() == 20, "the full file comes before an excerpt"
    (tmp_path / "cache" / "dielectron.csv").unlink()
    assert rows_read() == 22, "then the sample"
    sample.unlink()
    assert rows_read() == 25 and datasets.load("cern").provenance["file"] == first.name, "then the first rows"
    written(tmp_path / "data", event_lines(15), "dielectron.csv")
    assert rows_read() == 15
    assert datasets.load("cern", path=written(tmp_path, event_lines(12))).provenance["rows_read"] == 12


def test_a_failed_download_is_tried_and_announced_once(alone, capsys):
    assert datasets.load("bangalore", source="simulated", n=7).features.shape == (7, 38)
    assert not alone and not capsys.readouterr().err, "an explicit simulation reads and announces nothing"
    for _ in range(3):
        assert datasets.load("cern", n=5).source == "simulated"
    assert len(alone) == 1 and capsys.readouterr().err.count("SIMULATED") == 1


@pytest.mark.parametrize("name", LINES)
def test_real_never_simulates_and_says_how_to_get_the_file(alone, name):
    with pytest.raises(FetchError, match=r"insdel data fetch .*INSDEL_DATA"):
        datasets.load(name, source="real")
    found = {row["name"]: row for row in datasets.available()}[name]
    assert found["source"] == "simulated" and found["found"] is None


def test_a_named_path_is_never_replaced(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must be a file"):
        datasets.load("cern", path=tmp_path / "nothing.csv")
    written(tmp_path, event_lines(), "dielectron.csv")
    assert datasets.load("cern", path=tmp_path).provenance["file"] == "dielectron.csv"


WRONG = [
    (("paris",), {}, "found"), (("cern", "fake"), {}, "found"), (("cern", "simulated", "x.csv"), {}, "found"),
    *((("bangalore", "simulated"), options, said) for options, said in (
        ({"n": 2.5}, "n must be a whole number"), ({"n": "5"}, "n must be a whole"), ({"n": 0}, "at least 1"),
        ({"n": 5, "seed": -1}, "seed must be"))),
    (("cern", "simulated"), {"n": 0}, "at least 1"), (("cern", "simulated"), {"n": 5, "seed": -1}, "seed must be"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "options", "said"), WRONG)
def test_wrong_requests(arguments, options, said):
    with pytest.raises(UserError, match=said):
        datasets.load(*arguments, **options)


def test_a_wrong_insdel_data_is_an_error(alone, monkeypatch, tmp_path):
    monkeypatch.setenv("INSDEL_DATA", str(tmp_path / "no such folder"))
    with pytest.raises(FileNotFoundError, match="INSDEL_DATA must name a folder"):
        datasets.load("cern")


def served(monkeypatch, lines):
    """Let the download succeed with the given lines."""
    monkeypatch.setattr(files, "_reach", lambda url, timeout: None)

    def download(url, part, limit, progress):
        part.write_text("\n".join(lines) + "\n")

    monkeypatch.setattr(files, "_download", download)


def test_a_download_of_another_size_is_not_kept_and_a_good_one_is(alone, monkeypatch, tmp_path):
    served(monkeypatch, event_lines())
    with pytest.raises(FetchError, match="not the published file: .* bytes"):
        datasets.fetch("cern")
    monkeypatch.setattr(files, "CERN_LEAST_BYTES", 100)
    with pytest.raises(FetchError, match="30 rows, 1 without M, instead of 100,000 and 85"):
        datasets.fetch("cern")
    assert not list((tmp_path / "cache").iterdir())
    monkeypatch.setattr(cern, "FULL_ROWS", 30)
    monkeypatch.setattr(cern, "FULL_WITHOUT_M", 1)
    data = datasets.load("cern")
    assert data.source == "real" and data.provenance["note"].startswith("the full file")
    assert data.provenance["sha256"] == files.sha256(tmp_path / "cache" / "dielectron.csv")
    assert [p.name for p in (tmp_path / "cache").iterdir()] == ["dielectron.csv"]


def test_a_kaggle_file_with_another_hash_is_not_kept(alone, monkeypatch, tmp_path):
    monkeypatch.setattr(files, "_from_kaggle", lambda part, timeout: part.write_text("\n".join(house_lines())))
    with pytest.raises(FetchError, match="sha256 .* instead of 5da9b9ef"):
        datasets.fetch("bangalore")
    assert not list((tmp_path / "cache").iterdir())


def test_a_download_that_drips_is_given_up(tmp_path):
    """A server that sends a piece now and then, for ever."""
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Drip(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"x" * files.PIECE)
                    time.sleep(0.05)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Drip) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started = time.monotonic()
        with pytest.raises(FetchError, match=r"only 0\.\d MB came in \d s; 0.5 s are the limit"):
            files._download(f"http://127.0.0.1:{server.server_port}/", tmp_path / "part", 0.5)
        assert time.monotonic() - started < 5
        server.shutdown()


def test_the_network_is_given_up_after_the_time_limit():
    """A server that accepts and never answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        with pytest.raises(FetchError, match="offline"):
            files._reach(url, 0.3)


@pytest.mark.parametrize(("name", "sizes", "scaled"), [("bangalore", (1560, 391), 2), ("cern", (400, 100), 16)])
def test_split_sizes_and_standardisation(name, sizes, scaled):
    data = datasets.load(name, "simulated", n=sum(sizes))
    halves = datasets.split(data, seed=3)
    assert (len(halves.x_train), len(halves.x_test)) == sizes and halves.x_train.shape[1] == len(data.names)
    assert sorted([*halves.train, *halves.test]) == list(range(sum(sizes)))
    assert halves.x_train.dtype == halves.y_test.dtype == np.float32
    np.testing.assert_allclose(halves.x_train[:, :scaled].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(halves.x_train[:, :scaled].std(axis=0), 1, atol=1e-5)
    np.testing.assert_array_equal(halves.x_test[:, scaled:], data.features.to_numpy()[halves.test, scaled:])
    np.testing.assert_array_equal(halves.transform(data.features.iloc[halves.test]), halves.x_test)
    np.testing.assert_array_equal(halves.y_test, data.target.to_numpy(np.float32)[halves.test])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_impossible_splits(share):
    with pytest.raises(ValueError, match="test must leave rows on either side"):
        datasets.split(datasets.load("cern", "simulated", n=500), share)


@real_data
@needs_files
def test_real_bangalore():
    data = datasets.load("bangalore", source="real")
    assert data.features.shape == (1951, 38)
    facts = data.provenance
    assert facts["rows_read"] == 6207 and facts["duplicates"] == 334
    assert facts["sha256"] == bangalore.SHA256["Bangalore.csv"]
    assert len(datasets.split(data).x_test) == 391
    assert len(datasets.load("bangalore", drop_duplicates=True).features) == 1951 - 334
    constant = data.features.columns[data.features.std() == 0]
    assert list(constant) == ["Wifi", "Wardrobe"]


@real_data
@needs_files
def test_the_real_sample_comes_before_the_first_rows_and_both_say_what_they_are():
    data = datasets.load("cern", source="real", path=Path(os.environ["INSDEL_DATA"]) / cern.FIRST)
    assert data.features.shape == (1000, 16) and "run 147115" in data.provenance["note"]
    assert data.target.mean() == pytest.approx(27.2, abs=0.05)
    data = datasets.load("cern", source="real")
    assert data.features.shape == (19979, 16) and data.target.mean() == pytest.approx(30.02, abs=0.01)
    assert data.provenance["file"] == cern.SAMPLE and data.provenance["duplicates"] == 0
    assert data.provenance["note"].startswith("a random 20 % of the full file: 19,979 of")
    found = {row["name"]: row for row in datasets.available()}
    assert found["cern"]["sha_ok"] is found["bangalore"]["sha_ok"] is True and found["cern"]["found"].endswith(cern.SAMPLE)
    assert found["bangalore"]["source"] == "real"
