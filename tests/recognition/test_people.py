"""Everyone who was tracked is in every output, for the whole video."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.frames import film
from epir.recognition.answer import NOT_FOUND, ActionUnit, Answer, Person
from epir.recognition.events import answer_lines
from epir.recognition.outputs import answer_tiers, motion_strip
from epir.spotting.timeline import FaceMovement
from epir.spotting.words import RegionMotion


@pytest.fixture(scope="module")
def two_after_another(recognizer, still, head):
    """A drawn face, then a photographed one elsewhere: two people, neither of whom moves."""
    person = cv2.resize(head, (260, 260), interpolation=cv2.INTER_CUBIC)
    return recognizer.predict(np.stack([*still, *still, *[person] * 50]), fps=30, explain=False)


def test_an_answer_says_how_long_each_person_was_tracked(two_after_another):
    answer = two_after_another
    assert answer.label == NOT_FOUND
    assert [each.track for each in answer.people] == [0, 1]
    assert [each.timeline.seconds for each in answer.people] == pytest.approx([40 / 30, 50 / 30], abs=0.2)
    told = answer.to_dict_of_all()["people"]
    assert [each["track"] for each in told] == [0, 1] and told[1]["last_s"] == pytest.approx(89 / 30, abs=0.05)
    assert answer.followed.startswith("followed: person 0 for 1.") and answer.followed.endswith("of 3.0 s")
    assert answer.timeline is answer.people[1].timeline, "whom most of the video shows"


@pytest.mark.parametrize(("quality", "reasons"), [("18", []), ("45", ["strong compression"])])
def test_strong_compression_is_reported(recognizer, head, tmp_path, monkeypatch, quality, reasons):
    """The camera's file, and one that a messenger sent."""
    monkeypatch.setitem(film.CODECS, ".mp4", ("libx264", {"crf": quality}))
    path = film.write_film(tmp_path / "head.mp4", [cv2.resize(head, None, fx=2, fy=2)] * 60, 30.0)
    visible = recognizer.predict(path, explain=False).to_dict_of_all()["visible"]
    assert [span["reasons"] for span in visible["spans"]] == [reasons]
    assert all(word in visible["text"] for word in reasons)


def test_tables_and_strip_cover_the_whole_video(two_after_another):
    frames = two_after_another.frames()
    assert frames["frame"].min() == 0 and frames["frame"].max() == 89
    assert set(frames["track"]) == {0, 1}
    strip = motion_strip(two_after_another, 90)
    inked = (strip != strip[0, 0]).any(axis=(0, 2))
    assert inked[:30].any() and inked[-30:].any()


def test_everyones_rejected_movements_are_listed(two_after_another):
    first, second = two_after_another.people
    blink = FaceMovement(70, 73, 77, 0.02, "eyes", kind="blink", seconds=(2.3, 2.4, 2.6), track=second.track)
    answer = replace(two_after_another, people=(first, Person(1, replace(second.timeline, others=(blink,)))))
    assert [each.track for each in answer.rejected] == [1]
    assert [each["track"] for each in answer.to_dict_of_all()["rejected"]] == [1]
    assert answer.events(every=True)["status"].tolist() == ["none", "rejected"]
    assert [tier.name for tier in answer_tiers(answer)] == ["rejected"]


def test_one_person_throughout_needs_no_note(recognizer, smile):
    answer = recognizer.predict(smile, fps=60, explain=False)
    assert answer.followed == "" and len(answer.people) == 1 and answer.span == pytest.approx((0, 0.8), abs=0.01)


@pytest.mark.parametrize(
    ("unit", "moved", "side", "visible"),
    [
        (ActionUnit(12, "left", 0.9), RegionMotion("lip corner", "both", 0.01, 0.01, 0.01), "both", True),
        (ActionUnit(2, "both", 0.9), RegionMotion("outer brow", "right", 0.0, 0.01, 0.01), "right", True),
        (ActionUnit(4, "both", 0.9), RegionMotion("upper lip", "middle", 0.0, 0.01, 0.01), "both", False),
        (ActionUnit(25, "both", 0.9), RegionMotion("lips", "middle", 0.0, 0.01, 0.01), "both", True),
    ],
)
def test_units_agree_with_what_moved(unit, moved, side, visible):
    seen = unit.seen_in([moved])
    assert (seen.side, seen.visible, seen.probability) == (side, visible, 0.9)


def test_units_without_visible_motion_are_listed_separately():
    units = (ActionUnit(12, "both", 0.9, True), ActionUnit(4, "both", 0.6, False), ActionUnit(1, "both", 0.1))
    answer = Answer("a.mp4", "positive", {"positive": 1.0}, units=units)
    assert answer.unit_text == "Action units: 12 (0.90); less clear in the motion: 4 (0.60)"
    assert replace(answer, units=units[2:]).unit_text == "Action units: none is more likely than not"


def test_candidates_are_the_most_probable_movements_per_minute(recognizer, smile):
    """The smile lasts too long at 20 frames a second."""
    assert recognizer.predict(smile, fps=20, explain=False).candidates == ()
    every = recognizer.predict(smile, fps=20, candidates=600, explain=False).candidates
    assert every and all(each.rule and each.scores and each.head is not None and each.text for each in every)
    (one,) = recognizer.predict(smile, fps=20, candidates=1, explain=False).candidates
    assert one.probability == max(each.probability for each in every)
    with pytest.raises(ConfigError, match=r"candidates cannot be -1\n  fix: give a number from 0 to 600"):
        recognizer.predict(smile, candidates=-1)


def test_an_answer_says_what_could_not_be_seen(two_after_another):
    answer = two_after_another
    assert answer.text == f"No micro-expression found. {answer.visible.text}"
    assert answer.visible.text.startswith("In ")
    told = answer.to_dict_of_all()["visible"]
    assert told["seconds"] == pytest.approx(3.0) and told["spans"][0]["start"] == 0
    assert answer.visible.text in answer_lines([answer])
    assert [each["visible"]["seconds"] for each in answer.to_dict_of_all()["people"]] == pytest.approx([3.0, 3.0])


def test_candidates_have_the_labels_of_the_timeline(recognizer, smile):
    """The smile lasts too long at 20 frames a second; its pieces are labelled once it is over."""
    answer = recognizer.predict(smile, fps=20, candidates=600, explain=False)
    known = answer.timeline.candidates
    assert {(each.onset, each.apex, each.rule) for each in answer.candidates} <= {
        (each.onset, each.apex, each.reason) for each in known
    }
    (row, *_) = [each for each in answer.events().to_dict("records") if each["status"] == "rejected"]
    (tier,) = [tier for tier in answer_tiers(answer) if tier.name == "candidates"]
    first = answer.candidates[0]
    assert (row["reason"], row["region"], row["head"]) == (first.rule, first.region, first.head)
    assert tier.intervals[0].label.startswith(f"probability {first.probability:.2f}, {first.rule}; {first.best}")
    assert f"probability {first.probability:.2f}, {first.rule}" in "\n".join(answer_lines([answer]))
