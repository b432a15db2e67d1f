"""Frames pushed one by one get the same answers as a file with these frames."""

from types import SimpleNamespace

import pytest

from epir.core.engines import Silent
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
    stream, answers = LiveStream(recognizer), []
    for number, pixels in enumerate(frames):
        answers += stream.push(Frame(number, number / FPS, pixels))
    answers += stream.close()
    expected = recognizer.predict(frames, fps=FPS, explain=False)
    assert expected.all, "the clip shows a movement"
    assert stream.fps == expected.fps
    keys = ("label", "onset", "apex", "offset", "scores", "probability")
    assert [{key: getattr(each.answer, key) for key in keys} for each in answers] == [
        {key: getattr(each, key) for key in keys} for each in expected.all
    ]
    ((track, timeline, first),) = stream.new_motion()
    assert (track, first) == (0, 0)
    assert timeline.numbers.tolist() == expected.timeline.numbers.tolist()
    assert stream.new_motion() == []
    assert stream.coverage.frames == len(frames)


def test_nothing_is_known_without_frames(recognizer):
    stream = LiveStream(recognizer)
    assert stream.close() == []
    assert (stream.fps, stream.face, stream.new_motion()) == (None, "", [])


def test_new_motion_is_reported_for_every_person(recognizer):
    """After a cut the last seconds of one person become certain after the first ones of the next."""
    stream, lengths = LiveStream(recognizer), {0: 5}
    stream._pass = SimpleNamespace(
        timelines=lambda: {track: SimpleNamespace(numbers=range(length)) for track, length in lengths.items()}
    )
    assert [(track, first) for track, _, first in stream.new_motion()] == [(0, 0)]
    lengths.update({0: 7, 1: 4})
    assert [(track, first) for track, _, first in stream.new_motion()] == [(0, 5), (1, 0)]
    assert stream.new_motion() == []


@pytest.mark.parametrize(
    ("times", "covered", "rate"),
    [
        ([n / 30 for n in range(301)], 10, 30),
        ([*(n / 30 for n in range(31)), *(3 + n / 30 for n in range(31))], 2, 61 / 4),  # a gap of two seconds
        ([n / 10 for n in range(101)], 10, 10),  # fewer frames cover the time, but lower the rate
    ],
)
def test_coverage_counts_the_time_between_close_frames(times, covered, rate):
    coverage = Coverage()
    for each in times:
        coverage.push(each)
    assert (coverage.covered, coverage.rate, coverage.frames) == pytest.approx((covered, rate, len(times)))
