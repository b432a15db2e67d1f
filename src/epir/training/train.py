"""The one way to train: everything that a recipe says, for the folds, the final model and the public interface.

`train` builds a model from its settings, `fit` takes one that is there. Both load the weights that the recipe starts
from, train its teachers, and run its epochs.
"""

import copy
from pathlib import Path
from typing import Any

import torch

from epir.core.errors import ConfigError
from epir.core.progress import Progress
from epir.core.seeds import stream_seed
from epir.models.folder import start_from
from epir.models.network import Network
from epir.models.predict import find_device
from epir.models.registry import Method, build
from epir.training.data import LabelledMaps
from epir.training.fit import AfterEpoch, Trained, TrainingInputs, repeatable, run_epochs
from epir.training.recipe import TrainingSettings, training_recipe
from epir.training.teachers import DistillationTarget, train_teachers


def train(
    settings: Any,
    clips: LabelledMaps,
    recipe: TrainingSettings | str = "scratch",
    *,
    method: Method | None = None,
    start: Path | None = None,
    seed: int = 0,
    after_epoch: AfterEpoch | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """A new network with these settings, trained on the clips; its first weights come from the seed.

    `method` builds one that is not epir's; `start` is the model folder of a recipe that starts from one.
    """
    with repeatable(stream_seed(seed, "first weights"), torch.device("cpu")):
        model = build(settings, method)
    if not isinstance(model, Network):
        raise ConfigError(f"{settings.name!r} is an estimator, not a network", fix="train a network, such as epir")
    return fit(
        model,
        clips,
        recipe,
        start=start,
        seed=seed,
        after_epoch=after_epoch,
        checkpoint=checkpoint,
        progress=progress,
    )


def fit(
    model: Network,
    clips: LabelledMaps,
    recipe: TrainingSettings | str = "scratch",
    *,
    start: Path | None = None,
    seed: int = 0,
    after_epoch: AfterEpoch | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train the model in place by a recipe or the name of one; it ends in evaluation mode.

    Where the recipe starts from weights, `start` says in which folder they are on this machine, if not where it says.

    `after_epoch` is shown the epoch (from 1) and the network as it would be delivered now, and cannot change what
    follows. With `checkpoint` every finished epoch is saved in that file, and a second call resumes from there.

    >>> from epir import create_model, synthetic_maps
    >>> maps = synthetic_maps(24, "direct")
    >>> clips = LabelledMaps.of(maps.maps, [clip.emotion for clip in maps.clips], ["negative", "positive", "surprise"])
    >>> trained = fit(create_model("ststnet"), clips, TrainingSettings(epochs=2))
    >>> len(trained.losses), trained.model.training
    (2, False)
    """
    recipe = training_recipe(recipe) if isinstance(recipe, str) else recipe
    _check_classes(model, clips)
    model.seen = None  # from now on it has seen more than its record says
    folder = None if recipe.start is None else start or recipe.start
    knows_classes = folder is not None and start_from(model, folder, clips.classes)
    teacher = None
    if recipe.teachers:
        teachers = train_teachers(model, clips, recipe, seed=seed, progress=progress)
        # weights that were trained for other classes have no part in the target
        first = copy.deepcopy(model).to(find_device(recipe.device)).eval() if knows_classes else None
        teacher = DistillationTarget(teachers, first)
    inputs = TrainingInputs(
        teacher=teacher,
        # a new head fits the weights that moved while it learnt, and no others
        interpolate=recipe.interpolate if knows_classes else 0.0,
    )
    return run_epochs(
        model, clips, recipe, inputs, seed=seed, after_epoch=after_epoch, checkpoint=checkpoint, progress=progress
    )


def _check_classes(model: Network, clips: LabelledMaps) -> None:
    clips.check_enough()
    if model.settings.classes != len(clips.classes):
        raise ConfigError(
            f"the model has {model.settings.classes} classes but the clips have {len(clips.classes)}",
            fix=f"build the model with classes={len(clips.classes)}",
        )
