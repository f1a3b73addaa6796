"""The search for the paper's photo: preparations, a resumable pass, and statistics that can be counted by hand."""

import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn

from insdel_paper import results
from insdel_paper.records.registry import RUNS
from insdel_paper.records.run import carry_out
from insdel_paper.studies import images
from insdel_paper.studies.images import albatrosses, exchange, faces, walk
from insdel_paper.studies.images.network import SameConv2d
from insdel_paper.studies.images.photos import crop

ALBATROSS = 146
real_data = pytest.mark.skipif(not os.environ.get("INSDEL_DATA"), reason="needs INSDEL_DATA")
SMALL = images.Settings(baselines=2, steps=2, batch=4)


def network(bias: float = 9.0) -> images.Classifier:
    """A network of a thousand classes that calls nearly everything albatross, on pictures of 16 × 16."""
    torch.manual_seed(0)
    body = nn.Sequential(SameConv2d(3, 4, 3, 2), nn.SiLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(64, 1000))
    with torch.no_grad():
        body[-1].bias[ALBATROSS] += bias
    return images.Classifier(body, images.Preprocessing((0.4, 0.5, 0.6), (0.2, 0.25, 0.3), 18, 16), "thousand")


@pytest.fixture
def folder(tmp_path):
    """Four made-up photos, one of them too small to be cut out of."""
    for number, size in enumerate([(40, 30), (30, 50), (64, 64), (12 + 36, 12)]):
        pixels = np.random.default_rng(number).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).resize(size).save(tmp_path / f"Made_Up_{number}.jpg")
    return tmp_path


@pytest.fixture
def small(monkeypatch):
    """Preparations for a network that sees 16 × 16, and photos of any size."""
    monkeypatch.setattr(albatrosses, "PREPARATIONS", {"resized": 18, "cropped": None})
    monkeypatch.setattr("insdel_paper.studies.images.photos.SMALLEST", 8)


def made_up(gains: list[float], preparation: str = "resized") -> pd.DataFrame:
    """Photos whose tables are constant: insertion is deletion plus a gain, in all four rows."""
    rows = [
        {"photo": f"p{number}", "preparation": preparation, "reference": reference, "mode": mode,
         "auc": 0.4 + gain * (mode == "insertion")}
        for number, gain in enumerate(gains) for reference in exchange.printed().index for mode in exchange.MODES
    ]  # fmt: skip
    return pd.DataFrame(rows)


# --- the preparations


def test_a_crop_without_resizing_keeps_every_pixel():
    pixels = np.random.default_rng(0).integers(0, 255, (50, 40, 3), dtype=np.uint8)
    kept = np.asarray(crop(Image.fromarray(pixels), None, 16))
    np.testing.assert_array_equal(kept, pixels[17:33, 12:28])


def test_a_photo_smaller_than_the_crop_is_refused():
    with pytest.raises(ValueError, match="at least as large, but this one has 20 × 15"):
        crop(Image.new("RGB", (20, 15)), None, 16)


def test_noise_is_scaled_about_the_networks_mean():
    own, image = network(), torch.zeros(3, 16, 16)
    once, twice = (walk.noise(2, image, own, 5, scale) for scale in (1.0, 2.0))
    torch.testing.assert_close(twice - own.mean, 2 * (once - own.mean))


def test_missing_photos_say_where_they_belong(monkeypatch):
    monkeypatch.delenv("INSDEL_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="images/albatrosses"):
        albatrosses.photos()


# --- the passes


def test_the_first_pass_sees_all_and_goes_on_where_it_was_killed(folder, small, tmp_path, monkeypatch):
    todo, own = albatrosses.items(albatrosses.photos(folder)), network()
    assert len(todo) == 8 and {item.preparation for item in todo} == {"resized", "cropped"}
    first = albatrosses.first_pass(own, todo, tmp_path / "kept", SMALL, 64, range(8))
    before = [next(first) for _ in range(3)]
    first.close()
    calls = []
    real = albatrosses.walk
    monkeypatch.setattr(albatrosses, "walk", lambda *given: calls.append(given) or real(*given))
    after = list(albatrosses.first_pass(own, todo, tmp_path / "kept", SMALL, 64, range(8)))
    pd.testing.assert_frame_equal(pd.concat(before), pd.concat(after[:3]))
    photos = pd.concat([table.head(1) for table in after])
    small_ones = photos[(photos["photo"] == "Made_Up_3") & (photos["preparation"] == "cropped")]
    assert small_ones["first"].tolist() == [""] and small_ones["probability"].isna().all()
    assert (photos["first"] == "albatross").sum() == 7
    finished = sum("auc" in table for table in before)
    assert len(calls) == 7 - finished
    assert sum(len(table) for table in after if "auc" in table) == 7 * 8


def test_more_photos_can_be_asked_for_later(folder, small, tmp_path, monkeypatch):
    """Three photos resized and one cropped, then all: what is finished is not computed again."""
    todo, own = albatrosses.items(albatrosses.photos(folder)), network()
    numbers = albatrosses.first_numbers(todo, {"resized": 3, "cropped": 1})
    assert [todo[number].preparation for number in numbers].count("resized") == 3 and len(numbers) == 4
    few = list(albatrosses.first_pass(own, todo, tmp_path / "kept", SMALL, 64, numbers))
    looks, real = [], albatrosses.look
    monkeypatch.setattr(albatrosses, "look", lambda *given: looks.append(given) or real(*given))
    every = list(albatrosses.first_pass(own, todo, tmp_path / "kept", SMALL, 64, range(8)))
    assert len(few) == 4 and len(every) == 8 and len(looks) == 4
    for number, table in zip(numbers, few, strict=True):
        pd.testing.assert_frame_equal(table, every[number])
    with pytest.raises(ValueError, match="another comparison: step was 64, is 32"):
        next(albatrosses.first_pass(own, todo, tmp_path / "kept", SMALL, 32, [0]))


def test_no_areas_where_the_network_sees_no_albatross(folder, small, tmp_path):
    todo = albatrosses.items(albatrosses.photos(folder))
    tables = list(albatrosses.first_pass(network(bias=-9.0), todo, tmp_path / "kept", SMALL, 64, range(8)))
    assert len(tables) == 8 and not any("auc" in table for table in tables)


def test_the_runs_write_numbers_and_can_be_repeated(folder, small, tmp_path, monkeypatch):
    """All runs on made-up photos, twice: the second time no gradient is computed."""
    monkeypatch.setenv("INSDEL_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(albatrosses, "load", lambda name: network())
    found = albatrosses.photos(folder)
    monkeypatch.setattr(albatrosses, "photos", lambda: found)
    for name in ("FIRST", "FULL", "USUAL"):
        monkeypatch.setattr(albatrosses, name, SMALL)
        monkeypatch.setattr(albatrosses, f"{name}_STEP", 64)
    ways = [{"what": "nothing", "value": "as it is"},
            {"what": "scale of the noise", "value": "2", "settings": {"scale": 2.0}},
            {"what": "network", "value": "Lite0", "network": "lite0"}]  # fmt: skip
    monkeypatch.setattr(albatrosses, "CHANGES", ways)
    monkeypatch.setattr(faces, "boxes", lambda *_: {"face": (0, 0, 4, 4)})
    for _ in range(2):
        for name in ("images_albatrosses", "images_nearest", "images_changes"):
            carry_out(RUNS[name], log=lambda line: None)
        tables = {
            (name, table): results.load(name, table)[0] for name in results.names() for table in results.tables(name)
        }
        assert {name: len(table) for name, table in tables.items()} == {
            ("images_albatrosses", "areas"): 7 * 8, ("images_albatrosses", "photos"): 8,
            ("images_changes", "areas"): 3 * 8, ("images_nearest", "areas"): 7 * 8,
            ("images_nearest", "curves"): 7 * 8 * 5, ("images_nearest", "faces"): 7 * 3,
        }  # fmt: skip
        monkeypatch.setattr("insdel_paper.studies.images.saliency.path_parts", None)  # would fail if it were called
    assert results.about("images_albatrosses")["data"]["photos"] == 4
    areas, nearest = tables["images_changes", "areas"], tables["images_nearest", "areas"]
    same = nearest[nearest["photo"] == areas["photo"].iloc[0]].groupby("preparation")["auc"].agg(list).tolist()
    auc = areas.groupby("what")["auc"].agg(list)
    assert auc["nothing"] in same and auc["scale of the noise"] != auc["nothing"] == auc["network"]


def test_a_photo_without_boxes_says_so():
    with pytest.raises(KeyError, match="no boxes were drawn on Made_Up_0, resized"):
        faces.boxes("Made_Up_0", "resized")


# --- tables and faces


def test_shares_in_a_box_by_hand():
    """The hundred highest scores fill the first ten rows of ten columns; a box holds half of them."""
    scores = np.zeros((20, 50))
    scores[:10, :10] = 1 + np.arange(100).reshape(10, 10)
    found = faces.shares_inside(scores, {"face": (0, 5, 20, 10)})
    by_share = found.set_index("share")["inside"]
    assert found["area"].tolist() == [0.1] * 3
    assert by_share[0.01] == 1.0  # the ten highest are the tenth row
    assert by_share[0.05] == 1.0 and by_share[0.2] == 50 / 200  # ties keep the pixels' order: row after row


def test_names_of_photos_keep_their_numbers():
    assert exchange.short("Black_Footed_Albatross_0040_796066") == "Black-footed 0040_796066"
    assert exchange.short("Sooty_Albatross_0006_796390") == "Sooty 0006_796390"


def test_the_nearest_table_begins_with_the_paper_in_both_readings():
    found = exchange.nearest_table(made_up([0.5, 0.2]))
    assert found.index.tolist()[:2] == ["the paper, as printed", "the paper, exchanged"]
    assert found["blurred"].tolist()[:3] == ["0.981 / 0.740", "0.740 / 0.981", "0.400 / 0.600"]
    assert found["distance, exchanged"].tolist()[0] == ""


def test_changes_are_measured_from_the_usual_settings():
    usual = made_up([0.2, 0.3]).drop(columns="preparation").assign(what="nothing", value="usual")
    more = usual.assign(what="baselines", value="300", auc=usual["auc"] + 0.1 * (usual["photo"] == "p1"))
    found = exchange.change_table(pd.concat([usual, more]))
    assert found.loc[("nothing", "usual"), "largest change"] == "0.000"
    assert found.loc[("baselines", "300"), "mean change"] == "0.050"
    assert found.loc[("baselines", "300"), "largest change"] == "0.100"
    assert found.loc[("baselines", "300"), "mean"] == "0.450 / 0.700"


# --- the statistics


def test_the_readings_are_the_printed_table_and_its_mirror():
    as_printed, swapped = exchange.printed(), exchange.printed("exchanged")
    assert as_printed["deletion"].tolist() == swapped["insertion"].tolist()
    assert as_printed["insertion"].tolist() == swapped["deletion"].tolist()
    assert [exchange.reversed_rows(exchange.eight(table)) for table in (as_printed, swapped)] == [4, 0]
    assert exchange.gain(exchange.eight(swapped)) == pytest.approx((0.241 + 0.476 + 0.191 + 0.069) / 4)
    with pytest.raises(ValueError, match="as printed, exchanged; found 'backwards'"):
        exchange.printed("backwards")


def test_ranks_of_the_gain_by_hand():
    """The printed gain is −0.244: one of nine photos is as low, the paper's table itself is counted."""
    numbers = exchange.tables(made_up([-0.3, *np.linspace(0.0, 0.7, 8)])).to_numpy()
    assert exchange.gain_p(numbers, "as printed") == pytest.approx(2 / 10)
    assert exchange.gain_p(numbers, "exchanged") == pytest.approx(2 * 5 / 10)  # −0.3, 0, 0.1, 0.2 and itself


def test_strangeness_counts_tables_that_are_farther_from_their_nearest():
    numbers = np.tile(exchange.eight(exchange.printed("exchanged")), (4, 1)) + np.array([[0.0], [0.01], [0.03], [0.5]])
    assert exchange.strangeness_p(numbers, "exchanged") == 1.0  # as near as can be: all are at least as far
    assert exchange.strangeness_p(numbers, "as printed") == pytest.approx(2 / 5)  # the outlier and the printed table


def test_distances_are_root_mean_squares():
    numbers = exchange.eight(exchange.printed()) + np.array([0.1, 0, 0, 0, 0, 0, 0, 0.1])
    assert exchange.distance(numbers, exchange.printed()) == pytest.approx(np.sqrt(0.02 / 8))


def test_the_verdict_needs_both_statistics_and_both_preparations():
    table = exchange.printed("exchanged")
    near = [
        {"photo": f"p{number}", "preparation": preparation, "reference": reference, "mode": mode,
         "auc": table.loc[reference, mode] + 0.001 * (number - 20)}
        for preparation in ("resized", "cropped") for number in range(40)
        for reference in table.index for mode in exchange.MODES
    ]  # fmt: skip
    found = exchange.verdict(pd.DataFrame(near))
    assert exchange.is_exchanged(found)
    assert found["photos"].tolist() == [40] * 4 and (found["reversed_in_all"] == 0).all()
    assert not exchange.is_exchanged(found.assign(gain_p=found["gain_p"].where(found["preparation"] == "resized", 0.2)))
    assert exchange.is_refuted(found)
    strange = found["strangeness_p"].where(found["reading"] == "as printed", 0.01)  # unlike them exchanged, too
    assert exchange.is_refuted(found.assign(strangeness_p=strange))
    assert not exchange.is_exchanged(found.assign(strangeness_p=strange))
    few = pd.DataFrame(near)[lambda rows: rows["photo"].isin(["p1", "p2", "p3"])]
    assert not exchange.is_exchanged(exchange.verdict(few))  # four tables cannot have a p-value below 0.05


def test_the_nearest_are_nearest_in_either_reading():
    near = made_up([0.2, -0.2, 0.9])
    found = exchange.nearest(near, 2)
    assert set(found["photo"]) == {"p0", "p1"}
    assert found.set_index("photo").loc["p1", "reversed"] == 4
    assert found[["as printed", "exchanged"]].min(axis=1).is_monotonic_increasing


@real_data
def test_all_albatrosses_of_the_collection_are_there():
    found = [path.stem.split("_Albatross")[0] for path in albatrosses.photos()]
    assert dict(Counter(found)) == albatrosses.SPECIES
