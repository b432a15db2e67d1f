"""The frames of a camera, pushed one by one, get the answers that a file of them gets."""

from types import SimpleNamespace

import pytest

from epir.core.progress import Silent
from epir.frames.reader import Frame
from epir.recognition.live import Coverage, LiveStream
from epir.recognition.recognizer import Recognizer
from epir.web.examples import BY_NAME, FPS, render_frames


@pytest.fixture(scope="module")
def recognizer():
    return Recognizer.from_pretrained(None)


@pytest.fixture(scope="module")
def frames():
    """A synthetic face that smiles, (T, H, W, 3)."""
    return list(render_frames(BY_NAME["smile"], Silent()))


@pytest.mark.slow
def test_the_answers_are_those_of_predict(recognizer, frames):
    stream, found = LiveStream(recognizer), []
    for number, pixels in enumerate(frames):
        found += stream.push(Frame(number, number / FPS, pixels))
    found += stream.close()
    own = recognizer.predict(frames, fps=FPS, explain=False)
    assert own.all, "the clip shows a movement"
    assert stream.fps == own.fps
    keys = ("label", "onset", "apex", "offset", "scores", "probability")
    assert [{key: getattr(each.answer, key) for key in keys} for each in found] == [
        {key: getattr(each, key) for key in keys} for each in own.all
    ]
    ((track, timeline, first),) = stream.new_motion()
    assert (track, first) == (0, 0)
    assert timeline.numbers.tolist() == own.timeline.numbers.tolist()
    assert stream.new_motion() == []
    assert stream.coverage.frames == len(frames)


def test_nothing_is_known_without_frames(recognizer):
    stream = LiveStream(recognizer)
    assert stream.close() == []
    assert (stream.fps, stream.face, stream.new_motion()) == (None, "", [])


def test_every_person_is_reported_with_what_is_new(recognizer):
    """After a cut the last seconds of one person become certain after the first ones of the next."""
    stream, lengths = LiveStream(recognizer), {0: 5, 1: 0}
    stream._pass = SimpleNamespace(tracks=[0, 1], timeline=lambda track: SimpleNamespace(numbers=range(lengths[track])))
    assert [(track, first) for track, _, first in stream.new_motion()] == [(0, 0)]
    lengths.update({0: 7, 1: 4})
    assert [(track, first) for track, _, first in stream.new_motion()] == [(0, 5), (1, 0)]
    assert stream.new_motion() == []


def coverage_of(times):
    coverage = Coverage()
    for each in times:
        coverage.push(each)
    return coverage


def test_a_steady_camera_is_covered_in_full():
    coverage = coverage_of([number / 30 for number in range(301)])
    assert coverage.share == pytest.approx(1)
    assert coverage.rate == pytest.approx(30)
    assert coverage.elapsed == pytest.approx(10)


def test_a_gap_is_time_that_was_not_analysed():
    coverage = coverage_of([*(n / 30 for n in range(31)), *(3 + n / 30 for n in range(31))])
    assert coverage.elapsed == pytest.approx(4)
    assert coverage.covered == pytest.approx(2)
    assert coverage.share == pytest.approx(0.5)


def test_fewer_frames_cover_the_time_but_lower_the_rate():
    coverage = coverage_of([number / 10 for number in range(101)])
    assert coverage.share == pytest.approx(1)
    assert coverage.rate == pytest.approx(10)
