import numpy as np
import pytest

from epir.frames.pace import Pace, TimeSteps, find_repeats, measure_pace, usual_rate, without_repeats
from epir.frames.reader import Frame
from epir.frames.video import VideoFrames


def frames_of(shown, fps, noise=2.0):
    """Frames of a moving stripe; frames with the same number are the same picture."""
    for place, number in enumerate(shown):
        picture = np.random.default_rng(number).normal(100, noise, (48, 64))
        picture[:, number % 60 : number % 60 + 4] += 80
        yield Frame(place, place / fps, np.repeat(np.clip(picture, 0, 255).astype(np.uint8)[..., None], 3, 2))


def taken(count, fps, true):
    """Which picture of a camera of `true` frames a second each of `count` frames at `fps` shows."""
    return [int(place * true / fps) for place in range(count)]


@pytest.mark.parametrize(("fps", "true"), [(60, 30), (200, 30), (30, 24), (60, 25), (240, 24)])
def test_frames_that_repeat_are_recognised_and_dropped(fps, true):
    shown = taken(240, fps, true)
    pace = measure_pace(frames_of(shown, fps), fps)
    assert pace.repeats
    assert (pace.fps, pace.stored) == (pytest.approx(true, rel=0.03), fps)
    kept = [frame.number for frame in without_repeats(frames_of(shown, fps), pace)]
    assert kept == [place for place in range(240) if place == 0 or shown[place] != shown[place - 1]]


@pytest.mark.parametrize(
    ("pattern", "true"),
    [
        ("++.++.", 50 / 3),
        ("++++..", 50 / 3),
        ("+++.+.", 50 / 3),
        ("+++++.", 125 / 6),
        ("++++.", 20),
        ("++++++++.", 200 / 9),
    ],
)
def test_any_short_pattern_of_repeats_counts_the_new_frames_alone(pattern, true):
    """Of a 25 fps file in which two of six frames repeat, 16.7 frames a second are new; they keep their times."""
    shown = np.cumsum([mark == "+" for mark in pattern * 24]).tolist()
    pace = measure_pace(frames_of(shown, 25), 25)
    assert (pace.fps, pace.stored) == (pytest.approx(true, rel=0.01), 25)
    kept = list(without_repeats(frames_of(shown, 25), pace))
    assert [frame.number for frame in kept] == [
        place for place in range(len(shown)) if pattern[place % len(pattern)] == "+"
    ]
    assert all(frame.seconds == frame.number / 25 for frame in kept)


def test_a_hand_that_shakes_in_time_with_the_frames_repeats_nothing():
    """Every third frame differs little, but by more than a repeated one would."""
    shown = np.cumsum([1, 12, 12] * 40).tolist()
    differences = np.resize([0.5, 2.0, 2.1], 60) * np.random.default_rng(0).uniform(0.9, 1.1, 60)
    assert find_repeats(differences, 25) is None
    assert not measure_pace(frames_of(shown, 25), 25).repeats


@pytest.mark.parametrize("codec", ["libx264", "libvpx", "mpeg4"])
def test_repeats_are_seen_after_coding(write_video, codec):
    ending = "webm" if codec == "libvpx" else "mp4"
    path = write_video(f"a.{ending}", codec, fps=60, shown=taken(120, 60, 30))
    pace = measure_pace(VideoFrames(path))
    assert pace.fps == pytest.approx(30, rel=0.03)
    assert len(list(without_repeats(VideoFrames(path), pace))) == pytest.approx(60, abs=2)


def test_a_steady_camera_repeats_nothing():
    pace = measure_pace(frames_of(range(100), 50), 50)
    assert pace == Pace(50, 50)
    assert len(list(without_repeats(frames_of(range(20), 50), pace))) == 20


def test_a_face_that_rests_now_and_then_repeats_nothing():
    random = np.random.default_rng(1)
    shown = np.cumsum(random.random(120) < 0.6).tolist()
    assert not measure_pace(frames_of(shown, 60), 60).repeats


def test_a_picture_that_stands_still_says_nothing_and_is_kept():
    assert find_repeats(np.zeros(100), 60) is None
    assert measure_pace(frames_of([1] * 100, 60), 60) == Pace(60, 60)
    kept = list(without_repeats(frames_of([1] * 60, 60), Pace(30, 60, 2.0, 0.5, 1)))
    assert len(kept) == 30


def test_the_rate_comes_from_the_usual_steps():
    assert usual_rate([0, 0.033, 0.067, 0.1, 0.133, 0.167, 0.2]) == pytest.approx(30)
    assert usual_rate([0, 0.04, 0.08, 0.12, 1.12, 1.16]) == pytest.approx(25)
    assert usual_rate([0.0]) is None


def varying(steps):
    counted = TimeSteps()
    for seconds in np.cumsum([0, *steps]):
        counted.push(float(seconds))
    return counted.varying()


def test_uneven_steps_are_a_varying_rate_and_rounded_stamps_are_not():
    assert varying([0.033, 0.033, 0.034] * 20) is None
    assert varying([0.04] * 200 + [0.5]) is None  # one gap
    slow, fast = varying([1 / 24] * 50 + [1 / 60] * 50)
    assert (slow, fast) == (pytest.approx(24, rel=0.001), pytest.approx(60, rel=0.001))
    assert varying([]) is None
