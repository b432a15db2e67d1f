"""The figure of a timeline, from hand-made motion."""

from dataclasses import replace

import numpy as np
import pytest

from epir.faces.align import Crop
from epir.faces.tracking import NO_FACE, Gap
from epir.recognition.answer import Answer, Person
from epir.recognition.timeline import ROWS, draw_timeline, place_labels, timeline_title
from epir.spotting.regions import GROUPS, REGIONS
from epir.spotting.timeline import FaceMovement, Timeline


def timeline(track=0, first=10, count=50, start=3.0):
    numbers, random = np.arange(first, first + count), np.random.default_rng(track)
    stamps = start + np.arange(count) / 50
    motion = random.uniform(0, 0.01, (count, len(GROUPS))).astype(np.float32)
    smile = FaceMovement(first + 10, first + 15, first + 23, 0.012, "lip corners", track=track,
                     seconds=(start + 0.2, start + 0.3, start + 0.46))  # fmt: skip
    blink = FaceMovement(first + 30, first + 33, first + 37, 0.02, "eyes", "blink", track=track,
                     seconds=(start + 0.6, start + 0.66, start + 0.74))  # fmt: skip
    skin, squares = np.zeros((count, len(REGIONS)), np.float32), (Crop(90, 90, 120),) * count
    return Timeline(50.0, numbers, stamps, motion, skin, motion[:, 0], squares, (smile,), (blink,), level=0.0035)


@pytest.fixture
def answer():
    person = Person(0, timeline())
    movement = Answer("clips/a.mp4", "positive", {"positive": 0.9}, onset=20, apex=25, offset=33, fps=50.0, track=0)
    return replace(movement, people=(person,), timeline=person.timeline, all=(movement,))


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_reported_and_rejected_movements_are_labelled(answer):
    figure = draw_timeline(answer)
    assert {"positive", "blink"} <= set(words(figure.axes[0]))
    assert figure.get_suptitle().split("\n") == ["a.mp4: 1 movement in 1.0 s", answer.visible.text]
    assert figure.get_label() == f"a.mp4: 1 movement in 1.0 s. {answer.visible.text}"


def test_ticks_are_the_seconds_of_the_file(answer):
    (axes,) = draw_timeline(answer).axes
    assert axes.get_xlim() == pytest.approx((3.0, 4.0))
    assert axes.lines[0].get_xdata()[0] == 3.0


def shaded(axes):
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches if patch.get_hatch()]


def test_seconds_that_could_not_be_judged_are_shaded(answer):
    """The mouth moves during the first two seconds of five."""
    quiet = timeline(count=250)
    motion = np.zeros_like(quiet.motion)
    motion[:100, GROUPS.index("lips and chin")] = 0.01 * (1 + np.sin(np.arange(100)))
    person = Person(0, replace(quiet, motion=motion, head=motion[:, 0]))
    figure = draw_timeline(replace(answer, people=(person,)))
    (span,) = shaded(figure.axes[0])
    assert span == pytest.approx((3.0, 5.0))
    assert "in 2 s (speech) not." in figure.get_label()
    handles, names = figure.axes[0].get_legend_handles_labels()
    keys = dict(zip(names, handles, strict=True))
    assert keys["could not be judged"].get_hatch() and not keys["rejected"].get_hatch(), "told apart without colour"


def test_a_title_without_movements_is_not_a_negative_result(answer):
    """The mouth moves for two seconds of five, then for all of them."""
    quiet = replace(timeline(count=250), movements=())
    none = Answer("a.mp4", "no micro-expression found", fps=50.0)
    for moving, title in (
        (100, "a.mp4: no micro-expression found in the 3.0 of 5.0 s that could be judged"),
        (250, "a.mp4: nothing could be judged in 5.0 s"),
    ):
        motion = np.zeros_like(quiet.motion)
        motion[:moving, GROUPS.index("lips and chin")] = 0.01 * (1 + np.sin(np.arange(moving)))
        person = Person(0, replace(quiet, motion=motion, head=np.zeros(250)))
        assert timeline_title(replace(none, people=(person,))) == title


def test_everyone_has_a_row_over_the_whole_video(answer):
    second = Person(1, timeline(1, first=70, start=5.0))
    both = replace(answer, people=(*answer.people, second), gaps=(Gap(60, 69, 4.0, 4.98, NO_FACE),))
    figure = draw_timeline(both)
    assert [axes.get_xlim() for axes in figure.axes] == [pytest.approx((3.0, 6.0))] * 2
    assert [axes.get_ylabel().split("\n")[0] for axes in figure.axes] == ["person 0", "person 1"]
    assert "2 movements in 3.0 s; followed: person 0 for 1.0 s, person 1 for 1.0 s" in figure.get_label()


def test_one_spike_does_not_flatten_the_rest(answer):
    plain = draw_timeline(answer).axes[0].get_ylim()[1]
    calm = timeline(count=600)
    spiked = calm.motion.copy()
    spiked[40] = 0.3
    person = Person(0, replace(calm, motion=spiked))
    (axes,) = draw_timeline(replace(answer, people=(person,))).axes
    assert axes.get_ylim()[1] < 2 * plain
    assert "up to 30.0 %" in words(axes)


def test_labels_do_not_overlap():
    crowd = [(0.1 * number, "occlusion") for number in range(40)]
    rows = place_labels(crowd, (0.0, 10.0))
    placed = [(row, seconds) for row, (seconds, _) in zip(rows, crowd, strict=True) if row is not None]
    assert {row for row, _ in placed} == set(range(ROWS)) and None in rows
    for row in range(ROWS):
        in_row = [seconds for each, seconds in placed if each == row]
        assert np.diff(in_row).min() > 0.7
    assert place_labels([(1.0, "head"), (9.0, "head")], (0.0, 10.0)) == [0, 0]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer("a.mp4", "positive", {"positive": 1.0}), "onset and apex were given: nothing was spotted"),
        (Answer("a.mp4", "no face", fps=30.0), "no face: no motion to draw"),
        (Answer("a.mp4", "face too small", fps=30.0), "face too small: no motion to draw"),
    ],
)
def test_an_answer_without_a_timeline_says_why(answer, text):
    assert words(draw_timeline(answer).axes[0]) == [text]
