import numpy as np
import pytest

from epir.core.seeds import generator
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP, Canvas, Spline, gaussian, ramp


def test_a_crop_of_28_px_has_one_pixel_per_face_unit():
    canvas = Canvas.crop(28)
    np.testing.assert_allclose(canvas.y.ravel(), np.arange(28), atol=1e-5)
    np.testing.assert_allclose(canvas.x.ravel(), np.arange(28) - 13.5, atol=1e-5)


@pytest.mark.parametrize("canvas", [Canvas.frame(480), Canvas.crop(112, 14)])
def test_pixels_and_face_units_translate_both_ways(canvas):
    assert canvas.column(float(canvas.x[0, 17])) == pytest.approx(17, abs=1e-3)
    assert canvas.row(float(canvas.y[23, 0])) == pytest.approx(23, abs=1e-3)


def test_a_margin_can_be_cut_off_exactly():
    wide, plain = Canvas.crop(112, 14), Canvas.crop(112)
    np.testing.assert_allclose(wide.x[:, 14:-14], plain.x, atol=1e-5)
    np.testing.assert_allclose(wide.y[14:-14], plain.y, atol=1e-5)
    assert plain.top == CROP_TOP and plain.width / plain.scale == CROP_SIDE


def test_cover_is_half_at_the_edge_and_whole_inside():
    canvas = Canvas.crop(28)
    np.testing.assert_allclose(canvas.cover(np.float32([-5, 0, 5]), 0.5), [1, 0.5, 0])


def test_noise_is_about_standard_at_every_grain():
    canvas = Canvas.frame(240)
    for grain in (0.3, 0.5, 2.0):
        noise = canvas.noise(generator(0, grain), grain)
        assert noise.shape == (240, 240)
        assert abs(noise.mean()) < 0.25 and 0.7 < noise.std() < 1.4
    assert canvas.noise(generator(0), 0.1).std() < 0.45, "finer than a pixel"


def test_gaussians_and_ramps():
    x, y = np.float32([[2.0, 5.0]]), np.float32([[1.0]])
    np.testing.assert_allclose(gaussian(x, y, (2, 1), (3, 1)), [[1, np.exp(-0.5)]], rtol=1e-6)
    np.testing.assert_allclose(ramp(np.float32([0, 1, 2]), 2, 0), [1, 0.5, 0])


def test_a_curve_goes_through_its_points_and_stays_level_beyond_them():
    curve = Spline([0, 1, 2.5, 4], [1, 3, 2, 5])
    np.testing.assert_allclose(curve(np.array([0, 1, 2.5, 4])), [1, 3, 2, 5], atol=1e-6)
    np.testing.assert_allclose(curve(np.array([-3, 9])), [1, 5])


def test_it_is_smooth():
    curve = Spline([0, 1, 2.5, 4], [1, 3, 2, 5])
    fine = np.arange(0, 4, 0.01)
    bend = np.diff(curve(fine).astype(float), 2) / 0.01**2
    assert np.abs(np.diff(bend)).max() < 1.0, "the second derivative has no jump"
    assert abs(curve(np.array([0.01]))[0] - 1) < 1e-3, "level at its ends"


def test_the_table_agrees_with_the_curve():
    curve = Spline([0, 2, 3], [1, 0, 2], level=False)
    x = np.linspace(0, 3, 77)
    np.testing.assert_allclose(np.interp(x, *curve.table()), curve(x), atol=1e-4)


def test_points_out_of_order_are_a_mistake():
    with pytest.raises(AssertionError, match="left to right"):
        Spline([0, 2, 1], [0, 0, 0])
