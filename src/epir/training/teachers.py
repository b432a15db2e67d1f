"""Distillation: small convolutional networks learn from the clips of a fold, and then teach the large one.

A small network learns more from a few hundred clips than a large one does, and several of them together more than
one. Their mean answer, and that of the first weights, is the distillation target, on the clips and on mixtures of them.
Teachers see the training clips alone, so nothing can leak; they are thrown away afterwards.

[KD] Hinton, Vinyals, Dean 2015, Distilling the knowledge in a neural network, arXiv:1503.02531
[FM] Beyer et al. 2022, Knowledge distillation: a good teacher is patient and consistent, arXiv:2106.05237, Sec. 2:
     teacher and student see the same views, and mixtures of clips besides

Axes: B clips, S map size, F features, C classes
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from epir.core.progress import Progress, Silent
from epir.core.seeds import stream_seed
from epir.models.network import Network
from epir.models.settings import Normalisation
from epir.training.data import LabelledMaps
from epir.training.fit import TrainingInputs, repeatable, run_epochs
from epir.training.recipe import TrainingSettings

SHARE_OF_START = 0.4  # in the distillation target; the rest is the teachers'


class DistillationTarget:
    """What the large network is taught: the mean answer of the teachers, and of the first weights if they know."""

    def __init__(self, teachers: Sequence[Network], start: Network | None) -> None:
        self.teachers, self.start = teachers, start

    @torch.no_grad()
    def __call__(self, maps: Tensor) -> Tensor:
        """Probabilities (B, C) of maps (B, 3, S, S)."""
        answer = torch.stack([teacher(maps).softmax(-1) for teacher in self.teachers]).mean(0)
        return answer if self.start is None else answer.lerp(self.start(maps).softmax(-1), SHARE_OF_START)


def train_teachers(
    model: Network,
    clips: LabelledMaps,
    settings: TrainingSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> list[Network]:
    """The teachers that a recipe wants for `model`, trained on the clips that it will see."""
    progress = progress or Silent()
    recipe = _recipe(settings)
    sizes = TeacherSettings(map_size=model.settings.map_size, classes=model.settings.classes)
    teachers: list[Network] = []
    progress.start("training teachers", settings.teachers)
    for number in range(settings.teachers):
        own = stream_seed(seed, f"tutor {number}")  # published scores depend on the name of this stream
        with repeatable(stream_seed(own, "first weights"), torch.device("cpu")):
            teacher = Teacher(sizes)
        run_epochs(teacher, clips, recipe, TrainingInputs(), seed=own)
        teachers.append(teacher)
        progress.advance()
    progress.finish()
    return teachers


def _recipe(settings: TrainingSettings) -> TrainingSettings:
    """How a teacher learns: as the recipe augments and smooths, but longer, faster and from random weights."""
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
    """Size and dropout of a teacher."""

    name: str = "teacher"
    map_size: int = 28
    classes: int = 3
    normalise: Normalisation = "squash"
    dropout: float = 0.4


class Teacher(Network):
    """Three convolutions, of 16, 32 and 48 features, and one layer that sees where they were found."""

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
        """Features (B, F) of normalised maps (B, 3, S, S); F is 48 for every 4 x 4 pixels."""
        return self.dropout(self.features(maps).flatten(1))

    def forward_head(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, F)."""
        return self.head(features)


def _convolution(before: int, after: int, width: int, *, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, width, stride, width // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()
    )
