"""Two pictures of one face -> the motion between them.

[F] Farneback 2003, Two-Frame Motion Estimation Based on Polynomial Expansion: the paper's choice
[D] Kroeger et al. 2016, Fast Optical Flow using Dense Inverse Search
[T] Zach, Pock, Bischof 2007, A Duality Based Approach for Realtime TV-L1 Optical Flow; scikit-image's implementation

Axes: h, w pixels; u to the right, v downwards, in pixels of the pictures given
"""

import cv2
import numpy as np

from epir.core.errors import MissingExtra, ShapeError
from epir.flow.recipe import FlowSettings, Recipe

TVL1_ATTACHMENT = 100.0  # scikit-image's `attachment` per unit of `flow.attachment`: 0.15 is its default of 15


def flow_between(onset: np.ndarray, apex: np.ndarray, recipe: Recipe) -> np.ndarray:
    """The flow from `onset` to `apex`, both (h, w) or (h, w, 3) uint8, as (h, w, 2) float32.

    A point at (x, y) of the onset is at (x + u, y + v) in the apex. The pictures are taken at the size they have.
    """
    if onset.shape != apex.shape or onset.dtype != np.uint8 or apex.dtype != np.uint8:
        raise ShapeError(
            f"flow needs two uint8 pictures of one shape, "
            f"not {onset.dtype} {onset.shape} and {apex.dtype} {apex.shape}",
            fix="cut both out with the same crop and size",
        )
    return ESTIMATORS[recipe.flow.method](to_grey(onset), to_grey(apex), recipe.flow)


def to_grey(picture: np.ndarray) -> np.ndarray:
    """The brightness of an RGB picture; a grey one is given back as it is."""
    return cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) if picture.ndim == 3 else picture


def _farneback(onset: np.ndarray, apex: np.ndarray, settings: FlowSettings) -> np.ndarray:
    return cv2.calcOpticalFlowFarneback(
        onset,
        apex,
        None,  # type: ignore[call-overload]
        pyr_scale=0.5,
        levels=settings.levels,
        winsize=settings.window,
        iterations=settings.iterations,
        poly_n=5,
        poly_sigma=1.2,
        flags=0,
    )


def _dis(onset: np.ndarray, apex: np.ndarray, settings: FlowSettings) -> np.ndarray:
    estimator = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    estimator.setFinestScale(0)  # small faces: the last level is the picture itself
    return estimator.calc(onset, apex, None)  # type: ignore[call-overload]


def _tvl1(onset: np.ndarray, apex: np.ndarray, settings: FlowSettings) -> np.ndarray:
    try:
        from skimage.registration import optical_flow_tvl1
    except ImportError:
        raise MissingExtra.named("scikit-image, which computes the flow method tvl1,", "tvl1") from None

    v, u = optical_flow_tvl1(onset, apex, attachment=TVL1_ATTACHMENT * settings.attachment, dtype=np.float32)
    return np.stack([u, v], axis=-1)


ESTIMATORS = {"farneback": _farneback, "dis": _dis, "tvl1": _tvl1}
