"""Find hyperparameters as the paper's appendix did, by Optuna, and compare training recipes.

Both see training rows only. Every trial learns from one part of them and is judged on another; the
held-out half that the experiments use is never passed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from tqdm import tqdm

from insdel.errors import UserError
from insdel.evaluate import predict, progress_off, to_tensor
from insdel_paper.networks.training import PAPER, RECIPES, Hyper, Recipe, fit, r2, training_config

if TYPE_CHECKING:
    import optuna

STARTUP = 6  # random trials before Optuna's model of the loss has a say
JUDGED = 0.2  # share of the training rows on which recipes are compared


def search(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    recipe: Recipe | str = "bangalore",
    *,
    trials: int = 10,
    storage: str | Path | None = None,
    seed: int = 0,
    progress: bool | None = None,
    **changes: Any,
) -> optuna.Study:
    """Search layers, neurons, dropout and learning rate for the smallest validation loss  [appendix, models].

    Trials whose validation loss is above the median of the others at the same epoch are cut short. With a
    `storage` file the study can be stopped at any time and goes on where it was; `trials` is its total.
    A trial depends on the seed, its number and the trials before it, so a stopped study ends the same.

    Parameters
    ----------
    x : (m, n); y : (m,), training rows
    recipe : how each trial is trained; a name stands for that of `insdel_paper.networks.RECIPES`
    storage : a journal file, one JSON line per event
    **changes : fields of the recipe to replace, such as ``epochs=10``
    """
    if trials < 1:
        raise UserError(f"a search needs at least 1 trial; found {trials}.")
    try:
        import optuna
    except ImportError as error:
        raise ImportError("the search needs Optuna; install it with: pip install 'insdel[book]'") from error
    choice = replace(RECIPES[recipe] if isinstance(recipe, str) else recipe, **changes)
    study = _study(storage, training_config(x, y, PAPER["bangalore"], choice, seed))

    def train(trial: Any) -> float:
        """One draw's smallest validation loss."""

        def report(epoch: int, loss: float) -> None:
            if math.isfinite(loss):
                trial.report(loss, epoch)
            if not math.isfinite(loss) or trial.should_prune():
                raise optuna.TrialPruned

        # one seed for all trials: the same validation rows judge them
        model = fit(x, y, suggest(trial), choice, seed=seed, progress=False, on_epoch=report)
        return min(row["validation"] for row in model.history)

    with tqdm(total=trials, initial=_finished(study), desc="search", disable=progress_off(progress)) as bar:
        while (done := _finished(study)) < trials:
            # one sampler per trial: a resumed study draws what an uninterrupted one would have drawn
            draw = int(np.random.SeedSequence([seed, done]).generate_state(1)[0])
            study.sampler = optuna.samplers.TPESampler(seed=draw, n_startup_trials=STARTUP)
            study.optimize(train, n_trials=1)
            bar.update(_finished(study) - done)
    return study


def suggest(trial: optuna.trial.BaseTrial) -> Hyper:
    """Draw the hyperparameters of a trial from the search space."""
    layers = trial.suggest_int("layers", 2, 6)
    return Hyper(
        tuple(trial.suggest_int(f"neurons_{k + 1}", 32, 512, log=True) for k in range(layers)),
        dropout=trial.suggest_float("dropout", 0.0, 0.5),
        learning_rate=trial.suggest_float("learning_rate", 1e-4, 3e-2, log=True),
    )


def best(study: optuna.Study) -> Hyper:
    """The hyperparameters of the study's best trial."""
    return suggest(study.best_trial)  # a finished trial suggests what it was given


def history(study: optuna.Study) -> pd.DataFrame:
    """One row per trial: state, best validation loss, best so far, epochs trained, hyperparameters."""
    table = pd.DataFrame(
        {"trial": trial.number, "state": trial.state.name.lower(),
         "validation": min(trial.intermediate_values.values(), default=np.nan),
         "epochs": len(trial.intermediate_values), **trial.params}
        for trial in study.trials
    )  # fmt: skip
    finished = table["validation"].where(table["state"] == "complete")
    table.insert(3, "best", finished.cummin().ffill())
    return table


def compare_recipes(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    recipes: Mapping[str, Recipe],
    hyper: str | Hyper = "bangalore",
    *,
    seeds: Iterable[int] = range(3),
    progress: bool | None = None,
) -> pd.DataFrame:
    """Judge ways to train on rows that none of them has seen, for several seeds.

    Parameters
    ----------
    x : (m, n); y : (m,), training rows; each seed sets another fifth of them aside to judge
    recipes : name → recipe

    Returns
    -------
    DataFrame: recipe, seed, loss (Huber's, in the target's unit), r2
    """
    x, y = to_tensor(x), to_tensor(y)
    delta = (PAPER[hyper] if isinstance(hyper, str) else hyper).huber
    cases = [(name, seed) for seed in seeds for name in recipes]
    rows = []
    for name, seed in tqdm(cases, desc="recipes", disable=progress_off(progress)):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
        judged, learnt = order.split([cut := round(JUDGED * len(x)), len(x) - cut])
        model = fit(x[learnt], y[learnt], hyper, recipes[name], seed=seed, progress=False)
        prediction = to_tensor(predict(model, x[judged]))
        loss = torch.nn.functional.huber_loss(prediction, y[judged].to(prediction), delta=delta)
        rows.append({"recipe": name, "seed": seed, "loss": float(loss), "r2": r2(y[judged], prediction)})
    return pd.DataFrame(rows)


def recipe_variants(name: str) -> dict[str, Recipe]:
    """The chosen recipe of `RECIPES` and the alternatives that it was chosen from, by what they change."""
    choice = RECIPES[name]
    constant = {"schedule": "constant", "warmup": 0.0, "clip": 1e9}
    variants: dict[str, dict[str, Any]] = {
        "chosen": {},
        "constant rate, no clipping, last epoch": {**constant, "keep_best": False},
        "constant rate, no clipping": constant,
        "last epoch": {"keep_best": False},
        "half the batch": {"batch": choice.batch // 2},
        "twice the batch": {"batch": 2 * choice.batch},
        "AdamW, decay 0.1": {"optimiser": "adamw", "weight_decay": 0.1},
    }
    for output, loss in (("target", "target"), ("deviation", "target"), ("deviation", "deviation")):
        if (output, loss) != (choice.output_unit, choice.loss_unit):
            title = f"output in units of the {output}, δ in units of the {loss}"
            variants[title] = {"output_unit": output, "loss_unit": loss}
    return {title: replace(choice, **changes) for title, changes in variants.items()}


def _study(storage: str | Path | None, config: dict[str, Any]) -> optuna.Study:
    """Open the study of a file, or a new one; a trial that a stop left half done counts as failed."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=5)
    journal = None
    if storage is not None:  # one JSON line per event
        Path(storage).parent.mkdir(parents=True, exist_ok=True)
        journal = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(storage)))
    study = optuna.create_study(storage=journal, pruner=pruner, study_name="insdel", load_if_exists=True)
    about = {key: config[key] for key in ("recipe", "seed", "data")}
    stored = study.user_attrs.get("about", about)
    if different := [key for key in about if stored[key] != about[key]]:
        raise UserError(
            f"{storage} holds a search with other {', '.join(different)}. Go on with the same, or name a new file."
        )
    study.set_user_attr("about", about)
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


def _finished(study: optuna.Study) -> int:
    """How many trials ran to their end or were cut short for a reason."""
    return sum(trial.state.name in ("COMPLETE", "PRUNED") for trial in study.trials)
