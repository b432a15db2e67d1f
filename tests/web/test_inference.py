"""The tasks of the worker process: limits of a video, and an answer as JSON and pictures."""

import json

import numpy as np
import pytest

from epir.core.progress import Silent
from epir.frames.film import write_film
from epir.recognition.recognizer import Recognizer
from epir.web.inference import (
    MAX_POINTS,
    _strongest,
    _thinned,
    answer_output,
    calibrated_on,
    infer_clip,
    motion_curve,
)
from epir.web.problems import RequestError

CONFIG = {
    **{"max_frames": 40, "max_seconds": 2.0, "max_pixels": 128 * 96, "max_megapixels": 1.0},
    **{"movements": 3, "rejected": 3, "timeout_s": 60.0},
}


@pytest.fixture(scope="module")
def answer(model, clip):
    return Recognizer.from_pretrained(model).predict(clip, name="clip.mp4")


def test_a_result_is_json_and_lists_all_its_pictures(answer):
    result, pictures = answer_output(answer, "/at/", movements=12)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    listed = [*result["pictures"].values(), *(each for m in result["movements"] for each in m["pictures"].values())]
    listed.append(result["table"])
    assert sorted(listed) == sorted(f"/at/{name}" for name in pictures)


def test_only_the_strongest_movements_get_pictures(answer):
    result, pictures = answer_output(answer, "/at/", movements=0)
    assert set(pictures) == {"why.png", "timeline.png", "events.csv"}
    assert all(each["pictures"] == {} for each in result["movements"])
    assert _strongest(answer, 1) == {0}


def test_a_model_without_tokens_has_no_pictures_of_them(answer):
    from dataclasses import replace

    plain = replace(answer, tokens=None, all=tuple(replace(each, tokens=None) for each in answer.all))
    result, _ = answer_output(plain, "/at/", movements=1)
    assert set(result["movements"][0]["pictures"]) == {"onset", "apex", "flow", "why"}


def test_the_curve_is_in_seconds_and_per_cent(answer):
    curve, timeline = motion_curve(answer), answer.timeline
    assert curve["time"][-1] == pytest.approx((len(timeline.numbers) - 1) / timeline.fps)
    assert max(curve["energy"]) == pytest.approx(100 * float(timeline.face.max()), abs=1e-3)
    assert [each["frames"][1] for each in curve["events"]] == [each.apex for each in answer.all]


@pytest.mark.parametrize("length", [0, 1, MAX_POINTS, MAX_POINTS + 1, 12_000])
def test_a_long_curve_is_thinned_and_keeps_its_peaks(length):
    values = np.random.default_rng(length).random(length).astype(np.float32)
    places = _thinned(values)
    assert len(places) == min(length, MAX_POINTS)
    assert (np.diff(places) > 0).all()
    if length:
        assert values[places].max() == values.max()


def film(path, frames=10, size=(96, 128)):
    return str(write_film(path / "film.mp4", [np.zeros((*size, 3), np.uint8)] * frames, 10))


@pytest.mark.parametrize(
    ("frames", "fps", "size", "message"),
    [
        (46, 200.0, (96, 64), r"the video has more than 40 frames\n  fix: cut it around"),
        (30, None, (96, 64), r"the video lasts more than 2 seconds\n  fix: cut it around"),
        (30, 5.0, (96, 64), r"the video lasts more than 2 seconds"),
        (10, None, (128, 128), r"the frames have 128 x 128 px\n  fix: scale it down"),
        (20, None, (300, 200), r"the frames have 200 x 300 px\n  fix: scale it down"),
    ],
)
def test_a_video_that_is_too_long_or_too_large_is_refused(tmp_path, frames, fps, size, message):
    task = {"files": [film(tmp_path, frames, size)], "name": "film.mp4", "fps": fps}
    with pytest.raises(RequestError, match=message) as refused:
        infer_clip(None, CONFIG, "x", task, Silent())
    assert refused.value.status == 413


def test_a_calibration_on_synthetic_faces_is_marked_as_such():
    assert calibrated_on({"data": {"corpora": {"synthetic": 20000}}}) == "synthetic faces"
    assert calibrated_on({"data": {"corpora": {"synthetic": 20000}}, "real_people": {}}) == "people"
    assert calibrated_on({"data": {"corpora": {"casme2": 145, "synthetic": 10}}}) == "people"
    assert calibrated_on({}) == "people"
