"""What every classical method has in common: features of each clip, then a linear SVM.

    pipeline = build(model_settings("bi-woof", classes=3))
    pipeline.fit(maps, labels, seed=0, clips=clips)     # maps (n, 3, S, S) float32, labels (n,) whole numbers
    scores = pipeline.scores(maps, clips=clips)         # (n, C), rows sum to 1, largest is the answer

`clips` are the `core.records.Clip`s of the maps, in the same order. A pipeline whose `needs` is `"frames"` reads the
clips' frames and fails with a clear error where there are none; the others look at the maps alone.

Axes: n clips, S map size, F features, C classes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from epir.core.errors import ConfigError, ShapeError, TrainingError
from epir.core.records import Clip
from epir.models.baselines.base import BaselineSettings

SMALLEST_SHARE = 1e-6  # of its size, by which a feature must vary to count


@dataclass(frozen=True)
class PipelineSettings(BaselineSettings):
    """What the classical methods have: a linear SVM on their features.

    `normalise` is `map` (the zero of u and v is each map's own median) or `none` (as it is).
    """

    cost: float = 1.0  # the C of the machine
    balanced: bool = False  # errors on rare classes cost more
    normalisations: ClassVar[tuple[str, ...]] = ("map", "none")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost <= 0:
            raise ConfigError(f"the cost of an error cannot be {self.cost}", fix="set cost to more than 0")


class Pipeline:
    """Features and a linear SVM; children give `features`.

    Nothing is learned but on the clips given to `fit`: the scale of each feature (where `scaled`) and the machine.
    """

    needs: Literal["maps", "frames"] = "maps"
    scaled: bool = True  # features to zero mean and equal deviation, and clips to about unit length: `cost` near 1 fits

    def __init__(self, settings: PipelineSettings) -> None:
        self.settings = settings
        self._machine: Any = None
        self._zero: Any = 0.0
        self._unit: Any = 1.0

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Features (n, F) of the maps (n, 3, S, S), or of the frames of their clips."""
        raise NotImplementedError

    def fit(self, maps: np.ndarray, labels: np.ndarray, *, seed: int = 0, clips: Sequence[Clip] = ()) -> None:
        """Learn from the training clips; `seed` is there for the interface, for nothing here is random."""
        from sklearn.svm import SVC

        self._check(maps)
        labels = np.asarray(labels)
        assert labels.shape == (len(maps),) and labels.max() < self.settings.classes, "one class number per map"
        if len(np.unique(labels)) < 2:
            raise TrainingError(
                f"{self.settings.name} was given clips of one class only",
                fix="train on clips of two classes or more",
            )
        weights = "balanced" if self.settings.balanced else None
        features = np.asarray(self.features(maps, clips), dtype=np.float64)
        if self.scaled:
            self._zero, self._unit = scale_of(features)
        machine = SVC(kernel="linear", C=self.settings.cost, class_weight=weights)
        self._machine = machine.fit((features - self._zero) / self._unit, labels)

    def scores(self, maps: np.ndarray, *, clips: Sequence[Clip] = ()) -> np.ndarray:
        """How much each class speaks for each clip, (n, C); a class that `fit` never saw has 0."""
        if self._machine is None:
            raise TrainingError(
                f"{self.settings.name} has not been fitted", fix="call fit with the training clips first"
            )
        self._check(maps)
        if len(maps) == 0:
            return np.zeros((0, self.settings.classes))
        features = (self.features(maps, clips) - self._zero) / self._unit
        answers = self._machine.decision_function(features)
        if answers.ndim == 1:  # of two classes the machine gives one number, for the second
            answers = np.stack([-answers, answers], axis=1)
        full = np.full((len(maps), self.settings.classes), -np.inf)
        full[:, self._machine.classes_.astype(int)] = answers
        return softmax(full)

    def _check(self, maps: np.ndarray) -> None:
        size = self.settings.map_size
        if maps.ndim != 4 or maps.shape[1:] != (3, size, size):
            raise ShapeError(
                f"{self.settings.name} takes maps (n, 3, {size}, {size}) but got {maps.shape}",
                fix=f"prepare the maps with --size {size}, or set model.map_size",
            )
        if not np.isfinite(maps).all():
            raise ShapeError("a map holds NaN or infinity", fix="look at the frames of that clip, and prepare it again")


def scale_of(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What to subtract from features (n, F) and to divide them by; one that does not vary becomes 0 ever after."""
    deviation = features.std(axis=0)
    varies = deviation > SMALLEST_SHARE * np.abs(features).max(axis=0)
    return features.mean(axis=0), np.where(varies, deviation * np.sqrt(features.shape[1]), np.inf)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Rows that sum to 1, in the same order as `scores` (n, C)."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def flow_of(maps: np.ndarray, normalise: str) -> np.ndarray:
    """The flow (n, 2, S, S) of maps (n, 3, S, S); for `map`, with each map's own median of u and of v as its zero.

    Most of a face does not move, so the median is the motion of the head, or the lost zero of a stretched map.
    """
    flow = np.asarray(maps[:, :2], dtype=np.float64)
    return flow - np.median(flow, axis=(2, 3), keepdims=True) if normalise == "map" else flow


def directions_of(flow: np.ndarray, bins: int) -> np.ndarray:
    """Which of `bins` directions each vector of a flow (n, 2, S, S) has, (n, S, S); 0 is along u, 1 turns towards v.

    The directions are centred on the axes, so that a rise straight up does not fall on the border of two of them.
    """
    angles = np.arctan2(flow[:, 1], flow[:, 0])
    return np.floor(angles * bins / (2 * np.pi) + 0.5).astype(int) % bins


def block_sums(values: np.ndarray, grid: int) -> np.ndarray:
    """Sums of values (..., S, S) over `grid` x `grid` blocks, (..., grid, grid)."""
    size = values.shape[-1]
    member = (np.arange(size) * grid // size == np.arange(grid)[:, None]).astype(values.dtype)  # (grid, S)
    return member @ values @ member.T


def check_grid(settings: PipelineSettings, grid: int, bins: int) -> None:
    """Refuse more blocks than pixels, or fewer than two directions."""
    if grid > settings.map_size:
        raise ConfigError(
            f"{settings.name} cannot divide a {settings.map_size} px map into {grid} x {grid} blocks",
            fix=f"set grid to at most {settings.map_size}",
        )
    if bins < 2:
        raise ConfigError(f"{settings.name} cannot use {bins} directions", fix="set bins to 2 or more")
