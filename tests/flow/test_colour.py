import colorsys

import numpy as np
import pytest

from epir.flow.colour import colour_wheel, draw_arrows, flow_peak, flow_to_colour, strain_to_colour


def hue(colour):
    return 360 * colorsys.rgb_to_hsv(*(np.asarray(colour) / 255))[0]


def test_direction_is_hue_and_stillness_is_white():
    flow = np.zeros((1, 5, 2), np.float32)
    flow[0, 1:] = [(1, 0), (0, 1), (-1, 0), (0, -1)]  # right, down, left, up
    colours = flow_to_colour(flow, peak=1.0)[0]
    assert colours[0].tolist() == [255, 255, 255]
    assert [hue(colour) for colour in colours[1:]] == pytest.approx([0, 90, 180, 270], abs=2)


def test_strength_is_length_and_ends_at_the_peak():
    flow = np.zeros((1, 3, 2), np.float32)
    flow[0, :, 0] = [0.5, 1.0, 7.0]
    half, full, beyond = flow_to_colour(flow, peak=1.0)[0]
    assert half[1] > full[1]
    assert full.tolist() == beyond.tolist()
    shades = strain_to_colour(np.linspace(0, 1, 10, dtype=np.float32)[None], peak=1.0)[0].astype(int).sum(axis=1)
    assert (np.diff(shades) > 0).all()


def test_no_motion_at_all_is_a_white_picture():
    assert (flow_to_colour(np.zeros((4, 4, 2), np.float32)) == 255).all()
    assert strain_to_colour(np.zeros((4, 4), np.float32)).max() < 10


def test_the_peak_passes_over_single_wild_vectors():
    flow = np.zeros((100, 100, 2), np.float32)
    flow[..., 0] = 1.0
    flow[0, :50] = 90.0  # half a percent
    assert flow_peak(flow) == pytest.approx(1.0)


def test_the_wheel_is_a_disc_with_all_hues():
    wheel = colour_wheel(41)
    assert wheel.shape == (41, 41, 3)
    assert (wheel[0, 0] == 255).all()
    assert hue(wheel[20, 38]) == pytest.approx(0, abs=4)
    assert hue(wheel[38, 20]) == pytest.approx(90, abs=4)


def test_arrows_are_drawn_where_there_is_motion_and_only_there():
    face = np.full((84, 84, 3), 128, np.uint8)
    flow = np.zeros((84, 84, 2), np.float32)
    still = draw_arrows(face, flow, peak=1.0)
    assert (still == still[0, 0]).all()
    flow[42:, :, 0] = 1.0
    moving = draw_arrows(face, flow, peak=1.0)
    assert np.array_equal(moving[:36], still[:36])
    assert (moving[48:] != still[48:]).any()
    assert (face == 128).all()  # drawn on a copy
