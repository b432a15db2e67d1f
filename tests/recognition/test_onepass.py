"""Movements during which the tracker takes a new crop, or the video cuts."""

import numpy as np
import pytest
from skimage.data import astronaut

from epir.faces.align import Crop
from epir.faces.face import TrackingSettings
from epir.faces.patch import cut_patch
from epir.faces.tracking import TrackedFace
from epir.recognition import onepass
from epir.recognition.onepass import OnePass
from epir.spotting.decision import SpottingSettings
from epir.spotting.timeline import MICRO_EXPRESSION, FaceMovement

FPS = 30.0
OLD, NEW = Crop(100.0, 95.0, 90.0), Crop(106.0, 95.0, 94.0)


class OneMovement:
    """Reports a movement with onset 5, apex 10 and offset 16 after twenty frames."""

    def __init__(self, settings, fps):
        pass

    def push(self, tracked):
        if tracked.number != 20:
            return []
        return [FaceMovement(5, 10, 16, strength=0.01, region="brows", kind=MICRO_EXPRESSION, head=0.0, crop=NEW)]


def spotted(monkeypatch, crops, shots=(0,) * 21):
    """The spotted movements of a still picture that is tracked with these crops."""
    monkeypatch.setattr(onepass, "Spotter", OneMovement)
    frame = np.ascontiguousarray(astronaut()[20:220, 120:320])
    run = OnePass(TrackingSettings(), SpottingSettings(), FPS)
    small, landmarks = np.zeros((84, 84), np.uint8), np.zeros((5, 2))
    faces = [
        TrackedFace(n, n / FPS, 0, 0, crop, small, landmarks, cut_patch(frame, crop, 320), shot)
        for n, (crop, shot) in enumerate(zip(crops, shots, strict=True))
    ]
    return list(run._take(faces))


@pytest.mark.parametrize("change", [8, 10, 13])
def test_a_new_crop_within_a_movement_aligns_its_patches_with_the_onset(monkeypatch, change):
    (movement,) = spotted(monkeypatch, [OLD] * change + [NEW] * (21 - change))
    assert [face.number for face in (movement.onset, movement.apex, movement.offset)] == [5, 10, 16]
    onset, apex = movement.patches
    assert apex.pixels.shape == onset.pixels.shape == movement.offset.patch.pixels.shape
    inner = slice(12, -12)
    np.testing.assert_array_equal(apex.pixels[inner, inner], onset.pixels[inner, inner])


def test_a_movement_does_not_span_a_cut(monkeypatch):
    assert spotted(monkeypatch, [OLD] * 21, shots=[0] * 8 + [1] * 13) == []
