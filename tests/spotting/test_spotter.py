"""Spotting on a real face that moves as told."""

import gc
import weakref

import numpy as np
import pytest

from epir.core.errors import FaceNotFound, FrameError
from epir.frames.reader import Frame
from epir.spotting.spotter import spot


def kinds(timeline):
    return [(each.kind, each.region) for each in (*timeline.movements, *timeline.others)]


def test_a_smile_and_raised_brows_are_found_in_one_film_and_a_blink_between_them_is_not(film):
    events = [("smile", 20, 29, 44), ("blink", 60, 66, 74), ("brows", 95, 103, 116)]
    shown = film(2.3, events=events)
    timeline = spot(shown, fps=shown.fps)
    assert [each.region for each in timeline.movements] == ["mouth", "brows"]
    for found, (_, onset, apex, offset) in zip(timeline.movements, (events[0], events[2]), strict=True):
        assert abs(found.apex - apex) <= 2
        assert abs(found.onset - onset) <= 4
        assert abs(found.offset - offset) <= 4
    assert kinds(timeline)[2:] == [("blink", "eyes")]
    assert len(timeline.numbers) == len(timeline.face) == timeline.frames == shown.count
    assert timeline.seconds == pytest.approx(2.3)


def test_a_turn_of_the_head_is_no_movement(film):
    shown = film(1.0, head=lambda second: (12 / (1 + np.exp(-(second - 0.5) / 0.08)), 0.0))
    timeline = spot(shown, fps=shown.fps)
    assert timeline.movements == ()
    assert timeline.head.max() > 0.05


def test_a_lasting_smile_is_too_long(film):
    shown = film(2.2, fps=30, events=[("smile", 8, 32, 58)])
    timeline = spot(shown, fps=shown.fps)
    assert timeline.movements == ()
    assert [each.kind for each in timeline.others] == ["long"]


def test_no_more_than_two_frames_are_alive_at_a_time(film):
    """A frame is dropped as soon as its face is cut out: memory does not grow with the video."""
    held_frames, most = [], 0

    class Held(np.ndarray):
        pass

    def frames():
        nonlocal most
        for frame in film(1.0, fps=60):
            held = frame.pixels.view(Held)
            held_frames.append(weakref.ref(held))
            gc.collect(0)
            most = max(most, sum(each() is not None for each in held_frames))
            yield Frame(frame.number, frame.seconds, held)
            del held

    spot(frames(), fps=60)
    assert 1 <= most <= 2


def test_a_still_face_of_any_length_gives_nothing(film):
    shown = film(0.5)
    assert kinds(spot(shown, fps=shown.fps)) == []


def test_a_video_without_a_face_is_refused():
    frames = [Frame(number, number / 25, np.full((120, 160, 3), 90, np.uint8)) for number in range(8)]
    with pytest.raises(FaceNotFound, match=r"no face was found in 8 frames\n  fix: look at the video"):
        spot(frames, fps=25)


@pytest.mark.parametrize("fps", [0, -5, float("nan")])
def test_an_impossible_frame_rate_is_refused(fps):
    with pytest.raises(FrameError, match=r"no frame rate\n  fix: give the rate of the camera"):
        spot([], fps=fps)
