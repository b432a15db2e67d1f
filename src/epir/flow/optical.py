"""Two pictures of one face -> the optical flow between them.

[F] Farneback 2003, Two-Frame Motion Estimation Based on Polynomial Expansion: the paper's choice
[D] Kroeger et al. 2016, Fast Optical Flow using Dense Inverse Search
[T] Zach, Pock, Bischof 2007, A Duality Based Approach for Realtime TV-L1 Optical Flow; scikit-image's implementation

Axes: h, w pixels; u to the right, v downwards, in pixels of the pictures
"""

import cv2
import numpy as np

from epir.core.errors import ConfigError, EpirError, MissingExtra, ShapeError, is_machine_fault
from epir.core.plugins import call_failed, load_object
from epir.flow.recipe import GROUP, FlowRecipe, FlowSettings

TVL1_SMOOTHING = 0.8  # px; without it and the median filter between warps (`prefilter`) the strain is much worse
TVL1_TOLERANCE = 1e-3  # ten times scikit-image's: half the time, the same accuracy
TVL1_ATTACHMENT = 100.0  # scikit-image's `attachment` per unit of `flow.attachment`: 0.15 is its default of 15


def flow_between(onset: np.ndarray, apex: np.ndarray, recipe: FlowRecipe) -> np.ndarray:
    """The flow from `onset` to `apex`, both (h, w) or (h, w, 3) uint8, as (h, w, 2) float32.

    A point at (x, y) of the onset is at (x + u, y + v) in the apex. The pictures are not resized.
    """
    if onset.shape != apex.shape or onset.dtype != np.uint8 or apex.dtype != np.uint8:
        raise ShapeError(
            f"flow needs two uint8 pictures of one shape, "
            f"not {onset.dtype} {onset.shape} and {apex.dtype} {apex.shape}",
            fix="cut both out with the same crop and size",
        )
    if recipe.flow.is_plugin:
        return _users_flow(onset, apex, recipe.flow)
    return ESTIMATORS[recipe.flow.method](to_grey(onset), to_grey(apex), recipe.flow)


def _users_flow(onset: np.ndarray, apex: np.ndarray, settings: FlowSettings) -> np.ndarray:
    """The flow computed by a user's function, which gets both faces unchanged."""
    estimate, plugin = load_object(settings.method, group=GROUP, what="flow method")
    if settings.code and settings.code != plugin.digest:
        raise ConfigError(
            f"{plugin.name} has changed since this command started", fix="run the command again, with --force"
        )
    try:
        flow = np.asarray(estimate(onset.copy(), apex.copy()))
    except EpirError:
        raise
    except Exception as fault:
        if is_machine_fault(fault):
            raise
        raise call_failed(plugin, fault, error=ShapeError) from None
    shape = (*onset.shape[:2], 2)
    if flow.shape != shape or flow.dtype.kind not in "fiu":
        raise ShapeError(
            f"{plugin.name} returned {flow.dtype} {flow.shape}, not float {shape}",
            fix="return u and v in the last axis",
        )
    if not np.isfinite(flow).all():
        raise ShapeError(
            f"{plugin.name} returned values that are not finite", fix="return numbers, in pixels of the faces"
        )
    return flow.astype(np.float32)


def to_grey(picture: np.ndarray) -> np.ndarray:
    """The brightness of an RGB picture; a grey picture is returned unchanged."""
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

    before, after = (cv2.GaussianBlur(picture, (0, 0), TVL1_SMOOTHING) for picture in (onset, apex))
    v, u = optical_flow_tvl1(
        before, after, attachment=TVL1_ATTACHMENT * settings.attachment, tol=TVL1_TOLERANCE, prefilter=True
    )
    return np.stack([u, v], axis=-1).astype(np.float32)


ESTIMATORS = {"farneback": _farneback, "dis": _dis, "tvl1": _tvl1}
