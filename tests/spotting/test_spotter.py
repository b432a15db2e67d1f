"""Spotting on a real face that moves as told, and on drawn faces that behave."""

import gc
import weakref

import cv2
import numpy as np
import pytest

from epir.core.errors import FaceNotFound, FrameError
from epir.faces.align import Crop
from epir.faces.tracking import TrackedFace
from epir.frames.reader import Frame
from epir.spotting.measure import HEAD, Sample
from epir.spotting.regions import REGIONS
from epir.spotting.settings import SpottingSettings
from epir.spotting.spotter import AHEAD, BLOCK, Spotter, resampled, spot
from epir.spotting.timeline import MACRO
from epir.synthetic.behaviour import BehavingFace, plan_scene
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity

SIZE = 84


def kinds(timeline):
    return [each.kind for each in (*timeline.movements, *timeline.others)]


def tracked(number, fps, face, crop=None, track=0):
    return TrackedFace(number, number / fps, track, 0, crop or Crop(42.0, 42.0, 84.0), face, np.zeros((5, 2)))


def behaving(behaviours, seconds, fps, *, micro=0.0, seed=1):
    """The timeline of a drawn person, and the scene."""
    person = draw_identity(seed, "spotter")
    scene = plan_scene(behaviours, seconds, fps, person.geometry, seed, micro=micro)
    face = BehavingFace(draw_portrait(person, Canvas.crop(SIZE, 14)), person.geometry, scene)
    spotter = Spotter(SpottingSettings(), fps)
    for place in range(len(scene.seconds)):
        frame = face.frame(place, 0.8, np.random.default_rng(place))[14:-14, 14:-14]
        spotter.push(tracked(place, fps, cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)))
    spotter.close()
    return spotter.timeline(), scene


def test_a_smile_and_raised_brows_are_found_in_one_film_and_a_blink_between_them_is_not(film):
    events = [("smile", 40, 49, 64), ("blink", 100, 106, 114), ("brows", 150, 158, 171)]
    shown = film(3.6, events=events)
    timeline = spot(shown, fps=shown.fps)
    assert len(timeline.movements) == 2
    for found, (_, onset, apex, offset) in zip(timeline.movements, (events[0], events[2]), strict=True):
        assert abs(found.apex - apex) <= 2
        assert abs(found.onset - onset) <= 4
        assert abs(found.offset - offset) <= 4
        assert found.seconds == pytest.approx((found.onset / 60, found.apex / 60, found.offset / 60))
        assert found.probability >= 0.5
        assert found.reason == ""
    assert timeline.movements[1].region == "brows"
    assert "blink" in [each.reason for each in timeline.others]
    assert len(timeline.numbers) == len(timeline.face) == len(timeline.motion) == timeline.frames == shown.count
    assert timeline.seconds == pytest.approx(3.6)


def test_movements_do_not_overlap_and_have_their_frames_in_order(film):
    shown = film(3.0, fps=30, events=[("smile", 15, 21, 28), ("brows", 17, 22, 30), ("brows", 50, 54, 60)])
    timeline = spot(shown, fps=shown.fps, settings=SpottingSettings(sensitivity="high"))
    assert timeline.movements
    for each in (*timeline.movements, *timeline.others):
        assert each.onset + 2 <= each.apex < each.offset
    for one, other in zip(timeline.movements, timeline.movements[1:], strict=False):
        assert one.offset < other.onset


def test_a_turn_of_the_head_is_no_movement(film):
    shown = film(1.5, head=lambda second: (12 / (1 + np.exp(-(second - 0.7) / 0.08)), 0.0))
    assert spot(shown, fps=shown.fps).movements == ()


def test_a_lasting_smile_is_a_macro_expression_and_a_brief_one_is_not(film):
    shown = film(5.0, fps=30, events=[("smile", 30, 52, 84), ("brows", 115, 120, 127)])
    timeline = spot(shown, fps=shown.fps)
    (macro,) = timeline.macros
    assert (macro.kind, macro.reason) == (MACRO, "too long")
    assert abs(macro.apex - 52) <= 4
    assert abs(macro.onset - 30) <= 8
    assert abs(macro.offset - 84) <= 8
    assert [each.region for each in timeline.movements] == ["brows"]


def test_a_smile_that_stays_is_no_macro_expression(film):
    shown = film(6.0, fps=15, events=[("smile", 20, 30, 400)])
    timeline = spot(shown, fps=shown.fps)
    assert timeline.macros == timeline.movements == ()


def test_a_macro_expression_is_found_across_the_blocks_of_a_long_video():
    """The same whether the video is judged in blocks or the movement lies anywhere in them."""
    rows, columns = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    ground = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (SIZE, SIZE)).astype(np.float32), (0, 0), 1.5)
    ground = (ground - ground.min()) / np.ptp(ground) * 255
    brows = np.exp(-((columns - 0.3 * SIZE) ** 2 + (rows - 0.1 * SIZE) ** 2) / (2 * 7.0**2))
    spotter = Spotter(SpottingSettings(), 15.0)
    for number in range(240):
        lift = 0.9 * sum(np.exp(-(((number - apex) / 9.0) ** 2)) for apex in (60, 135, 190))
        face = cv2.remap(ground, columns, (rows + lift * brows).astype(np.float32), cv2.INTER_LINEAR).astype(np.uint8)
        spotter.push(tracked(number, 15.0, face))
    spotter.close()
    timeline = spotter.timeline()
    assert [each.apex for each in timeline.macros] == pytest.approx([60, 135, 190], abs=4)
    assert {each.region for each in timeline.macros} == {"brows"}
    assert timeline.movements == ()


@pytest.mark.parametrize("behaviour", ["talk", "chew", "blink", "nod", "scratch", "laugh", "look"])
def test_what_people_do_all_day_is_no_micro_expression(behaviour):
    timeline, _ = behaving([behaviour], 4.0, 30.0)
    assert len(timeline.movements) <= 1
    assert all(each.reason for each in timeline.others)


@pytest.mark.parametrize(("behaviour", "reason"), [("talk", "speech"), ("blink", "blink"), ("nod", "head")])
def test_behaviours_are_rejected_with_their_reason(behaviour, reason):
    timeline, _ = behaving([behaviour], 5.0, 30.0)
    assert reason in [each.reason for each in timeline.others]


def test_movements_come_while_the_video_goes_on_and_the_working_window_is_bounded():
    """A patch of a textured face comes and goes after three seconds; the video lasts for twelve."""
    random = np.random.default_rng(0)
    ground = cv2.GaussianBlur(random.uniform(0, 255, (SIZE, SIZE)).astype(np.float32), (0, 0), 1.5)
    ground = (ground - ground.min()) / np.ptp(ground) * 255
    rows, columns = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    brows = np.exp(-((columns - 0.3 * SIZE) ** 2 + (rows - 0.1 * SIZE) ** 2) / (2 * 7.0**2))
    fps, spotter, certain = 30.0, Spotter(SpottingSettings(), 30.0), {}
    for number in range(360):
        lift = 0.9 * np.exp(-(((number - 90) / 2.5) ** 2))
        face = cv2.remap(ground, columns, (rows + lift * brows).astype(np.float32), cv2.INTER_LINEAR).astype(np.uint8)
        for each in spotter.push(tracked(number, fps, face)):
            certain[number] = each
        (run,) = spotter._runs.values()
        assert len(run.samples) <= 30 * 9
    ((when, found),) = certain.items()
    assert abs(found.apex - 90) <= 1
    assert found.region == "brows"
    assert found.side == "left"
    assert when - found.offset <= fps * (BLOCK + AHEAD + 0.5)
    assert spotter.close() == []
    assert spotter.timeline().movements == (found,)
    assert len(spotter.timeline().numbers) == 360


def test_uneven_time_stamps_are_put_on_even_instants():
    times = np.sort(np.random.default_rng(0).uniform(0, 2, 80))
    times[[0, -1]] = 0.0, 2.0
    samples = [
        Sample(n, t, np.full((len(REGIONS), 2), t, np.float32), np.full(len(HEAD), 2 * t, np.float32), 3 * t)
        for n, t in enumerate(times)
    ]
    skin, head, mismatch = resampled(samples, 40.0)
    assert skin[:, 0, 0] == pytest.approx(np.arange(81) / 40, abs=1e-5)
    assert head[:, 0] == pytest.approx(2 * skin[:, 0, 0], abs=1e-4)
    assert mismatch == pytest.approx(3 * skin[:, 0, 0], abs=1e-4)


def test_two_people_have_runs_of_their_own_and_a_gap_begins_a_new_one():
    face = np.random.default_rng(0).integers(0, 255, (SIZE, SIZE)).astype(np.uint8)
    spotter = Spotter(SpottingSettings(), 30.0)
    for number in (0, 1, 2, 30, 31):
        for track in (0, 1):
            spotter.push(tracked(number, 30.0, face, track=track))
    assert sorted(spotter._runs) == [0, 1]
    assert [each.number for each in spotter._runs[0].samples] == [30, 31]
    spotter.close()
    assert len(spotter.timeline().numbers) == 10


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
    assert spot(shown, fps=shown.fps).movements == ()


def test_a_video_without_a_face_is_refused():
    frames = [Frame(number, number / 25, np.full((120, 160, 3), 90, np.uint8)) for number in range(8)]
    with pytest.raises(FaceNotFound, match=r"no face was found in 8 frames\n  fix: look at the video"):
        spot(frames, fps=25)


@pytest.mark.parametrize("fps", [0, -5, float("nan")])
def test_an_impossible_frame_rate_is_refused(fps):
    with pytest.raises(FrameError, match=r"no frame rate\n  fix: give the rate of the camera"):
        spot([], fps=fps)
