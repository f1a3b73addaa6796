"""How the paper's networks are fitted, the same to the bit for the same seed.

The appendix prints the hyperparameters (`PAPER`) and leaves the rest of the training open: optimiser,
batch, epochs, schedule, stopping. `RECIPES` holds what is used here, chosen on validation rows alone.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from tqdm import tqdm

from insdel.errors import UserError, UserTypeError, require_integer, require_one_of
from insdel.evaluate import progress_off, to_tensor
from insdel.own.devices import pick_device
from insdel.own.mlp import MLP

UNITS = ("target", "deviation", "range")
OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": partial(torch.optim.Adam, fused=True),
    "adamw": partial(torch.optim.AdamW, fused=True),
    "rmsprop": torch.optim.RMSprop,
    "sgd": partial(torch.optim.SGD, fused=True, momentum=0.9),
}
CHOICES = {
    "optimiser": OPTIMISERS, "schedule": ("constant", "cosine"),
    "output_unit": UNITS, "loss_unit": UNITS, "first_weights": ("torch", "glorot", "he"),
}  # fmt: skip


@dataclass(frozen=True)
class Hyper:
    """What the paper's appendix prints of a network: sizes, dropout, learning rate, Huber's δ."""

    neurons: tuple[int, ...]
    dropout: float
    learning_rate: float
    huber: float = 1.0

    def __post_init__(self) -> None:
        """Refuse sizes and rates that no network has."""
        object.__setattr__(self, "neurons", tuple(int(size) for size in self.neurons))
        if not self.neurons or min(self.neurons) < 1:
            raise UserError(f"neurons needs a positive size per hidden layer; found {self.neurons}.")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout needs a ratio in [0, 1); found {self.dropout}.")
        rates = (self.learning_rate, self.huber)
        if min(rates) <= 0:
            raise UserError(f"learning_rate and huber need positive numbers; found {rates[0]} and {rates[1]}.")


@dataclass(frozen=True)
class Recipe:
    """What the paper leaves open about a training.

    Attributes
    ----------
    epochs, batch : passes over the training rows; rows per step, about
    optimiser : "adam", "adamw", "rmsprop" or "sgd" (momentum 0.9)
    weight_decay : as the optimiser means it; a penalty on the weights, decoupled for "adamw"
    schedule : "constant", or "cosine" from the printed rate down to zero
    warmup : share of the steps during which the rate rises to the printed one
    clip : largest norm of a gradient; infinity for none
    validation : share of the rows that only choose the epoch to keep
    keep_best : keep the epoch with the smallest validation loss; False keeps the last
    output_unit : what the last layer learns, the "target", its "deviation" (centred, over its sd), or its place
        in its "range" (0 to 1)
    loss_unit : the unit in which Huber's δ = 1 is meant, that of the "target", its "deviation" or its "range"
    first_weights : where the weights start: as "torch" draws them, or uniform by "glorot" or "he"
    """

    epochs: int = 50
    batch: int = 128
    optimiser: str = "adam"
    weight_decay: float = 0.0
    schedule: str = "cosine"
    warmup: float = 0.1
    clip: float = 1.0
    validation: float = 0.1
    keep_best: bool = True
    output_unit: str = "target"
    loss_unit: str = "target"
    first_weights: str = "torch"

    def __post_init__(self) -> None:
        """Refuse settings that no training has."""
        require_integer("epochs", self.epochs, 1)
        require_integer("batch", self.batch, 1)
        if not 0 < self.validation < 1:
            raise UserError(f"validation needs a share between 0 and 1; found {self.validation}.")
        if not 0 <= self.warmup < 1 or self.clip <= 0:
            raise UserError(f"warmup needs [0, 1) and clip > 0; found {self.warmup} and {self.clip}.")
        for name, allowed in CHOICES.items():
            require_one_of(name, getattr(self, name), allowed)


PAPER = {
    "bangalore": Hyper((333, 465, 86, 234), dropout=0.10031, learning_rate=1.7389e-2),
    "cern": Hyper((509, 421, 65, 368, 122, 477), dropout=0.11604, learning_rate=1.9163e-4),
}
RECIPES = {
    "bangalore": Recipe(epochs=50, batch=128),
    "cern": Recipe(epochs=20, batch=256, output_unit="deviation"),
}


def fit(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    hyper: str | Hyper,
    recipe: Recipe | None = None,
    *,
    seed: int = 0,
    device: str | torch.device = "auto",
    threads: int = 1,
    progress: bool | None = None,
    on_epoch: Callable[[int, float], None] | None = None,
    **changes: Any,
) -> MLP:
    """Fit the paper's network to rows `x` and targets `y` by Huber's loss  [appendix, models].

    Parameters
    ----------
    x : (m, n); y : (m,)
    hyper : "bangalore" or "cern" for those of `PAPER`, or a `Hyper`
    recipe : what the paper leaves open; by default that of `RECIPES`
    seed : decides first weights, validation rows, the order of the rows, and dropout
    device : "auto" takes a GPU if there is one
    threads : processor cores to use; another number rounds sums differently, so it is part of `config`
    progress : show a bar; None shows it on terminals only
    on_epoch : called with each epoch and its validation loss; what it raises ends the training
    **changes : fields of `Recipe` to replace, such as ``epochs=20``

    Returns
    -------
    MLP in eval mode with frozen weights, predicting in the unit of `y`
    """
    hyper, recipe = choose(hyper, recipe, **changes)
    x, y = checked_rows(x, y)
    config = training_config(x, y, hyper, recipe, seed, device, threads)
    place = pick_device(device)
    with using_threads(threads), seeded(seed, place):
        model = draw_weights(MLP(x.shape[1], hyper.neurons, hyper.dropout), recipe.first_weights).to(place)
        train, held = ((x[rows].to(place), y[rows].to(place)) for rows in holdout(len(x), recipe.validation))
        model.history = train_model(model, train, held, hyper, recipe, progress, on_epoch)
    model.config = config
    return model.eval().requires_grad_(False)


def draw_weights(model: MLP, kind: str) -> MLP:
    """Leave the weights as torch drew them, or draw them again, uniform, as Glorot or He would; biases zero then."""
    draw: dict[str, Callable[[Tensor], Tensor]] = {
        "glorot": nn.init.xavier_uniform_, "he": partial(nn.init.kaiming_uniform_, nonlinearity="relu")
    }  # fmt: skip
    for layer in model.layers:
        if kind in draw and isinstance(layer, nn.Linear):
            draw[kind](layer.weight)
            nn.init.zeros_(layer.bias)
    return model


def choose(hyper: str | Hyper, recipe: Recipe | None = None, **changes: Any) -> tuple[Hyper, Recipe]:
    """Hyperparameters and recipe by name or as given, with single fields of the recipe replaced."""
    names = [field.name for field in fields(Recipe)]
    if unknown := set(changes) - set(names):
        raise UserTypeError(f"a recipe has {', '.join(names)}; found {', '.join(sorted(unknown))}.")
    if isinstance(hyper, Hyper):
        return hyper, replace(recipe or Recipe(), **changes)
    require_one_of("hyper", hyper, PAPER)
    return PAPER[hyper], replace(recipe or RECIPES[hyper], **changes)


def training_config(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    hyper: Hyper,
    recipe: Recipe,
    seed: int,
    device: str | torch.device = "auto",
    threads: int = 1,
) -> dict[str, Any]:
    """All that decides a fitted model, the data by its hash: equal configs mean equal weights.

    Its hash is a file name under which a fitted model can be found again.
    """
    x, y = checked_rows(x, y)
    digest = hashlib.sha256(x.numpy().tobytes() + y.numpy().tobytes()).hexdigest()
    return {
        "hyper": {**asdict(hyper), "neurons": list(hyper.neurons)},
        "recipe": asdict(recipe),
        "seed": seed,
        "features": x.shape[1],
        "rows": len(x),
        "data": digest,
        "torch": torch.__version__,
        "device": pick_device(device).type,
        "threads": threads,
    }


def checked_rows(x: ArrayLike | Tensor, y: ArrayLike | Tensor) -> tuple[Tensor, Tensor]:
    """Rows (m, n) and targets (m,) as contiguous float32 tensors on the processor; refuse what nobody can fit."""
    x, y = (
        values.detach().cpu() if isinstance(values, Tensor) else torch.from_numpy(np.array(values, np.float32))
        for values in (x, y)
    )
    if not (torch.isfinite(x).all() and torch.isfinite(y).all()):
        raise UserError("a training needs finite numbers; found NaN or infinity. Drop or fill these rows.")
    if x.ndim != 2 or y.shape != x.shape[:1] or len(x) < 3:
        raise UserError(
            f"a training needs x of shape (m, n) and y of shape (m,), m ≥ 3; found {tuple(x.shape)} and "
            f"{tuple(y.shape)}. Pass one row per point."
        )
    return x.float().contiguous(), y.float().contiguous()


@contextmanager
def using_threads(threads: int) -> Iterator[None]:
    """Compute with that many processor cores inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Seed the random numbers of the processor, and of the GPUs if the device is one, inside the block only.

    `torch.manual_seed` reseeds every GPU: a training on the processor must leave those alone.
    """
    own = device is not None and device.type == "cuda"
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if own else []):
        (torch.manual_seed if own else torch.default_generator.manual_seed)(seed)
        yield


class Unit(NamedTuple):
    """An affine unit: target = shift + scale · value."""

    shift: float
    scale: float

    @classmethod
    def of(cls, y: Tensor, name: str) -> Unit:
        """The target's own unit, its mean and standard deviation, or its least value and range."""
        if name == "target":
            return cls(0.0, 1.0)
        if name == "range":
            return cls(float(y.min()), float(y.max() - y.min()) or 1.0)
        return cls(float(y.double().mean()), float(y.double().std(correction=0)) or 1.0)


def holdout(m: int, share: float) -> tuple[Tensor, Tensor]:
    """Random rows to learn from and to hold out, by torch's current random state."""
    order = torch.randperm(m)
    held = min(math.ceil(share * m), m - 1)
    return order[held:], order[:held]


def batches(m: int, size: int) -> tuple[Tensor, ...]:
    """All m rows in random order, in batches that differ by one row at most."""
    return torch.randperm(m).tensor_split(batch_count(m, size))


def batch_count(m: int, size: int) -> int:
    """How many batches of about `size` rows make an epoch."""
    return max(1, round(m / size))


def rate(step: int, steps: int, recipe: Recipe) -> float:
    """Learning rate of a step as a share of the printed one: a linear rise, then the schedule."""
    rise = recipe.warmup * steps
    if step < rise:
        return (step + 1) / (rise + 1)
    if recipe.schedule == "constant":
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / (steps - rise)))


def train_model(
    model: MLP,
    rows: tuple[Tensor, Tensor],
    held: tuple[Tensor, Tensor],
    hyper: Hyper,
    recipe: Recipe,
    progress: bool | None,
    on_epoch: Callable[[int, float], None] | None,
) -> list[dict[str, float]]:
    """Train in place on x and y, leave the weights of the epoch that those held out choose, and return the history."""
    x, y = rows
    output, measure = Unit.of(y, recipe.output_unit), Unit.of(y, recipe.loss_unit)

    def loss(x: Tensor, y: Tensor) -> Tensor:  # Huber's, of prediction and target in the unit in which δ is meant
        prediction = output.shift + output.scale * model(x)
        return nn.functional.huber_loss(prediction / measure.scale, y / measure.scale, delta=hyper.huber)

    optimiser, scheduler = optimiser_for(model.parameters(), hyper, recipe, len(x))
    history: list[dict[str, float]] = []
    best, kept = math.inf, model.state_dict()
    bar = tqdm(range(recipe.epochs), desc="fit", unit="epoch", disable=progress_off(progress), leave=False)
    for epoch in bar:
        model.train()
        total = torch.zeros((), device=x.device)
        for batch in batches(len(x), recipe.batch):
            optimiser.zero_grad()
            value = loss(x[batch], y[batch])
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            optimiser.step()
            scheduler.step()
            total += value.detach() * len(batch)
        model.eval()
        with torch.no_grad():
            validation = float(loss(*held))
        learning = {"rate": optimiser.param_groups[0]["lr"], "train": float(total) / len(x)}
        history.append({"epoch": epoch, **learning, "validation": validation})
        if validation < best or not recipe.keep_best:
            best, kept = validation, copy.deepcopy(model.state_dict())
        bar.set_postfix(validation=f"{validation:.4g}", refresh=False)
        if on_epoch is not None:
            on_epoch(epoch, validation)
    if not math.isfinite(best):
        raise UserError(
            "the training diverged: no epoch has a finite validation loss. Lower the learning rate or `clip`."
        )
    model.load_state_dict(kept)
    last = cast(nn.Linear, model.layers[-1])  # takes the unit, so that the fitted model is nothing but its layers
    with torch.no_grad():
        last.weight.mul_(output.scale)
        last.bias.mul_(output.scale).add_(output.shift)
    return history


def optimiser_for(
    parameters: Iterable[Tensor], hyper: Hyper, recipe: Recipe, m: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
    """The optimiser of these parameters and its schedule over all steps, for m rows."""
    kind = OPTIMISERS[recipe.optimiser]
    optimiser = kind(parameters, lr=hyper.learning_rate, weight_decay=recipe.weight_decay)
    steps = recipe.epochs * batch_count(m, recipe.batch)
    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate(step, steps, recipe))


def r2(truth: ArrayLike | Tensor, prediction: ArrayLike | Tensor) -> float:
    """Share of the variance of `truth` (m,) that `prediction` (m,) explains; below 0 is worse than its mean."""
    truth, prediction = (to_tensor(values).cpu().double().numpy() for values in (truth, prediction))
    spread = float(((truth - truth.mean()) ** 2).sum())
    if truth.shape != prediction.shape or spread == 0:
        raise UserError(
            f"R² needs equal shapes and a truth that varies; found {truth.shape}, {prediction.shape} and a "
            f"sum of squares of {spread}."
        )
    return 1 - float(((truth - prediction) ** 2).sum()) / spread
