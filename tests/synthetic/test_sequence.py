import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.maps.views import read_views
from epir.synthetic.clip import Course
from epir.synthetic.expressions import Action
from epir.synthetic.identity import Geometry
from epir.synthetic.maps import MapSettings, make_maps, synthetic_maps, write_maps
from epir.synthetic.movement import draw_movement
from epir.synthetic.moving import State
from epir.synthetic.sequence import draw_timing, state_at, view_pairs

COURSE = Course(10, 40, 90)
QUICK = "epir:flow.size=56,flow.context=0.0,head_motion=similarity"  # the head goes on its way, not back


def test_units_rise_hold_and_return_each_in_its_own_time():
    starts, peaks, holds, lengths = set(), set(), set(), set()
    for seed in range(20):
        for unit in draw_timing(COURSE, 3, generator(seed, "timing")):
            assert COURSE.onset <= unit.start < unit.peak <= unit.release < unit.end <= COURSE.offset
            assert (unit.share(unit.start), unit.share(unit.peak), unit.share(unit.end)) == pytest.approx((0, 1, 0))
            assert unit.share((unit.peak + unit.release) / 2) == 1
            shares = [unit.share(frame) for frame in range(0, 100)]
            top = int(np.argmax(shares))
            assert (np.diff(shares[: top + 1]) >= 0).all(), "it rises"
            falling = np.diff(shares[int(np.ceil(unit.release)) :])
            assert (falling <= 1e-12).all(), "then it falls"
            starts.add(unit.start), peaks.add(unit.peak), holds.add(unit.release - unit.peak)
            lengths.add((unit.end - unit.release) / (unit.peak - unit.start))
    assert min(map(len, (starts, peaks, holds, lengths))) > 30, "they are out of phase"
    assert max(holds) > 5


def test_the_pieces_of_a_movement_add_up_to_the_whole():
    movement = draw_movement((Action(4, 1.0, 1.0), Action(12, 1.0, 0.5)), Geometry(), generator(0, "movement"))
    timing = draw_timing(COURSE, 2, generator(0, "timing"))
    at = {frame: [unit.share(frame) for unit in timing] for frame in (10, 25, 40)}
    whole = movement.between(at[10], at[40]).on_lattice()
    pieces = [movement.between(at[a], at[b]).on_lattice() for a, b in ((10, 25), (25, 40))]
    np.testing.assert_allclose(sum(pieces), whole, atol=1e-5)
    np.testing.assert_allclose(movement.between([0, 0], [1, 1]).on_lattice(), movement.on_lattice())


def test_the_head_goes_on_its_way():
    states = State(shift_x=1.0), State(intensity=0.5, shift_x=2.0, closure=0.4)
    assert state_at(states, COURSE, 10).shift_x == 1.0
    assert state_at(states, COURSE, 25) == State(intensity=0.5, shift_x=1.5, closure=0.2)
    assert state_at(states, COURSE, 90) == State(intensity=0.5, shift_x=2.5, closure=0.4)
    assert view_pairs(read_views("rise2+return2"), COURSE) == ((10, 25), (25, 40), (65, 40), (90, 65))


@pytest.mark.parametrize("recipe", ["direct", QUICK])
def test_several_maps_of_a_clip_have_one_sign(recipe):
    """All views go from less to more, so their fields agree; without disturbances they would agree everywhere."""
    made = synthetic_maps(16, recipe, views="rise1+return1")
    assert made.maps.shape == (16, 2, 3, 28, 28) and np.isfinite(made.maps).all()
    assert made.view_names == ("rise1", "return1") and made.meta["recipe"]["views"] == "rise1+return1"
    rise, fall = made.maps[:, 0, :2].reshape(16, -1), made.maps[:, 1, :2].reshape(16, -1)
    agreement = [float(np.corrcoef(a, b)[0, 1]) for a, b in zip(rise, fall, strict=True)]
    assert np.median(agreement) > 0.2, agreement
    for clip in made.clips:
        assert clip.extra["frame_pairs"] == f"{clip.onset}-{clip.apex};{clip.offset}-{clip.apex}"


def test_views_on_disk_are_those_in_memory_for_any_number_of_workers(tmp_path):
    settings = MapSettings(12, ("direct",), views="rise2+return2")
    made, written = make_maps(settings), write_maps(tmp_path / "maps", settings, workers=2)
    np.testing.assert_array_equal(made.maps, written.maps)
    assert made.clips == written.clips and written.views == 4


def test_views_that_cannot_be_read_are_refused():
    with pytest.raises(ConfigError, match=r"cannot read --views 'risen'"):
        MapSettings(12, ("direct",), views="risen")
