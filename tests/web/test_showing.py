"""An answer as values and pictures."""

import json

import numpy as np
import pytest

from epir.recognition.recognizer import Recognizer
from epir.web.showing import MOST_POINTS, _strongest, _thinned, curve_of, show


@pytest.fixture(scope="module")
def answer(model, clip):
    return Recognizer.from_pretrained(model).predict(clip, name="clip.mp4")


def test_values_go_through_json_and_pictures_have_the_names_they_are_told_by(answer):
    result, pictures = show(answer, 100, "/at/", movements=12)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    told = [*result["pictures"].values(), *(each for m in result["movements"] for each in m["pictures"].values())]
    assert sorted(told) == sorted(f"/at/{name}" for name in pictures)


def test_only_the_strongest_movements_get_pictures(answer):
    result, pictures = show(answer, 100, "/at/", movements=0)
    assert set(pictures) == {"why.png", "timeline.png"}
    assert all(each["pictures"] == {} for each in result["movements"])
    assert _strongest(answer, 1) == {0}


def test_a_model_without_tokens_has_no_pictures_of_them(answer):
    from dataclasses import replace

    plain = replace(answer, tokens=None, all=tuple(replace(each, tokens=None) for each in answer.all))
    result, _ = show(plain, 100, "/at/", movements=1)
    assert set(result["movements"][0]["pictures"]) == {"onset", "apex", "flow"}


def test_the_curve_is_in_seconds_and_per_cent(answer):
    curve, timeline = curve_of(answer), answer.timeline
    assert curve["time"][-1] == pytest.approx((len(timeline.numbers) - 1) / timeline.fps)
    assert max(curve["energy"]) == pytest.approx(100 * float(timeline.face.max()), abs=1e-3)
    assert [each["frames"][1] for each in curve["events"]] == [each.apex for each in answer.all]


@pytest.mark.parametrize("length", [0, 1, MOST_POINTS, MOST_POINTS + 1, 12_000])
def test_a_long_curve_is_thinned_and_keeps_its_peaks(length):
    values = np.random.default_rng(length).random(length).astype(np.float32)
    places = _thinned(values)
    assert len(places) == min(length, MOST_POINTS)
    assert (np.diff(places) > 0).all()
    if length:
        assert values[places].max() == values.max()
