"""The paper's network: linear layers with PReLU and dropout, and the files that hold one (no pickles)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from insdel.errors import UserError
from insdel.own.devices import pick_device


class MLP(nn.Module):
    """Linear → PReLU → Dropout for every hidden layer, then one linear output: (m, n) → (m,).

    Parameters
    ----------
    features : n, the number of inputs
    neurons : sizes of the hidden layers
    dropout : the ratio, common to all of them

    Attributes
    ----------
    config : all that decided a fitted model
    history : one row per epoch: rate, training loss, validation loss
    """

    def __init__(self, features: int, neurons: tuple[int, ...], dropout: float = 0.0) -> None:
        """Build the layers; the weights come from torch's current random state."""
        super().__init__()
        self.features, self.neurons, self.dropout = features, tuple(neurons), dropout
        self.config: dict[str, Any] = {}
        self.history: list[dict[str, float]] = []
        layers: list[nn.Module] = []
        for size in neurons:
            layers += [nn.Linear(features, size), nn.PReLU(), nn.Dropout(dropout)]
            features = size
        self.layers = nn.Sequential(*layers, nn.Linear(features, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Predict (m,) outputs for (m, n) inputs."""
        return self.layers(x).squeeze(-1)

    def as_sequential(self) -> nn.Sequential:
        """The same function as a chain of layers: lets `insdel.fold` evaluate lattices faster."""
        return self.layers


def save(model: MLP, path: str | Path, inputs: dict[str, Any] | None = None) -> Path:
    """Write weights, sizes, config and history into one safetensors file.

    inputs : names, center and width, (n,) each, of the columns that were standardised for it, for `insdel report`
    """
    needed = dict.fromkeys(("names", "center", "width"), model.features)
    if inputs is not None and {key: len(value) for key, value in inputs.items()} != needed:
        raise UserError(f"inputs needs names, center and width of its {model.features} inputs; found {inputs}.")
    about = {name: getattr(model, name) for name in ("features", "neurons", "dropout", "config", "history")}
    about["config"] = model.config | ({"inputs": inputs} if inputs else {})
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    save_file(weights, path, metadata={"insdel": json.dumps(about)})
    return path


def load(path: str | Path, device: str | torch.device = "auto") -> MLP:
    """Read a model that `save` wrote: in eval mode, weights frozen."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no model at {path}; fit one and write it with insdel.own.mlp.save.")
    needed = f"{path} is not a model of insdel.own.mlp.save: it needs safetensors with an 'insdel' entry"
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get("insdel")
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
    except SafetensorError as error:
        raise UserError(f"{needed}; found {error}.") from error
    if text is None:
        raise UserError(f"{needed}; found none.")
    about = json.loads(text)
    with torch.device("meta"):  # no memory yet: a file of a kilobyte can announce gigabytes
        model = MLP(about["features"], tuple(about["neurons"]), about["dropout"])
    shapes, found = ({name: value.shape for name, value in part.items()} for part in (model.state_dict(), weights))
    if shapes != found:
        raise UserError(f"{path} announces a network of {about['neurons']} neurons, but holds other weights. Save it.")
    model.load_state_dict(weights, assign=True)
    model.config, model.history = about["config"], about["history"]
    return model.to(pick_device(device)).eval().requires_grad_(False)
