"""A known displacement comes out multiplied, and that of the head does not come out at all."""

import cv2
import numpy as np
import pytest

from epir.flow.magnification import AROUND, skin_motion
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe

SIDE = 480


def texture(seed=0):
    random = np.random.default_rng(seed)
    layers = [cv2.GaussianBlur(random.normal(0, 1, (SIDE, SIDE, 3)), (0, 0), blur) * blur for blur in (3, 6, 14)]
    picture = sum(layers)
    return np.clip(128 + 45 * picture / picture.std(), 0, 255).astype(np.uint8)


def moved(picture, flow):
    """The picture with its points moved by a smooth flow, small enough that its inverse is -flow nearly."""
    rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)
    at = np.stack([columns, rows], -1)
    for _ in range(10):
        there = cv2.remap(flow, at[..., 0], at[..., 1], cv2.INTER_LINEAR)
        at = np.stack([columns, rows], -1) - there
    return cv2.remap(picture, at[..., 0], at[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


def bump(u, v, *, x=0.5, y=0.68, width=0.09):
    rows, columns = (np.mgrid[0:SIDE, 0:SIDE] + 0.5) / SIDE
    shape = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * width**2))
    return (shape[..., None] * (u, v)).astype(np.float32)


def displacement(onset, picture, x=0.5, y=0.68):
    flow = flow_between(onset, picture, FlowRecipe())
    at = round(y * SIDE), round(x * SIDE)
    return flow[at[0] - 8 : at[0] + 8, at[1] - 8 : at[1] + 8].mean(axis=(0, 1))


@pytest.mark.parametrize("times", [2, 5, 10])
@pytest.mark.parametrize("way", [(1.6, 0.0), (0.0, -1.6), (-1.0, 1.2)])
def test_a_known_displacement_is_multiplied(times, way):
    onset = texture()
    shown, really = skin_motion(onset, moved(onset, bump(*way))).magnified(times)
    assert really == times
    measured = displacement(onset, shown)
    assert measured == pytest.approx(times * np.array(way), abs=0.2 * times * np.hypot(*way))


def test_the_head_is_taken_off_and_not_magnified():
    onset = texture()
    turned = cv2.getRotationMatrix2D((SIDE / 2, SIDE / 2), 1.5, 1.01) + np.array([[0, 0, 5.0], [0, 0, -3.0]])
    face = cv2.warpAffine(onset, turned, (SIDE, SIDE), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    motion = skin_motion(onset, face)
    inner = slice(round(SIDE * (1 - 1 / AROUND) / 2), round(SIDE * (1 + 1 / AROUND) / 2))
    assert np.abs(motion.flow[inner, inner]).mean() < 0.15
    assert np.hypot(*displacement(onset, motion.face)) < 0.4
    shown, _ = motion.magnified(10)
    assert np.hypot(*displacement(onset, shown)) < 1.5


def test_both_at_once_leave_the_skin():
    onset = texture()
    face = np.roll(moved(onset, bump(0.0, -1.6)), (4, 6), axis=(0, 1))
    shown, _ = skin_motion(onset, face).magnified(5)
    assert displacement(onset, shown) == pytest.approx([0, -8], abs=1.6)


def test_once_is_the_face_itself_and_still_skin_stays():
    onset = texture()
    motion = skin_motion(onset, moved(onset, bump(1.6, 0)))
    assert np.abs(motion.magnified(1)[0].astype(int) - motion.face).mean() < 1.0
    still, _ = skin_motion(onset, onset).magnified(10)
    assert np.abs(still.astype(int) - onset).mean() < 0.2


def test_it_stops_before_the_skin_folds():
    onset = texture()
    shown, really = skin_motion(onset, moved(onset, bump(9.0, 0, width=0.05))).magnified(10)
    assert 1 <= really < 6
    assert shown.shape == onset.shape
