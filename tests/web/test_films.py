"""Films of the face: the right frames, in the right places, with the motion that the answer rests on."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from epir.core.progress import Silent
from epir.flow.head_motion import without_head_motion
from epir.flow.map import area_average
from epir.frames import pace
from epir.frames.film import write_film
from epir.frames.reader import open_frames
from epir.frames.video import VideoFrames
from epir.recognition.recognizer import Recognizer
from epir.web.films import ARROWS, CLIP_FRAMES, COLUMNS, MOST_FRAMES, Album, make_films, sheet, thinned


@pytest.fixture(scope="module")
def recognizer(model):
    return Recognizer.from_pretrained(model)


@pytest.fixture(scope="module")
def look(recognizer):
    """The answer for a clip and the faces that passed."""

    def predict(clip, **options):
        album = Album()
        return recognizer.predict(clip, **options, explain=False, watch=album.add), album

    return predict


@pytest.fixture(scope="module")
def looked(look, clip):
    return look(clip)


@pytest.fixture(scope="module")
def answer(looked):
    return looked[0]


@pytest.fixture
def film(recognizer):
    """The films of an answer, and their files."""

    def make(answer, album, movements=(0,), rejected=()):
        return make_films(
            album, answer, recognizer.recipe, "/at/", movements=movements, rejected=rejected, progress=Silent()
        )

    return make


@pytest.fixture(scope="module")
def made(recognizer, looked):
    answer, album = looked
    chosen = {"movements": range(len(answer.all)), "rejected": range(len(answer.timeline.others))}
    return make_films(album, answer, recognizer.recipe, "/at/", **chosen, progress=Silent())


def cell(film, files, index):
    """One frame of a film, (s, s, 3)."""
    picture = np.array(Image.open(io.BytesIO(files[film["sheet"].removeprefix("/at/")])))
    row, column = divmod(index, film["columns"])
    size = film["size"]
    return picture[row * size : (row + 1) * size, column * size : (column + 1) * size]


def test_a_sheet_holds_its_frames_row_by_row():
    faces = [np.full((4, 4, 3), number, np.uint8) for number in range(COLUMNS + 3)]
    whole = sheet(faces)
    assert whole.shape == (8, 4 * COLUMNS, 3)
    assert whole[0, ::4, 0].tolist() == list(range(COLUMNS))
    assert whole[4, : 3 * 4 : 4, 0].tolist() == [COLUMNS, COLUMNS + 1, COLUMNS + 2]
    assert whole[4:, 12:].max() == 0
    assert sheet(faces[:2]).shape == (4, 8, 3)


@given(st.lists(st.integers(0, 999), unique=True, min_size=1).map(sorted), st.integers(1, 50), st.integers(0, 999))
def test_few_frames_are_kept_in_order_with_those_that_matter(numbers, most, kept):
    found = thinned(numbers, most, (kept,))
    assert list(found) == sorted(set(found)) and set(found) <= set(numbers)
    assert len(found) <= most + 1 and found[0] == numbers[0]
    assert (kept in found) or kept not in numbers


def test_a_movement_is_shown_from_before_its_onset_to_after_its_offset(made, answer):
    films, _ = made
    assert len(films.movements) == len(answer.all) > 0
    for number, each in enumerate(answer.all):
        film = films.movements[number]
        assert {each.onset, each.apex, each.offset} <= set(film["frames"])
        assert film["frames"][0] < each.onset and film["frames"][-1] > each.offset
        assert len(film["frames"]) == len(film["seconds"]) <= MOST_FRAMES + 3
        assert film["seconds"][film["frames"].index(each.apex)] == pytest.approx(each.apex_s, abs=1e-3)


def test_every_cell_shows_the_face_of_its_own_frame(made, answer, clip):
    films, files = made
    movement = answer.timeline.movements[0]
    with open_frames(clip) as frames:
        for index, number in list(enumerate(films.movements[0]["frames"]))[::5]:
            own = movement.crop.apply(frames.read(number), films.movements[0]["size"])
            assert np.abs(cell(films.movements[0], files, index).astype(int) - own).mean() < 4


def test_arrows_show_the_flow_behind_the_answer(made, answer):
    films, files = made
    film, own = films.movements[0], answer.all[0]
    arrows = np.array(json.loads(files[film["flow"].removeprefix("/at/")]))  # (T, A, A, 2)
    assert arrows.shape == (len(film["frames"]), ARROWS, ARROWS, 2)
    assert not arrows[: film["frames"].index(own.onset) + 1].any()
    flow = without_head_motion(own.evidence.flow, "similarity")
    expected = 100 * area_average(flow, ARROWS) / flow.shape[0]
    at_apex = arrows[film["frames"].index(own.apex)]
    assert np.corrcoef(at_apex.ravel(), expected.ravel())[0, 1] > 0.7
    assert np.abs(at_apex).max() == pytest.approx(np.abs(expected).max(), rel=0.5)


def test_the_whole_clip_is_shown_in_small_pictures(made, answer):
    film = made[0].clip
    assert film["frames"] == answer.timeline.numbers.tolist()
    assert len(film["frames"]) <= CLIP_FRAMES
    assert "flow" not in film


def test_given_key_frames_are_filmed_from_the_onset_on(look, film, clip):
    answer, album = look(clip, onset=40, apex=50)
    films, files = film(answer, album)
    assert films.movements[0]["frames"] == list(range(40, 61))
    assert films.clip is None and films.rejected == {}
    face = cell(films.movements[0], files, 0)
    onset = np.array(Image.fromarray(answer.evidence.onset).resize(face.shape[:2]))
    assert np.abs(face.astype(int) - onset).mean() < 6


def test_a_given_onset_alone_is_filmed_to_the_apex_and_back(look, film, clip):
    answer, album = look(clip, onset=40)
    assert film(answer, album)[0].movements[0]["frames"] == list(range(40, 2 * answer.apex - 40 + 1))


def test_two_pictures_are_a_film_of_two_frames(look, film, pictures):
    assert film(*look(pictures))[0].movements[0]["frames"] == [0, 1]


def test_a_clip_that_lies_on_its_side_is_filmed_upright(look, film, clip, made, tmp_path):
    with open_frames(clip) as frames:
        turned = write_film(tmp_path / "turned.mp4", [np.rot90(frame.pixels).copy() for frame in frames], 100.0)
    films, files = film(*look(turned, onset=40, apex=42))
    upright = film(*look(clip, onset=40, apex=42))
    assert (
        np.abs(cell(films.movements[0], files, 0).astype(int) - cell(upright[0].movements[0], upright[1], 0)).mean() < 6
    )


@pytest.mark.parametrize("key_frames", [{}, {"onset": 40}, {"onset": 40, "apex": 50}])
def test_answer_and_films_need_one_pass_and_the_first_frames_for_the_rate(look, film, clip, monkeypatch, key_frames):
    decoded = []
    advance = VideoFrames._advance

    def counting(frames):
        picture = advance(frames)
        if picture is not None:
            decoded.append(frames._next - 1)
        return picture

    monkeypatch.setattr(VideoFrames, "_advance", counting)
    film(*look(clip, **key_frames))
    again = len(decoded) - len(set(decoded))
    assert again <= (0 if key_frames else pace.MOST) and (key_frames or again < len(set(decoded)))


def test_a_rejected_movement_is_filmed_too(looked, film):
    answer, album = looked
    other = replace(answer.timeline.movements[0], kind="blink")
    timeline = replace(answer.timeline, movements=(), others=(other,))
    quiet = replace(answer, label="no micro-expression found", scores={}, all=(), timeline=timeline)
    films, _ = film(quiet, album, movements=[], rejected=[0])
    assert {other.onset, other.apex, other.offset} <= set(films.rejected[0]["frames"])
    assert "flow" not in films.rejected[0]
