"""Train a network by a recipe: the one way for folds, the final model and the public interface.

`new_network` builds a network from its settings. `fit` loads the weights that the recipe starts from, trains its
teachers, and runs its epochs.

Distillation: a small network learns more from a few hundred clips than a large one, and several small networks learn
more than one. The target, on the clips and on mixtures of them, is the mean answer of these teachers and of the initial
weights. Teachers see the training clips alone, so test people stay out; they are discarded afterwards.

[KD] Hinton, Vinyals, Dean 2015, Distilling the knowledge in a neural network, arXiv:1503.02531
[FM] Beyer et al. 2022, Knowledge distillation: a good teacher is patient and consistent, arXiv:2106.05237, Sec. 2:
     teacher and student see the same views, and mixtures of clips

Axes: B clips, S map size, F features, C classes
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from epir.core.engines import Progress, Silent
from epir.core.errors import ConfigError
from epir.core.seeds import stream_seed
from epir.models.folder import start_from
from epir.models.network import Network
from epir.models.predict import find_device
from epir.models.registry import Method, build
from epir.models.settings import Normalisation
from epir.training.data import LabelledMaps
from epir.training.fit import AfterEpoch, Trained, repeatable, run_epochs
from epir.training.recipe import TrainingSettings, training_recipe

SHARE_OF_START = 0.4  # of the initial weights in the distillation target; the rest is the teachers'


class DistillationTarget:
    """The soft labels: the mean answer of the teachers and, if `start` knows the classes, of the initial weights."""

    def __init__(self, teachers: Sequence[Network], start: Network | None) -> None:
        self.teachers, self.start = teachers, start

    @torch.no_grad()
    def __call__(self, maps: Tensor) -> Tensor:
        """Maps (B, 3, S, S) -> probabilities (B, C)."""
        taught = torch.stack([teacher(maps).softmax(-1) for teacher in self.teachers]).mean(0)
        return taught if self.start is None else taught.lerp(self.start(maps).softmax(-1), SHARE_OF_START)


def train_teachers(
    model: Network,
    clips: LabelledMaps,
    settings: TrainingSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> list[Network]:
    """Train the teachers of a recipe on the clips that `model` will see."""
    progress = progress or Silent()
    recipe = _teacher_recipe(settings)
    sizes = TeacherSettings(map_size=model.settings.map_size, classes=model.settings.classes)
    teachers: list[Network] = []
    progress.start("training teachers", settings.teachers)
    for number in range(settings.teachers):
        teacher_seed = stream_seed(seed, f"tutor {number}")  # published scores depend on this stream name
        with repeatable(stream_seed(teacher_seed, "first weights"), torch.device("cpu")):
            teacher = Teacher(sizes)
        run_epochs(teacher, clips, recipe, seed=teacher_seed)
        teachers.append(teacher)
        progress.advance()
    progress.finish()
    return teachers


def _teacher_recipe(settings: TrainingSettings) -> TrainingSettings:
    """Return the recipe of a teacher: the same augmentation and smoothing, but longer, faster, from random weights."""
    return replace(
        settings,
        name="teacher",
        epochs=40,
        optimiser="adamw",
        lr=2e-3,
        schedule="cosine",
        warmup=0.0,
        gradient_limit=0.0,
        action_units=0.0,
        averaging="none",
        start=None,
        interpolate=0.0,
        teachers=0,
    )


@dataclass(frozen=True)
class TeacherSettings:
    """Settings of a teacher network."""

    name: str = "teacher"
    map_size: int = 28
    classes: int = 3
    normalise: Normalisation = "squash"
    dropout: float = 0.4


class Teacher(Network):
    """Three convolutions of 16, 32 and 48 channels, and one linear layer."""

    def __init__(self, settings: TeacherSettings) -> None:
        super().__init__(settings)
        self.features = nn.Sequential(
            _convolution(3, 16, 5, stride=2),
            nn.MaxPool2d(2),
            _convolution(16, 32, 3),
            _convolution(32, 48, 3),
        )
        self.dropout = nn.Dropout(settings.dropout)
        places = (settings.map_size + 1) // 2 // 2  # per side
        self.head = nn.Linear(48 * places**2, settings.classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> features (B, F); F is 48 for every 4 x 4 pixels."""
        return self.dropout(self.features(maps).flatten(1))

    def forward_head(self, features: Tensor) -> Tensor:
        """Features (B, F) -> logits (B, C)."""
        return self.head(features)


def _convolution(before: int, after: int, width: int, *, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, width, stride, width // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()
    )


def new_network(settings: Any, method: Method | None = None, *, seed: int = 0) -> Network:
    """Build a network whose initial weights come from the seed; `method` is needed if it is not part of epir."""
    with repeatable(stream_seed(seed, "first weights"), torch.device("cpu")):
        model = build(settings, method)
    if not isinstance(model, Network):
        raise ConfigError(f"{settings.name!r} is an estimator, not a network", fix="train a network, such as epir")
    return model


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
    """Train the model in place by a recipe or its name; the model ends in evaluation mode.

    If the recipe starts from weights, `start` overrides the folder to load them from. `after_epoch` is called with the
    epoch (from 1) and the network that training would deliver now; it cannot influence training. With `checkpoint`,
    every finished epoch is saved in that file, and a second call resumes from it.

    >>> from epir import create_model, synthetic_maps
    >>> maps = synthetic_maps(24, "direct")
    >>> clips = LabelledMaps.of(maps.maps, [clip.emotion for clip in maps.clips], ["negative", "positive", "surprise"])
    >>> trained = fit(create_model("ststnet"), clips, TrainingSettings(epochs=2))
    >>> len(trained.losses), trained.model.training
    (2, False)
    """
    recipe = training_recipe(recipe) if isinstance(recipe, str) else recipe
    _check_classes(model, clips)
    model.seen = None  # its record is out of date from now on
    folder = None if recipe.start is None else start or recipe.start
    knows_classes = folder is not None and start_from(model, folder, clips.classes)
    teacher = None
    if recipe.teachers:
        teachers = train_teachers(model, clips, recipe, seed=seed, progress=progress)
        # initial weights for other classes cannot contribute to the target
        initial = copy.deepcopy(model).to(find_device(recipe.device)).eval() if knows_classes else None
        teacher = DistillationTarget(teachers, initial)
    return run_epochs(
        model,
        clips,
        recipe,
        teacher=teacher,
        # a new head fits the trained weights only, not the initial ones
        interpolate=recipe.interpolate if knows_classes else 0.0,
        seed=seed,
        after_epoch=after_epoch,
        checkpoint=checkpoint,
        progress=progress,
    )


def _check_classes(model: Network, clips: LabelledMaps) -> None:
    clips.check_enough()
    if model.settings.classes != len(clips.classes):
        raise ConfigError(
            f"the model has {model.settings.classes} classes but the clips have {len(clips.classes)}",
            fix=f"build the model with classes={len(clips.classes)}",
        )
