import itertools

import numpy as np
import pytest

from epir.bench.injection import REST, _field, inject, plan_injections, still_frames, warp
from epir.faces.align import Crop
from epir.frames.film import compressed

CROP = Crop(60.0, 60.0, 90.0)


@pytest.fixture(scope="module")
def picture():
    rows, columns = np.mgrid[0:120, 0:120]
    waves = 128 + 60 * np.sin(columns / 4.0) * np.cos(rows / 5.0) + 30 * np.sin((rows + columns) / 9.0)
    return np.repeat(waves[..., None], 3, axis=2).astype(np.uint8)


def test_movements_do_not_touch_and_take_turns_through_the_classes():
    plan = plan_injections(3000, 100.0, 0.01, seed=1)
    assert len(plan) >= 5
    for one, other in itertools.pairwise(plan):
        assert other.course.onset - one.course.offset >= REST * 100
        assert one.emotion != other.emotion
    assert plan_injections(3000, 100.0, 0.01, seed=1) == plan
    assert plan_injections(20, 25.0, 0.01) == []


def test_a_movement_is_zero_at_its_ends_and_full_at_the_apex():
    each = plan_injections(3000, 100.0, 0.02)[0]
    assert each.shown(each.course.onset) == each.shown(each.course.offset) == 0
    assert each.shown(each.course.apex) == pytest.approx(0.02)


def test_only_the_frames_of_a_movement_are_warped_and_only_around_the_face(picture):
    plan = plan_injections(300, 30.0, 0.02)
    course = plan[0].course
    frames = list(inject((picture for _ in range(300)), plan[:1], lambda frame: CROP))
    changed = [number for number, frame in enumerate(frames) if (frame != picture).any()]
    assert changed
    assert course.onset < changed[0] <= course.apex <= changed[-1] < course.offset
    assert (frames[course.apex][:2] == picture[:2]).all() or CROP.y - 0.75 * CROP.side < 2


def test_the_strongest_point_of_a_movement_moves_by_the_whole_amplitude():
    rows, columns = np.mgrid[0:84, 0:84].astype(np.float32)
    field = _field(plan_injections(3000, 100.0, 0.02)[0].movement, Crop(41.5, 41.5, 84.0), columns, rows)
    assert np.hypot(field[..., 0], field[..., 1]).max() == pytest.approx(1, rel=0.1)


def test_without_a_face_nothing_is_warped(picture):
    each = plan_injections(300, 30.0, 0.02)[0]
    assert warp(picture, each, each.course.apex) is picture


def test_stills_differ_only_by_noise_and_survive_compression(picture):
    frames = list(still_frames(picture, 12))
    assert (frames[0] != frames[1]).any()
    assert abs(float(frames[0].mean()) - float(picture.mean())) < 1
    back = list(compressed(frames, 30.0))
    assert len(back) == 12
    assert back[0].shape == picture.shape
    assert np.abs(back[-1].astype(float) - picture).mean() < 8
    assert list(compressed([], 30.0)) == []
