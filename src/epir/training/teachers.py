"""Tutors: small convolutional networks that learn from the clips of a fold, and then teach the large one.

A small network learns more from a few hundred clips than a large one does, and several of them together more than
one. Their mean answer, and the start's, is what the large network is taught, on the clips and on mixtures of them.
Tutors see the training clips alone, so nothing can leak; they are thrown away afterwards.

[KD] Hinton, Vinyals, Dean 2015, Distilling the knowledge in a neural network, arXiv:1503.02531
[FM] Beyer et al. 2022, Knowledge distillation: a good teacher is patient and consistent, arXiv:2106.05237, Sec. 2:
     teacher and pupil see the same views, and mixtures of clips besides

Axes: B clips, S map size, F features, C classes
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from epir.core.progress import Progress, Silent
from epir.core.seeds import stream_seed
from epir.models.network import Network
from epir.models.normalise import Normalisation
from epir.training.data import LabelledMaps
from epir.training.fit import find_device, fit, repeatable
from epir.training.recipe import TrainingSettings
from epir.training.start import start_from

SHARE_OF_START = 0.4  # in what is taught; the rest is the tutors'


class Lesson:
    """What the large network is taught: the mean answer of those who know more."""

    def __init__(self, tutors: Sequence[Network], start: Network | None) -> None:
        self.tutors, self.start = tutors, start

    @torch.no_grad()
    def __call__(self, maps: Tensor) -> Tensor:
        """Probabilities (B, C) of maps (B, 3, S, S)."""
        answer = torch.stack([tutor(maps).softmax(-1) for tutor in self.tutors]).mean(0)
        return answer if self.start is None else answer.lerp(self.start(maps).softmax(-1), SHARE_OF_START)


def prepare_lesson(
    model: Network, clips: LabelledMaps, settings: TrainingSettings, *, seed: int, progress: Progress | None = None
) -> Lesson | None:
    """Train the tutors that a recipe wants for `model`, on the clips that it will see; none where it wants none.

    A start that does not know these classes, because the head is for others, has no part in the lesson.
    """
    if not settings.tutors:
        return None
    device, progress = find_device(settings.device), progress or Silent()
    recipe = _recipe(settings)
    sizes = TutorSettings(map_size=model.settings.map_size, classes=model.settings.classes)
    tutors = []
    progress.start("training tutors", settings.tutors)
    for number in range(settings.tutors):
        own = stream_seed(seed, f"tutor {number}")
        with repeatable(stream_seed(own, "first weights"), torch.device("cpu")):
            tutor = Tutor(sizes)
        fit(tutor, clips, recipe, seed=own)
        tutors.append(tutor)
        progress.advance()
    progress.finish()
    start = copy.deepcopy(model)
    knows = settings.start is not None and start_from(start, settings.start, clips.classes)
    return Lesson(tutors, start.to(device).eval() if knows else None)


def _recipe(settings: TrainingSettings) -> TrainingSettings:
    """How a tutor learns: as the recipe augments and smooths, but longer, faster and from random weights."""
    return replace(
        settings,
        name="tutor",
        epochs=40,
        optimiser="adamw",
        lr=2e-3,
        schedule="cosine",
        warmup=0.0,
        gradient_limit=0.0,
        action_units=0.0,
        averaging="none",
        start=None,
        keep=0.0,
        company=0,
        tutors=0,
    )


@dataclass(frozen=True)
class TutorSettings:
    """Size and dropout of a tutor."""

    name: str = "tutor"
    map_size: int = 28
    classes: int = 3
    normalise: Normalisation = "squash"
    dropout: float = 0.4


class Tutor(Network):
    """Three convolutions, of 16, 32 and 48 features, and one layer that sees where they were found."""

    settings_class = TutorSettings

    def __init__(self, settings: TutorSettings) -> None:
        super().__init__(settings)
        self.features = nn.Sequential(
            _convolution(3, 16, 5, stride=2), nn.MaxPool2d(2), _convolution(16, 32, 3), _convolution(32, 48, 3)
        )
        self.dropout = nn.Dropout(settings.dropout)
        places = (settings.map_size + 1) // 2 // 2  # per side
        self.head = nn.Linear(48 * places**2, settings.classes)

    def represent(self, maps: Tensor) -> Tensor:
        """Features (B, F) of normalised maps (B, 3, S, S); F is 48 for every 4 x 4 pixels."""
        return self.dropout(self.features(maps).flatten(1))

    def classify(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, F)."""
        return self.head(features)


def _convolution(before: int, after: int, width: int, *, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, width, stride, width // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()
    )
