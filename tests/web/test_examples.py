"""The synthetic clips of the page: the same every time, and spotted where they move."""

import numpy as np
import pytest

from epir.core.engines import Silent
from epir.core.errors import ConfigError
from epir.frames.reader import open_frames
from epir.recognition.answer import NOT_FOUND
from epir.web.examples import BY_NAME, EXAMPLES, FPS, SIZE, example_video, list_examples, plan_example, render_frames


def first(example):
    return next(render_frames(example, Silent()))


def test_examples_are_listed_with_their_emotion():
    listed = list_examples()
    assert [each["name"] for each in listed] == [each.name for each in EXAMPLES]
    assert {each["truth"] for each in listed} == {"positive", "negative", "surprise", "none"}
    assert all(each["frames"] >= 60 for each in listed)


def test_a_frame_is_the_same_every_time():
    frame = first(BY_NAME["frown"])
    assert frame.shape == (SIZE, SIZE, 3)
    assert np.array_equal(frame, first(BY_NAME["frown"]))
    assert not np.array_equal(frame, first(BY_NAME["surprise"]))


def test_a_video_is_rendered_once(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "epir.web.examples.render_frames", lambda example, progress: [np.zeros((64, 64, 3), np.uint8)] * 3
    )
    path = example_video("blink", tmp_path, Silent())
    rendered = path.stat().st_mtime_ns
    assert example_video("blink", tmp_path, Silent()) == path == tmp_path / "blink.webm"
    assert path.stat().st_mtime_ns == rendered


def test_an_unknown_one_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"there is no example 'smil'\n  fix: did you mean 'smile'\?"):
        example_video("smil", None, Silent())


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_the_planned_movement_is_spotted(example, recognizer, tmp_path):
    path, course = example_video(example.name, tmp_path, Silent()), plan_example(example).course
    with open_frames(path) as frames:
        assert (len(frames), frames.fps) == (plan_example(example).frames, FPS)
    answer = recognizer.predict(path)
    if course is None:
        assert answer.label == NOT_FOUND
    else:
        assert len(answer.all) == 1
        assert abs(answer.apex - (course.apex - 1)) <= 3  # a video counts from 0, a plan from 1
