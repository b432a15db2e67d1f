import numpy as np

from epir.core.seeds import generator
from epir.synthetic.camera import expose
from epir.synthetic.drawing.canvas import Canvas

CANVAS = Canvas.frame(96)
GREY = np.full((96, 96, 3), 0.5, np.float32)


def test_without_noise_and_flicker_values_become_grey_levels():
    assert (expose(GREY, np.zeros(3), 0, CANVAS, generator(0)) == 128).all()
    assert (expose(2 * GREY + 1, np.zeros(3), 0, CANVAS, generator(0)) == 255).all()


def test_noise_has_the_strength_asked_for_in_every_channel():
    noisy = expose(GREY, np.zeros(3), 2.0, CANVAS, generator(0)).astype(float)
    np.testing.assert_allclose(noisy.std(axis=(0, 1)), 2.0, rtol=0.1)
    assert abs(noisy.mean() - 127.5) < 0.3


def test_light_gains_and_slopes():
    bright = expose(GREY, np.array([0.1, 0, 0]), 0, CANVAS, generator(0))
    assert (bright == 140).all()
    sloped = expose(GREY, np.array([0, 0.1, 0]), 0, CANVAS, generator(0)).astype(int)
    assert sloped[40, -1, 0] > 130 > 125 > sloped[40, 0, 0]
