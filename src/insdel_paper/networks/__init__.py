"""The paper's networks: their definition, their training, replicates trained together, the hyperparameter search."""

from insdel.identity import digest as fingerprint
from insdel.own.devices import pick_device, read_clock
from insdel.own.mlp import MLP, load, save
from insdel_paper.networks.training import (
    PAPER,
    RECIPES,
    Hyper,
    Recipe,
    choose,
    fit,
    r2,
    training_config,
)
