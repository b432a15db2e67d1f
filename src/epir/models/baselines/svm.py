"""Bi-WOOF and MDMO, and the base of the classical methods: features of each clip, then a linear SVM.

They are estimators (`epir.models.estimator`): `fit(maps, labels)`, then `predict_proba(maps)`. A method that reads
frames also takes `clips`, the `core.records.Clip`s of the maps in the same order.

Axes: n clips, S map size, F features, C classes, G blocks per side, K directions
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np

from epir.core.errors import ConfigError, TrainingError
from epir.core.records import Clip
from epir.models.arguments import Count, Range
from epir.models.estimator import decision_scores

SMALLEST_SHARE = 1e-6  # a feature that varies by less than this share of its size is ignored

Cost = Annotated[float, Range(gt=0, le=1e6), "the C of the machine"]
Balanced = Annotated[bool, "errors on rare classes cost more"]
Zero = Annotated[Literal["map", "none"], "the zero of u and v: each map's median, or unchanged"]
Bins = Annotated[int, Range(ge=2, le=1024), "directions of the flow"]
Blocks = Annotated[Count, "blocks per side"]
SMALLEST_MOTION = 1e-9


class FeatureSvm:
    """Features and a linear SVM; subclasses implement `features`.

    Both the scale of each feature (if `scaled`) and the SVM are learned from the clips given to `fit` alone.
    """

    scaled: bool = True  # standardise features, and clips to about unit length, so that a `cost` near 1 works

    def __init__(self, cost: float, balanced: bool) -> None:
        self.cost, self.balanced = cost, balanced
        self._machine: Any = None
        self._zero: Any = 0.0
        self._unit: Any = 1.0

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Return features (n, F) of maps (n, 3, S, S), or of the frames of their clips."""
        raise NotImplementedError

    def fit(self, maps: np.ndarray, labels: np.ndarray, clips: Sequence[Clip] = ()) -> Self:
        """Train on the clips; nothing here is random."""
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
        """Return scores (n, C) for `classes_`; rows sum to 1."""
        if self._machine is None:
            name = type(self).__name__
            raise TrainingError(f"{name} has not been fitted", fix="call fit with the training clips first")
        features = (self.features(maps, clips) - self._zero) / self._unit
        return decision_scores(self._machine.decision_function(features))


def scale_of(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what to subtract from features (n, F) and what to divide by; a constant feature becomes 0."""
    deviation = features.std(axis=0)
    varies = deviation > SMALLEST_SHARE * np.abs(features).max(axis=0)
    return features.mean(axis=0), np.where(varies, deviation * np.sqrt(features.shape[1]), np.inf)


def check_grid(name: str, grid: int, map_size: int) -> None:
    """Raise an error if there are more blocks than pixels."""
    if grid > map_size:
        raise ConfigError(
            f"{name} cannot divide a {map_size} px map into {grid} x {grid} blocks",
            fix=f"set grid to at most {map_size}",
        )


def flow_of(maps: np.ndarray, normalise: str) -> np.ndarray:
    """Return the flow (n, 2, S, S) of maps (n, 3, S, S); with `map`, subtract each map's median of u and of v.

    Most of a face does not move, so the median is the motion of the head, or the lost zero of a stretched map.
    """
    flow = np.asarray(maps[:, :2], dtype=np.float64)
    return flow - np.median(flow, axis=(2, 3), keepdims=True) if normalise == "map" else flow


def directions_of(flow: np.ndarray, bins: int) -> np.ndarray:
    """Return which of `bins` directions each vector of a flow (n, 2, S, S) has, (n, S, S); 0 is u, 1 turns towards v.

    The directions are centred on the axes, so that a movement straight up does not fall between two of them.
    """
    angles = np.arctan2(flow[:, 1], flow[:, 0])
    return np.floor(angles * bins / (2 * np.pi) + 0.5).astype(int) % bins


def block_sums(values: np.ndarray, grid: int) -> np.ndarray:
    """Sum values (..., S, S) over `grid` x `grid` blocks, (..., grid, grid)."""
    size = values.shape[-1]
    member = (np.arange(size) * grid // size == np.arange(grid)[:, None]).astype(values.dtype)  # (grid, S)
    return member @ values @ member.T


class BiWoof(FeatureSvm):
    """Histograms of flow directions per block, weighted by the magnitude of each vector and the block's mean strain.

    [Bi-WOOF] Liong, See, Wong, Phan 2018, Less is more: Micro-expression recognition from video using apex frame,
              Signal Processing: Image Communication 62, arXiv:1606.01721

    Departs from [Bi-WOOF]: directions are centred on the axes; the zero of the flow is its median; each feature is
    standardised on the training clips; the flow is that of the map set, at its size.
    """

    def __init__(
        self,
        map_size: int = 28,
        cost: Cost = 4.0,
        balanced: Balanced = False,
        grid: Blocks = 5,
        bins: Bins = 8,
        normalise: Zero = "map",
    ) -> None:
        super().__init__(cost, balanced)
        check_grid("bi-woof", grid, map_size)
        self.grid, self.bins, self.normalise = grid, bins, normalise

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Return features (n, G * G * K) of maps (n, 3, S, S)."""
        flow = flow_of(maps, self.normalise)
        return weighted_histograms(flow, maps[:, 2], grid=self.grid, bins=self.bins)


def weighted_histograms(flow: np.ndarray, strain: np.ndarray, *, grid: int, bins: int) -> np.ndarray:
    """Return the weighted histograms (n, G * G * K) of a flow (n, 2, S, S) with this strain (n, S, S)."""
    magnitude = np.hypot(flow[:, 0], flow[:, 1])
    directions = directions_of(flow, bins)
    local = np.stack([block_sums(magnitude * (directions == k), grid) for k in range(bins)], axis=-1)  # (n, G, G, K)
    strain = np.asarray(strain, dtype=np.float64)
    mean_strain = block_sums(strain, grid) / block_sums(np.ones_like(strain), grid)  # (n, G, G)
    return (local * mean_strain[..., None]).reshape(len(flow), -1)


class Mdmo(FeatureSvm):
    """Two numbers per region: magnitude (relative to the clip's largest) and angle of its main motion.

    [MDMO] Liu, Zhang, Yan, Wang, Zhao, Fu 2016, A Main Directional Mean Optical Flow Feature for Spontaneous
           Micro-Expression Recognition, IEEE Transactions on Affective Computing 7(4)

    Departs from [MDMO]: the 36 regions are a fixed 6 x 6 grid of the aligned face, not polygons between 66 landmarks;
    one flow from onset to apex replaces the mean over all frames; the SVM kernel is linear.
    """

    scaled = False  # scaling would undo `balance`

    def __init__(
        self,
        map_size: int = 28,
        cost: Cost = 1.0,
        balanced: Balanced = False,
        grid: Annotated[Count, "regions per side: 36 of them, as many as the method's paper has"] = 6,
        bins: Bins = 8,
        balance: Annotated[float, Range(ge=0, le=1), "weight of the magnitude against the direction"] = 0.9,
        normalise: Zero = "map",
    ) -> None:
        super().__init__(cost, balanced)
        check_grid("mdmo", grid, map_size)
        self.grid, self.bins, self.balance, self.normalise = grid, bins, balance, normalise

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Return features (n, 2 * G * G) of maps (n, 3, S, S)."""
        flow = flow_of(maps, self.normalise)
        mean = main_direction_means(flow, grid=self.grid, bins=self.bins)  # (n, G * G, 2)
        magnitude = np.hypot(mean[..., 0], mean[..., 1])
        magnitude = magnitude / magnitude.max(axis=1, keepdims=True).clip(min=SMALLEST_MOTION)  # (n, G * G), to 1
        angle = np.arctan2(mean[..., 1], mean[..., 0])
        balance = self.balance
        return np.concatenate([balance * magnitude, (1 - balance) * angle], axis=1)


def main_direction_means(flow: np.ndarray, *, grid: int, bins: int) -> np.ndarray:
    """Average the vectors of a flow (n, 2, S, S) that share their region's main direction: (n, G * G, 2).

    The main direction is that of most vectors in the region; ties go to the first.
    """
    directions = directions_of(flow, bins)
    counts = np.stack([block_sums((directions == k).astype(float), grid) for k in range(bins)])  # (K, n, G, G)
    sums = np.stack([block_sums(flow * (directions == k)[:, None], grid) for k in range(bins)])  # (K, n, 2, G, G)
    main = counts.argmax(axis=0)[None]  # (1, n, G, G)
    count = np.take_along_axis(counts, main, axis=0)[0]  # (n, G, G)
    total = np.take_along_axis(sums, main[:, :, None], axis=0)[0]  # (n, 2, G, G)
    return (total / count[:, None]).reshape(len(flow), 2, -1).transpose(0, 2, 1)
