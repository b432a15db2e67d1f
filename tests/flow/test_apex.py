import cv2
import numpy as np
import pytest

from epir.core.errors import FrameError
from epir.flow import apex
from epir.flow.apex import SAMPLES, face_motion, middle_apex, point_weights, spot_apex, spotting_face, strength
from epir.frames.reader import open_frames


class Listed:
    """Frames from a function, which remembers what was read."""

    path = "listed"

    def __init__(self, numbers, make, damaged=()):
        self.numbers, self.make, self.damaged = tuple(numbers), make, damaged
        self.asked, self.notes = [], []

    def read(self, number):
        self.asked.append(number)
        if number in self.damaged:
            raise FrameError(f"{number}.png is cut short", fix="copy it again")
        return self.make(number)

    def note(self, words):
        self.notes.append(words)


def test_the_frame_with_most_motion_is_spotted(long_clip, head_crop):
    with open_frames(long_clip.frames) as frames:
        assert spot_apex(frames, 1, 9, head_crop) in (5, 6, 7)  # true: 6, with noise in every frame


@pytest.mark.parametrize("peak", [20, 57, 188])
def test_a_long_clip_is_sampled_then_refined(pair_of, head_crop, peak):
    drawn = {level: pair_of("bump", level / 4).apex for level in range(0, 13)}
    frames = Listed(range(1, 201), lambda number: drawn[max(0, 12 - abs(number - peak))])
    apex = spot_apex(frames, 1, 200, head_crop)
    assert abs(apex - peak) <= 1
    assert len(frames.asked) < 4 * SAMPLES
    assert max(frames.asked) <= 200


def test_a_head_that_drifts_away_is_not_taken_for_the_apex(pair_of, head, head_crop):
    def frame(number):
        smile = pair_of("bump", max(0.0, 1.5 - abs(number - 6) / 4)).apex
        turn = 0.12 * number  # degrees, and it goes on to the end
        matrix = cv2.getRotationMatrix2D((head_crop.x, head_crop.y), turn, 1.0 + 0.002 * number)
        return cv2.warpAffine(smile, matrix, head.shape[1::-1], flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)

    assert abs(spot_apex(Listed(range(1, 20), frame), 1, 19, head_crop) - 6) <= 1


@pytest.mark.parametrize(("at_the_end", "expected"), [(0.9, 6), (1.5, 6), (1.58, 11)])
def test_seven_tenths_of_the_motion_left_at_the_offset_are_subtracted_in_proportion_to_time(
    monkeypatch, at_the_end, expected
):
    motion = {6: 1.0, 11: at_the_end}  # half-way, and at the end: 1 - 0.35 x against 0.3 x
    monkeypatch.setattr(apex, "spotting_face", lambda frame, _: frame)
    monkeypatch.setattr(apex, "face_motion", lambda _, number: np.full((8, 8, 2), [motion.get(number, 0.0), 0.0]))
    monkeypatch.setattr(apex, "strength", lambda motion: float(motion[0, 0, 0]))
    assert spot_apex(Listed(range(1, 12), lambda number: number), 1, 11, None) == expected


def test_an_expression_that_is_still_there_at_the_offset_peaks_late(pair_of, head_crop):
    frames = Listed(range(1, 12), lambda number: pair_of("bump", 0.25 * number).apex)
    assert spot_apex(frames, 1, 11, head_crop) >= 10


def test_missing_frames_and_the_onset_itself_are_passed_over(pair_of, head_crop):
    still, moved = pair_of("bump", 0.2).apex, pair_of("bump", 2.0).apex
    frames = Listed([5, 7, 8, 12, 13], lambda number: moved if number == 12 else still)
    assert spot_apex(frames, 5, 20, head_crop) == 12
    assert spot_apex(frames, 5, 8, head_crop) in (7, 8)
    assert spot_apex(frames, 5, 7, head_crop) == 7


@pytest.mark.parametrize(
    ("damaged", "expected", "words"),
    [
        ([7], 8, "1 picture cannot be opened: frame 7, and left out: 7.png is cut short"),
        ([13], 8, "1 picture cannot be opened: frame 13, and left out: 13.png is cut short"),
        ([8, 12, 13], 7, "3 pictures cannot be opened: frame 8, 12-13, and left out: 8.png is cut short"),
    ],
)
def test_damaged_frames_are_passed_over_with_a_note(pair_of, head_crop, damaged, expected, words):
    drawn = {5: 0.2, 7: 0.6, 8: 2.0, 12: 1.0, 13: 0.3}
    frames = Listed(drawn, lambda number: pair_of("bump", drawn[number]).apex, damaged)
    assert spot_apex(frames, 5, 20, head_crop) == expected
    assert frames.notes == [words]


@pytest.mark.parametrize("damaged", [[5], [7, 8]], ids=["the onset", "all others"])
def test_a_damaged_onset_or_nothing_after_it_is_an_error(head, head_crop, damaged):
    frames = Listed([5, 7, 8], lambda number: head, damaged)
    with pytest.raises(FrameError, match=rf"{damaged[-1]}.png is cut short"):
        spot_apex(frames, 5, 8, head_crop)
    assert frames.notes == []


def test_a_shift_of_the_head_is_no_expression(head, head_crop):
    before, shifted = (spotting_face(frame, head_crop) for frame in (head, np.roll(head, 2, axis=1)))
    assert strength(face_motion(before, shifted)) < 0.01  # of the face's width; the shift is 0.024
    assert strength(face_motion(before, before)) < 1e-3


def test_the_lids_and_the_rim_have_little_weight():
    values = point_weights(84)
    assert values[21, 21] < 0.25  # an eye
    assert values[0, 0] == 0
    assert values[62, 25] > 0.99  # a corner of the mouth
    assert values[8, 30] > 0.8  # above a brow


def test_the_middle_is_the_nearest_frame_that_is_there():
    assert middle_apex(Listed(range(1, 10), None), 1, 9) == 5
    assert middle_apex(Listed([1, 2, 8, 9], None), 1, 9) == 2
    assert middle_apex(Listed([1, 2], None), 1, 2) == 2


def test_nothing_after_the_onset_is_an_error_that_tells_the_range(head_crop):
    for find in (lambda frames: spot_apex(frames, 30, 40, head_crop), lambda frames: middle_apex(frames, 30, 40)):
        with pytest.raises(
            FrameError, match=r"no frame after the onset 30 up to the offset 40 .* frames 1 to 9\n  fix: correct"
        ):
            find(Listed(range(1, 10), None))
