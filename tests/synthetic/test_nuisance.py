import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.synthetic.nuisance import Nuisances, draw_disturbances

CALM = Nuisances(drift=0, roll=0, turn=0, blink=0, gaze=0, flicker=0, noise=0, pose=0)


def closures(disturbances):
    return np.array([state.closure for state in disturbances.states])


def test_every_nuisance_can_be_disabled():
    calm = draw_disturbances(60, 100, "expression", CALM, generator(0))
    assert len({(s.shift_x, s.shift_y, s.roll, s.size, s.yaw, s.pitch, s.closure) for s in calm.states}) == 1
    assert calm.states[0].shift_x == 0 and np.abs(calm.light).max() == 0


@pytest.mark.parametrize("number", range(12))
def test_a_blink_shuts_and_opens_the_eyes(number):
    blinking = draw_disturbances(140, 200, "blinking", Nuisances(), generator(0, number))
    shut = closures(blinking)
    assert blinking.blinks and shut.max() > 0.9
    inside = np.zeros(140, bool)
    for first, last in blinking.blinks:
        inside[first : last + 1] = True
        assert 5 < last - first < 65
    assert (shut[~inside] == 0).all()
    starts = [first for first, _ in blinking.blinks]
    assert all(last < start for (_, last), start in zip(blinking.blinks, starts[1:], strict=False)), "one at a time"


def test_turning_clips_turn_and_still_clips_hardly_move():
    yaws = {
        kind: np.ptp([s.yaw for s in draw_disturbances(140, 200, kind, Nuisances(), generator(0, "x")).states])
        for kind in ("turning", "still")
    }
    assert yaws["turning"] > 0.07 and yaws["still"] < 0.02
    assert closures(draw_disturbances(140, 200, "still", Nuisances(), generator(0, "x"))).max() == 0


def test_blinks_have_their_probability_during_expressions():
    seen = [
        bool(draw_disturbances(60, 200, "expression", Nuisances(blink=0.5), generator(1, n)).blinks) for n in range(200)
    ]
    assert 0.5 - 0.14 < np.mean(seen) < 0.5 + 0.14


def test_the_head_moves_smoothly():
    states = draw_disturbances(200, 200, "expression", Nuisances(), generator(0, "smooth")).states
    path = np.array([s.shift_x for s in states])
    assert np.abs(np.diff(path)).max() < 0.02


def test_impossible_settings_are_refused():
    with pytest.raises(ConfigError, match=r"nuisances.drift cannot be -1\n  fix: give 0 or a larger number"):
        Nuisances(drift=-1)
    with pytest.raises(ConfigError, match=r"nuisances.blink cannot be 1.5\n  fix: give a probability from 0 to 1"):
        Nuisances(blink=1.5)
