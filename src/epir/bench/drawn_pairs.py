"""Pairs of frames whose motion is known, from a synthetic corpus that was written with its true flow.

epir synth corpus --truth
python -m epir.bench.flow --corpus corpus
"""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from epir.bench.warps import Pair
from epir.core.errors import DatasetError, EpirError
from epir.datasets.registry import load_corpus
from epir.faces.align import Crop
from epir.faces.finder import find_crop
from epir.frames.reader import open_frames


def drawn_pairs(root: str | Path) -> Iterator[Pair]:
    """Onset and apex of every clip with an expression, with its true flow (`truth/<subject>/<clip>.npz`)."""
    found = False
    for clip in load_corpus("synthetic", root).clips:
        truth = Path(root) / "truth" / clip.subject / f"{clip.clip}.npz"
        if clip.onset is None or clip.apex is None or clip.frames is None or not truth.is_file():
            continue
        with open_frames(clip.frames) as frames:
            onset, apex = frames.read(clip.onset), frames.read(clip.apex)
        with np.load(truth, allow_pickle=False) as content:
            flow = content["flow"].astype(np.float32)  # (H, W, 2), px of the frame
        try:
            crop = find_crop(onset)
        except EpirError as error:
            raise DatasetError(f"{clip.key}: {error.problem}", fix=error.fix) from None
        found = True
        yield drawn_pair(onset, apex, crop, flow)
    if not found:
        raise DatasetError(f"{root} holds no true flow", fix=f"write it: epir synth {root} --truth --force")


def drawn_pair(onset: np.ndarray, apex: np.ndarray, crop: Crop, flow: np.ndarray) -> Pair:
    """The pair with its (H, W, 2) true flow seen through the crop."""

    def truth(size: int) -> np.ndarray:
        times = max(1, -(-round(crop.side) // size))  # at least every pixel of the frame, then averaged
        fine = size * times
        y, x = np.mgrid[0:fine, 0:fine].astype(np.float64)
        places = crop.to_frame(np.stack([x.ravel(), y.ravel()], axis=1), fine).reshape(fine, fine, 2).astype(np.float32)
        seen = cv2.remap(flow, places[..., 0], places[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        to_crop = np.linalg.inv(crop.matrix(size)[:, :2]).astype(np.float32)
        return cv2.resize(seen @ to_crop.T, (size, size), interpolation=cv2.INTER_AREA)

    inside = crop.apply(np.hypot(flow[..., 0], flow[..., 1]).astype(np.float32), 128)
    return Pair("expression", float(np.quantile(inside, 0.99)), onset, apex, crop, truth)
