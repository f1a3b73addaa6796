"""The paper's networks: their definition, their training, replicates trained together, the hyperparameter search."""

from insdel.own.devices import pick_device, read_clock
from insdel.own.mlp import (
    MLP,
    PAPER,
    RECIPES,
    Hyper,
    Recipe,
    choose,
    fingerprint,
    fit,
    load,
    r2,
    save,
    training_config,
)

__all__ = [
    "MLP",
    "PAPER",
    "RECIPES",
    "Hyper",
    "Recipe",
    "choose",
    "fingerprint",
    "fit",
    "load",
    "pick_device",
    "r2",
    "read_clock",
    "save",
    "training_config",
]
