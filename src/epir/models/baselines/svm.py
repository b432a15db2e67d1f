"""What the classical methods share: features of each clip, then a linear support vector machine.

They are estimators (`epir.models.estimator`): `fit(maps, labels)`, then `predict_proba(maps)`. One that reads the
frames of the clips asks for `clips` besides, the `core.records.Clip`s of the maps in the same order.

Axes: n clips, S map size, F features, C classes
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np

from epir.core.errors import ConfigError, TrainingError
from epir.core.records import Clip
from epir.models.arguments import Count, Range
from epir.models.estimator import softmax

SMALLEST_SHARE = 1e-6  # of its size, by which a feature must vary to count

Cost = Annotated[float, Range(gt=0, le=1e6), "the C of the machine"]
Balanced = Annotated[bool, "errors on rare classes cost more"]
Zero = Annotated[Literal["map", "none"], "the zero of u and v: each map's median, or as it is"]
Bins = Annotated[int, Range(ge=2, le=1024), "directions of the flow"]
Blocks = Annotated[Count, "blocks per side"]


class FeatureSvm:
    """Features and a linear SVM; children give `features`.

    Nothing is learned but on the clips given to `fit`: the scale of each feature (where `scaled`) and the machine.
    """

    scaled: bool = True  # features to zero mean and equal deviation, and clips to about unit length: `cost` near 1 fits

    def __init__(self, cost: float, balanced: bool) -> None:
        self.cost, self.balanced = cost, balanced
        self._machine: Any = None
        self._zero: Any = 0.0
        self._unit: Any = 1.0

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Features (n, F) of the maps (n, 3, S, S), or of the frames of their clips."""
        raise NotImplementedError

    def fit(self, maps: np.ndarray, labels: np.ndarray, clips: Sequence[Clip] = ()) -> Self:
        """Learn from the training clips; nothing here is random."""
        from sklearn.svm import SVC

        features = np.asarray(self.features(maps, clips), dtype=np.float64)
        if self.scaled:
            self._zero, self._unit = scale_of(features)
        machine = SVC(kernel="linear", C=self.cost, class_weight="balanced" if self.balanced else None)
        self._machine = machine.fit((features - self._zero) / self._unit, np.asarray(labels))
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes that `fit` saw: the columns of `predict_proba`."""
        return np.asarray(self._machine.classes_)

    def predict_proba(self, maps: np.ndarray, clips: Sequence[Clip] = ()) -> np.ndarray:
        """How much speaks for each of `classes_`, (n, C); rows sum to 1."""
        if self._machine is None:
            name = type(self).__name__
            raise TrainingError(f"{name} has not been fitted", fix="call fit with the training clips first")
        answers = self._machine.decision_function((self.features(maps, clips) - self._zero) / self._unit)
        if answers.ndim == 1:  # of two classes the machine gives one number, for the second
            answers = np.stack([-answers, answers], axis=1)
        return softmax(answers)


def scale_of(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What to subtract from features (n, F) and to divide them by; one that does not vary becomes 0 ever after."""
    deviation = features.std(axis=0)
    varies = deviation > SMALLEST_SHARE * np.abs(features).max(axis=0)
    return features.mean(axis=0), np.where(varies, deviation * np.sqrt(features.shape[1]), np.inf)


def check_grid(name: str, grid: int, map_size: int) -> None:
    """Refuse more blocks than pixels."""
    if grid > map_size:
        raise ConfigError(
            f"{name} cannot divide a {map_size} px map into {grid} x {grid} blocks",
            fix=f"set grid to at most {map_size}",
        )


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
