"""TV-L1 optical flow: brightness kept in the L1 sense, total variation of the flow kept small.

[T]  Zach, Pock, Bischof 2007, A Duality Based Approach for Realtime TV-L1 Optical Flow
[SP] Sanchez Perez, Meinhardt-Llopis, Facciolo 2013, TV-L1 Optical Flow Estimation, IPOL 3: the scheme and its constants

Departs from [SP]: a fixed number of steps in place of a tolerance, so that the result does not depend on rounding; a
median filter between warps, which removes single wild vectors.

Axes: h, w pixels; flows are (2, h, w) inside, u first
"""

import cv2
import numpy as np

TIGHTNESS = 0.3  # theta of [T]: coupling of the two halves of the problem
STEP = 0.25  # tau of [T]
WARPS = 5
STEPS = 30  # per warp
PRESMOOTHING = 0.8  # px
SMALLEST_LEVEL = 16  # px


def tvl1_flow(onset: np.ndarray, apex: np.ndarray, *, attachment: float = 0.15, levels: int = 5) -> np.ndarray:
    """The flow from `onset` to `apex`, both (h, w) uint8, as (h, w, 2) float32."""
    pictures = _pyramid(_smoothed(onset), levels), _pyramid(_smoothed(apex), levels)
    flow = np.zeros((2, *pictures[0][-1].shape), np.float32)
    for first, second in zip(reversed(pictures[0]), reversed(pictures[1]), strict=True):
        flow = _refined(first, second, _enlarged(flow, first.shape), attachment)
    return np.ascontiguousarray(flow.transpose(1, 2, 0))


def _refined(first: np.ndarray, second: np.ndarray, flow: np.ndarray, attachment: float) -> np.ndarray:
    """One pyramid level: warp the second picture by the flow so far, solve for what is left, repeat."""
    height, width = first.shape
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    dual = np.zeros((2, 2, height, width), np.float32)  # for each of u and v one field of (x, y) vectors
    flow = flow.copy()
    slope_x, slope_y = _central_gradient(second)
    reach = attachment * TIGHTNESS
    for _ in range(WARPS):
        place = (columns + flow[0], rows + flow[1])
        warped, *slope = (_sample(field, place) for field in (second, slope_x, slope_y))
        steepness = slope[0] ** 2 + slope[1] ** 2 + 1e-9
        rest = warped - first - slope[0] * flow[0] - slope[1] * flow[1]  # brightness left over at zero flow
        for _ in range(STEPS):
            error = rest + slope[0] * flow[0] + slope[1] * flow[1]
            step = np.clip(error / steepness, -reach, reach)  # Eq. 15 of [T], its three cases in one
            for part in (0, 1):
                towards = flow[part] - step * slope[part]
                flow[part] = towards + TIGHTNESS * _divergence(dual[part])
                _ascend(dual[part], flow[part])
        flow = np.stack([cv2.medianBlur(part, 5) for part in flow])
    return flow


def _ascend(dual: np.ndarray, part: np.ndarray) -> None:
    """One step of the (2, h, w) dual variable of u or v, in place; it stays within the unit disc."""
    ascent = _forward_gradient(part)
    ascent *= STEP / TIGHTNESS
    length = np.sqrt(ascent[0] ** 2 + ascent[1] ** 2)  # cv2.magnitude rounds by the place in memory
    dual += ascent
    dual /= 1.0 + length


def _smoothed(picture: np.ndarray) -> np.ndarray:
    return cv2.GaussianBlur(picture.astype(np.float32), (0, 0), PRESMOOTHING)


def _pyramid(picture: np.ndarray, levels: int) -> list[np.ndarray]:
    """The picture and its halves, finest first."""
    pictures = [picture]
    while len(pictures) < levels and min(pictures[-1].shape) >= 2 * SMALLEST_LEVEL:
        height, width = pictures[-1].shape
        half = cv2.resize(pictures[-1], ((width + 1) // 2, (height + 1) // 2), interpolation=cv2.INTER_AREA)
        pictures.append(half)
    return pictures


def _enlarged(flow: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The flow of a coarser level at the size of this one, in its pixels."""
    if flow.shape[1:] == shape:
        return flow
    height, width = shape
    scale = (width / flow.shape[2], height / flow.shape[1])
    return np.stack([cv2.resize(part, (width, height)) * by for part, by in zip(flow, scale, strict=True)])


def _sample(field: np.ndarray, place: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return cv2.remap(field, place[0], place[1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


def _central_gradient(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    padded = cv2.copyMakeBorder(picture, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    return (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2, (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2


def _forward_gradient(part: np.ndarray) -> np.ndarray:
    """The forward differences of an (h, w) field in x and y, (2, h, w); 0 at the far border."""
    ascent = np.zeros((2, *part.shape), part.dtype)
    np.subtract(part[:, 1:], part[:, :-1], out=ascent[0, :, :-1])
    np.subtract(part[1:, :], part[:-1, :], out=ascent[1, :-1, :])
    return ascent


def _divergence(dual: np.ndarray) -> np.ndarray:
    """The backward differences of a (2, h, w) field that are minus the adjoint of `_forward_gradient`, (h, w)."""
    spread = np.zeros_like(dual[0])
    spread[:, :-1] = dual[0, :, :-1]
    spread[:, 1:] -= dual[0, :, :-1]
    spread[:-1, :] += dual[1, :-1, :]
    spread[1:, :] -= dual[1, :-1, :]
    return spread
