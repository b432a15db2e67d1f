"""The same defects in the same words: check --deep, prepare and predict. The page calls predict."""

import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest

from epir.core.errors import DatasetError, FrameError
from epir.core.records import Clip
from epir.flow.recipe import FlowRecipe
from epir.maps.inspection import inspect_clip
from epir.maps.prepare import prepare, prepare_clip
from epir.recognition.recognizer import Recognizer

SIZES = "frames differ in size: frame 1 is 190 x 180 px, frame 6 is 95 x 90 px"
PEOPLE = "the onset 1 and the apex 6 do not show one person in one shot"


@pytest.fixture(scope="module")
def recognizer():
    return Recognizer.from_pretrained()


@pytest.fixture(scope="module")
def answer_of(recognizer):
    """What predict says, without the question why."""
    return lambda frames, **options: recognizer.predict(frames, fps=200, explain=False, **options)


@pytest.fixture
def clip(long_clip):
    """Nine frames of a face, apex annotated."""
    return replace(long_clip, apex=6)


def rewrite(clip, change, numbers=range(1, 10)):
    for number in numbers:
        path = str(clip.frames / f"img{number}.jpg")
        cv2.imwrite(path, np.ascontiguousarray(change(cv2.imread(path))))


def everywhere(clip, answer_of):
    """What the three say about a clip that they refuse."""
    with pytest.raises(FrameError) as prepared:
        prepare_clip(clip, FlowRecipe())
    with pytest.raises(FrameError) as predicted:
        answer_of(clip.frames, onset=clip.onset, apex=clip.apex)
    return inspect_clip(clip), prepared.value.problem, predicted.value.problem


def test_a_sound_clip_has_no_defects(clip, answer_of):
    assert inspect_clip(clip) == []
    assert "notes" not in prepare_clip(clip, FlowRecipe()).clip.extra
    answer_of(clip.frames, onset=1, apex=6)


def test_frames_of_mixed_size(clip, answer_of, tmp_path):
    rewrite(clip, lambda picture: cv2.resize(picture, (95, 90)), range(6, 10))
    listed, prepared, predicted = everywhere(clip, answer_of)
    assert (listed, prepared, predicted) == ([SIZES], SIZES, SIZES)
    with pytest.raises(FrameError, match="frames differ in size"):
        answer_of(clip.frames)
    with pytest.raises(DatasetError, match=r"none of 1 clip could be prepared; drawn/s9/long: frames differ in"):
        prepare([clip], None, tmp_path / "maps", workers=1)


def test_mixed_sizes_between_two_equal_key_frames_are_refused_too(clip, answer_of):
    rewrite(clip, lambda picture: cv2.resize(picture, (95, 90)), [3])
    for problem in everywhere(clip, answer_of):
        assert "frame 1 is 190 x 180 px, frame 3 is 95 x 90 px" in str(problem)


def test_a_gap_in_the_numbering_is_a_note(clip, answer_of):
    for number in (3, 4):
        (clip.frames / f"img{number}.jpg").unlink()
    words = "2 frames of 1-9 missing: 3-4"
    assert prepare_clip(clip, FlowRecipe()).clip.extra["notes"] == words
    assert words in answer_of(clip.frames, onset=1, apex=6).warnings


def test_text_instead_of_a_key_frame_is_refused_everywhere(clip, answer_of):
    (clip.frames / "img6.jpg").write_text("root:x:0:0:root:/root:/bin/sh\n" * 20)
    listed, prepared, predicted = everywhere(clip, answer_of)
    assert listed == ["1 picture cannot be opened: frame 6"]
    assert prepared == predicted and "img6.jpg cannot be read as a picture" in prepared


def test_text_among_the_other_frames_is_left_out_and_told(clip, answer_of):
    (clip.frames / "img8.jpg").write_text("root:x:0:0\n")
    answer = answer_of(clip.frames)
    assert any("1 picture cannot be opened: frame 8, and left out" in note for note in answer.warnings)


def test_two_people(clip, answer_of, cartoon):
    shutil.copy(clip.frames / "img1.jpg", clip.frames / "img6.jpg")
    noise = np.random.default_rng(0).integers(0, 255, (180, 190, 3)).astype(np.uint8)
    cv2.imwrite(str(clip.frames / "img6.jpg"), cv2.GaussianBlur(noise, (0, 0), 6) // 2 + 90)
    listed, prepared, predicted = everywhere(clip, answer_of)
    assert (listed, prepared, predicted) == ([PEOPLE], PEOPLE, PEOPLE)


SIDEWAYS = [
    (cv2.ROTATE_90_CLOCKWISE, "the face lies on its side: the frames were turned by 90 degrees counter-clockwise"),
    (cv2.ROTATE_180, "the face is upside down: the frames were turned by 180 degrees"),
    (cv2.ROTATE_90_COUNTERCLOCKWISE, "the face lies on its side: the frames were turned by 90 degrees clockwise"),
]


@pytest.fixture(scope="module")
def upright(rise_and_fall, answer_of, tmp_path_factory):
    """The map of the clip as it was filmed, and its most probable class."""
    folder = tmp_path_factory.mktemp("upright")
    for number, frame in enumerate(rise_and_fall, start=1):
        cv2.imwrite(str(folder / f"img{number}.jpg"), cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    clip = Clip("drawn", "s9", "long", "surprise", 1, 6, 9, 200.0, folder)
    return prepare_clip(clip, FlowRecipe()).map, answer_of(folder, onset=1, apex=6).best


@pytest.mark.parametrize(("turn", "words"), SIDEWAYS)
def test_a_face_that_is_not_upright_is_turned_and_told(clip, answer_of, upright, turn, words):
    rewrite(clip, lambda picture: cv2.rotate(picture, turn))
    assert inspect_clip(clip) == [words]
    done = prepare_clip(clip, FlowRecipe())
    assert done.clip.extra["notes"] == words
    assert np.corrcoef(done.map.ravel(), upright[0].ravel())[0, 1] > 0.9, "the same motion"
    answer = answer_of(clip.frames, onset=1, apex=6)
    assert words in answer.warnings and answer.best == upright[1]


def test_a_face_that_lies_on_its_side_is_turned_for_spotting_too(clip, answer_of):
    turn, words = SIDEWAYS[0]
    rewrite(clip, lambda picture: cv2.rotate(picture, turn))
    assert words in answer_of(clip.frames).warnings
