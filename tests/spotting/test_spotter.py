"""Spotting on a real face with scripted movements, and on drawn faces with everyday behaviour."""

import gc
import weakref
from functools import cache

import cv2
import numpy as np
import pytest

from epir.core.errors import FaceNotFound, FrameError
from epir.faces.align import Crop
from epir.faces.tracking import TrackedFace
from epir.frames.reader import Frame
from epir.spotting.decision import SpottingSettings
from epir.spotting.measure import HEAD, MotionSample
from epir.spotting.regions import REGIONS
from epir.spotting.spotter import AHEAD, BEHIND, BLOCK, MACRO_DELAY, Spotter, _with_candidates, resampled, spot_frames
from epir.spotting.timeline import INSIDE_MACRO, MACRO, FaceMovement, most_probable
from epir.synthetic.behaviour import BehavingFace, plan_scene
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity

SIZE = 84
ROWS, COLUMNS = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
GROUND = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (SIZE, SIZE)).astype(np.float32), (0, 0), 1.5)
GROUND = (GROUND - GROUND.min()) / np.ptp(GROUND) * 255
BROWS = np.exp(-((COLUMNS - 0.3 * SIZE) ** 2 + (ROWS - 0.1 * SIZE) ** 2) / (2 * 7.0**2))


def kinds(timeline):
    return [each.kind for each in (*timeline.movements, *timeline.others)]


def tracked(number, fps, face, crop=None, track=0):
    return TrackedFace(number, number / fps, track, 0, crop or Crop(42.0, 42.0, 84.0), face, np.zeros((5, 2)))


@cache
def behaving(behaviour, seconds=4.0, fps=30.0, *, seed=1):
    """The timeline of a drawn person who does one thing."""
    person = draw_identity(seed, "spotter")
    scene = plan_scene([behaviour], seconds, fps, person.geometry, seed)
    face = BehavingFace(draw_portrait(person, Canvas.crop(SIZE, 14)), person.geometry, scene)
    spotter = Spotter(SpottingSettings(), fps)
    for place in range(len(scene.seconds)):
        frame = face.frame(place, 0.8, np.random.default_rng(place))[14:-14, 14:-14]
        spotter.push(tracked(place, fps, cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)))
    spotter.close()
    return spotter.timeline()


def test_a_smile_and_raised_brows_are_found_in_one_film_and_a_blink_between_them_is_not(film):
    events = [("smile", 40, 49, 64), ("blink", 100, 106, 114), ("brows", 150, 158, 171)]
    shown = film(3.6, events=events)
    timeline = spot_frames(shown, fps=shown.fps)
    assert len(timeline.movements) == 2
    for movement, (_, onset, apex, offset) in zip(timeline.movements, (events[0], events[2]), strict=True):
        assert abs(movement.apex - apex) <= 2
        assert abs(movement.onset - onset) <= 4
        assert abs(movement.offset - offset) <= 4
        assert movement.seconds == pytest.approx((movement.onset / 60, movement.apex / 60, movement.offset / 60))
        assert movement.probability >= 0.5
        assert movement.reason == ""
    assert timeline.movements[1].region == "brows"
    assert "blink" in [each.reason for each in timeline.others]
    assert len(timeline.numbers) == len(timeline.face) == len(timeline.motion) == shown.count
    assert timeline.seconds == pytest.approx(3.6)


def test_a_change_of_light_is_rejected_as_light_and_a_nod_is_not(film):
    shaded = film(2.4, fps=50, shade=lambda seconds: 0.25 * np.exp(-(((seconds - 1.2) / 0.1) ** 2)))
    assert set(kinds(spot_frames(shaded, fps=50))) == {"light"}
    nod = film(2.4, fps=50, head=lambda seconds: (0.0, 12 * np.exp(-(((seconds - 1.2) / 0.15) ** 2))))
    assert set(kinds(spot_frames(nod, fps=50))) == {"head"}


def test_movements_do_not_overlap_and_have_their_frames_in_order(film):
    shown = film(3.0, fps=30, events=[("smile", 15, 21, 28), ("brows", 17, 22, 30), ("brows", 50, 54, 60)])
    timeline = spot_frames(shown, fps=shown.fps, settings=SpottingSettings(sensitivity="high"))
    assert timeline.movements
    for each in (*timeline.movements, *timeline.others):
        assert each.onset + 2 <= each.apex < each.offset
    for one, other in zip(timeline.movements, timeline.movements[1:], strict=False):
        assert one.offset < other.onset


def lifted_brows(lift, frames, fps=30.0):
    """The timeline of a textured face whose left brow is `lift(number)` px higher."""
    spotter = Spotter(SpottingSettings(), fps)
    for number in range(frames):
        rise = (ROWS + lift(number) * BROWS).astype(np.float32)
        spotter.push(tracked(number, fps, cv2.remap(GROUND, COLUMNS, rise, cv2.INTER_LINEAR).astype(np.uint8)))
    spotter.close()
    return spotter.timeline()


def bump(apex, width=2.5):
    return lambda number: 0.9 * np.exp(-(((number - apex) / width) ** 2))


def test_a_movement_that_began_before_the_first_frame_is_not_reported():
    assert [each.apex for each in lifted_brows(bump(20), 60).movements] == [20]
    for apex, width in ((2, 1.5), (2, 2.5), (3, 2.5)):
        assert lifted_brows(bump(apex, width), 60).movements == ()


def test_candidates_include_rejected_movements_but_no_blinks():
    nods, blinks = behaving("nod"), behaving("blink")
    heads = [each for each in nods.candidates if each.reason == "head"]
    assert heads and all(0 < each.probability < 1 for each in heads)
    assert "blink" in [each.reason for each in blinks.others]
    assert "blink" not in [each.reason for each in blinks.candidates]


def test_reported_movements_lead_the_ranking_of_the_requested_length():
    timeline = lifted_brows(lambda number: bump(60)(number) + 0.1 * bump(140, 8)(number), 240)
    assert set(timeline.movements) <= set(timeline.candidates)
    ranked = {count: most_probable(timeline.candidates, count, timeline.seconds) for count in (1, 60, 600)}
    assert ranked[1][0] == timeline.movements[0]
    assert len(ranked[60]) <= 8
    probabilities = [each.probability for each in ranked[600][len(timeline.movements) :]]
    assert probabilities == sorted(probabilities, reverse=True)


@pytest.fixture(scope="module")
def long_smile(film):
    """The timeline of a smile of 1.8 s, and of brows that rise for 0.4 s."""
    shown = film(5.0, fps=30, events=[("smile", 30, 52, 84), ("brows", 115, 120, 127)])
    return spot_frames(shown, fps=shown.fps)


def test_pieces_of_a_macro_expression_stay_candidates_with_that_label(long_smile):
    (macro,) = long_smile.macros
    inside = [each for each in long_smile.candidates if macro.onset <= each.apex <= macro.offset]
    assert INSIDE_MACRO in [each.reason for each in inside]
    assert INSIDE_MACRO not in [each.reason for each in long_smile.others]


def test_a_turn_of_the_head_is_not_a_movement(film):
    shown = film(1.5, head=lambda second: (12 / (1 + np.exp(-(second - 0.7) / 0.08)), 0.0))
    assert spot_frames(shown, fps=shown.fps).movements == ()


def test_a_lasting_smile_is_a_macro_expression_and_a_brief_one_is_not(long_smile):
    (macro,) = long_smile.macros
    assert (macro.kind, macro.reason) == (MACRO, "too long")
    assert abs(macro.apex - 52) <= 4
    assert abs(macro.onset - 30) <= 8
    assert abs(macro.offset - 84) <= 8
    assert [each.region for each in long_smile.movements] == ["brows"]


def test_a_smile_that_stays_is_not_a_macro_expression(film):
    shown = film(6.0, fps=15, events=[("smile", 20, 30, 400)])
    timeline = spot_frames(shown, fps=shown.fps)
    assert timeline.macros == timeline.movements == ()


def test_a_macro_expression_is_found_across_the_blocks_of_a_long_video():
    """Macro-expressions are found wherever they lie in the blocks."""
    timeline = lifted_brows(lambda number: sum(bump(apex, 9.0)(number) for apex in (60, 135, 190)), 240, 15.0)
    assert [each.apex for each in timeline.macros] == pytest.approx([60, 135, 190], abs=4)
    assert {each.region for each in timeline.macros} == {"brows"}
    assert timeline.movements == ()


@pytest.mark.parametrize("behaviour", ["talk", "chew", "blink", "nod", "scratch", "laugh", "look"])
def test_everyday_behaviour_is_not_a_micro_expression(behaviour):
    timeline = behaving(behaviour)
    assert len(timeline.movements) <= 1
    reasons = [each.reason for each in timeline.others]
    assert all(reasons) and {"talk": "speech", "blink": "blink", "nod": "head"}.get(behaviour, "") in ["", *reasons]


def test_movements_are_reported_during_the_video_and_memory_is_bounded():
    """A patch of a textured face moves and returns after three seconds of twelve."""
    fps, spotter, certain = 30.0, Spotter(SpottingSettings(), 30.0), {}
    for number in range(360):
        rise = (ROWS + bump(90)(number) * BROWS).astype(np.float32)
        face = cv2.remap(GROUND, COLUMNS, rise, cv2.INTER_LINEAR).astype(np.uint8)
        for each in spotter.push(tracked(number, fps, face)):
            certain[number] = each
        assert len(spotter._run.samples) <= 30 * (BLOCK + AHEAD + BEHIND + MACRO_DELAY) + 1
    ((when, movement),) = certain.items()
    assert abs(movement.apex - 90) <= 1
    assert movement.region == "brows"
    assert movement.side == "left"
    assert when - movement.offset <= fps * (BLOCK + AHEAD + 0.5)
    assert spotter.close() == []
    assert spotter.timeline().movements == (movement,)
    assert len(spotter.timeline().numbers) == 360


def test_uneven_time_stamps_are_resampled():
    times = np.sort(np.random.default_rng(0).uniform(0, 2, 80))
    times[[0, -1]] = 0.0, 2.0
    samples = [
        MotionSample(
            n, t, np.full((len(REGIONS), 2), t, np.float32), np.full(len(HEAD), 2 * t, np.float32), 3 * t, 4 * t
        )
        for n, t in enumerate(times)
    ]
    skin, head, mismatch, light = resampled(samples, 40.0)
    assert skin[:, 0, 0] == pytest.approx(np.arange(81) / 40, abs=1e-5)
    assert head[:, 0] == pytest.approx(2 * skin[:, 0, 0], abs=1e-4)
    assert mismatch == pytest.approx(3 * skin[:, 0, 0], abs=1e-4)
    assert light == pytest.approx(4 * skin[:, 0, 0], abs=1e-4)


def test_a_gap_or_another_person_begins_a_new_run():
    face = np.random.default_rng(0).integers(0, 255, (SIZE, SIZE)).astype(np.uint8)
    spotter = Spotter(SpottingSettings(), 30.0)
    for number, track in ((0, 0), (1, 0), (2, 0), (30, 0), (31, 0), (32, 1)):
        spotter.push(tracked(number, 30.0, face, track=track))
        assert spotter._run.samples[0].number == {0: 0, 1: 0, 2: 0, 31: 30}.get(number, number)
    spotter.close()
    assert len(spotter.timeline().numbers) == 6


def test_at_most_two_frames_are_in_memory(film):
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

    spot_frames(frames(), fps=60)
    assert 1 <= most <= 2


def test_a_video_without_a_face_is_refused():
    frames = [Frame(number, number / 25, np.full((120, 160, 3), 90, np.uint8)) for number in range(8)]
    with pytest.raises(FaceNotFound, match=r"no face was found in 8 frames\n  fix: use a video"):
        spot_frames(frames, fps=25)


@pytest.mark.parametrize("fps", [0, -5, float("nan")])
def test_an_impossible_frame_rate_is_refused(fps):
    with pytest.raises(FrameError, match=r"not a frame rate\n  fix: give the rate of the camera"):
        spot_frames([], fps=fps)


def test_a_reported_movement_replaces_a_rejected_candidate_of_the_same():
    rejected = FaceMovement(10, 14, 20, 0.01, "brows", "unclear", probability=0.4)
    other = FaceMovement(60, 64, 70, 0.01, "brows", "head", probability=0.7)
    reported = FaceMovement(11, 15, 22, 0.01, "brows", probability=0.6)
    again = FaceMovement(12, 16, 21, 0.01, "brows", "speech", probability=0.9)
    assert _with_candidates([rejected, other], [reported], [again, reported]) == [other, reported]
    assert _with_candidates([reported], [], [again, other]) == [reported, other]
