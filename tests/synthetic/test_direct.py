import numpy as np
import pytest

from epir.core.seeds import generator
from epir.synthetic.direct import DirectSettings, direct_flow
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import draw_movement

QUIET = DirectSettings((1e-6, 2e-6), (1e-6, 2e-6), (1e-6, 2e-6), (1e-6, 2e-6), (1e-6, 2e-6), mask=0, gaze=0)


def flow(size=28, units=(12,), settings=QUIET, number=0, blink=0.0, intensity=0.5):
    random = generator(3, "direct", number)
    movement = draw_movement(tuple(ActiveUnit(unit, 1.0, 1.0) for unit in units), Geometry(), random)
    return direct_flow(size, Geometry(), movement, blink=blink, intensity=intensity, random=random, settings=settings)


def test_without_disturbances_the_peak_is_the_intensity():
    lengths = [np.linalg.norm(flow(number=number), axis=-1).max() for number in range(10)]
    assert np.mean(lengths) == pytest.approx(0.5, abs=0.08)  # a little is lost by the blur
    assert max(lengths) <= 0.501


def test_the_same_motion_on_a_larger_map_is_larger_in_its_pixels():
    small = np.mean([np.linalg.norm(flow(28, number=n), axis=-1).max() for n in range(10)])
    large = np.mean([np.linalg.norm(flow(56, number=n), axis=-1).max() for n in range(10)])
    assert large == pytest.approx(2 * small, rel=0.1)


def test_a_smile_is_where_the_mouth_is_and_surprise_where_the_brows_are():
    smile = np.mean([flow(units=(12,), number=n) for n in range(20)], axis=0)
    surprise = np.mean([flow(units=(1, 2), number=n) for n in range(20)], axis=0)
    assert smile[13:23, :, 1].min() < -0.1 and smile[13:23, :10, 0].min() < -0.05 < 0.05 < smile[13:23, 18:, 0].max()
    assert surprise[:8, :, 1].min() < -0.2 and np.abs(surprise[16:]).max() < 0.02


def test_a_blink_moves_the_lids():
    with_blink = np.mean([np.abs(flow(units=(17,), number=n, blink=1.0))[4:9] for n in range(10)])
    without = np.mean([np.abs(flow(units=(17,), number=n))[4:9] for n in range(10)])
    assert with_blink > 5 * without


def test_disturbances_disturb():
    assert np.abs(flow(settings=DirectSettings()) - flow()).mean() > 0.005
